"""Inbox files: how agents are spoken to that live on files, and how they answer.

A durable reactor writes what is said to one of them alone into its file (`inbox_file_agent.py`);
what they write into the human's file is told to the human (`inbox_file_human.py`). Each file has
one task and its own patience, so that one that is broken holds up nobody else.

Nothing is made or watched before somebody is there who lives on files.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.feed import Feed
from muster.engine.ports import Clock
from muster.engine.reactors import Runner
from muster.limits import FILE_POLL_SECONDS
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import HERE, SeatId, name_key
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import Authority
from muster.mirrors.inbox_file.agent import AgentInbox
from muster.mirrors.inbox_file.format import inbox_path, retired_path
from muster.mirrors.inbox_file.human import HumanInbox
from muster.mirrors.inbox_file.link import InboxFile, uses_inbox_file
from muster.mirrors.inbox_file.teammates import teammate_inboxes
from muster.mirrors.watch import FileWatcher
from muster.store.base import EventStore

_COMING: Final = frozenset(
    {
        "agents_summoned",
        "agent_enrolled",
        "agent_configured",
        "agent_registered",
        "agent_renamed",
        "agent_restored",
        "agent_retired",
        "documents_imported",
    }
)
"""Types of events after which an agent may need an inbox file, or another one."""


class InboxFiles:
    """The inbox files of a team."""

    def __init__(
        self, dispatcher: Dispatcher, store: EventStore, clock: Clock, folder: Path, feed: Feed
    ) -> None:
        """Nothing is read or written before `run`."""
        self.name = "inboxes"
        self.types = frozenset({"user_message"})
        self._dispatcher = dispatcher
        self._store = store
        self._clock = clock
        self._folder = folder.absolute()
        self._runner = Runner(self, store, feed, dispatcher, clock)
        self._desks: dict[SeatId, AgentInbox] = {}
        self._following: dict[SeatId, asyncio.Task[None]] = {}
        self._running: dict[SeatId, str] = {}
        """The `running_as` of each agent when its file was last chosen."""

        self._replies: HumanInbox | None = None
        self._came = asyncio.Event()
        self._watching: FileWatcher | None = None
        self._teammates: Mapping[str, Path] = {}
        """Inbox files of teammates inside the lead, by the keys of their names."""

        self._tasks: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Write, and read what is answered, for ever."""
        self._dispatcher.watch(self._note)
        try:
            while not any(map(self._has_file, self._dispatcher.team.agents.values())):
                self._came.clear()
                await self._came.wait()
            await self._follow()
        finally:
            self._dispatcher.unwatch(self._note)

    def _has_file(self, agent: Agent) -> bool:
        """Whether an agent is spoken to by a file of this machine: others have their own folder."""
        own = self._dispatcher.node
        return uses_inbox_file(agent) and (own == HERE or agent.node in (None, own))

    async def close(self) -> None:
        """Remember how far the log is written. `run` must have ended."""
        await self._runner.save()

    async def react(self, event: Event, team: Team) -> None:
        """Write what was said to one who lives on files. Who has no name yet is told later."""
        fact = event.fact
        if not isinstance(fact, e.UserMessage) or fact.channel is not None or fact.seat is None:
            return
        agent = team.agents.get(fact.seat)
        if agent is not None and self._has_file(agent) and agent.name is not None:
            # Each inbox writes in a task of its own: one that is locked holds up no other.
            self._desk(agent, _name_of_file(agent)).file.wake.set()

    async def _follow(self) -> None:
        with suppress(OSError):  # whoever writes there says so
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._watching = FileWatcher(self._clock.sleep)
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                self._open_replies(self._dispatcher.team.human)
                tasks.create_task(self._watching.run())
                tasks.create_task(self._open_desks())
                tasks.create_task(self._poll())
                await self._runner.run()
        finally:
            self._watching.close()

    def _open_replies(self, human: str) -> None:
        path = inbox_path(self._folder, human)
        self._replies = HumanInbox(InboxFile(self._dispatcher, self._clock, path), self._store)
        self._start(self._replies)

    async def _open_desks(self) -> None:
        """Follow the inbox of everybody who has something in it, or should have."""
        while True:
            self._came.clear()
            for agent in self._dispatcher.team.agents.values():
                unfinished = agent.read < agent.last_message or agent.seat in self._desks
                if unfinished and self._has_file(agent) and agent.name is not None:
                    self._desk(agent, _name_of_file(agent)).file.wake.set()
            await self._came.wait()

    def _desk(self, agent: Agent, name: str) -> AgentInbox:
        self._running[agent.seat] = agent.running_as
        led = agent.authority is Authority.LEAD and not agent.retired
        native = self._teammates.get(name_key(name)) if led else None
        desk, path = self._desks.get(agent.seat), native or self._own_path(agent, name)
        if desk is None or desk.file.path != path:
            former = self._left_behind(agent, name) if desk is None else desk.file
            leave = None
            if desk is not None:  # the agent has another name now, and another file
                leave = partial(_end, desk, self._following.pop(agent.seat))
            file, of_teammate = self._file(path, agent.seat), native is not None
            desk = AgentInbox(
                file, self._store, agent.seat, former, leave=leave, of_teammate=of_teammate
            )
            self._desks[agent.seat] = desk
            self._following[agent.seat] = self._start(desk)
        return desk

    def _own_path(self, agent: Agent, name: str) -> Path:
        if agent.retired:
            return retired_path(self._folder, name, agent.seat)
        return inbox_path(self._folder, name)

    def _left_behind(self, agent: Agent, name: str) -> InboxFile | None:
        """The file from which a retired agent's messages are to be moved, after a crash."""
        if not agent.retired:
            return None
        return self._file(inbox_path(self._folder, name), agent.seat)

    def _file(self, path: Path, seat: SeatId) -> InboxFile:
        return InboxFile(self._dispatcher, self._clock, path, seat)

    def _start(self, end: AgentInbox | HumanInbox) -> asyncio.Task[None]:
        assert self._watching is not None  # nobody comes here before `_follow`
        assert self._tasks is not None
        self._watching.add(end.file.path, end.file.wake.set)
        return self._tasks.create_task(end.file.follow(end.step))

    async def _poll(self) -> None:
        """Look at every file each second: a notification can be missed, a step may have to wait."""
        while True:
            await self._clock.sleep(FILE_POLL_SECONDS)
            await self._find_teammates()
            if self._replies is not None:
                self._replies.file.poll()
            for seat, desk in tuple(self._desks.items()):
                desk.poll()
                if self._running.get(seat) != self._dispatcher.team.agents[seat].running_as:
                    self._came.set()  # its program has ended, and so has the name that it knew

    async def _find_teammates(self) -> None:
        """Look for the teammates inside the lead; an agent among them is written to there."""
        team = self._dispatcher.team
        lead = team.lead
        session = team.sessions.get(lead.session) if lead and lead.session else None
        found: Mapping[str, Path] = {}
        if session is not None and session.pid is not None:
            found = await asyncio.to_thread(teammate_inboxes, session.pid, session.id)
        if found != self._teammates:
            self._teammates = found
            self._came.set()

    def _note(self, commit: Commit) -> None:
        if any(event.type in _COMING for event in commit.events):
            self._came.set()


async def _end(desk: AgentInbox, following: asyncio.Task[None]) -> None:
    """End the work on a file that its agent no longer has, between two steps."""
    await desk.close()
    following.cancel()


def _name_of_file(agent: Agent) -> str:
    """The name of the file that an agent reads: a program that runs knows no other name."""
    return agent.running_as or agent.id
