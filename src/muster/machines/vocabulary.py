"""Enums and small records that facts, commands and the state share."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

import msgspec

from muster.limits import USAGE_SUM_MAX
from muster.machines.ids import ChannelId, SeatId


class Machine(StrEnum):
    """The machines whose state changes are logged as `state_transition`."""

    IDENTITY = "identity"
    RUN = "run"
    TURNS = "turns"
    DELEGATION = "delegation"


class Authority(StrEnum):
    """The source that decides whether an agent is alive."""

    LEAD = "lead"  # the lead runs it inside its own session
    MUSTER = "muster"  # muster runs its process
    SELF = "self"  # it connects on its own
    FILE = "file"  # its own loop reports through its state file


NAMED_BY_SETTINGS: Final = (Authority.MUSTER, Authority.FILE)
"""Agents of these authorities are run as the settings say."""

SpeakerType = Literal["human", "agent", "muster"]
"""The kinds of speakers in a document of a message."""

ON_FILES: Final = (Authority.LEAD, Authority.FILE)
"""The authorities whose agents are reached by inbox files."""


class HandState(StrEnum):
    """The state of a session that a person runs."""

    IDLE = "idle"  # waits for a prompt
    WORKING = "working"
    ASKING = "asking"  # waits for an answer in its terminal


class Status(StrEnum):
    """Identity: who is it, and is it here. `NONE` is a seat that was never prepared."""

    NONE = "none"
    HATCHING = "hatching"  # a seat is prepared; no agent has registered yet
    ALIVE = "alive"  # its authority says that it is here
    SLEEPING = "sleeping"  # the process has exited, the soul stays
    EXPIRED = "expired"  # registration timed out; hidden, kept for the record
    UNKNOWN = "unknown"  # shown, never stored: not confirmed since muster started


class FaceVariant(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The look of an agent's face."""

    eyes: str = "standard"
    mouth: str = "gentle"


class Placeholder(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A seat prepared for a new agent: it has looks, but no name and no colour name yet."""

    grid_position: SeatId
    color: str
    gender: str
    name: str = ""
    """The name that the agent is asked to take; empty where it chooses one."""

    role: str = ""
    """The role of the agent in the team; empty where it decides."""

    place: SeatId | None = None
    """The place in the grid that it takes after a retired agent, whose seat that is."""


class Profile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The identity that a registration brings. Written in full: readers need no defaults."""

    name: str
    grid_position: SeatId
    color: str = ""
    color_name: str = ""
    gender: str = ""
    face_variant: FaceVariant = FaceVariant()
    individuation_artifact: str = ""
    created_at: datetime | None = None
    """When muster prepared the seat, or else recorded the birth. The time that an agent writes here
    is ignored, because the older agent wins a merge."""


class StatusEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One line of a lead's report."""

    grid_position: SeatId
    name: str = ""
    status: str = "alive"


class RunMode(StrEnum):
    """The mode of an agent, as desired by people and as currently reported."""

    CONTINUOUS = "continuous"  # one session after another, or whenever there is work
    PAUSE = "pause"  # none
    RUN_ONCE = "run_once"  # exactly one, then pause
    RUN_CLEANUP = "run_cleanup"  # exactly one that tidies up, then pause


class RestartPolicy(StrEnum):
    """The next step of `continuous` when a session has ended by itself."""

    ALWAYS = "always"  # the next session starts; after a failure with backoff
    ON_FAILURE = "on-failure"  # a failed session is retried; after a success the agent is paused
    NEVER = "never"  # the agent is paused


class RunsFor(StrEnum):
    """Starts of a program that ends by itself, under `continuous`: what each session is for."""

    LOOP = "loop"  # the end of the one before: it finds its own work
    START = "start"  # a person's start, then work: a turn, a message, a scheduled time
    WORK = "work"  # work alone: a session without any would cost a model request


class OnSilence(StrEnum):
    """The reaction to a session that has shown no sign of work for too long."""

    TELL = "tell"  # log it, and show it
    INTERRUPT = "interrupt"  # interrupt the work; a program that ends by itself is ended
    RESTART = "restart"  # end the session now, and start another


class MissedRuns(StrEnum):
    """The reaction to scheduled times that passed while muster could not start anything."""

    ONCE = "once"  # run once, now, however many there were
    SKIP = "skip"  # wait for the next time


class Phase(StrEnum):
    """The phase of a session."""

    STARTING = "starting"  # requested; not seen running yet
    RUNNING = "running"
    STOPPING = "stopping"  # asked to stop


class Scope(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The agents and channels that a member may act on, and nothing else of the team."""

    agents: tuple[SeatId, ...] = ()
    channels: tuple[ChannelId, ...] = ()


class Usage(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Cost and tokens of work with a model."""

    cost_usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All tokens that the model has read and written, cached or not."""
        read = self.input_tokens + self.cache_read_tokens + self.cache_write_tokens
        return read + self.output_tokens

    def __sub__(self, other: "Usage") -> "Usage":
        """The parts of a usage that go beyond another one."""
        return self._each(other, lambda one, two: max(one - two, 0))

    def __add__(self, other: "Usage") -> "Usage":
        """The sum, which saturates. Negative parts, which an old log may hold, count as 0."""
        return self._each(other, _sum)

    def _each(self, other: "Usage", combine: Callable[[float, float], float]) -> "Usage":
        return Usage(
            cost_usd=round(float(combine(self.cost_usd, other.cost_usd)), 8),
            input_tokens=int(combine(self.input_tokens, other.input_tokens)),
            output_tokens=int(combine(self.output_tokens, other.output_tokens)),
            cache_read_tokens=int(combine(self.cache_read_tokens, other.cache_read_tokens)),
            cache_write_tokens=int(combine(self.cache_write_tokens, other.cache_write_tokens)),
        )


def _sum(one: float, other: float) -> float:
    return min(max(one, 0) + max(other, 0), USAGE_SUM_MAX)


NOTHING_USED = Usage()


class Allowance(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A limit on cost and tokens; 0 means no limit."""

    max_cost_usd: float = 0.0
    max_tokens: int = 0


NO_LIMIT = Allowance()


RUNAWAY = "runaway"
"""The trigger of a pause because of a burn rate."""


class Budget(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The limits of an agent. At a limit the agent is paused; None means no limit."""

    sessions_per_hour: int | None = None
    session_seconds: float | None = None
    failures: int | None = None
    """Consecutive failed sessions."""

    cost_usd: float | None = None
    tokens: int | None = None
    """Cost and tokens count from the last change of `desired`."""

    session_cost_usd: float | None = None
    session_tokens: int | None = None
    cost_usd_per_minute: float | None = None
    cost_usd_per_day: float | None = None
    team_cost_usd_per_day: float | None = None
    """The limit of a day for all agents together; the agent that spends more is paused."""


class Outcome(StrEnum):
    """The outcome of a session."""

    COMPLETED = "completed"  # exited by itself with code 0, or was asked to stop
    FAILED = "failed"  # exited by itself with an error code
    CRASHED = "crashed"  # died of an unexpected signal, or failed to start
    LOST = "lost"  # its process was gone when muster started
    CUT_OFF = "cut_off"  # ended because muster itself stopped, before its work was done


FAILURES: Final = (Outcome.FAILED, Outcome.CRASHED)


class Activity(StrEnum):
    """A kind of work that is visible in an agent's session."""

    TOOL_CALL = "tool_call"
    TOOL_DONE = "tool_done"
    TOOL_FAILED = "tool_failed"
    HELPER_STARTED = "helper_started"  # a subagent of its own
    HELPER_DONE = "helper_done"
    SILENT = "silent"  # no output from its model for a while
    ASKED_AGAIN = "asked_again"  # the request to its model failed and is retried
    COMPACTED = "compacted"  # it has compacted its context


class PlanState(StrEnum):
    """The state of a step of an agent's plan."""

    PENDING = "pending"
    ACTIVE = "active"
    DONE = "done"


class PlanStep(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A step of the plan (the to-do list) that an agent keeps for its work."""

    text: str
    state: PlanState


class Answered(StrEnum):
    """The way in which a request for approval was settled."""

    PERSON = "person"
    DEADLINE = "deadline"  # timeout: the declared default applies
    SESSION_END = "session_end"  # the session that asked has ended, or the agent has left


class ApprovalScope(StrEnum):
    """How far a person's permission reaches."""

    ONCE = "once"
    SESSION = "session"  # until the end of the session that asked
    ALWAYS = "always"  # for good: the agent's program keeps the rules


class Taken(StrEnum):
    """The way in which a program accepts a prompt."""

    STARTED = "started"  # it was idle and has begun
    INJECTED = "injected"  # the prompt joins the work in progress
    QUEUED = "queued"  # the prompt is handled after the work in progress


class Urgency(StrEnum):
    """The urgency of a stop."""

    GRACEFUL = "graceful"  # let the session finish its work
    NOW = "now"  # interrupt, then terminate, then kill


class TurnState(StrEnum):
    """Turns: may it speak."""

    OFFLINE = "OFFLINE"  # not connected
    IDLE = "IDLE"  # in no channel, or alone in one without a new message
    QUEUED = "QUEUED"  # waiting for the turn
    ACTIVE = "ACTIVE"  # has it; at most one agent per channel
    WAITING = "WAITING"  # paused in mid-turn, still holding it


class DeliveryWay(StrEnum):
    """The way of a message to an agent that has no session of its own."""

    TEAMMATE_INBOX = "teammate_inbox"  # the inbox file of a teammate inside Claude Code
    LEAD = "lead"  # its lead was asked to hand it on


class InterruptMode(StrEnum):
    """The effect of a human message on a turn in progress."""

    QUEUE = "queue"
    INTERRUPT = "interrupt"
    INJECT = "inject"
    PARALLEL = "parallel"


class SpeakerOrder(StrEnum):
    """The rule for who speaks next in a channel.

    A person's word comes first in every order, then a handoff, then raised hands.
    """

    RING = "ring"  # one after the other
    MENTION = "mention"  # members that the last speaker mentioned with @ first
    SELECTOR = "selector"  # a member of the channel is asked after every turn


class Claim(StrEnum):
    """A reason to speak before the ring's next, most important first."""

    PERSON = "person"  # a person chose or mentioned it
    HANDOFF = "handoff"  # the last speaker handed the turn over
    MENTION = "mention"  # the last speaker mentioned it
    SELECTOR = "selector"  # the channel's selector chose it
    HAND = "hand"  # it raised its hand


class JoinRule(StrEnum):
    """The rule for who may join a channel."""

    OPEN = "open"  # every agent that no person has removed
    INVITED = "invited"  # only agents that a person adds


class ReadRule(StrEnum):
    """The rule for who may read a channel. Operators read every channel."""

    EVERYBODY = "everybody"
    MEMBERS = "members"


class Awaits(StrEnum):
    """The ends of a wait that an agent requested, beside its timeout."""

    PERSON = "person"  # a person's message in the channel, or a resume
    RESUME = "resume"  # a resume only


class NeedKind(StrEnum):
    """A reason why a person is needed, the most urgent first."""

    DISK = "disk"
    APPROVAL = "approval"
    QUESTION = "question"
    HELD = "held"
    RUNAWAY = "runaway"
    UNANSWERED = "unanswered"
    FAILING = "failing"
    LIMIT = "limit"
    REQUEST = "request"
    FAILED = "failed"
    STUCK = "stuck"
    CONFLICT = "conflict"
    REVIEW = "review"
    MESSAGE = "message"


class WorkspaceState(StrEnum):
    """The state of a workspace: `open`, or the step that is under way."""

    MAKING = "making"
    OPEN = "open"
    MERGING = "merging"
    REBASING = "rebasing"
    DISCARDING = "discarding"
    CLOSED = "closed"


class WorkspaceStep(StrEnum):
    """Something that is done with a worktree as a whole."""

    MERGE = "merge"
    REBASE = "rebase"
    DISCARD = "discard"

    @property
    def state(self) -> WorkspaceState:
        """The state of a workspace while the step is under way."""
        return _UNDER_WAY[self]


_UNDER_WAY = {
    WorkspaceStep.MERGE: WorkspaceState.MERGING,
    WorkspaceStep.REBASE: WorkspaceState.REBASING,
    WorkspaceStep.DISCARD: WorkspaceState.DISCARDING,
}


class ChangeCount(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How much a worktree changes, beside the branch that it is merged into."""

    files: int = 0
    insertions: int = 0
    deletions: int = 0


class Limit(StrEnum):
    """A reason why a channel rests: a limit of its rules, by the rule's name on the wire."""

    IDLE_ROUNDS = "restAfterIdleRounds"
    NOTHING_NEW = "nothingNew"  # every member has seen everything
    STOP_PHRASE = "stopPhrase"
    SELECTOR = "selector"  # the selector ended the conversation
    TURNS_PER_MESSAGE = "turnsPerMessage"
    ROUNDS_PER_MESSAGE = "roundsPerMessage"
    COST_PER_MESSAGE = "costUsdPerMessage"
    TOKENS_PER_MESSAGE = "tokensPerMessage"
    TURNS = "maxTurns"
    ROUNDS = "maxRounds"
    COST = "maxCostUsd"
    TOKENS = "maxTokens"
    ALIKE = "alikeInARow"
    COST_RATE = "costUsdPerMinute"
    COST_PER_DAY = "costUsdPerDay"


class TurnConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The rules of a channel. Of its limits, 0 means none."""

    default_timeout_seconds: float = 60.0
    human_interrupt_mode: InterruptMode = InterruptMode.INJECT
    announce_timeouts: bool = True
    announce_disconnects: bool = True
    auto_detect_turn_end: bool = False
    auto_detect_silence_seconds: float = 10.0
    wait_timeout_seconds: float = 300.0
    max_turn_seconds: float = 1800.0
    interrupt_hold_seconds: float = 30.0
    rest_after_idle_rounds: int = 3
    speaker_order: SpeakerOrder = SpeakerOrder.RING
    selector: str = ""
    """The name of the member that chooses the next speaker, where the order is `selector`."""

    stop_phrase: str = ""
    """A message of an agent that contains this ends the conversation."""

    turns_per_message: int = 100
    rounds_per_message: int = 0
    cost_usd_per_message: float = 5.0
    tokens_per_message: int = 0
    """Limits of what follows one message of a person."""

    alike_in_a_row: int = 12
    """Messages in a row that say the same, after which the conversation is a runaway."""

    cost_usd_per_minute: float = 2.0
    """The burn rate from which on the conversation is a runaway."""

    cost_usd_per_day: float = 20.0
    max_turns: int = 0
    max_rounds: int = 0
    max_cost_usd: float = 0.0
    max_tokens: int = 0
    """Limits of all turns in the channel together."""

    join_rule: JoinRule = JoinRule.OPEN
    read_rule: ReadRule = ReadRule.EVERYBODY


class Text(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A block of text in an agent's message."""

    text: str


class AttachedFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A file that belongs to a message. The content lies in the home, under its digest."""

    name: str
    digest: str
    """SHA-256 of the content, in hex."""

    size: int
    media_type: str


class Role(StrEnum):
    """The permissions of a token's bearer."""

    OPERATOR = "operator"  # everything
    MEMBER = "member"  # speak, ask, answer, start and stop agents
    AGENT = "agent"  # act as one agent
    VIEWER = "viewer"  # read


class Ranked(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A candidate of the router: the agent, its score, the words that matched, and the reason."""

    agent: str
    score: float
    words: tuple[str, ...] = ()
    reason: str = ""


class StatePermissions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The permissions of a state. The state `*` means every agent."""

    state: str
    can_use: tuple[str, ...] = ()
    cannot_use: tuple[str, ...] = ()
    can_write: tuple[str, ...] = ()
    cannot_write: tuple[str, ...] = ()
    can_execute: tuple[str, ...] = ()
    cannot_execute: tuple[str, ...] = ()


class Remark(StrEnum):
    """The kind of a dialogue entry."""

    THINKING = "thinking"  # the reasoning behind a step
    TASK = "task"  # the full text of an agent's task
    TOOL = "tool"  # a tool call with its input
    OUTPUT = "output"  # the output of an agent's program
    REPORT = "report"  # an agent's report on its result
    ANSWER = "answer"  # the answer to the human
    NOTE = "note"  # an observation of muster


class FileChange(StrEnum):
    """The change of a file while an agent worked."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"


class DelegationMode(StrEnum):
    """The rule for where a delegated conversation may go next."""

    ORCHESTRATOR = "orchestrator"  # always back to MAIN
    INTERACTIVE = "interactive"  # to another agent, or back to MAIN
    RESPONSE = "response"  # no MAIN: from a queue and back to it
