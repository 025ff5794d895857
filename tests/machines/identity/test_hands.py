"""Sessions that people run by hand: they come and go as agents, and muster leaves them alone."""

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import ChannelId, SeatId, agent_actor
from muster.machines.state import Agent, HandSession, Status
from muster.machines.vocabulary import HandState, RunMode, Usage
from tests.machines.scene import Scene, facts

FIRST = SeatId(9)


def adopt(
    conversation: str = "c-1", pid: int = 7, counted: Usage | None = None, model: str = "sonnet"
) -> c.AdoptSession:
    return c.AdoptSession(
        conversation=conversation,
        folder="/project",
        model=model,
        pid=pid,
        started=str(pid),
        counted=counted or Usage(),
    )


def adopted() -> Scene:
    scene = Scene()
    scene.do(adopt())
    return scene


def end(scene: Scene, seat: SeatId = FIRST) -> None:
    scene.do(c.DisconnectAgent(seat=seat, reason="its session has ended"))


def at(scene: Scene, seat: SeatId = FIRST) -> Agent:
    return scene.team.agents[seat]


def hand(scene: Scene, seat: SeatId = FIRST) -> HandSession:
    found = at(scene, seat).hand
    assert found is not None
    return found


def test_a_session_appears_as_an_agent_and_sleeps_when_it_ends() -> None:
    scene = adopted()
    assert (at(scene).name, at(scene).status) == ("terminal-1", Status.ALIVE)
    assert (hand(scene).folder, hand(scene).model, hand(scene).pid) == ("/project", "sonnet", 7)
    assert scene.do(adopt()) == []  # every hook says so again
    assert scene.do(adopt(model="")) == []
    end(scene)
    assert at(scene).status is Status.SLEEPING


def test_a_session_that_was_there_at_a_restart_is_confirmed_by_its_next_hook() -> None:
    scene = adopted()
    scene.boot()
    assert scene.team.shown_status(at(scene)) is Status.UNKNOWN
    scene.do(adopt())
    assert scene.team.shown_status(at(scene)) is Status.ALIVE


def test_a_conversation_comes_back_to_its_seat_and_so_does_its_process() -> None:
    scene = adopted()
    scene.do(adopt("c-2", 8))
    assert at(scene, SeatId(10)).name == "terminal-2"
    scene.do(adopt("c-3", 8))  # the same process, after a /clear
    assert hand(scene, SeatId(10)).conversation == "c-3"
    end(scene)
    end(scene, SeatId(10))
    scene.do(adopt("c-3", 11))  # another process, which resumes the conversation
    assert at(scene).status is Status.SLEEPING
    assert at(scene, SeatId(10)).status is Status.ALIVE


@pytest.mark.parametrize("why", ["kept", "unread", "soul", "alive", "disabled"])
def test_another_conversation_takes_a_seat_only_if_nobody_needs_it(why: str) -> None:
    scene = adopted()
    if why == "kept":
        scene.do(c.KeepHand(seat=FIRST))
        assert scene.do(c.KeepHand(seat=FIRST)) == []
    if why == "unread":
        scene.do(c.SendMessage(text="hello", speaker_name="Marcus", seat=FIRST))
    if why == "soul":
        scene.do(c.EditSoul(seat=FIRST, soul="I am Vera."))
    if why != "alive":
        end(scene)
    if why == "disabled":
        scene.do(c.DisableAgent(seat=FIRST))
    scene.do(adopt("c-2", 8))
    assert SeatId(10) in scene.team.agents
    assert hand(scene).conversation == "c-1"


def test_a_free_seat_is_taken_again() -> None:
    scene = adopted()
    end(scene)
    scene.do(adopt("c-2", 8))
    assert SeatId(10) not in scene.team.agents
    assert hand(scene).conversation == "c-2"


@pytest.mark.parametrize("command", [c.DisableAgent(seat=FIRST), c.RetireAgent(seat=FIRST)])
def test_a_disabled_or_retired_session_is_left_alone(command: c.Command) -> None:
    scene = adopted()
    scene.do(command)
    assert scene.do(adopt()) == []


def test_its_work_is_told_and_its_usage_counted_once() -> None:
    scene = Scene()
    before = Usage(cost_usd=5.0, input_tokens=100)
    scene.do(adopt(counted=before))  # muster began in the middle of it
    scene.do(c.ReportHand(seat=FIRST, state=HandState.WORKING, about="the plan"))
    assert (hand(scene).state, hand(scene).about) == (HandState.WORKING, "the plan")
    now = Usage(cost_usd=5.5, input_tokens=130, output_tokens=4)
    scene.do(c.ReportHand(seat=FIRST, counted=now))
    assert scene.do(c.ReportHand(seat=FIRST, counted=now)) == []
    assert at(scene).used == Usage(cost_usd=0.5, input_tokens=30, output_tokens=4)
    assert hand(scene).about == "the plan"
    scene.do(c.ReportHand(seat=FIRST, state=HandState.IDLE, model="opus"))
    assert (hand(scene).about, hand(scene).model) == ("", "opus")
    exact = Usage(cost_usd=5.4, input_tokens=130, output_tokens=4)  # the price was an estimate
    scene.do(c.ReportHand(seat=FIRST, counted=exact))
    assert at(scene).used.cost_usd == pytest.approx(0.4)
    end(scene)
    scene.do(adopt(pid=8, counted=exact))
    assert hand(scene).counted == exact


def test_muster_neither_starts_nor_stops_it_and_grants_it_no_turns() -> None:
    scene = adopted()
    for desired in RunMode:
        scene.refuse(
            c.SetDesired(seat=FIRST, desired=desired, set_by="person:Marcus"), "wrong_state"
        )
    scene.do(c.CreateChannel(channel=ChannelId("design"), config=e.TurnConfig()))
    scene.refuse(c.AddMember(channel=ChannelId("design"), seat=FIRST), "wrong_state")


def test_only_a_person_keeps_a_seat_and_only_of_such_a_session() -> None:
    scene = adopted()
    scene.refuse(c.KeepHand(seat=FIRST), "forbidden", actor=agent_actor("terminal-1"))
    scene.do(c.EnrollAgent(name="Ada", authority=at(scene).authority))
    scene.refuse(c.KeepHand(seat=SeatId(10)), "wrong_state")
    assert facts(scene.do(c.KeepHand(seat=FIRST)), e.HandKept)


def test_a_kept_session_gets_a_name_and_a_soul_at_once_or_not_at_all() -> None:
    scene = adopted()
    scene.do(c.EnrollAgent(name="Ada", authority=at(scene).authority))
    scene.refuse(c.KeepHand(seat=FIRST, name="Ada", soul="I am Ada."), "name_taken")
    assert (at(scene).soul, hand(scene).kept) == ("", False)
    scene.do(c.KeepHand(seat=FIRST, name="Vera", soul="I am Vera."))
    assert (at(scene).name, at(scene).soul, hand(scene).kept) == ("Vera", "I am Vera.", True)
