"""Agents of a lead in sessions of their own: born by the lead's word, run by muster."""

import pytest
from msgspec.structs import replace

from muster import limits
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import LEAD_SEAT, SeatId, SessionId, agent_actor, person
from muster.machines.kernel.fold import evolve
from muster.machines.kernel.sentences import sentence
from muster.machines.state import Team
from muster.machines.vocabulary import (
    Authority,
    Budget,
    DeliveryWay,
    Outcome,
    ReadRule,
    RunMode,
    Status,
    TurnConfig,
)
from muster.testing.clock import EPOCH
from tests.machines.identity.test_identity import SEAT, at, led, register, seated, status, summon
from tests.machines.scene import Scene, facts

KAEL = SeatId(1)


def host(scene: Scene, seat: SeatId = SEAT, name: str = "Lyra") -> list[e.Event]:
    session = at(scene, LEAD_SEAT).session
    born = register(seat, name, session)
    return scene.do(c.RegisterAgent(profile=born.profile, session=session, hosted=True))


def hosted() -> Scene:
    """A team with a lead, and an agent of it whose own process is up."""
    scene = led()
    scene.do(summon())
    host(scene)
    scene.up("Lyra")
    return scene


def test_a_birth_by_the_lead_starts_a_session_of_its_own() -> None:
    scene = led()
    scene.do(summon())
    host(scene)
    agent = at(scene)
    assert (agent.authority, agent.hosted, agent.status) == (
        Authority.MUSTER,
        True,
        Status.SLEEPING,
    )
    assert agent.session not in (None, at(scene, LEAD_SEAT).session)
    scene.up("Lyra")
    assert (at(scene).status, at(scene).soul) == (Status.ALIVE, "soul")


@pytest.mark.parametrize("before", [Status.NONE, Status.EXPIRED])
def test_a_birth_without_a_prepared_seat_counts_too(before: Status) -> None:
    scene = seated(before)
    host(scene)
    assert at(scene).run.desired is RunMode.CONTINUOUS


def test_the_lead_passes_on_the_words_of_agents_inside_its_session_only() -> None:
    scene = seated(Status.ALIVE)
    lead = at(scene, LEAD_SEAT).session
    passed_on = c.TellHuman(seat=SEAT, text="good day", session=lead)
    [said] = facts(scene.do(passed_on), e.AgentMessage)
    assert (said.agent_name, said.seat) == ("Lyra", SEAT)
    stranger = c.TellHuman(seat=SEAT, text="x", session=SessionId("stranger"))
    scene.refuse(stranger, "not_the_authority")
    scene.connected("pm")
    foreign = c.TellHuman(seat=scene.seat("pm"), text="x", session=lead)
    scene.refuse(foreign, "not_the_authority")


def test_the_way_of_a_message_is_on_record_and_the_newest_ways_are_known() -> None:
    scene = seated(Status.ALIVE)
    said = c.SendMessage(text="hello", speaker_name="Marcus", seat=SEAT)
    message = scene.do(said)[0].seq
    routed = c.RouteMessage(seat=SEAT, message=message, way=DeliveryWay.LEAD)
    for way in DeliveryWay:
        routed = replace(routed, way=way)
        [event] = scene.do(routed)
        assert f"message {message} went to Lyra through its" in sentence(event, scene.team)
        assert scene.do(routed) == []
    assert [each.way for each in at(scene).routed] == [DeliveryWay.LEAD]
    scene.refuse(replace(routed, message=message + 1), "not_found")
    for _ in range(limits.ROUTED_MESSAGES_KEPT):
        message = scene.do(said)[0].seq
        scene.do(replace(routed, message=message))
    assert len(at(scene).routed) == limits.ROUTED_MESSAGES_KEPT


def test_an_agent_has_the_budget_of_its_lead() -> None:
    scene = led()
    lead = at(scene, LEAD_SEAT)
    budget = Budget(cost_usd=2.0)
    scene.do(
        c.ConfigureAgent(
            seat=LEAD_SEAT, authority=lead.authority, long_lived=True, max_turns=1, budget=budget
        )
    )
    host(scene)
    assert at(scene).run.budget == budget


def test_the_end_of_the_lead_s_session_leaves_its_agents_alone() -> None:
    scene = hosted()
    scene.want("Julian", RunMode.PAUSE)
    scene.ends("Julian")
    assert at(scene).status is Status.ALIVE


def test_the_lead_is_told_of_every_end_while_it_is_there() -> None:
    scene = hosted()
    (told,) = facts(scene.ends("Lyra", Outcome.CRASHED), e.UserMessage)
    assert (told.seat, told.text) == (LEAD_SEAT, "[AGENT ENDED: Lyra] its session crashed")
    scene.later(60)
    scene.up("Lyra")
    scene.want("Julian", RunMode.PAUSE)
    scene.ends("Julian")
    assert facts(scene.ends("Lyra"), e.UserMessage) == []


@pytest.mark.parametrize("lead_first", [True, False])
def test_the_lead_is_told_of_every_end_after_muster_was_killed(*, lead_first: bool) -> None:
    scene = hosted()
    scene.boot()
    order = ("Julian", "Lyra") if lead_first else ("Lyra", "Julian")
    ended = [event for name in order for event in scene.ends(name, Outcome.LOST)]
    (told,) = facts(ended, e.UserMessage)
    assert told.text.startswith("[AGENT ENDED: Lyra]")
    assert at(scene, LEAD_SEAT).has_unread, "the next session of the lead is handed it"


def test_the_lead_is_told_of_no_end_while_muster_stops() -> None:
    scene = hosted()
    scene.do(c.StopMuster(reason="SIGTERM"))
    assert facts(scene.ends("Lyra"), e.UserMessage) == []


@pytest.mark.parametrize(("rule", "words"), [("everybody", ": a stack trace"), ("members", "")])
def test_the_lead_is_not_told_the_last_words_of_a_member_of_a_private_channel(
    rule: str, words: str
) -> None:
    scene = hosted()
    scene.channel_of("Lyra", config=TurnConfig(read_rule=ReadRule(rule)))
    (told,) = facts(scene.ends("Lyra", Outcome.CRASHED, reason="a stack trace"), e.UserMessage)
    assert told.text == f"[AGENT ENDED: Lyra] its session crashed{words}"


def test_the_lead_s_report_about_such_an_agent_changes_nothing() -> None:
    scene = hosted()
    events = scene.do(status(session=at(scene, LEAD_SEAT).session))
    assert at(scene).status is Status.ALIVE
    assert facts(events, e.Conflict) == []  # it lists nobody, and the agent is not the lead's
    again = register(session=at(scene, LEAD_SEAT).session)
    scene.refuse(again, "not_the_authority")


@pytest.mark.parametrize("before", [Status.SLEEPING, Status.ALIVE])
def test_a_wake_takes_over_agents_that_the_lead_ran_before(before: Status) -> None:
    scene = seated(before)
    scene.boot()  # what was alive is unknown now
    events = scene.do(c.WakeAgents(hosted=True))
    assert facts(events, e.UserMessage) == []  # the lead has nothing to do
    assert (at(scene).authority, at(scene).hosted) == (Authority.MUSTER, True)
    assert at(scene).session is not None


# ── messages between agents ───────────────────────────────────────────────────────────────────────


def say(scene: Scene, sender: str, to: str, text: str = "hello") -> c.SendMessage:
    seats = scene.seat(to), scene.seat(sender)
    return c.SendMessage(text=text, speaker_name=sender, seat=seats[0], sender=seats[1])


def test_an_agent_writes_to_another_and_not_to_itself() -> None:
    scene = Scene()
    scene.connected("pm", "dev")
    (said,) = facts(scene.do(say(scene, "pm", "dev"), actor=agent_actor("pm")), e.UserMessage)
    assert (said.sender, said.target_agent) == (scene.seat("pm"), "dev")
    assert scene.agent("dev").last_message > 0
    scene.refuse(say(scene, "pm", "pm"), "invalid")


def test_agents_that_write_to_each_other_come_to_an_end_until_a_person_speaks() -> None:
    scene = Scene()
    scene.connected("pm", "dev")
    for _ in range(limits.PEER_MESSAGES_MAX):
        scene.do(say(scene, "pm", "dev"), actor=agent_actor("pm"))
    scene.refuse(say(scene, "dev", "pm"), "too_many_peer_messages")
    spoken = c.SendMessage(text="go on", speaker_name="Marcus", seat=scene.seat("pm"))
    scene.do(spoken, actor=person("Marcus"))
    scene.do(say(scene, "dev", "pm"), actor=agent_actor("dev"))


def test_an_agent_whose_lead_left_before_it_was_hosted_has_the_usual_budget() -> None:
    hosted_fact = e.AgentHosted(seat=SEAT)
    event = e.Event(1, EPOCH, SessionId("boot"), "muster", None, hosted_fact)
    agent = evolve(Team(), event).agents[SEAT]
    assert (agent.hosted, agent.run.budget) == (True, Budget())
