"""One visit to a followed conversation: the log, the folder, and the notes of who leads it."""

import asyncio
import os
from pathlib import Path
from typing import Final

from muster.delegation.conversations import say
from muster.delegation.folder import footprints
from muster.delegation.folder.footprints import Found, Look
from muster.delegation.folder.mirror import WorkspaceFolder
from muster.delegation.folder.workspace import outputs_of
from muster.delegation.following import owner
from muster.delegation.following.notes import Notes, Subagent
from muster.delegation.following.owner import Keeper
from muster.delegation.ledger import Book
from muster.delegation.task_runner import REMARK_CHARS_MAX
from muster.machines import commands as c
from muster.machines.delegation.decide import in_order
from muster.machines.ids import MUSTER, ConversationId, agent_actor
from muster.machines.state import MAIN, Conversation, Delegation
from muster.machines.vocabulary import DelegationMode, FileChange, Remark

FILES_RECORDED_MAX: Final = 200
"""How many files are put on record at once: a hook that waits for more is in the way."""


class Page:
    """What one hook works on."""

    def __init__(self, book: Book, folder: WorkspaceFolder, keeper: Keeper, notes: Notes) -> None:
        """A session is open in the log."""
        self.book = book
        self.folder = folder
        self.keeper = keeper
        self.notes = notes

    @property
    def delegation(self) -> Delegation:
        """The session, as it is now."""
        return self.book.team.delegation

    @property
    def mode(self) -> DelegationMode | None:
        """Its mode."""
        return self.delegation.mode

    # ── which conversation ────────────────────────────────────────────────────────────────────────

    def mine(self) -> list[Conversation]:
        """All that this session of the program has open, in whichever of its lives."""
        return [each for each in in_order(self.delegation) if self._leads(each)]

    def _leads(self, conversation: Conversation) -> bool:
        known = owner.parse(conversation.keeper)
        return known is not None and known.session == self.keeper.session

    def mains(self) -> list[Conversation]:
        """Those that an input has opened."""
        return [each for each in self.mine() if not self.is_beside(each)]

    def current(self) -> Conversation | None:
        """The one that the last input has opened, unless it is closed."""
        return next(iter(self.mains()[::-1]), None)

    def is_beside(self, conversation: Conversation) -> bool:
        """Whether it is one that a subagent has for itself."""
        return bool(self._subagent_of(conversation))

    def _subagent_of(self, conversation: Conversation) -> str:
        known = owner.parse(conversation.keeper)
        return "" if known is None else known.subagent

    def works_on(self, conversation: Conversation) -> bool:
        """Whether the subagent that has it for itself works in the background."""
        whose = self._subagent_of(conversation)
        return any(owner.plain(each) == whose for each in self.notes.background)

    def main_of(self, conversation: Conversation) -> str:
        """The conversation of an input that another one is a part of."""
        parts = (each for each in self.notes.subagents.values() if each.main)
        mains = [each.main for each in parts if each.conversation == conversation.id]
        return mains[0] if mains else conversation.id

    def find(self, conversation: str) -> Conversation | None:
        """A conversation, if it is still open."""
        return self.delegation.conversations.get(ConversationId(conversation))

    def has(self, subagent: Subagent) -> bool:
        """Whether a conversation is in a subagent's hands."""
        found = self.find(subagent.conversation)
        return found is not None and found.state == subagent.state

    def conversation_of(self, subagent: str) -> Conversation | None:
        """The one that a subagent works for; where nobody knows it, and for MAIN, the current."""
        known = self.notes.subagents.get(subagent)
        return (self.find(known.conversation) if known else None) or self.current()

    def guess(self, agent: str) -> Subagent | None:
        """A subagent whose start nobody has noted: the current one may be in its hands."""
        current = self.current()
        noted = {each.conversation for each in self.notes.subagents.values()}
        if current is None or current.state != agent or current.id in noted:
            return None
        return Subagent(conversation=current.id, state=agent, main=current.id)

    # ── files ─────────────────────────────────────────────────────────────────────────────────────

    async def collect(self, conversation: Conversation) -> None:
        """Put on record what came, changed or went in the outputs since the last look."""
        outputs = self.folder.root / outputs_of(conversation.id)
        before = self.notes.looks.get(conversation.id, {})
        after, found = await asyncio.to_thread(_look, outputs, before)
        if after is None:
            note = f"{outputs} has too many files to see what was written."
            await say(self.book, conversation.id, MUSTER, Remark.NOTE, note)
            return
        self.notes.looks[conversation.id] = after
        for each in found[:FILES_RECORDED_MAX]:
            await self._record(conversation, each)
        if len(found) > FILES_RECORDED_MAX:
            note = f"{len(found) - FILES_RECORDED_MAX} more files in {outputs} came or changed."
            await say(self.book, conversation.id, MUSTER, Remark.NOTE, note)

    async def wrote(
        self, conversation: Conversation, path: Path, project: Path, *, created: bool
    ) -> None:
        """Put a file on record that was written by a tool."""
        root = self.folder.root
        place = await asyncio.to_thread(_placed, path, root / outputs_of(conversation.id), root)
        if place is None:
            return
        inside, look, found = place
        found = found._replace(change=FileChange.CREATED if created else FileChange.CHANGED)
        if inside:
            self.notes.looks.setdefault(conversation.id, {}).update(look)
            await self._record(conversation, found)
            return
        named = _named(path, project, conversation.text)
        await self._record(conversation, found, outside=True, named=named)
        if not named:
            note = f"{conversation.state} wrote outside of its outputs: {found.path}"
            await say(self.book, conversation.id, MUSTER, Remark.NOTE, note)

    async def _record(
        self,
        conversation: Conversation,
        found: Found,
        *,
        outside: bool = False,
        named: bool = False,
    ) -> None:
        command = c.RecordFile(
            conversation=conversation.id,
            path=_legible(found.path),
            change=found.change,
            size=found.size,
            sha256=found.sha256,
            outside=outside,
            named=named,
        )
        await self.book.send(command, actor=_actor(conversation.state))

    # ── states ────────────────────────────────────────────────────────────────────────────────────

    async def take_in(self, conversation: Conversation) -> None:
        """Put on record what an agent wrote: files, and what stands in the dialogue."""
        wrote = await asyncio.to_thread(self.folder.foreign, conversation.id)
        if wrote:
            await say(self.book, conversation.id, conversation.state, Remark.THINKING, wrote)
        await self.collect(conversation)

    async def finish(self, conversation: ConversationId, summary: str, *, failed: bool) -> None:
        """Back to MAIN from whoever has it."""
        found = self.find(conversation)
        if found is None or found.state == MAIN:
            return
        finish = c.FinishTask(
            conversation=conversation, epoch=found.epoch, summary=summary, failed=failed
        )
        await self.book.send(finish, actor=agent_actor(found.state))

    async def bring_home(self, conversation: Conversation, why: str) -> None:
        """See that MAIN has it, with all that belongs to it on record."""
        if conversation.state == MAIN:
            await self.collect(conversation)
            return
        await self.take_in(conversation)
        await self.finish(conversation.id, why, failed=True)


def fitting(text: str) -> str:
    """A text that can be written down: not too long, and in whole characters."""
    text = text if len(text) <= REMARK_CHARS_MAX else text[: REMARK_CHARS_MAX - 1] + "…"
    return text.encode("utf-8", "replace").decode()


def _actor(state: str) -> str:
    return MUSTER if state == MAIN else agent_actor(state)


def _named(path: Path, project: Path, text: str) -> bool:
    """Whether a text names a file, by its path in the project or by its name."""
    return path.name in text or os.path.relpath(path, project) in text


def _legible(path: str) -> str:
    """A path that can be written down, whatever bytes its name has."""
    return os.fsencode(path).decode("utf-8", "replace")


def _look(folder: Path, before: Look) -> tuple[Look | None, list[Found]]:
    after = footprints.look(folder)
    return after, [] if after is None else footprints.difference(folder, before, after)


def _placed(path: Path, outputs: Path, root: Path) -> tuple[bool, Look, Found] | None:
    """Where a file is: in the outputs or outside, as it would be found in a look; nothing where it
    is not there, or is one that muster keeps itself."""
    try:
        folder, stat = path.parent.resolve(), path.lstat()
    except (OSError, ValueError, RuntimeError):  # gone, no path at all, or links in a circle
        return None
    real, ours = folder / path.name, outputs.resolve()
    inside = real.is_relative_to(ours)
    if not inside and real.is_relative_to(root.resolve()):
        return None
    base = ours if inside else folder
    look = {os.path.relpath(real, base): (stat.st_size, stat.st_mtime_ns)}
    [found] = footprints.difference(base, {}, look)
    return inside, look, found if inside else found._replace(path=str(path))
