"""Search over HTTP: messages that have all words, in the channels that the caller may read."""

import asyncio
from typing import Annotated, Final

import msgspec

from muster import limits
from muster.http.routing import EVERYBODY, ApiCall, route
from muster.http.types import Query
from muster.machines.ids import ChannelId
from muster.store.base import SEQ_END, MessageSearch
from muster.views.answers.messages import SearchPage
from muster.views.content.searching import found_page, searched_words

SEARCH_MESSAGES: Final = 20
SEARCH_MESSAGES_MAX: Final = 100


class SearchQuery(Query, frozen=True, kw_only=True):
    """Which messages to find."""

    q: Annotated[str, msgspec.Meta(max_length=limits.SEARCH_CHARS_MAX)]
    """Words; a message must have all of them. Everything but letters and digits separates words."""

    channel: str | None = None
    agent: str | None = None
    """Only messages of this agent, or to it alone."""

    before: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Only messages with a smaller seq."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=SEARCH_MESSAGES_MAX)] = SEARCH_MESSAGES


@route("GET", "/api/search", may=EVERYBODY)
async def search_messages(call: ApiCall, query: SearchQuery) -> SearchPage:
    """Search the messages of all channels that the caller may read, newest first."""
    team = call.team
    search = MessageSearch(
        words=searched_words(query.q),
        channel=None if query.channel is None else team.channel(ChannelId(query.channel)).id,
        seat=None if query.agent is None else call.agent(query.agent).seat,
        hidden=call.access.hidden,
    )
    before = SEQ_END if query.before is None else query.before
    found = await call.muster.store.search(search, before=before, limit=query.limit)
    # In a thread: a page of large messages takes longer than others may wait for the event loop.
    return await asyncio.to_thread(found_page, team, query.q, search, found)
