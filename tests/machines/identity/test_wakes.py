"""The record of a wake, and the check that a woken agent knows who it is."""

import pytest

from muster import limits
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.documents import HandedOver, WakeCheck, WakeText
from muster.machines.identity.wake_words import handed_over, wake_line
from muster.machines.ids import SessionId
from muster.machines.kernel.sentences import sentence
from muster.machines.state import Wake
from muster.machines.vocabulary import Authority, Outcome, RunMode
from tests.machines.identity.test_identity import SEAT, at, led, register, status, summon
from tests.machines.scene import Scene, facts

SOUL = "\n  I listen & \t I count.  \nAnd more."
HANDED = HandedOver(soul_chars=1204, notes=2, messages=12, omitted=28, omitted_chars=9000)


def awake(*, asked: bool = True, soul: str = SOUL) -> tuple[Scene, SessionId]:
    """A summoned agent that muster runs, in its second session, with its wake on record."""
    scene = Scene()
    scene.do(summon(Authority.MUSTER))
    scene.do(register(session=at(scene).session, soul=soul))
    first = at(scene).session
    assert first is not None
    scene.do(c.ReportSessionStarted(session=first, pid=1, started="1"))
    scene.do(c.ReportSessionEnded(session=first, outcome=Outcome.COMPLETED))
    scene.do(c.SetDesired(seat=SEAT, desired=RunMode.CONTINUOUS, set_by="Marcus"))
    session = at(scene).session
    assert session is not None
    scene.do(c.ReportSessionStarted(session=session, pid=2, started="2"))
    scene.do(c.RecordWake(seat=SEAT, session=session, handed=HANDED, asked=asked))
    return scene, session


def wake_of(scene: Scene) -> Wake:
    found = at(scene).last_wake
    assert found is not None
    return found


def test_a_wake_is_on_record_with_what_was_given_and_left_out() -> None:
    scene, session = awake(asked=False)
    wake = wake_of(scene)
    assert (wake.handed, wake.session, wake.check) == (HANDED, session, None)
    said = "soul 1,204 characters, 2 notes, 12 of 40 messages (9,000 characters left out)"
    assert wake_line(wake) == said
    assert said in sentence(scene.log[-1], scene.team)


@pytest.mark.parametrize(
    ("handed", "words"),
    [
        (HandedOver(), "no soul, no messages"),
        (HandedOver(notes=1, messages=1), "no soul, 1 note, 1 of 1 message"),
        (HandedOver(sessions=1), "no soul, no messages, a digest of 1 earlier session"),
        (
            HandedOver(sessions=24, sessions_omitted=3),
            "no soul, no messages, a digest of 24 of 27 earlier sessions",
        ),
    ],
)
def test_little_memory_is_said_as_such(handed: HandedOver, words: str) -> None:
    assert handed_over(handed) == words


def test_the_record_of_another_session_is_refused() -> None:
    scene, _ = awake()
    other = SessionId("other")
    scene.refuse(c.RecordWake(seat=SEAT, session=other, handed=HANDED), "wrong_state")


@pytest.mark.parametrize(
    ("name", "soul", "outcome"),
    [
        ("Lyra", "I listen & I count.", WakeCheck.MATCHED),
        (" lyra ", "I  listen &amp; I count.\nAnd more.", WakeCheck.MATCHED),
        ("Kael", "I listen & I count.", WakeCheck.DIFFERED),
        ("Lyra", "I am somebody else.", WakeCheck.DIFFERED),
        ("Lyra", "", WakeCheck.DIFFERED),
        ("x" * 9000, "y" * 9000, WakeCheck.DIFFERED),
    ],
)
def test_an_answer_is_compared_with_name_and_soul(name: str, soul: str, outcome: str) -> None:
    scene, session = awake()
    assert wake_of(scene).check is WakeCheck.ASKED
    answer = c.AnswerWakeCheck(seat=SEAT, session=session, name=name, soul=soul)
    (fact,) = facts(scene.do(answer), e.WakeChecked)
    assert fact.outcome == wake_of(scene).check == outcome
    assert len(fact.name) <= limits.WAKE_LINE_CHARS_MAX
    assert len(fact.soul) <= limits.WAKE_LINE_CHARS_MAX
    assert bool(wake_of(scene).said) is (outcome == WakeCheck.DIFFERED)
    scene.refuse(answer, "wrong_state")  # one answer counts


def test_without_a_soul_the_name_is_enough() -> None:
    scene, session = awake(soul="")
    scene.do(c.AnswerWakeCheck(seat=SEAT, session=session, name="Lyra"))
    assert wake_of(scene).check is WakeCheck.MATCHED


def test_an_agent_that_was_not_asked_cannot_answer() -> None:
    scene, session = awake(asked=False)
    scene.refuse(c.AnswerWakeCheck(seat=SEAT, session=session, name="Lyra"), "wrong_state")
    assert scene.do(c.ReportResult(session=session)) != []
    assert wake_of(scene).check is None


def test_a_result_without_an_answer_is_no_answer_and_a_late_one_counts() -> None:
    scene, session = awake()
    scene.do(c.ReportResult(session=session))
    assert wake_of(scene).check is WakeCheck.NO_ANSWER
    assert "did not answer" in wake_line(wake_of(scene))
    scene.do(c.AnswerWakeCheck(seat=SEAT, session=session, name="Lyra", soul="I listen & I count."))
    assert wake_of(scene).check is WakeCheck.MATCHED
    scene.do(c.ReportResult(session=session))
    assert wake_of(scene).check is WakeCheck.MATCHED


def test_an_end_without_an_answer_is_no_answer() -> None:
    scene, session = awake()
    scene.do(c.ReportSessionEnded(session=session, outcome=Outcome.COMPLETED))
    assert wake_of(scene).check is WakeCheck.NO_ANSWER


def test_the_wake_through_a_lead_is_on_record_too() -> None:
    scene = led()
    scene.do(summon())
    scene.do(register())
    scene.do(status())
    payload = WakeText(SEAT, "<agent/>", HANDED)
    scene.do(c.WakeAgents(seats=(SEAT,), payloads=(payload,)))
    assert (wake_of(scene).handed, wake_of(scene).session) == (HANDED, None)


def test_the_start_of_an_agent_through_a_lead_is_on_record() -> None:
    scene = led()
    scene.do(summon())
    scene.do(register())
    scene.do(status())
    start = c.SetDesired(
        seat=SEAT,
        desired=RunMode.CONTINUOUS,
        set_by="Marcus",
        memory="<agent/>",
        handed=HANDED,
    )
    scene.do(start)
    assert wake_of(scene).handed == HANDED
