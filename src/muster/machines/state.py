"""The state of a team: what the log adds up to. Records only; the machines say how they change.

An agent is a seat with a soul. What the machines know of it stands in one record, so that a rule
that looks at several machines (may this one run? is it free to speak?) reads one place.
"""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from muster.errors import NotFound
from muster.machines.ids import (
    FIRST_ENROLLED_SEAT,
    LEAD_SEAT,
    ChannelId,
    ConversationId,
    SeatId,
    SessionId,
    document_id,
)
from muster.machines.vocabulary import (
    NO_LIMIT,
    Allowance,
    Authority,
    Budget,
    DelegationMode,
    FaceVariant,
    Phase,
    Role,
    RunMode,
    Status,
    TurnConfig,
    TurnState,
    Urgency,
    Usage,
)


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A part of the state."""


class Evidence(Record, frozen=True, kw_only=True):
    """Why an agent is held to be what it is shown to be."""

    kind: str
    """One of process, report, heartbeat, hook, output, deadline, person."""

    at: datetime
    seq: int


class RunControl(Record, frozen=True, kw_only=True):
    """What is wanted of an agent, and what it does. People write the first, reports the second."""

    desired: RunMode = RunMode.PAUSE
    generation: int = 0
    """Grows with every change of `desired`."""

    set_at: datetime | None = None
    set_by: str = ""
    note: str = ""
    current: RunMode = RunMode.PAUSE
    current_at: datetime | None = None
    answered: int = 0
    """The generation that `current` answers."""

    failures: int = 0
    """Sessions in a row that failed."""

    retry_at: datetime | None = None
    """When the next session may start."""

    long_lived: bool = False
    """Whether its program waits for work inside its session instead of ending by itself."""

    on_call: bool = False
    """Whether it is known by its description alone, and has sessions for tasks only."""

    budget: Budget = Budget()
    starts: tuple[datetime, ...] = ()
    """The last sessions, as many as the budget allows in an hour."""

    used: Usage = Usage()
    """Since a person last said what is wanted."""

    @property
    def differs_since(self) -> datetime | None:
        """Since when it has not done what is wanted."""
        if self.desired is self.current or (self.on_call and self.desired is not RunMode.PAUSE):
            return None
        return max((at for at in (self.set_at, self.current_at) if at), default=None)


class Approval(Record, frozen=True, kw_only=True):
    """Something that an agent may do only if a person allows it, while nobody has answered."""

    id: str
    session: SessionId
    tool: str
    detail: str
    since: datetime
    until: datetime
    by: str = ""
    default: bool = False


class Agent(Record, frozen=True, kw_only=True):
    """Somebody in a seat."""

    seat: SeatId
    status: Status = Status.NONE
    authority: Authority = Authority.SELF
    name: str | None = None
    chosen_name: str | None = None
    """The name that it chose, where its document came from another machine."""

    color: str = ""
    color_name: str = ""
    gender: str = ""
    face_variant: FaceVariant = FaceVariant()
    soul: str = ""
    created_at: datetime | None = None
    last_alive_at: datetime | None = None
    last_session_id: SessionId | None = None
    hatch_until: datetime | None = None
    disabled: bool = False
    confirmed_in: SessionId | None = None
    """The life of muster in which its authority last spoke for it."""

    evidence: Evidence | None = None
    run: RunControl = RunControl()
    session: SessionId | None = None
    """The live session that it is in: its own, or its lead's."""

    tasks: tuple[SessionId, ...] = ()
    """The live sessions in which it works on tasks, beside its own."""

    max_turns: int = 1
    channels: tuple[ChannelId, ...] = ()
    """Where it has a place in the ring."""

    holding: tuple[ChannelId, ...] = ()
    """Where it holds the turn, or where its work is being stopped after it lost the turn."""

    alive_from: int = 0
    """Where in the log it came to life last."""

    transcript_from: int = 0
    """Where the last of its lives began in which it spoke or was spoken to alone."""

    pending_from: int = 0
    """Just before the oldest message to it alone that it may not have been handed."""

    last_message: int = 0
    """The newest message to it alone."""

    delivered: int = 0
    """Up to where it has been handed those."""

    read: int = 0
    """Up to where it has acted on them."""

    keys: Mapping[str, int] = {}
    """What recent messages to it were called by their senders, and where they stand."""

    approvals: tuple[Approval, ...] = ()
    """What it waits for a person to allow."""

    used: Usage = Usage()
    """All that it has ever used up."""

    conversation: ConversationId | None = None
    """The conversation that it leads, or led with the work that has no result yet."""

    conversation_used: Usage = Usage()

    @property
    def id(self) -> str:
        """How the log calls it: by its name, or by its document while it has none."""
        return self.name or document_id(self.seat)

    @property
    def present(self) -> bool:
        """Whether it is connected. Only an alive agent is; one that is disabled is not."""
        return self.status is Status.ALIVE and not self.disabled

    @property
    def free(self) -> bool:
        """Whether it may be granted one more turn."""
        return len(self.holding) < self.max_turns


class Session(Record, frozen=True, kw_only=True):
    """One life of a process that muster runs. Gone from the state when it ends."""

    id: SessionId
    seats: tuple[SeatId, ...]
    """The seats in it: its own first, then those that a lead runs inside it."""

    phase: Phase
    mode: RunMode
    generation: int
    boot: SessionId
    """The life of muster in which it was asked for."""

    since: datetime
    """When its process came up, or was asked for."""

    urgency: Urgency | None = None
    reason: str = ""
    """Why it was asked to end."""

    pid: int | None = None
    started: str | None = None
    used: Usage = Usage()
    task: ConversationId | None = None
    """The conversation that it works on."""

    until: datetime | None = None
    """The deadline of that task."""


class Wait(Record, frozen=True, kw_only=True):
    """Why and how long a turn stands still. It is still held, and its clock stands too."""

    reason: str
    since: datetime
    until: datetime
    by_human: bool = False
    """Whether a human interrupted, instead of the agent asking for it."""

    approval: bool = False
    """Whether a person is asked something: then the answer ends it, not its own deadline."""


class HeldTurn(Record, frozen=True, kw_only=True):
    """The right to speak in a channel, while somebody has it."""

    holder: SeatId
    until: datetime
    """When it times out, unless work is seen."""

    cap: datetime
    """When it ends, work or no work."""

    taken: bool = False
    """Whether its holder has taken in that it has it, where its program says such things."""

    posted: bool = False
    silent_at: datetime | None = None
    """When silence after a post counts as the end, where the channel is set so."""

    wait: Wait | None = None


class Drain(Record, frozen=True, kw_only=True):
    """Work that must stop before the next turn, because its turn was taken away."""

    seat: SeatId
    until: datetime
    killing: bool = False


class Channel(Record, frozen=True, kw_only=True):
    """Where seats speak in order: a fixed ring with a cursor."""

    id: ChannelId
    config: TurnConfig
    ring: tuple[SeatId, ...] = ()
    cursor: int = -1
    """Place in the ring of who holds the turn or held it last."""

    timeouts: dict[SeatId, float] = {}
    epoch: int = 0
    """The number of the last grant. It only grows."""

    turn: HeldTurn | None = None
    drain: Drain | None = None
    idle: SeatId | None = None
    """A lone member that has completed: nothing wants it until somebody posts or joins."""

    resting: bool = False
    silent_turns: int = 0
    """Turns in a row that ended without a post."""

    vacant_since: int = 0
    """The seq from which nobody has held the turn; who has waited longest is served first."""

    last_message: int = 0
    """The newest message in it."""

    delivered: Mapping[SeatId, int] = {}
    """Up to where each member has been handed its messages; who leaves may come back."""

    read: Mapping[SeatId, int] = {}
    """Up to where each member has acted on what it was handed."""

    keys: Mapping[str, int] = {}
    """What recent messages were called by their senders, and where they stand."""

    used: Usage = Usage()

    def state_of(self, seat: SeatId) -> TurnState:
        """The state of a member in this channel."""
        if self.turn is not None and self.turn.holder == seat:
            return TurnState.WAITING if self.turn.wait else TurnState.ACTIVE
        return TurnState.IDLE if self.idle == seat else TurnState.QUEUED

    @property
    def due(self) -> datetime | None:
        """The deadline at which the channel moves on by itself; none while no clock runs.

        Work that is being stopped comes before any turn. A wait has a deadline of its own, except
        one for an approval: that ends with the answer, and the approval has the deadline.
        """
        if self.drain is not None:
            return self.drain.until
        turn = self.turn
        if turn is None:
            return None
        if turn.wait is not None:
            return None if turn.wait.approval else turn.wait.until
        return min(each for each in (turn.until, turn.cap, turn.silent_at) if each is not None)


class Token(Record, frozen=True, kw_only=True):
    """Who may do what with a secret that only its digest is known of."""

    id: str
    role: Role
    seat: SeatId | None = None
    note: str = ""


MAIN = "MAIN"
"""The state of a conversation that is with the lead, or with muster where there is none."""

QUEUE = "QUEUE"
"""Where a conversation in response mode waits for whoever claims it."""


class Visit(Record, frozen=True, kw_only=True):
    """A state that a conversation has been in, and how much had come of it by then."""

    state: str
    progress: int


class Conversation(Record, frozen=True, kw_only=True):
    """One human input and all that it set off, while it is not answered."""

    id: ConversationId
    state: str
    """MAIN or QUEUE, or the name of the agent that works on it."""

    text: str = ""
    """What the human asked for."""

    epoch: int = 0
    session: SessionId | None = None
    """The session that works on it, where muster runs that."""

    routed: str = ""
    """Whom it is for, as far as that is decided: an agent, or MAIN."""

    progress: int = 0
    visits: tuple[Visit, ...] = ()
    keeper: str = ""
    """The program that leads it where muster does not."""

    reports: tuple[str, ...] = ()
    """What the agents that worked on it so far have reported."""

    used: Usage = Usage()
    """By those who work on it."""


class Delegation(Record, frozen=True, kw_only=True):
    """The state machine session of a team, if one is open."""

    mode: DelegationMode | None = None
    path: str = ""
    agents: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    allowance: Allowance = NO_LIMIT
    opened: int = 0
    """Conversations ever opened; the next one's number comes from here."""

    conversations: Mapping[ConversationId, Conversation] = {}

    @property
    def home_state(self) -> str:
        """Where a conversation begins and ends."""
        return QUEUE if self.mode is DelegationMode.RESPONSE else MAIN


class Team(Record, frozen=True, kw_only=True):
    """Everything that a team is right now."""

    seq: int = 0
    boot: SessionId = SessionId("")
    """This life of muster."""

    stopping: bool = False
    """Whether this life of muster is ending: then nothing starts any more."""

    human: str = "human"
    agents: Mapping[SeatId, Agent] = {}
    names: Mapping[str, SeatId] = {}
    """`ids.name_key` of every name to its seat."""

    next_seat: SeatId = FIRST_ENROLLED_SEAT
    channels: Mapping[ChannelId, Channel] = {}
    sessions: Mapping[SessionId, Session] = {}
    delegation: Delegation = Delegation()
    tokens: Mapping[str, Token] = {}
    """By the digest of the secret."""

    imported: Mapping[str, int] = {}
    """The ids of messages, and the digests of documents, that came from elsewhere before."""

    @property
    def lead(self) -> Agent | None:
        """The agent whose reports are the truth about those it runs."""
        return self.agents.get(LEAD_SEAT)

    def agent(self, seat: SeatId) -> Agent:
        """Whoever is in a seat."""
        found = self.agents.get(seat)
        if found is None:
            raise NotFound(kind="seat", name=str(seat))
        return found

    def channel(self, channel: ChannelId) -> Channel:
        """A channel by its name."""
        found = self.channels.get(channel)
        if found is None:
            raise NotFound(kind="channel", name=channel)
        return found

    def shown_status(self, agent: Agent) -> Status:
        """The status to show: what nobody has confirmed in this life of muster is unknown."""
        if agent.status is Status.ALIVE and agent.confirmed_in != self.boot:
            return Status.UNKNOWN
        return agent.status

    def turn_state(self, agent: Agent) -> TurnState:
        """An agent's own state: the strongest of those it has in its channels."""
        if not agent.present:
            return TurnState.OFFLINE
        if agent.approvals:
            return TurnState.WAITING
        states = {self.channels[channel].state_of(agent.seat) for channel in agent.channels}
        for state in (TurnState.ACTIVE, TurnState.WAITING, TurnState.QUEUED):
            if state in states:
                return state
        return TurnState.IDLE
