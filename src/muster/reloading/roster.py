"""The agents of the settings, as the team's roster enrols them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.ports import Runtimes
from muster.errors import Refused, Unavailable
from muster.limits import STORE_RETRY_SECONDS
from muster.machines.commands import MoveAgent
from muster.machines.events import AgentRenamed, AgentsSummoned, DocumentsImported, WakeRequested
from muster.machines.ids import HERE, MUSTER, NodeId, SeatId, name_key
from muster.machines.state import Agent
from muster.machines.vocabulary import Authority, Budget
from muster.mirrors.roster import Plan, configure_summoned, enlist, state_files
from muster.reloading.channels import create_channels
from muster.settings.agents import ANYBODY, AgentSettings
from muster.settings.in_force import SettingsInForce, named_agents
from muster.settings.model import Settings

NEWCOMERS: Final = (AgentsSummoned, DocumentsImported, WakeRequested)
"""The facts after which agents without a table may be run by muster."""


def plans_of(settings: Settings, home: Path, node: NodeId | None = None) -> Sequence[Plan]:
    """The agents of the settings, as the roster enrols them; on one `node` of several."""
    return [_plan(settings, home, name, agent, node) for name, agent in named_agents(settings)]


def usual_plan(settings: Settings, home: Path, node: NodeId | None = None) -> Plan | None:
    """How summoned agents without a table are run; None where there is no program for them."""
    usual = settings.agents.get(ANYBODY)
    return None if usual is None else _plan(settings, home, ANYBODY, usual, node)


def _plan(
    settings: Settings, home: Path, name: str, agent: AgentSettings, node: NodeId | None
) -> Plan:
    return Plan(
        name=name,
        authority=Authority.FILE if agent.runtime == "file" else Authority.MUSTER,
        state_file=partial(agent.state_file_beside, home),
        seat=None if agent.seat is None else SeatId(agent.seat),
        color=agent.color,
        long_lived=agent.is_long_lived,
        max_turns=agent.max_turns,
        unasked=agent.unasked,
        description=agent.description,
        budget=Budget(
            **msgspec.structs.asdict(agent.budget),
            team_cost_usd_per_day=settings.team.cost_usd_per_day,
        ),
        policy=msgspec.structs.replace(agent.policy, runs_for=agent.runs_for),
        formerly=agent.formerly,
        node=node,
        soul=agent.soul,
    )


class Roster:
    """Brings the team in line with settings, where they name its agents."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        runtimes: Runtimes,
        in_force: SettingsInForce,
        home: Path | None,
        node: NodeId | None = None,
    ) -> None:
        """Without a home the settings name no agents: the log alone does.

        `node` is this machine, where the team may have several.
        """
        self._node = node
        self._dispatcher = dispatcher
        self._runtimes = runtimes
        self._in_force = in_force
        self._home = home
        self._newcomers = asyncio.Event()
        """Set when agents came that may have no table."""

        if home is not None:
            dispatcher.watch(self._settle_names)
            dispatcher.watch(self._note_newcomers)

    async def run(self) -> None:
        """Configure agents that are summoned or imported meanwhile, for ever."""
        while True:
            await self._newcomers.wait()
            self._newcomers.clear()
            settings, home = self._in_force.written, self._home
            assert home is not None
            plans = plans_of(settings, home, self._node)
            usual = usual_plan(settings, home, self._node)
            try:
                await configure_summoned(self._dispatcher, plans, usual)
            except Unavailable:  # the dispatcher has told it
                await asyncio.sleep(STORE_RETRY_SECONDS)
                self._newcomers.set()

    def state_files(self) -> Mapping[SeatId, Path]:
        """The state files of the agents that the settings name."""
        if self._home is None:
            return {}
        plans = plans_of(self._in_force.written, self._home, self._node)
        return state_files(self._dispatcher.team, plans)

    async def enlist(self, *, at_boot: bool = False) -> None:
        """Enrol, configure, rename and dismiss agents as the settings say; create channels."""
        if self._home is not None:
            settings = self._in_force.written
            self._in_force.settle(self._dispatcher.team)
            plans = plans_of(settings, self._home, self._node)
            if at_boot and self._node is None:
                await self._bring_home()
            await enlist(self._dispatcher, plans, self._can_run, at_boot=at_boot, node=self._node)
            usual = usual_plan(settings, self._home, self._node)
            await configure_summoned(self._dispatcher, plans, usual)
            self._in_force.settle(self._dispatcher.team)
            await create_channels(self._dispatcher, settings.channels)

    def _note_newcomers(self, commit: Commit) -> None:
        if any(isinstance(event.fact, NEWCOMERS) for event in commit.events):
            self._newcomers.set()

    async def _bring_home(self) -> None:
        """Let all agents belong here: the log is back from a team on several machines."""
        for agent in list(self._dispatcher.team.agents.values()):
            if agent.node not in (None, HERE) and agent.authority is Authority.MUSTER:
                move = MoveAgent(seat=agent.seat, node=HERE, anyway=True)
                with suppress(Refused):  # this machine lacks a label that it needs
                    await self._dispatcher.send(move, actor=MUSTER)

    def _settle_names(self, commit: Commit) -> None:
        """A renamed agent is run by its table at once, under its new name."""
        if any(isinstance(event.fact, AgentRenamed) for event in commit.events):
            self._in_force.settle(self._dispatcher.team)

    def _can_run(self, agent: Agent) -> bool:
        return self._runtimes(agent) is not None


def describer(
    in_force: SettingsInForce, otherwise: Callable[[Agent], str]
) -> Callable[[Agent], str]:
    """Describes an agent as its settings do, or else as `otherwise` does."""

    def describe(agent: Agent) -> str:
        key = name_key(agent.id)
        tables = in_force.current.agents.items()
        own = next((table.description for name, table in tables if name_key(name) == key), "")
        return own or otherwise(agent)

    return describe
