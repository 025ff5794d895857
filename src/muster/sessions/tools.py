"""muster's own tools, for agents whose programs support tools.

The session that makes a call is the caller; no argument can change that. A tool answers with text
for a model: the result, or the reason of a refusal and the remedy.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import MusterToolCall, Reply
from muster.errors import NotFound, Refused, Unavailable
from muster.machines import commands as c
from muster.machines.commands import Command
from muster.machines.ids import ChannelId, SeatId, SessionId, agent_actor, name_key
from muster.machines.state import MAIN, Agent, Status, Team
from muster.machines.turns.order import claim_of
from muster.machines.turns.table import active_turns
from muster.machines.vocabulary import Awaits, Role, RunMode, StatusEntry
from muster.sessions.prompt_state import PromptState
from muster.sessions.turn_speech import TurnAct, TurnSpeech, ends_turn
from muster.views.access import access_of


class Tool(msgspec.Struct, frozen=True):
    """The definition of a tool that a model receives."""

    name: str
    description: str
    schema: Mapping[str, object]


def _tool(name: str, description: str, arguments: type[msgspec.Struct]) -> Tool:
    found = msgspec.json.schema(arguments)
    parts: dict[str, dict[str, object]] = found["$defs"]
    schema = parts.pop(arguments.__name__)
    del schema["title"], schema["description"]
    return Tool(name, description, {**schema, "$defs": parts} if parts else schema)


# ── arguments ─────────────────────────────────────────────────────────────────────────────────────


class _Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class TurnCompleteArguments(_Arguments, frozen=True, kw_only=True):
    """The arguments to end a turn."""

    message: str = ""
    channel: str | None = None
    to: str | None = None


class TurnPassArguments(_Arguments, frozen=True, kw_only=True):
    """The arguments to end a turn without a message."""

    reason: str = ""
    channel: str | None = None


class TurnWaitArguments(_Arguments, frozen=True, kw_only=True):
    """The arguments to suspend a turn while waiting."""

    reason: str
    seconds: float | None = None
    awaits: Awaits = Awaits.PERSON
    channel: str | None = None


class MessageArguments(_Arguments, frozen=True, kw_only=True):
    """The arguments to send a message."""

    text: str
    channel: str | None = None
    to: str | None = None


class HandArguments(_Arguments, frozen=True, kw_only=True):
    """The arguments to raise the hand in a channel, or to lower it."""

    channel: str | None = None
    raised: bool = True


class StatusArguments(_Arguments, frozen=True, kw_only=True):
    """The arguments to report activity, or the members of a lead's team."""

    agents: tuple[StatusEntry, ...] | None = None
    note: str = ""


class WhoArguments(_Arguments, frozen=True, kw_only=True):
    """The arguments to list the team: none."""


class RememberArguments(_Arguments, frozen=True, kw_only=True):
    """The arguments to note something for later lives."""

    text: str


class ForgetArguments(_Arguments, frozen=True, kw_only=True):
    """The arguments to delete a note."""

    note: int


class HandoffArguments(_Arguments, frozen=True, kw_only=True):
    """The arguments to hand work over to another agent."""

    to: str
    reason: str


TOOLS: Final = (
    _tool(
        "turn_complete",
        "End your turn, saying `message` with it. Call it once, when your turn is done. With `to`, "
        "the named member of the channel speaks next.",
        TurnCompleteArguments,
    ),
    _tool("turn_pass", "End your turn without saying anything.", TurnPassArguments),
    _tool(
        "turn_wait",
        "Keep your turn while you wait; its timeout is suspended. A person's message resumes it "
        "(not if `awaits` is resume), and so does whatever you do next.",
        TurnWaitArguments,
    ),
    _tool(
        "send_message",
        "Say something: in the channel where you have the turn, or else to the human you work for. "
        "With `to`, say it to one agent of your team alone, by its name.",
        MessageArguments,
    ),
    _tool(
        "raise_hand",
        "Ask to speak next in a channel of yours where somebody else has the turn; with `raised` "
        "false, no longer.",
        HandArguments,
    ),
    _tool(
        "report_status",
        "Say that you are at work, with a note. The lead can also report who of its team is alive.",
        StatusArguments,
    ),
    _tool("who", "Who is in the team, who is here, and whose turn it is.", WhoArguments),
    _tool(
        "remember",
        "Note something that you want to know whenever you wake: a decision, a promise, a fact. A "
        "note has at most 2 KiB.",
        RememberArguments,
    ),
    _tool("forget", "Delete one of your notes, by its number.", ForgetArguments),
    _tool(
        "handoff",
        "End your turn by asking another member of the channel to go on; or, without a turn, hand "
        "the conversation that you work on to another agent.",
        HandoffArguments,
    ),
)
"""Every tool, in the order in which models receive them."""


class Toolbox:
    """Executes tool calls for one session."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        session: SessionId,
        seat: SeatId,
        told: PromptState,
        speech: TurnSpeech,
    ) -> None:
        """Act for this seat until the session ends; `speech` keeps acts on paused turns."""
        self._dispatcher = dispatcher
        self._speech = speech
        self._session = session
        self._seat = seat
        self._told = told

    @property
    def _team(self) -> Team:
        return self._dispatcher.team

    @property
    def _agent(self) -> Agent:
        return self._team.agents[self._seat]

    async def call(self, call: MusterToolCall) -> Reply:
        """Execute one call; a refusal is a reply, not an exception."""
        found = _KINDS.get(call.tool)
        if found is None:
            return Reply(False, f"There is no tool {call.tool!r}; there is {', '.join(_KINDS)}.")
        kind, act = found
        try:
            given: object = msgspec.convert(dict(call.arguments), kind)
        except (msgspec.ValidationError, TypeError, ValueError) as wrong:
            return Reply(False, f"{call.tool} was called wrongly: {wrong}.")
        try:
            return Reply(True, await act(self, given))
        except (Refused, Unavailable) as refused:
            return Reply(False, str(refused))

    # ── turns ─────────────────────────────────────────────────────────────────────────────────────

    async def turn_complete(self, given: TurnCompleteArguments) -> str:
        """Post the message, if there is one, and end the turn."""
        channel = await self._turn(given.channel)
        if channel is None:
            return "You have no turn, so there is none to end."
        to = None
        if given.to is not None:
            to = member_named(self._team, channel, given.to)
            if to is None:
                return self._no_member(channel, given.to)
        if not await self._end(channel, given.message, to):
            return _kept(channel, "your turn ends")
        return f"Your turn in {channel} is over. Stop now; you are told when it is your turn again."

    async def turn_pass(self, given: TurnPassArguments) -> str:
        """End the turn without a message."""
        channel = await self._turn(given.channel)
        if channel is None:
            return "You have no turn, so there is none to pass."
        epoch, reason = self._told.epoch_of(channel), given.reason or None
        end = c.CompleteTurn(channel=channel, seat=self._seat, epoch=epoch, reason=reason)
        if not await self._act(end):
            return _kept(channel, "your turn ends")
        return f"You passed in {channel}. Stop now; you are told when it is your turn again."

    async def turn_wait(self, given: TurnWaitArguments) -> str:
        """Suspend the turn and its timeout."""
        channel = await self._turn(given.channel)
        if channel is None:
            return "You have no turn that could wait."
        wait = c.WaitTurn(
            channel=channel,
            seat=self._seat,
            reason=given.reason,
            epoch=self._told.epoch_of(channel),
            timeout_seconds=given.seconds,
            awaits=given.awaits,
        )
        if not await self._act(wait):
            return _kept(channel, "your turn waits")
        return f"Your turn in {channel} waits. Go on when you can: any muster tool resumes it."

    async def send_message(self, given: MessageArguments) -> str:
        """Post in the channel where the agent has the turn, or message the human or an agent."""
        if given.to is not None and name_key(given.to) != name_key(self._team.human):
            return await self._tell_agent(given.to, given.text)
        channel = None if given.to is not None else await self._turn(given.channel)
        if channel is None:
            self._told.by_human, self._told.answered = False, True
            upto = self._told.answers_upto
            await self._send(c.TellHuman(seat=self._seat, text=given.text, answers_upto=upto))
            return f"{self._team.human} was told."
        epoch = self._told.epoch_of(channel)
        said = c.Speak(channel=channel, seat=self._seat, text=given.text, epoch=epoch)
        if not await self._act(said):
            return _kept(channel, "your message is posted")
        return f"Said in {channel}. It is still your turn: end it with turn_complete."

    async def _tell_agent(self, name: str, text: str) -> str:
        """Send a message to another agent alone; it gets it in its session, or when it wakes."""
        team = self._team
        seat = team.names.get(name_key(name.strip().removeprefix("@")))
        if seat is None:
            others = [each.id for each in team.agents.values() if each.name and not each.retired]
            return f"There is no agent {name!r}. There is: {', '.join(sorted(others))}."
        message = c.SendMessage(
            text=text, speaker_name=self._agent.id, seat=seat, sender=self._seat
        )
        await self._send(message)
        there = team.agents[seat]
        late = "" if there.present else f" {there.id} is {there.status} and gets it later."
        return f"Sent to {there.id}.{late} An answer comes as a message."

    async def raise_hand(self, given: HandArguments) -> str:
        """Ask to speak next, or no longer."""
        channel = given.channel or only_channel(self._agent)
        if channel is None:
            names = ", ".join(self._agent.channels)
            return f"Name one of your channels: {names or 'you are in none'}."
        hand = c.RaiseHand(channel=ChannelId(channel), seat=self._seat, raised=given.raised)
        await self._send(hand)
        return f"Your hand is {'raised' if given.raised else 'down'} in {channel}."

    async def _end(self, channel: ChannelId, message: str, to: SeatId | None) -> bool:
        """End a turn; False if it is paused and ends when it resumes."""
        seat, epoch = self._seat, self._told.epoch_of(channel)
        if message:
            done = c.Speak(
                channel=channel, seat=seat, text=message, epoch=epoch, complete=True, to=to
            )
        else:
            done = c.CompleteTurn(channel=channel, seat=seat, epoch=epoch, to=to)
        return await self._act(done)

    async def _act(self, act: TurnAct) -> bool:
        """Carry out an act; False if the turn is paused and it is carried out at its resumption."""
        done = await self._speech.act(act, self._send)
        if done and ends_turn(act):
            self._told.end(act.channel, act.epoch)
        return done

    async def _turn(self, named: str | None) -> ChannelId | None:
        """The channel that is named, or the first with a turn; ends the agent's own wait there."""
        channel = ChannelId(named) if named else self._speech.current()
        if channel is not None:
            await self._send(c.ResumeTurn(channel=channel, seat=self._seat, if_own=True))
        return channel

    # ── the team ──────────────────────────────────────────────────────────────────────────────────

    async def report_status(self, given: StatusArguments) -> str:
        """Renew the turn, and record a note; from a lead, also the members of its team."""
        for channel in list(active_turns(self._team, self._agent)):
            await self._send(c.RenewTurn(channel=channel, seat=self._seat))
        if given.agents is not None:
            await self._send(c.ReportStatus(agents=given.agents, session=self._session))
        if given.note:
            await self._send(
                c.ReportOutput(session=self._session, stream="status", text=given.note)
            )
        return "Noted."

    async def who(self, given: WhoArguments) -> str:
        """List the members of the team, one per line."""
        team = self._team
        lines = [
            _line(team, agent, me=agent.seat == self._seat)
            for _, agent in sorted(team.agents.items())
            if agent.status not in (Status.NONE, Status.EXPIRED)
        ]
        return "\n".join([f"You work for {team.human}.", *lines])

    async def remember(self, given: RememberArguments) -> str:
        """Note something for the agent's later lives."""
        number = self._agent.next_note
        await self._send(c.Remember(seat=self._seat, text=given.text))
        return f"Noted as number {number}. You are told it whenever you wake."

    async def forget(self, given: ForgetArguments) -> str:
        """Delete a note of the agent."""
        await self._send(c.ForgetNote(seat=self._seat, note=given.note))
        return f"Note {given.note} is deleted."

    async def handoff(self, given: HandoffArguments) -> str:
        """Hand the turn, or the conversation that the agent leads, over to another agent."""
        channel = await self._turn(None)
        if channel is None:
            return await self._hand_conversation(given)
        seat = member_named(self._team, channel, given.to)
        if seat is None:
            return self._no_member(channel, given.to)
        text = f"@{self._team.agents[seat].id} {given.reason}"
        if not await self._end(channel, text, seat):
            return _kept(channel, f"your turn ends and {given.to} is asked")
        if not self._is_next(channel, seat):
            return f"Your turn in {channel} is over, but {given.to} cannot take it. Stop now."
        return f"Your turn in {channel} is over, and {given.to} is next. Stop now."

    def _is_next(self, channel: ChannelId, seat: SeatId) -> bool:
        """Whether a handoff had an effect: the member has the turn, or is to have it."""
        found = self._team.channel(channel)
        has_turn = found.turn is not None and found.turn.holder == seat
        return has_turn or claim_of(found, seat) is not None

    def _no_member(self, channel: ChannelId, name: str) -> str:
        ring = self._team.channel(channel).ring
        others = ", ".join(self._team.agents[each].id for each in ring if each != self._seat)
        return f"{name!r} is not in {channel}. Its other members are: {others or 'nobody'}."

    async def _hand_conversation(self, given: HandoffArguments) -> str:
        conversation = self._agent.conversation
        found = self._team.delegation.conversations.get(conversation) if conversation else None
        if found is None:
            return "You have no turn and no conversation that could be handed over."
        if found.state == MAIN:
            return f"You are MAIN: start the subagent {given.to} on it instead."
        hand = c.HandOff(conversation=found.id, epoch=found.epoch, to=given.to, reason=given.reason)
        await self._send(hand)
        return f"{found.id} is with {given.to} now."

    async def _send(self, command: Command) -> None:
        check_exists(self._dispatcher.team, self._seat, command)
        await self._dispatcher.send(command, actor=agent_actor(self._agent.id))


def check_exists(team: Team, seat: SeatId, command: Command) -> None:
    """Refuse a command about a private channel that its agent is not in, as about one that is not
    there: a program could find out otherwise which channels there are. A warning is muster's own.
    """
    name = None if isinstance(command, c.LogWarning) else getattr(command, "channel", None)
    if name is not None and name in access_of(team, Role.AGENT, seat).hidden:
        raise NotFound(kind="channel", name=name)


def member_named(team: Team, channel: ChannelId, name: str) -> SeatId | None:
    """The seat of a channel's member by its name, with or without an @."""
    seat = team.names.get(name_key(name.strip().removeprefix("@")))
    found = team.channels.get(channel)
    return seat if found is not None and seat in found.ring else None


def only_channel(agent: Agent) -> ChannelId | None:
    """The channel of an agent that is in one only."""
    return agent.channels[0] if len(agent.channels) == 1 else None


def _kept(channel: ChannelId, what: str) -> str:
    """The answer to an act on a paused turn."""
    return (
        f"Your turn in {channel} is paused, by a person or for an approval. When it goes on, "
        f"{what}; you need not do it again."
    )


def _line(team: Team, agent: Agent, *, me: bool) -> str:
    state = team.turn_state(agent)
    paused = ", paused" if agent.run.desired is RunMode.PAUSE else ""
    own = " (you)" if me else ""
    turns = ", ".join(team.busy_in(agent))
    holds = f", has the turn in {turns}" if turns else ""
    return (
        f"- {agent.id}{own}, seat {agent.seat}: {team.shown_status(agent)}, {state}{paused}{holds}"
    )


# Each takes the arguments of the very kind beside it, which Any stands for.
_KINDS: Final[Mapping[str, tuple[type[object], Callable[[Toolbox, Any], Awaitable[str]]]]] = {
    "turn_complete": (TurnCompleteArguments, Toolbox.turn_complete),
    "turn_pass": (TurnPassArguments, Toolbox.turn_pass),
    "turn_wait": (TurnWaitArguments, Toolbox.turn_wait),
    "send_message": (MessageArguments, Toolbox.send_message),
    "raise_hand": (HandArguments, Toolbox.raise_hand),
    "report_status": (StatusArguments, Toolbox.report_status),
    "who": (WhoArguments, Toolbox.who),
    "remember": (RememberArguments, Toolbox.remember),
    "forget": (ForgetArguments, Toolbox.forget),
    "handoff": (HandoffArguments, Toolbox.handoff),
}
