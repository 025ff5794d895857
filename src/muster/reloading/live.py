"""The settings of an open team, kept in step with `muster.toml`.

The file is watched. A change is read when the file has been quiet for a moment, because an editor
may write it in several steps. A mistake, a file that is gone, and the removal of an agent count
only if they stay: a half-written file can be valid and lack the agents at its end. What is wrong is
put on record, and the earlier settings stay in force.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import Clock
from muster.errors import BadSettings, Closed, MusterError, NoSettingsFile, SettingsGone
from muster.home.faults import file_fault
from muster.limits import (
    FILE_RETRY_SECONDS_MAX,
    SETTINGS_CHANGES_MAX,
    SETTINGS_DOUBT_SECONDS,
    SETTINGS_SETTLE_SECONDS,
)
from muster.machines.commands import RecordSettings, RejectSettings
from muster.machines.ids import MUSTER, SeatId
from muster.mirrors.watch import FileWatcher
from muster.reloading.editing import Edit, Edited, preview_edit, write_edit
from muster.settings.in_force import (
    SettingsInForce,
    SettingsProblem,
    changes_between,
    problem_of,
)
from muster.settings.model import Settings

log = logging.getLogger(__name__)

Load = Callable[[], Settings]
"""Loads the settings anew, or raises `BadSettings`."""


class SettingsSource(msgspec.Struct, frozen=True, kw_only=True):
    """The file that the settings come from, and how it is loaded."""

    path: Path
    load: Load


class LiveSettings:
    """The settings of an open team, and the only way to change them while it is open."""

    def __init__(
        self,
        in_force: SettingsInForce,
        source: SettingsSource | None,
        dispatcher: Dispatcher,
        clock: Clock,
        apply: Callable[[], Awaitable[None]],
        outdated: Callable[[], Sequence[SeatId]],
    ) -> None:
        """Follow `source`; without one the settings never change.

        `apply` brings the team in line with the settings in force. `outdated` are the agents whose
        sessions were started with other settings.
        """
        self.in_force = in_force
        self._source = source
        self._dispatcher = dispatcher
        self._clock = clock
        self._apply = apply
        self._outdated = outdated
        self._lock = asyncio.Lock()
        self._had_file = source is not None and source.path.exists()
        self._changed = asyncio.Event()

    @property
    def current(self) -> Settings:
        """The settings in force."""
        return self.in_force.current

    @property
    def path(self) -> Path | None:
        """The settings file; none for a team without one."""
        return None if self._source is None else self._source.path

    @property
    def outdated(self) -> Sequence[SeatId]:
        """The agents whose running session was started with other settings."""
        return self._outdated()

    async def run(self) -> None:
        """Follow the file, for ever."""
        if self._source is None:
            return
        watching = FileWatcher(self._clock.sleep)
        watching.add(self._source.path, self._changed.set)
        self._changed.set()  # it may have changed since it was loaded
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(watching.run())
                tasks.create_task(self._follow(self._source))
        finally:
            watching.close()

    async def _follow(self, source: SettingsSource) -> None:
        while True:
            await self._changed.wait()
            try:
                await self._read_changed(source)
            except Closed:
                return
            except MusterError as error:  # the log cannot be written now
                log.warning("%s", error, extra={"action": "settings_not_applied"})
                await self._clock.sleep(FILE_RETRY_SECONDS_MAX)
                self._changed.set()

    async def _read_changed(self, source: SettingsSource) -> None:
        """Take up what the file says. It is read under the lock: an edit made after the reading
        would be undone by it."""
        await self._quiet(SETTINGS_SETTLE_SECONDS)
        async with self._lock:
            found = await self._look(source)
            if not self._is_doubtful(found):
                await self._take(found, MUSTER)
                return
        await self._quiet(SETTINGS_DOUBT_SECONDS)
        async with self._lock:
            await self._take(await self._look(source), MUSTER)

    async def _quiet(self, seconds: float) -> None:
        """Wait until the file has not changed for so long."""
        while True:
            self._changed.clear()
            await self._clock.sleep(seconds)
            if not self._changed.is_set():
                return

    async def _look(self, source: SettingsSource) -> Settings | SettingsProblem:
        """The settings in the file, or the mistake in it."""
        try:
            if self._had_file and not await asyncio.to_thread(source.path.exists):
                remedy = "Put it back. An empty file means a team without agents."
                return SettingsProblem(path=str(source.path), line=0, what="is gone", remedy=remedy)
            found = await asyncio.to_thread(source.load)
        except BadSettings as bad:
            return problem_of(bad)
        self._had_file = self._had_file or source.path.exists()
        return found

    def _is_doubtful(self, found: Settings | SettingsProblem) -> bool:
        if isinstance(found, SettingsProblem):
            return found != self.in_force.problem
        return any(name not in found.agents for name in self.in_force.written.agents)

    async def _take(self, found: Settings | SettingsProblem, actor: str) -> None:
        """Put settings into force, or a mistake on record."""
        if isinstance(found, SettingsProblem):
            if found != self.in_force.problem:
                self.in_force.problem = found
                reject = RejectSettings(line=found.line, what=found.what, remedy=found.remedy)
                await self._dispatcher.send(reject, actor=actor)
            return
        changes = changes_between(self.in_force.written, found)
        if not changes and self.in_force.problem is None:
            return
        self.in_force.problem = None
        self.in_force.written = found
        self.in_force.settle(self._dispatcher.team)
        record = RecordSettings(changes=_bounded(changes), waiting=self.in_force.waiting)
        await self._dispatcher.send(record, actor=actor)
        await self._apply()

    # ── edits ─────────────────────────────────────────────────────────────────────────────────────

    async def preview(self, edit: Edit, *, version: str | None = None) -> Edited:
        """The file after an edit, which is validated and not written."""
        source = await self._need_file()
        return await asyncio.to_thread(preview_edit, source.path, edit, version)

    async def edit(self, edit: Edit, *, actor: str, version: str | None = None) -> Edited:
        """Edit the file and put it into force, on record as the act of `actor`."""
        async with self._lock:
            source = await self._need_file()
            try:
                edited = await asyncio.to_thread(write_edit, source.path, edit, version)
            except OSError as error:
                raise file_fault(error, source.path) from error
            self._had_file = True
            await self._take(await asyncio.to_thread(source.load), actor)
        return edited

    async def _need_file(self) -> SettingsSource:
        """The source of an edit. One that has lost its file is refused: a new file with the edit
        alone would remove everybody else."""
        if self._source is None:
            raise NoSettingsFile()
        if self._had_file and not await asyncio.to_thread(self._source.path.exists):
            raise SettingsGone(path=self._source.path)
        return self._source


def _bounded(changes: tuple[str, ...]) -> tuple[str, ...]:
    left = len(changes) - SETTINGS_CHANGES_MAX
    return (*changes[:SETTINGS_CHANGES_MAX], f"{left} more") if left > 0 else changes
