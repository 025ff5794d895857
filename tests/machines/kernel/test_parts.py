"""The shared parts of the machines: maps, tables, diagrams, deadlines, invariants."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muster.errors import Impossible, NotFound
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import GRID_SEATS, ConversationId, SeatId, SessionId, agent_actor, person
from muster.machines.kernel import deadlines, diagrams, snapshots
from muster.machines.kernel.diagrams import MACHINES, mermaid
from muster.machines.kernel.fold import evolve
from muster.machines.kernel.invariants import violations
from muster.machines.kernel.sentences import _TRIGGERS, sentence  # pyright: ignore[reportPrivateUsage]
from muster.machines.kernel.team import refusal
from muster.machines.maps import drop, put
from muster.machines.state import (
    Agent,
    Approval,
    ClaimedTurn,
    Conversation,
    Drain,
    RunControl,
    Status,
    Team,
    Token,
    TurnState,
    Wait,
)
from muster.machines.turns.table import TABLE
from muster.machines.vocabulary import Authority, Claim, Limit, Machine, Role
from tests.machines.identity import test_identity
from tests.machines.scene import REVIEWS, START, Scene
from tests.machines.turns.test_turns import BASIC_ROWS, trio
from tests.store.building import EXAMPLES


@given(st.lists(st.tuples(st.integers(0, 400), st.integers() | st.none()), max_size=600))
def test_a_persistent_map_behaves_like_a_dict_and_keeps_old_versions_unchanged(
    changes: list[tuple[int, int | None]],
) -> None:
    mapped: Mapping[int, int] = {}
    plain: dict[int, int] = {}
    for key, value in changes:
        before, kept = mapped, dict(plain)
        if value is None:
            mapped = drop(mapped, key)
            plain.pop(key, None)
        else:
            mapped = put(mapped, key, value)
            plain[key] = value
        assert mapped.get(key) == plain.get(key)
        if key % 50 == 0:
            assert dict(before) == kept
    assert dict(mapped) == plain
    assert len(mapped) == len(plain)
    assert mapped == plain
    assert all(key in mapped for key in plain)


def test_a_large_persistent_map_grows_and_shrinks() -> None:
    mapped: Mapping[int, int] = {}
    for key in range(10_000):
        mapped = put(mapped, key, key)
    assert sorted(mapped) == list(range(10_000))
    assert repr(mapped) == repr(dict(mapped))
    for key in range(9_990):
        mapped = drop(mapped, key)
    assert mapped == {key: key for key in range(9_990, 10_000)}
    assert drop(mapped, 3) is mapped


def test_a_transition_without_a_row_is_impossible() -> None:
    scene = trio()
    assert TABLE.allows("QUEUED", "turn_granted")
    assert not TABLE.allows("OFFLINE", "turn_granted")
    with pytest.raises(Impossible, match="no transition for 'turn_granted' in state 'OFFLINE'"):
        TABLE.target("OFFLINE", "turn_granted", None)  # pyright: ignore[reportArgumentType]
    assert scene.holder() == "pm"


@pytest.mark.parametrize("row", BASIC_ROWS, ids=" ".join)
def test_the_diagram_of_turns_has_every_basic_row(row: tuple[str, str, str]) -> None:
    source, target, trigger = row
    assert f"    {source} --> {target}: {trigger}\n" in mermaid("turns")


@pytest.mark.parametrize("machine", MACHINES)
def test_every_diagram_is_drawn_from_its_whole_table(machine: str) -> None:
    lines = mermaid(machine).splitlines()
    tables = diagrams.TABLES[machine][1]
    assert lines[0] == "stateDiagram-v2"
    assert sum("-->" in line and "[*]" not in line for line in lines) == sum(
        len(list(rows)) for _, rows in tables
    )


def test_a_diagram_shows_guards_and_an_unknown_machine_is_refused() -> None:
    assert "ACTIVE --> IDLE: TURN_COMPLETE [done]" in mermaid("turns")
    with pytest.raises(NotFound):
        mermaid("weather")


@pytest.mark.parametrize("fact", EXAMPLES, ids=lambda fact: type(fact).__name__)
def test_every_fact_is_a_sentence(fact: e.Fact) -> None:
    event = Event(1, START, SessionId("s"), "person:Marcus", None, fact)
    said = sentence(event, Team())
    assert said.endswith("(by Marcus)")
    assert "{" not in said
    assert "\n" not in said
    assert "(by" not in sentence(replace(event, actor="muster"), Team())


def test_every_trigger_of_every_table_has_words() -> None:
    rows = [row for _, tables in diagrams.TABLES.values() for _, table in tables for row in table]
    assert {row.trigger for row in rows} - {"person", "one_shot_done"} == set(_TRIGGERS)


def test_a_long_message_is_clipped_in_a_sentence() -> None:
    scene = trio()
    [event, *_] = scene.posts("word " * 100)
    assert len(sentence(event, scene.team)) < 140


def test_deadlines_are_found_again_by_the_key_of_what_moved_them() -> None:
    scene = trio()
    scene.do(c.WaitTurn(channel=REVIEWS, seat=scene.seat("pm"), reason="tea"))
    scene.running("Lyra")
    scene.ends("Lyra", e.Outcome.FAILED)
    known: dict[deadlines.Key, deadlines.Deadline] = {}
    team = Team()
    for event in scene.log:
        team = evolve(team, event)
        for key in deadlines.touched(event, scene.team):
            deadline = deadlines.of(team, key)
            known.pop(key, None)
            if deadline is not None:
                known[key] = deadline
    assert set(known.values()) == set(deadlines.every(team))
    assert set(known) == {REVIEWS, scene.seat("Lyra")}
    assert deadlines.of(team, SeatId(99)) is None


def test_summons_and_registrations_change_the_deadlines_of_their_seats() -> None:
    scene = Scene()
    summoned, *_ = scene.do(test_identity.summon())
    assert set(deadlines.touched(summoned, scene.team)) == set(GRID_SEATS)
    registered, *_ = scene.do(test_identity.register())
    assert set(deadlines.touched(registered, scene.team)) == {GRID_SEATS[0]}
    assert registered.type == "agent_registered"


def test_a_direct_message_changes_no_channel() -> None:
    scene = trio()
    said: list[e.Fact] = [
        e.UserMessage(text="hello", speaker_name="Marcus", target_agent="pm"),
        e.AgentMessage(agent_name="pm", content=(e.Text(text="hi"),), seat=scene.seat("pm")),
    ]
    for fact in said:
        event = Event(scene.team.seq + 1, START, SessionId("s"), person("Marcus"), None, fact)
        after = evolve(scene.team, event)
        assert after.channels == scene.team.channels
        assert "said" in sentence(event, after)


def test_a_large_team_survives_a_snapshot() -> None:
    scene = Scene()
    for number in range(300):
        scene.do(c.EnrollAgent(name=f"a{number}", authority=Authority.SELF))
    assert snapshots.decode(snapshots.encode(scene.team)) == scene.team


def test_actors_of_agents_and_people_differ() -> None:
    assert person("Lyra") != agent_actor("Lyra")


def test_events_must_be_consecutive() -> None:
    scene = Scene()
    with pytest.raises(Impossible, match="event 1 cannot follow event 1"):
        evolve(scene.team, scene.log[0])


def test_a_refused_command_can_be_recorded() -> None:
    scene = trio()
    command = c.CompleteTurn(channel=REVIEWS, seat=scene.seat("dev"), epoch=1)
    refused = scene.refuse(command, "not_your_turn")
    decision = refusal(
        scene.team, command, refused, START, actor="agent:dev", life=scene.life, cause=3
    )
    [event] = decision.events
    assert isinstance(event.fact, e.CommandRefused)
    assert (event.fact.code, event.fact.seat, event.fact.epoch) == ("not_your_turn", 10, 1)
    assert (event.actor, event.cause) == ("agent:dev", 3)
    assert decision.team == replace(scene.team, seq=scene.team.seq + 1)


def test_an_agents_overall_state_is_the_most_active_of_its_channels() -> None:
    scene = trio()
    scene.channel_of("dev", channel=e.ChannelId("design"))
    assert scene.own_state("dev") is TurnState.ACTIVE
    assert scene.own_state("qa") is TurnState.QUEUED
    assert scene.team.lead is None


def broken_teams() -> dict[str, Team]:
    scene = trio()
    scene.running("Lyra")
    team, channel = scene.team, scene.channel()
    pm, lyra = scene.agent("pm"), scene.agent("Lyra")
    assert channel.turn is not None
    session = scene.session("Lyra")
    asked = Approval(id="1", session=session.id, tool="Bash", detail="ls", since=START, until=START)
    asking = Wait(reason="approval 1: Bash", since=START, until=START, approval=True)

    def agent(changed: Agent) -> Team:
        return replace(team, agents=put(team.agents, changed.seat, changed))

    def hand(seat: SeatId) -> ClaimedTurn:
        return ClaimedTurn(seat=seat, claim=Claim.HAND)

    def reviews(**fields: object) -> Team:
        return replace(team, channels=put(team.channels, REVIEWS, replace(channel, **fields)))

    return {
        "more than 1": agent(replace(pm, draining=(REVIEWS,))),
        "in the same channel twice": agent(replace(pm, channels=(REVIEWS, REVIEWS))),
        "is hatching, but has a name": agent(replace(pm, status=Status.HATCHING)),
        "stored as unknown": agent(replace(pm, status=Status.UNKNOWN)),
        "has no work to stop in": agent(replace(scene.agent("dev"), draining=(REVIEWS,))),
        "which is over": agent(replace(lyra, session=SessionId("old"))),
        "alive without a process": agent(replace(lyra, session=None)),
        "without a session": agent(replace(lyra, session=None)),
        "has answered generation 3, which is beyond 0": agent(
            replace(pm, run=RunControl(answered=3))
        ),
        "a seat twice in its ring": reviews(ring=(*channel.ring, pm.seat)),
        "but the agent does not list the channel": agent(replace(pm, channels=())),
        "while work is being stopped": reviews(drain=_drain_of(pm)),
        "rests, but its turn is held": reviews(resting=True),
        "but a turn, or the member is not in its ring": reviews(idle=pm.seat),
        "which is not in its ring": reviews(ring=(scene.seat("dev"),)),
        "is archived, but its turn is held": reviews(archived=True),
        "a claim of an agent that is not in its ring": reviews(claims=(hand(SeatId(99)),)),
        "two claims of one agent": reviews(claims=(hand(pm.seat), hand(pm.seat))),
        "is barred, but a member": reviews(barred=(pm.seat,)),
        "has a stopped agent that is no member": reviews(stopped={SeatId(77): 5}),
        "keeps a place for 'pm'": reviews(lost_places={pm.seat: 0}),
        "rests without a limit": reviews(turn=None, resting=True),
        "has a limit, but does not rest": reviews(rest_limit=Limit.TURNS),
        "is idle, although there is news for it": reviews(turn=None, idle=pm.seat, newest=10**6),
        "which is disabled": agent(replace(pm, disabled=True)),
        "neither present nor being started": agent(replace(pm, status=Status.SLEEPING)),
        "stops work of seat": reviews(turn=None, drain=_drain_of(pm)),
        "that belongs to none of its sessions": agent(replace(pm, approvals=(asked,))),
        "running timeout while": agent(replace(pm, session=session.id, approvals=(asked,))),
        "but 'pm' has no open request": reviews(turn=replace(channel.turn, wait=asking)),
        "is not listed by its agent": agent(replace(lyra, session=None)),
        "which muster does not run": agent(replace(lyra, authority=Authority.SELF)),
        session.id: agent(replace(lyra, session=None)),
        "has a task session that is over": agent(replace(lyra, tasks=(SessionId("old"),))),
        "is worked on in session 'old'": _conversing(team, state="ada", session=SessionId("old")),
        "retired, but alive or in a channel": agent(replace(pm, retired=True)),
        "retired, but has a token": replace(
            agent(replace(pm, retired=True)),
            tokens={"d": Token(id="t", role=Role.AGENT, seat=pm.seat)},
        ),
        "retired, but its name is not free": agent(replace(pm, retired=True)),
        "retired, but has a session": agent(replace(lyra, retired=True)),
        "which does not know it": agent(replace(pm, successor_at=SeatId(0))),
        "would get the seat of 'pm'": replace(team, next_seat=pm.seat),
        "the private channels are []": replace(team, private=(REVIEWS,)),
        "is ada in session None": _conversing(team, state="ada"),
    }


def _conversing(team: Team, *, state: str, session: SessionId | None = None) -> Team:
    name = ConversationId("conv_001")
    conversation = Conversation(id=name, state=state, session=session)
    open_one = replace(team.delegation, conversations={name: conversation})
    return replace(team, delegation=open_one)


def _drain_of(agent: Agent) -> Drain:
    return Drain(seat=agent.seat, until=START)


@pytest.mark.parametrize("wrong", broken_teams())
def test_every_invariant_notices_when_it_is_broken(wrong: str) -> None:
    assert any(wrong in problem for problem in violations(broken_teams()[wrong]))


def test_every_machine_has_a_diagram() -> None:
    assert {machine.value for machine in Machine} == set(MACHINES)
