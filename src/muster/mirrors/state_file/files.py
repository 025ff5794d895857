"""Keeps `agent_state.json` and the log together, for every agent that has such a file.

Which way a field goes is a matter of roles: of an agent that muster runs, muster is the agent
(`state_file_agent.py`); of one with a loop of its own, muster is Mission Control
(`state_file_control.py`). Each file has one task, so that what is read and written there is serial.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.ports import Clock
from muster.errors import StateFileInUse, StateFileNotLocked
from muster.limits import FILE_LOOK_SECONDS, FILE_SETTLE_SECONDS
from muster.machines.events import AgentRetired, DesiredSet, StateTransition
from muster.machines.ids import SeatId
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import Authority, Machine, RunMode
from muster.mirrors.state_file.agent import StateFileAgent
from muster.mirrors.state_file.control import StateFileController
from muster.mirrors.state_file.link import (
    StateFileContent,
    StateFileLink,
    StateFileRole,
    look,
    recover,
)
from muster.mirrors.state_file.lock import lock_state_file
from muster.mirrors.state_file.memory import FOLDER, WishMemory
from muster.mirrors.watch import FileWatcher

log = logging.getLogger(__name__)


async def wishes(
    paths: Mapping[SeatId, Path], team: Team, clock: Clock, home: Path | None = None
) -> dict[SeatId, str]:
    """The agents not to start with muster: their files say pause, and were edited meanwhile.

    A file that is there and cannot be understood counts as pause too, and so does one that another
    program follows: the value says what is wrong with it.
    """
    wanted = {
        seat: path.absolute()
        for seat, path in paths.items()
        if (agent := team.agents.get(seat)) is not None
        and agent.authority is Authority.MUSTER
        and agent.run.desired is not RunMode.PAUSE
    }
    folder = None if home is None else home / FOLDER
    memories = {seat: WishMemory(folder, seat, path) for seat, path in wanted.items()}
    taken = {} if home is None else await asyncio.to_thread(_taken, memories)
    for seat in memories.keys() - taken.keys():
        await asyncio.to_thread(recover, memories[seat])

    def look_at_all() -> dict[SeatId, StateFileContent]:
        return {seat: look(path, memories[seat]) for seat, path in wanted.items()}

    seen = look_at_all()
    if any(each.content is not None and each.document is None for each in seen.values()):
        await clock.sleep(FILE_SETTLE_SECONDS)  # somebody may be writing
        seen = look_at_all()
    return {
        seat: taken.get(seat, seen[seat].trouble)
        for seat in sorted(seen)
        if seat in taken or _says_pause(seen[seat], team.agents[seat], memories[seat])
    }


def _taken(memories: Mapping[SeatId, WishMemory]) -> dict[SeatId, str]:
    """The agents whose files another program follows, or another of these agents; and who does."""
    found: dict[SeatId, str] = {}
    with ExitStack() as locks:
        for seat in sorted(memories, key=lambda seat: memories[seat].is_renamed):
            if trouble := _try_lock(memories[seat], locks):
                found[seat] = trouble
    return found


def _try_lock(memory: WishMemory, locks: ExitStack) -> str:
    """Lock a file with the others, or say why not. One that is not followed needs no lock."""
    if not memory.leads_as_before():
        return ""
    try:
        lock = lock_state_file(memory.path, memory.target)
    except (StateFileInUse, StateFileNotLocked) as error:
        return str(error).removesuffix(".")
    if lock is not None:
        locks.enter_context(lock)
    return ""


def _says_pause(seen: StateFileContent, agent: Agent, memory: WishMemory) -> bool:
    if seen.missing:
        return False
    if seen.document is None:
        return True
    is_edit = memory.is_edit(seen.document, agent.run, agent.run.generation)
    return seen.document.desired is RunMode.PAUSE and is_edit


class StateFiles:
    """The state files of a team."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        clock: Clock,
        paths: Mapping[SeatId, Path],
        *,
        pause_if_removed: bool = False,
        home: Path | None = None,
    ) -> None:
        """Nothing is read before `run`. `pause_if_removed`: removing a file pauses its agent.

        In a home, the files are locked, and what muster writes into them is remembered; without one
        the caller has locked them. An agent whose file cannot be locked is paused until it can be.
        """
        self._dispatcher = dispatcher
        self._clock = clock
        self._home = home
        self._pause_if_removed = pause_if_removed
        self._links: dict[SeatId, StateFileLink] = {}
        self._roles: dict[SeatId, StateFileRole] = {}
        self._following: dict[SeatId, asyncio.Task[None]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._watching: FileWatcher | None = None
        for seat, path in paths.items():
            self._add(seat, path)
        # A link to the file of another agent is locked after that file: it cannot take it away.
        for link in sorted(self._links.values(), key=lambda link: link.memory.is_renamed):
            link.lock()  # what keeps muster from it is told when the file is followed
        dispatcher.watch(self._note)

    def _add(self, seat: SeatId, path: Path) -> None:
        agent = self._dispatcher.team.agents.get(seat)
        if agent is None:
            return
        link = StateFileLink(self._dispatcher, self._clock, seat, path.absolute(), home=self._home)
        if agent.authority is Authority.MUSTER:
            self._roles[seat] = StateFileAgent(link, pause_if_removed=self._pause_if_removed)
        elif agent.authority is Authority.FILE:
            self._roles[seat] = StateFileController(link)
        else:
            return
        self._links[seat] = link
        if self._tasks is not None:
            self._start(seat, self._tasks)

    async def change(self, paths: Mapping[SeatId, Path]) -> None:
        """Follow these files from now on, and no others.

        The file of an agent that was dismissed is followed until its session has ended.
        """
        for seat, link in tuple(self._links.items()):
            if seat not in paths and link.agent.dismissed_until is not None:
                continue
            if seat not in paths or paths[seat].absolute() != link.path:
                await self._remove(seat)
        for seat, path in paths.items():
            if seat not in self._links:
                self._add(seat, path)

    async def _remove(self, seat: SeatId) -> None:
        """Say in a file what is done, and follow it no longer."""
        link, role = self._links.pop(seat), self._roles.pop(seat)
        following = self._following.pop(seat, None)
        if following is not None:
            following.cancel()
            await asyncio.wait({following})
        if self._watching is not None:
            self._watching.remove(link.path, link.wake.set)
        await self._close(link, role)

    async def run(self) -> None:
        """Follow every file and what the log says of its agent, for ever."""
        watching = self._watching = FileWatcher(self._clock.sleep)
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                tasks.create_task(watching.run())
                tasks.create_task(self._watch_locks())
                for seat in self._links:
                    self._start(seat, tasks)
        finally:
            self._tasks = self._watching = None
            watching.close()

    async def _watch_locks(self) -> None:
        """Have a lock taken again that was removed: another program could take it."""
        while True:
            await self._clock.sleep(FILE_LOOK_SECONDS)
            for link in self._links.values():
                if not link.is_locked:
                    link.wake.set()

    def _start(self, seat: SeatId, tasks: asyncio.TaskGroup) -> None:
        link, role = self._links[seat], self._roles[seat]
        assert self._watching is not None  # while there are tasks
        self._watching.add(link.path, link.wake.set)
        self._following[seat] = tasks.create_task(link.follow(role.step))

    async def close(self) -> None:
        """Say in every file what is done now that muster stops. `run` must have ended."""
        for seat, role in self._roles.items():
            await self._close(self._links[seat], role)

    async def _close(self, link: StateFileLink, role: StateFileRole) -> None:
        try:
            await role.close()
        except Exception as error:  # the others are to be closed too
            extra = {"action": "state_file_failed", "seat": link.seat}
            log.warning("%s: %s", link.path, error, extra=extra)

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
            elif isinstance(fact, AgentRetired) and fact.seat in self._links and self._tasks:
                self._tasks.create_task(self._remove(fact.seat))
