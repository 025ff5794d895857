"""The whole team in one answer, and the parts of it that somebody saw change.

A page that shows a team asks for everything once, follows the events, and asks again for the seats
and channels that events were about. So it never adds up events by itself, and what it shows is what
muster says. Events name what they are about; whoever sits in a channel is about it too.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec
from starlette.responses import Response

from muster.errors import Invalid
from muster.http.compression import packed
from muster.http.routes.history import Instant, Seq, seen_at
from muster.http.routing import EVERYBODY, Call, Route
from muster.machines.ids import ChannelId, SeatId, SessionId
from muster.machines.state import Agent, Status, Team
from muster.version import __version__
from muster.views.agents import AgentView, SessionView, View, view_agent, view_run
from muster.views.channels import ChannelState, channel_state
from muster.views.documents import Button, button_of


class Card(AgentView, frozen=True, kw_only=True):
    """Somebody in a seat, with all that a glance at a team shows; the soul is not in it."""

    id: str
    """What paths call it: its name, or its document while it has none."""

    generation: int
    answered: int
    set_by: str
    set_at: datetime | None
    note: str
    differs_since: datetime | None
    running: SessionView | None
    unread: int
    """The newest message to it alone that it has not acted on, or 0."""


class StateView(View, frozen=True, kw_only=True):
    """A team, or a part of it, as it was at one place in the log."""

    seq: int
    now: datetime
    boot: SessionId
    """This life of muster."""

    version: str
    human: str
    whole: bool
    """Whether everybody is in it, or only those who were asked for."""

    button: Button | None
    births: bool
    """Whether SUMMON brings anybody to life: there is a lead, or a program for it."""

    notice: str
    """What whoever looks should know first."""

    agents: tuple[Card, ...]
    channels: tuple[ChannelState, ...]


class Parts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which parts of a team; without any, all of it."""

    seats: str = ""
    """Numbers of seats, joined by commas."""

    channels: str = ""
    """Names of channels, joined by commas. Their members come with them."""

    seq: Seq | None = None
    """The team as it was after this event; then `now` is when that was."""

    at: Instant | None = None
    """The team as it was at this time."""


async def show_state(call: Call) -> Response:
    """Show a team as it is now, or as it was, or some of it."""
    return packed(call, await _state(call))


async def _state(call: Call) -> StateView:
    parts: Parts = call.query
    team, now = await seen_at(call, parts.seq, parts.at)
    whole = not parts.seats and not parts.channels
    names = sorted(team.channels) if whole else _channels(team, parts.channels)
    seats = sorted(team.agents) if whole else _seats(team, parts.seats, names)
    shown = (team.agents[seat] for seat in seats)
    agents = tuple(card(team, each, now) for each in shown if each.status is not Status.NONE)
    return StateView(
        seq=team.seq,
        now=now,
        boot=team.boot,
        version=__version__,
        human=team.human,
        whole=whole,
        button=button_of(team),
        births=call.muster.births.possible or team.lead is not None,
        notice=call.muster.notice,
        agents=agents,
        channels=tuple(channel_state(team, team.channels[name]) for name in names),
    )


def _channels(team: Team, asked: str) -> list[ChannelId]:
    names = {ChannelId(name) for name in asked.split(",")}
    return sorted(name for name in names if name in team.channels)


def _seats(team: Team, asked: str, channels: Iterable[ChannelId]) -> list[SeatId]:
    """Those who were asked for and are there, and whoever sits in these channels."""
    words = [word for word in asked.split(",") if word]
    if not all(word.isascii() and word.isdecimal() and len(word) < 10 for word in words):
        raise Invalid(what="seats", why="are numbers, joined by commas")
    found = {SeatId(int(word)) for word in words}
    for name in channels:
        found.update(team.channels[name].ring)
    return sorted(seat for seat in found if seat in team.agents)


def card(team: Team, agent: Agent, now: datetime) -> Card:
    """Somebody, as a glance at the team shows them."""
    seen, run = view_agent(team, agent, now, whole=True), view_run(team, agent)
    assert seen.document is not None
    fields = {name: getattr(seen, name) for name in seen.__struct_fields__}
    fields["document"] = msgspec.structs.replace(seen.document, individuation_artifact=None)
    return Card(
        **fields,
        id=agent.id,
        generation=run.generation,
        answered=run.answered,
        set_by=run.set_by,
        set_at=run.set_at,
        note=run.note,
        differs_since=run.differs_since,
        running=run.session,
        unread=agent.last_message if agent.last_message > agent.read else 0,
    )


ROUTES: Final = (
    Route(
        method="GET",
        path="/api/state",
        handler=show_state,
        may=EVERYBODY,
        summary="The team now; with `seq` or `at` as it was; with `seats`, `channels` parts of it.",
        query=Parts,
        answer=StateView,
    ),
)
