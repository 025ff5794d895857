"""Sessions that people run by hand: they appear as agents, on the evidence of their hooks.

A conversation that comes back gets its seat back, and so does the process that begins another one.
Any other session takes a seat of the same kind that nobody uses: one without an unread message,
which was meant for the session before, and which no person has kept. Muster neither starts nor ends
such a session, and grants it no turns; a disabled or retired one is left alone.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from muster.errors import WrongState
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.actors import refuse_agent
from muster.machines.bounds import check_looks
from muster.machines.events import Fact
from muster.machines.identity.decide import enroll_agent, move
from muster.machines.identity.membership import rename_agent
from muster.machines.identity.memory import edit_soul
from muster.machines.ids import SeatId, name_key
from muster.machines.names import look_alike
from muster.machines.spending import require_plausible
from muster.machines.state import Agent, HandSession, Team
from muster.machines.vocabulary import Authority, Status, Usage

PREFIX: Final = "terminal"
"""Sessions are called `terminal-1`, `terminal-2` and so on until a person names them."""


def adopt_session(team: Team, command: c.AdoptSession, now: datetime) -> Iterator[Fact]:
    check_looks("the session", command.conversation, command.folder, command.model)
    agent = _seat_of(team, command)
    if agent is not None and (agent.disabled or agent.retired):
        return
    if agent is None:
        enrolled = list(enroll_agent(team, _enrolment(team), now))
        yield from enrolled
        agent = Agent(seat=_seat_in(enrolled), name=_free_name(team), status=Status.SLEEPING)
    if agent.hand is None or not _is_same(agent.hand, command):
        yield _adopted(agent, command)
    if agent.status is Status.SLEEPING:
        yield move(agent, "connected")
    elif not team.is_here(agent.confirmed_in):
        yield e.AgentConfirmed(seat=agent.seat, evidence="a hook")


def _seat_of(team: Team, command: c.AdoptSession) -> Agent | None:
    """The agent that a session is, or whose seat it takes; None if it needs a new one."""
    hands = [agent for seat in sorted(team.agents) if (agent := team.agents[seat]).hand is not None]
    for agent in hands:
        if agent.hand is not None and agent.hand.conversation == command.conversation:
            return agent
    for agent in hands:
        if agent.hand is not None and command.pid and _process(agent.hand) == _process(command):
            return agent
    return next(filter(_is_free, hands), None)


def _process(of: HandSession | c.AdoptSession) -> tuple[int, str]:
    return of.pid, of.started


def _is_free(agent: Agent) -> bool:
    """Whether another session may take this seat."""
    kept = agent.hand is not None and agent.hand.kept
    unread = agent.last_message > agent.read
    gone = agent.retired or agent.disabled or agent.status is not Status.SLEEPING
    return not (kept or unread or gone or agent.soul)


def _is_same(hand: HandSession, command: c.AdoptSession) -> bool:
    known = (hand.conversation, hand.folder, hand.model, *_process(hand))
    model = command.model or hand.model
    return known == (command.conversation, command.folder, model, *_process(command))


def _adopted(agent: Agent, command: c.AdoptSession) -> e.SessionAdopted:
    return e.SessionAdopted(
        seat=agent.seat,
        conversation=command.conversation,
        folder=command.folder,
        model=command.model,
        pid=command.pid,
        started=command.started,
        counted=command.counted,
    )


def _enrolment(team: Team) -> c.EnrollAgent:
    return c.EnrollAgent(name=_free_name(team), authority=Authority.SELF)


def _free_name(team: Team) -> str:
    names = (f"{PREFIX}-{number}" for number in range(1, len(team.agents) + 2))
    return next(
        name for name in names if name_key(name) not in team.names and not look_alike(team, name)
    )


def _seat_in(facts: Sequence[Fact]) -> SeatId:
    return next(each.agent.grid_position for each in facts if isinstance(each, e.AgentEnrolled))


def report_hand(team: Team, command: c.ReportHand, now: datetime) -> Iterator[Fact]:
    agent, hand = _by_hand(team, command.seat)
    check_looks("the session", command.about, command.model)
    if command.counted is not None:
        require_plausible(command.counted)
    counted = hand.counted if command.counted is None else command.counted
    state, about = command.state or hand.state, command.about
    about = hand.about if command.state is None else about
    model = command.model or hand.model
    if (state, about, model, counted) == (hand.state, hand.about, hand.model, hand.counted):
        return
    yield e.HandReported(
        seat=agent.seat,
        state=state,
        about=about,
        model=model,
        counted=counted,
        usage=_difference(counted, hand.counted),
        refund_usd=max(0.0, round(hand.counted.cost_usd - counted.cost_usd, 8)),
    )


def _difference(now: Usage, before: Usage) -> Usage:
    """The usage since the last report."""
    return Usage(
        cost_usd=max(0.0, round(now.cost_usd - before.cost_usd, 8)),
        input_tokens=max(0, now.input_tokens - before.input_tokens),
        output_tokens=max(0, now.output_tokens - before.output_tokens),
        cache_read_tokens=max(0, now.cache_read_tokens - before.cache_read_tokens),
        cache_write_tokens=max(0, now.cache_write_tokens - before.cache_write_tokens),
    )


def keep_hand(team: Team, command: c.KeepHand, now: datetime) -> Iterator[Fact]:
    agent, hand = _by_hand(team, command.seat)
    if command.name:
        yield from rename_agent(team, c.RenameAgent(seat=agent.seat, name=command.name), now)
    if command.soul:
        yield from edit_soul(team, c.EditSoul(seat=agent.seat, soul=command.soul), now)
    if not hand.kept:
        yield e.HandKept(seat=agent.seat)


def check_keep(team: Team, command: c.KeepHand, actor: str) -> None:
    """Agents do not give seats away."""
    refuse_agent(actor, "keep a seat")


def _by_hand(team: Team, seat: SeatId) -> tuple[Agent, HandSession]:
    agent = team.agent(seat)
    if agent.hand is None:
        raise WrongState(act="do that with", name=agent.id, state="not run by hand")
    return agent, agent.hand
