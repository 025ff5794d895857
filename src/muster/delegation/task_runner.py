"""Task sessions: the prompt of an agent that works on a conversation, its output and its files.

The sessions reactor runs them like every other session. The program works in the conversation's
outputs folder, and its output becomes part of the dialogue. Snapshots of the folder before and
after the session find the files that it wrote. Writes elsewhere cannot be prevented here; they are
found only in the project, if that has no more files than a snapshot may hold.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from muster.delegation import assignments, replies
from muster.delegation.agent_folders import agents_of
from muster.delegation.assignments import Assignment
from muster.delegation.folder.workspace import dialogue_of, outputs_of
from muster.delegation.own_files import is_own, writes
from muster.delegation.session_folder import HOME_FOLDER, SESSIONS_FOLDER
from muster.delegation.session_log import OpenLogProvider
from muster.delegation.task_files import FilesBefore, FilesChanged
from muster.delegation.task_output import RefusedCall, TaskOutput
from muster.engine import ports
from muster.engine.dispatcher import Dispatcher
from muster.errors import ConversationClosed, Invalid, Refused
from muster.limits import MESSAGE_BYTES_MAX
from muster.machines import commands as c
from muster.machines.commands import Command
from muster.machines.ids import (
    FIRST_ENROLLED_SEAT,
    MUSTER,
    ConversationId,
    SessionId,
    agent_actor,
)
from muster.machines.state import MAIN, Agent, Conversation, Selection
from muster.machines.turns.speech import indented
from muster.machines.vocabulary import DelegationMode, Outcome, Remark, Urgency
from muster.routing.agent_files import AgentFile
from muster.sessions.approvals import Approvals
from muster.sessions.environment import Worktree, WorktreeProvider, worktree_variables
from muster.sessions.intake import Intake
from muster.sessions.prompt_state import PromptState
from muster.sessions.running import SessionSetup

REMARK_CHARS_MAX: Final = MESSAGE_BYTES_MAX // 4
"""The longest remark, in any encoding."""

TASKS_FOLDER: Final = "tasks"

REFUSED_MAX: Final = 20
"""Refused tool calls that are noted in a dialogue; a model may repeat one many times."""

REFUSED_CHARS_MAX: Final = 300

REFUSAL: Final = (
    "Nobody can be asked, because no muster server runs. You may write into {outputs}/. A person "
    'can start one with `muster up`, or set claude.allowed_tools or confine = "outputs".'
)

INTERRUPTED: Final = "it was interrupted"

log = logging.getLogger(__name__)


class Tasks:
    """Prepares the sessions in which agents work on conversations, and records their results."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        clock: ports.Clock,
        log_provider: OpenLogProvider,
        runtimes: ports.Runtimes,
        *,
        timeout: Callable[[], float],
        home: Path | None = None,
        project: Path | None = None,
        asks_people: bool = True,
        selector: Callable[[], str] = str,
        worktrees: WorktreeProvider | None = None,
    ) -> None:
        """`home` holds prompts and output, `project` is the folder that requests come from.

        Without `asks_people`, a tool call that needs an approval is refused. `selector` is the
        agent that chooses where the router is unsure, if the settings name one.
        """
        self.asks_people = asks_people
        self._worktrees = worktrees
        self._selector = selector
        self._dispatcher = dispatcher
        self._clock = clock
        self._log_provider = log_provider
        self._runtimes = runtimes
        self._timeout = timeout
        self._home = home
        self._project = project

    @property
    def seconds(self) -> float:
        """The timeout of a task, as the settings say now."""
        return self._timeout()

    @property
    def selector(self) -> str:
        """The agent that chooses where the router is unsure; empty if the settings name none."""
        return self._selector()

    def can(self, name: str) -> bool:
        """Whether the settings name a program for an agent."""
        return self._runtime_of(name) is not None

    def answers_prompts(self, name: str) -> bool:
        """Whether the program of an agent answers every prompt, as a model does."""
        runtime = self._runtime_of(name)
        return runtime is not None and runtime.confirms_prompts

    def _runtime_of(self, name: str) -> ports.Runtime | None:
        return self.runtime(Agent(seat=FIRST_ENROLLED_SEAT, name=name))

    def runtime(self, agent: Agent) -> ports.Runtime | None:
        """The runtime for task sessions of an agent."""
        return self._runtimes(agent)

    async def set_up(
        self, launch: ports.Launch, conversation: ConversationId, approvals: Approvals
    ) -> SessionSetup:
        """Everything needed to start a session that works on a conversation."""
        agent = launch.agent
        runtime = self.runtime(agent)
        if runtime is None:
            raise Invalid(what=agent.id, why="has no program for tasks; name one in the settings")
        task = await self.assignment(conversation)
        await self._log_provider.close()  # the agent may write into its dialogue from now on
        await asyncio.to_thread(task.outputs.mkdir, parents=True, exist_ok=True)
        worktree = await self._worktree(task, agent)
        launch = msgspec.structs.replace(
            launch,
            prompt=assignments.prompt(task),
            environment={
                **launch.environment,
                **assignments.environment(task),
                **worktree_variables(worktree),
            },
            folder=self._home and self._home / TASKS_FOLDER / f"{conversation}-{task.epoch}",
            worktree=None if worktree is None else worktree.root,
            cwd=task.outputs if worktree is None else worktree.cwd,
            outputs=(task.outputs, task.dialogue),
            model=task.agent.model or "",
            tools=task.agent.tools or (),
            disallowed_tools=task.agent.disallowed_tools,
            guarded=tuple(self._spared(task)),
        )
        spared = self._spared(task)
        if self._project is not None:  # muster itself writes the logs of earlier sessions there
            spared = (*spared, self._project / SESSIONS_FOLDER, self._project / HOME_FOLDER)
        before = await asyncio.to_thread(FilesBefore.take, task, self._project, spared)
        intake = TaskIntake(
            self._dispatcher, self._clock, launch, approvals=approvals, tasks=self, before=before
        )
        return SessionSetup(runtime, launch, intake)

    async def _worktree(self, task: Assignment, agent: Agent) -> Worktree | None:
        if self._worktrees is None or not task.in_worktree:
            return None
        return await self._worktrees.of_task(task.conversation, agent)

    async def assignment(self, name: ConversationId, to: str = "") -> Assignment:
        """The assignment of the agent `to`, or else of the agent that has the conversation."""
        team = self._dispatcher.team
        delegation, conversation = team.delegation, team.delegation.conversations.get(name)
        if conversation is None or delegation.mode is None:
            raise ConversationClosed(conversation=name)
        root = self._log_provider.folder(team).root
        agents = await asyncio.to_thread(agents_of, delegation, root)
        name_of = to or conversation.state
        agent = agents.get(name_of) or AgentFile(name_of, "")  # a selector may be no state
        candidates = _candidates(conversation.selection, agent.name, agents)
        return Assignment(
            conversation=name,
            text=conversation.text,
            agent=agent,
            epoch=conversation.epoch,
            outputs=root / outputs_of(name),
            dialogue=root / dialogue_of(name),
            mode=delegation.mode,
            others=[each for each in agents if each != agent.name],
            depth=conversation.depth,
            before="\n\n".join(map(indented, conversation.reports)),
            in_worktree=not candidates and self._has_worktree(agent.name),
            candidates=candidates,
        )

    def _has_worktree(self, name: str) -> bool:
        agent = Agent(seat=FIRST_ENROLLED_SEAT, name=name)
        return self._worktrees is not None and self._worktrees.has_task_worktree(agent)

    def _spared(self, task: Assignment) -> Sequence[Path]:
        """The session's own files and the home, which are no agent's."""
        root = task.dialogue.parents[2]
        return (root,) if self._home is None else (root, self._home)

    # ── results ───────────────────────────────────────────────────────────────────────────────────

    async def finish(
        self, session: SessionId, before: FilesBefore, said: TaskOutput, end: ports.Exit
    ) -> None:
        """Record an agent's output and files, and finish its task or hand it over.

        If the session failed or was stopped, its end finishes the task: see `couplings.py`.
        """
        task, name = before.task, before.task.conversation
        if self._held(name, session) is None:
            return  # the conversation was closed during the session
        found = await asyncio.to_thread(before.difference)
        await self._record(task, said, found)
        team = self._dispatcher.team
        conversation, live = self._held(name, session), team.sessions.get(session)
        if conversation is None or live is None:
            return
        if team.is_stopping_now(live):
            await self._finish(conversation, INTERRUPTED, failed=True)
        elif end.outcome is not Outcome.COMPLETED or live.urgency is Urgency.NOW:
            return
        elif said.result is not None and not said.result.ok:
            await self._finish(conversation, said.result.text, failed=True)
        elif (refused := said.refused_write) and not found.files and not task.in_worktree:
            why = f"it wrote nothing, because a write was refused: {refused}"
            await self._finish(conversation, why, failed=True, report=said.report)
        elif said.handed and task.mode is DelegationMode.INTERACTIVE and not task.candidates:
            await self._hand_over(conversation, said)
        else:
            await self._finish(conversation, report=said.report)
            await self._tell_next(conversation, MAIN)  # the agent that a selector chose

    async def lost(self, conversation: ConversationId, session: SessionId) -> None:
        """Record what an agent wrote into its dialogue before muster crashed."""
        held = self._held(conversation, session)
        if held is not None:
            await self._record_added_text(held.id, held.state)

    def _held(self, name: ConversationId, session: SessionId) -> Conversation | None:
        """The conversation, if this session still works on it."""
        found = self._dispatcher.team.delegation.conversations.get(name)
        return found if found is not None and found.session == session else None

    async def _record_added_text(self, name: ConversationId, speaker: str) -> None:
        folder = self._log_provider.folder(self._dispatcher.team)
        wrote = await asyncio.to_thread(folder.added_text, name)
        await self._remark(name, speaker, Remark.THINKING, wrote)

    async def _record(self, task: Assignment, said: TaskOutput, found: FilesChanged) -> None:
        name, agent = task.conversation, task.agent.name
        await self._record_added_text(name, agent)
        printed, report = said.printed, said.report
        if printed.strip() != report:
            await self._remark(name, agent, Remark.OUTPUT, printed)
        if said.stderr_text:
            complained = f"(on standard error)\n{said.stderr_text}"
            await self._remark(name, agent, Remark.OUTPUT, complained)
        await self._remark(name, agent, Remark.REPORT, report)
        for file in found.files:
            await self._dispatcher.send(file, actor=agent_actor(agent))
        notes = [
            f"{agent} wrote outside of its outputs: {file.path}"
            for file in found.files
            if file.outside and not file.named
        ]
        notes += [f"{agent} was refused a tool call: {call.detail}" for call in said.refused]
        if said.handed and task.mode is not DelegationMode.INTERACTIVE:
            notes.append(f"{agent} cannot hand over to {said.handed[0]} in {task.mode} mode")
        for note in (*notes, *found.notes):
            await self._remark(name, MUSTER, Remark.NOTE, note)

    async def _hand_over(self, conversation: Conversation, said: TaskOutput) -> None:
        """Hand over to another agent; a refusal returns to MAIN with the reason."""
        assert said.handed is not None
        to, why = said.handed
        actor = agent_actor(conversation.state)
        handing = c.HandOff(
            conversation=conversation.id,
            epoch=conversation.epoch,
            to=to,
            reason=why,
            report=said.report,
            seconds=self.seconds,
        )
        team = self._dispatcher.team
        known = to in team.delegation.agents
        root = self._log_provider.folder(team).root
        try:
            if known and to not in await asyncio.to_thread(agents_of, team.delegation, root):
                raise Invalid(what=to, why="cannot be run: its file was removed.")
            if known and not self.can(to):
                raise Invalid(what=to, why=f"cannot be run. {replies.no_program(to)}")
            await self._dispatcher.send(handing, actor=actor)
        except Refused as refused:
            note = f"the hand-over to {to} was refused: {refused}"
            await self._remark(conversation.id, MUSTER, Remark.NOTE, note)
            await self._finish(conversation, note, failed=True)
            return
        await self._tell_next(conversation, conversation.state)

    async def _tell_next(self, before: Conversation, speaker: str) -> None:
        """Record the task of the agent that has the conversation now, if it is still open."""
        now = self._dispatcher.team.delegation.conversations.get(before.id)
        if now is not None and now.epoch > before.epoch and now.state != MAIN:
            told = assignments.prompt(await self.assignment(now.id))
            await self._remark(now.id, speaker, Remark.TASK, f"To {now.state}:\n\n{told}")

    async def _finish(
        self, conversation: Conversation, why: str = "", *, failed: bool = False, report: str = ""
    ) -> None:
        command = c.FinishTask(
            conversation=conversation.id,
            epoch=conversation.epoch,
            summary=why,
            failed=failed,
            report=report,
            seconds=self.seconds,
        )
        await self._dispatcher.send(command, actor=agent_actor(conversation.state))

    async def _remark(self, name: ConversationId, speaker: str, kind: Remark, text: str) -> None:
        if text.strip():
            command, actor = remark(name, speaker, kind, text)
            await self._dispatcher.send(command, actor=actor)


def remark(name: ConversationId, speaker: str, kind: Remark, text: str) -> tuple[Command, str]:
    """The command that records a remark in the dialogue, and its actor."""
    text = text if len(text) <= REMARK_CHARS_MAX else text[: REMARK_CHARS_MAX - 1] + "…"
    command = c.RecordDialogue(conversation=name, speaker=speaker, kind=kind, text=text)
    return command, MUSTER if speaker in (MAIN, MUSTER) else agent_actor(speaker)


def _candidates(
    selection: Selection | None, name: str, agents: Mapping[str, AgentFile]
) -> Sequence[AgentFile]:
    """The agents that a selector chooses from; none for every other agent."""
    if selection is None or selection.selector != name:
        return ()
    return [agents[each.agent] for each in selection.candidates if each.agent in agents]


class TaskIntake(Intake):
    """Handles the reports of a task session, which has no turn and only the tool `handoff`."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        clock: ports.Clock,
        launch: ports.Launch,
        *,
        approvals: Approvals,
        tasks: Tasks,
        before: FilesBefore,
    ) -> None:
        """Act for the seat of this session until it ends."""
        self._worktree = launch.worktree
        super().__init__(
            dispatcher,
            clock,
            session=launch.session,
            seat=launch.agent.seat,
            is_output_speech=False,
            told=PromptState(),
            approvals=approvals,
        )
        self._tasks = tasks
        self._before = before
        self.said = TaskOutput()

    async def on_report(self, report: ports.SessionReport) -> None:
        """Handle one report of the session."""
        match report:
            case ports.Output(stream=stream, text=text):
                (self.said.out if stream == "stdout" else self.said.err).append(text)
                await super().on_report(report)
            case ports.AgentText(text=text):
                await self._print_line(text)
            case ports.TurnDone(text=text):
                await self._print_line(text or "")
                await self._send(c.ReportResult(session=self._session))
            case ports.Result():
                if report.answers:
                    self.said.result = report
                await self._report(report)
            case ports.SessionActivity() | ports.SessionPlan() | ports.PromptAccepted():
                await super().on_report(report)
            case _:
                pass  # reports about turns concern sessions of a team only

    async def _print_line(self, text: str) -> None:
        if text:
            await self.on_report(ports.Output(stream="stdout", text=text))

    async def on_tool_call(self, call: ports.MusterToolCall) -> ports.Reply:
        """Handle `handoff`; refuse every other tool."""
        to, reason = call.arguments.get("to"), call.arguments.get("reason", "")
        if call.tool == "handoff" and isinstance(to, str):
            self.said.called = (to.strip(), str(reason).strip())
            return ports.Reply(True, f"It goes to {to} when you stop. Stop now.")
        return ports.Reply(False, "You work on one task, and have no turn: do it, and say so.")

    async def on_permission_request(self, request: ports.Permission) -> ports.PermissionAnswer:
        """Allow writes into the task's own files, and everything that the kernel confines.

        A person decides about every other call, if one can be asked.
        """
        task = self._before.task
        root, given = task.dialogue.parents[2], request.arguments
        if request.confined or await asyncio.to_thread(
            is_own, root, request.tool, given, request.cwd, worktree=self._worktree, by_agent=True
        ):
            return ports.PermissionAnswer(True, "")
        answer = ports.PermissionAnswer(False, REFUSAL.format(outputs=task.outputs))
        if self._tasks.asks_people:
            answer = await super().on_permission_request(request)
        if not answer.allowed and len(self.said.refused) < REFUSED_MAX:
            detail = f"{request.tool}: {' '.join(request.detail.split())}"[:REFUSED_CHARS_MAX]
            is_write = writes(request.tool, given, request.cwd)
            self.said.refused.append(RefusedCall(detail, is_write))
        return answer

    async def finish(self, end: ports.Exit) -> None:
        """Record the result of the task at the end of the session."""
        try:
            await self._tasks.finish(self._session, self._before, self.said, end)
        except Refused as refused:  # a person closed the conversation during the session
            log.info("%s", refused, extra={"action": "task_refused", "session": self._session})
