"""Those who work on conversations: handing one to an agent, and taking back what came of it.

A conversation goes to an agent in one visit of the log, the agent's program works between visits,
and the next visit puts on record what it said and wrote, and passes the conversation on or closes
it. Whoever works on one holds the lock of a file named after it. So a visitor can tell what is
worked on from what a crash left behind, and closes that.
"""

import asyncio
import hashlib
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from muster.delegation import assignments, replies
from muster.delegation.assignments import Assignment
from muster.delegation.folder.workspace import dialogue_of, outputs_of
from muster.delegation.following.owner import Lives, nobody_can_tell
from muster.delegation.ledger import Book, Ledger, Show
from muster.delegation.task_runner import FoundFile, Programs, Task, Work, carry_out
from muster.engine import ports
from muster.engine.tasks import see_through
from muster.errors import Refused, StateFileInUse
from muster.limits import MESSAGE_BYTES_MAX
from muster.machines import commands as c
from muster.machines.commands import Command
from muster.machines.ids import MUSTER, ConversationId, SessionId, agent_actor
from muster.machines.state import MAIN, QUEUE, Conversation, Delegation
from muster.machines.vocabulary import NOTHING_USED, DelegationMode, Remark
from muster.mirrors.file_lock import FileLock
from muster.routing.agent_files import AgentFile, read_folders

LOCKS_FOLDER: Final = "working"
TASKS_FOLDER: Final = "tasks"

SUMMARY_CHARS: Final = 120

REMARK_CHARS_MAX: Final = MESSAGE_BYTES_MAX // 4
"""How long a remark may be, however it is encoded."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation in an agent's hands, and the program that will work on it."""

    task: Assignment
    runtime: ports.Runtime
    session: SessionId


class Workers:
    """Hands conversations to agents."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        home: Path,
        programs: Programs,
        task_seconds: float,
        project: Path | None,
        lives: Lives = nobody_can_tell,
    ) -> None:
        """`home` is where locks and prompts are kept, `project` where requests come from."""
        self._ledger = ledger
        self._home = home
        self._programs = programs
        self._task_seconds = task_seconds
        self._project = project
        self._lives = lives
        """Whether a program that leads a conversation still runs."""

    async def see_to_end(self, step: Step | None, show: Show) -> None:
        """Let one agent after another work, until the conversation is closed."""
        while step is not None:
            try:
                work = await self._work(step)
            except BaseException:
                await see_through(self._give_up(step, show))
                raise
            async with self._ledger.visit(show) as book:
                step = await self._after(book, step, work)

    async def hand_over(
        self, book: Book, conversation: ConversationId, agent: AgentFile, text: str, why: str
    ) -> Step | None:
        """From MAIN or the queue to an agent; without a program for it, it ends here."""
        task = self._assigned(book, conversation, agent, text)
        runtime = self._programs(agent.name, task.outputs)
        if runtime is None:
            await close(book, conversation, replies.no_program(agent.name), text, failed=True)
            return None
        told = assignments.prompt(task)
        await remark(book, conversation, MAIN, Remark.TASK, f"To {agent.name}:\n\n{told}")
        delegate = c.Delegate(conversation=conversation, to=agent.name, trigger=why)
        await book.send(delegate, actor=MUSTER)
        return self._step(book, task, runtime)

    def _assigned(
        self,
        book: Book,
        conversation: ConversationId,
        agent: AgentFile,
        text: str,
        before: str = "",
    ) -> Assignment:
        delegation, root = book.team.delegation, self._ledger.folder(book.team).root
        assert delegation.mode is not None
        return Assignment(
            conversation=conversation,
            text=text,
            agent=agent,
            epoch=delegation.conversations[conversation].epoch,
            outputs=root / outputs_of(conversation),
            dialogue=root / dialogue_of(conversation),
            mode=delegation.mode,
            others=[name for name in delegation.agents if name != agent.name],
            before=before,
        )

    def _step(self, book: Book, task: Assignment, runtime: ports.Runtime) -> Step:
        epoch = book.team.delegation.conversations[task.conversation].epoch
        return Step(
            task=msgspec.structs.replace(task, epoch=epoch),
            runtime=runtime,
            session=_session(book, task.conversation, epoch),
        )

    async def _work(self, step: Step) -> Work:
        task = step.task
        task.outputs.mkdir(parents=True, exist_ok=True)
        folder = self._home / TASKS_FOLDER / f"{task.conversation}-{task.epoch}"
        root = task.dialogue.parents[2]
        return await carry_out(
            step.runtime,
            Task(
                session=step.session,
                agent=task.agent.name,
                prompt=assignments.prompt(task),
                outputs=task.outputs,
                environment=assignments.environment(task),
                text=task.text,
                folder=folder,
                project=self._project,
                spared=(root, self._home),
            ),
            seconds=self._task_seconds,
        )

    # ── what came of it ───────────────────────────────────────────────────────────────────────────

    async def _after(self, book: Book, step: Step, work: Work) -> Step | None:
        """Put on record what an agent said and wrote, and go on."""
        task = step.task
        await self._record(book, task, work)
        if work.hand_to and task.mode is DelegationMode.INTERACTIVE:
            return await self._hand_on(book, step, work)
        summary = work.reason if work.failed else clipped(work.report)
        await self._finish(book, task, summary, failed=work.failed)
        if task.mode is not DelegationMode.RESPONSE:
            answer = _answer_of(task.agent.name, work)
            await close(book, task.conversation, answer, task.text, failed=work.failed)
        return None

    async def _record(self, book: Book, task: Assignment, work: Work) -> None:
        conversation, name = task.conversation, task.agent.name
        wrote = await asyncio.to_thread(self._ledger.folder(book.team).foreign, conversation)
        for kind, text in (
            (Remark.THINKING, wrote),
            (Remark.OUTPUT, work.printed if work.printed.strip() != work.report else ""),
            (Remark.OUTPUT, work.complained and f"(on standard error)\n{work.complained}"),
            (Remark.REPORT, work.report),
        ):
            if text.strip():
                await remark(book, conversation, name, kind, text)
        for file in work.files:
            await book.send(_file(conversation, file), actor=agent_actor(name))
        if work.usage != NOTHING_USED:
            used = c.RecordUsage(conversation=conversation, agent_name=name, usage=work.usage)
            await book.send(used, actor=agent_actor(name))
        astray = [each.found.path for each in work.files if each.outside and not each.named]
        notes = [f"{name} wrote outside of its outputs: {path}" for path in astray]
        if work.hand_to and task.mode is not DelegationMode.INTERACTIVE:
            notes.append(f"{name} cannot hand over to {work.hand_to} in {task.mode} mode")
        for note in (*notes, *work.notes):
            await remark(book, conversation, MUSTER, Remark.NOTE, note)

    async def _hand_on(self, book: Book, step: Step, work: Work) -> Step | None:
        """Interactive mode: on to another agent; what is refused goes back to MAIN with why."""
        task, conversation = step.task, step.task.conversation
        hand_off = c.HandOff(
            conversation=conversation, epoch=task.epoch, to=work.hand_to, reason=work.hand_why
        )
        try:
            await book.send(hand_off, actor=agent_actor(task.agent.name))
        except Refused as refused:
            note = f"the hand-over to {work.hand_to} was refused: {refused}"
            await remark(book, conversation, MUSTER, Remark.NOTE, note)
            await self._finish(book, task, note, failed=True)
        state = book.team.delegation.conversations[conversation].state
        if state == MAIN:
            await self._stop_here(book, task, work)
            return None
        return await self._pass_to(book, task, work, state)

    async def _stop_here(self, book: Book, task: Assignment, work: Work) -> None:
        """It was handed back, or the hand-over was refused."""
        stopped = work.hand_to != MAIN
        answer = _answer_of(task.agent.name, work)
        if stopped:
            answer += f"\n\nIt was not handed over to {work.hand_to}: see the dialogue."
        await close(book, task.conversation, answer.strip(), task.text, failed=stopped)

    async def _pass_to(self, book: Book, task: Assignment, work: Work, state: str) -> Step | None:
        conversation = task.conversation
        agent = (await asyncio.to_thread(agents_of, book.team.delegation))[state]
        said = f"{task.before}\n\n{task.agent.name} reports: {work.report}".strip()
        following = self._assigned(book, conversation, agent, task.text, said)
        runtime = self._programs(state, following.outputs)
        if runtime is None:
            answer = replies.no_program(state)
            await self._finish(book, following, answer, failed=True)
            await close(book, conversation, answer, task.text, failed=True)
            return None
        told = f"To {state}:\n\n{assignments.prompt(following)}"
        await remark(book, conversation, task.agent.name, Remark.TASK, told)
        return self._step(book, following, runtime)

    async def _finish(self, book: Book, task: Assignment, summary: str, *, failed: bool) -> None:
        epoch = book.team.delegation.conversations[task.conversation].epoch
        finish = c.FinishTask(
            conversation=task.conversation, epoch=epoch, summary=summary, failed=failed
        )
        await book.send(finish, actor=agent_actor(task.agent.name))

    async def _give_up(self, step: Step, show: Show) -> None:
        """The work was cut short: by Ctrl-C, or because the server ends."""
        async with self._ledger.visit(show) as book:
            await self.fail(book, step.task.conversation, "it was interrupted")

    # ── what a crash left behind ──────────────────────────────────────────────────────────────────

    async def recover(self, book: Book) -> None:
        """Close every conversation that nobody works on or leads any more."""
        delegation = book.team.delegation
        for conversation in in_order(delegation):
            keeper = conversation.keeper
            if conversation.state == QUEUE or (keeper and self._lives(keeper)):
                continue
            try:
                hold = self.hold(conversation.id)
            except StateFileInUse:
                continue
            if keeper:
                why = "the program that led it has ended"
            else:
                why = "muster ended while it was worked on"
                await self._reclaim(book, conversation)
            await self.fail(book, conversation.id, why)
            hold.let_go(closed=True)

    async def _reclaim(self, book: Book, conversation: Conversation) -> None:
        """End what an earlier life of muster has left running for a conversation."""
        runtime = self._programs(conversation.state, self._home)
        if runtime is not None and conversation.state != MAIN:
            session = _session(book, conversation.id, conversation.epoch)
            await runtime.reclaim(ports.Leftover(session=session))

    async def fail(self, book: Book, conversation: ConversationId, why: str) -> None:
        """Close a conversation that was cut short, whoever has it."""
        found = book.team.delegation.conversations.get(conversation)
        if found is None:
            return
        folder = self._ledger.folder(book.team)
        if found.state not in (MAIN, QUEUE):
            wrote = await asyncio.to_thread(folder.foreign, conversation)
            if wrote:
                await remark(book, conversation, found.state, Remark.THINKING, wrote)
            finish = c.FinishTask(
                conversation=conversation, epoch=found.epoch, summary=why, failed=True
            )
            await book.send(finish, actor=MUSTER)
        if conversation in book.team.delegation.conversations:
            closing = c.CloseConversation(conversation=conversation, summary=why, failed=True)
            await book.send(closing, actor=MUSTER)

    def hold(self, conversation: ConversationId) -> "Hold":
        """Take the right to work on a conversation; `StateFileInUse` where somebody has it."""
        folder = self._home / LOCKS_FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Hold(FileLock.take(folder / conversation), folder / f".{conversation}.muster-lock")

    def can(self, agent: str) -> bool:
        """Whether there is a program for an agent."""
        return self._programs(agent, self._home) is not None


class Hold(NamedTuple):
    """The right to work on a conversation."""

    lock: FileLock
    path: Path

    def let_go(self, *, closed: bool) -> None:
        """Let others have it. Nobody asks for a conversation that is closed: its file can go."""
        if closed:
            self.path.unlink(missing_ok=True)
        self.lock.release()


# ── small things ──────────────────────────────────────────────────────────────────────────────────


def agents_of(delegation: Delegation) -> dict[str, AgentFile]:
    """The agents of a session, as their files are now; one whose file is gone has no body."""
    folders = [Path(folder) for folder in delegation.folders if Path(folder).exists()]
    found = {agent.name: agent for agent in read_folders(folders).agents}
    return {name: found.get(name) or AgentFile(name, "") for name in delegation.agents}


def in_order(delegation: Delegation) -> list[Conversation]:
    """The conversations that go on, as they came: conv_1000 after conv_999."""
    return sorted(delegation.conversations.values(), key=lambda each: (len(each.id), each.id))


async def close(
    book: Book, conversation: ConversationId, answer: str, about: str, *, failed: bool
) -> None:
    """Tell the human what came of it, and close the conversation."""
    await remark(book, conversation, MAIN, Remark.ANSWER, answer)
    summary = f"{clipped(about)}: {clipped(answer)}"
    closing = c.CloseConversation(conversation=conversation, summary=summary, failed=failed)
    await book.send(closing, actor=MUSTER)


async def remark(
    book: Book, conversation: ConversationId, speaker: str, kind: Remark, text: str
) -> None:
    """Put on record what was thought, said or done."""
    text = text if len(text) <= REMARK_CHARS_MAX else text[: REMARK_CHARS_MAX - 1] + "…"
    said = c.RecordDialogue(conversation=conversation, speaker=speaker, kind=kind, text=text)
    actor = MUSTER if speaker in (MAIN, MUSTER) else agent_actor(speaker)
    await book.send(said, actor=actor)


def _file(conversation: ConversationId, file: FoundFile) -> Command:
    return c.RecordFile(
        conversation=conversation,
        path=file.found.path,
        change=file.found.change,
        size=file.found.size,
        sha256=file.found.sha256,
        outside=file.outside,
        named=file.named,
    )


def _answer_of(agent: str, work: Work) -> str:
    """What the human is told of an agent's work."""
    if work.failed:
        return f"{agent} failed: {work.reason}"
    return work.report or f"{agent} is done, and said nothing."


def _session(book: Book, conversation: ConversationId, epoch: int) -> SessionId:
    """The name of an agent's session: the same in every life of muster that looks for it."""
    where = hashlib.sha256(book.team.delegation.path.encode()).hexdigest()[:16]
    return SessionId(f"{where}-{conversation}-{epoch}")


def clipped(text: str) -> str:
    """A text on one line, not too long."""
    line = " ".join(text.split())
    return line if len(line) <= SUMMARY_CHARS else line[: SUMMARY_CHARS - 1] + "…"
