"""A team that is open, as those who talk to it know it. `app.py` opens and closes it."""

from muster.machines.state import Team
from muster.machines.vocabulary import TurnConfig
from muster.services.dispatcher import Dispatcher
from muster.services.feed import Feed
from muster.services.ports import Clock, Ids
from muster.services.presence import Presence
from muster.store.base import EventStore


class Muster:
    """A team that is open."""

    def __init__(
        self,
        *,
        store: EventStore,
        dispatcher: Dispatcher,
        feed: Feed,
        presence: Presence,
        clock: Clock,
        ids: Ids,
        turns: TurnConfig,
    ) -> None:
        """Hold what interfaces need: the write path, the feed, the log to read in, and time."""
        self.store = store
        self.dispatcher = dispatcher
        self.feed = feed
        self.presence = presence
        self.clock = clock
        self.ids = ids
        self.turns = turns
        """The rules of a new channel, as far as it does not bring its own."""

    @property
    def team(self) -> Team:
        """The team as far as it is on disk."""
        return self.dispatcher.team
