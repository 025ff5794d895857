"""The words that facts, commands and records share: states, kinds, and small things with parts."""

from datetime import datetime
from enum import StrEnum
from typing import TypeVar

import msgspec

from muster.limits import USAGE_SUM_MAX
from muster.machines.ids import SeatId


class Machine(StrEnum):
    """The machines whose changes are logged as `state_transition`."""

    IDENTITY = "identity"
    RUN = "run"
    TURNS = "turns"
    DELEGATION = "delegation"


class Authority(StrEnum):
    """Whose word is the truth about an agent's being here."""

    LEAD = "lead"  # the lead runs it inside its own session
    MUSTER = "muster"  # muster runs its process
    SELF = "self"  # it connects by itself
    FILE = "file"  # a loop of its own says so in its state file


class Status(StrEnum):
    """Identity: who is it, and is it here. `NONE` is a seat that nobody was ever meant for."""

    NONE = "none"
    HATCHING = "hatching"  # a place is prepared, nobody has a name yet
    ALIVE = "alive"  # its authority says that it is here
    SLEEPING = "sleeping"  # the process is gone, the soul stays
    EXPIRED = "expired"  # the birth failed; hidden, kept for the record
    UNKNOWN = "unknown"  # shown, never stored: nobody has confirmed it since muster started


class FaceVariant(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How a face is drawn."""

    eyes: str = "standard"
    mouth: str = "gentle"


class Placeholder(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A seat in which somebody is to be born: looks, but no name and no colour name."""

    grid_position: SeatId
    color: str
    gender: str


class Profile(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Who somebody is: what a registration brings, in the seeds' spelling."""

    name: str
    grid_position: SeatId
    color: str = ""
    color_name: str = ""
    gender: str = ""
    face_variant: FaceVariant = FaceVariant()
    individuation_artifact: str = ""
    created_at: datetime | None = None


class StatusEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One line of a lead's report."""

    grid_position: SeatId
    name: str = ""
    status: str = "alive"


class RunMode(StrEnum):
    """What a person can want of an agent, and what an agent can be doing."""

    CONTINUOUS = "continuous"  # one session after another
    PAUSE = "pause"  # none
    RUN_ONCE = "run_once"  # exactly one, then pause
    RUN_CLEANUP = "run_cleanup"  # exactly one that tidies up, then pause


class Phase(StrEnum):
    """How far a session is."""

    STARTING = "starting"  # asked for; nobody has seen it yet
    RUNNING = "running"
    STOPPING = "stopping"  # asked to end


class Usage(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What work with a model has used up."""

    cost_usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All that the model has read and written, whatever a token of it cost."""
        read = self.input_tokens + self.cache_read_tokens + self.cache_write_tokens
        return read + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """Both together. Costs are kept to a millionth of a cent, so that sums stay readable.

        The sum saturates, and negative parts count as 0: a log may hold reports from before they
        were bounded.
        """
        return Usage(
            cost_usd=round(_sum(self.cost_usd, other.cost_usd), 8),
            input_tokens=_sum(self.input_tokens, other.input_tokens),
            output_tokens=_sum(self.output_tokens, other.output_tokens),
            cache_read_tokens=_sum(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens=_sum(self.cache_write_tokens, other.cache_write_tokens),
        )


N = TypeVar("N", int, float)


def _sum(one: N, other: N) -> N:
    zero, most = type(one)(0), type(one)(USAGE_SUM_MAX)
    return min(max(one, zero) + max(other, zero), most)


NOTHING_USED = Usage()


class Allowance(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What may be used up; 0 is no limit."""

    max_cost_usd: float = 0.0
    max_tokens: int = 0


NO_LIMIT = Allowance()


class Budget(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What an agent may use up before it is paused. What is not said is not limited."""

    sessions_per_hour: int | None = None
    session_seconds: float | None = None
    failures: int | None = None
    """Failures in a row."""

    cost_usd: float | None = None
    tokens: int | None = None
    """Both since a person last said what is wanted of it."""

    session_cost_usd: float | None = None
    session_tokens: int | None = None


class Outcome(StrEnum):
    """How a session ended."""

    COMPLETED = "completed"  # by itself and well, or because it was asked to
    FAILED = "failed"  # by itself with an error code
    CRASHED = "crashed"  # by a signal that nobody asked for, or it never came up
    LOST = "lost"  # found gone when muster started


class Activity(StrEnum):
    """What an agent can be seen doing inside its session."""

    TOOL_CALL = "tool_call"
    TOOL_DONE = "tool_done"
    TOOL_FAILED = "tool_failed"
    HELPER_STARTED = "helper_started"  # a subagent of its own
    HELPER_DONE = "helper_done"
    SILENT = "silent"  # its model has said nothing for a while
    ASKED_AGAIN = "asked_again"  # its model did not answer, and is asked once more
    COMPACTED = "compacted"  # it has cut down what it remembers of its conversation


class Answered(StrEnum):
    """What settled a request for approval."""

    PERSON = "person"
    DEADLINE = "deadline"  # nobody answered in time: the declared default
    SESSION_END = "session_end"  # nobody waits for the answer any more


class Taken(StrEnum):
    """How a program takes in a prompt."""

    STARTED = "started"  # it was idle, and has begun
    INJECTED = "injected"  # in the middle of its work, which goes on with it
    QUEUED = "queued"  # after its work, as a piece of work of its own


class Urgency(StrEnum):
    """How a session is to be stopped."""

    GRACEFUL = "graceful"  # let it finish
    NOW = "now"  # interrupt, then terminate, then kill


class TurnState(StrEnum):
    """Turns: may it speak."""

    OFFLINE = "OFFLINE"  # not connected
    IDLE = "IDLE"  # no channel wants it
    QUEUED = "QUEUED"  # waiting for the turn
    ACTIVE = "ACTIVE"  # has it; at most one agent per channel
    WAITING = "WAITING"  # paused in mid-turn, still holding it


class InterruptMode(StrEnum):
    """What a human message does to a turn in progress."""

    QUEUE = "queue"
    INTERRUPT = "interrupt"
    INJECT = "inject"
    PARALLEL = "parallel"


class TurnConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The rules of a channel. The first six fields and their defaults are the seed's."""

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
    max_cost_usd: float = 0.0
    max_tokens: int = 0
    """What all turns in it together may use up, 0 being no limit; who would be next is paused."""


class Text(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A block of text in an agent's message."""

    text: str


class Role(StrEnum):
    """What a token lets its bearer do."""

    OPERATOR = "operator"  # everything
    AGENT = "agent"  # act as one agent
    VIEWER = "viewer"  # read


class Ranked(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An agent that was considered for a request, its score, and the words that made it."""

    agent: str
    score: float
    words: tuple[str, ...] = ()


class StatePermissions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a state may do, spelled as the seed spells it. The state `*` is every agent."""

    state: str
    can_use: tuple[str, ...] = ()
    cannot_use: tuple[str, ...] = ()
    can_write: tuple[str, ...] = ()
    cannot_write: tuple[str, ...] = ()
    can_execute: tuple[str, ...] = ()
    cannot_execute: tuple[str, ...] = ()


class Remark(StrEnum):
    """What kind of thing stands in a dialogue."""

    THINKING = "thinking"  # why somebody does what it does
    TASK = "task"  # what an agent is told to do, in full
    OUTPUT = "output"  # what an agent's program printed
    REPORT = "report"  # what an agent says has come of it
    ANSWER = "answer"  # what the human is told
    NOTE = "note"  # what muster has seen


class FileChange(StrEnum):
    """What became of a file while an agent worked."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"


class DelegationMode(StrEnum):
    """Where a turn that goes by description may go next."""

    ORCHESTRATOR = "orchestrator"  # always back to MAIN
    INTERACTIVE = "interactive"  # to another agent, or back to MAIN
    RESPONSE = "response"  # no MAIN: from a queue and back to it
