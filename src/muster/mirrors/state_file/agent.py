"""muster is the agent of a state file: it obeys what others wish there, and says what is done.

A wish is what the file says is desired, by whom, why and when. One that is not known yet is sent to
the log before anything is written, and what is written keeps a wish that is not known yet: so a
newer wish is never clobbered. What is current is muster's own field.
"""

import os
import stat
from pathlib import Path
from typing import Final

from muster.machines.commands import SetDesired
from muster.machines.ids import MUSTER, STATE_FILE_EDIT, person
from muster.machines.run_control.modes import ONE_SHOTS
from muster.machines.state import RunControl
from muster.machines.vocabulary import Outcome, RunMode
from muster.mirrors import exchange as files
from muster.mirrors.state_file.document import (
    CURRENT,
    DESIRED,
    NOTE,
    SET_BY,
    TIMESTAMP,
    MalformedContent,
    StateDocument,
    Wish,
    new_document,
    parse,
    timestamp,
)
from muster.mirrors.state_file.link import (
    CORRECTING,
    WRITING,
    StateFileContent,
    StateFileLink,
    short_name,
    short_note,
)

FILE: Final = STATE_FILE_EDIT

KEPT_MAX: Final = 20
"""How many malformed contents are kept beside a file; then the last is replaced."""

READING: Final = "reading"
UNKNOWN: Final = "unknown"

_DONE: Final = tuple(f"{mode} {Outcome.COMPLETED}" for mode in ONE_SHOTS)
"""The notes of one-shots that went well: those leave the human's own words in the file."""


class StateFileAgent:
    """One agent that muster runs, and its state file."""

    def __init__(self, link: StateFileLink, *, pause_if_removed: bool = False) -> None:
        """With `pause_if_removed`, removing the file while muster runs pauses the agent; otherwise
        the file is written again from the log."""
        self._link = link
        self._pause_if_removed = pause_if_removed
        self._known: Wish | None = None
        self._stamp: tuple[int, int] | None = None
        """Of the file that had the known wish; `None` where that is not certain."""

        self._said: tuple[int, RunMode] | None = None
        """The generation and the current state that were written last."""

        self._kept: tuple[bytes, str] | None = None
        """The malformed content that was kept last, and under which name."""

        self._paused_in: int | None = None
        """The generation by which muster paused it because the file could not be read."""

        self._before: tuple[Wish, ...] = ()
        """The wishes that the file had when it could be read last. Another program may put that
        file back, and it says nothing of what was decided since."""

    async def step(self) -> float | None:
        """Take in what is wished, then say what is done."""
        await self._take_in_late()
        seen = await self._link.settled(patient=self._may_pass)
        if seen.document is not None:
            self._link.clear(READING)
            await self._link.readable()
            await self._take_in(seen.document, seen.stamp)
            return await self._mirror(seen.document)
        if seen.missing:
            return await self._make_anew()
        if seen.content is not None and not self._link.is_linked:
            return await self._repair(seen, seen.content)
        await self._distrust(seen.trouble)
        return 1.0

    async def close(self) -> None:
        """Say what is done at the end. A wish that came too late stays for the next start."""
        if self._link.is_locked:  # otherwise the file is another's
            seen = await self._link.settled(patient=lambda seen: seen.content is not None)
            if seen.document is not None:
                await self._mirror(seen.document)
        self._link.close_displaced()
        self._link.unlock()

    def _may_pass(self, seen: StateFileContent) -> bool:
        """A file that was never there need not be waited for, nor one that nobody may read."""
        if seen.missing:
            return self._known is not None or bool(self._before)
        return seen.content is not None

    # ── what is wished ────────────────────────────────────────────────────────────────────────────

    async def _take_in(self, document: StateDocument, stamp: tuple[int, int] | None) -> None:
        """Send a wish that is new to the log."""
        wish, run = document.wish, self._link.run
        is_again = self._is_pause_again(document, stamp, run)
        self._stamp = stamp
        if wish == self._known and not is_again:
            return
        if document.unknown is None:
            self._link.clear(UNKNOWN)
        else:
            text = f"{self._link.path}: {document.unknown}, which is no state and counts as pause"
            await self._link.warn(UNKNOWN, text)
        if self._counts(document, run):
            await self._want(document.desired, wish, run)
        self._known = wish
        self._paused_in, self._before = None, ()

    def _is_pause_again(
        self, document: StateDocument, stamp: tuple[int, int] | None, run: RunControl
    ) -> bool:
        """Whether the file was written again with the pause that it had before a start.

        The start is not in the file yet, so its words are those of the known pause.
        """
        return (
            document.wish == self._known
            and document.desired is RunMode.PAUSE
            and run.desired is not RunMode.PAUSE
            and self._stamp not in (None, stamp)
        )

    def _counts(self, document: StateDocument, run: RunControl) -> bool:
        """Whether a wish that is new, or seen again, counts more than the log's."""
        if run.generation == self._paused_in:
            return True
        if document.wish in self._before:
            return False
        if self._known is not None:
            return True
        return self._link.memory.is_edit(document, run, self._link.began)

    async def _want(self, desired: RunMode, wish: Wish, run: RunControl) -> None:
        # Start once more, for one that rests after failures, means: try now.
        again = desired is not RunMode.PAUSE and run.retry_at is not None
        if desired is run.desired and not again:
            return
        set_by, note = author_of(wish, self._known or self._link.memory.last)
        command = SetDesired(
            seat=self._link.seat,
            desired=desired,
            set_by=set_by,
            note=short_note(note),
            can_wait=True,  # the file keeps the wish: it need not be refused while muster stops
        )
        await self._link.try_send(command, actor=person(set_by))

    async def _take_in_late(self) -> None:
        """Put into the file what a writer in place wrote while it was taken away."""
        late, known = self._link.late_document(), self._known
        if late is None or late.wish == known:
            return

        def change(base: bytes) -> bytes:
            found = parse(base)
            if isinstance(found, MalformedContent) or found.wish != known:
                return base
            return late.changed(**{CURRENT: str(found.current)}).encode()

        try:
            exchanged = await self._link.exchange(change)
        except OSError as error:
            await self._link.not_written(error)
        else:
            self._stamp = exchanged.stamp or self._stamp

    # ── what is done ──────────────────────────────────────────────────────────────────────────────

    async def _mirror(self, document: StateDocument) -> float | None:
        """Write what differs from the log, and look again where a new wish came in between."""
        run, known = self._link.run, self._known
        now = timestamp(run.set_at or self._link.now())
        planned = fulfil(document, run, known, now)
        await self._link.remember(run.generation, *dict.fromkeys((document.wish, planned.wish)))
        if document.desired is run.desired and document.fields.get(CURRENT) == run.current:
            await self._link.tell("")
            return None
        if pause := await self._rest_from_corrections(run):
            return pause

        def change(base: bytes) -> bytes:
            found = parse(base)
            if isinstance(found, MalformedContent):
                return base
            if self._is_pause_again(found, self._link.look().stamp, run):
                return base
            return fulfil(found, run, known, now).encode()

        try:
            exchanged = await self._link.exchange(change)
        except FileNotFoundError:
            return 0.0
        except OSError as error:
            return await self._link.not_written(error)
        await self._link.written()
        written, self._stamp = exchanged.content, exchanged.stamp or self._stamp
        found = parse(written)
        if isinstance(found, MalformedContent):
            return 0.0
        if found.desired is run.desired and _is_ours(found.wish, run, known, now):
            self._known = found.wish
            await self._link.remember(run.generation, found.wish)
            return None
        return 0.0

    async def _rest_from_corrections(self, run: RunControl) -> float:
        """Seconds to leave the file as it is, because another program changes it all the time."""
        said, self._said = self._said, (run.generation, run.current)
        if said != self._said:  # something new to say is no correction
            self._link.clear(CORRECTING)
            return 0.0
        pause = self._link.may_correct()
        if pause:
            text = f"{self._link.path}: another program keeps changing what muster writes"
            await self._link.warn(CORRECTING, f"{text}; muster leaves it for a minute")
        return pause

    # ── without a document ────────────────────────────────────────────────────────────────────────

    async def _make_anew(self) -> float | None:
        """Make the file as the log has it, or paused."""
        if self._pause_if_removed and self._known is not None:
            await self._link.pause(f"{self._link.path.name} was removed")
        run = self._link.run
        document = new_document(
            desired=run.desired,
            current=run.current,
            at=run.set_at or self._link.now(),
            set_by=run.set_by or MUSTER,
            note=run.note,
        )
        await self._link.remember(run.generation, document.wish)
        try:
            await self._link.create(document)
        except OSError as error:
            trouble = f"{self._link.path} cannot be made: {error.strerror}"
            await self._link.warn(WRITING, trouble)
            await self._link.tell(trouble)
            return 1.0
        self._known, self._stamp = document.wish, None
        return 0.0

    async def _repair(self, seen: StateFileContent, malformed: bytes) -> float | None:
        """Pause, keep what is malformed for a person to look at, and write a valid file."""
        why = f"{seen.trouble}; it counts as pause"
        await self._link.pause(why)
        run = self._link.run
        document = new_document(
            desired=run.desired,
            current=run.current,
            at=self._link.now(),
            set_by=MUSTER,
            note=short_note(why),
        )
        valid = document.encode()
        try:
            if self._kept is None or self._kept[0] != malformed:
                self._kept = malformed, _keep(self._link.target, malformed).name
            await self._link.warn(READING, f"{why}, and is kept as {self._kept[1]}")
            await self._link.remember(run.generation, document.wish)
            await self._link.exchange(lambda base: valid if base == malformed else base)
        except OSError as error:
            trouble = f"{why}, and cannot be mended: {error.strerror}"
            await self._link.warn(READING, trouble)
            await self._link.tell(trouble, is_readable=False)
            return 1.0
        self._known, self._stamp = document.wish, None
        return 0.0

    async def _distrust(self, trouble: str) -> None:
        """Pause while nobody can tell what is wished."""
        await self._link.warn(READING, f"{trouble}; it counts as pause")
        await self._link.tell(trouble, is_readable=False)
        if await self._link.pause(trouble):
            self._paused_in = self._link.run.generation
        remembered = self._link.memory.remembered
        self._before = () if remembered is None else remembered.wishes
        self._known = self._stamp = None


def author_of(wish: Wish, before: Wish | None) -> tuple[str, str]:
    """The author and the note of a wish that replaced another one in a file.

    An edit of the desired state alone leaves the words of the wish before it: they are not the
    editor's, whoever they name. muster never edits by hand: where those are muster's own words, the
    author is the file.
    """
    if before is not None and wish._replace(desired=before.desired) == before:
        return FILE, ""
    if wish.set_by not in ("", MUSTER):
        return short_name(wish.set_by), wish.note
    is_unsaid = before is not None and wish.note == before.note
    return FILE, "" if is_unsaid else wish.note


def fulfil(document: StateDocument, run: RunControl, known: Wish | None, now: str) -> StateDocument:
    """The document with what is done; and with what is wanted, unless its own wish is new."""
    done = document.changed(**{CURRENT: str(run.current)})
    if document.wish != known or document.desired is run.desired:
        return done
    wanted = done.changed(**{DESIRED: str(run.desired), TIMESTAMP: now})
    if run.set_by == MUSTER and run.note in _DONE:
        return wanted
    return wanted.changed(**{SET_BY: run.set_by, NOTE: run.note})


def _is_ours(wish: Wish, run: RunControl, known: Wish | None, now: str) -> bool:
    """Whether a wish is one that was known, or the one that we have just written."""
    return wish == known or (wish.desired, wish.timestamp) == (run.desired, now)


def _keep(path: Path, malformed: bytes) -> Path:
    """Keep a malformed content beside the file that had it."""
    for number in range(1, KEPT_MAX):
        kept = path.with_name(f"{path.name}.malformed-{number}")
        if not os.path.lexists(kept):
            break
    else:
        kept = path.with_name(f"{path.name}.malformed-{KEPT_MAX}")
        kept.unlink()  # it may be a link by now
    files.write(kept, malformed, mode=stat.S_IMODE(path.stat().st_mode))  # it may be private
    return kept
