"""Keeps `agent_state.json` and the log together, for every agent that has such a file.

Which way a field goes is a matter of roles: of an agent that muster runs, muster is the agent
(`state_file_agent.py`); of one with a loop of its own, muster is Mission Control
(`state_file_control.py`). Each file has one task, so that what is read and written there is serial.
"""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.ports import Clock
from muster.limits import FILE_SETTLE_SECONDS
from muster.machines.events import DesiredSet, StateTransition
from muster.machines.ids import SeatId
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import Authority, Machine, RunMode
from muster.mirrors.exchange import recover
from muster.mirrors.state_file.agent import StateFileAgent
from muster.mirrors.state_file.control import StateFileController
from muster.mirrors.state_file.link import (
    StateFileContent,
    StateFileLink,
    StateFileRole,
    is_newer,
    look,
)
from muster.mirrors.watch import FileWatcher

log = logging.getLogger(__name__)


async def wishes(paths: Mapping[SeatId, Path], team: Team, clock: Clock) -> tuple[SeatId, ...]:
    """The agents not to start with muster: their files say pause, and are newer than the log.

    A file that is there and cannot be understood counts as pause too.
    """
    wanted = {
        seat: path
        for seat, path in paths.items()
        if (agent := team.agents.get(seat)) is not None
        and agent.authority is Authority.MUSTER
        and agent.run.desired is not RunMode.PAUSE
    }
    for path in wanted.values():
        await asyncio.to_thread(_recover, path)
    seen = {seat: look(path) for seat, path in wanted.items()}
    if any(each.content is not None and each.document is None for each in seen.values()):
        await clock.sleep(FILE_SETTLE_SECONDS)  # somebody may be writing
        seen = {seat: look(path) for seat, path in wanted.items()}
    return tuple(seat for seat in sorted(seen) if _says_pause(seen[seat], team.agents[seat]))


def _says_pause(seen: StateFileContent, agent: Agent) -> bool:
    if seen.missing:
        return False
    if seen.document is None:
        return True
    return seen.document.desired is RunMode.PAUSE and is_newer(seen, agent.run)


class StateFiles:
    """The state files of a team."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        clock: Clock,
        paths: Mapping[SeatId, Path],
        *,
        pause_if_removed: bool = False,
    ) -> None:
        """Nothing is read before `run`. `pause_if_removed`: removing a file pauses its agent."""
        self._clock = clock
        self._links = {
            seat: StateFileLink(dispatcher, clock, seat, path.absolute())
            for seat, path in paths.items()
            if seat in dispatcher.team.agents
        }
        self._roles: dict[SeatId, StateFileRole] = {}
        for seat, link in self._links.items():
            authority = link.agent.authority
            if authority is Authority.MUSTER:
                self._roles[seat] = StateFileAgent(link, pause_if_removed=pause_if_removed)
            elif authority is Authority.FILE:
                self._roles[seat] = StateFileController(link)
        dispatcher.watch(self._note)

    async def run(self) -> None:
        """Follow every file and what the log says of its agent, for ever."""
        watching = FileWatcher(self._clock.sleep)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(watching.run())
                for seat, role in self._roles.items():
                    link = self._links[seat]
                    watching.add(link.path, link.wake.set)
                    tasks.create_task(self._follow(link, role))
        finally:
            watching.close()

    async def close(self) -> None:
        """Say in every file what is done now that muster stops. `run` must have ended."""
        for seat, role in self._roles.items():
            try:
                await role.close()
            except Exception as error:  # the others are to be closed too
                extra = {"action": "state_file_failed", "seat": seat}
                log.warning("%s: %s", self._links[seat].path, error, extra=extra)

    async def _follow(self, link: StateFileLink, role: StateFileRole) -> None:
        await asyncio.to_thread(_recover, link.path)
        await link.follow(role.step)

    def _note(self, commit: Commit) -> None:
        """Wake whoever follows an agent of whom something else is wanted, or who does it."""
        for event in commit.events:
            fact = event.fact
            if isinstance(fact, DesiredSet) or (
                isinstance(fact, StateTransition) and fact.machine is Machine.RUN
            ):
                link = self._links.get(fact.seat) if fact.seat is not None else None
                if link is not None:
                    link.wake.set()


def _recover(path: Path) -> None:
    """Clear away what a crash has left, as far as that is possible."""
    try:
        if recover(path):
            text = "%s: a wish that came while muster was writing is put back"
            log.warning(text, path, extra={"action": "state_file_recovered"})
    except OSError as error:
        extra = {"action": "state_file_failed"}
        log.warning("%s: what an earlier life left cannot be cleared: %s", path, error, extra=extra)
