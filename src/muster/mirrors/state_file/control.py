"""muster is Mission Control of a state file: a loop of its own obeys what muster wishes there.

Such a loop may know nothing of muster: it polls, and rewrites the whole file in place. What it
writes as current is its report. A wish that it overwrote with what it had read before is written
again; the pause that it writes after a one-shot is taken in, unless something else is wanted since.
"""

from typing import Final

from muster.limits import FILE_RACE_SECONDS
from muster.machines.commands import ConnectAgent, ReportCurrent, SetDesired
from muster.machines.ids import agent_actor, person
from muster.machines.run_control.modes import ONE_SHOTS
from muster.machines.state import RunControl
from muster.machines.vocabulary import RunMode
from muster.mirrors.state_file.agent import FILE, READING, UNKNOWN
from muster.mirrors.state_file.document import (
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
    WRITING,
    StateFileContent,
    StateFileLink,
    short_name,
    short_note,
)

AGENT: Final = "agent"
"""The author of a pause that the loop wrote by itself."""

Words = tuple[str, str, str]
"""A wish without its timestamp."""


class StateFileController:
    """One agent with a loop of its own, and its state file."""

    def __init__(self, link: StateFileLink) -> None:
        """Nothing is known of the file."""
        self._link = link
        self._known: Wish | None = None
        self._content: bytes | None = None
        self._stamp: tuple[int, int] | None = None
        """That of the content; none after a write of muster's own."""

        self._current: RunMode | None = None
        self._agreed: int | None = None
        """The generation of the log's wish that the file had last."""

        self._written: int | None = None
        self._replaced: Wish | None = None
        """The wish that the present one replaced, which the loop may write back until then."""

        self._replaced_until = 0.0
        self._interrupted = False
        """Whether a one-shot was replaced whose own pause may still come."""

    async def step(self) -> float | None:
        """Take in what the loop says, then see that it has what is wanted."""
        await self._take_in_late()
        seen = await self._link.settled(patient=lambda seen: seen.content is not None)
        if seen.missing:
            return await self._make()
        if seen.document is None:
            await self._link.warn(READING, seen.trouble)
            await self._link.tell(seen.trouble, is_readable=False)
            return 1.0
        self._link.clear(READING)
        await self._link.readable()
        await self._hear(seen, seen.document)
        await self._take_in(seen, seen.document)
        return await self._wish(seen.document)

    async def close(self) -> None:
        """The loop goes on without muster, and so does its file."""
        self._link.close_displaced()
        self._link.unlock()

    # ── what the loop says ────────────────────────────────────────────────────────────────────────

    async def _hear(self, seen: StateFileContent, document: StateDocument) -> None:
        """Take a write of the loop as its report, and as a sign that it is here."""
        is_rewritten = self._stamp is not None and seen.stamp != self._stamp
        is_changed = self._content is not None and seen.content != self._content
        theirs = is_changed or is_rewritten
        same_wish = self._known is not None and _words(document.wish) == _words(self._known)
        if theirs and (same_wish or document.current is not self._current):
            await self._confirm()
        self._content, self._stamp = seen.content, seen.stamp
        self._current = document.current
        await self._say_unknown(document)
        run = self._link.run
        if document.current is run.desired:
            self._interrupted = False
        if document.current is not run.current:
            await self._link.try_send(
                ReportCurrent(seat=self._link.seat, current=document.current), actor=self._actor
            )

    @property
    def _actor(self) -> str:
        return agent_actor(self._link.agent.id)

    async def _confirm(self) -> None:
        """Send a sign of life. The machine notes it where that says something new."""
        if not self._link.agent.disabled:
            await self._link.try_send(ConnectAgent(seat=self._link.seat), actor=self._actor)

    async def _say_unknown(self, document: StateDocument) -> None:
        if document.unknown is None:
            self._link.clear(UNKNOWN)
        else:
            text = f"{self._link.path}: {document.unknown}, which is no state and counts as pause"
            await self._link.warn(UNKNOWN, text)

    async def _take_in(self, seen: StateFileContent, document: StateDocument) -> None:
        """Send a wish to the log that came in by the file: the loop's own, or one by hand."""
        known, run = self._known, self._link.run
        if known is None:
            found = StateDocument({**document.fields, TIMESTAMP: ""})
            is_edit = self._link.memory.is_edit(found, run, self._link.began)
            if document.desired is not run.desired and is_edit:
                await self._want(document, document.wish.set_by or FILE, None)
        elif _words(document.wish) == _words(known) or document.desired is run.desired:
            pass  # nothing new, or nothing else than what is wanted
        elif self._is_stale(document, known):
            self._agreed = None
        elif (document.wish.set_by, document.wish.note) == (known.set_by, known.note):
            await self._want(document, AGENT, self._agreed)
        else:
            await self._want(document, document.wish.set_by or FILE, None)
        self._known = document.wish

    def _is_stale(self, document: StateDocument, known: Wish) -> bool:
        """Whether the loop has overwritten a newer wish with what it had read before."""
        replaced = self._replaced
        if replaced is None:
            return False
        if _words(document.wish) == _words(replaced):
            return self._link.monotonic() < self._replaced_until
        author = (document.wish.set_by, document.wish.note)
        authors = ((replaced.set_by, replaced.note), (known.set_by, known.note))
        resting = document.desired is document.current is RunMode.PAUSE
        if self._interrupted and resting and author in authors:
            self._interrupted = False
            return True
        return False

    async def _want(self, document: StateDocument, set_by: str, generation: int | None) -> None:
        """Set what is desired as the file has it, if nobody asked for anything else since."""
        wish = document.wish
        command = SetDesired(
            seat=self._link.seat,
            desired=document.desired,
            set_by=short_name(set_by),
            note="" if set_by == AGENT else short_note(wish.note),
            if_generation=generation,
        )
        actor = self._actor if set_by == AGENT else person(short_name(set_by))
        await self._link.try_send(command, actor=actor)

    async def _take_in_late(self) -> None:
        """Put into the file what the loop wrote while the file was taken away, with our wish."""
        late, known = self._link.late_document(), self._known
        if late is None:
            return

        def change(base: bytes) -> bytes:
            found = parse(base)
            if isinstance(found, MalformedContent) or found.wish != known:
                return base
            fields = (DESIRED, TIMESTAMP, SET_BY, NOTE)
            return late.changed(
                **{each: str(found.fields.get(each, "")) for each in fields}
            ).encode()

        self._stamp = None
        try:
            await self._link.exchange(change)
        except OSError as error:
            await self._link.warn(WRITING, f"{self._link.path} cannot be written: {error.strerror}")

    # ── what is wanted ────────────────────────────────────────────────────────────────────────────

    async def _wish(self, document: StateDocument) -> float | None:
        """Write what is wanted, unless the file has it."""
        run, known = self._link.run, self._known
        if document.desired is run.desired:
            self._agreed = run.generation
            await self._link.tell("")
            await self._link.remember(run.generation, _undated(document.wish))
            return None
        fields = self._fields(run, document.wish)
        planned = document.changed(**fields).wish
        await self._link.remember(run.generation, _undated(document.wish), _undated(planned))

        def change(base: bytes) -> bytes:
            found = parse(base)
            if isinstance(found, MalformedContent) or found.wish != known:
                return base
            return found.changed(**fields).encode()

        try:
            done = await self._link.exchange(change)
        except FileNotFoundError:
            return 0.0
        except OSError as error:
            return await self._link.not_written(error)
        await self._link.written()
        if done.late is None:
            return 0.0  # somebody else wrote in between
        self._note_written(done.content, run)
        await self._link.remember(run.generation, _undated(planned))
        return None

    def _fields(self, run: RunControl, before: Wish) -> dict[str, str]:
        """The wish as it is written. Its words differ from those before it: then what the loop
        writes later shows which of the two it had read."""
        note = run.note
        if (run.set_by, note) == (before.set_by, before.note):
            note = f"{note} (wish {run.generation})".lstrip()
        return {
            DESIRED: str(run.desired),
            TIMESTAMP: timestamp(self._link.now()),
            SET_BY: run.set_by,
            NOTE: note,
        }

    def _note_written(self, content: bytes, run: RunControl) -> None:
        """Remember what the file has now, and what it had before."""
        written = parse(content)
        assert isinstance(written, StateDocument)  # it is our own
        if self._written != run.generation and self._known is not None:
            self._replaced = self._known
            self._replaced_until = self._link.monotonic() + FILE_RACE_SECONDS
            one_shot = self._known.desired in ONE_SHOTS
            self._interrupted = one_shot and run.desired is not RunMode.PAUSE
        self._written = self._agreed = run.generation
        self._known = written.wish
        self._content, self._stamp = content, None

    async def _make(self) -> float | None:
        """Make a file where none is, once somebody wants something."""
        run = self._link.run
        self._known = self._content = self._stamp = None
        if run.desired is RunMode.PAUSE:
            return None
        document = new_document(
            desired=run.desired,
            current=RunMode.PAUSE,
            at=self._link.now(),
            set_by=run.set_by,
            note=run.note,
        )
        await self._link.remember(run.generation, _undated(document.wish))
        try:
            await self._link.create(document)
        except OSError as error:
            trouble = f"{self._link.path} cannot be made: {error.strerror}"
            await self._link.warn(WRITING, trouble)
            await self._link.tell(trouble)
            return 1.0
        self._written = self._agreed = run.generation
        self._known, self._content = document.wish, document.encode()
        return 0.0


def _words(wish: Wish) -> Words:
    return wish.desired, wish.set_by, wish.note


def _undated(wish: Wish) -> Wish:
    """A wish as it is remembered: a loop may renew the timestamp with every write."""
    return wish._replace(timestamp="")
