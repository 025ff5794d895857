"""Explains a conversation: its request, its route, its changes of state, and its end."""

from collections.abc import Sequence
from typing import Final

from muster.errors import NotFound
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import ConversationId
from muster.machines.state import MAIN, QUEUE
from muster.store.base import LogFilter, Stored
from muster.store.codec import decode
from muster.views.conversations import ConversationView, views_of
from muster.views.why import Explanation, LogRead, Reading

PAGE_EVENTS: Final = 1000

STARTS: Final = LogFilter(types=frozenset({"delegation_started", "conversation_start"}))
STEPS: Final = LogFilter(
    types=frozenset({"routed", "state_transition", "permission_denied", "conversation_end"})
)
"""The events that tell how a conversation came to where it is."""


def of_conversation(name: ConversationId) -> Reading[list[Explanation]]:
    """The steps of a conversation, the newest first, back to its request."""
    session, start = yield from _started(name)
    steps = [start, *(yield from _steps(name, start.seq))]
    view = views_of([session, *steps])[name]
    return [Explanation(f"{name}: ", _title(view), steps[::-1])]


def _title(view: ConversationView) -> str:
    if view.outcome is not None:
        return f"{view.outcome}: {view.summary}"
    if view.state == QUEUE:
        return "it waits in the queue"
    return "it is with MAIN" if view.state == MAIN else f"{view.state} works on it"


def _started(name: ConversationId) -> Reading[tuple[Event, Event]]:
    """The start of the session of a conversation, and its own."""
    after, session = 0, None
    while page := (yield LogRead(after, PAGE_EVENTS, STARTS)):
        after = page[-1].seq
        for event in map(_decoded, page):
            if isinstance(event.fact, e.DelegationStarted):
                session = event
            elif session is not None and _is_of(event, name):
                return session, event
    raise NotFound(kind="conversation", name=name)


def _steps(name: ConversationId, after: int) -> Reading[Sequence[Event]]:
    """The steps of a conversation after its start, until it was closed."""
    found: list[Event] = []
    while page := (yield LogRead(after, PAGE_EVENTS, STEPS)):
        after = page[-1].seq
        found += [each for each in map(_decoded, page) if _is_of(each, name)]
        if found and isinstance(found[-1].fact, e.ConversationEnd):
            break
    return found


def _decoded(stored: Stored) -> Event:
    return decode(stored.data)


def _is_of(event: Event, name: ConversationId) -> bool:
    return getattr(event.fact, "conversation", None) == name
