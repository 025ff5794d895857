"""Facts: what stands in the log. They are the wire format too, spelled as the seeds spell them.

An `Event` is a fact with its envelope: its place in the log, when, in which life of muster, who did
it, and which event it follows from. A fact never changes its meaning; a new shape is a new version
(`store/upcasts.py` lifts old ones).
"""

import re
from datetime import datetime
from typing import ClassVar, Literal

import msgspec

from muster.machines.documents import AgentDocument, MessageCopy
from muster.machines.ids import ChannelId, ConversationId, SeatId, SessionId
from muster.machines.vocabulary import (
    NO_LIMIT,
    Activity,
    Allowance,
    Answered,
    Authority,
    Budget,
    DelegationMode,
    FileChange,
    InterruptMode,
    Machine,
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
    Text,
    TurnConfig,
    Urgency,
    Usage,
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
    """Something that happened."""

    version: ClassVar[int] = 1


class Event(msgspec.Struct, frozen=True, gc=False):
    """A fact in its place in the log."""

    seq: int
    ts: datetime
    session_id: SessionId
    actor: str
    cause: int | None
    fact: Fact

    @property
    def type(self) -> str:
        """The fact's name on the wire."""
        return str(self.fact.__struct_config__.tag)


class StateTransition(Fact, frozen=True, kw_only=True):
    """One change of one machine. `until` is the deadline that the new state carries, if any."""

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
    """A life of muster began. Whoever was alive is unconfirmed until its authority speaks."""

    server_session: SessionId
    muster_version: str
    human: str


class MusterStopped(Fact, frozen=True, kw_only=True):
    """A life of muster ends in order: nothing starts any more, and what runs is ended."""

    reason: str


class CommandRefused(Fact, frozen=True, kw_only=True):
    """Somebody tried what was not theirs to do, or spoke for a turn that was over."""

    command: str
    code: str
    reason: str
    seat: SeatId | None = None
    channel: ChannelId | None = None
    epoch: int | None = None


class WarningLogged(Fact, frozen=True, kw_only=True):
    """Something that a person should know and that changed no state."""

    text: str
    seat: SeatId | None = None
    channel: ChannelId | None = None


# ── identity ──────────────────────────────────────────────────────────────────────────────────────


class AgentsSummoned(Fact, frozen=True, kw_only=True):
    """Seats were prepared for a birth."""

    authority: Authority
    placeholders: tuple[Placeholder, ...]
    long_lived: bool = False


class AgentEnrolled(Fact, frozen=True, kw_only=True):
    """An agent that needs no birth took a seat: it brings its name and has no soul yet."""

    agent: Profile
    authority: Authority
    long_lived: bool = False
    max_turns: int = 1
    on_call: bool = False
    """Whether it is known by its description alone, and has sessions for tasks only."""


class AgentConfigured(Fact, frozen=True, kw_only=True):
    """The settings say something else of an agent than before."""

    seat: SeatId
    authority: Authority
    long_lived: bool = False
    max_turns: int = 1
    budget: Budget = Budget()


class AgentRegistered(Fact, frozen=True, kw_only=True):
    """Somebody was born: it chose a name and wrote its soul."""

    agent: Profile
    session: SessionId | None = None


class AgentStatus(Fact, frozen=True, kw_only=True):
    """A lead reported who is in its team. Only those in `confirmed` were the lead's to report."""

    agents: tuple[StatusEntry, ...]
    session: SessionId | None = None
    confirmed: tuple[SeatId, ...] = ()


class AgentConfirmed(Fact, frozen=True, kw_only=True):
    """Evidence that an agent is here came in, without changing its state."""

    seat: SeatId
    evidence: str


class WakeRequested(Fact, frozen=True, kw_only=True):
    """Somebody asked for sleepers to be woken."""

    seats: tuple[SeatId, ...]


class SleepRequested(Fact, frozen=True, kw_only=True):
    """Somebody asked for agents to be put to sleep."""

    seats: tuple[SeatId, ...]


class AgentDisabled(Fact, frozen=True, kw_only=True):
    """An agent is OFFLINE until it is enabled, and nothing starts it."""

    seat: SeatId
    reason: str = ""


class AgentEnabled(Fact, frozen=True, kw_only=True):
    """An agent may be started again."""

    seat: SeatId


class MarkerRejected(Fact, frozen=True, kw_only=True):
    """A marker in an agent's output changed nothing, and why."""

    seat: SeatId | None
    marker: str
    reason: str


class Conflict(Fact, frozen=True, kw_only=True):
    """A report contradicts what its authority says; the authority stands."""

    seat: SeatId
    reported: str
    evidence: str


# ── from another machine ──────────────────────────────────────────────────────────────────────────


class DocumentsImported(Fact, frozen=True, kw_only=True):
    """What another machine knows of the team was merged into what this one knows."""

    documents: tuple[AgentDocument, ...]
    """Those that are other than before, as they are now."""

    lost: tuple[AgentDocument, ...] = ()
    """Those that came in and are not in force, in whole or in part."""

    held: tuple[SeatId, ...] = ()
    """Seats that were left alone, because their authority here speaks for them."""

    authority: Authority = Authority.LEAD
    """Who runs those on the grid who are new. From seat 9 on they speak for themselves."""

    messages: int = 0
    """How many messages came with them that were not known."""


class MessageImported(Fact, frozen=True, kw_only=True):
    """Something that was said on another machine. It is history, and handed to nobody."""

    message: MessageCopy
    seat: SeatId | None = None


# ── run control ───────────────────────────────────────────────────────────────────────────────────


class DesiredSet(Fact, frozen=True, kw_only=True):
    """What is wanted of an agent changed: by a person, or by the end of a one-shot."""

    seat: SeatId
    desired: RunMode
    previous: RunMode
    generation: int
    set_by: str
    note: str = ""


class SessionRequested(Fact, frozen=True, kw_only=True):
    """The gate let a session through; the runtime is to start it."""

    seat: SeatId
    session: SessionId
    mode: RunMode
    generation: int
    trigger: str
    task: ConversationId | None = None
    """The conversation that it works on, in a session of its own."""

    until: datetime | None = None
    """The deadline of the task."""


class SessionStart(Fact, frozen=True, kw_only=True):
    """A process took its seat."""

    session: SessionId
    seats: tuple[SeatId, ...]
    mode: RunMode
    generation: int
    pid: int | None = None
    started: str | None = None
    """The kernel's start time of the pid, so that a reused pid is not mistaken for it."""


class SessionEnd(Fact, frozen=True, kw_only=True):
    """A process is gone. It touches only the seats that were in it."""

    session: SessionId
    seats: tuple[SeatId, ...]
    outcome: Outcome
    code: int | None = None
    reason: str = ""
    task: ConversationId | None = None
    """The conversation that it worked on."""


class StopRequested(Fact, frozen=True, kw_only=True):
    """A running session is to end."""

    seat: SeatId
    session: SessionId
    urgency: Urgency
    reason: str = ""


class InterruptRequested(Fact, frozen=True, kw_only=True):
    """The work on a turn that was taken away is to stop; the session may live on."""

    seat: SeatId
    session: SessionId
    channel: ChannelId
    until: datetime


class KillRequested(Fact, frozen=True, kw_only=True):
    """Work that was to stop did not: the session is killed."""

    seat: SeatId
    session: SessionId
    channel: ChannelId
    until: datetime


class AgentOutput(Fact, frozen=True, kw_only=True):
    """A session printed something. `omitted` bytes before it are only in the output file."""

    seat: SeatId
    session: SessionId
    stream: str
    text: str
    omitted: int = 0


class SessionResult(Fact, frozen=True, kw_only=True):
    """A program that lives on has done a piece of work, and what that has used up."""

    seat: SeatId
    session: SessionId
    ok: bool = True
    text: str = ""
    usage: Usage = Usage()
    channel: ChannelId | None = None
    """Where the turn was that it worked for."""

    conversation: ConversationId | None = None
    """The conversation that it led with that, or worked on."""


class AgentActivity(Fact, frozen=True, kw_only=True):
    """An agent was seen doing something inside its session."""

    seat: SeatId
    session: SessionId
    kind: Activity
    name: str
    text: str = ""
    ref: str = ""
    by: str = ""


class PromptTaken(Fact, frozen=True, kw_only=True):
    """A session took in a prompt: at once, in the middle of its work, or after it."""

    seat: SeatId
    session: SessionId
    how: Taken
    text: str
    channels: tuple[ChannelId, ...] = ()
    """Where it knows now that it has the turn."""


class RetryScheduled(Fact, frozen=True, kw_only=True):
    """The next session starts only then: after failures, later each time; and never more often than
    once a second, however quickly sessions end well.
    """

    seat: SeatId
    failures: int
    until: datetime


# ── approvals ─────────────────────────────────────────────────────────────────────────────────────


class ApprovalRequested(Fact, frozen=True, kw_only=True):
    """An agent wants to do what only a person may allow, and is WAITING."""

    approval: str
    seat: SeatId
    session: SessionId
    tool: str
    detail: str
    until: datetime
    by: str = ""
    default: bool = False
    """What holds if nobody answers by then."""


class ApprovalAnswered(Fact, frozen=True, kw_only=True):
    """It was allowed or not: by a person, by its default, or because nobody waits for it."""

    approval: str
    seat: SeatId
    allow: bool
    how: Answered
    note: str = ""


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


class ChannelCreated(Fact, frozen=True, kw_only=True):
    """There is a new channel."""

    channel: ChannelId
    config: TurnConfig


class ChannelConfigured(Fact, frozen=True, kw_only=True):
    """A channel's rules changed; a turn in progress keeps its deadline."""

    channel: ChannelId
    config: TurnConfig


class MemberJoined(Fact, frozen=True, kw_only=True):
    """An agent took a place at the end of a channel's ring."""

    channel: ChannelId
    seat: SeatId
    timeout_seconds: float | None = None


class MemberLeft(Fact, frozen=True, kw_only=True):
    """An agent lost its place in a channel's ring."""

    channel: ChannelId
    seat: SeatId
    reason: str


class TurnRenewed(Fact, frozen=True, kw_only=True):
    """A sign of work moved the deadline of a turn, or a human held it longer."""

    channel: ChannelId
    epoch: int
    until: datetime


class WorkStopped(Fact, frozen=True, kw_only=True):
    """The work on a turn that was taken away has stopped; the channel may go on."""

    channel: ChannelId
    seat: SeatId


class ChannelRested(Fact, frozen=True, kw_only=True):
    """Whole rounds passed without a post: nobody is granted the turn until somebody posts."""

    channel: ChannelId
    idle_rounds: int


class ChannelRoused(Fact, frozen=True, kw_only=True):
    """Somebody posted in a resting channel."""

    channel: ChannelId


class Announcement(Fact, frozen=True, kw_only=True):
    """muster told a channel something."""

    channel: ChannelId
    text: str


class UserMessage(Fact, frozen=True, kw_only=True):
    """A human said something, in a channel or to an agent (to the lead where `target_agent` is
    null). `deliver_to` are those who are handed it at once; the others find it unread.
    """

    text: str
    speaker_name: str
    target_agent: str | None
    seat: SeatId | None = None
    """The seat of whom it is for, where it is for one agent."""

    channel: ChannelId | None = None
    mode: InterruptMode | None = None
    deliver_to: tuple[SeatId, ...] = ()
    key: str | None = None
    """What the sender calls it, so that it is said once however often it is sent."""


class AgentMessage(Fact, frozen=True, kw_only=True):
    """An agent said something."""

    agent_name: str
    content: tuple[Text, ...]
    seat: SeatId
    channel: ChannelId | None = None
    epoch: int | None = None
    key: str | None = None


class MessagesRead(Fact, frozen=True, kw_only=True):
    """An agent has acted on the messages to it alone, up to a place in the log."""

    seat: SeatId
    upto: int


class MessagesDelivered(Fact, frozen=True, kw_only=True):
    """An agent was handed all messages up to a place in the log: of a channel, or its own."""

    seat: SeatId
    upto: int
    channel: ChannelId | None = None


# ── who may do what ───────────────────────────────────────────────────────────────────────────────


class TokenIssued(Fact, frozen=True, kw_only=True):
    """Somebody was given a token. Only its digest is kept."""

    token_id: str
    role: Role
    digest: str
    seat: SeatId | None = None
    note: str = ""


class TokenRevoked(Fact, frozen=True, kw_only=True):
    """A token counts for nothing any more."""

    token_id: str


# ── delegation ────────────────────────────────────────────────────────────────────────────────────


class DelegationStarted(Fact, frozen=True, kw_only=True):
    """A state machine session was opened."""

    mode: DelegationMode
    path: str
    agents: tuple[str, ...]
    folders: tuple[str, ...] = ()
    """Where the agents' files are."""

    agent_list: str = ""
    directory: str = ""
    """What the session's `agent-list.txt` and `AGENT_DIRECTORY.md` say."""

    permissions: tuple[StatePermissions, ...] = ()
    allowance: Allowance = NO_LIMIT


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


class Routed(Fact, frozen=True, kw_only=True):
    """Where a conversation belongs, and why: to an agent, or to MAIN."""

    conversation: ConversationId
    to: str
    confidence: float
    rule: str
    reason: str
    router: str
    margin: float = 0.0
    candidates: tuple[Ranked, ...] = ()


class PermissionDenied(Fact, frozen=True, kw_only=True):
    """A conversation needs what its state may not do; `suggestion` is an agent to create."""

    conversation: ConversationId
    state: str
    rule: str
    reason: str
    suggestion: str = ""


class DialogueRecorded(Fact, frozen=True, kw_only=True):
    """Something was thought, said or done in a conversation."""

    conversation: ConversationId
    speaker: str
    kind: Remark
    text: str


class FileRecorded(Fact, frozen=True, kw_only=True):
    """A file came or changed while a state had the conversation."""

    conversation: ConversationId
    state: str
    path: str
    """Seen from the conversation's outputs; in full where it is `outside` of them."""

    change: FileChange
    size: int
    sha256: str
    outside: bool = False
    named: bool = False
    """Whether the human named the path, so that it may be outside."""


class ConversationLogged(Fact, frozen=True, kw_only=True):
    """Somebody else wrote a line into the index of conversations."""

    entry: str


class UsageRecorded(Fact, frozen=True, kw_only=True):
    """What an agent has used up in a conversation."""

    conversation: ConversationId
    agent_name: str
    usage: Usage


class ProgressRecorded(Fact, frozen=True, kw_only=True):
    """Something new came of a conversation: a file, a finding."""

    conversation: ConversationId
    what: str


class ConversationEnd(Fact, frozen=True, kw_only=True):
    """A conversation was answered."""

    conversation: ConversationId
    summary: str
    outcome: Literal["answered", "failed", "ended"] = "answered"


FACTS: tuple[type[Fact], ...] = tuple(Fact.__subclasses__())
"""Every kind of fact; the codec, the docs and the tests go by it."""
