"""The stage of the demo: performs the first steps of a person, once.

The first start starts the lead, summons eight agents, opens two channels and hands out one task.
Later starts keep the changes that people have made. While the demo runs, the stage adds agents that
are born or come back to their channels: a crash removes an agent from its channels. Then it tells
the story (`story.py`), a chapter every two minutes: a bug is reported, delegated, fixed and
reviewed. The environment variable `DEMO_STORY` is the number of chapters, for tests.
"""

import asyncio
import itertools
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from muster.delegation import session_folder
from muster.delegation.agent_folders import read_agents
from muster.delegation.policy import policy_of
from muster.demo.cast import (
    ALL,
    APPROVALS,
    CREW,
    LEAD,
    WELCOME_TASK,
    WORKSHOP,
    Character,
    in_seat,
)
from muster.demo.story import FIXER, Bug, bug_number, call_for_review, report, request
from muster.engine.dispatcher import Commit
from muster.engine.tasks import background
from muster.errors import MusterError
from muster.machines import events as e
from muster.machines.commands import (
    AddMember,
    Command,
    ConfigureAgent,
    CreateChannel,
    PostMessage,
    SetDesired,
    SummonAgents,
)
from muster.machines.identity.palette import PALETTE
from muster.machines.ids import LEAD_SEAT, MUSTER, ChannelId, SeatId
from muster.machines.state import Agent, Status
from muster.machines.vocabulary import Authority, Machine, RunMode, SpeakerOrder, TurnConfig
from muster.team import Muster

DEMO: Final = "demo"
"""The speaker and actor in place of a person."""

AGENTS_FOLDER: Final = Path(__file__).parent / "agents"
"""The agent files of the demo team, for delegation."""

WORK_FOLDER: Final = "work"

MARK: Final = "demo"
"""A marker file: the home belongs to the demo."""

CHANNELS: Final = {
    WORKSHOP: TurnConfig(rest_after_idle_rounds=1, speaker_order=SpeakerOrder.MENTION),
    APPROVALS: TurnConfig(rest_after_idle_rounds=2),
}

FOREVER: Final = 1_000_000
"""Chapters of the story: as many as anybody watches."""

FIRST_SECONDS: Final = 45.0
"""The first chapter begins when the team has said its first lines."""

CHAPTER_SECONDS: Final = 60.0
"""The pause between two chapters."""

REPORT_SECONDS: Final = 8.0
"""Between the report of a bug and its delegation: time for the lead to answer."""

log = logging.getLogger(__name__)


def is_free(home: Path) -> bool:
    """Whether the demo may use a home: it is the demo's already, or holds no other team."""
    others = any((home / name).exists() for name in ("team.db", "muster.toml"))
    return (home / MARK).exists() or not others


def claim(home: Path) -> None:
    """Mark a home as the demo's."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / MARK).touch()


NOTICE: Final = (
    "Demo team: nine scripts, no model behind them, costs made up. Your own team: muster up"
)


@asynccontextmanager
async def staged(muster: Muster, home: Path) -> AsyncGenerator[None]:
    """Run the demo with an open team."""
    muster.notice = NOTICE
    async with background() as tasks:
        stage = Stage(muster, home)
        tasks.create_task(stage.run())
        tasks.create_task(stage.tell_story())
        yield


class Stage:
    """Sets up the demo, and adds agents to their channels."""

    def __init__(self, muster: Muster, home: Path) -> None:
        """Prepare the demo of a team; `run` starts it."""
        self._muster = muster
        self._root = home / WORK_FOLDER
        self._arrived: asyncio.Queue[SeatId] = asyncio.Queue()
        self._pace = float(os.environ.get("DEMO_PACE", "1"))
        self._opened = asyncio.Event()
        """Set when the session for tasks is open, after which the story begins."""

        self._removed: set[tuple[SeatId, ChannelId]] = set()
        """Agents that a person has removed from a channel."""

    async def run(self) -> None:
        """Set up the demo, then add each agent that arrives to its channel."""
        self._muster.dispatcher.watch(self._on_commit)
        try:
            await self._set_up()
            while True:
                await self._place(in_seat(await self._arrived.get()))
                await self._hand_out()
        finally:
            self._muster.dispatcher.unwatch(self._on_commit)

    def _on_commit(self, commit: Commit) -> None:
        """Record agents that arrive or are configured anew, and removals from channels."""
        for event in commit.events:
            fact = event.fact
            if isinstance(fact, e.MemberLeft) and fact.reason == "removed":
                self._removed.add((fact.seat, fact.channel))
            elif isinstance(fact, e.AgentConfigured) and fact.seat in _SEATS:
                self._arrived.put_nowait(fact.seat)
            elif (
                isinstance(fact, e.StateTransition)
                and fact.machine is Machine.IDENTITY
                and fact.target == Status.ALIVE
                and fact.seat in _SEATS
            ):
                self._arrived.put_nowait(SeatId(fact.seat or 0))

    async def _set_up(self) -> None:
        team = self._muster.team
        for channel, config in CHANNELS.items():
            if channel not in team.channels:
                await self._try(CreateChannel(channel=ChannelId(channel), config=config))
        if team.agents[LEAD_SEAT].run.generation == 0:
            await self._try(
                SetDesired(
                    seat=LEAD_SEAT, desired=RunMode.CONTINUOUS, set_by=DEMO, note="the demo begins"
                )
            )
        if not any(SeatId(character.seat) in team.agents for character in CREW):
            await self._try(
                SummonAgents(placeholders=PALETTE, authority=Authority.MUSTER, long_lived=True)
            )
        for seat in sorted(team.agents):
            if team.agents[seat].present and seat in _SEATS:
                self._arrived.put_nowait(seat)

    async def _place(self, character: Character) -> None:
        """Add a present agent to its channel, unless a person removed it.

        The table for all summoned agents cannot say that one of them speaks unasked.
        """
        seat, channel = SeatId(character.seat), ChannelId(character.channel)
        agent = self._muster.team.agents[seat]
        if not agent.present:
            return
        if character.unasked and not agent.unasked:
            await self._try(_unasked(agent))
        if channel not in agent.channels and (seat, channel) not in self._removed:
            await self._try(AddMember(channel=channel, seat=seat))

    async def _hand_out(self) -> None:
        """Hand out the first task once all agents are born."""
        team = self._muster.team
        born = all(
            (agent := team.agents.get(SeatId(character.seat))) is not None and agent.name
            for character in ALL
        )
        if born and team.delegation.mode is not None:
            self._opened.set()
        if not born or team.delegation.mode is not None:
            return
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            log_provider = self._muster.requests.conversations.log_provider
            await session_folder.start(
                log_provider,
                root=self._root,
                mode=None,
                agents=read_agents([AGENTS_FOLDER]).agents,
                folders=[AGENTS_FOLDER],
                policy=policy_of(self._root),
                actor=MUSTER,
            )
            if self._muster.team.delegation.opened == 0:
                await self._muster.requests.ask(WELCOME_TASK, speaker=DEMO, to=None, wait=False)
            self._opened.set()
        except (MusterError, OSError) as error:
            log.warning("%s", error, extra={"action": "demo_failed"})

    # ── the story ─────────────────────────────────────────────────────────────────────────────────

    async def tell_story(self) -> None:
        """Tell one chapter after another, for as long as the demo runs."""
        await self._opened.wait()
        chapters = int(os.environ.get("DEMO_STORY", FOREVER))
        for number in itertools.islice(itertools.count(), chapters):
            await self._rest(CHAPTER_SECONDS if number else FIRST_SECONDS)
            try:
                await self._chapter(bug_number(number))
            except (MusterError, OSError) as error:
                log.warning("%s", error, extra={"action": "demo_failed"})

    async def _chapter(self, bug: Bug) -> None:
        """A bug is reported, delegated, fixed and reviewed."""
        await self._say(report(bug))
        await self._rest(REPORT_SECONDS)
        await self._muster.requests.ask(request(bug), speaker=LEAD.name, to=FIXER)
        await self._say(call_for_review(bug))

    async def _say(self, text: str) -> None:
        """Say something in the workshop, in place of a person."""
        await self._try(PostMessage(channel=ChannelId(WORKSHOP), text=text, speaker_name=DEMO))

    async def _rest(self, seconds: float) -> None:
        await self._muster.clock.sleep(seconds * self._pace)

    async def _try(self, command: Command) -> None:
        try:
            await self._muster.dispatcher.send(command, actor=MUSTER)
        except MusterError as error:
            log.warning("%s", error, extra={"action": "demo_failed"})


def _unasked(agent: Agent) -> ConfigureAgent:
    """The agent's settings, with turns of its own accord."""
    return ConfigureAgent(
        seat=agent.seat,
        authority=agent.authority,
        long_lived=agent.run.long_lived,
        max_turns=agent.max_turns,
        budget=agent.run.budget,
        unasked=True,
        policy=agent.run.policy,
        is_listed=agent.is_listed,
    )


_SEATS: Final = frozenset(SeatId(character.seat) for character in ALL)
