"""Why over HTTP: agents, channels, conversations, events and approvals."""

import asyncio
from typing import Annotated

import msgspec

from muster.errors import NotFound
from muster.http.routing import EVERYBODY, ApiCall, route
from muster.http.types import Query
from muster.machines.ids import ChannelId, ConversationId
from muster.views import why
from muster.views.content.why_conversation import of_conversation
from muster.views.why import Explanation, ExplanationList, Reading, read_async, view_explanations


class WhyQuery(Query, frozen=True, kw_only=True):
    """An event, by its place in the log."""

    seq: Annotated[int, msgspec.Meta(ge=1, le=why.SEQ_MAX)]


@route("GET", "/api/agents/{name}/why", may=EVERYBODY)
async def why_agent(call: ApiCall, name: str) -> ExplanationList:
    """Why an agent is as it is: each machine's newest change, followed to its causes."""
    return await _explained(call, why.of_agent(call.team, call.agent(name)))


@route("GET", "/api/channels/{channel}/why", may=EVERYBODY)
async def why_channel(call: ApiCall, channel: str) -> ExplanationList:
    """Why a channel is as it is: the grant of its turn, followed to its causes."""
    found = call.team.channel(ChannelId(channel))
    return await _explained(call, why.of_channel(call.team, found))


@route("GET", "/api/approvals/{approval}/why", may=EVERYBODY)
async def why_approval(call: ApiCall, approval: str) -> ExplanationList:
    """How a request for approval came about, and how it was answered."""
    return await _explained(call, why.of_approval(approval))


@route("GET", "/api/conversations/{conversation}/why", may=EVERYBODY)
async def why_conversation(call: ApiCall, conversation: str) -> ExplanationList:
    """How a conversation came to where it is: its steps, the newest first, back to its request."""
    name = ConversationId(conversation)
    earlier = await call.muster.requests.conversations.earlier(name)
    if earlier is None:
        return await _explained(call, of_conversation(name))
    found = await asyncio.to_thread(earlier.explain, name)
    return view_explanations(call.team, found)


@route("GET", "/api/why", may=EVERYBODY)
async def why_event(call: ApiCall, query: WhyQuery) -> ExplanationList:
    """How an event came about: the event, and then each time its cause."""
    if query.seq > call.team.seq:
        raise NotFound(kind="event", name=str(query.seq))
    return await _explained(call, why.of_event(str(query.seq)))


async def _explained(call: ApiCall, reading: Reading[list[Explanation]]) -> ExplanationList:
    found = await read_async(call.muster.store, reading, call.access.shown_event)
    return view_explanations(call.team, found)
