"""Needs of a person over HTTP: the list, what is put aside of it, and what was seen.

The list is derived from the log, so every browser, phone and shell shows the same.
"""

from typing import Annotated

import msgspec

from muster.http.routing import EVERYBODY, PEOPLE, ApiCall, route
from muster.http.types import Seq, StrictBody
from muster.limits import MORE_TURNS_MAX, SNOOZE_SECONDS_MAX, SNOOZE_SECONDS_MIN
from muster.machines.commands import AllowMore, ReopenNeed, SeeMessages, SettleNeed
from muster.machines.ids import ChannelId
from muster.views.answers.needs import NeedList
from muster.views.needs import view_needs


class SettleBody(StrictBody, frozen=True, kw_only=True):
    """How to put something aside."""

    seconds: Annotated[float, msgspec.Meta(ge=SNOOZE_SECONDS_MIN, le=SNOOZE_SECONDS_MAX)] | None = (
        None
    )
    """After this time it comes back; without it, it is done."""


class SeenBody(StrictBody, frozen=True, kw_only=True):
    """The messages that a person has seen: those of an agent, or those of a channel; with neither,
    the person has looked at the whole team."""

    upto: Seq
    agent: str | None = None
    channel: str | None = None


@route("GET", "/api/needs", may=EVERYBODY)
async def list_needs(call: ApiCall) -> NeedList:
    """List what needs a person, the most urgent first."""
    return view_needs(call.team, call.muster.clock.now())


@route("POST", "/api/needs/{key}/settle", may=PEOPLE)
async def settle_need(call: ApiCall, key: str, body: SettleBody) -> NeedList:
    """Put something aside: as done, or for some time."""
    await call.send(SettleNeed(key=key, seconds=body.seconds))
    return view_needs(call.team, call.muster.clock.now())


@route("POST", "/api/needs/{key}/reopen", may=PEOPLE)
async def reopen_need(call: ApiCall, key: str) -> NeedList:
    """Show again what was put aside."""
    await call.send(ReopenNeed(key=key))
    return view_needs(call.team, call.muster.clock.now())


class MoreBody(StrictBody, frozen=True, kw_only=True):
    """How long work may go on beyond a limit."""

    turns: Annotated[int, msgspec.Meta(ge=1, le=MORE_TURNS_MAX)] = 10


@route("POST", "/api/needs/{key}/more", may=PEOPLE)
async def allow_more(call: ApiCall, key: str, body: MoreBody) -> NeedList:
    """Let work go on that stopped at a limit, or as a runaway, for some turns."""
    await call.send(AllowMore(key=key, turns=body.turns))
    return view_needs(call.team, call.muster.clock.now())


@route("POST", "/api/seen", may=PEOPLE)
async def see_messages(call: ApiCall, body: SeenBody) -> NeedList:
    """Record that a person has seen messages, up to a place in the log."""
    seat = call.agent(body.agent).seat if body.agent is not None else None
    channel = ChannelId(body.channel) if body.channel is not None else None
    await call.send(SeeMessages(upto=body.upto, seat=seat, channel=channel))
    return view_needs(call.team, call.muster.clock.now())
