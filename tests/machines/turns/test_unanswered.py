"""Direct messages whose session ended before it had answered them."""

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import LEAD_SEAT, agent_actor, person
from muster.machines.vocabulary import Outcome, RunMode, Urgency
from tests.machines.identity.test_identity import led
from tests.machines.run_control.test_run_control import CONTINUOUS
from tests.machines.scene import Scene, facts

HOUR = 3600


def at_work(*, confirms_prompts: bool = False) -> Scene:
    scene = Scene()
    scene.running("Lyra", confirms_prompts=confirms_prompts)
    scene.later(60)
    return scene


def asked(scene: Scene, text: str = "well?") -> int:
    """Lyra is sent a message, and its session is handed it."""
    lyra = scene.seat("Lyra")
    scene.do(c.SendMessage(text=text, speaker_name="Marcus", seat=lyra))
    upto = scene.agent("Lyra").last_message
    scene.do(c.DeliverMessages(seat=lyra, upto=upto))
    return upto


def fails(
    scene: Scene, outcome: Outcome = Outcome.FAILED, retry_after_s: float = 0.0
) -> list[Event]:
    session = scene.session("Lyra").id
    return scene.do(
        c.ReportSessionEnded(
            session=session, outcome=outcome, reason="no key", retry_after_s=retry_after_s
        )
    )


def again(scene: Scene) -> None:
    """The next session starts after the backoff."""
    scene.later(HOUR)
    scene.up("Lyra")


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.CRASHED, Outcome.LOST])
def test_an_unanswered_message_is_handed_to_the_next_session_once(outcome: Outcome) -> None:
    scene = at_work()
    upto = asked(scene)
    [returned] = facts(fails(scene, outcome), e.MessagesReturned)
    assert (returned.upto, returned.reason) == (upto, "no key")
    assert scene.agent("Lyra").delivered == returned.after < upto
    again(scene)
    scene.do(c.DeliverMessages(seat=scene.seat("Lyra"), upto=upto))
    events = fails(scene)
    assert facts(events, e.MessagesReturned) == []
    [left] = facts(events, e.MessagesUnanswered)
    assert (left.upto, left.reason) == (upto, "no key")
    assert scene.agent("Lyra").delivered == upto, "it is not handed over by itself any more"
    again(scene)
    assert facts(fails(scene), e.MessagesUnanswered) == [], "the third session did not have it"


def test_a_message_that_was_answered_or_whose_session_ended_in_order_is_not_returned() -> None:
    scene = at_work()
    asked(scene)
    scene.do(c.TellHuman(seat=scene.seat("Lyra"), text="well!"))
    assert facts(fails(scene), e.MessagesReturned) == []
    again(scene)
    asked(scene, "and now?")
    scene.ends("Lyra")
    scene.later(HOUR)
    scene.up("Lyra")
    assert facts(fails(scene), e.MessagesReturned) == []


STOPS = {
    "now": (True, False, -15),
    "killed in the end": (False, False, -9),
    "of a program that tells what it has read": (False, True, 0),
}


@pytest.mark.parametrize(("now", "confirms", "code"), STOPS.values(), ids=STOPS)
def test_a_stop_by_a_person_answers_nothing(now: bool, confirms: bool, code: int) -> None:
    scene = at_work(confirms_prompts=confirms)
    upto = asked(scene)
    scene.want("Lyra", RunMode.PAUSE, now=now)
    events = scene.ends("Lyra", code=code, reason="killed")
    [returned] = facts(events, e.MessagesReturned)
    assert (returned.upto, returned.reason) == (upto, "killed")
    assert facts(events, e.SessionRequested) == [], "nothing starts before a person wants it"
    scene.want("Lyra", CONTINUOUS)
    scene.up("Lyra", confirms_prompts=confirms)
    assert scene.agent("Lyra").has_unread
    scene.do(c.DeliverMessages(seat=scene.seat("Lyra"), upto=upto))
    scene.want("Lyra", RunMode.PAUSE, now=now)
    again = scene.ends("Lyra", code=code)
    assert facts(again, e.MessagesReturned) == [], "it is handed over once more only"
    assert scene.agent("Lyra").unanswered is not None


def test_a_stop_returns_nothing_that_was_answered_or_ended_in_order() -> None:
    scene = at_work()
    asked(scene)
    scene.want("Lyra", RunMode.PAUSE)
    assert facts(scene.ends("Lyra", code=-15), e.MessagesReturned) == [], "it was let finish"
    scene.want("Lyra", CONTINUOUS)
    scene.up("Lyra")
    asked(scene, "and now?")
    scene.do(c.TellHuman(seat=scene.seat("Lyra"), text="well!"))
    scene.want("Lyra", RunMode.PAUSE, now=True)
    assert facts(scene.ends("Lyra", code=-9), e.MessagesReturned) == []


def test_words_answer_only_the_messages_that_the_program_had_taken_up() -> None:
    scene = at_work()
    first = asked(scene)
    second = asked(scene, "and?")
    scene.do(c.TellHuman(seat=scene.seat("Lyra"), text="well!", answers_upto=first))
    assert scene.agent("Lyra").read == first
    [returned] = facts(fails(scene), e.MessagesReturned)
    assert (returned.after, returned.upto) == (first, second)


def unanswered(*, desired: RunMode = CONTINUOUS) -> Scene:
    """Lyra has left a message unanswered twice, and waits for its next try."""
    scene = at_work()
    upto = asked(scene)
    fails(scene)
    again(scene)
    scene.do(c.DeliverMessages(seat=scene.seat("Lyra"), upto=upto))
    if desired is RunMode.PAUSE:
        scene.want("Lyra", desired)
    fails(scene)
    assert scene.agent("Lyra").unanswered is not None
    return scene


@pytest.mark.parametrize("desired", [CONTINUOUS, RunMode.PAUSE])
def test_a_person_tries_again_and_the_agent_starts_at_once(desired: RunMode) -> None:
    scene = unanswered(desired=desired)
    lyra = scene.seat("Lyra")
    events = scene.do(c.RetryMessages(seat=lyra), actor=person("Marcus"))
    assert len(facts(events, e.SessionRequested)) == 1
    agent = scene.agent("Lyra")
    assert agent.unanswered is None
    assert agent.delivered < agent.last_message
    scene.refuse(c.RetryMessages(seat=lyra), "nothing_unanswered", actor=person("Marcus"))
    scene.up("Lyra")
    scene.do(c.DeliverMessages(seat=lyra, upto=agent.last_message))
    assert len(facts(fails(scene), e.MessagesUnanswered)) == 1, "one try for each wish"


def test_a_person_tries_again_while_the_agent_waits_for_work() -> None:
    scene = unanswered()
    again(scene)
    lyra = scene.seat("Lyra")
    events = scene.do(c.RetryMessages(seat=lyra), actor=person("Marcus"))
    assert facts(events, e.SessionRequested) == []
    scene.do(c.DeliverMessages(seat=lyra, upto=scene.agent("Lyra").last_message))
    assert len(facts(fails(scene), e.MessagesUnanswered)) == 1


def test_an_agent_cannot_try_again_itself() -> None:
    scene = unanswered()
    retry = c.RetryMessages(seat=scene.seat("Lyra"))
    scene.refuse(retry, "forbidden", actor=agent_actor("Lyra"))


def test_a_later_answer_settles_an_unanswered_message() -> None:
    scene = unanswered()
    again(scene)
    asked(scene, "and now?")
    assert scene.agent("Lyra").unanswered is not None
    scene.do(c.TellHuman(seat=scene.seat("Lyra"), text="here I am"))
    assert scene.agent("Lyra").unanswered is None


def test_the_next_session_starts_no_sooner_than_the_program_asks() -> None:
    scene = at_work()
    [retry] = facts(fails(scene, retry_after_s=HOUR), e.RetryScheduled)
    assert (retry.until - scene.now).total_seconds() == HOUR


def test_a_failure_is_remembered_until_work_succeeds() -> None:
    scene = at_work()
    fails(scene)
    again(scene)
    for ok in (False, True):
        assert scene.agent("Lyra").run.last_failure is not None
        scene.do(c.ReportResult(session=scene.session("Lyra").id, ok=ok, text=""))
    run = scene.agent("Lyra").run
    assert (run.last_failure, run.failures) == (None, 0)


def test_a_program_that_waited_until_it_was_asked_to_end_has_not_succeeded() -> None:
    scene = at_work()
    fails(scene)
    again(scene)
    scene.want("Lyra", RunMode.PAUSE)
    assert scene.session("Lyra").urgency is Urgency.GRACEFUL
    scene.ends("Lyra")
    assert scene.agent("Lyra").run.last_failure is not None


def test_a_status_report_of_the_lead_answers_the_orders_that_it_had_taken_up() -> None:
    scene = led()
    taken, later = ordered(scene), ordered(scene)
    session = scene.session("Julian").id
    events = scene.do(c.ReportStatus(agents=(), session=session, answers_upto=taken))
    assert [fact.upto for fact in facts(events, e.MessagesRead)] == [taken]
    ended = scene.do(c.ReportSessionEnded(session=session, outcome=Outcome.LOST, reason="killed"))
    [returned] = facts(ended, e.MessagesReturned)
    assert (returned.after, returned.upto) == (taken, later), "only the order that came after it"


def ordered(scene: Scene) -> int:
    """The lead is sent an order, and its session is handed it."""
    scene.do(c.SendMessage(text="[WAKE AGENTS]", speaker_name="Marcus"))
    upto = scene.agent("Julian").last_message
    scene.do(c.DeliverMessages(seat=LEAD_SEAT, upto=upto))
    return upto


def test_a_message_of_a_disabled_agent_is_not_tried_again() -> None:
    scene = at_work()
    upto = asked(scene)
    fails(scene)
    again(scene)
    scene.do(c.DeliverMessages(seat=scene.seat("Lyra"), upto=upto))
    fails(scene)
    scene.do(c.DisableAgent(seat=scene.seat("Lyra")))
    scene.refuse(c.RetryMessages(seat=scene.seat("Lyra")), "disabled")
