"""Answers about agents: identity, run state, output, usage, approvals, tokens to act with."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from muster.machines.documents import AgentDocument, HandedOver, WakeCheck
from muster.machines.ids import ChannelId, ConversationId, NodeId, SeatId, SessionId
from muster.machines.vocabulary import (
    ApprovalScope,
    Authority,
    Budget,
    HandState,
    Phase,
    RestartPolicy,
    Role,
    RunMode,
    RunsFor,
    Status,
    TurnState,
)
from muster.views.answers import View

# ── the runs of an agent ──────────────────────────────────────────────────────────────────────────


class FailureView(View, frozen=True, kw_only=True):
    """The newest failure of an agent's session, until a session succeeds."""

    at: datetime
    reason: str
    """Why: the exit code and the last lines of stderr, or why the program did not start."""

    count: int
    """How many sessions have failed since the last success."""

    seq: int
    """The place in the log of the end of that session."""


class UnansweredView(View, frozen=True, kw_only=True):
    """Direct messages that two sessions in a row have not answered."""

    at: datetime
    reason: str
    """The end of the session that had them last."""

    seq: int
    """The place in the log at which muster gave up."""


class NextStart(View, frozen=True, kw_only=True):
    """The time at which the next session starts by itself."""

    at: datetime
    why: Literal["retry", "schedule", "pace"]
    """`retry` is the backoff after a failure, `pace` the pause after a very short session."""


class WakeView(View, frozen=True, kw_only=True):
    """The last wake of an agent: what it was given, and whether it knew who it is."""

    at: datetime
    seq: int
    handed: HandedOver
    line: str
    """The record in words."""

    check: WakeCheck | None = None
    """The outcome of the wake check; null where the agent was not asked."""

    said: str = ""
    """Its answer, where it differs."""


# ── usage and approvals ───────────────────────────────────────────────────────────────────────────


class UsageView(View, frozen=True, kw_only=True):
    """Model usage."""

    cost_usd: float = 0.0
    tokens: int = 0
    """All tokens that models have read and written, whatever a token of them cost."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class ApprovalView(View, frozen=True, kw_only=True):
    """A tool call that waits for a person to allow or deny it."""

    id: str
    agent: str
    seat: SeatId
    session: SessionId | None
    """The session that asks; null where the agent connects by itself."""

    tool: str
    detail: str
    by: str
    """The subagent inside the session that asks; empty where the agent itself asks."""

    since: datetime
    until: datetime
    """The deadline at which the default applies."""

    default: bool
    channel: ChannelId | None
    """The channel in which the agent has the turn; its clock is stopped until the answer."""

    rules: tuple[str, ...] = ()
    """The rules that `session` and `always` would set; without any, only `once` is possible."""

    folder: str = ""
    """The folder in which the call is made."""

    effects: tuple[str, ...] = ()
    """Its effects, as far as muster understands the call."""

    change: str = ""
    """The difference of the file that it writes, as a unified diff."""


class ApprovalList(View, frozen=True, kw_only=True):
    """Every open request for approval, the one that is due first at the top."""

    approvals: tuple[ApprovalView, ...]


class Settled(View, frozen=True, kw_only=True):
    """A request for approval that a person has answered."""

    seq: int
    """The answer's place in the log."""

    id: str
    agent: str
    tool: str
    allow: bool
    scope: ApprovalScope = ApprovalScope.ONCE


# ── identity ──────────────────────────────────────────────────────────────────────────────────────


class EvidenceView(View, frozen=True, kw_only=True):
    """The evidence for a status."""

    kind: str
    seq: int
    at: datetime
    age_seconds: float
    is_ongoing: bool = False
    """Whether it holds since then: an agent that connects by itself is heard all the time."""


class ControlAct(StrEnum):
    """The request that a control sends."""

    RUN = "run"  # PUT /api/agents/{name}/run with `desired`, and with `now` where it is set
    WAKE = "wake"  # POST /api/agents/wake
    SLEEP = "sleep"  # POST /api/agents/sleep
    ENABLE = "enable"  # POST /api/agents/{name}/enable
    SUMMON = "summon"  # POST /api/agents/summon with the seat
    RESTART = "restart"  # POST /api/agents/{name}/restart, with `now` where it is set
    INTERRUPT = "interrupt"  # POST /api/agents/{name}/interrupt
    RETRY = "retry"  # POST /api/agents/{name}/retry
    KEEP = "keep"  # POST /api/agents/{name}/adopt


class Control(View, frozen=True, kw_only=True):
    """A button: its label, and the desired state that it asks for."""

    label: str
    color: str
    """`red`, `orange`, or empty."""

    desired: RunMode
    now: bool = False
    """Whether the session is interrupted instead of finished."""

    act: ControlAct = ControlAct.RUN


class BadgeWord(StrEnum):
    """The word of a badge."""

    RUNNING = "RUNNING"  # muster runs it, or its loop follows a state file
    IDLE = "IDLE"
    CONNECTED = "CONNECTED"  # it connects by itself
    NOT_CONNECTED = "NOT CONNECTED"
    BY_HAND = "BY HAND"  # a person runs it
    ALIVE = "ALIVE"  # a lead runs it
    SLEEPING = "SLEEPING"
    UNKNOWN = "UNKNOWN"
    HATCHING = "HATCHING"
    EXPIRED = "EXPIRED"
    RETIRED = "RETIRED"


class RosterGroup(StrEnum):
    """The group of an agent in a roster: a process that runs may have nothing to do."""

    WORKING = "working"
    WAITING = "waiting"  # for a person, its turn, another agent, or a time
    IDLE = "idle"  # ready, with nothing to do
    STOPPED = "stopped"  # only a person or its own program starts it
    UNKNOWN = "unknown"  # nothing confirms what it does


class Badge(View, frozen=True, kw_only=True):
    """The state of an agent as every interface shows it: a word, a line, and the controls."""

    status: BadgeWord
    group: RosterGroup
    color: str
    line: str = ""
    """The meaning of the word now, in a few words."""

    due: datetime | None = None
    """When that changes by itself. Shown after the line: `next try in 4 s`."""

    controls: tuple[Control, ...]
    """The buttons, the most important first."""

    more: tuple[Control, ...] = ()
    """Further buttons, for a menu."""


class Button(StrEnum):
    """The action that a person can take for the team as a whole."""

    SUMMON = "SUMMON"  # the team is empty: prepare eight seats for births
    WAKE = "WAKE"  # an agent sleeps, or its status is unknown


class ByHandView(View, frozen=True, kw_only=True):
    """A Claude Code that a person runs: its hooks tell what it does."""

    folder: str
    model: str = ""
    state: HandState
    about: str = ""
    """Its question, while it asks in its terminal."""

    since: datetime | None = None
    """The time since which it is in this state."""

    kept: bool = False
    """Whether a person has given it its seat: no other conversation takes it."""


class AgentView(View, frozen=True, kw_only=True):
    """An agent in its seat."""

    seat: SeatId
    place: SeatId | None = None  # in the grid of nine; none beside it
    name: str | None
    former_names: tuple[str, ...] = ()
    """The names that it had, the first one first."""

    status: Status
    authority: Authority
    disabled: bool
    session: SessionId | None
    node: NodeId | None = None
    """The machine that it runs on, or else belongs to; null in a team on one machine."""

    desired: RunMode
    current: RunMode
    badge: Badge
    is_stopped: bool = False
    """Whether a person or a limit has stopped it, other than by putting it to sleep."""

    state_file_problem: str = ""
    """Why its state file cannot be read or written; empty if it can."""

    failures: int
    retry_at: datetime | None
    last_failure: FailureView | None = None
    unanswered: UnansweredView | None = None
    """Messages to it that stay unanswered until a person tries again."""

    next_start: NextStart | None = None
    waits_for: tuple[str, ...] = ()
    """Agents that must run before this one starts, and do not run now."""

    after: tuple[str, ...] = ()
    """Agents that must run before a session of this one starts, as the settings say."""

    restart: RestartPolicy = RestartPolicy.ALWAYS
    runs_for: RunsFor | None = None
    """What starts a session under `continuous`; none for a program that waits for work in its
    session, and for one that muster does not run."""

    schedule: str = ""
    """When it runs, as the settings say; empty without a schedule."""

    groups: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    """How each limit of its session's resources holds, in words."""

    turn: TurnState
    channels: dict[ChannelId, TurnState]
    evidence: EvidenceView | None
    approvals: tuple[ApprovalView, ...] = ()
    """Tool calls that wait for a person."""

    on_call: bool = False
    """Whether the agent is known by its description alone: its sessions are for tasks only."""

    tasks: tuple[ConversationId, ...] = ()
    """The conversations that the agent works on."""

    confinement: str = ""
    """How the kernel confines its newest session, or why not; empty where nothing asks for it."""

    used: UsageView | None = None
    """All usage ever; null where there is none."""

    retired: bool = False
    """Whether it was retired: nothing runs it, and its name may be another agent's."""

    role: str = ""
    """The role that the agent was summoned for, where its seat has one."""

    hatch_until: datetime | None = None
    """While it is being born: when the seat counts as empty without a name."""

    waking_until: datetime | None = None
    """While its lead is asked to wake it: when the lead may be asked again."""

    last_wake: WakeView | None = None
    """The record of its last wake; null where there is none."""

    by_hand: ByHandView | None = None
    """The program that a person runs by hand; null for an agent that is none."""

    document: AgentDocument | None = None
    """The agent's identity; left out in answers about its state only."""

    @property
    def label(self) -> str:
        """The agent's name, or its seat while it has none."""
        return self.name or f"seat {self.seat}"


class AgentList(View, frozen=True, kw_only=True):
    """Every agent of the team, and the button for all of them."""

    agents: tuple[AgentView, ...]
    button: Button | None


class Called(View, frozen=True, kw_only=True):
    """The agents that are to be born, to wake or to sleep."""

    seq: int
    """The request's place in the log."""

    agents: tuple[AgentView, ...]
    button: Button | None


class Imported(View, frozen=True, kw_only=True):
    """The result of an import."""

    seq: int
    changed: tuple[str, ...]
    """Names of agents that the import changed."""

    lost: int
    """How many imported documents lost against what was known; the log keeps them."""

    held: tuple[str, ...]
    """Names of agents that were left alone because they are alive here."""

    messages: int
    """How many messages are new."""


# ── running ───────────────────────────────────────────────────────────────────────────────────────


class SessionView(View, frozen=True, kw_only=True):
    """A session: one process that muster runs."""

    id: SessionId
    pid: int | None
    mode: RunMode
    phase: Phase
    task: ConversationId | None = None
    """The conversation that the session works on, if it runs a delegated task."""

    is_silent: bool = False
    """Whether it has shown no sign of work for longer than `silent_seconds`."""

    limits: tuple[str, ...] = ()
    """How each limit of its resources holds, in words."""

    used: UsageView | None = None


class RunView(View, frozen=True, kw_only=True):
    """The desired and the current run state of an agent."""

    agent: str
    authority: Authority
    """The source whose reports count about the agent."""

    disabled: bool
    desired: RunMode
    generation: int
    """The number of the desired state; it grows with every change."""

    set_by: str
    set_because: str = ""
    """Why it was set: `person`, `one_shot_done`, `budget`, `session_limit`, `runaway`,
    `restart_policy`, `autostart`."""

    set_at: datetime | None
    note: str
    current: RunMode
    answered: int
    """The generation that `current` answers."""

    differs_since: datetime | None
    """Since when current and desired state differ."""

    failures: int
    """Failed sessions in a row."""

    retry_at: datetime | None
    last_failure: FailureView | None = None
    unanswered: UnansweredView | None = None
    """Messages to it that stay unanswered until a person tries again."""

    next_start: NextStart | None = None
    waits_for: tuple[str, ...] = ()
    """Agents that must run before this one starts, and do not run now."""

    after: tuple[str, ...] = ()
    """Agents that must run before a session of this one starts, as the settings say."""

    restart: RestartPolicy = RestartPolicy.ALWAYS
    runs_for: RunsFor | None = None
    """What starts a session under `continuous`; none for a program that waits for work in its
    session, and for one that muster does not run."""

    schedule: str = ""
    """When it runs, as the settings say; empty without a schedule."""

    groups: tuple[str, ...] = ()
    on_call: bool = False
    """Whether the agent is known by its description alone: its sessions are for tasks only."""

    session: SessionView | None
    tasks: tuple[SessionView, ...] = ()
    """The sessions of delegated tasks, beside the agent's own."""

    budget: Budget
    used: UsageView | None = None
    """Usage since a person last set the desired state; the budget limits this."""

    badge: Badge
    seq: int
    """The place in the log at which this was so."""


class OutputView(View, frozen=True, kw_only=True):
    """A piece of a session's output."""

    seq: int
    ts: datetime
    session: SessionId
    stream: str
    text: str
    omitted: int = 0
    """How many bytes were left out before it; the files in the agent's folder have them."""


class OutputPage(View, frozen=True, kw_only=True):
    """A page of an agent's output in order. `after` asks for the next page, if there is `more`."""

    output: tuple[OutputView, ...]
    after: int
    more: bool


# ── tokens and presence ───────────────────────────────────────────────────────────────────────────


class ScopeView(View, frozen=True, kw_only=True):
    """The agents and channels that a member may act on, by name, and nothing else."""

    agents: tuple[str, ...]
    channels: tuple[str, ...]


class TokenView(View, frozen=True, kw_only=True):
    """A token, without its secret."""

    id: str
    role: Role
    agent: str | None
    note: str
    user: str | None = None
    """The user who acts with it; null for an agent's, and for those of the team's human."""

    expires_at: datetime | None = None
    scope: ScopeView | None = None
    """The agents and channels that a member may act on with it; null for the whole team."""


class NewToken(TokenView, frozen=True, kw_only=True):
    """A token with its secret, which is shown this once."""

    secret: str


class TokenList(View, frozen=True, kw_only=True):
    """Every valid token."""

    tokens: tuple[TokenView, ...]


class CallerView(View, frozen=True, kw_only=True):
    """The identity that a token stands for."""

    role: Role
    agent: str | None
    """The agent that the token acts as; null for an operator and a viewer."""

    human: str
    """The human that the team works for."""

    user: str | None = None
    """The name under which a person acts: a user's, or the human's; null for an agent."""

    scope: ScopeView | None = None
    """The agents and channels that a member may act on; null for the whole team."""


class RegisteredAgent(View, frozen=True, kw_only=True):
    """A new agent, and the token that it acts with."""

    agent: AgentView
    token: NewToken


class PresenceView(View, frozen=True, kw_only=True):
    """A connected agent, and how often muster expects a heartbeat."""

    agent: AgentView
    heartbeat_seconds: float
    """How often to send a heartbeat while nothing else is asked."""

    timeout_seconds: float
    """How long the agent may be silent."""

    turns: dict[ChannelId, int]
    """The turns that it holds, with their epochs."""


class PastConversation(UsageView, frozen=True, kw_only=True):
    """A conversation of an agent with its program, and what it has cost."""

    id: str
    began: datetime
    ended: datetime | None
    """The end of its last session; null while that lives."""

    sessions: int
    """How many sessions it went on in."""

    first_words: str
    """The first message in it, shortened."""


class PastConversations(View, frozen=True, kw_only=True):
    """The conversations of an agent, the newest first."""

    agent: str
    conversations: tuple[PastConversation, ...]
