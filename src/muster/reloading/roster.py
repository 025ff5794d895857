"""The agents of the settings, as the team's roster enrols them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.ports import Runtimes
from muster.machines.events import AgentRenamed
from muster.machines.ids import SeatId, name_key
from muster.machines.state import Agent
from muster.machines.vocabulary import Authority, Budget
from muster.mirrors.roster import Plan, enlist, state_files
from muster.reloading.channels import create_channels
from muster.settings.in_force import SettingsInForce, named_agents
from muster.settings.model import Settings


def plans_of(settings: Settings, home: Path) -> Sequence[Plan]:
    """The agents of the settings, as the roster enrols them."""
    return [
        Plan(
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
            soul=agent.soul,
        )
        for name, agent in named_agents(settings)
    ]


class Roster:
    """Brings the team in line with settings, where they name its agents."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        runtimes: Runtimes,
        in_force: SettingsInForce,
        home: Path | None,
    ) -> None:
        """Without a home the settings name no agents: the log alone does."""
        self._dispatcher = dispatcher
        self._runtimes = runtimes
        self._in_force = in_force
        self._home = home
        if home is not None:
            dispatcher.watch(self._settle_names)

    def state_files(self) -> Mapping[SeatId, Path]:
        """The state files of the agents that the settings name."""
        if self._home is None:
            return {}
        return state_files(self._dispatcher.team, plans_of(self._in_force.written, self._home))

    async def enlist(self, *, at_boot: bool = False) -> None:
        """Enrol, configure, rename and dismiss agents as the settings say; create channels."""
        if self._home is not None:
            settings = self._in_force.written
            self._in_force.settle(self._dispatcher.team)
            plans = plans_of(settings, self._home)
            await enlist(self._dispatcher, plans, self._can_run, at_boot=at_boot)
            self._in_force.settle(self._dispatcher.team)
            await create_channels(self._dispatcher, settings.channels)

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
