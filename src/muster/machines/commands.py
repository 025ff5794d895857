"""Commands: intentions that may be refused. A command and its consequences are one transaction.

People, agents, reports about processes and deadlines send commands. The sender (the actor) is
passed beside the command, never inside it. `decide` checks the state again, so that a stale command
is refused or does nothing.
"""

from datetime import datetime

import msgspec

from muster.machines.documents import AgentDocument, HandedOver, MessageCopy, WakeText
from muster.machines.ids import (
    HERE,
    ChannelId,
    ConversationId,
    NodeId,
    SeatId,
    SessionId,
    WorkspaceId,
)
from muster.machines.policies import RunPolicy
from muster.machines.state import TurnState
from muster.machines.vocabulary import (
    NO_LIMIT,
    NOTHING_USED,
    Activity,
    Allowance,
    ApprovalScope,
    AttachedFile,
    Authority,
    Awaits,
    Budget,
    ChangeCount,
    DelegationMode,
    DeliveryWay,
    FileChange,
    HandState,
    InterruptMode,
    Outcome,
    Placeholder,
    PlanStep,
    Profile,
    Ranked,
    Remark,
    Role,
    RunMode,
    Scope,
    StatePermissions,
    StatusEntry,
    Taken,
    TurnConfig,
    Usage,
    WorkspaceStep,
)


class Command(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The base of all commands."""


# ── muster itself ─────────────────────────────────────────────────────────────────────────────────


class StartMuster(Command, frozen=True, kw_only=True):
    """muster starts. `server_session` identifies this server session and must be new."""

    server_session: SessionId
    muster_version: str
    human: str = "human"
    paused: dict[SeatId, str] = {}
    """Seats that are paused before any session starts: their state files say pause, or cannot be
    used, for the reason given."""

    node: NodeId = HERE
    labels: tuple[str, ...] = ()
    room: int | None = None
    """The number of sessions that the node has room for; None without a limit."""


class RecordSettings(Command, frozen=True, kw_only=True):
    """Put on record that changed settings are in force: which, and what waits for a restart."""

    changes: tuple[str, ...] = ()
    """What changed, such as `agents.Ada added` or `turns.max_turns`: never a value."""

    waiting: tuple[str, ...] = ()
    """The changed settings that take effect when muster is restarted."""


class RejectSettings(Command, frozen=True, kw_only=True):
    """Put on record that the settings file has a mistake: the earlier settings stay in force."""

    line: int
    what: str
    remedy: str


class StopMuster(Command, frozen=True, kw_only=True):
    """Shut muster down: no session starts any more, and running ones end.

    A drain lets sessions finish by themselves for that many seconds; without it, or when it is
    over, they are stopped now.
    """

    reason: str
    drain_seconds: float = 0.0
    node: NodeId = HERE
    life: SessionId | None = None
    """The life that is to end; without it, the present one of the node."""


class CheckShutdown(Command, frozen=True, kw_only=True):
    """Check whether the drain is over; then the sessions that still run are stopped now."""

    node: NodeId = HERE


class EndMuster(Command, frozen=True, kw_only=True):
    """Record the end of a shutdown in order: nothing runs any more."""

    reason: str
    node: NodeId = HERE
    life: SessionId | None = None
    """The life that has ended; without it, the present one of the node."""


class LoseNode(Command, frozen=True, kw_only=True):
    """Give up a node whose lease is over. Its sessions that may move are lost, and start again on
    other nodes."""

    node: NodeId
    life: SessionId
    term: int
    """The term of the lease that is over: a node that has returned since is not given up."""


class ReturnNode(Command, frozen=True, kw_only=True):
    """A node whose lease was over goes on in the same life, with a new term of its lease."""

    node: NodeId
    life: SessionId


class MoveAgent(Command, frozen=True, kw_only=True):
    """Let an agent belong to another node. Its session ends in order, and the next starts there."""

    seat: SeatId
    node: NodeId
    anyway: bool = False
    """Whether its session on a node that is away counts as ended: its process must be dead."""


class ReportDisk(Command, frozen=True, kw_only=True):
    """The disk of a node's home is nearly full, or is not any more."""

    node: NodeId
    is_low: bool
    free_bytes: int


class ReportClockJump(Command, frozen=True, kw_only=True):
    """The wall clock jumped. The team's clock moved with it by `shift_seconds`."""

    seconds: float
    shift_seconds: float = 0.0
    suspended_seconds: float = 0.0


class RecordRestore(Command, frozen=True, kw_only=True):
    """Put on record that this log was restored from a backup. Every token ends."""

    backup_seq: int
    made_at: datetime


class LogWarning(Command, frozen=True, kw_only=True):
    """Record a warning for people."""

    text: str
    seat: SeatId | None = None
    channel: ChannelId | None = None


# ── identity ──────────────────────────────────────────────────────────────────────────────────────


class SummonAgents(Command, frozen=True, kw_only=True):
    """Prepare seats in which new agents are to register."""

    placeholders: tuple[Placeholder, ...]
    authority: Authority
    long_lived: bool = False
    more: bool = False
    """Whether the team may have summoned agents already: these seats are filled beside them."""

    message: str = ""
    """The message to the lead, where the lead is to create the agents."""


class EnrollAgent(Command, frozen=True, kw_only=True):
    """Give an agent with a known name a seat: the given one, or the next free from 9 on."""

    name: str
    authority: Authority
    seat: SeatId | None = None
    color: str = ""
    long_lived: bool = False
    max_turns: int = 1
    on_call: bool = False
    """Whether the agent has only a description, and sessions for delegated tasks only."""

    unasked: bool = False
    """Whether the agent is granted turns in which there is nothing new for it."""

    formerly: tuple[str, ...] | None = None
    """The former names that its table notes; none if that is not known."""


class ConfigureAgent(Command, frozen=True, kw_only=True):
    """Apply the settings that say how an agent is run."""

    seat: SeatId
    authority: Authority
    long_lived: bool = False
    max_turns: int = 1
    budget: Budget = Budget()
    unasked: bool = False
    policy: RunPolicy = RunPolicy()
    formerly: tuple[str, ...] | None = None
    """The former names that its table notes; none if that is not known."""

    node: NodeId | None = None
    """The node whose settings name the agent; None where the team has one machine."""

    is_listed: bool = True
    """Whether a table of its own says so, and not the one for all summoned agents."""


class RegisterAgent(Command, frozen=True, kw_only=True):
    """Register the name and the soul that an agent chose. `session` is the reporting session."""

    profile: Profile
    session: SessionId | None = None
    hosted: bool = False
    """Whether muster runs the agent in a session of its own, where a lead registers it."""


class ReportStatus(Command, frozen=True, kw_only=True):
    """The lead reports its team, and answers the direct messages that it has read up to a seq."""

    agents: tuple[StatusEntry, ...]
    session: SessionId | None = None
    answers_upto: int = 0


class RejectMarker(Command, frozen=True, kw_only=True):
    """Record that a marker in an agent's output was invalid and had no effect."""

    marker: str
    reason: str
    seat: SeatId | None = None


class ConnectAgent(Command, frozen=True, kw_only=True):
    """An agent that runs on its own has connected."""

    seat: SeatId
    life: SessionId | None = None
    """The life of muster that heard it; without it, any."""


class DisconnectAgent(Command, frozen=True, kw_only=True):
    """An agent that runs on its own has disconnected, or its heartbeat timed out."""

    seat: SeatId
    reason: str


class AdoptSession(Command, frozen=True, kw_only=True):
    """A program that a person runs by hand is here, as its hooks show."""

    conversation: str
    folder: str
    model: str = ""
    pid: int = 0
    started: str = ""
    counted: Usage = NOTHING_USED
    """The usage of the conversation before muster saw it, which is charged to nobody."""


class ReportHand(Command, frozen=True, kw_only=True):
    """A hook of a program that a person runs tells what it does, and what it has used."""

    seat: SeatId
    state: HandState | None = None
    """None where that did not change."""

    about: str = ""
    model: str = ""
    counted: Usage | None = None
    """All usage of its conversation; None where that is not known."""


class KeepHand(Command, frozen=True, kw_only=True):
    """Give a session that a person runs its seat for good: no other conversation takes it."""

    seat: SeatId
    name: str = ""
    """The name that it gets; without one it keeps its own."""

    soul: str = ""
    """The soul that it gets, if any."""


class WakeAgents(Command, frozen=True, kw_only=True):
    """Wake sleeping agents: the named ones, or all where none are named."""

    seats: tuple[SeatId, ...] = ()
    payloads: tuple[WakeText, ...] = ()
    """The souls and transcripts of the agents that the lead runs, for messages to the lead."""

    hosted: bool = False
    """Whether muster runs the agents of the lead in sessions of their own from now on."""

    spares_stopped: bool = False
    """Whether agents that are not named, and that a person or a limit has stopped, stay so."""


class SleepAgents(Command, frozen=True, kw_only=True):
    """Put agents to sleep: the named ones, or all where none are named."""

    seats: tuple[SeatId, ...] = ()


class DisableAgent(Command, frozen=True, kw_only=True):
    """Disable an agent: it is OFFLINE, and nothing starts it until it is enabled."""

    seat: SeatId
    reason: str = ""


class EnableAgent(Command, frozen=True, kw_only=True):
    """Allow a disabled agent to be started again."""

    seat: SeatId


class RetireAgent(Command, frozen=True, kw_only=True):
    """Retire an agent that connects by itself, or a summoned one when its session has ended: its
    name becomes free, its seat and its history stay."""

    seat: SeatId
    reason: str = ""


class RenameAgent(Command, frozen=True, kw_only=True):
    """Give an agent another name. Its seat, its history and its folder stay."""

    seat: SeatId
    name: str


class DismissAgent(Command, frozen=True, kw_only=True):
    """The settings no longer name an agent: end its session, and retire it when that has ended."""

    seat: SeatId
    reason: str = ""


class RestoreAgent(Command, frozen=True, kw_only=True):
    """Bring an agent back that was retired or is leaving: it is in its seat, paused."""

    seat: SeatId
    name: str = ""
    """The name that it gets, where a table of the settings brings it back under another one."""


class ExchangeNames(Command, frozen=True, kw_only=True):
    """Give each of these agents the name of the next one, and the last the name of the first."""

    seats: tuple[SeatId, ...]


class RegainName(Command, frozen=True, kw_only=True):
    """Give an agent the name back that it chose, and that another agent had meanwhile."""

    seat: SeatId


class Remember(Command, frozen=True, kw_only=True):
    """Note something that an agent is told in every later life."""

    seat: SeatId
    text: str


class EditNote(Command, frozen=True, kw_only=True):
    """Replace the text of a note."""

    seat: SeatId
    note: int
    text: str


class ForgetNote(Command, frozen=True, kw_only=True):
    """Delete a note."""

    seat: SeatId
    note: int


class EditSoul(Command, frozen=True, kw_only=True):
    """Replace the soul of an agent; earlier versions stay in the log."""

    seat: SeatId
    soul: str
    reason: str = ""


class RecordWake(Command, frozen=True, kw_only=True):
    """Record what a waking agent was given, and whether it was asked who it is."""

    seat: SeatId
    session: SessionId
    handed: HandedOver
    asked: bool = False


class AnswerWakeCheck(Command, frozen=True, kw_only=True):
    """A woken agent says who it is: its name, and the first line of its soul."""

    seat: SeatId
    session: SessionId
    name: str
    soul: str = ""


class EndWakeCheck(Command, frozen=True, kw_only=True):
    """A session has a result, or has ended: an agent that was asked has not answered."""

    seat: SeatId
    session: SessionId


class Awaken(Command, frozen=True, kw_only=True):
    """The process of a sleeping agent is up."""

    seat: SeatId


class Doze(Command, frozen=True, kw_only=True):
    """The process of an agent has exited."""

    seat: SeatId


class CheckAgent(Command, frozen=True, kw_only=True):
    """Check the hatching deadline of an agent."""

    seat: SeatId


# ── from another machine ──────────────────────────────────────────────────────────────────────────


class ImportTeam(Command, frozen=True, kw_only=True):
    """Merge another machine's documents of this team. An import starts and ends no session."""

    documents: tuple[AgentDocument, ...] = ()
    messages: tuple[MessageCopy, ...] = ()


# ── run control ───────────────────────────────────────────────────────────────────────────────────


class SetDesired(Command, frozen=True, kw_only=True):
    """Set the desired mode of an agent. A second pause, or `now`, stops the session at once;
    `continuous` with `now` starts a session before the next scheduled time.

    With `if_generation` the change is a compare-and-set: a stale generation is refused.
    """

    seat: SeatId
    desired: RunMode
    set_by: str
    note: str = ""
    now: bool = False
    if_generation: int | None = None
    memory: str = ""
    """The soul and transcript of an agent that its lead is to start, as text."""

    handed: HandedOver | None = None
    """The sizes of that memory."""

    can_wait: bool = False
    """Whether a start that is asked for while muster stops may wait for its next start; otherwise
    it is refused."""


class RestartAgent(Command, frozen=True, kw_only=True):
    """End the session of an agent, gracefully or `now`, and start another of the same mode."""

    seat: SeatId
    set_by: str
    note: str = ""
    now: bool = False


class AutostartAgent(Command, frozen=True, kw_only=True):
    """Start an agent whose policy says so, unless a person or a budget has paused it."""

    seat: SeatId


class CheckSchedule(Command, frozen=True, kw_only=True):
    """Plan the next scheduled run of an agent, or start the one that is due, at this wall time in
    the agent's time zone.
    """

    seat: SeatId
    wall: datetime


class StartSession(Command, frozen=True, kw_only=True):
    """Start a session. Every start passes this one gate, which refuses a paused agent."""

    seat: SeatId
    trigger: str
    task: ConversationId | None = None
    """The conversation that the session works on, where it is a task session."""

    until: datetime | None = None
    """The deadline of the task."""


class StopSession(Command, frozen=True, kw_only=True):
    """Stop the sessions of an agent at once, or those of one task. `desired` does not change."""

    seat: SeatId
    task: ConversationId | None = None
    reason: str = ""


class ReportSessionStarted(Command, frozen=True, kw_only=True):
    """A session's process is up."""

    session: SessionId
    pid: int | None = None
    started: str | None = None
    limits: tuple[str, ...] = ()
    """How each limit of its resources holds, in words."""
    confinement: str = ""
    interruptible: bool = False
    confirms_prompts: bool = False


class ReportSessionEnded(Command, frozen=True, kw_only=True):
    """A session's process has exited, or failed to start."""

    session: SessionId
    outcome: Outcome
    code: int | None = None
    reason: str = ""
    retry_after_s: float = 0.0
    """The earliest time for the next session, in seconds from now, where the program knows one."""


class InterruptWork(Command, frozen=True, kw_only=True):
    """A person stops the present work of an agent; its session lives on."""

    seat: SeatId


class ReturnMessages(Command, frozen=True, kw_only=True):
    """Hand direct messages over again whose session ended before it had answered them."""

    seat: SeatId
    reason: str = ""


class RetryMessages(Command, frozen=True, kw_only=True):
    """A person wants messages handed over again that stayed unanswered."""

    seat: SeatId


class ReportOutput(Command, frozen=True, kw_only=True):
    """A session printed something."""

    session: SessionId
    stream: str
    text: str
    omitted: int = 0


class ReportResult(Command, frozen=True, kw_only=True):
    """A long-lived program has finished a prompt; `channel` is where it worked on a turn."""

    session: SessionId
    ok: bool = True
    text: str = ""
    usage: Usage = Usage()
    channel: ChannelId | None = None
    answers: bool = True
    """Whether the result answers the last prompt. That completes a task."""

    model: str = ""
    """The model that spoke last, where the program tells."""


class ReportSpending(Command, frozen=True, kw_only=True):
    """A session has used so much on its present piece of work so far."""

    session: SessionId
    usage: Usage


class ReportActivity(Command, frozen=True, kw_only=True):
    """A session was seen working: a tool call, a helper, a retry."""

    session: SessionId
    kind: Activity
    name: str
    text: str = ""
    ref: str = ""
    by: str = ""


class ReportPlan(Command, frozen=True, kw_only=True):
    """A session wrote or changed the plan of its work."""

    session: SessionId
    steps: tuple[PlanStep, ...]


class ReportTaken(Command, frozen=True, kw_only=True):
    """A session has accepted a prompt that announced its turns in these channels."""

    session: SessionId
    how: Taken
    text: str
    channels: tuple[ChannelId, ...] = ()


class ReportUsage(Command, frozen=True, kw_only=True):
    """An agent that connects by itself reports what it has used, for a turn of a channel or not."""

    seat: SeatId
    usage: Usage
    channel: ChannelId | None = None


class CheckSession(Command, frozen=True, kw_only=True):
    """Check the time limits of an agent's sessions."""

    seat: SeatId


class ReportStateFile(Command, frozen=True, kw_only=True):
    """muster found an agent's state file in trouble, or in order again."""

    seat: SeatId
    problem: str = ""
    """Why it cannot be read or written; empty if it can."""

    is_readable: bool = True


class ReportCurrent(Command, frozen=True, kw_only=True):
    """An agent that runs its own loop reports its current mode."""

    seat: SeatId
    current: RunMode
    reason: str | None = None
    """The trigger that it follows from, where it is not the agent's own report."""


# ── approvals ─────────────────────────────────────────────────────────────────────────────────────


class RequestApproval(Command, frozen=True, kw_only=True):
    """A session, or an agent that connects by itself, asks a person for approval.

    After `seconds` the default applies.
    """

    session: SessionId | None = None
    seat: SeatId | None = None
    """The agent that asks, where it has no session."""

    tool: str
    detail: str
    by: str = ""
    seconds: float
    default: bool = False
    rules: tuple[str, ...] = ()
    """The rules that a permission for longer than once would set, in the program's own words."""

    folder: str = ""
    effects: tuple[str, ...] = ()
    """The effects of the call, as far as muster understands it."""

    change: str = ""
    """The difference of the file that it writes."""


class AnswerApproval(Command, frozen=True, kw_only=True):
    """Allow or deny a request for approval."""

    approval: str
    allow: bool
    note: str = ""
    scope: ApprovalScope = ApprovalScope.ONCE


class WithdrawApprovals(Command, frozen=True, kw_only=True):
    """Close the open requests of a session that has ended, or of an agent that has left."""

    seat: SeatId
    session: SessionId | None


class CheckApprovals(Command, frozen=True, kw_only=True):
    """Check the deadlines of an agent's open requests for approval."""

    seat: SeatId


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


class CreateChannel(Command, frozen=True, kw_only=True):
    """Open a channel with these members, or refuse it as a whole."""

    channel: ChannelId
    config: TurnConfig = TurnConfig()
    members: tuple[SeatId, ...] = ()


class ConfigureChannel(Command, frozen=True, kw_only=True):
    """Change a channel's rules."""

    channel: ChannelId
    config: TurnConfig


class ArchiveChannel(Command, frozen=True, kw_only=True):
    """Put a channel aside, or bring it back. Its members keep their places."""

    channel: ChannelId
    archived: bool = True


class OrderRing(Command, frozen=True, kw_only=True):
    """Change the order of a channel's members; `seats` has every member once."""

    channel: ChannelId
    seats: tuple[SeatId, ...]


class ConfigureMember(Command, frozen=True, kw_only=True):
    """Change a member's turn timeout; none means the channel's."""

    channel: ChannelId
    seat: SeatId
    timeout_seconds: float | None


class RaiseHand(Command, frozen=True, kw_only=True):
    """A member asks to speak next, or no longer does."""

    channel: ChannelId
    seat: SeatId
    raised: bool = True


class AddMember(Command, frozen=True, kw_only=True):
    """Give an agent a place at the end of a channel's ring."""

    channel: ChannelId
    seat: SeatId
    timeout_seconds: float | None = None


class RemoveMember(Command, frozen=True, kw_only=True):
    """Remove an agent from a channel's ring."""

    channel: ChannelId
    seat: SeatId


class PostMessage(Command, frozen=True, kw_only=True):
    """A human says something in a channel."""

    channel: ChannelId
    text: str
    speaker_name: str
    mode: InterruptMode | None = None
    """The effect on the turn in progress; none means the channel's rule."""

    reply_to: int | None = None
    """The seq of the message that it answers."""

    files: tuple[AttachedFile, ...] = ()


class SendMessage(Command, frozen=True, kw_only=True):
    """A human says something to one agent: the lead, where none is named."""

    text: str
    speaker_name: str
    seat: SeatId | None = None
    sender: SeatId | None = None
    """The agent that says it, where an agent writes to another one."""

    files: tuple[AttachedFile, ...] = ()
    created_at: datetime | None = None
    """The birth of the agent that is meant: refused if another one has the seat by now."""


class DeliverMessages(Command, frozen=True, kw_only=True):
    """Messages up to `upto` were delivered to an agent: of a channel, or its direct messages."""

    seat: SeatId
    upto: int
    channel: ChannelId | None = None


class RouteMessage(Command, frozen=True, kw_only=True):
    """A direct message took another way to its agent than the team's own inbox file."""

    seat: SeatId
    message: int
    way: DeliveryWay


class MarkRead(Command, frozen=True, kw_only=True):
    """An agent has acted on its direct messages up to `upto`."""

    seat: SeatId
    upto: int


class Speak(Command, frozen=True, kw_only=True):
    """An agent posts in a channel; with `complete`, the post also ends its turn."""

    channel: ChannelId
    seat: SeatId
    text: str
    epoch: int | None = None
    complete: bool = False
    to: SeatId | None = None
    """The member that is handed the turn, where the post ends it."""

    reply_to: int | None = None
    files: tuple[AttachedFile, ...] = ()


class TellHuman(Command, frozen=True, kw_only=True):
    """An agent says something to the human, outside of any channel."""

    seat: SeatId
    text: str
    answers_upto: int | None = None
    """The direct messages that it answers, by the seq of the last; None for all that it has."""

    session: SessionId | None = None
    """The session of the lead that passes the words on, for an agent inside its session."""


class CompleteTurn(Command, frozen=True, kw_only=True):
    """An agent ends its turn. A turn without a post is a pass."""

    channel: ChannelId
    seat: SeatId
    epoch: int | None = None
    reason: str | None = None
    to: SeatId | None = None
    """The member that is handed the turn."""


class WaitTurn(Command, frozen=True, kw_only=True):
    """An agent pauses its turn and keeps holding it."""

    channel: ChannelId
    seat: SeatId
    reason: str
    epoch: int | None = None
    timeout_seconds: float | None = None
    awaits: Awaits = Awaits.PERSON


class ResumeTurn(Command, frozen=True, kw_only=True):
    """Resume a turn that waits, or that a human holds; an agent only a wait of its own."""

    channel: ChannelId
    seat: SeatId
    epoch: int | None = None
    if_own: bool = False
    """Do nothing unless the agent waits and requested the wait itself."""


class EndForgottenTurn(Command, frozen=True, kw_only=True):
    """End the turn of a session that finished its work without TURN_COMPLETE, with a warning."""

    channel: ChannelId
    seat: SeatId
    epoch: int | None = None
    ok: bool = True
    text: str = ""
    """The agent's last message, or the reason why its work failed."""


class AwaitApproval(Command, frozen=True, kw_only=True):
    """Pause a turn while an approval of its holder is open; resume it when none is."""

    channel: ChannelId
    seat: SeatId


class OverrideTurn(Command, frozen=True, kw_only=True):
    """A human makes the agent ACTIVE, or takes its turn away (QUEUED).

    Where somebody else has the turn, an agent that is to be ACTIVE is the next speaker.
    """

    channel: ChannelId
    seat: SeatId
    to: TurnState


class RenewTurn(Command, frozen=True, kw_only=True):
    """Restart the timeout of a turn, because its holder was seen working."""

    channel: ChannelId
    seat: SeatId
    epoch: int | None = None
    heartbeat: bool = False
    """Whether only a heartbeat was seen: that does not end a silence."""


class ReportWorkStopped(Command, frozen=True, kw_only=True):
    """The work on a turn that was taken away has stopped."""

    channel: ChannelId
    seat: SeatId


class CheckChannel(Command, frozen=True, kw_only=True):
    """Check the deadlines of a channel: the turn's, a wait's, and that of work to be stopped."""

    channel: ChannelId


class OfferTurn(Command, frozen=True, kw_only=True):
    """Grant the turn if it is free and a member can take it."""

    channel: ChannelId


class Arrive(Command, frozen=True, kw_only=True):
    """An agent has become present."""

    seat: SeatId


class Depart(Command, frozen=True, kw_only=True):
    """An agent is no longer present. An orderly departure keeps its places in channels."""

    seat: SeatId
    orderly: bool
    reason: str


# ── who may do what ───────────────────────────────────────────────────────────────────────────────


class IssueToken(Command, frozen=True, kw_only=True):
    """Grant a role to the bearer of a secret, of which muster stores only the digest."""

    token_id: str
    role: Role
    digest: str
    seat: SeatId | None = None
    note: str = ""
    user: str | None = None
    """The user who acts with it, whose role is the most that it grants."""

    expires_at: datetime | None = None
    scope: Scope | None = None
    """The agents and channels that a member may act on with it; by default the whole team."""


class SetUser(Command, frozen=True, kw_only=True):
    """Add a person with a role and a scope, or change those of one."""

    name: str
    role: Role
    scope: Scope | None = None
    """The agents and channels that a member may act on; by default the whole team."""


class RemoveUser(Command, frozen=True, kw_only=True):
    """Remove a person, and revoke their tokens."""

    name: str


class RotateToken(Command, frozen=True, kw_only=True):
    """Replace the secret of a token; the old one is invalid from then on."""

    token_id: str
    digest: str


class RevokeToken(Command, frozen=True, kw_only=True):
    """Revoke a token."""

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
    """The limit on cost and tokens for each conversation."""

    continues: str = ""
    """The folder of a session with a log of its own that goes on here."""

    opened: int = 0
    """How many conversations that one had."""


class AddDescriptions(Command, frozen=True, kw_only=True):
    """Add agents to the open state machine session, whose files came after its start."""

    agents: tuple[str, ...]
    agent_list: str = ""
    directory: str = ""


class EndDelegation(Command, frozen=True, kw_only=True):
    """Close the state machine session and its open conversations."""

    reason: str = "ended"


class OpenConversation(Command, frozen=True, kw_only=True):
    """Open a conversation for the input of a person, or of an agent that asks."""

    text: str
    speaker_name: str
    keeper: str = ""
    """The program that leads the conversation where muster does not, for as long as it runs."""

    seat: SeatId | None = None
    """The seat of that program."""

    depth: int = 0
    """How many agents this request is nested in: 0 for a person's own, 1 for the request of an
    agent that works on a person's."""


class RecordRoute(Command, frozen=True, kw_only=True):
    """Record the routing decision for a conversation, with its reason."""

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
    """The router's own choice, where a person chose."""

    selector: str = ""
    """The agent that is asked to choose among the candidates, because the router is unsure."""


class RememberChoice(Command, frozen=True, kw_only=True):
    """Remember the agent that a person chose for a request, for requests like it. Only people
    choose."""

    text: str
    to: str
    """An agent of the session, or MAIN."""

    guess: str = ""
    """The router's own choice; empty if it was unsure."""


class ForgetChoice(Command, frozen=True, kw_only=True):
    """Forget a remembered choice, or all of them. Only people do that."""

    number: int | None = None
    """The choice to forget; all, if none is given."""


class DenyPermission(Command, frozen=True, kw_only=True):
    """Record that a conversation needs a permission that its state does not have."""

    conversation: ConversationId
    rule: str
    reason: str
    suggestion: str = ""


class RecordDialogue(Command, frozen=True, kw_only=True):
    """Add an entry to the dialogue of a conversation."""

    conversation: ConversationId
    speaker: str
    kind: Remark
    text: str


class RecordFile(Command, frozen=True, kw_only=True):
    """Record a created, changed or deleted file. A file counts as progress."""

    conversation: ConversationId
    path: str
    change: FileChange
    size: int
    sha256: str
    outside: bool = False
    named: bool = False

    agent: str = ""
    """The agent that made it, where several work on the conversation."""


class LogConversation(Command, frozen=True, kw_only=True):
    """Add a line from another program to the index of conversations, about one of its own."""

    entry: str


class Delegate(Command, frozen=True, kw_only=True):
    """Delegate a conversation to an agent; in response mode, the agent claims it."""

    conversation: ConversationId
    to: str
    trigger: str
    seconds: float | None = None
    """The agent's time limit."""

    beside: bool = False
    """Work on it beside the agents that do already; only a program that leads it runs several."""


class HandOff(Command, frozen=True, kw_only=True):
    """An agent hands a conversation over to another agent, or back to MAIN."""

    conversation: ConversationId
    epoch: int
    to: str
    reason: str
    report: str = ""
    """The report of the agent that hands the conversation over."""

    seconds: float | None = None
    """The next agent's time limit."""


class RecordProgress(Command, frozen=True, kw_only=True):
    """Record progress in a conversation."""

    conversation: ConversationId
    what: str


class FinishTask(Command, frozen=True, kw_only=True):
    """An agent has completed its task in a conversation, or failed."""

    conversation: ConversationId
    epoch: int
    summary: str = ""
    failed: bool = False
    report: str = ""
    """The agent's report. It is the answer, where muster leads the conversation; a selector's
    report names the agent that it chose."""

    seconds: float | None = None
    """The time limit of an agent that a selector chose."""

    agent: str = ""
    """The agent, where several work on the conversation; or else the one that has it."""


class CloseConversation(Command, frozen=True, kw_only=True):
    """Close a conversation that is answered."""

    conversation: ConversationId
    summary: str
    failed: bool = False
    """Whether the conversation failed."""


class CancelConversation(Command, frozen=True, kw_only=True):
    """A person no longer wants a request: end its conversation, and stop the work on it."""

    conversation: ConversationId


# ── what needs a person ───────────────────────────────────────────────────────────────────────────


class SettleNeed(Command, frozen=True, kw_only=True):
    """Put aside what needs a person: as done, or for some time. Only people do that."""

    key: str
    seconds: float | None = None
    """After this time it comes back; without it, it is done."""


class ReopenNeed(Command, frozen=True, kw_only=True):
    """Show again what was put aside. Only people do that."""

    key: str


class AllowMore(Command, frozen=True, kw_only=True):
    """A person lets work go on that stopped at a limit, for some turns."""

    key: str
    """The need that the limit is."""

    turns: int


class SeeMessages(Command, frozen=True, kw_only=True):
    """A person has seen the messages of an agent, or of a channel, up to a place in the log; with
    neither, the person has looked at the whole team."""

    upto: int
    seat: SeatId | None = None
    channel: ChannelId | None = None


# ── workspaces ────────────────────────────────────────────────────────────────────────────────────


class PlanWorkspace(Command, frozen=True, kw_only=True):
    """Make a git worktree for an agent or a conversation: this comes before anything is made."""

    workspace: WorkspaceId
    repository: str
    """The work tree that it belongs to, as a path."""

    folder: str
    branch: str
    base: str
    """The commit that it starts from."""

    target: str = ""
    """The branch that it starts from, and is merged into; empty for a detached HEAD."""

    seat: SeatId | None = None
    """The seat of the agent, if it is the workspace of one."""

    conversation: ConversationId | None = None
    agent_name: str = ""


class ReportWorkspaceMade(Command, frozen=True, kw_only=True):
    """A worktree and its branch exist. `git_dir` is git's own folder for it."""

    workspace: WorkspaceId
    git_dir: str


class ReportWorkspaceChanges(Command, frozen=True, kw_only=True):
    """How much a worktree changes, at the end of a session in it."""

    workspace: WorkspaceId
    changes: ChangeCount


class HandWorkspace(Command, frozen=True, kw_only=True):
    """Let another conversation go on in the workspace of a finished one. Only people do that."""

    workspace: WorkspaceId
    conversation: ConversationId


class BeginWorkspaceStep(Command, frozen=True, kw_only=True):
    """Merge, rebase or discard a workspace: this comes before anything is done. Only people merge
    and rebase; muster itself discards workspaces without unmerged work."""

    workspace: WorkspaceId
    step: WorkspaceStep
    branch: str = ""
    """The branch that it is merged into, or rebased onto."""

    force: bool = False
    """Discard it with its unmerged work."""


class ReportWorkspaceStep(Command, frozen=True, kw_only=True):
    """A merge or a rebase is done, or it has changed nothing: `failure` says why."""

    workspace: WorkspaceId
    commit: str = ""
    """The commit that the branch is at."""

    changes: ChangeCount = ChangeCount()
    """What a merge brought into the branch."""

    failure: str = ""
    files: tuple[str, ...] = ()
    """The files in conflict."""


class ReportWorkspaceRemoved(Command, frozen=True, kw_only=True):
    """The worktree and the branch of a workspace do not exist any more."""

    workspace: WorkspaceId
    reason: str
    commit: str = ""
    """The last commit of its branch, from which unmerged work can be restored."""


COMMANDS: tuple[type[Command], ...] = tuple(Command.__subclasses__())
"""All command types; the dispatch table, the docs and the tests use this list."""
