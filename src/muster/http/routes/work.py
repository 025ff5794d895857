"""The next work of an agent: a long poll for agents that read no event stream.

    POST /api/agents/pm/next                  a fresh start: its turn is handed out, perhaps again
    POST /api/agents/pm/next?known=design:7   it works on turn 7 in 'design': only what is new
    POST /api/agents/pm/next?paused=design:7  it knows that turn 7 is paused, and waits to go on
    POST /api/agents/pm/next?known=design:7&channel=design   only news of that turn

It is a POST: the messages of an answer count as handed over, so no link, prefetch or proxy may ask.
The order of work, and the delivery of messages, belong to `inbox/inbox.py`.
"""

from typing import Annotated

import msgspec

from muster.http.parsing import parse_known
from muster.http.recording import record_told
from muster.http.routing import ACTORS, ApiCall, route
from muster.http.types import Query
from muster.inbox.errands import Wanted
from muster.machines.ids import ChannelId
from muster.views.answers.messages import Next


class NextQuery(Query, frozen=True, kw_only=True):
    """How long to wait for work, and which turns are known already."""

    wait: Annotated[float, msgspec.Meta(ge=0, le=60)] = 30.0
    known: str = ""
    """Turns that the agent is working on: `channel:epoch`, joined by commas."""

    paused: str = ""
    """Turns of the agent that it knows to be paused: answered when they go on, or are lost."""

    messages: bool = True
    """Whether to hand over messages. Without them only these turns are watched."""

    channel: ChannelId | None = None
    """Only the turn and the messages of this channel, and direct messages to the agent."""

    outside: bool = True
    """Whether to hand over messages of channels in which the agent does not have the turn. Without
    them, they come with its next turn there."""

    places: bool = False
    """Whether the agent joins again where it lost its place by silence or a disconnect. Where a
    person removed it, it stays out."""


@route("POST", "/api/agents/{name}/next", may=ACTORS, waits=True)
async def next_work(call: ApiCall, name: str, query: NextQuery) -> Next:
    """Wait for the next work of an agent: its turn, messages, stop, or nothing yet."""
    agent = call.acting_as(name)
    wanted = Wanted(
        known=parse_known(query.known),
        paused=parse_known(query.paused),
        messages=query.messages,
        channel=query.channel,
        outside=query.outside,
        places=query.places,
    )
    found = await call.muster.inbox.next(
        agent.seat, call.send_more, wanted, wait_s=query.wait, actor=call.caller.actor
    )
    return await record_told(call, agent.seat, found)
