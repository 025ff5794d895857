"""Answers the hooks of Claude Code, in a running server or, in the slow path, without one.

The hooks that decide fail closed, the others only observe: `answers.answer_safely` handles every
exception that is raised here.

The token of the session in which a hook runs identifies its caller. The program of a seat is an
agent; the lead's is MAIN. A hook without a token comes from a person's own Claude Code, which is
MAIN too.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

from muster.claude_plugin.by_hand.sessions import HandSessions
from muster.claude_plugin.hooks import answers, events
from muster.claude_plugin.hooks.asked import AskedHook, HookCaller
from muster.claude_plugin.hooks.calls import (
    COMMAND_EVENT,
    POLICY_EVENT,
    RECORD_EVENT,
    RECORD_SECONDS,
    REQUEST_EVENT,
    STARTER_TOOLS,
    HookAnswer,
    HookCall,
)
from muster.claude_plugin.hooks.confining import confined_answer
from muster.claude_plugin.hooks.events import is_input, text_of
from muster.claude_plugin.hooks.expansions import answer_expansion
from muster.claude_plugin.hooks.peers import Subagents
from muster.claude_plugin.hooks.places import OpenSession, Places, PolicyCache
from muster.delegation.following import transcript
from muster.delegation.following.owner import Keeper
from muster.delegation.following.record import REASON_CHARS, STOPPED
from muster.delegation.own_files import is_own
from muster.delegation.visiting import keeper_of, team_in
from muster.errors import Refused
from muster.machines.commands import LogWarning
from muster.machines.ids import LEAD_SEAT, MUSTER, name_key
from muster.machines.run_control.gate import stopped_by_a_person
from muster.machines.state import Agent, Team
from muster.machines.turns.speech import framed_soul
from muster.machines.turns.table import active_turns
from muster.permissions.judge import Verdict, calling_states, judge_states
from muster.permissions.policy import Policy
from muster.settings.model import Settings
from muster.team import Muster
from muster.worker.judging import judged

OWN_TOOLS: Final = "mcp__muster__"
"""Prefix of muster's own tools, which its sessions may always call."""

ANSWER_SECONDS: Final = 2.0
"""Timeout of a policy hook for its record, which names the agent to delegate to. After the
timeout the hook is answered, and the record is finished in the background."""

JUDGED_HERE_BYTES: Final = 64 * 1024
"""A larger call is judged in the worker, so that the event loop is not blocked."""

JUDGED_HERE_CHARS: Final = 2 * 1024
"""A longer command line too: one of 4,000 characters can take 50 ms, and hardly one is so long."""

BUILT_IN: Final = ("", "general-purpose", "fork", "Explore", "Plan", "statusline-setup", "claude")
"""Claude Code's own kinds of subagents, which are no agents of a session."""

REMINDER: Final = (
    "You still have the turn in {channel}. Call mcp__muster__turn_complete if you are done with "
    "it, mcp__muster__turn_pass if you have nothing to say, or mcp__muster__turn_wait if you wait "
    "for something. Without that muster ends the turn."
)

log = logging.getLogger(__name__)


class HookDesk:
    """Answers hooks."""

    def __init__(
        self, places: Places, *, home: Path, human: str, muster: Muster | None = None
    ) -> None:
        """Find sessions in these places; `human` is the author of inputs."""
        self._places = places
        self._policies = PolicyCache()
        self._home = home
        self._human = human
        self._muster = muster
        self._subagents = Subagents()
        self._hands = None if muster is None else HandSessions(muster)
        self._recording: set[asyncio.Task[str | None]] = set()  # some hooks were answered already
        expansion = partial(answer_expansion, policies=self._policies, record=self._record)
        self._answers: Final[dict[str, Callable[[AskedHook], Awaitable[HookAnswer]]]] = {
            POLICY_EVENT: self._tool_use,
            RECORD_EVENT: self._tool_done,
            REQUEST_EVENT: self._permission_request,
            COMMAND_EVENT: expansion,
            "UserPromptSubmit": self._prompt,
            "SubagentStart": self._subagent_start,
            "SubagentStop": self._subagent_stop,
            "Stop": self._stop,
            "SessionStart": self._session_start,
            "SessionEnd": self._session_end,
            "Notification": self._notification,
        }

    @classmethod
    def of_team(cls, muster: Muster, home: Path, settings: Settings) -> Self:
        """The desk of a server, for the session of its team and the sessions of projects."""
        places = Places(home, settings, muster=muster)
        return cls(places, home=home, human=settings.team.human, muster=muster)

    @classmethod
    def of_project(cls, home: Path, settings: Settings) -> Self:
        """The desk without a server: each answer opens the log of the project's session."""
        return cls(Places(home, settings), home=home, human=settings.team.human)

    async def answer(self, call: HookCall) -> HookAnswer:
        """Answer one call, or raise."""
        respond = self._answers.get(call.event)
        if respond is None:
            return answers.NOTHING
        caller = self._caller(call.token)
        if not caller.known:
            if call.event == POLICY_EVENT:
                return answers.deny("The session that this token belongs to is over.")
            return answers.NOTHING
        return await respond(AskedHook(call, caller, self._places.of(call.project)))

    async def run(self) -> None:
        """Look after the sessions that people run by hand, for ever."""
        if self._hands is not None:
            await self._hands.run()

    async def finish(self) -> None:
        """Wait, with a timeout, for records that are still being written."""
        if self._recording:
            await asyncio.wait(self._recording, timeout=RECORD_SECONDS)

    # ── who ───────────────────────────────────────────────────────────────────────────────────────

    def _caller(self, token: str) -> HookCaller:
        token = events.whole(token)
        if not token:
            return HookCaller()
        if self._muster is None:
            return HookCaller(known=False)
        # imported late: the slow path has no tokens, and must not load the web server
        from muster.http.auth import token_of

        team = self._muster.team
        found = self._muster.session_tokens.token_of(team, token) or token_of(team, token)
        if found is None:
            return HookCaller(known=False)
        return HookCaller(agent=None if found.seat is None else team.agents[found.seat])

    async def _keeper(self, asked: AskedHook, hook: events.Hook) -> Keeper:
        return await asyncio.to_thread(keeper_of, hook.session_id, asked.call.pid)

    def _hand(self, asked: AskedHook) -> HandSessions | None:
        """The sessions of people, if the hook comes from one of them."""
        return self._hands if asked.caller.agent is None else None

    # ── policy ────────────────────────────────────────────────────────────────────────────────────

    async def _tool_use(self, asked: AskedHook) -> HookAnswer:
        hands = self._hand(asked)
        is_asking = hands is not None and hands.is_any_asking
        if asked.place is None and asked.caller.agent is None and not is_asking:
            return answers.NOTHING
        hook = events.read(asked.call.data, events.ToolUseHook)
        if hands is not None and is_asking:
            await hands.goes_on(hook)
        if asked.caller.agent is not None:
            past_muster = await self._past_muster(asked.caller.agent, hook)
            if past_muster:
                return answers.deny(f"Denied: {past_muster}")
        if asked.place is None:
            return answers.NOTHING
        return await self._in_session(asked, asked.place, hook)

    async def _past_muster(self, agent: Agent, hook: events.ToolUseHook) -> str:
        """The reason to deny an agent a message past muster, or an empty text; it is logged."""
        refusal = self._subagents.refusal(hook)
        if refusal:
            await self._warn(agent, f"denied {hook.tool_name}: {refusal}")
        elif hook.tool_name in STARTER_TOOLS:
            self._subagents.add(hook.session_id, text_of(hook.tool_input, "name"))
        return refusal

    async def _in_session(
        self, asked: AskedHook, place: OpenSession, hook: events.ToolUseHook
    ) -> HookAnswer:
        """Apply the policy of an open delegation session."""
        if asked.caller.agent is not None and hook.tool_name.startswith(OWN_TOOLS):
            return answers.NOTHING
        verdict = await self._judged(asked, hook, self._policies.of(place.root))
        if verdict.allowed:
            refused = self._stopped(hook)
            if refused is not None:
                await self._record(self._denied_start(asked, hook, str(refused)))
                return answers.deny(str(refused))
            if hook.tool_name in STARTER_TOOLS and asked.caller.leads:
                stranger = await self._stranger(asked, hook)
                if stranger:
                    return answers.deny(f"Denied: {stranger}")
                await self._record(self._task(asked, hook))
                return answers.context(POLICY_EVENT, "", events.handover(hook))
            return await asyncio.to_thread(confined_answer, place.root, hook, verdict)
        agent = await self._record(self._denial(asked, hook, verdict))
        return answers.deny(f"Denied: {verdict.with_remedy(agent)[:REASON_CHARS]}")

    async def _stranger(self, asked: AskedHook, hook: events.ToolUseHook) -> str:
        """The reason to deny MAIN a subagent that is no agent of the session, or an empty text."""
        # If the session's log cannot be read in time, only Claude Code's own kinds are denied.
        if hook.subagent:
            return ""
        name = events.whole(text_of(hook.tool_input, "subagent_type"))
        reason = await self._record(self._refusal(asked, hook, name))
        if reason is None and name in BUILT_IN:
            return f"{name or 'A subagent without a type'} is no agent of this session."
        return reason or ""

    async def _refusal(self, asked: AskedHook, hook: events.ToolUseHook, name: str) -> str:
        assert asked.followed is not None
        task = events.whole(text_of(hook.tool_input, "prompt"))
        return await asked.followed.refuse_stranger(await self._keeper(asked, hook), name, task)

    async def _denied_start(self, asked: AskedHook, hook: events.ToolUseHook, why: str) -> None:
        if asked.followed is not None:
            await asked.followed.refused(await self._keeper(asked, hook), STOPPED, why)

    async def _permission_request(self, asked: AskedHook) -> HookAnswer:
        """Allow what a state of the session may write in the session's own folders."""
        hook = events.read(asked.call.data, events.PermissionRequestHook)
        place = asked.place
        if place is None:
            return answers.NOTHING
        by_agent = bool(hook.subagent) or not asked.caller.leads
        cwd = Path(hook.cwd or asked.call.project)
        checking = partial(is_own, place.root, hook.tool_name, hook.tool_input, cwd)
        allowed = await asyncio.to_thread(checking, by_agent=by_agent)
        return answers.grant() if allowed else answers.NOTHING

    def _stopped(self, hook: events.ToolUseHook) -> Refused | None:
        """The refusal to start a subagent that is a paused or disabled agent of the team."""
        if hook.tool_name not in STARTER_TOOLS or self._muster is None:
            return None
        team = self._muster.team
        seat = team.names.get(name_key(events.whole(text_of(hook.tool_input, "subagent_type"))))
        return None if seat is None else stopped_by_a_person(team.agents[seat])

    async def _judged(self, asked: AskedHook, hook: events.ToolUseHook, policy: Policy) -> Verdict:
        """Judge a call; a long one in the worker, or where there is none in a thread."""
        caller = asked.caller
        agent = None if caller.agent is None or caller.leads else caller.agent.id
        states = calling_states(agent, [hook.agent_type] if hook.subagent else [])
        tool, given, cwd = hook.tool_name, hook.tool_input, hook.cwd or None
        is_long = len(asked.call.data) > JUDGED_HERE_BYTES
        if not is_long and len(text_of(given, "command")) <= JUDGED_HERE_CHARS:
            return judge_states(states, tool, given, cwd=cwd, policy=policy)
        if self._muster is None:
            judging = partial(judge_states, states, tool, given, cwd=cwd, policy=policy)
            return await asyncio.to_thread(judging)
        worker, owner = self._muster.worker, f"hooks of {asked.call.pid}"
        return await judged(worker, states, tool, given, cwd=cwd, policy=policy, owner=owner)

    async def _record(self, work: Coroutine[Any, Any, str | None]) -> str | None:
        """Write a record, and return its result if it is done within `ANSWER_SECONDS`.

        The verdict does not depend on the record: a slow record is finished in the background, and
        a failed one is logged.
        """
        task = asyncio.get_running_loop().create_task(work)
        self._recording.add(task)
        task.add_done_callback(self._recorded)
        await asyncio.wait({task}, timeout=ANSWER_SECONDS)
        return task.result() if task.done() and not task.exception() else None

    def _recorded(self, task: asyncio.Task[str | None]) -> None:
        self._recording.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.warning("a hook is not on record: %s", error, extra={"action": "hook_failed"})

    async def _denial(
        self, asked: AskedHook, hook: events.ToolUseHook, verdict: Verdict
    ) -> str | None:
        """Record a denial; for MAIN, return the agent to delegate to."""
        if asked.followed is not None:
            keeper = await self._keeper(asked, hook)
            return await asked.followed.denied(keeper, hook.subagent, verdict)
        # the seat leads no conversation: the denial is a warning in the log
        assert asked.caller.agent is not None
        await self._warn(asked.caller.agent, f"denied ({verdict.rule}): {verdict.with_remedy()}")
        return None

    async def _warn(self, agent: Agent, text: str) -> None:
        assert self._muster is not None
        warning = LogWarning(text=events.whole(text[:REASON_CHARS]), seat=agent.seat)
        await self._muster.dispatcher.send(warning, actor=MUSTER)

    async def _task(self, asked: AskedHook, hook: events.ToolUseHook) -> None:
        """Record a task that MAIN gives to a subagent."""
        to = events.whole(text_of(hook.tool_input, "subagent_type")) or "general-purpose"
        told = (
            text_of(hook.tool_input, "description"),
            text_of(hook.tool_input, "prompt"),
        )
        task = events.whole("\n\n".join(each for each in told if each))
        keeper = await self._keeper(asked, hook)
        assert asked.followed is not None
        await asked.followed.tasked(keeper, hook.subagent, to, task)

    # ── conversations ─────────────────────────────────────────────────────────────────────────────

    async def _prompt(self, asked: AskedHook) -> HookAnswer:
        hook = events.read(asked.call.data, events.PromptHook)
        text, agent = events.whole(hook.prompt), asked.caller.agent
        if agent is not None and self._muster is not None:  # muster itself prompts this program
            text = self._muster.prompter.human_text_in(agent.seat, text)
        hands = self._hand(asked)
        messages = "" if hands is None else await hands.prompted(asked.call, hook)
        told = ""
        if asked.followed is not None and is_input(text):
            keeper = await self._keeper(asked, hook)
            seat = None if agent is None else agent.seat
            told = await asked.followed.open(
                text, keeper, self._human, seat=seat, began=asked.call.began
            )
        return answers.context("UserPromptSubmit", "\n\n".join(filter(None, (told, messages))))

    async def _subagent_start(self, asked: AskedHook) -> HookAnswer:
        hook = events.read(asked.call.data, events.SubagentStartHook)
        self._subagents.add(hook.session_id, hook.subagent)
        if asked.followed is None:
            return answers.NOTHING
        keeper = await self._keeper(asked, hook)
        agent = events.whole(hook.agent_type)
        told = await asked.followed.started(keeper, agent, hook.subagent)
        return answers.context("SubagentStart", told)

    async def _subagent_stop(self, asked: AskedHook) -> HookAnswer:
        hook = events.read(asked.call.data, events.SubagentStopHook)
        if asked.followed is not None:
            keeper, agent = await self._keeper(asked, hook), events.whole(hook.agent_type)
            report = events.whole(hook.last_assistant_message)
            steps = await asyncio.to_thread(transcript.read_steps, hook.agent_transcript_path)
            shown = await asked.followed.stopped(
                keeper, hook.subagent, agent, report, steps, project=asked.call.project
            )
            return answers.context("SubagentStop", "", shown)
        return answers.NOTHING

    async def _tool_done(self, asked: AskedHook) -> HookAnswer:
        hook = events.read(asked.call.data, events.ToolDoneHook)
        path = text_of(hook.tool_input, "file_path") or text_of(hook.tool_input, "notebook_path")
        if asked.followed is None or not path or "\0" in path:
            return answers.NOTHING
        project = asked.call.project
        await asked.followed.wrote(
            await self._keeper(asked, hook),
            hook.subagent,
            Path(hook.cwd or project) / path,
            project=project,
            created=text_of(hook.tool_response, "type") == "create",
        )
        return answers.NOTHING

    async def _stop(self, asked: AskedHook) -> HookAnswer:
        hook = events.read(asked.call.data, events.StopHook)
        if asked.caller.agent is not None and not hook.stop_hook_active:
            channel = self._turn_of(asked.caller.agent)
            if channel:
                return answers.block(REMINDER.format(channel=channel))
        hands = self._hand(asked)
        messages = "" if hands is None else await hands.stopped(asked.call, hook)
        if messages:
            return answers.block(messages)
        if asked.followed is not None:
            answer = events.whole(hook.last_assistant_message)
            keeper, began = await self._keeper(asked, hook), asked.call.began
            steps = await asyncio.to_thread(
                transcript.read_steps, hook.transcript_path, since_input=True
            )
            await asked.followed.closed(
                keeper,
                answer,
                hook.working,
                began=began,
                steps=steps,
                project=asked.call.project,
            )
        return answers.NOTHING

    def _turn_of(self, agent: Agent) -> str:
        """The channel in which an agent is working on a turn that was delivered to it."""
        assert self._muster is not None
        return next(active_turns(self._muster.team, agent, taken=True), "")

    # ── sessions of the program ───────────────────────────────────────────────────────────────────

    async def _session_start(self, asked: AskedHook) -> HookAnswer:
        hook = events.read(asked.call.data, events.SessionStartHook)
        hands = self._hand(asked)
        own = None if hands is None else await hands.seen(asked.call, hook, hook.model)
        parts = [await self._soul(asked, hook.source, own)]
        if asked.followed is not None:
            if hook.source != "compact":  # it comes in the middle of a conversation
                why = "the program that led it was started anew"
                await asked.followed.left(await self._keeper(asked, hook), why)
            parts.append(await asked.followed.state())
        return answers.context("SessionStart", "\n\n".join(each for each in parts if each))

    async def _soul(self, asked: AskedHook, source: str, own: Agent | None) -> str:
        """The soul, for a seat's program that lost its context, and for a person's that is the
        lead, or has a soul of its own."""
        agent = asked.caller.agent
        if agent is None and own is not None and own.soul:
            agent = own
        elif agent is None:
            team = await self._team()
            agent = None if team is None else team.agents.get(LEAD_SEAT)
        elif source not in ("resume", "compact"):
            return ""  # its prompt has the soul
        return "" if agent is None else framed_soul(agent.id, agent.soul)

    async def _team(self) -> Team | None:
        if self._muster is not None:
            return self._muster.team
        return await asyncio.to_thread(team_in, self._home)

    async def _session_end(self, asked: AskedHook) -> HookAnswer:
        hook = events.read(asked.call.data, events.SessionEndHook)
        self._subagents.forget(hook.session_id)
        hands = self._hand(asked)
        if hands is not None:
            await hands.ended(asked.call, hook)
        if asked.followed is not None:
            why = "the program that led it has ended"
            await asked.followed.left(await self._keeper(asked, hook), why)
        return answers.NOTHING

    async def _notification(self, asked: AskedHook) -> HookAnswer:
        hands = self._hand(asked)
        if hands is not None:
            await hands.asks(asked.call, events.read(asked.call.data, events.NotificationHook))
        return answers.NOTHING
