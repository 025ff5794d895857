"""Conversations: one input each, from the human's words to the closed conversation.

    visit    open it, route it, hand it to an agent      (or answer it, as MAIN)
    work     the agent's program runs, between visits
    visit    what it said and wrote; on to the next agent, or back to MAIN and closed

Whoever works on a conversation holds the lock of a file named after it. So the next visitor can
tell a conversation that somebody works on from one that a crash left behind, and closes that.
"""

import asyncio
from collections.abc import Collection
from pathlib import Path
from typing import Final

import msgspec

from muster.errors import NoDelegation, NotFound, Refused, StateFileInUse
from muster.files.locking import FileLock
from muster.files.workspace import dialogue_of, outputs_of
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.ids import MUSTER, ConversationId, SessionId, agent_actor, person
from muster.machines.state import MAIN, QUEUE, Delegation
from muster.machines.vocabulary import DelegationMode, Ranked, Remark
from muster.permissions.policy import DEFAULT, POLICY_FILE, Policy, PolicyError, load
from muster.routing.agent_files import AgentFile, read_folders
from muster.routing.lexical import typed_words
from muster.routing.router import Decision, Router
from muster.services import assignments, ports, replies
from muster.services.assignments import Assignment
from muster.services.delegates import FoundFile, Programs, Task, Work, carry_out
from muster.services.dispatcher import Receipt
from muster.services.ledger import Book, Ledger, Show, show_nobody
from muster.services.tasks import see_through
from muster.services.traces import ConversationView, views_of

CHOSEN: Final = "person"
"""The rule by which a conversation goes where a person says."""

LOCKS_FOLDER: Final = "working"
TASKS_FOLDER: Final = "tasks"

POLL_SECONDS: Final = 0.25
"""How often a runner looks into an empty queue."""

SUMMARY_CHARS: Final = 120


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation in an agent's hands, and the program that will work on it."""

    task: Assignment
    runtime: ports.Runtime
    session: SessionId


class Conversations:
    """What happens in one state machine session."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        home: Path,
        programs: Programs,
        clock: ports.Clock,
        task_seconds: float,
        project: Path | None = None,
    ) -> None:
        """`home` is where locks and prompts are kept, `project` where requests come from."""
        self._ledger = ledger
        self._home = home
        self._programs = programs
        self._clock = clock
        self._task_seconds = task_seconds
        self._project = project

    # ── asking ────────────────────────────────────────────────────────────────────────────────────

    async def ask(
        self, text: str, *, speaker: str, to: str | None = None, show: Show = show_nobody
    ) -> ConversationView:
        """Carry one input through to its end; in response mode, put it into the queue."""
        async with self._ledger.visit(show) as book:
            delegation = _open(book)
            if to is not None and to not in (MAIN, *delegation.agents):
                raise NotFound(kind="agent description", name=to)
            await self._recover(book)
            opening = c.OpenConversation(text=text, speaker_name=speaker)
            conversation = _opened(await book.send(opening, actor=person(speaker)))
            lock = self._lock(conversation)
            step = await self._begin(book, conversation, text, to)
        try:
            await self._see_to_end(step, show)
        finally:
            lock.release()
        return await self.view(conversation)

    async def _see_to_end(self, step: Step | None, show: Show) -> None:
        while step is not None:
            try:
                work = await self._work(step)
            except BaseException:
                await see_through(self._give_up(step, show))
                raise
            async with self._ledger.visit(show) as book:
                step = await self._after(book, step, work)

    async def view(self, conversation: ConversationId) -> ConversationView:
        """A conversation as it is now."""
        async with self._ledger.visit() as book:
            root = book.team.delegation.path or self._ledger.folder(book.team).seen().root
            found = views_of(await book.history(root)).get(conversation)
        if found is None:
            raise NotFound(kind="conversation", name=conversation)
        return found

    # ── MAIN ──────────────────────────────────────────────────────────────────────────────────────

    async def _begin(
        self, book: Book, conversation: ConversationId, text: str, to: str | None
    ) -> Step | None:
        """Route it; then hand it over, queue it, or answer it."""
        delegation = book.team.delegation
        agents = await asyncio.to_thread(agents_of, delegation)
        decision = await asyncio.to_thread(_decide, list(agents.values()), text, to)
        receipt = await book.send(_route(conversation, decision), actor=MUSTER)
        routed = receipt.events[0].fact
        assert isinstance(routed, e.Routed)
        if decision.agent == MAIN:
            await self._answer(book, routed, text)
            return None
        if delegation.mode is DelegationMode.RESPONSE:
            return None
        agent = agents[decision.agent]
        return await self._hand_over(book, conversation, agent, text, decision.reason)

    async def _answer(self, book: Book, routed: e.Routed, text: str) -> None:
        """What is MAIN's own, muster answers; where nobody matches, it says so."""
        conversation = routed.conversation
        denied = None
        if routed.rule == "no-match":
            denied = replies.denial(text, policy_of(self._ledger.folder(book.team).root))
        if denied is not None:
            refusal = c.DenyPermission(
                conversation=conversation,
                rule=denied.rule,
                reason=denied.reason,
                suggestion=denied.suggestion,
            )
            await book.send(refusal, actor=MUSTER)
            answer = replies.suggested(denied)
        else:
            last = await self._last_summary(book, conversation)
            answer = replies.reply(routed, text, book.team.delegation.agents, last)
        await self._close(book, conversation, answer, text, failed=routed.rule == "no-match")

    async def _last_summary(self, book: Book, conversation: ConversationId) -> str:
        """What came of the last conversation in which an agent worked, or else of the last."""
        views = views_of(await book.history(book.team.delegation.path)).values()
        ended = [view for view in views if view.outcome and view.conversation != conversation]
        worked = [view for view in ended if view.trace]
        found = (worked or ended)[-1:]
        return f"{found[0].conversation}, {found[0].summary}." if found else ""

    async def _close(
        self, book: Book, conversation: ConversationId, answer: str, about: str, *, failed: bool
    ) -> None:
        await _remark(book, conversation, MAIN, Remark.ANSWER, answer)
        summary = f"{_clipped(about)}: {_clipped(answer)}"
        close = c.CloseConversation(conversation=conversation, summary=summary, failed=failed)
        await book.send(close, actor=MUSTER)

    # ── handing over ──────────────────────────────────────────────────────────────────────────────

    async def _hand_over(
        self, book: Book, conversation: ConversationId, agent: AgentFile, text: str, why: str
    ) -> Step | None:
        """From MAIN or the queue to an agent; without a program for it, it ends here."""
        task = self._assigned(book, conversation, agent, text)
        runtime = self._programs(agent.name, task.outputs)
        if runtime is None:
            await self._close(book, conversation, replies.no_program(agent.name), text, failed=True)
            return None
        told = assignments.prompt(task)
        await _remark(book, conversation, MAIN, Remark.TASK, f"To {agent.name}:\n\n{told}")
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
        if work.hand_to:
            return await self._hand_on(book, step, work)
        summary = work.reason if work.failed else _clipped(work.report)
        await self._finish(book, task, summary, failed=work.failed)
        if task.mode is not DelegationMode.RESPONSE:
            answer = _answer_of(task.agent.name, work)
            await self._close(book, task.conversation, answer, task.text, failed=work.failed)
        return None

    async def _record(self, book: Book, task: Assignment, work: Work) -> None:
        conversation, name = task.conversation, task.agent.name
        wrote = await asyncio.to_thread(self._ledger.folder(book.team).foreign, conversation)
        for kind, text in (
            (Remark.THINKING, wrote),
            (Remark.OUTPUT, work.printed),
            (Remark.OUTPUT, work.complained and f"(on standard error)\n{work.complained}"),
            (Remark.REPORT, work.report),
        ):
            if text.strip():
                await _remark(book, conversation, name, kind, text)
        for file in work.files:
            await book.send(_file(conversation, file), actor=agent_actor(name))
        astray = [each.found.path for each in work.files if each.outside and not each.named]
        notes = [f"{name} wrote outside of its outputs: {path}" for path in astray]
        for note in (*notes, *work.notes):
            await _remark(book, conversation, MUSTER, Remark.NOTE, note)

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
            await _remark(book, conversation, MUSTER, Remark.NOTE, note)
            await self._finish(book, task, note, failed=True)
        state = book.team.delegation.conversations[conversation].state
        if state in (MAIN, QUEUE):
            stopped = work.hand_to != MAIN
            answer = _answer_of(task.agent.name, work)
            if stopped:
                answer += f"\n\nIt was not handed over to {work.hand_to}: see the dialogue."
            await self._close(book, conversation, answer.strip(), task.text, failed=stopped)
            return None
        agent = (await asyncio.to_thread(agents_of, book.team.delegation))[state]
        said = f"{task.before}\n\n{task.agent.name} reports: {work.report}".strip()
        following = self._assigned(book, conversation, agent, task.text, said)
        runtime = self._programs(state, following.outputs)
        if runtime is None:
            answer = replies.no_program(state)
            await self._finish(book, following, answer, failed=True)
            await self._close(book, conversation, answer, task.text, failed=True)
            return None
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
            await self._fail(book, step.task.conversation, "it was interrupted")

    # ── what a crash left behind ──────────────────────────────────────────────────────────────────

    async def _recover(self, book: Book) -> None:
        """Close every conversation that nobody works on any more."""
        delegation = book.team.delegation
        for conversation in sorted(delegation.conversations.values(), key=lambda each: each.id):
            if conversation.state == QUEUE:
                continue
            try:
                lock = self._lock(conversation.id)
            except StateFileInUse:
                continue
            session = _session(book, conversation.id, conversation.epoch)
            runtime = self._programs(conversation.state, self._home)
            if runtime is not None and conversation.state != MAIN:
                await runtime.reclaim(ports.Leftover(session=session))
            await self._fail(book, conversation.id, "muster ended while it was worked on")
            lock.release()

    async def _fail(self, book: Book, conversation: ConversationId, why: str) -> None:
        found = book.team.delegation.conversations.get(conversation)
        if found is None:
            return
        folder = self._ledger.folder(book.team)
        if found.state not in (MAIN, QUEUE):
            wrote = await asyncio.to_thread(folder.foreign, conversation)
            if wrote:
                await _remark(book, conversation, found.state, Remark.THINKING, wrote)
            finish = c.FinishTask(
                conversation=conversation, epoch=found.epoch, summary=why, failed=True
            )
            await book.send(finish, actor=MUSTER)
        if conversation in book.team.delegation.conversations:
            close = c.CloseConversation(conversation=conversation, summary=why, failed=True)
            await book.send(close, actor=MUSTER)

    def _lock(self, conversation: ConversationId) -> FileLock:
        folder = self._home / LOCKS_FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return FileLock.take(folder / conversation)

    # ── the queue ─────────────────────────────────────────────────────────────────────────────────

    async def serve_queue(
        self, names: Collection[str], *, until_empty: bool = False, show: Show = show_nobody
    ) -> int:
        """Response mode: claim and carry out what is for these agents (all, where none is named).

        It goes on until the session ends, or the queue is empty; and says how many it carried out.
        """
        done = 0
        while True:
            step, lock = await self._claim(names, show)
            if step is not None and lock is not None:
                try:
                    await self._see_to_end(step, show)
                finally:
                    lock.release()
                done += 1
            elif until_empty:
                return done
            else:
                await self._clock.sleep(POLL_SECONDS)

    async def _claim(
        self, names: Collection[str], show: Show
    ) -> tuple[Step | None, FileLock | None]:
        async with self._ledger.visit(show) as book:
            delegation = _open(book)
            await self._recover(book)
            for conversation in sorted(delegation.conversations.values(), key=lambda it: it.id):
                wanted = not names or conversation.routed in names
                if conversation.state != QUEUE or not conversation.routed or not wanted:
                    continue
                agents = await asyncio.to_thread(agents_of, delegation)
                text = await self._text(book, conversation.id)
                lock = self._lock(conversation.id)
                agent = agents[conversation.routed]
                step = await self._hand_over(book, conversation.id, agent, text, "claimed")
                if step is not None:
                    return step, lock
                lock.release()
        return None, None

    async def _text(self, book: Book, conversation: ConversationId) -> str:
        views = views_of(await book.history(book.team.delegation.path))
        return views[conversation].text


# ── small things ──────────────────────────────────────────────────────────────────────────────────


def _open(book: Book) -> Delegation:
    if book.team.delegation.mode is None:
        raise NoDelegation()
    return book.team.delegation


def agents_of(delegation: Delegation) -> dict[str, AgentFile]:
    """The agents of a session, as their files are now; one whose file is gone has no body."""
    folders = [Path(folder) for folder in delegation.folders if Path(folder).exists()]
    found = {agent.name: agent for agent in read_folders(folders).agents}
    return {name: found.get(name) or AgentFile(name, "") for name in delegation.agents}


def policy_of(root: Path) -> Policy:
    """The policy of a session's folder; where its file cannot be used, the default."""
    try:
        return load(root / POLICY_FILE)
    except (OSError, PolicyError, UnicodeDecodeError):
        return DEFAULT


def _decide(agents: list[AgentFile], text: str, to: str | None) -> Decision:
    decision = Router(agents).route(text)
    if to is None:
        return decision
    return Decision(
        agent=to,
        confidence=1.0,
        margin=decision.margin,
        candidates=decision.candidates,
        rule=CHOSEN,
        reason="Chosen by a person",
        router=decision.router,
    )


def _route(conversation: ConversationId, decision: Decision) -> Command:
    return c.RecordRoute(
        conversation=conversation,
        to=decision.agent,
        confidence=decision.confidence,
        rule=decision.rule,
        reason=decision.reason,
        router=decision.router,
        margin=decision.margin,
        candidates=tuple(
            Ranked(
                agent=each.agent,
                score=each.score,
                words=tuple(piece.typed for piece in typed_words(each.evidence, most=5)),
            )
            for each in decision.candidates
        ),
    )


async def _remark(
    book: Book, conversation: ConversationId, speaker: str, kind: Remark, text: str
) -> None:
    remark = c.RecordDialogue(conversation=conversation, speaker=speaker, kind=kind, text=text)
    actor = MUSTER if speaker in (MAIN, MUSTER) else agent_actor(speaker)
    await book.send(remark, actor=actor)


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
    """The name of an agent's session: the same for whoever looks for what is left of it."""
    return SessionId(f"{book.team.boot}-{conversation}-{epoch}")


def _opened(receipt: Receipt) -> ConversationId:
    fact = receipt.events[0].fact
    assert isinstance(fact, e.ConversationStart)
    return fact.conversation


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SUMMARY_CHARS else line[: SUMMARY_CHARS - 1] + "…"
