"""Exhaustive exploration of the states that a small team can reach.

    python -m tests.simulation.explore

A state is reduced to what decides the next steps: growing numbers and times are left out, and teams
that differ only in names count once. In each state every command of every sender is tried, in and
out of turn, and every invariant is checked.
"""

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator
from datetime import UTC, datetime

import msgspec

from muster.errors import Refused
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.events import Event
from muster.machines.identity.crew import is_shown
from muster.machines.identity.places import grid_place, in_free_seat, occupant
from muster.machines.ids import (
    GRID_SEATS,
    LEAD_SEAT,
    SEATS_APART,
    ChannelId,
    NodeId,
    SeatId,
    SessionId,
)
from muster.machines.kernel import deadlines
from muster.machines.kernel.invariants import violations
from muster.machines.kernel.team import ACTOR_RULES, decide
from muster.machines.policies import RunPolicy
from muster.machines.state import Agent, Channel, Team, TurnState
from muster.machines.turns.table import has_news
from muster.machines.vocabulary import (
    Authority,
    InterruptMode,
    Outcome,
    RunMode,
)
from tests.simulation.checkers import forgotten_turns, granted_in_vain, usurped

START = datetime(2026, 1, 1, tzinfo=UTC)
_STATES_MAX = 1_000_000
_OF_AGENTS = frozenset({c.CompleteTurn, c.Speak, c.WaitTurn, c.EndForgottenTurn})
_DUE = frozenset({c.CheckChannel, c.CheckAgent, c.StartSession, c.CheckApprovals, c.CheckSession})
"""Commands that muster sends at a deadline."""

_ASKED_MAX = 2  # open requests of one agent
_LEAD_MODES = (RunMode.CONTINUOUS, RunMode.PAUSE)
"""Desired states of a lead. Its one-shots would treble the space, and the agents that it runs see
the end of its session, not its mode."""


class Report(msgspec.Struct, frozen=True):
    """The result of an exploration."""

    name: str
    states: int
    transitions: int
    refusals: int
    moves: frozenset[tuple[str, str, str]]
    """The observed transitions of machines: from, to, trigger."""

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.states} states, {self.transitions} transitions,"
            f" {self.refusals} refusals, every invariant held"
        )


class Space(msgspec.Struct, frozen=True):
    """The start, the commands to try in a state, and the key that identifies a state."""

    name: str
    start: Callable[[], Team]
    tries: Callable[[Team], Iterable[Command]]
    key: Callable[[Team], Hashable]


def explore(space: Space) -> Report:
    """Visit every reachable state."""
    team = space.start()
    seen = {space.key(team)}
    frontier: list[tuple[Team, datetime]] = [(team, START)]
    transitions = refusals = 0
    moves: set[tuple[str, str, str]] = set()
    while frontier:
        team, now = frontier.pop()
        life = life_of(team)
        for command, actor in _sent(space.tries(team)):
            when = max(now, _when(team, command, now)) if type(command) in _DUE else now
            try:
                decision = decide(team, command, when, actor=actor, life=life)
            except Refused:
                refusals += 1
                continue
            transitions += 1
            if not decision.events:
                continue  # the same state
            if actor != "muster":  # no event has another actor than its command, or muster
                assert not [wrong for event in decision.events for wrong in usurped(event)]
            assert not list(granted_in_vain(decision.team, decision.events))
            moves.update(_moves(decision.events))
            key = space.key(decision.team)
            if key not in seen:
                seen.add(key)
                check(decision.team, when)
                assert len(seen) < _STATES_MAX, "the space does not seem to end"
                frontier.append((decision.team, when))
    return Report(space.name, len(seen), transitions, refusals, frozenset(moves))


def life_of(team: Team) -> SessionId:
    """The life that decides every command: that of the only machine, or of the oldest."""
    oldest = min(team.nodes.values(), key=lambda node: node.since, default=None)
    return SessionId("") if oldest is None else oldest.life


def _sent(commands: Iterable[Command]) -> Iterator[tuple[Command, str]]:
    """Each command with its sender; where there is a rule about that, by a person and an agent."""
    for command in commands:
        kind = type(command)
        if kind in ACTOR_RULES:
            yield command, "person:Ann"
            yield command, "agent:explorer"
        else:
            yield command, "agent:explorer" if kind in _OF_AGENTS else "muster"


def check(team: Team, now: datetime) -> None:
    """Raise if a state breaks an invariant, or if a free turn is not granted."""
    wrong = [*violations(team), *forgotten_turns(team, now)]
    assert not wrong, wrong


def _moves(events: Iterable[Event]) -> Iterator[tuple[str, str, str]]:
    for event in events:
        fact = event.fact
        if isinstance(fact, e.StateTransition):
            yield fact.source, fact.target, fact.trigger


def _when(team: Team, command: Command, now: datetime) -> datetime:
    """The time of a command: a deadline is sent when it is due, any other command at once."""
    match command:
        case c.CheckChannel(channel=channel):
            deadline = deadlines.of(team, channel)
        case c.CheckAgent(seat=seat) | c.StartSession(seat=seat, trigger="retry"):
            deadline = deadlines.of(team, seat)
        case c.CheckApprovals(seat=seat) | c.CheckSession(seat=seat):
            deadline = deadlines.of(team, seat)
        case _:
            return now
    return deadline.at if deadline else now


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


def turn_space(agents: int, channels: int) -> Space:
    """Agents that connect and disconnect, in channels that any of them may join and leave."""
    seats = tuple(SeatId(9 + number) for number in range(agents))
    names = tuple(ChannelId(f"c{number}") for number in range(channels))
    config = e.TurnConfig(
        human_interrupt_mode=InterruptMode.INTERRUPT,
        auto_detect_turn_end=True,
        rest_after_idle_rounds=1,
        turns_per_message=0,
        alike_in_a_row=0,
    )

    def start() -> Team:
        commands: list[Command] = [
            c.StartMuster(server_session=SessionId("boot"), muster_version="explored")
        ]
        for seat in seats:
            commands.append(c.EnrollAgent(name=f"a{seat}", authority=Authority.SELF))
            commands.append(c.ConnectAgent(seat=seat))
        commands.extend(c.CreateChannel(channel=name, config=config) for name in names)
        return _play(commands)

    def tries(team: Team) -> Iterator[Command]:
        for seat in seats:
            yield c.ConnectAgent(seat=seat)
            yield c.DisconnectAgent(seat=seat, reason="left")
            if channels == 1 and agents < 3:
                yield c.RetireAgent(seat=seat)
        for name in names:
            yield c.PostMessage(channel=name, text="hello", speaker_name="Ann")
            yield c.CheckChannel(channel=name)
            for seat in seats:
                agent = team.agents[seat]
                if agent.present or channels == 1:  # joining in advance doubles a larger space
                    yield c.AddMember(channel=name, seat=seat)
                yield from _turn_tries(team, team.channels[name], agent)

    return Space(
        name=f"turns of {agents} agents in {channels} channels",
        start=start,
        tries=tries,
        key=_turn_key,
    )


def _turn_tries(team: Team, channel: Channel, agent: Agent) -> Iterator[Command]:
    name, seat = channel.id, agent.seat
    yield c.RemoveMember(channel=name, seat=seat)
    yield c.CompleteTurn(channel=name, seat=seat)
    yield c.Speak(channel=name, seat=seat, text="word")
    yield c.WaitTurn(channel=name, seat=seat, reason="dinner")
    yield c.ResumeTurn(channel=name, seat=seat)
    yield c.ResumeTurn(channel=name, seat=seat, if_own=True)
    yield c.EndForgottenTurn(channel=name, seat=seat, text="word")
    yield c.OverrideTurn(channel=name, seat=seat, to=TurnState.QUEUED)
    vacant = channel.turn is None and channel.drain is None and team.is_free(agent)
    if vacant or channel.state_of(seat) is TurnState.WAITING:  # a claim otherwise: claim_space
        yield c.OverrideTurn(channel=name, seat=seat, to=TurnState.ACTIVE)


Keyed = tuple[tuple[int, ...], tuple[tuple[SeatId, bool], ...]]
"""A channel's key but for its agents, and its agents in the order of the ring, present or not."""


def _turn_key(team: Team) -> Hashable:
    """The key of a team for turns. Agents and channels are numbered in order of appearance."""
    channels = list(team.channels.values())
    waiting = sorted([channel.vacant_since for channel in channels if channel.turn is None])
    keyed: list[Keyed] = [
        (
            _channel_key(channel, waiting),
            # a member may join in advance, and is not present then
            tuple([(seat, team.agents[seat].present) for seat in channel.ring]),
        )
        for channel in channels
    ]
    outside = [agent for agent in team.agents.values() if not agent.channels]
    strangers = sorted([agent.present + 2 * agent.retired for agent in outside])
    if len(keyed) > 1:
        keyed.sort(key=_without_ring)
    numbered = _numbered(keyed)
    if len(keyed) > 1 and keyed[0][0] == keyed[1][0]:  # alike but for the agents: in either order
        numbered = min(numbered, _numbered(keyed[::-1]))
    return (*numbered, *strangers)


def _without_ring(keyed: Keyed) -> tuple[int, ...]:
    return keyed[0]


def _numbered(keyed: list[Keyed]) -> list[tuple[int, ...]]:
    numbers: dict[SeatId, int] = {}
    return [
        (*key, *[2 * numbers.setdefault(seat, len(numbers)) + here for seat, here in ring])
        for key, ring in keyed
    ]


def _channel_key(channel: Channel, waiting: list[int]) -> tuple[int, ...]:
    """What decides the next steps in a channel, but for its agents."""
    turn = channel.turn
    wait = None if turn is None else turn.wait
    return (
        len(channel.ring),
        channel.cursor,
        waiting.index(channel.vacant_since) if turn is None else -1,
        turn is not None and turn.posted,
        turn is not None and turn.silent_at is not None,
        0 if wait is None else 1 + wait.by_human + 2 * wait.approval + 4 * wait.halts,
        turn is not None and turn.stopping,
        turn is not None and has_news(channel, turn.holder, channel.delivered, turn.granted),
        channel.idle is not None,
        channel.resting,
        channel.silent_turns,
    )


# ── identity, run control and presence ────────────────────────────────────────────────────────────


def agent_space(authority: Authority) -> Space:
    """One agent under all commands; and its lead, if a lead runs it."""
    seat = GRID_SEATS[0]
    led = authority is Authority.LEAD
    profile = e.Profile(name="Lyra", grid_position=seat, individuation_artifact="soul")
    place = e.Placeholder(grid_position=seat, color="#c9b1e8", gender="woman")

    def start() -> Team:
        commands: list[Command] = [
            c.StartMuster(server_session=SessionId("boot"), muster_version="explored")
        ]
        if led:
            commands.append(
                c.EnrollAgent(name="Julian", authority=Authority.MUSTER, seat=LEAD_SEAT)
            )
        if authority is Authority.SELF:
            commands.append(c.EnrollAgent(name="Lyra", authority=authority, seat=seat))
        return _play(commands)

    def tries(team: Team) -> Iterator[Command]:
        yield c.StartMuster(server_session=SessionId(f"b{team.seq}"), muster_version="explored")
        if not led:  # the gate is the same for all; with a lead it would double the space
            yield c.StopMuster(reason="explored")
            yield c.StopMuster(reason="explored", drain_seconds=60)
            yield c.CheckShutdown()
        yield c.SummonAgents(placeholders=(place,), authority=authority)
        speaker = team.agents.get(LEAD_SEAT if led else seat)
        for session in {speaker.session if speaker else None, SessionId("stranger"), None}:
            yield c.RegisterAgent(profile=profile, session=session)
            for entries in ((), (e.StatusEntry(grid_position=seat),)):
                yield c.ReportStatus(agents=entries, session=session)
        yield c.WakeAgents()
        yield c.SleepAgents()
        for each in (LEAD_SEAT, seat) if led else (seat,):
            yield from _run_tries(team, each)

    return Space(
        name=f"identity, run control and presence of an agent with authority {authority}",
        start=start,
        tries=tries,
        key=_agent_key,
    )


def place_space(generations: int) -> Space:
    """One place of the grid under a lead: its agents are retired, succeeded, and brought back."""
    first = GRID_SEATS[0]
    asked = e.Placeholder(grid_position=first, color="#c9b1e8", gender="woman")

    def start() -> Team:
        team = _play(
            [
                c.StartMuster(server_session=SessionId("boot"), muster_version="explored"),
                c.EnrollAgent(name="Julian", authority=Authority.MUSTER, seat=LEAD_SEAT),
                c.SetDesired(seat=LEAD_SEAT, desired=RunMode.CONTINUOUS, set_by="Ann"),
            ]
        )
        session = team.agents[LEAD_SEAT].session
        assert session is not None
        return decide(
            team, c.ReportSessionStarted(session=session), START, actor="muster", life=life_of(team)
        ).team

    def tries(team: Team) -> Iterator[Command]:
        lead = team.agents[LEAD_SEAT].session
        free = in_free_seat(team, asked)
        if free.grid_position < generations * SEATS_APART:
            for each in (asked, free):
                yield c.SummonAgents(placeholders=(each,), authority=Authority.LEAD, more=True)
        seats = [seat for seat in team.agents if seat != LEAD_SEAT]
        for seat in seats:
            profile = e.Profile(name=f"n{seat}", grid_position=seat, individuation_artifact="soul")
            yield c.RegisterAgent(profile=profile, session=lead)
            yield c.RetireAgent(seat=seat)
            yield c.RestoreAgent(seat=seat)
            yield c.CheckAgent(seat=seat)
        for listed in ((), seats, seats[-1:]):
            entries = tuple(e.StatusEntry(grid_position=seat) for seat in listed)
            yield c.ReportStatus(agents=entries, session=lead)

    return Space(
        name=f"one place of the grid with up to {generations} agents after another",
        start=start,
        tries=tries,
        key=_place_key,
    )


def _place_key(team: Team) -> Hashable:
    """The key of a state, which also checks what stands at the place: one agent at most."""
    agents = [team.agents[seat] for seat in sorted(team.agents)]
    there = [each for each in agents if is_shown(each) and grid_place(team, each) == GRID_SEATS[0]]
    assert len(there) <= 1, there
    assert bool(there) is (occupant(team, GRID_SEATS[0]) is not None)
    return tuple((_one_agent_key(team, each), each.seat) for each in agents)


def _run_tries(team: Team, seat: SeatId) -> Iterator[Command]:
    agent = team.agents.get(seat)
    for desired in RunMode if seat != LEAD_SEAT else _LEAD_MODES:
        yield c.SetDesired(seat=seat, desired=desired, set_by="Ann")
    yield c.StartSession(seat=seat, trigger="retry")
    yield c.CheckAgent(seat=seat)
    yield c.ConnectAgent(seat=seat)
    yield c.DisconnectAgent(seat=seat, reason="heartbeat")
    yield c.ReportCurrent(seat=seat, current=RunMode.CONTINUOUS)
    if seat != LEAD_SEAT:
        yield c.DisableAgent(seat=seat)
        yield c.EnableAgent(seat=seat)
        yield c.RetireAgent(seat=seat)
        yield c.SetDesired(seat=seat, desired=RunMode.PAUSE, set_by="Ann", now=True)
    if agent is not None and agent.session is not None:
        yield c.ReportSessionStarted(session=agent.session)
        for outcome in Outcome:
            yield c.ReportSessionEnded(session=agent.session, outcome=outcome)


def _agent_key(team: Team) -> Hashable:
    agents = (_one_agent_key(team, team.agents[seat]) for seat in sorted(team.agents))
    return (team.shutdown and team.shutdown.urgency, *agents)


def _one_agent_key(team: Team, agent: Agent) -> Hashable:
    run = agent.run
    session = team.sessions.get(agent.session) if agent.session else None
    return (
        agent.status,
        agent.name is not None,
        agent.disabled,
        agent.retired,
        team.shown_status(agent),
        run.desired,
        run.current,
        run.answered == run.generation,
        run.retry_at is not None,
        session
        and (
            session.phase,
            session.mode,
            session.urgency,
            session.generation == run.generation,
            session.boot == life_of(team),
            session.seats.index(agent.seat) > 0,
        ),
    )


# ── asking a person ───────────────────────────────────────────────────────────────────────────────


def approval_space() -> Space:
    """Two agents that muster runs take turns, ask for approval, are stopped and restarted."""
    channel, seats = ChannelId("c0"), (SeatId(9), SeatId(10))

    def start() -> Team:
        rules = e.TurnConfig(
            human_interrupt_mode=e.InterruptMode.INTERRUPT,
            rest_after_idle_rounds=1,
            turns_per_message=0,
            alike_in_a_row=0,
        )
        team = _play(
            [
                c.StartMuster(server_session=SessionId("boot"), muster_version="explored"),
                *(
                    c.EnrollAgent(
                        name=f"a{seat}",
                        authority=Authority.MUSTER,
                        long_lived=True,
                        unasked=True,
                    )
                    for seat in seats
                ),
                c.CreateChannel(channel=channel, config=rules),
            ]
        )
        for seat in seats:
            wish = c.SetDesired(seat=seat, desired=RunMode.CONTINUOUS, set_by="Ann")
            team = decide(team, wish, START, actor="muster", life=life_of(team)).team
            session = team.agents[seat].session
            assert session is not None
            up = c.ReportSessionStarted(session=session)
            team = decide(team, up, START, actor="muster", life=life_of(team)).team
            joins = c.AddMember(channel=channel, seat=seat)
            team = decide(team, joins, START, actor="muster", life=life_of(team)).team
        return team

    def tries(team: Team) -> Iterator[Command]:
        for seat in seats:
            yield c.AddMember(channel=channel, seat=seat)
            yield from _turn_tries(team, team.channels[channel], team.agents[seat])
            yield from _asking_tries(team, team.agents[seat])
        yield c.PostMessage(channel=channel, text="hello", speaker_name="Ann")
        yield c.CheckChannel(channel=channel)

    return Space(name="turns while a person is asked", start=start, tries=tries, key=_asking_key)


def _asking_tries(team: Team, agent: Agent) -> Iterator[Command]:
    seat, session = agent.seat, agent.session
    yield c.ReportWorkStopped(channel=ChannelId("c0"), seat=seat)
    yield c.CheckApprovals(seat=seat)
    yield c.StartSession(seat=seat, trigger="retry")
    for approval in agent.approvals:
        yield c.AnswerApproval(approval=approval.id, allow=True)
    if session is None:
        return
    if len(agent.approvals) < _ASKED_MAX:
        yield c.RequestApproval(session=session, tool="Bash", detail="make", seconds=60)
    yield c.ReportSessionStarted(session=session)
    for outcome in (Outcome.COMPLETED, Outcome.CRASHED):
        yield c.ReportSessionEnded(session=session, outcome=outcome)


def _asking_key(team: Team) -> Hashable:
    """The key of a team of equals: its agents are in the order of the ring, the others by state."""
    [channel] = team.channels.values()
    keys = {
        seat: (_one_agent_key(team, agent), len(agent.approvals))
        for seat, agent in team.agents.items()
    }
    outside = [seat for seat in keys if seat not in channel.ring]
    order = [*channel.ring, *sorted(outside, key=lambda seat: repr(keys[seat]))]
    drained = channel.drain and order.index(channel.drain.seat)
    return (_turn_key(team), tuple([keys[seat] for seat in order]), drained)


# ── tasks ─────────────────────────────────────────────────────────────────────────────────────────


def task_space(*, on_call: bool) -> Space:
    """An agent on call, or one of the settings, gets a task, is stopped, disabled and let run."""
    one = e.ConversationId("conv_001")

    def start() -> Team:
        enrolled = c.EnrollAgent(name="ada", authority=Authority.MUSTER, on_call=on_call)
        mode = e.DelegationMode.ORCHESTRATOR
        return _play(
            [
                c.StartMuster(server_session=SessionId("boot"), muster_version="explored"),
                enrolled,
                c.StartDelegation(mode=mode, path="p", agents=("ada",)),
                c.OpenConversation(text="do it", speaker_name="Ann"),
            ]
        )

    def tries(team: Team) -> Iterator[Command]:
        yield c.StartMuster(server_session=SessionId(f"b{team.seq}"), muster_version="explored")
        yield c.Delegate(conversation=one, to="ada", trigger="fits", seconds=60)
        yield c.FinishTask(conversation=one, epoch=1)
        yield c.EndDelegation()
        yield c.CancelConversation(conversation=one)
        for agent in team.agents.values():
            yield from _task_tries(team, agent)

    kind = "on call" if on_call else "of the settings"
    return Space(name=f"tasks of an agent {kind}", start=start, tries=tries, key=_task_key)


def _task_tries(team: Team, agent: Agent) -> Iterator[Command]:
    for desired in (RunMode.PAUSE, RunMode.CONTINUOUS):
        yield c.SetDesired(seat=agent.seat, desired=desired, set_by="Ann")
    yield c.DisableAgent(seat=agent.seat)
    yield c.EnableAgent(seat=agent.seat)
    yield c.CheckSession(seat=agent.seat)
    own = (agent.session,) if agent.session else ()
    for session in (*own, *agent.tasks):
        yield c.ReportSessionStarted(session=session)
        yield c.ReportResult(session=session)
        for outcome in (Outcome.COMPLETED, Outcome.LOST):
            yield c.ReportSessionEnded(session=session, outcome=outcome)


def _task_key(team: Team) -> Hashable:
    conversations = tuple(
        (each.state, each.session is not None, tuple(visit.state for visit in each.visits))
        for each in team.delegation.conversations.values()
    )
    tasks = tuple(
        (agent.run.on_call, tuple(_session_key(team, each) for each in agent.tasks))
        for agent in team.agents.values()
    )
    return (_agent_key(team), team.delegation.mode, conversations, tasks)


def _session_key(team: Team, name: SessionId) -> Hashable:
    session = team.sessions[name]
    held = any(each.session == name for each in team.delegation.conversations.values())
    return (session.phase, session.urgency, session.boot == life_of(team), held)


# ── machines ──────────────────────────────────────────────────────────────────────────────────────


def node_space(*, moves: bool) -> Space:
    """Two machines come, go, are lost and return; an agent of one of them stays, or moves."""
    desk, box = NodeId("desk"), NodeId("box")
    seat = SeatId(9)

    def join(node: NodeId, life: str) -> Command:
        return c.StartMuster(server_session=SessionId(life), muster_version="explored", node=node)

    def start() -> Team:
        muster, policy = Authority.MUSTER, RunPolicy(moves=moves)
        return _play(
            [
                join(desk, "desk0"),
                join(box, "box0"),
                c.EnrollAgent(name="ada", authority=muster),
                c.ConfigureAgent(seat=seat, authority=muster, policy=policy, node=desk),
                c.SetDesired(seat=seat, desired=RunMode.CONTINUOUS, set_by="Ann"),
            ]
        )

    def tries(team: Team) -> Iterator[Command]:
        for name in (desk, box):
            yield join(name, f"{name}{team.seq}")
            yield c.StopMuster(reason="explored", node=name)
            yield c.EndMuster(reason="explored", node=name)
            node = team.nodes.get(name)
            if node is not None:
                yield c.LoseNode(node=name, life=node.life, term=node.term)
                yield c.ReturnNode(node=name, life=node.life)
            for anyway in (False, True):
                yield c.MoveAgent(seat=seat, node=name, anyway=anyway)
        yield from _node_run_tries(team, seat)

    kind = "moves" if moves else "stays"
    return Space(
        name=f"an agent that {kind}, on two machines", start=start, tries=tries, key=_node_key
    )


def _node_run_tries(team: Team, seat: SeatId) -> Iterator[Command]:
    for desired in (RunMode.PAUSE, RunMode.CONTINUOUS):
        yield c.SetDesired(seat=seat, desired=desired, set_by="Ann")
    yield c.StartSession(seat=seat, trigger="retry")
    session = team.agents[seat].session
    if session is not None:
        yield c.ReportSessionStarted(session=session)
        for outcome in (Outcome.COMPLETED, Outcome.CRASHED, Outcome.LOST):
            yield c.ReportSessionEnded(session=session, outcome=outcome)


def _node_key(team: Team) -> Hashable:
    """The key of a state, which also checks the sessions: one of a seat, on a known machine."""
    own = [each.seats[0] for each in team.sessions.values()]
    assert len(own) == len(set(own)), "a seat has two live sessions"
    order = sorted(team.nodes, key=lambda name: team.nodes[name].since)
    nodes = tuple(
        (name, team.nodes[name].away is not None, team.nodes[name].shutdown is not None)
        for name in order
    )
    agents = [team.agents[seat] for seat in sorted(team.agents)]
    return (nodes, team.stopped is not None, *(_placed_key(team, agent) for agent in agents))


def _placed_key(team: Team, agent: Agent) -> Hashable:
    run = agent.run
    session = team.sessions.get(agent.session) if agent.session else None
    at = session and (
        session.node,
        session.phase,
        session.urgency,
        session.restart,
        session.generation == run.generation,
        team.node_of(session) is not None,
    )
    status = team.shown_status(agent)
    answered = run.answered == run.generation
    return (agent.node, status, run.desired, run.current, answered, run.retry_at is not None, at)


def _play(commands: Iterable[Command]) -> Team:
    team = Team()
    for command in commands:
        team = decide(team, command, START, actor="muster", life=life_of(team)).team
    return team


SPACES = (
    turn_space(1, 1),
    turn_space(2, 1),
    turn_space(3, 1),
    turn_space(2, 2),
    *(agent_space(authority) for authority in Authority),
    place_space(3),
    *(task_space(on_call=on_call) for on_call in (True, False)),
    *(node_space(moves=moves) for moves in (False, True)),
    approval_space(),
)


LARGE = (turn_space(3, 2),)
"""Explored at night: it takes as long as all others, and adds no kind of transition to theirs."""


if __name__ == "__main__":
    for each in (*SPACES, *LARGE):
        print(explore(each), flush=True)
    sys.exit(0)
