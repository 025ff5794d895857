"""Retiring agents that connect by themselves: the name becomes free, the history stays."""

from collections.abc import Iterator

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.ids import LEAD_SEAT, SeatId
from muster.machines.state import Status, TurnState
from muster.machines.teams.papers import document_of
from muster.machines.vocabulary import Authority, Profile, Role, RunMode
from tests.machines.identity.test_identity import SEAT, at, seated, status
from tests.machines.scene import REVIEWS, Scene, facts
from tests.machines.turns.test_turns import trio


def retire(scene: Scene, name: str) -> list[e.Event]:
    return scene.do(c.RetireAgent(seat=scene.seat(name)))


def test_a_retired_agent_loses_its_turn_its_places_its_tokens_and_its_name() -> None:
    scene = trio()
    pm = scene.seat("pm")
    scene.do(c.IssueToken(token_id="t", role=Role.AGENT, digest="d", seat=pm))
    retire(scene, "pm")
    agent = scene.team.agents[pm]
    assert (agent.retired, agent.status, agent.channels) == (True, Status.SLEEPING, ())
    assert scene.team.turn_state(agent) is TurnState.OFFLINE
    assert scene.holder() == "dev"
    assert scene.team.tokens == {}
    assert scene.channel().barred == ()
    assert "pm" not in scene.team.names


def test_an_agent_that_is_not_connected_leaves_its_channels_when_it_is_retired() -> None:
    scene = trio()
    scene.do(c.EnrollAgent(name="later", authority=Authority.SELF))
    scene.do(c.AddMember(channel=REVIEWS, seat=scene.seat("later")))
    later = scene.seat("later")
    retire(scene, "later")
    assert later not in scene.channel().ring


def test_another_agent_may_take_the_name_of_a_retired_one() -> None:
    scene = trio()
    old = scene.seat("pm")
    retire(scene, "pm")
    scene.connected("pm")
    assert scene.seat("pm") != old
    assert scene.team.agents[old].name == "pm"  # its history has its name


def commands_about(seat: SeatId) -> Iterator[Command]:
    yield c.ConnectAgent(seat=seat)
    yield c.EnableAgent(seat=seat)
    yield c.AddMember(channel=REVIEWS, seat=seat)
    yield c.SendMessage(text="hello", speaker_name="Marcus", seat=seat)
    yield c.IssueToken(token_id="t", role=Role.AGENT, digest="d", seat=seat)
    yield c.RetireAgent(seat=seat)
    yield c.RegisterAgent(profile=Profile(name="pm", grid_position=seat))


def test_nothing_brings_a_retired_agent_back() -> None:
    scene = trio()
    pm = scene.seat("pm")
    retire(scene, "pm")
    for command in commands_about(pm):
        scene.refuse(command, "retired")


def test_retired_agents_are_not_woken_and_do_not_prevent_a_summons() -> None:
    scene = Scene()
    scene.connected("pm")
    retire(scene, "pm")
    scene.refuse(c.WakeAgents(), "nobody_is")
    place = e.Placeholder(grid_position=SeatId(0), color="#c9b1e8", gender="woman")
    scene.do(c.SummonAgents(placeholders=(place,), authority=Authority.MUSTER))


def test_an_import_leaves_a_retired_agent_alone() -> None:
    scene = Scene()
    scene.connected("pm")
    pm = scene.seat("pm")
    document = document_of(scene.agent("pm"))
    retire(scene, "pm")
    before = scene.team.agents[pm]
    scene.do(c.ImportTeam(documents=(document,)))
    assert scene.team.agents[pm] == before
    assert "pm" not in scene.team.names


def test_only_agents_that_connect_by_themselves_are_retired_and_only_by_people() -> None:
    scene = trio()
    scene.running("Lyra")
    refused = scene.refuse(c.RetireAgent(seat=scene.seat("Lyra")), "cannot_retire")
    assert "muster.toml" in str(refused)
    scene.do(c.EnrollAgent(name="Julian", authority=Authority.SELF, seat=LEAD_SEAT))
    scene.refuse(c.RetireAgent(seat=LEAD_SEAT), "cannot_retire")
    scene.refuse(c.RetireAgent(seat=scene.seat("pm")), "forbidden", actor="agent:dev")


def test_its_words_stay_in_the_log() -> None:
    scene = trio()
    scene.says("pm")
    retire(scene, "pm")
    [said] = facts(scene.log, e.AgentMessage)
    assert said.agent_name == "pm"


def test_the_tokens_of_others_outlive_a_retired_agent() -> None:
    scene = trio()
    for name in ("pm", "dev"):
        seat = scene.seat(name)
        scene.do(c.IssueToken(token_id=name, role=Role.AGENT, digest=name, seat=seat))
    retire(scene, "pm")
    assert [token.id for token in scene.team.tokens.values()] == ["dev"]


def test_an_agent_that_muster_runs_stays_alive_without_a_token_of_its_own() -> None:
    scene = Scene()
    scene.running("Lyra")
    lyra = scene.seat("Lyra")
    scene.do(c.IssueToken(token_id="t", role=Role.AGENT, digest="d", seat=lyra))
    scene.do(c.RevokeToken(token_id="t"))
    assert scene.agent("Lyra").present


def test_a_summoned_agent_leaves_when_its_session_has_ended_and_comes_back() -> None:
    scene = Scene()
    place = e.Placeholder(grid_position=SeatId(0), color="#c9b1e8", gender="woman")
    scene.do(c.SummonAgents(placeholders=(place,), authority=Authority.MUSTER))
    session = scene.team.agents[SeatId(0)].session
    assert session is not None
    scene.do(c.ReportSessionStarted(session=session, pid=1, started="1"))
    scene.refuse(c.RetireAgent(seat=SeatId(0)), "cannot_retire")  # it has no name yet
    profile = Profile(name="Lyra", grid_position=SeatId(0), individuation_artifact="I am Lyra.")
    scene.do(c.RegisterAgent(profile=profile, session=session))
    retire(scene, "Lyra")
    assert not scene.agent("Lyra").retired
    scene.refuse(c.RetireAgent(seat=SeatId(0)), "cannot_retire")  # it leaves already
    scene.do(c.ReportSessionEnded(session=session, outcome=e.Outcome.COMPLETED))
    gone = scene.team.agents[SeatId(0)]
    assert (gone.retired, gone.status, gone.soul) == (True, Status.SLEEPING, "I am Lyra.")
    scene.do(c.RestoreAgent(seat=SeatId(0)))
    back = scene.agent("Lyra")
    assert (back.retired, back.soul, back.run.desired) == (False, "I am Lyra.", RunMode.PAUSE)


def test_an_agent_that_sleeps_inside_its_lead_is_retired_and_no_report_wakes_it() -> None:
    scene = seated(Status.ALIVE)
    scene.refuse(c.RetireAgent(seat=SEAT), "cannot_retire")
    scene.do(status(session=at(scene, LEAD_SEAT).session))
    retire(scene, "Lyra")
    scene.do(status(SEAT, session=at(scene, LEAD_SEAT).session))
    assert (at(scene).retired, at(scene).status) == (True, Status.SLEEPING)


def test_an_agent_that_was_retired_comes_back_unless_its_name_is_taken() -> None:
    scene = trio()
    pm = scene.seat("pm")
    retire(scene, "pm")
    scene.connected("pm")
    scene.refuse(c.RestoreAgent(seat=pm), "name_taken")
    retire(scene, "pm")
    scene.do(c.RestoreAgent(seat=pm))
    assert scene.seat("pm") == pm
    scene.do(c.ConnectAgent(seat=pm))
    assert scene.agent("pm").present
