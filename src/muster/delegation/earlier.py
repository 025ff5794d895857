"""The log of a session from before the server took it over: its earlier conversations are there.

The start of the session in the team's log names the folder of the earlier one
(`DelegationStarted.continues`), and its numbering goes on from there, so an id means one
conversation of both. The earlier log is closed, and only read.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from muster.delegation.folder.workspace import KINDS
from muster.delegation.session_folder import HOME_FOLDER
from muster.errors import MusterError
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import ConversationId
from muster.store.base import LogFilter, ReadableLog
from muster.store.codec import decode
from muster.store.opening import open_reader
from muster.views.content.why_conversation import of_conversation
from muster.views.why import Explanation, read_from

PAGE_EVENTS: Final = 1024

_STARTS: Final = LogFilter(types=frozenset({"delegation_started"}))
_KINDS: Final = LogFilter(types=KINDS)


class PastSession(NamedTuple):
    """The folder of a session that goes on in the team's log, and its events."""

    root: Path
    events: Sequence[Event]

    def has(self, conversation: ConversationId) -> bool:
        """Whether a conversation was opened in it."""
        return any(getattr(each.fact, "conversation", None) == conversation for each in self.events)

    def explain(self, conversation: ConversationId) -> list[Explanation]:
        """How a conversation came to its end, read from the log."""
        with open_reader(_home_of(self.root)) as log:
            return read_from(log, of_conversation(conversation))


def earlier_sessions(events: Iterable[Event]) -> list[PastSession]:
    """The sessions that go on in these events, the oldest first; one that is gone has no events."""
    return [PastSession(root, _read(root)) for root in _roots(events)]


def earlier_homes(home: Path) -> list[Path]:
    """The homes of the sessions that go on in the last session of a team's log."""
    starts = _events(home, _STARTS)
    last = [each for each in starts if _path(each) == _path(starts[-1])]
    return [_home_of(root) for root in _roots(last)]


def _roots(events: Iterable[Event]) -> Iterator[Path]:
    for event in events:
        if isinstance(event.fact, e.DelegationStarted) and event.fact.continues:
            yield Path(event.fact.continues)


def _home_of(root: Path) -> Path:
    return root / HOME_FOLDER


def _path(event: Event) -> str:
    assert isinstance(event.fact, e.DelegationStarted)
    return event.fact.path


def _read(root: Path) -> Sequence[Event]:
    return _events(_home_of(root), _KINDS)


def _events(home: Path, where: LogFilter) -> Sequence[Event]:
    """The events of a log; none if it cannot be read, because somebody removed it."""
    try:
        with open_reader(home) as log:
            return list(_pages(log, where))
    except MusterError:
        return ()


def _pages(log: ReadableLog, where: LogFilter) -> Iterator[Event]:
    after = 0
    while page := log.read(after=after, limit=PAGE_EVENTS, where=where):
        after = page[-1].seq
        yield from (decode(each.data) for each in page)
