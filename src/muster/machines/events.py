"""Facts: the content of the log, and the wire format. Field names are part of the public API.

An `Event` is a fact with its envelope: sequence number, time, the server session that wrote it,
the actor, and the event that caused it. A fact never changes its meaning; a new shape is a new
version (`store/upcasts.py` converts old ones).
"""

import re
from datetime import datetime
from typing import ClassVar, Literal

import msgspec

from muster.machines.documents import AgentDocument, HandedOver, MessageCopy, WakeCheck
from muster.machines.ids import (
    HERE,
    MUSTER,
    ChannelId,
    ConversationId,
    NodeId,
    SeatId,
    SessionId,
    WorkspaceId,
)
from muster.machines.policies import RunPolicy
from muster.machines.vocabulary import (
    NO_LIMIT,
    NOTHING_USED,
    Activity,
    Allowance,
    Answered,
    ApprovalScope,
    AttachedFile,
    Authority,
    Budget,
    ChangeCount,
    Claim,
    DelegationMode,
    DeliveryWay,
    FileChange,
    HandState,
    InterruptMode,
    Limit,
    Machine,
    OnSilence,
    Outcome,
    Placeholder,
    PlanStep,
    Profile,
    Ranked,
    Remark,
    Role,
    RunMode,
    Scope,
    SpeakerType,
    StatePermissions,
    StatusEntry,
    Taken,
    Text,
    TurnConfig,
    Urgency,
    Usage,
    WorkspaceStep,
)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Fact(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    tag_field="type",
    tag=_snake,
    gc=False,
):
    """The base of all facts."""

    version: ClassVar[int] = 1


class Event(msgspec.Struct, frozen=True, gc=False):
    """A fact with its envelope in the log."""

    seq: int
    ts: datetime
    session_id: SessionId
    actor: str
    cause: int | None
    fact: Fact
    key: str | None = None
    """The idempotency key of the command, on its first event; perhaps with a digest (`keys.py`)."""

    @property
    def type(self) -> str:
        """The fact's name on the wire."""
        return str(self.fact.__struct_config__.tag)


class StateTransition(Fact, frozen=True, kw_only=True):
    """One state change of one machine. `until` is the deadline of the new state, if any."""

    machine: Machine
    agent_id: str
    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    trigger: str
    seat: SeatId | None = None
    channel: ChannelId | None = None
    conversation: ConversationId | None = None
    epoch: int | None = None
    until: datetime | None = None
    session: SessionId | None = None
    reason: str | None = None


# ── muster itself ─────────────────────────────────────────────────────────────────────────────────


class MusterStarted(Fact, frozen=True, kw_only=True):
    """muster started. Alive agents are unconfirmed until their authority reports them."""

    server_session: SessionId
    muster_version: str
    human: str
    node: NodeId = HERE
    """The machine on which it started."""

    labels: tuple[str, ...] = ()
    room: int | None = None
    """The number of sessions that the machine has room for; absent without a limit."""


class MusterStopping(Fact, frozen=True, kw_only=True):
    """muster is shutting down: no session starts any more.

    `graceful` is a drain: running sessions may finish, by `until` at the latest. `now` stops them.
    """

    reason: str
    urgency: Urgency
    until: datetime | None = None
    node: NodeId = HERE


class MusterStopped(Fact, frozen=True, kw_only=True):
    """muster has stopped in order. It is the last event of its server session."""

    reason: str
    node: NodeId = HERE


class NodeLost(Fact, frozen=True, kw_only=True):
    """A node did not renew its lease. Its sessions that may move have ended as lost; the others may
    still run, and nobody else may start them.
    """

    node: NodeId
    life: SessionId


class NodeReturned(Fact, frozen=True, kw_only=True):
    """A node whose lease was over is back in the same life, with a new term of its lease."""

    node: NodeId
    life: SessionId


class AgentMoved(Fact, frozen=True, kw_only=True):
    """An agent belongs to another node. `anyway`: its session on a node that was away counted as
    ended, because a person said that its process is dead.
    """

    seat: SeatId
    node: NodeId
    anyway: bool = False


class DiskReported(Fact, frozen=True, kw_only=True):
    """The disk of a node's home is nearly full (`isLow`), so that uploads and large messages are
    refused there; or it has room again.
    """

    node: NodeId
    is_low: bool
    free_bytes: int = 0


class ClockJumped(Fact, frozen=True, kw_only=True):
    """The wall clock jumped: it was set, or the machine was suspended. Durations do not notice:
    every deadline moves by `shiftSeconds` with the clock that dates events. Only for what people
    or the hour decide (approvals, registrations, retries, sessions per hour) the time in which the
    machine was suspended has passed.
    """

    seconds: float
    shift_seconds: float = 0.0
    suspended_seconds: float = 0.0


class LogRestored(Fact, frozen=True, kw_only=True):
    """The log was restored from a backup that was made at `madeAt`, when `backupSeq` was its newest
    event. What happened after that is not in it. Every token ended: some may have been revoked
    since the backup.
    """

    backup_seq: int
    made_at: datetime


class CommandRefused(Fact, frozen=True, kw_only=True):
    """A command was refused: its actor had no permission, or its epoch was stale."""

    command: str
    code: str
    reason: str
    seat: SeatId | None = None
    channel: ChannelId | None = None
    epoch: int | None = None


class WarningLogged(Fact, frozen=True, kw_only=True):
    """A warning for people. It changes no state."""

    text: str
    seat: SeatId | None = None
    channel: ChannelId | None = None


class SettingsApplied(Fact, frozen=True, kw_only=True):
    """Changed settings are in force. `changes` names them, without their values."""

    changes: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    """The changed settings that take effect when muster is restarted."""


class SettingsRejected(Fact, frozen=True, kw_only=True):
    """The settings file has a mistake, and the earlier settings stay in force."""

    line: int
    what: str
    remedy: str


# ── identity ──────────────────────────────────────────────────────────────────────────────────────


class AgentsSummoned(Fact, frozen=True, kw_only=True):
    """Seats were prepared in which new agents are to register."""

    authority: Authority
    placeholders: tuple[Placeholder, ...]
    long_lived: bool = False


class AgentEnrolled(Fact, frozen=True, kw_only=True):
    """An agent with a known name took a seat. It has no soul yet."""

    agent: Profile
    authority: Authority
    long_lived: bool = False
    max_turns: int = 1
    on_call: bool = False
    """Whether the agent has only a description, and sessions for delegated tasks only."""

    unasked: bool = False
    """Whether the agent is granted turns in which there is nothing new for it."""

    formerly: tuple[str, ...] | None = None
    """The former names that its table notes; none if that is not known."""


class AgentConfigured(Fact, frozen=True, kw_only=True):
    """The settings of an agent changed."""

    seat: SeatId
    authority: Authority
    long_lived: bool = False
    max_turns: int = 1
    budget: Budget = Budget()
    unasked: bool = False
    is_listed: bool = True  # by a table of its own, and not by the one for all summoned agents
    policy: RunPolicy = RunPolicy()
    formerly: tuple[str, ...] | None = None
    """The former names that its table notes; none if that is not known."""

    node: NodeId | None = None
    """The node that the agent belongs to, where the team has several machines."""


class AgentRegistered(Fact, frozen=True, kw_only=True):
    """An agent registered: it chose a name and wrote its soul."""

    agent: Profile
    session: SessionId | None = None
    folder: str = ""
    """The folder of the session in which it was born; it stays the agent's."""


class SessionAdopted(Fact, frozen=True, kw_only=True):
    """A program that a person runs by hand is seen in a seat."""

    seat: SeatId
    conversation: str
    folder: str
    model: str = ""
    pid: int = 0
    started: str = ""
    counted: Usage = NOTHING_USED
    """The usage of the conversation before muster saw it."""


class HandReported(Fact, frozen=True, kw_only=True):
    """A program that a person runs does something else, or has used more."""

    seat: SeatId
    state: HandState
    about: str = ""
    model: str = ""
    counted: Usage = NOTHING_USED
    """All usage of its conversation."""

    usage: Usage = NOTHING_USED
    """The usage since the last report."""

    refund_usd: float = 0.0
    """How much the earlier reports were too expensive: a price is an estimate until the end."""


class HandKept(Fact, frozen=True, kw_only=True):
    """A person has given a program that people run its seat for good."""

    seat: SeatId


class AgentHosted(Fact, frozen=True, kw_only=True):
    """muster runs an agent of a lead in a session of its own from now on."""

    seat: SeatId


class AgentStatus(Fact, frozen=True, kw_only=True):
    """The lead reported its team. `confirmed` lists the reported seats that the lead runs."""

    agents: tuple[StatusEntry, ...]
    session: SessionId | None = None
    confirmed: tuple[SeatId, ...] = ()


class AgentConfirmed(Fact, frozen=True, kw_only=True):
    """Evidence confirmed that an agent is alive. Its state did not change."""

    seat: SeatId
    evidence: str


class EvidenceExpired(Fact, frozen=True, kw_only=True):
    """An agent gave no sign of life for too long: it is unknown whether it is alive."""

    seat: SeatId
    seconds: float


class WakeRequested(Fact, frozen=True, kw_only=True):
    """A person asked to wake sleeping agents."""

    seats: tuple[SeatId, ...]
    until: datetime | None = None
    """The deadline for the lead's report; until then the lead is not asked again."""


class SleepRequested(Fact, frozen=True, kw_only=True):
    """A person asked to put agents to sleep."""

    seats: tuple[SeatId, ...]


class AgentDisabled(Fact, frozen=True, kw_only=True):
    """An agent was disabled: it is OFFLINE, and nothing starts it until it is enabled."""

    seat: SeatId
    reason: str = ""


class AgentEnabled(Fact, frozen=True, kw_only=True):
    """An agent was enabled and may be started again."""

    seat: SeatId


class AgentRetired(Fact, frozen=True, kw_only=True):
    """An agent was retired: its name and its place in the grid are free, and nothing runs it."""

    seat: SeatId
    reason: str = ""


class AgentRenamed(Fact, frozen=True, kw_only=True):
    """An agent has another name. Its seat, its history and its folder are the same."""

    seat: SeatId
    name: str
    previous: str
    regained: bool = False
    """Whether it is the name that the agent chose, which another agent had: no person's act."""


class AgentDismissed(Fact, frozen=True, kw_only=True):
    """The settings no longer name an agent: no session of it starts, and a live one is ending."""

    seat: SeatId
    until: datetime
    """When a session that has not ended is stopped now."""

    reason: str = ""


class AgentRestored(Fact, frozen=True, kw_only=True):
    """A retired agent is back in its seat, with its name and its history."""

    seat: SeatId


class NoteRemembered(Fact, frozen=True, kw_only=True):
    """Something was noted that an agent is told in every later life."""

    seat: SeatId
    note: int
    """The number of the note; numbers of an agent only grow."""

    text: str


class NoteEdited(Fact, frozen=True, kw_only=True):
    """The text of a note was replaced."""

    seat: SeatId
    note: int
    text: str


class NoteForgotten(Fact, frozen=True, kw_only=True):
    """A note was deleted: the agent is no longer told."""

    seat: SeatId
    note: int


class SoulEdited(Fact, frozen=True, kw_only=True):
    """The soul of an agent was edited. Earlier versions are in earlier events."""

    seat: SeatId
    soul: str
    reason: str = ""


class WakeRecorded(Fact, frozen=True, kw_only=True):
    """The memory that a waking agent was given, in its first prompt or through its lead."""

    seat: SeatId
    session: SessionId | None = None
    """Its own session; none where its lead wakes it."""

    handed: HandedOver
    asked: bool = False
    """Whether it was asked who it is."""


class WakeChecked(Fact, frozen=True, kw_only=True):
    """The outcome of asking a woken agent who it is."""

    seat: SeatId
    session: SessionId
    outcome: WakeCheck
    name: str = ""
    soul: str = ""
    """The first line of its soul, as the agent gave it."""


class MarkerRejected(Fact, frozen=True, kw_only=True):
    """A marker in an agent's output was rejected and had no effect."""

    seat: SeatId | None
    marker: str
    reason: str


class Conflict(Fact, frozen=True, kw_only=True):
    """A report contradicts the agent's authority, whose word counts."""

    seat: SeatId
    reported: str
    evidence: str


# ── from another machine ──────────────────────────────────────────────────────────────────────────


class DocumentsImported(Fact, frozen=True, kw_only=True):
    """Another machine's documents of the team were merged with the local ones."""

    documents: tuple[AgentDocument, ...]
    """The documents that changed, in their new form."""

    lost: tuple[AgentDocument, ...] = ()
    """The imported documents that were discarded, in whole or in part."""

    left: tuple[AgentDocument, ...] = ()
    """The imported documents of held seats, left for an import while the agents sleep."""

    held: tuple[SeatId, ...] = ()
    """Seats that the import did not change, because their local authority speaks for them."""

    authority: Authority = Authority.LEAD
    """The authority for new agents on the grid. From seat 9 on it is `self`."""

    messages: int = 0
    """The number of new messages in the import."""


class MessageImported(Fact, frozen=True, kw_only=True):
    """A message from another machine. It is history and is delivered to no agent."""

    message: MessageCopy
    seat: SeatId | None = None


# ── run control ───────────────────────────────────────────────────────────────────────────────────


class DesiredSet(Fact, frozen=True, kw_only=True):
    """The desired mode of an agent changed: by a person, the end of a one-shot, a budget, or a
    policy. `trigger` says which.
    """

    seat: SeatId
    desired: RunMode
    previous: RunMode
    generation: int
    set_by: str
    note: str = ""
    trigger: str = ""
    now: bool = False
    """Whether a session is to start now, before the next scheduled time."""


class SessionRequested(Fact, frozen=True, kw_only=True):
    """The gate allowed a session; the runtime starts it."""

    seat: SeatId
    session: SessionId
    mode: RunMode
    generation: int
    trigger: str
    task: ConversationId | None = None
    """The conversation that the session works on, where it is a task session."""

    until: datetime | None = None
    """The deadline of the task."""

    node: NodeId = HERE
    """The machine that runs it."""


class SessionStart(Fact, frozen=True, kw_only=True):
    """A session's process started."""

    session: SessionId
    seats: tuple[SeatId, ...]
    mode: RunMode
    generation: int
    pid: int | None = None
    started: str | None = None
    """The start time of the process as the kernel reports it, to detect a reused pid."""

    limits: tuple[str, ...] = ()  # how each limit of its resources holds, in words
    confinement: str = ""
    """How the kernel confines the program, or why not; empty where nothing asks for it."""

    interruptible: bool = False
    """Whether its work can be interrupted without ending the session."""

    confirms_prompts: bool = False
    """Whether it reports each prompt that it begins, and so each turn that it knows of."""


class SessionEnd(Fact, frozen=True, kw_only=True):
    """A session's process exited. Only the seats of that session are affected."""

    session: SessionId
    seats: tuple[SeatId, ...]
    outcome: Outcome
    code: int | None = None
    reason: str = ""
    task: ConversationId | None = None
    """The conversation that the session worked on."""


class StopRequested(Fact, frozen=True, kw_only=True):
    """A running session was asked to stop."""

    seat: SeatId
    session: SessionId
    urgency: Urgency
    reason: str = ""
    restart: bool = False
    """Whether another session of the same mode is to follow."""


class InterruptRequested(Fact, frozen=True, kw_only=True):
    """Work on a turn that was taken away must stop; the session may continue."""

    seat: SeatId
    session: SessionId
    channel: ChannelId
    until: datetime


class WorkInterrupted(Fact, frozen=True, kw_only=True):
    """A person stopped the present work of an agent; its session lives on."""

    seat: SeatId
    session: SessionId
    channel: ChannelId | None = None
    """Where a person holds the turn that the work is for. It goes on when the turn resumes."""


class KillRequested(Fact, frozen=True, kw_only=True):
    """Interrupted work did not stop in time: the session is killed."""

    seat: SeatId
    session: SessionId
    channel: ChannelId
    until: datetime


class AgentOutput(Fact, frozen=True, kw_only=True):
    """A session printed text. The `omitted` bytes before it are only in the output file."""

    seat: SeatId
    session: SessionId
    stream: str
    text: str
    omitted: int = 0


class SessionResult(Fact, frozen=True, kw_only=True):
    """A long-lived program finished a prompt; `usage` is what that cost."""

    seat: SeatId
    session: SessionId
    ok: bool = True
    text: str = ""
    usage: Usage = Usage()
    channel: ChannelId | None = None
    """The channel whose turn the work was for."""

    conversation: ConversationId | None = None
    """The conversation that the agent led or worked on."""

    model: str = ""
    """The model that spoke last, where the program tells."""


class UsageReported(Fact, frozen=True, kw_only=True):
    """An agent that connects by itself reported what it has used."""

    seat: SeatId
    usage: Usage
    channel: ChannelId | None = None
    """The channel in which it has the turn, or had the last one."""


class WorkSpending(Fact, frozen=True, kw_only=True):
    """The usage of the present piece of work so far, which counts; the result tells all of it."""

    seat: SeatId
    session: SessionId
    usage: Usage


class AgentActivity(Fact, frozen=True, kw_only=True):
    """An agent was seen working in its session: a tool call, a helper, a retry."""

    seat: SeatId
    session: SessionId
    kind: Activity
    name: str
    text: str = ""
    ref: str = ""
    by: str = ""


class AgentPlan(Fact, frozen=True, kw_only=True):
    """An agent wrote or changed the plan of its work: all of its steps, as they are now."""

    seat: SeatId
    session: SessionId
    steps: tuple[PlanStep, ...]


class PromptTaken(Fact, frozen=True, kw_only=True):
    """A session accepted a prompt: at once, in the middle of its work, or queued after it."""

    seat: SeatId
    session: SessionId
    how: Taken
    text: str
    channels: tuple[ChannelId, ...] = ()
    """The channels in which the program now knows that it has the turn."""


class RetryScheduled(Fact, frozen=True, kw_only=True):
    """The next session starts at `until`. Failures are retried with exponential backoff; after a
    success, sessions start at most once a second.
    """

    seat: SeatId
    failures: int
    until: datetime


class RunPlanned(Fact, frozen=True, kw_only=True):
    """The next scheduled run of an agent was planned, on the wall clock."""

    seat: SeatId
    at: datetime


class ScheduledRunDue(Fact, frozen=True, kw_only=True):
    """A scheduled time has come. A session starts, unless the gate is closed; the next run is
    planned in the same transaction, so that no time is taken twice.
    """

    seat: SeatId
    at: datetime
    next_at: datetime | None = None


class SilenceNoticed(Fact, frozen=True, kw_only=True):
    """A working session showed no sign of work for longer than its policy allows."""

    seat: SeatId
    session: SessionId
    seconds: float
    action: OnSilence


class StartDeferred(Fact, frozen=True, kw_only=True):
    """A retry was due, but the agents that this one starts after do not all run, or no machine may
    run it now. It starts when they do, or when one may.
    """

    seat: SeatId
    names: tuple[str, ...] = ()
    """The agents that it waits for; none where it waits for a machine."""


class StateFileReported(Fact, frozen=True, kw_only=True):
    """An agent's state file cannot be read or written, or can be again.

    No start is accepted while it cannot be read: it may say pause.
    """

    seat: SeatId
    problem: str = ""
    is_readable: bool = True


# ── approvals ─────────────────────────────────────────────────────────────────────────────────────


class ApprovalRequested(Fact, frozen=True, kw_only=True):
    """An agent asked a person for approval, and is WAITING."""

    approval: str
    seat: SeatId
    session: SessionId | None = None
    """The session that asked; none where the agent connects by itself."""

    tool: str
    detail: str
    until: datetime
    by: str = ""
    default: bool = False
    """The answer that applies at the deadline if no person has answered."""

    rules: tuple[str, ...] = ()
    """The rules that a permission for longer than once would set."""

    folder: str = ""
    effects: tuple[str, ...] = ()
    """The effects of the call, as far as muster understands it."""

    change: str = ""
    """The difference of the file that it writes."""


class ApprovalAnswered(Fact, frozen=True, kw_only=True):
    """A request was allowed or denied: by a person, by timeout, or because its session has ended or
    its agent has left."""

    approval: str
    seat: SeatId
    allow: bool
    how: Answered
    note: str = ""
    scope: ApprovalScope = ApprovalScope.ONCE


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


class ChannelCreated(Fact, frozen=True, kw_only=True):
    """A channel was created."""

    channel: ChannelId
    config: TurnConfig


class ChannelConfigured(Fact, frozen=True, kw_only=True):
    """A channel's rules changed; a turn in progress keeps its deadline."""

    channel: ChannelId
    config: TurnConfig


class ChannelArchived(Fact, frozen=True, kw_only=True):
    """A channel was put aside: nobody speaks in it, and lists leave it out."""

    channel: ChannelId


class ChannelRestored(Fact, frozen=True, kw_only=True):
    """An archived channel was brought back."""

    channel: ChannelId


class RingOrdered(Fact, frozen=True, kw_only=True):
    """The order of a channel's members changed."""

    channel: ChannelId
    seats: tuple[SeatId, ...]


class MemberConfigured(Fact, frozen=True, kw_only=True):
    """A member's turn timeout changed; none means the channel's. A turn keeps its deadline."""

    channel: ChannelId
    seat: SeatId
    timeout_seconds: float | None


class TurnClaimed(Fact, frozen=True, kw_only=True):
    """A member is to speak before the ring's next."""

    channel: ChannelId
    seat: SeatId
    claim: Claim
    by: str = ""
    """The name of the person or agent that caused it."""


class TurnClaimDropped(Fact, frozen=True, kw_only=True):
    """A member no longer claims the next turn."""

    channel: ChannelId
    seat: SeatId


class SpeakerChosen(Fact, frozen=True, kw_only=True):
    """A channel's selector was asked for the next speaker, and this is its answer."""

    channel: ChannelId
    seat: SeatId
    """The selector."""

    chosen: SeatId | None
    """The next speaker; none where the answer names no member, and the ring decides."""

    text: str = ""


class TurnsPassed(Fact, frozen=True, kw_only=True):
    """Members were passed over, because there is nothing new for them."""

    channel: ChannelId
    seats: tuple[SeatId, ...]
    reason: str = "nothing_new"


class MemberJoined(Fact, frozen=True, kw_only=True):
    """An agent took a place at the end of a channel's ring, or the place that it had lost."""

    channel: ChannelId
    seat: SeatId
    timeout_seconds: float | None = None
    place: int | None = None
    """The index in the ring of the place that it had lost; none at the end of the ring."""


class MemberLeft(Fact, frozen=True, kw_only=True):
    """An agent left a channel's ring, or one that had lost its place does not get it back."""

    channel: ChannelId
    seat: SeatId
    reason: str
    keeps_place: bool = False
    """Whether it gets its place back when it returns: it left by a crash or a disconnect."""


class TurnRenewed(Fact, frozen=True, kw_only=True):
    """The deadline of a turn moved: its holder was seen working, or a human holds it longer."""

    channel: ChannelId
    epoch: int
    until: datetime
    heartbeat: bool = False
    """Whether only a heartbeat was seen: that does not end a silence."""


class WorkStopped(Fact, frozen=True, kw_only=True):
    """The work on a turn that was taken away, or that a person holds, has stopped."""

    channel: ChannelId
    seat: SeatId


class ChannelRested(Fact, frozen=True, kw_only=True):
    """A conversation came to its end: no turn is granted until the next message."""

    channel: ChannelId
    idle_rounds: int = 0
    limit: Limit = Limit.IDLE_ROUNDS
    """The rule that ended it."""

    reason: str = ""
    """The same in a sentence."""


class ChannelRoused(Fact, frozen=True, kw_only=True):
    """A message ended the rest of a channel."""

    channel: ChannelId


class Announcement(Fact, frozen=True, kw_only=True):
    """muster posted a notice in a channel."""

    channel: ChannelId
    text: str


class UserMessage(Fact, frozen=True, kw_only=True):
    """A message of a human, in a channel or to one agent (the lead where `target_agent` is null),
    of an agent to another one, or of muster to the lead (`speakerName` is `muster`). It is
    delivered at once to the seats in `deliver_to`, to the others with their next turn.
    """

    text: str
    speaker_name: str
    target_agent: str | None
    sender: SeatId | None = None
    """The seat of the agent that said it; null for a person, and for muster."""

    seat: SeatId | None = None
    """The seat of the recipient, where the message is for one agent."""

    channel: ChannelId | None = None
    mode: InterruptMode | None = None
    deliver_to: tuple[SeatId, ...] = ()
    reply_to: int | None = None
    """The seq of the message that it answers."""

    files: tuple[AttachedFile, ...] = ()

    @property
    def speaker_type(self) -> SpeakerType:
        """The kind of its speaker. No person and no agent can be called `muster`."""
        if self.sender is not None:
            return "agent"
        return "muster" if self.speaker_name == MUSTER else "human"


class AgentMessage(Fact, frozen=True, kw_only=True):
    """A message of an agent."""

    agent_name: str
    content: tuple[Text, ...]
    seat: SeatId
    channel: ChannelId | None = None
    epoch: int | None = None
    reply_to: int | None = None
    files: tuple[AttachedFile, ...] = ()
    answers_upto: int | None = None
    """The direct messages that it answers, by the seq of the last; None for all that it has."""


class MessagesReturned(Fact, frozen=True, kw_only=True):
    """Direct messages are handed over again: a session ended before it had answered them."""

    seat: SeatId
    after: int
    upto: int
    """The messages after `after` in the log, up to this one."""

    reason: str
    """The end of that session; empty where a person wants another try."""


class MessagesUnanswered(Fact, frozen=True, kw_only=True):
    """Direct messages were handed over twice, and are not handed over again by themselves."""

    seat: SeatId
    after: int
    upto: int
    reason: str
    """The end of the session that had them last."""


class MessagesRead(Fact, frozen=True, kw_only=True):
    """An agent has acted on its direct messages up to `upto` in the log."""

    seat: SeatId
    upto: int


class MessagesDelivered(Fact, frozen=True, kw_only=True):
    """Messages up to `upto` in the log were delivered to an agent: of a channel, or direct ones."""

    seat: SeatId
    upto: int
    channel: ChannelId | None = None


class MessageRouted(Fact, frozen=True, kw_only=True):
    """A direct message took another way to its agent than the team's own inbox file."""

    seat: SeatId
    message: int
    """Its place in the log."""

    way: DeliveryWay


# ── who may do what ───────────────────────────────────────────────────────────────────────────────


class TokenIssued(Fact, frozen=True, kw_only=True):
    """A token was issued. Only its digest is stored."""

    token_id: str
    role: Role
    digest: str
    seat: SeatId | None = None
    note: str = ""
    user: str = ""
    """The user who acts with it; empty for the human of the team, or an agent."""

    expires_at: datetime | None = None
    scope: Scope | None = None
    """The agents and channels that a member may act on with it; null for the whole team."""


class TokenRotated(Fact, frozen=True, kw_only=True):
    """A token got a new secret. Only its digest is stored."""

    token_id: str
    digest: str


class UserSet(Fact, frozen=True, kw_only=True):
    """A person was added with a role and a scope, or got others."""

    name: str
    role: Role
    scope: Scope | None = None
    """The agents and channels that a member may act on; null for the whole team."""


class UserRemoved(Fact, frozen=True, kw_only=True):
    """A person was removed."""

    name: str


class TokenRevoked(Fact, frozen=True, kw_only=True):
    """A token was revoked."""

    token_id: str
    seat: SeatId | None = None
    """The seat of the agent that it stood for, if any."""


# ── delegation ────────────────────────────────────────────────────────────────────────────────────


class DelegationStarted(Fact, frozen=True, kw_only=True):
    """A state machine session was opened."""

    mode: DelegationMode
    path: str
    agents: tuple[str, ...]
    folders: tuple[str, ...] = ()
    """The folders of the agents' descriptions."""

    agent_list: str = ""
    directory: str = ""
    """The texts of the session's `agent-list.txt` and `AGENT_DIRECTORY.md`."""

    permissions: tuple[StatePermissions, ...] = ()
    allowance: Allowance = NO_LIMIT
    continues: str = ""
    """The folder of a session with a log of its own that goes on here."""

    opened: int = 0
    """How many conversations that one had; the numbering goes on from there."""


class DescriptionsAdded(Fact, frozen=True, kw_only=True):
    """Agents were added to the open state machine session."""

    agents: tuple[str, ...]
    agent_list: str = ""
    directory: str = ""
    """The texts of the session's `agent-list.txt` and `AGENT_DIRECTORY.md`, with all agents."""


class DelegationEnded(Fact, frozen=True, kw_only=True):
    """The state machine session was closed."""

    reason: str


class ConversationStart(Fact, frozen=True, kw_only=True):
    """A human input opened a conversation."""

    conversation: ConversationId
    text: str
    speaker_name: str
    keeper: str = ""
    seat: SeatId | None = None
    depth: int = 0
    """How many agents this request is nested in; 0 for a person's own."""


class Routed(Fact, frozen=True, kw_only=True):
    """The router, a person or a selector chose an agent, or MAIN, for a conversation."""

    conversation: ConversationId
    to: str
    confidence: float
    rule: str
    reason: str
    router: str
    margin: float = 0.0
    candidates: tuple[Ranked, ...] = ()
    ambiguous: bool = False
    """Whether several agents may have been meant."""

    guess: str = ""
    """The router's own choice, where a person or a selector chose."""

    selector: str = ""
    """The agent that is asked to choose among the candidates, because the router is unsure."""


class ChoiceRemembered(Fact, frozen=True, kw_only=True):
    """A person chose an agent, or MAIN, for a request; routing remembers it for requests like it.
    A later choice for the same request replaces it."""

    number: int
    text: str
    to: str
    guess: str = ""
    """The router's own choice; empty if it was unsure."""


class ChoiceForgotten(Fact, frozen=True, kw_only=True):
    """A person had routing forget a choice, or all choices where no number is given."""

    number: int | None = None


class PermissionDenied(Fact, frozen=True, kw_only=True):
    """A conversation needs a permission that its state does not have. `suggestion` names an agent
    to create."""

    conversation: ConversationId
    state: str
    rule: str
    reason: str
    suggestion: str = ""


class DialogueRecorded(Fact, frozen=True, kw_only=True):
    """An entry in the dialogue of a conversation."""

    conversation: ConversationId
    speaker: str
    kind: Remark
    text: str


class FileRecorded(Fact, frozen=True, kw_only=True):
    """A file was created, changed or deleted while a state had the conversation."""

    conversation: ConversationId
    state: str
    path: str
    """Relative to the conversation's output folder; absolute where it is `outside` of it."""

    change: FileChange
    size: int
    sha256: str
    outside: bool = False
    named: bool = False
    """Whether the human named the path, which allows a file outside."""


class ConversationLogged(Fact, frozen=True, kw_only=True):
    """Another program added a line to the index of conversations."""

    entry: str


class UsageRecorded(Fact, frozen=True, kw_only=True):
    """The usage of an agent in a conversation."""

    conversation: ConversationId
    agent_name: str
    usage: Usage


class ProgressRecorded(Fact, frozen=True, kw_only=True):
    """A conversation made progress: a file, a finding."""

    conversation: ConversationId
    what: str


class ConversationEnd(Fact, frozen=True, kw_only=True):
    """A conversation was closed: answered, failed, or ended with its session."""

    conversation: ConversationId
    summary: str
    outcome: Literal["answered", "failed", "ended"] = "answered"


# ── what needs a person ───────────────────────────────────────────────────────────────────────────


class NeedSettled(Fact, frozen=True, kw_only=True):
    """A person put aside what needed one: done, or until a time."""

    need: str
    until: datetime | None = None


class NeedReopened(Fact, frozen=True, kw_only=True):
    """A person wants to be told again of what was put aside."""

    need: str


class MoreAllowed(Fact, frozen=True, kw_only=True):
    """A person let an agent, or a channel, go on beyond its limits for some turns."""

    turns: int
    seat: SeatId | None = None
    channel: ChannelId | None = None


class MessagesSeen(Fact, frozen=True, kw_only=True):
    """A person has seen the messages of an agent, or of a channel, up to `upto` in the log; with
    neither, the person has looked at the whole team. It goes back only where a person takes back
    that messages were done."""

    upto: int
    seat: SeatId | None = None
    channel: ChannelId | None = None


# ── workspaces ────────────────────────────────────────────────────────────────────────────────────


class WorkspacePlanned(Fact, frozen=True, kw_only=True):
    """A git worktree is about to be made for an agent or a conversation."""

    workspace: WorkspaceId
    repository: str
    folder: str
    branch: str
    base: str
    target: str = ""
    seat: SeatId | None = None
    """The agent whose workspace it is."""

    conversation: ConversationId | None = None
    agent_name: str = ""


class WorkspaceMade(Fact, frozen=True, kw_only=True):
    """The worktree and its branch exist."""

    workspace: WorkspaceId
    git_dir: str


class WorkspaceChanged(Fact, frozen=True, kw_only=True):
    """How much a worktree changes, as it was at the end of a session in it."""

    workspace: WorkspaceId
    changes: ChangeCount


class WorkspaceHanded(Fact, frozen=True, kw_only=True):
    """Another conversation goes on in the workspace of a finished one."""

    workspace: WorkspaceId
    conversation: ConversationId


class WorkspaceStepBegun(Fact, frozen=True, kw_only=True):
    """A workspace is about to be merged, rebased or discarded."""

    workspace: WorkspaceId
    step: WorkspaceStep
    branch: str = ""
    force: bool = False


class WorkspaceMerged(Fact, frozen=True, kw_only=True):
    """The changes of a workspace were merged into a branch."""

    workspace: WorkspaceId
    branch: str
    commit: str
    """The merge commit."""

    changes: ChangeCount = ChangeCount()


class WorkspaceRebased(Fact, frozen=True, kw_only=True):
    """The branch of a workspace was rebased onto another."""

    workspace: WorkspaceId
    branch: str
    commit: str


class WorkspaceConflict(Fact, frozen=True, kw_only=True):
    """A merge or a rebase has conflicts in these files; nothing was changed."""

    workspace: WorkspaceId
    step: WorkspaceStep
    branch: str
    files: tuple[str, ...]


class WorkspaceStepFailed(Fact, frozen=True, kw_only=True):
    """A merge, a rebase or a discard was not done."""

    workspace: WorkspaceId
    step: WorkspaceStep
    reason: str


class WorkspaceRemoved(Fact, frozen=True, kw_only=True):
    """The worktree and the branch of a workspace were removed, or could not be made."""

    workspace: WorkspaceId
    reason: str
    commit: str = ""


FACTS: tuple[type[Fact], ...] = tuple(Fact.__subclasses__())
"""All fact types; the codec, the docs and the tests use this list."""
