"""The whole team in one answer, or the parts of it that changed, now or at an earlier moment.

A page that shows a team loads everything once, follows the events, and reloads the seats and
channels that events name. So it never folds events by itself, and shows what muster says. The
members of a channel are part of it.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

import msgspec

from muster.errors import Invalid
from muster.http.routing import EVERYBODY, ApiCall, route
from muster.http.types import Instant, Query, Seq, in_utc
from muster.machines.ids import ChannelId, SeatId, SessionId
from muster.machines.state import Agent, Status, Team
from muster.machines.vocabulary import Budget, OnSilence, Role, Scope
from muster.version import __version__
from muster.views.agents import Button, button_of, view_agent, view_run
from muster.views.answers import View
from muster.views.answers.agents import AgentView, SessionView, UsageView
from muster.views.answers.channels import ChannelState, ShutdownView
from muster.views.answers.needs import NeedList
from muster.views.channels import channel_state
from muster.views.needs import view_needs
from muster.views.run.shutdown import shutdown_notice, view_shutdown


class Card(AgentView, frozen=True, kw_only=True):
    """An agent with everything that the overview of a team shows; its soul is left out."""

    id: str
    """Its name in paths: its own, or that of its document while it has none."""

    generation: int
    answered: int
    set_by: str
    set_because: str
    set_at: datetime | None
    note: str
    differs_since: datetime | None
    running: SessionView | None
    autostart: bool
    silent_seconds: float | None
    """How long it may show no sign of work; null without a watch."""

    on_silence: OnSilence

    budget: Budget
    counted: UsageView | None
    """The usage that counts against the budget: since a person last set the desired state."""

    unread: int
    """The newest message to it alone that it has not acted on, or 0."""

    spoke: int
    """The newest message that it said outside of channels, or 0."""

    seen: int
    """Up to where a person has seen those."""


class StateView(View, frozen=True, kw_only=True):
    """A team, or a part of it, as it was at one place in the log."""

    seq: int
    now: datetime
    boot: SessionId
    """This life of muster."""

    version: str
    role: Role
    """The role of the caller: an operator may do everything, an agent acts as itself, a viewer only
    reads."""

    user: str | None
    """The name under which the caller acts; null for an agent."""

    scope: Scope | None
    """The seats and channels that a member may act on; null for the whole team."""

    human: str
    whole: bool
    """Whether it is the whole team, or only the parts of the query."""

    button: Button | None
    births: bool
    """Whether SUMMON can create agents: there is a lead, or a program for them."""

    notice: str
    """A note for everybody who looks at the team."""

    settings_problem: str
    """The mistake in the settings file, for operators; empty without one."""

    settings_waiting: tuple[str, ...]
    """The changed settings that hold after a restart of muster, for operators."""

    nodes: int
    """How many machines run the team."""

    shutdown: ShutdownView | None
    """Set while muster is shutting down."""

    needs: NeedList
    """What needs a person, whatever parts were asked for."""

    agents: tuple[Card, ...]
    channels: tuple[ChannelState, ...]


class StateQuery(Query, frozen=True, kw_only=True):
    """Which parts of a team; without any, all of it."""

    seats: str = ""
    """Numbers of seats, joined by commas."""

    channels: str = ""
    """Names of channels, joined by commas. Their members come with them."""

    seq: Seq | None = None
    """The team as it was after this event; then `now` is when that was."""

    at: Instant | None = None
    """The team as it was at this time."""


@route("GET", "/api/state", may=EVERYBODY, compress=True)
async def show_state(call: ApiCall, query: StateQuery) -> StateView:
    """Show the team; with `seq` or `at` as it was, with `seats` or `channels` parts of it."""
    team, now = await _team_at(call, query.seq, query.at)
    whole = not query.seats and not query.channels
    names = sorted(team.channels) if whole else _channels(team, query.channels)
    seats = sorted(team.agents) if whole else _seats(team, query.seats, names)
    shown = (team.agents[seat] for seat in seats)
    known = (each for each in shown if each.status is not Status.NONE and not each.retired)
    agents = tuple(card(team, each, now) for each in known)
    in_force = call.muster.settings.in_force
    is_operator = call.caller.role is Role.OPERATOR
    return StateView(
        seq=team.seq,
        now=now,
        boot=call.muster.dispatcher.life,
        version=__version__,
        role=call.caller.role,
        human=team.human,
        user=call.identity.user,
        scope=call.caller.scope,
        whole=whole,
        button=button_of(team, can_summon=call.muster.can_summon),
        births=call.muster.births.possible or team.lead is not None,
        settings_problem=in_force.trouble if is_operator else "",
        settings_waiting=in_force.waiting if is_operator else (),
        notice=_notice(call),
        nodes=len(team.nodes),
        shutdown=view_shutdown(call.team),
        needs=view_needs(team, now),
        agents=agents,
        channels=tuple(channel_state(team, team.channels[name]) for name in names),
    )


def _notice(call: ApiCall) -> str:
    """The shutdown that is under way goes before any other notice."""
    shutdown = call.team.shutdown
    if shutdown is None:
        return call.muster.notice
    return shutdown_notice(call.team, shutdown, call.muster.clock.now())


class TeamMoment(NamedTuple):
    """A team, and the time that it is shown for."""

    team: Team
    now: datetime


async def _team_at(call: ApiCall, seq: int | None, at: datetime | None) -> TeamMoment:
    """The team as it was after an event, or at a time; without either, as it is."""
    if seq is not None and at is not None:
        raise Invalid(what="seq and at", why="exclude each other; give one of them")
    history, now = call.muster.history, call.muster.clock.now()
    if at is not None:
        at = in_utc("at", at)
        team = await history.team_at(await history.seq_at(at))
        return TeamMoment(call.access.shown(team), at)
    if seq is not None:
        moment = await history.moment(seq)
        return TeamMoment(call.access.shown(moment.team), moment.at or now)
    return TeamMoment(call.team, now)


def _channels(team: Team, asked: str) -> list[ChannelId]:
    names = {ChannelId(name) for name in asked.split(",")}
    return sorted(name for name in names if name in team.channels)


def _seats(team: Team, asked: str, channels: Iterable[ChannelId]) -> list[SeatId]:
    """The seats of the query that are taken, and those of the members of these channels."""
    words = [word for word in asked.split(",") if word]
    if not all(word.isascii() and word.isdecimal() and len(word) < 10 for word in words):
        raise Invalid(what="seats", why="must be numbers, joined by commas")
    found = {SeatId(int(word)) for word in words}
    for name in channels:
        found.update(team.channels[name].ring)
    return sorted(seat for seat in found if seat in team.agents)


def card(team: Team, agent: Agent, now: datetime) -> Card:
    """An agent, as the overview of the team shows it."""
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
        set_because=run.set_because,
        set_at=run.set_at,
        note=run.note,
        differs_since=run.differs_since,
        running=run.session,
        autostart=agent.run.policy.autostart,
        silent_seconds=agent.run.policy.silent_seconds,
        on_silence=agent.run.policy.on_silence,
        budget=run.budget,
        counted=run.used,
        unread=agent.last_message if agent.last_message > agent.read else 0,
        spoke=agent.spoke,
        seen=agent.seen,
    )
