"""The state that one hook call works on: the log, the folder, and the notes on its program."""

import asyncio
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from muster.delegation.conversations import finish_all, say
from muster.delegation.folder import file_changes
from muster.delegation.folder.file_changes import ChangedFile, FolderSnapshot
from muster.delegation.folder.mirror import WorkspaceFolder
from muster.delegation.folder.workspace import outputs_of
from muster.delegation.following import owner
from muster.delegation.following.notes import Notes, Subagent
from muster.delegation.following.owner import Keeper
from muster.delegation.session_folder import HOME_FOLDER, SESSIONS_FOLDER
from muster.delegation.session_log import SessionLog
from muster.delegation.task_runner import REMARK_CHARS_MAX
from muster.machines import commands as c
from muster.machines.delegation.decide import in_order
from muster.machines.ids import MUSTER, ConversationId, agent_actor
from muster.machines.state import MAIN, Conversation, Delegation
from muster.machines.vocabulary import DelegationMode, FileChange, Remark

FILES_RECORDED_MAX: Final = 200
"""How many files one hook records: the program waits for its hooks."""

FILES_NAMED_MAX: Final = 10
"""How many changed files a note in the dialogue names."""


class HookContext:
    """The log, folder and notes of a followed program during one hook call."""

    def __init__(
        self, session_log: SessionLog, folder: WorkspaceFolder, keeper: Keeper, notes: Notes
    ) -> None:
        """A state machine session must be open in the log."""
        self.session_log = session_log
        self.folder = folder
        self.keeper = keeper
        self.notes = notes

    @property
    def delegation(self) -> Delegation:
        """The current state of the session."""
        return self.session_log.team.delegation

    @property
    def mode(self) -> DelegationMode | None:
        """The mode of the session."""
        return self.delegation.mode

    # ── conversations ─────────────────────────────────────────────────────────────────────────────

    def mine(self) -> list[Conversation]:
        """All open conversations of this program session, also from an earlier process of it."""
        return [each for each in in_order(self.delegation) if self._leads(each)]

    def _leads(self, conversation: Conversation) -> bool:
        known = owner.parse(conversation.keeper)
        return known is not None and known.session == self.keeper.session

    def mains(self) -> list[Conversation]:
        """The open conversations of inputs, without those of single subagents."""
        return [each for each in self.mine() if not self.belongs_to_subagent(each)]

    def current(self) -> Conversation | None:
        """The conversation of the newest input that is still open."""
        return next(iter(self.mains()[::-1]), None)

    def belongs_to_subagent(self, conversation: Conversation) -> bool:
        """Whether the conversation belongs to a single subagent."""
        return bool(self._subagent_of(conversation))

    def _subagent_of(self, conversation: Conversation) -> str:
        known = owner.parse(conversation.keeper)
        return "" if known is None else known.subagent

    def works_on(self, conversation: Conversation) -> bool:
        """Whether the conversation's own subagent still runs in the background."""
        whose = self._subagent_of(conversation)
        return any(owner.plain(each) == whose for each in self.notes.background)

    def main_of(self, conversation: Conversation) -> str:
        """The conversation of the input that this conversation is part of."""
        parts = (each for each in self.notes.subagents.values() if each.main)
        mains = [each.main for each in parts if each.conversation == conversation.id]
        return mains[0] if mains else conversation.id

    def find(self, conversation: str) -> Conversation | None:
        """The conversation with this id, if it is open."""
        return self.delegation.conversations.get(ConversationId(conversation))

    def has(self, subagent: Subagent) -> bool:
        """Whether a subagent still has its conversation."""
        found = self.find(subagent.conversation)
        return found is not None and found.is_worked_on_by(subagent.state)

    def conversation_of(self, subagent: str) -> Conversation | None:
        """The conversation of a subagent; for MAIN or an unknown subagent, the current one."""
        known = self.notes.subagents.get(subagent)
        return (self.find(known.conversation) if known else None) or self.current()

    def guess(self, agent: str) -> Subagent | None:
        """A subagent whose start was not recorded, if the current conversation can be its own."""
        current = self.current()
        noted = {each.conversation for each in self.notes.subagents.values()}
        if current is None or current.state != agent or current.id in noted:
            return None
        return Subagent(conversation=current.id, state=agent, main=current.id)

    # ── files ─────────────────────────────────────────────────────────────────────────────────────

    async def collect(self, conversation: Conversation, agent: str = "") -> None:
        """Record the files in the outputs that were created, changed or deleted.

        `agent` made them, or else the agent that has the conversation.
        """
        outputs = self.folder.root / outputs_of(conversation.id)
        before = self.notes.looks.get(conversation.id, {})
        after, found = await asyncio.to_thread(_compare, outputs, before)
        if after is None:
            note = f"{outputs} has too many files to see what was written."
            await say(self.session_log, conversation.id, MUSTER, Remark.NOTE, note)
            return
        self.notes.looks[conversation.id] = after
        for each in found[:FILES_RECORDED_MAX]:
            await self._record(conversation, each, agent=agent)
        if len(found) > FILES_RECORDED_MAX:
            more = len(found) - FILES_RECORDED_MAX
            note = f"{more} more files in {outputs} were created, changed or deleted."
            await say(self.session_log, conversation.id, MUSTER, Remark.NOTE, note)

    async def look_around(
        self, conversation: Conversation, project: Path, *, without: Collection[Path]
    ) -> None:
        """Record the files of the project that changed since the input, whatever wrote them."""
        since = self.notes.since.get(conversation.id)
        since = since or self.notes.since.get(self.main_of(conversation))
        if not since:
            return
        root = self.folder.root
        spared = (root, project / SESSIONS_FOLDER, project / HOME_FOLDER, *without)
        after = await asyncio.to_thread(file_changes.changed_since, project, since, without=spared)
        if after is None:
            note = f"{project} has too many files to see what else was written."
            await say(self.session_log, conversation.id, MUSTER, Remark.NOTE, note)
            return
        known = {look for looks in self.notes.around.values() for look in looks.items()}
        whole = {str(project / path): look for path, look in after.items()}
        new = {path: look for path, look in whole.items() if (path, look) not in known}
        self.notes.around.setdefault(conversation.id, {}).update(new)
        found = await asyncio.to_thread(file_changes.difference, project, {}, new)
        for each in found[:FILES_RECORDED_MAX]:
            changed = each._replace(change=FileChange.CHANGED)
            named = _named(Path(each.path), project, conversation.text)
            await self._record(conversation, changed, outside=True, named=named)
        if found:
            await self._note_around(conversation, found)

    async def _note_around(self, conversation: Conversation, found: Sequence[ChangedFile]) -> None:
        names = ", ".join(_legible(each.path) for each in found[:FILES_NAMED_MAX])
        more = len(found) - FILES_NAMED_MAX
        note = f"changed outside of the outputs while {conversation.state} worked: {names}"
        note += f" and {more} more" if more > 0 else ""
        await say(self.session_log, conversation.id, MUSTER, Remark.NOTE, fitting(note))

    async def wrote(
        self, conversation: Conversation, path: Path, project: Path, *, by: str, created: bool
    ) -> None:
        """Record a file that a tool has written; `by` is the subagent, or "" for MAIN."""
        root = self.folder.root
        known = self.notes.subagents.get(by)
        agent = "" if known is None else known.state
        place = await asyncio.to_thread(_placed, path, root / outputs_of(conversation.id), root)
        if place is None:
            return
        inside, look, found = place
        found = found._replace(change=FileChange.CREATED if created else FileChange.CHANGED)
        if inside:
            self.notes.looks.setdefault(conversation.id, {}).update(look)
            await self._record(conversation, found, agent=agent)
            return
        self.notes.around.setdefault(conversation.id, {})[str(path)] = next(iter(look.values()))
        named = _named(path, project, conversation.text)
        await self._record(conversation, found, outside=True, named=named, agent=agent)
        if not named:
            note = f"{agent or conversation.state} wrote outside of its outputs: {found.path}"
            await say(self.session_log, conversation.id, MUSTER, Remark.NOTE, note)

    async def _record(
        self,
        conversation: Conversation,
        found: ChangedFile,
        *,
        outside: bool = False,
        named: bool = False,
        agent: str = "",
    ) -> None:
        command = c.RecordFile(
            conversation=conversation.id,
            path=_legible(found.path),
            change=found.change,
            size=found.size,
            sha256=found.sha256,
            outside=outside,
            named=named,
            agent=agent,
        )
        await self.session_log.send(command, actor=_actor(agent or conversation.state))

    # ── states ────────────────────────────────────────────────────────────────────────────────────

    async def record_work(self, conversation: Conversation, agent: str = "") -> None:
        """Record an agent's files, and the text that it added to the dialogue."""
        agent = agent or conversation.state
        wrote = await asyncio.to_thread(self.folder.added_text, conversation.id)
        if wrote:
            await say(self.session_log, conversation.id, agent, Remark.THINKING, wrote)
        await self.collect(conversation, agent)

    async def finish(self, conversation: ConversationId, agent: str, summary: str) -> None:
        """Finish the task of an agent: MAIN has the conversation then, or the others that work."""
        found = self.find(conversation)
        if found is None or not found.is_worked_on_by(agent):
            return
        finish = c.FinishTask(
            conversation=conversation, epoch=found.epoch, summary=summary, agent=agent
        )
        await self.session_log.send(finish, actor=agent_actor(agent))

    async def return_to_main(self, conversation: Conversation, why: str) -> None:
        """Record all files of a conversation, and return it to MAIN."""
        if conversation.state == MAIN:
            await self.collect(conversation)
            return
        await self.record_work(conversation)
        await finish_all(self.session_log, conversation.id, why)


def fitting(text: str) -> str:
    """A text cut to the longest remark, with lone surrogates replaced."""
    text = text if len(text) <= REMARK_CHARS_MAX else text[: REMARK_CHARS_MAX - 1] + "…"
    return text.encode("utf-8", "replace").decode()


def _actor(state: str) -> str:
    return MUSTER if state == MAIN else agent_actor(state)


def _named(path: Path, project: Path, text: str) -> bool:
    """Whether a text names a file, by its path in the project or by its name."""
    return path.name in text or os.path.relpath(path, project) in text


def _legible(path: str) -> str:
    """A path as valid UTF-8, whatever bytes its name has."""
    return os.fsencode(path).decode("utf-8", "replace")


def _compare(
    folder: Path, before: FolderSnapshot
) -> tuple[FolderSnapshot | None, list[ChangedFile]]:
    after = file_changes.take_snapshot(folder)
    return after, [] if after is None else file_changes.difference(folder, before, after)


def _placed(
    path: Path, outputs: Path, root: Path
) -> tuple[bool, FolderSnapshot, ChangedFile] | None:
    """Whether a file lies in the outputs, its snapshot entry, and its change.

    None if it does not exist, or is one of muster's own files in the session's folder.
    """
    try:
        folder, stat = path.parent.resolve(), path.lstat()
    except (OSError, ValueError, RuntimeError):  # deleted, not a valid path, or a loop of links
        return None
    real, ours = folder / path.name, outputs.resolve()
    inside = real.is_relative_to(ours)
    if not inside and real.is_relative_to(root.resolve()):
        return None
    base = ours if inside else folder
    look = {os.path.relpath(real, base): (stat.st_size, stat.st_mtime_ns)}
    [found] = file_changes.difference(base, {}, look)
    return inside, look, found if inside else found._replace(path=str(path))
