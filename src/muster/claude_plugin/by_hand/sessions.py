"""Claude Codes that people run by hand, as agents of an open team.

Their hooks are the evidence: a hook shows that a session is here and what it does, and the end of
its session or of its process that it is gone. A message for such a session waits until a hook can
hand it over: with its next prompt, or when it is about to stop, which then goes on with the
message. What it says next is its answer. Nothing else reaches it, and muster neither starts nor
ends it.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from muster.claude_plugin.by_hand.usage import CONVERSATIONS_MAX, Metered, TranscriptMeter
from muster.claude_plugin.hooks import events
from muster.claude_plugin.hooks.calls import HookCall
from muster.delegation.following import owner
from muster.delegation.visiting import is_keeper_alive, keeper_of
from muster.errors import MusterError, Refused
from muster.inbox.errands import Wanted
from muster.limits import NOTE_CHARS_MAX
from muster.machines.commands import (
    AdoptSession,
    Command,
    DisconnectAgent,
    MarkRead,
    ReportHand,
    TellHuman,
)
from muster.machines.ids import MUSTER, agent_actor
from muster.machines.state import Agent, HandSession, Status, Team
from muster.machines.vocabulary import HandState
from muster.team import Muster
from muster.views.answers.messages import Do
from muster.views.prompt_lines import prompt_line

CHECK_SECONDS: Final = 5.0
"""How often the processes of sessions are looked at: one that was killed sends no hook."""

HANDED: Final = (
    "Messages for you from the team, which muster hands over:\n{messages}\n"
    "What you say at the end of this work is sent to {human} as your answer."
)

ENDED: Final = "its session has ended"
GONE: Final = "its process has ended"

log = logging.getLogger(__name__)


class HandSessions:
    """The sessions that people run in the projects of a team."""

    def __init__(
        self, muster: Muster, *, is_alive: Callable[[str], bool] = is_keeper_alive
    ) -> None:
        """Adopt sessions into this team, if its settings say so."""
        self._muster = muster
        self._meter = TranscriptMeter()
        self._transcripts: dict[str, str] = {}
        """The transcripts of conversations, as their hooks name them."""

        self._is_alive = is_alive

    # ── hooks ─────────────────────────────────────────────────────────────────────────────────────

    async def seen(self, call: HookCall, hook: events.Hook, model: str = "") -> Agent | None:
        """The agent that a session is, which appears with its first hook; None if it is left
        alone."""
        if not self._muster.settings.current.team.by_hand or hook.subagent:
            return None
        conversation = owner.plain(hook.session_id)
        known = agent_of(self._muster.team, conversation)
        pid = known.hand.pid if known is not None and known.hand is not None else -1
        if known is not None and known.present and pid == call.pid and not model:
            return known
        keeper = await asyncio.to_thread(keeper_of, hook.session_id, call.pid)
        metered = Metered() if known else await self._metered(hook)
        adopt = AdoptSession(
            conversation=conversation,
            folder=_line(hook.cwd or str(call.project)),
            model=_line(model or metered.model),
            pid=keeper.pid,
            started=keeper.started,
            counted=metered.usage,
        )
        await self._send(adopt)
        found = agent_of(self._muster.team, conversation)
        return found if found is not None and found.present else None

    async def prompted(self, call: HookCall, hook: events.PromptHook) -> str:
        """A person gives it work; the messages that it is handed with that."""
        agent = await self.seen(call, hook)
        if agent is None:
            return ""
        # Not what the person typed: the log of a team has other readers than the terminal.
        await self._send(ReportHand(seat=agent.seat, state=HandState.WORKING))
        return await self._messages(agent)

    @property
    def is_any_asking(self) -> bool:
        """Whether a session waits for an answer in its terminal."""
        return any(_state(each) is HandState.ASKING for each in self._muster.team.agents.values())

    async def goes_on(self, hook: events.Hook) -> None:
        """A tool is called: a question in its terminal is answered."""
        agent = agent_of(self._muster.team, owner.plain(hook.session_id))
        if agent is not None and _state(agent) is HandState.ASKING:
            await self._send(ReportHand(seat=agent.seat, state=HandState.WORKING))

    async def asks(self, call: HookCall, hook: events.NotificationHook) -> None:
        """The session waits for an answer of the person in its terminal."""
        agent = await self.seen(call, hook)
        if agent is not None and hook.is_question:
            about = _line(events.whole(hook.message))
            await self._send(ReportHand(seat=agent.seat, state=HandState.ASKING, about=about))

    async def stopped(self, call: HookCall, hook: events.StopHook) -> str:
        """The work is done; the messages with which the session goes on, if there are any."""
        agent = await self.seen(call, hook)
        if agent is None:
            return ""
        await self._answered(agent, events.whole(hook.last_assistant_message).strip())
        messages = await self._messages(agent)
        state = HandState.WORKING if messages else HandState.IDLE
        await self._report(agent, hook, state)
        return messages

    async def ended(self, call: HookCall, hook: events.SessionEndHook) -> None:
        """The session has ended; its agent sleeps."""
        agent = agent_of(self._muster.team, owner.plain(hook.session_id))
        if agent is not None and agent.present:
            await self._report(agent, hook, HandState.IDLE)
            await self._send(DisconnectAgent(seat=agent.seat, reason=ENDED))

    # ── processes ─────────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Look after the processes of sessions: one that lives is here, any other is gone."""
        while True:
            await self.check()
            await self._muster.clock.sleep(min(CHECK_SECONDS, self._muster.presence.timeout_s / 3))

    async def check(self) -> None:
        """Look at the processes of all sessions once."""
        for agent in list(self._muster.team.agents.values()):
            if agent.hand is None or agent.status is not Status.ALIVE:
                continue
            if await asyncio.to_thread(self._is_alive, _keeper(agent.hand)):
                self._muster.presence.hear(agent.seat)
                await self._count(agent, agent.hand)
            else:
                await self._send(DisconnectAgent(seat=agent.seat, reason=GONE))

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

    async def _messages(self, agent: Agent) -> str:
        """The messages that wait for it, which count as handed over from now on."""
        pending = await self._muster.inbox.pending(agent.seat, Wanted(outside=False))
        found = pending.next
        if found is None or found.do is not Do.MESSAGE:
            return ""
        for delivery in pending.deliveries:
            await self._send(delivery)
        lines = "\n".join(map(prompt_line, found.messages))
        return HANDED.format(messages=lines, human=self._muster.team.human)

    async def _answered(self, agent: Agent, text: str) -> None:
        """The words of a session that was handed messages are its answer to them."""
        if agent.delivered <= agent.answered_upto:
            return
        if text:
            told = TellHuman(seat=agent.seat, text=text, answers_upto=agent.delivered)
            await self._send(told, actor=agent_actor(agent.id))
        await self._send(MarkRead(seat=agent.seat, upto=agent.delivered))

    # ── reports ───────────────────────────────────────────────────────────────────────────────────

    async def _report(self, agent: Agent, hook: events.Hook, state: HandState) -> None:
        metered = await self._metered(hook)
        report = ReportHand(
            seat=agent.seat,
            state=state,
            model=_line(metered.model),
            counted=metered.usage if metered.usage.tokens else None,
        )
        await self._send(report)

    async def _count(self, agent: Agent, hand: HandSession) -> None:
        """Count what the program has written down since its last hook, which it does later."""
        transcript = self._transcripts.get(hand.conversation, "")
        metered = await asyncio.to_thread(self._meter.read, transcript)
        if metered.usage.tokens:
            counted, model = metered.usage, _line(metered.model)
            await self._send(ReportHand(seat=agent.seat, model=model, counted=counted))

    async def _metered(self, hook: events.Hook) -> Metered:
        conversation = owner.plain(hook.session_id)
        self._transcripts.pop(conversation, None)
        self._transcripts[conversation] = hook.transcript_path
        while len(self._transcripts) > CONVERSATIONS_MAX:
            del self._transcripts[next(iter(self._transcripts))]
        return await asyncio.to_thread(self._meter.read, hook.transcript_path)

    async def _send(self, command: Command, actor: str = MUSTER) -> None:
        """Send a report. A refusal never reaches the hook: it only observes."""
        try:
            await self._muster.dispatcher.send(command, actor=actor)
        except Refused as refused:
            log.info("%s", refused, extra={"action": "by_hand_refused"})
        except MusterError as error:
            log.warning("%s", error, extra={"action": "by_hand_failed"})


def agent_of(team: Team, conversation: str) -> Agent | None:
    """The agent that a conversation is."""
    for agent in team.agents.values():
        if agent.hand is not None and agent.hand.conversation == conversation:
            return agent
    return None


def _state(agent: Agent) -> HandState | None:
    return None if agent.hand is None else agent.hand.state


def _keeper(hand: HandSession) -> str:
    return str(owner.Keeper(hand.conversation, hand.pid, hand.started))


def _line(text: str) -> str:
    """The first line of a text, as long as a note may be."""
    lines = text.strip().splitlines()
    return lines[0][:NOTE_CHARS_MAX].strip() if lines else ""
