"""Intentions. Each may be refused; what follows from one is decided with it, in one transaction.

Commands come from people, from agents, from reports about processes and from deadlines; who sent
one stands beside it (the actor), never in it. `decide` looks again: a command that is out of date
is refused or does nothing.
"""

from datetime import datetime

import msgspec

from muster.machines.documents import AgentDocument, MessageCopy
from muster.machines.ids import ChannelId, ConversationId, SeatId, SessionId
from muster.machines.state import TurnState
from muster.machines.vocabulary import (
    NO_LIMIT,
    Activity,
    Allowance,
    Authority,
    Budget,
    DelegationMode,
    FileChange,
    Outcome,
    Placeholder,
    Profile,
    Ranked,
    Remark,
    Role,
    RunMode,
    StatePermissions,
    StatusEntry,
    Taken,
    TurnConfig,
    Usage,
)


class Command(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something that somebody wants."""


# ── muster itself ─────────────────────────────────────────────────────────────────────────────────


class StartMuster(Command, frozen=True, kw_only=True):
    """A life of muster begins. `server_session` names it and must be new."""

    server_session: SessionId
    muster_version: str
    human: str = "human"
    paused: tuple[SeatId, ...] = ()
    """Whose state files say pause by now; they are paused before anything starts."""


class StopMuster(Command, frozen=True, kw_only=True):
    """This life of muster ends in order."""

    reason: str


class LogWarning(Command, frozen=True, kw_only=True):
    """Put on record what a person should know."""

    text: str
    seat: SeatId | None = None


# ── identity ──────────────────────────────────────────────────────────────────────────────────────


class SummonAgents(Command, frozen=True, kw_only=True):
    """Prepare seats for a birth."""

    placeholders: tuple[Placeholder, ...]
    authority: Authority
    long_lived: bool = False
    message: str = ""
    """What the lead is told, where it is to bring them into the world."""


class EnrollAgent(Command, frozen=True, kw_only=True):
    """Take a seat without a birth: the given one, or the next free from 9 on."""

    name: str
    authority: Authority
    seat: SeatId | None = None
    color: str = ""
    long_lived: bool = False
    max_turns: int = 1
    on_call: bool = False
    """Whether it is known by its description alone, and has sessions for tasks only."""


class ConfigureAgent(Command, frozen=True, kw_only=True):
    """Say how an agent is run, as the settings have it."""

    seat: SeatId
    authority: Authority
    long_lived: bool = False
    max_turns: int = 1
    budget: Budget = Budget()


class RegisterAgent(Command, frozen=True, kw_only=True):
    """Somebody in a seat chose a name and wrote its soul. `session` is the session that says so."""

    profile: Profile
    session: SessionId | None = None


class ReportStatus(Command, frozen=True, kw_only=True):
    """A lead says who is in its team."""

    agents: tuple[StatusEntry, ...]
    session: SessionId | None = None


class RejectMarker(Command, frozen=True, kw_only=True):
    """Put on record that a marker in an agent's output counts for nothing."""

    marker: str
    reason: str
    seat: SeatId | None = None


class ConnectAgent(Command, frozen=True, kw_only=True):
    """An agent that runs by itself is here."""

    seat: SeatId


class DisconnectAgent(Command, frozen=True, kw_only=True):
    """An agent that runs by itself is gone: it said so, or its heartbeat stayed away."""

    seat: SeatId
    reason: str


class WakeAgents(Command, frozen=True, kw_only=True):
    """A person wakes sleepers: these, or all where none are named."""

    seats: tuple[SeatId, ...] = ()
    message: str = ""
    """What the lead is told of those whom it runs: their souls and transcripts."""


class SleepAgents(Command, frozen=True, kw_only=True):
    """A person puts agents to sleep: these, or all where none are named."""

    seats: tuple[SeatId, ...] = ()


class DisableAgent(Command, frozen=True, kw_only=True):
    """Nothing starts this agent until it is enabled, and it is OFFLINE."""

    seat: SeatId
    reason: str = ""


class EnableAgent(Command, frozen=True, kw_only=True):
    """Let an agent be started again."""

    seat: SeatId


class Awaken(Command, frozen=True, kw_only=True):
    """A process sits in the seat of a sleeper."""

    seat: SeatId


class Doze(Command, frozen=True, kw_only=True):
    """The process that an agent lived in is gone."""

    seat: SeatId


class CheckAgent(Command, frozen=True, kw_only=True):
    """A deadline of this agent may be over: look."""

    seat: SeatId


# ── from another machine ──────────────────────────────────────────────────────────────────────────


class ImportTeam(Command, frozen=True, kw_only=True):
    """Merge what another machine knows of this team; it starts nothing and ends nothing."""

    documents: tuple[AgentDocument, ...] = ()
    messages: tuple[MessageCopy, ...] = ()


# ── run control ───────────────────────────────────────────────────────────────────────────────────


class SetDesired(Command, frozen=True, kw_only=True):
    """Say what is wanted of an agent. A second pause, or `now`, stops the session at once.

    With `if_generation` it counts only if nobody asked for anything else since.
    """

    seat: SeatId
    desired: RunMode
    set_by: str
    note: str = ""
    now: bool = False
    if_generation: int | None = None


class StartSession(Command, frozen=True, kw_only=True):
    """Start a session, whatever asks for it: the one gate, which a paused agent never passes."""

    seat: SeatId
    trigger: str
    task: ConversationId | None = None
    """The conversation that it works on, in a session of its own."""

    until: datetime | None = None
    """The deadline of the task."""


class StopSession(Command, frozen=True, kw_only=True):
    """End the sessions of an agent at once, or those of one task; `desired` stays as it is."""

    seat: SeatId
    task: ConversationId | None = None
    reason: str = ""


class ReportSessionStarted(Command, frozen=True, kw_only=True):
    """A session's process is up."""

    session: SessionId
    pid: int | None = None
    started: str | None = None


class ReportSessionEnded(Command, frozen=True, kw_only=True):
    """A session's process is gone, or never came up."""

    session: SessionId
    outcome: Outcome
    code: int | None = None
    reason: str = ""


class ReportOutput(Command, frozen=True, kw_only=True):
    """A session printed something."""

    session: SessionId
    stream: str
    text: str
    omitted: int = 0


class ReportResult(Command, frozen=True, kw_only=True):
    """A program that lives on has done a piece of work: for a turn in `channel`, if for one."""

    session: SessionId
    ok: bool = True
    text: str = ""
    usage: Usage = Usage()
    channel: ChannelId | None = None
    answers: bool = True
    """Whether it is what came of the last prompt: then a task is done with it."""


class ReportActivity(Command, frozen=True, kw_only=True):
    """A session was seen doing something."""

    session: SessionId
    kind: Activity
    name: str
    text: str = ""
    ref: str = ""
    by: str = ""


class ReportTaken(Command, frozen=True, kw_only=True):
    """A session has taken in a prompt, which told it of its turns in these channels."""

    session: SessionId
    how: Taken
    text: str
    channels: tuple[ChannelId, ...] = ()


class CheckSession(Command, frozen=True, kw_only=True):
    """The session of this agent may have taken all the time that it has: look."""

    seat: SeatId


class ReportCurrent(Command, frozen=True, kw_only=True):
    """An agent that runs its own loop says what it is doing."""

    seat: SeatId
    current: RunMode


# ── approvals ─────────────────────────────────────────────────────────────────────────────────────


class RequestApproval(Command, frozen=True, kw_only=True):
    """A session wants to do what only a person may allow; the default holds after `seconds`."""

    session: SessionId
    tool: str
    detail: str
    by: str = ""
    seconds: float
    default: bool = False


class AnswerApproval(Command, frozen=True, kw_only=True):
    """A person allows it or not."""

    approval: str
    allow: bool
    note: str = ""


class WithdrawApprovals(Command, frozen=True, kw_only=True):
    """Nobody waits for these answers any more: their session is over."""

    seat: SeatId
    session: SessionId


class CheckApprovals(Command, frozen=True, kw_only=True):
    """An answer may be overdue: look."""

    seat: SeatId


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


class CreateChannel(Command, frozen=True, kw_only=True):
    """Open a channel."""

    channel: ChannelId
    config: TurnConfig = TurnConfig()


class ConfigureChannel(Command, frozen=True, kw_only=True):
    """Change a channel's rules."""

    channel: ChannelId
    config: TurnConfig


class AddMember(Command, frozen=True, kw_only=True):
    """Give an agent a place at the end of a channel's ring."""

    channel: ChannelId
    seat: SeatId
    timeout_seconds: float | None = None


class RemoveMember(Command, frozen=True, kw_only=True):
    """Take an agent's place in a channel away."""

    channel: ChannelId
    seat: SeatId


class PostMessage(Command, frozen=True, kw_only=True):
    """A human says something in a channel."""

    channel: ChannelId
    text: str
    speaker_name: str
    key: str | None = None


class SendMessage(Command, frozen=True, kw_only=True):
    """A human says something to one agent: the lead, where none is named."""

    text: str
    speaker_name: str
    seat: SeatId | None = None
    key: str | None = None


class DeliverMessages(Command, frozen=True, kw_only=True):
    """An agent has been handed its messages up to here: of a channel, or those to it alone."""

    seat: SeatId
    upto: int
    channel: ChannelId | None = None


class MarkRead(Command, frozen=True, kw_only=True):
    """An agent has acted on the messages to it alone, up to here."""

    seat: SeatId
    upto: int


class Speak(Command, frozen=True, kw_only=True):
    """An agent says something in a channel, and with `complete` ends its turn with it."""

    channel: ChannelId
    seat: SeatId
    text: str
    epoch: int | None = None
    complete: bool = False
    key: str | None = None


class TellHuman(Command, frozen=True, kw_only=True):
    """An agent says something to the human, outside of any channel."""

    seat: SeatId
    text: str
    key: str | None = None


class CompleteTurn(Command, frozen=True, kw_only=True):
    """An agent is done with its turn. Without a post it has passed."""

    channel: ChannelId
    seat: SeatId
    epoch: int | None = None
    reason: str | None = None


class WaitTurn(Command, frozen=True, kw_only=True):
    """An agent pauses its turn and keeps it."""

    channel: ChannelId
    seat: SeatId
    reason: str
    epoch: int | None = None
    timeout_seconds: float | None = None


class ResumeTurn(Command, frozen=True, kw_only=True):
    """What a turn waited for is there; a human who held it lets go.

    An agent resumes only a wait that it asked for itself.
    """

    channel: ChannelId
    seat: SeatId
    epoch: int | None = None
    if_own: bool = False
    """Do nothing unless the agent waits, and asked for the wait itself."""


class EndForgottenTurn(Command, frozen=True, kw_only=True):
    """A session's work is done, but its turn was not ended: muster ends it, with a warning."""

    channel: ChannelId
    seat: SeatId
    epoch: int | None = None
    ok: bool = True
    text: str = ""
    """Its last message, or why it failed."""


class AwaitApproval(Command, frozen=True, kw_only=True):
    """A turn stands still while a person is asked, or goes on because they have answered."""

    channel: ChannelId
    seat: SeatId


class OverrideTurn(Command, frozen=True, kw_only=True):
    """A human decides: the agent is ACTIVE now, or QUEUED and the turn goes on."""

    channel: ChannelId
    seat: SeatId
    to: TurnState


class RenewTurn(Command, frozen=True, kw_only=True):
    """A sign of work: the turn's clock starts anew."""

    channel: ChannelId
    seat: SeatId
    epoch: int | None = None


class ReportWorkStopped(Command, frozen=True, kw_only=True):
    """The work on a turn that was taken away has stopped."""

    channel: ChannelId
    seat: SeatId


class CheckChannel(Command, frozen=True, kw_only=True):
    """A deadline of this channel may be over: look."""

    channel: ChannelId


class OfferTurn(Command, frozen=True, kw_only=True):
    """Grant the turn if it is free and somebody can take it."""

    channel: ChannelId


class Arrive(Command, frozen=True, kw_only=True):
    """An agent has become present."""

    seat: SeatId


class Depart(Command, frozen=True, kw_only=True):
    """An agent is no longer present. In order, it keeps its places; else it loses them."""

    seat: SeatId
    orderly: bool
    reason: str


# ── who may do what ───────────────────────────────────────────────────────────────────────────────


class IssueToken(Command, frozen=True, kw_only=True):
    """Let whoever has this secret act in a role."""

    token_id: str
    role: Role
    digest: str
    seat: SeatId | None = None
    note: str = ""


class RevokeToken(Command, frozen=True, kw_only=True):
    """Let a token count for nothing any more."""

    token_id: str


# ── delegation ────────────────────────────────────────────────────────────────────────────────────


class StartDelegation(Command, frozen=True, kw_only=True):
    """Open a state machine session over these agents."""

    mode: DelegationMode
    path: str
    agents: tuple[str, ...]
    folders: tuple[str, ...] = ()
    agent_list: str = ""
    directory: str = ""
    permissions: tuple[StatePermissions, ...] = ()
    allowance: Allowance = NO_LIMIT
    """What one conversation may use up."""


class EndDelegation(Command, frozen=True, kw_only=True):
    """Close the state machine session, and whatever is open in it."""

    reason: str = "ended"


class OpenConversation(Command, frozen=True, kw_only=True):
    """A human input: it opens a conversation of its own."""

    text: str
    speaker_name: str
    keeper: str = ""
    """The program that leads it where muster does not: it goes on as long as that lives."""

    seat: SeatId | None = None
    """The seat in which that program sits."""


class RecordRoute(Command, frozen=True, kw_only=True):
    """Put on record where a conversation belongs, and why."""

    conversation: ConversationId
    to: str
    confidence: float
    rule: str
    reason: str
    router: str
    margin: float = 0.0
    candidates: tuple[Ranked, ...] = ()


class DenyPermission(Command, frozen=True, kw_only=True):
    """Put on record that a conversation needs what its state may not do."""

    conversation: ConversationId
    rule: str
    reason: str
    suggestion: str = ""


class RecordDialogue(Command, frozen=True, kw_only=True):
    """Put on record what was thought, said or done in a conversation."""

    conversation: ConversationId
    speaker: str
    kind: Remark
    text: str


class RecordFile(Command, frozen=True, kw_only=True):
    """Put on record that a file came or changed; that is progress."""

    conversation: ConversationId
    path: str
    change: FileChange
    size: int
    sha256: str
    outside: bool = False
    named: bool = False


class LogConversation(Command, frozen=True, kw_only=True):
    """Write a line of somebody else into the index of conversations."""

    entry: str


class Delegate(Command, frozen=True, kw_only=True):
    """Hand a conversation to an agent; in response mode, the agent claims it."""

    conversation: ConversationId
    to: str
    trigger: str
    seconds: float | None = None
    """How long the agent may work on it."""


class HandOff(Command, frozen=True, kw_only=True):
    """An agent hands a conversation to another, or back to MAIN."""

    conversation: ConversationId
    epoch: int
    to: str
    reason: str
    report: str = ""
    """What the agent reports that hands it over."""

    seconds: float | None = None
    """How long the next agent may work on it."""


class RecordProgress(Command, frozen=True, kw_only=True):
    """Something new came of a conversation."""

    conversation: ConversationId
    what: str


class FinishTask(Command, frozen=True, kw_only=True):
    """An agent has done its part of a conversation, or failed at it."""

    conversation: ConversationId
    epoch: int
    summary: str = ""
    failed: bool = False
    report: str = ""
    """What the agent reports: the answer, where muster leads the conversation."""


class CloseConversation(Command, frozen=True, kw_only=True):
    """A conversation is answered."""

    conversation: ConversationId
    summary: str
    failed: bool = False
    """Whether nothing came of it."""


COMMANDS: tuple[type[Command], ...] = tuple(Command.__subclasses__())
"""Every kind of command; the dispatch table, the docs and the tests go by it."""
