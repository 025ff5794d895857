"""What an agent is to do now: a long-poll for agents that read no event stream.

    GET /api/agents/pm/next                  a fresh start: its turn is told, again if need be
    GET /api/agents/pm/next?known=design:7   it works on turn 7 in 'design': only what is new

What there is to do, and the delivery of messages, is `inbox/inbox.py`'s.
"""

from typing import Annotated

import msgspec

from muster.errors import Invalid
from muster.http.routing import ACTORS, Call, Route
from muster.inbox.errands import Known, Next
from muster.machines.ids import ChannelId
from muster.team import Muster


class Asking(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How long to wait for something to do, and what is known already."""

    wait: Annotated[float, msgspec.Meta(ge=0, le=60)] = 30.0
    known: str = ""
    """Turns that the agent is working on: `channel:epoch`, joined by commas."""


def end_waiting(muster: Muster) -> None:
    """Answer all who wait, because the server ends."""
    muster.inbox.close()


def parse_known(text: str) -> Known:
    """The turns that stand in `design:7,reviews:3`."""
    known: dict[ChannelId, int] = {}
    for part in filter(None, text.split(",")):
        channel, colon, epoch = part.rpartition(":")
        if not colon or not (epoch.isascii() and epoch.isdecimal()) or len(epoch) > 18:
            raise Invalid(what=f"known {part!r}", why="must be channel:epoch")
        known[ChannelId(channel)] = int(epoch)
    return known


async def what_next(call: Call) -> Next:
    """What the agent is to do now, or nothing after a while."""
    asking: Asking = call.query
    agent = call.acting_as(call.path["name"])
    known = parse_known(asking.known)
    return await call.muster.inbox.next(agent.seat, call.send, known=known, wait_s=asking.wait)


ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/api/agents/{name}/next",
        handler=what_next,
        may=ACTORS,
        summary="What an agent is to do now: its turn, messages, stop, or nothing yet.",
        query=Asking,
        answer=Next,
        waits=True,
    ),
)
