"""Answers about delegation: conversations, their route and trace, and the open session."""

from datetime import datetime

import msgspec

from muster.machines.ids import ConversationId
from muster.machines.vocabulary import DelegationMode, FileChange, Ranked
from muster.views.answers import View


class RouteView(View, frozen=True, kw_only=True):
    """Where a request belongs, and why."""

    agent: str
    confidence: float
    margin: float
    rule: str
    reason: str
    router: str
    candidates: tuple[Ranked, ...] = ()
    ambiguous: bool = False
    """Whether several agents may be meant: the first candidates."""

    guess: str = ""
    """The router's own choice, where a person chose; empty if it was unsure."""


class StepView(View, frozen=True, kw_only=True):
    """One change of the state."""

    at: datetime
    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    trigger: str
    reason: str


class FileView(View, frozen=True, kw_only=True):
    """A file that came, changed or went."""

    path: str
    change: FileChange
    size: int
    sha256: str
    by: str
    outside: bool = False
    named: bool = False


class ConversationView(View, frozen=True, kw_only=True):
    """One input, and all that it set off."""

    conversation: ConversationId
    text: str
    speaker: str
    state: str
    started_at: datetime
    ended_at: datetime | None = None
    outcome: str | None = None
    """`answered`, `failed` or `ended`; null while it goes on."""

    summary: str = ""
    answer: str = ""
    route: RouteView | None = None
    trace: tuple[StepView, ...] = ()
    files: tuple[FileView, ...] = ()
    denied: str = ""
    """Why its state may not do what it asks for, if that is so."""

    waits_because: str = ""
    """Why its agent does not take it from the queue, if that is so."""


class ConversationList(View, frozen=True, kw_only=True):
    """Conversations with their traces and files, the newest last."""

    conversations: tuple[ConversationView, ...]


class DelegationView(View, frozen=True, kw_only=True):
    """The state machine session of the team."""

    open: bool
    mode: DelegationMode | None
    path: str
    agents: tuple[str, ...]
    opened: int
    """How many conversations there were."""

    working: dict[str, str]
    """Conversations that go on, and the state of each."""

    resumed: bool = False
    warnings: tuple[str, ...] = ()


class ChoiceView(View, frozen=True, kw_only=True):
    """The agent that a person chose for a request; similar requests are routed by it."""

    number: int
    text: str
    agent: str
    guess: str
    """The router's own choice; empty if it was unsure."""

    at: datetime


class ChoiceList(View, frozen=True, kw_only=True):
    """The choices that routing remembers, the newest last."""

    choices: tuple[ChoiceView, ...]


class CarriedOut(View, frozen=True, kw_only=True):
    """How many conversations of the queue were carried out."""

    conversations: int
