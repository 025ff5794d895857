"""An open team, as interfaces use it. `app.py` opens and closes it."""

import msgspec

from muster.attachments import AttachmentFolder
from muster.delegation.requests import Requests
from muster.durations import Durations
from muster.engine.dispatcher import Dispatcher
from muster.engine.feed import Feed
from muster.engine.partials import Partials
from muster.engine.ports import Clock, Ids
from muster.engine.presence import Presence
from muster.engine.programs import DetectPrograms, KeptConversations
from muster.inbox.inbox import Inbox
from muster.machines.identity.palette import PALETTE
from muster.machines.ids import GRID_SEATS
from muster.machines.state import Team
from muster.machines.vocabulary import Placeholder, TurnConfig
from muster.nodes.asking import NodeDesk
from muster.notify.push.desk import PushDesk
from muster.reloading.live import LiveSettings
from muster.sessions.prompt import Prompter
from muster.sessions.reactor import Sessions
from muster.sessions.session_tokens import SessionTokens
from muster.settings.agents import ANYBODY
from muster.settings.in_force import hosting_lead
from muster.settings.model import Settings
from muster.store.base import EventStore
from muster.views.conversation_costs import Costs
from muster.views.history import History
from muster.views.metrics.counting import CommitCounts
from muster.worker.process import Worker
from muster.workspaces.service import Workspaces


class Births(msgspec.Struct, frozen=True, kw_only=True):
    """Whether muster itself can create agents, and whether their processes are long-lived."""

    possible: bool = False
    live_on: bool = False
    hosted: bool = False
    """Whether agents of the lead run in sessions of their own, as the lead's program does."""

    places: tuple[Placeholder, ...] = PALETTE
    """The seats that a summon fills, with their looks, names and roles."""


def births_of(settings: Settings) -> Births:
    """Whether muster itself can create agents, and how it runs them."""
    anybody, summon = settings.agents.get(ANYBODY), settings.summon
    return Births(
        possible=anybody is not None,
        live_on=anybody is not None and anybody.is_long_lived,
        hosted=hosting_lead(settings) is not None,
        places=tuple(map(summon.place, GRID_SEATS[: summon.seats])),
    )


class Muster:
    """An open team."""

    def __init__(
        self,
        *,
        store: EventStore,
        dispatcher: Dispatcher,
        feed: Feed,
        presence: Presence,
        inbox: Inbox,
        prompter: Prompter,
        partials: Partials,
        session_tokens: SessionTokens,
        clock: Clock,
        ids: Ids,
        settings: LiveSettings,
        sessions: Sessions,
        detect_programs: DetectPrograms,
        requests: Requests,
        workspaces: Workspaces,
        conversations: KeptConversations,
        push: PushDesk,
        worker: Worker,
        files: AttachmentFolder | None = None,
    ) -> None:
        """Hold what interfaces need: the write path, the feed, the store, the clock."""
        self.store = store
        self.dispatcher = dispatcher
        self.feed = feed
        self.presence = presence
        self.inbox = inbox
        self.prompter = prompter
        self.partials = partials
        """What the holders of turns are writing."""

        self.session_tokens = session_tokens
        self.history = History(store, lambda: dispatcher.team)
        self.costs = Costs(store)
        self.clock = clock
        self.ids = ids
        self.settings = settings
        self.sessions = sessions
        self.detect_programs = detect_programs
        self.requests = requests
        self.counts = CommitCounts(dispatcher)
        self.loop_lags = Durations()
        """How late the event loop takes its steps."""

        self.workspaces = workspaces
        self.conversations = conversations
        """Conversations of agents with their programs, which a session can resume."""

        self.push = push
        """Notifications of browsers."""

        self.worker = worker
        self.nodes = NodeDesk(dispatcher, store.requests)
        self.files = files
        """Files of messages; none for a team without a home on disk."""

        self.notice = ""
        """A notice that interfaces show first."""

    @property
    def can_summon(self) -> bool:
        """Whether a summon can be carried out: by the lead, or by muster itself."""
        return self.births.possible or self.team.lead is not None

    @property
    def turns(self) -> TurnConfig:
        """Default rules of a new channel."""
        return self.settings.current.turns

    @property
    def drain_seconds(self) -> float:
        """How long sessions may finish by themselves when muster is asked to stop."""
        return self.settings.current.server.drain_seconds

    @property
    def births(self) -> Births:
        """Whether muster itself can create agents, and how it runs them."""
        return births_of(self.settings.current)

    @property
    def team(self) -> Team:
        """The committed team."""
        return self.dispatcher.team
