"""The state of a team, as folded from the log. Records only; the machines define the changes.

An agent is a seat with a soul. All machines keep their state of an agent in one record, so that a
rule that concerns several machines (may this agent run? is it free to speak?) reads one place.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from muster.errors import NotFound
from muster.machines.documents import HandedOver, WakeCheck
from muster.machines.ids import (
    FIRST_ENROLLED_SEAT,
    HERE,
    LEAD_SEAT,
    ChannelId,
    ConversationId,
    NodeId,
    SeatId,
    SessionId,
    WorkspaceId,
    document_id,
)
from muster.machines.policies import PUT_TO_SLEEP, STOPS, RunPolicy
from muster.machines.vocabulary import (
    NO_LIMIT,
    NOTHING_USED,
    Allowance,
    Authority,
    Awaits,
    Budget,
    ChangeCount,
    Claim,
    DelegationMode,
    DeliveryWay,
    FaceVariant,
    HandState,
    Limit,
    Phase,
    Ranked,
    RestartPolicy,
    Role,
    RunMode,
    RunsFor,
    Scope,
    Status,
    TurnConfig,
    TurnState,
    Urgency,
    Usage,
    WorkspaceState,
)


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A part of the state."""


class Evidence(Record, frozen=True, kw_only=True):
    """The observation that an agent's status rests on."""

    kind: str
    """One of process, report, heartbeat, hook, output, file, deadline, person, settings, import."""

    at: datetime
    seq: int


class Failure(Record, frozen=True, kw_only=True):
    """The newest failure of an agent's session. It is kept until a session or a piece of work
    succeeds."""

    at: datetime
    reason: str
    outcome: str
    """The same without the words of the program: its exit code, where it has one."""

    count: int
    """How many sessions have failed since the last one that succeeded."""

    seq: int
    """The place of the failed session's end in the log."""


class RunControl(Record, frozen=True, kw_only=True):
    """The desired and the current mode of an agent. People write `desired`, reports `current`."""

    desired: RunMode = RunMode.PAUSE
    generation: int = 0
    """Increases with every change of `desired`."""

    set_at: datetime | None = None
    set_by: str = ""
    set_because: str = ""
    """The trigger of the last change of `desired`: person, one_shot_done, budget, ..."""

    note: str = ""
    current: RunMode = RunMode.PAUSE
    current_at: datetime | None = None
    answered: int = 0
    """The generation of `desired` that `current` has caught up with."""

    failures: int = 0
    """Consecutive failed sessions."""

    retry_at: datetime | None = None
    """The earliest time at which the next session may start."""

    long_lived: bool = False
    """Whether the program waits for prompts in its session instead of exiting by itself."""

    on_call: bool = False
    """Whether the agent has only a description, and sessions for delegated tasks only."""

    policy: RunPolicy = RunPolicy()
    is_held: bool = False
    """Whether a person or a budget paused it last, so that autostart leaves it alone. A one-shot
    in between changes nothing about that.
    """

    last_failure: Failure | None = None
    scheduled_at: datetime | None = None
    """The next scheduled run, on the wall clock. None unless the agent is to run by a schedule."""

    last_scheduled: datetime | None = None
    """The newest scheduled time that was taken: no time is taken twice."""

    file_problem: str = ""
    """Why its state file cannot be read or written; empty if it can."""

    is_file_readable: bool = True
    budget: Budget = Budget()
    starts: tuple[datetime, ...] = ()
    """Start times of the last sessions, as many as the budget allows in an hour."""

    used: Usage = Usage()
    """The usage since `desired` last changed."""

    more_work: int = 0
    """Pieces of work that a person allowed beyond its limits."""

    @property
    def follows_schedule(self) -> bool:
        """Whether sessions start at scheduled times now."""
        return self.desired is RunMode.CONTINUOUS and self.policy.has_schedule

    @property
    def is_stopped(self) -> bool:
        """Whether a person or a limit has stopped it, other than by putting it to sleep."""
        stopped = self.desired is RunMode.PAUSE and self.set_because in STOPS
        return stopped and self.note != PUT_TO_SLEEP

    @property
    def waits_for_work(self) -> bool:
        """Whether a session starts when there is work, and not because another one has ended."""
        asked = self.desired is RunMode.CONTINUOUS and not self.long_lived
        return asked and self.policy.runs_for is not RunsFor.LOOP

    @property
    def rests_between_runs(self) -> bool:
        """Whether no session is what it should be: it waits for work, or for its time."""
        return self.waits_for_work or self.follows_schedule

    @property
    def retries_failures(self) -> bool:
        """Whether a failed session is retried, and does not just wait for the next time."""
        return not self.follows_schedule or self.policy.restart is RestartPolicy.ON_FAILURE

    @property
    def differs_since(self) -> datetime | None:
        """The time since which `current` has differed from `desired`."""
        if self.desired is self.current or (self.on_call and self.desired is not RunMode.PAUSE):
            return None
        if self.rests_between_runs:
            return None
        return max((at for at in (self.set_at, self.current_at) if at), default=None)


class PieceCost(Record, frozen=True, kw_only=True):
    """The cost of a piece of work, and the time at which it was done."""

    at: datetime
    cost_usd: float


class Burn(Record, frozen=True, kw_only=True):
    """Spending in the last minutes, and on one day (UTC)."""

    recent: tuple[PieceCost, ...] = ()
    day: str = ""
    today_usd: float = 0.0


NOTHING_BURNT = Burn()


class Echo(Record, frozen=True, kw_only=True):
    """The last messages of a channel since a person spoke, by their words."""

    last: tuple[frozenset[str], ...] = ()
    alike: int = 0
    """How many messages in a row were like one of those before them."""

    since: datetime | None = None
    """The time of the first message."""


SILENCE = Echo()


class Approval(Record, frozen=True, kw_only=True):
    """An open request for approval: an action that a person must allow."""

    id: str
    session: SessionId | None = None
    """The session that asked; none where the agent connects by itself."""

    tool: str
    detail: str
    since: datetime
    until: datetime
    by: str = ""
    default: bool = False
    rules: tuple[str, ...] = ()
    folder: str = ""
    effects: tuple[str, ...] = ()
    change: str = ""


class Unanswered(Record, frozen=True, kw_only=True):
    """Direct messages that two sessions have not answered."""

    after: int
    upto: int
    """The messages after `after` in the log, up to this one."""

    reason: str
    """The end of the session that had them last."""

    at: datetime
    seq: int


class MemoryNote(Record, frozen=True, kw_only=True):
    """Something that an agent is told in every life."""

    id: int
    text: str
    at: datetime
    by: str
    """The actor that wrote it, or edited it last."""


class FormerBirth(Record, frozen=True, kw_only=True):
    """An agent that had a seat until a merge gave it to another one."""

    until: int
    """The seq of that merge."""

    created_at: datetime | None


class Wake(Record, frozen=True, kw_only=True):
    """The last wake of an agent: what it was given, and whether it knew who it is."""

    at: datetime
    seq: int
    handed: HandedOver
    session: SessionId | None = None
    check: WakeCheck | None = None
    said: str = ""
    """Its answer, where it differs."""


class WordToPerson(Record, frozen=True, kw_only=True):
    """A message of an agent that is meant for a person: one outside of channels, or one that names
    the person with an @."""

    seat: SeatId
    at: datetime
    seq: int
    text: str
    """Its beginning."""


class DisputedReport(Record, frozen=True, kw_only=True):
    """The newest report about an agent that its authority contradicts."""

    at: datetime
    seq: int
    reported: str
    evidence: str


class RoutedMessage(Record, frozen=True, kw_only=True):
    """A direct message that took another way than the team's own inbox file."""

    message: int
    way: DeliveryWay


class HandSession(Record, frozen=True, kw_only=True):
    """A program that a person runs: muster sees it, and neither starts nor ends it."""

    conversation: str
    """The program's own id of its conversation; a resumed one comes back to its seat."""

    folder: str
    pid: int = 0
    started: str = ""
    """The kernel's start time of the process: another process with that number is not it."""

    model: str = ""
    state: HandState = HandState.IDLE
    about: str = ""
    """Its question, while it asks."""

    since: datetime | None = None
    """The time since which it is in this state."""

    counted: Usage = Usage()
    """The usage of the conversation that the agent was charged with."""

    kept: bool = False
    """Whether a person has given it this seat; another conversation never takes it."""


class Agent(Record, frozen=True, kw_only=True):
    """An agent in its seat."""

    seat: SeatId
    successor_at: SeatId | None = None
    """The place in the grid that it took after a retired agent, whose seat that is."""

    status: Status = Status.NONE
    authority: Authority = Authority.SELF
    name: str | None = None
    chosen_name: str | None = None
    """The name that the agent chose, where its document came from another machine."""

    born_as: str = ""
    """The name that it had before its first rename."""

    renamed_at: datetime | None = None
    """When a person last renamed it, by a clock that never runs back."""

    color: str = ""
    color_name: str = ""
    gender: str = ""
    face_variant: FaceVariant = FaceVariant()
    soul: str = ""
    soul_edited_at: datetime | None = None
    """When a person last edited or chose its soul, by a clock that never runs back."""

    created_at: datetime | None = None
    last_alive_at: datetime | None = None
    last_session_id: SessionId | None = None
    hatch_until: datetime | None = None
    waking_until: datetime | None = None
    """The deadline of its lead, which was asked to wake it; until then it is not asked again."""

    role: str = ""
    """The role that it was summoned for, where its seat has one."""

    asked_name: str = ""
    """The name that it was asked to take when it was summoned."""

    notes: tuple[MemoryNote, ...] = ()
    """Its notes, the oldest first."""

    next_note: int = 1
    """The number of its next note."""

    last_wake: Wake | None = None
    hand: HandSession | None = None
    """The program that a person runs by hand, which this agent is."""

    hosted: bool = False
    """Whether it belongs to a lead, and muster runs it in a session of its own."""

    enrolled: bool = False
    """Whether it took its seat under a known name, and was neither summoned nor born."""

    disabled: bool = False
    node: NodeId | None = None
    """The machine that it belongs to; None if it may be started on any."""

    confirmed_in: SessionId | None = None
    """The server session in which its authority last confirmed it."""

    evidence: Evidence | None = None
    run: RunControl = RunControl()
    session: SessionId | None = None
    """The live session of the agent: its own, or its lead's."""

    tasks: tuple[SessionId, ...] = ()
    """The live task sessions, beside its own session."""

    max_turns: int = 1
    unasked: bool = False
    """Whether it is granted turns in which there is nothing new for it."""

    retired: bool = False
    """Whether a person or the settings have retired it: its name is free, and nothing runs it."""

    is_listed: bool = False
    """Whether the settings have named it: when they no longer do, it is dismissed."""

    noted: tuple[str, ...] | None = None
    """The former names that its table noted when the settings were last followed; none if that is
    not known."""

    dismissed_until: datetime | None = None
    """While an agent that the settings no longer name has a session: when that is stopped now."""

    former_names: tuple[str, ...] = ()
    """The names that it had, the last one last: a program that runs knows it by one of them."""

    running_as: str = ""
    """The name that its running program knows, where it was renamed meanwhile: its token and inbox
    file hold under that name, and its words may have it or a later one, until it sleeps."""

    folder: str = ""
    """Its folder in the home, if that is not its name: a rename and a namesake do not move it."""

    channels: tuple[ChannelId, ...] = ()
    """The channels of which it is a member."""

    draining: tuple[ChannelId, ...] = ()
    """Channels in which its work on a lost turn is being stopped."""

    alive_from: int = 0
    """The seq at which it last became alive."""

    transcript_from: int = 0
    """The `alive_from` of the last period in which it spoke, or was handed a direct message."""

    answered_from: int = 0
    """The `alive_from` of the last period in which it spoke, or read a direct message."""

    sent: int = 0
    """The seq of its newest message to another agent alone."""

    pending_from: int = 0
    """The seq before the oldest direct message to it that may be undelivered."""

    last_message: int = 0
    """The seq of the newest direct message to it."""

    delivered: int = 0
    """The seq up to which direct messages were delivered."""

    read: int = 0
    """The seq up to which it has acted on direct messages."""

    births_before: tuple[FormerBirth, ...] = ()
    """The agents that lost the seat in merges, the first one first. What was said in it until then
    is not this agent's memory."""

    before: tuple[int, int, int] = (0, 0, 0)
    """How far the agent that lost the seat to it had read, got and been sent direct messages."""

    routed: tuple[RoutedMessage, ...] = ()
    """The ways of its newest direct messages that took another than its inbox file."""

    spoke: int = 0
    """The seq of its newest message outside of channels."""

    seen: int = 0
    """The seq up to which a person has seen what it said outside of channels."""

    to_person: tuple[WordToPerson, ...] = ()
    """The newest messages from it to a person that were unseen when the last of them came."""

    disputed: DisputedReport | None = None
    handed_from: int = 0
    """The seq up to which direct messages were delivered before its newest session."""

    returned: int = 0
    """The seq up to which direct messages were handed over again, after a session that ended before
    it had answered them."""

    unanswered: Unanswered | None = None
    """Direct messages that were handed over again in vain."""

    approvals: tuple[Approval, ...] = ()
    """Its open requests for approval, oldest first."""

    used: Usage = Usage()
    """Its total usage."""

    burn: Burn = NOTHING_BURNT
    conversation: ConversationId | None = None
    """The conversation that it leads, or led when it began the work that has no result yet."""

    conversation_used: Usage = Usage()

    @property
    def earlier_names(self) -> tuple[str, ...]:
        """The names that it had, the first one first, without the one that it has."""
        names = dict.fromkeys((self.born_as, *self.former_names))
        return tuple(name for name in names if name and name != self.name)

    @property
    def differs_since(self) -> datetime | None:
        """The time since which a wish is unanswered: `current` differs from `desired`.

        An agent that muster does not run may go whenever it wants: only a wish that is newer than
        its last report is unanswered.
        """
        run = self.run
        reports_itself = self.authority in (Authority.LEAD, Authority.SELF)
        answered = run.set_at is None or (run.current_at or run.set_at) > run.set_at
        return None if reports_itself and answered else run.differs_since

    @property
    def seated_from(self) -> int:
        """The seq at which it got the seat of another agent; 0 if nobody had it before."""
        return self.births_before[-1].until if self.births_before else 0

    @property
    def id(self) -> str:
        """The agent's id in the log: its name, or its document id while it has no name."""
        return self.name or document_id(self.seat)

    @property
    def place(self) -> SeatId:
        """Its place: the seat, or the place in the grid that it took after a retired agent."""
        return self.seat if self.successor_at is None else self.successor_at

    @property
    def folder_name(self) -> str:
        """The name of its folder in the home."""
        return self.folder or self.name or f"seat-{self.seat}"

    @property
    def present(self) -> bool:
        """Whether the agent is connected: alive and not disabled."""
        return self.status is Status.ALIVE and not self.disabled

    @property
    def has_unread(self) -> bool:
        """Whether there are direct messages that no session was given yet."""
        return self.delivered < self.last_message

    @property
    def answered_upto(self) -> int:
        """The seq up to which its session has no direct message to answer."""
        return max(self.read, self.handed_from)


class Session(Record, frozen=True, kw_only=True):
    """A process that muster runs, from the request to its end. The record is removed at the end."""

    id: SessionId
    seats: tuple[SeatId, ...]
    """Its own seat first, then the seats of agents that a lead runs in this session."""

    phase: Phase
    mode: RunMode
    generation: int
    node: NodeId = HERE  # the machine that runs it
    moves: bool = False
    """Whether it is given up with that machine, as its policy said when it was requested."""

    boot: SessionId  # the life of that machine in which it was requested
    since: datetime
    """The time at which its process started; until then, at which it was requested."""

    urgency: Urgency | None = None
    reason: str = ""
    """The reason why it was asked to stop."""

    asked_at: datetime | None = None
    """The time at which it was asked to stop."""

    restart: bool = False
    """Whether another session of the same mode is to follow it."""

    seen_at: datetime | None = None
    """The newest sign of work, where its agent is watched for silence."""

    is_silent: bool = False
    """Whether its silence was noticed, and no sign of work was seen since."""

    failure: str = ""
    """Why its end counts as a failure: the silence that it was interrupted or stopped for."""

    pid: int | None = None
    started: str | None = None
    limits: tuple[str, ...] = ()  # how each limit of its resources holds, in words
    confinement: str = ""
    """How the kernel confines it, or why not; empty where its settings ask for nothing."""

    interruptible: bool = False
    """Whether its work can be interrupted without ending it."""

    confirms_prompts: bool = False
    """Whether it reports each prompt that it begins, and so each turn that it knows of."""

    used: Usage = Usage()
    spending: Usage = Usage()
    """The usage of the present piece of work so far, which is not in `used` yet."""

    has_result: bool = False
    """Whether it has finished a piece of work."""

    task: ConversationId | None = None
    """The conversation that a task session works on."""

    until: datetime | None = None
    """The deadline of that task."""


class ClaimedTurn(Record, frozen=True, kw_only=True):
    """A member that is to speak before the ring's next, and the reason."""

    seat: SeatId
    claim: Claim
    by: str = ""
    """The name of the person or agent that caused it."""


class Spent(Record, frozen=True, kw_only=True):
    """Turns and usage since the last message of a person in a channel."""

    turns_before: int = 0
    """The channel's turns until that message: a grant then changes one number only."""

    used: Usage = NOTHING_USED
    stopped: bool = False
    """Whether the stop phrase was said."""


class Wait(Record, frozen=True, kw_only=True):
    """A pause of a turn. The turn is still held, and its timeout is suspended."""

    reason: str
    since: datetime
    until: datetime
    by_human: bool = False
    """Whether a human interrupted the turn; otherwise its holder requested the wait."""

    approval: bool = False
    """Whether it waits for an approval: then the answer ends it, not its own deadline."""

    awaits: Awaits = Awaits.PERSON
    halts: bool = False
    """Whether the work of the holder is interrupted for it, and goes on when the turn resumes."""


class HeldTurn(Record, frozen=True, kw_only=True):
    """A granted turn: the right of one member to speak in a channel."""

    holder: SeatId
    until: datetime
    """The timeout; signs of work move it."""

    cap: datetime
    """The hard limit, which work does not move."""

    taken: bool = False
    """Whether the holder's program has accepted the prompt that announced the turn."""

    posted: bool = False
    answered: int = 0
    """The seq up to which the holder was handed messages when it last posted."""

    silent_at: datetime | None = None
    """The time at which silence after a post ends the turn, where the channel detects that."""

    wait: Wait | None = None
    stopping: bool = False
    """Whether the work of the holder is being interrupted: it is handed nothing until it stops."""

    granted: int = 0
    """The seq of the grant."""

    told: int = 0
    """The seq of the newest message that was to reach the holder in the turn."""

    reason: str = ""
    """Why this member has it: the ring, a handoff, a person's choice."""

    choosing: bool = False
    """Whether the holder is the channel's selector and is asked for the next speaker."""


class Hold(Record, frozen=True, kw_only=True):
    """A person's hold on the turn of a member that has left since: its next turn is held, too."""

    seat: SeatId
    until: datetime


class Drain(Record, frozen=True, kw_only=True):
    """Work on a lost turn that must stop before the next turn is granted."""

    seat: SeatId
    until: datetime
    killing: bool = False


class Channel(Record, frozen=True, kw_only=True):
    """Where seats speak in order: a fixed ring with a cursor."""

    id: ChannelId
    config: TurnConfig
    ring: tuple[SeatId, ...] = ()
    cursor: int = -1
    """Index in the ring of the last member that had its place in the order; -1 before the first.
    A claimed turn does not count, unless its member was the next one anyway.
    """

    lost_places: Mapping[SeatId, int] = {}
    """Agents that left by a crash or a disconnect, and get their places back: the index of each in
    `places`.
    """

    timeouts: dict[SeatId, float] = {}
    """The turn timeouts of their own that members and agents with a lost place have."""

    epoch: int = 0
    """The number of the last grant. It never decreases, so a stale epoch is detected."""

    turn: HeldTurn | None = None
    drain: Drain | None = None
    hold: Hold | None = None
    last_holder: SeatId | None = None
    """The holder of the last turn that has ended."""

    last_end: str = ""
    """The trigger that ended it."""

    idle: SeatId | None = None
    """A lone member that has completed its turn: it waits for the next post or member."""

    resting: bool = False
    rest_limit: Limit | None = None
    """The limit at which it came to rest, while it rests."""

    rest_reason: str = ""
    """The same in words."""

    free_until: int = 0
    """No limit ends the conversation before so many turns in all: a person allowed them."""

    archived: bool = False
    barred: tuple[SeatId, ...] = ()
    """Agents that a person removed: only a person adds them again."""

    seen: int = 0
    """The seq up to which a person has seen what was said."""

    to_person: tuple[WordToPerson, ...] = ()
    """The newest messages that name a person and were unseen when the last of them came."""

    claims: tuple[ClaimedTurn, ...] = ()
    """Members that are to speak before the ring's next, the most important first. A person's choice
    stays for an agent that lost its place.
    """

    turns_ahead: int = 0
    """Consecutive turns that claims have put before the ring's next."""

    selector_asked: bool = False
    """Whether the selector was asked since the last turn of a speaker."""

    since_message: Spent = Spent()
    turns: int = 0
    """The number of turns in all."""

    newest: int = 0
    """The seq of the newest message of a person or an agent; notices do not count."""

    newest_by: SeatId | None = None
    """The agent that wrote it; none for a person."""

    newest_other: int = 0
    """The seq of the newest message that somebody else wrote."""

    silent_turns: int = 0
    """Consecutive turns without a post."""

    vacant_since: int = 0
    """The seq since which the turn is free; the channel that has waited longest is served first."""

    last_message: int = 0
    """The seq of the newest message in the channel."""

    delivered: Mapping[SeatId, int] = {}
    """The seq up to which messages were delivered to each member; kept for a member that left."""

    read: Mapping[SeatId, int] = {}
    """The seq up to which each member has acted on its messages."""

    stopped: Mapping[SeatId, int] = {}
    """Members whose turn a person took away: the seq up to which messages give them no turn by
    themselves. An entry goes with the next turn, and stays for a member that lost its place.
    """

    used: Usage = NOTHING_USED
    burn: Burn = NOTHING_BURNT
    echo: Echo = SILENCE

    @property
    def turns_since_message(self) -> int:
        """The number of turns since the last message of a person."""
        return self.turns - self.since_message.turns_before

    @property
    def places(self) -> tuple[SeatId, ...]:
        """The ring together with the agents that lost their places, in one order."""
        places = list(self.ring)
        for seat, place in sorted(self.lost_places.items(), key=lambda each: each[1]):
            places.insert(place, seat)
        return tuple(places)

    def state_of(self, seat: SeatId) -> TurnState:
        """The state of a member in this channel."""
        if self.turn is not None and self.turn.holder == seat:
            return TurnState.WAITING if self.turn.wait else TurnState.ACTIVE
        return TurnState.IDLE if self.idle == seat else TurnState.QUEUED

    @property
    def due(self) -> datetime | None:
        """The next deadline of the channel, or none.

        Work that is being stopped comes before any turn. A wait has a deadline of its own, except
        a wait for an approval: that ends with the answer, and the approval has the deadline.
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
    """The role that a secret grants. Only the digest of the secret is stored."""

    id: str
    role: Role
    seat: SeatId | None = None
    note: str = ""
    user: str = ""
    """The user who acts with it; empty for the human of the team, or an agent."""

    expires_at: datetime | None = None
    scope: Scope | None = None
    """The agents and channels that a member may act on with it; none for the whole team."""


class User(Record, frozen=True, kw_only=True):
    """A person who takes part under a name of their own."""

    name: str
    role: Role
    scope: Scope | None = None
    """The agents and channels that a member may act on, private ones included; none for all."""


MAIN = "MAIN"
"""The state of a conversation that is with the lead, or with muster where there is no lead."""

QUEUE = "QUEUE"
"""The state in which a conversation in response mode waits for an agent to claim it."""


class Visit(Record, frozen=True, kw_only=True):
    """A state that a conversation has been in, and its progress at that time."""

    state: str
    progress: int


class Selection(Record, frozen=True, kw_only=True):
    """The choice among agents that a selector is asked for, because the router is unsure."""

    selector: str
    candidates: tuple[Ranked, ...]
    """The agents to choose from, the router's best first."""

    margin: float = 0.0
    router: str = ""


class Conversation(Record, frozen=True, kw_only=True):
    """An open conversation: one human input and everything that follows from it."""

    id: ConversationId
    state: str
    """MAIN or QUEUE, or the name of the agent that works on it."""

    text: str = ""
    """The human's request."""

    epoch: int = 0
    session: SessionId | None = None
    """The session that works on it, where muster runs one."""

    routed: str = ""
    """The router's choice, once it is made: an agent, or MAIN."""

    progress: int = 0
    visits: tuple[Visit, ...] = ()
    keeper: str = ""
    """The program that leads the conversation where muster does not."""

    beside: tuple[str, ...] = ()
    """Agents that work on it beside the one that `state` names, the newest last."""

    reports: tuple[str, ...] = ()
    """The reports of the agents that have worked on it so far."""

    used: Usage = Usage()
    """The usage of the agents that work on it."""

    depth: int = 0
    """How many agents the request is nested in; 0 for a person's own."""

    said: int = 0
    """The length of its dialogue so far, in characters."""

    selection: Selection | None = None
    """The choice that a selector is asked for; None once it is made."""

    life: SessionId = SessionId("")
    """The server session in which it was opened, where muster leads it."""

    def is_worked_on_by(self, agent: str) -> bool:
        """Whether an agent works on it, alone or beside others."""
        return agent == self.state or agent in self.beside


class RememberedChoice(Record, frozen=True, kw_only=True):
    """The agent that a person chose for a request."""

    number: int
    """Names it within the team; numbers only grow."""

    text: str
    agent: str
    """An agent, or MAIN."""

    guess: str = ""
    """The router's own choice; empty if it was unsure."""

    at: datetime


class FailedRequest(Record, frozen=True, kw_only=True):
    """A request that nobody carried out."""

    conversation: ConversationId
    at: datetime
    text: str
    """Its beginning."""

    why: str


class Delegation(Record, frozen=True, kw_only=True):
    """The state machine session of a team, if one is open."""

    mode: DelegationMode | None = None
    path: str = ""
    last_path: str = ""
    """The path of the session that was opened last; kept when it is closed."""

    node: NodeId = HERE  # the machine that has its folder
    agents: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    allowance: Allowance = NO_LIMIT
    opened: int = 0
    """The number of conversations ever opened; the next id is computed from it."""

    conversations: Mapping[ConversationId, Conversation] = {}
    failed: tuple[FailedRequest, ...] = ()
    """The newest requests that failed, oldest first."""

    choices: tuple[RememberedChoice, ...] = ()
    """Choices that routing remembers, the oldest first; kept when the session is closed."""

    choices_made: int = 0
    """The number of choices ever remembered; the next one is named after it."""

    @property
    def home_state(self) -> str:
        """The state in which a conversation begins and ends."""
        return QUEUE if self.mode is DelegationMode.RESPONSE else MAIN


class RecentKeys(Record, frozen=True, kw_only=True):
    """Idempotency keys of recent commands, each with its actor and the seq of its event.

    Two generations: when the newer one is full it becomes the older one, which is forgotten. So
    at least `limits.KEYS_MAX` keys are known, and a new one costs the same however many there are.
    """

    newer: Mapping[str, int] = {}
    older: Mapping[str, int] = {}
    count: int = 0
    """The number of keys in `newer`."""


class Shutdown(Record, frozen=True, kw_only=True):
    """muster is shutting down: no session starts any more."""

    reason: str
    since: datetime
    urgency: Urgency
    """`graceful` while sessions may finish by themselves: a drain."""

    until: datetime | None = None
    """The end of the drain; sessions that still run are stopped then."""


class LowDisk(Record, frozen=True, kw_only=True):
    """A disk that is nearly full."""

    seq: int
    since: datetime
    free_bytes: int


class Node(Record, frozen=True, kw_only=True):
    """A machine that runs sessions of the team, from its start until it stops in order."""

    name: NodeId
    life: SessionId
    """The server session of its present life."""

    since: int
    """The seq at which this life began."""

    labels: tuple[str, ...] = ()
    """The labels of its settings, which agents may need."""

    room: int | None = None
    """The number of sessions that it has room for; None without a limit."""

    away: datetime | None = None
    """The time at which it was given up as lost, until it returns."""

    term: int = 0  # of its lease: the number of times that it has returned in this life
    shutdown: Shutdown | None = None  # set while it is shutting down
    disk_low: LowDisk | None = None  # set while the disk of its home is nearly full

    @property
    def is_open(self) -> bool:
        """Whether sessions may start on it."""
        return self.away is None and self.shutdown is None


class SettledNeed(Record, frozen=True, kw_only=True):
    """Something that needed a person, and was put aside by one."""

    key: str
    until: datetime | None = None
    """The time at which it comes back; none if it is done."""


class Workspace(Record, frozen=True, kw_only=True):
    """A git worktree and its branch, in which one agent works, or the agents of one conversation.

    What it changes is asked of git. A merge leaves it open: its agent goes on in it.
    """

    id: WorkspaceId
    repository: str
    folder: str
    branch: str
    base: str
    target: str = ""
    """The branch that it is merged into, unless a person says another."""

    seat: SeatId | None = None
    conversation: ConversationId | None = None
    earlier: tuple[ConversationId, ...] = ()
    """Finished conversations that worked in it before."""

    agent_name: str = ""
    """The name of its agent when it was made."""

    git_dir: str = ""
    state: WorkspaceState = WorkspaceState.MAKING
    since: datetime
    """The time of the last change of its state."""

    seq: int = 0
    into: str = ""
    """The branch of the step that is under way, or of the last one."""

    force: bool = False
    """Whether it is discarded with its unmerged work."""

    changes: ChangeCount = ChangeCount()
    """The unmerged changes, as they were counted last."""

    commit: str = ""
    """The commit of the last merge, or of its branch when it was closed."""

    merged: bool = False
    conflict: tuple[str, ...] = ()
    """The files in conflict at the last merge or rebase."""

    problem: str = ""
    """Why the last step was not done, or why it was closed."""


class Team(Record, frozen=True, kw_only=True):
    """The current state of a team."""

    seq: int = 0
    nodes: Mapping[NodeId, Node] = {}
    """The machines that came and have not left in order."""

    stopped: Shutdown | None = None
    """The shutdown of the node that left last, until a node starts."""

    human: str = "human"
    agents: Mapping[SeatId, Agent] = {}
    names: Mapping[str, SeatId] = {}
    """Seats by `ids.name_key` of their agents' names."""

    kept_folders: Mapping[str, SeatId] = {}
    """Seats by `ids.name_key` of their folders in the home, where that may become the name of
    another agent: those of retired and of renamed agents."""

    followers: tuple[SeatId, ...] = ()
    """The agents whose policy has `after`: few, and asked for whenever an agent is up."""

    renamed_in_merges: tuple[SeatId, ...] = ()
    """The agents that do not have the names that they chose, because older agents had them."""

    next_seat: SeatId = FIRST_ENROLLED_SEAT
    newest_at: Mapping[SeatId, SeatId] = {}
    """The newest seat of each place in the grid where a retired agent has a successor."""

    channels: Mapping[ChannelId, Channel] = {}
    private: tuple[ChannelId, ...] = ()
    """The channels that only their members and operators read."""

    sessions: Mapping[SessionId, Session] = {}
    delegation: Delegation = Delegation()
    tokens: Mapping[str, Token] = {}
    """Tokens by the digest of their secret."""

    users: Mapping[str, User] = {}
    """People beside the human of the team, by `ids.name_key` of their names."""

    peer_messages: int = 0
    """Direct messages between agents since a person last said something."""

    imported: Mapping[str, int] = {}
    """Ids of imported messages and digests of discarded documents: a second import adds nothing."""

    burn: Burn = NOTHING_BURNT
    """The spending of all agents together."""

    settled: tuple[SettledNeed, ...] = ()
    """What people have put aside, oldest first."""

    looked: Mapping[str, int] = {}
    """How far in the log each person has looked at the team; the last who looked is last."""

    keys: RecentKeys = RecentKeys()
    workspaces: Mapping[WorkspaceId, Workspace] = {}
    """The worktrees of agents and conversations, with those that were closed last."""

    @property
    def is_running(self) -> bool:
        """Whether muster runs on at least one node that is not given up."""
        return any(node.away is None for node in self.nodes.values())

    @property
    def shutdown(self) -> Shutdown | None:
        """Set while every node that is here is shutting down, and until one starts again."""
        stopping = self.stopped
        for node in self.nodes.values():
            if node.is_open:
                return None
            stopping = node.shutdown or stopping
        return stopping

    def is_here(self, life: SessionId | None) -> bool:
        """Whether a node is in this life now, and not given up as lost."""
        return any(node.life == life and node.away is None for node in self.nodes.values())

    def node_of(self, session: Session) -> Node | None:
        """The node that runs a session, if it is still in the life that was asked to."""
        node = self.nodes.get(session.node)
        return node if node is not None and node.life == session.boot else None

    def is_stopping_now(self, session: Session) -> bool:
        """Whether the node of a session is shutting down and no longer lets sessions finish."""
        shutdown = self.shutdown_of(session)
        return shutdown is not None and shutdown.urgency is Urgency.NOW

    def shutdown_of(self, session: Session) -> Shutdown | None:
        """The shutdown of the node that runs a session, if it is under way."""
        node = self.node_of(session)
        return None if node is None else node.shutdown

    @property
    def lead(self) -> Agent | None:
        """The lead: the authority for the agents that it runs."""
        found = self.agents.get(LEAD_SEAT)
        return None if found is None or found.retired else found

    def agent(self, seat: SeatId) -> Agent:
        """The agent in a seat."""
        found = self.agents.get(seat)
        if found is None:
            raise NotFound(kind="seat", name=str(seat))
        return found

    def workspace(self, workspace: WorkspaceId) -> Workspace:
        """A workspace by its name."""
        found = self.workspaces.get(workspace)
        if found is None:
            raise NotFound(kind="workspace", name=workspace)
        return found

    def channel(self, channel: ChannelId) -> Channel:
        """A channel by its name."""
        found = self.channels.get(channel)
        if found is None:
            raise NotFound(kind="channel", name=channel)
        return found

    def is_worked_in(self, workspace: Workspace) -> bool:
        """Whether a session of muster works in a workspace, or its conversation is open."""
        if workspace.conversation is not None:
            return workspace.conversation in self.delegation.conversations
        agent = None if workspace.seat is None else self.agents.get(workspace.seat)
        session = None if agent is None else self.sessions.get(agent.session or SessionId(""))
        return session is not None and session.seats[0] == workspace.seat

    def busy_in(self, agent: Agent) -> Sequence[ChannelId]:
        """The channels in which an agent holds the turn, or its work on a lost turn is being
        stopped."""
        busy: list[ChannelId] = []
        for name in agent.channels:
            turn = self.channels[name].turn
            if turn is not None and turn.holder == agent.seat:
                busy.append(name)
        return (*busy, *agent.draining)

    def is_free(self, agent: Agent) -> bool:
        """Whether an agent may be granted one more turn."""
        return len(self.busy_in(agent)) < agent.max_turns

    def shown_status(self, agent: Agent) -> Status:
        """The status to show: `unknown` while the life that confirmed an agent is not here."""
        if agent.status is Status.ALIVE and not self.is_here(agent.confirmed_in):
            return Status.UNKNOWN
        return agent.status

    def turn_state(self, agent: Agent) -> TurnState:
        """An agent's overall state: the most active of its states in its channels."""
        if not agent.present:
            return TurnState.OFFLINE
        if agent.approvals:
            return TurnState.WAITING
        states = {self.channels[channel].state_of(agent.seat) for channel in agent.channels}
        for state in (TurnState.ACTIVE, TurnState.WAITING, TurnState.QUEUED):
            if state in states:
                return state
        return TurnState.IDLE
