"""Waking: who is woken, how often the lead is asked, and what a start means for a sleeper."""

import pytest

from muster import limits
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.documents import WakeText
from muster.machines.identity.wake_orders import WAKE, packed
from muster.machines.ids import LEAD_SEAT, SeatId
from muster.machines.vocabulary import Authority, RunMode, Status
from tests.machines.identity.test_identity import SEAT, at, led, places, register, seated, status
from tests.machines.scene import Scene, facts

CONTINUOUS, PAUSE, RUN_ONCE, RUN_CLEANUP = RunMode


def wake(*seats: SeatId) -> c.WakeAgents:
    texts = tuple(WakeText(SeatId(seat), f"<agent {seat}/>") for seat in range(9))
    return c.WakeAgents(seats=seats, payloads=texts)


def told(events: list[e.Event]) -> list[str]:
    return [fact.text for fact in facts(events, e.UserMessage) if fact.seat == LEAD_SEAT]


def start(scene: Scene, mode: RunMode = CONTINUOUS) -> list[e.Event]:
    wish = c.SetDesired(seat=SEAT, desired=mode, set_by="Marcus", memory="<agent 0/>")
    return scene.do(wish)


# ── once ──────────────────────────────────────────────────────────────────────────────────────────


def test_six_wakes_at_once_ask_the_lead_once() -> None:
    """Defect 12."""
    scene = seated(Status.SLEEPING)
    assert [told(scene.do(wake())) for _ in range(6)] == [
        ["[WAKE AGENTS]\n<agent 0/>"],
        *[[]] * 5,
    ]
    scene.later(limits.WAKING_SECONDS)
    assert told(scene.do(wake())) == ["[WAKE AGENTS]\n<agent 0/>"]  # it was not reported


def test_a_wake_of_others_does_not_ask_again_for_one_that_is_being_woken() -> None:
    scene = seated(Status.SLEEPING)
    session = at(scene, LEAD_SEAT).session
    scene.do(register(SeatId(1), "Kael", session))
    scene.do(status(session=session))
    scene.do(wake(SEAT))
    assert told(scene.do(wake())) == ["[WAKE AGENTS]\n<agent 1/>"]


def test_an_agent_that_sleeps_again_may_be_woken_again_at_once() -> None:
    scene = seated(Status.SLEEPING)
    session = at(scene, LEAD_SEAT).session
    scene.do(wake())
    scene.do(status(SEAT, session=session))
    assert at(scene).waking_until is None
    scene.do(status(session=session))
    assert told(scene.do(wake())) != []


# ── who cannot be woken ───────────────────────────────────────────────────────────────────────────


def test_a_disabled_agent_of_a_lead_is_not_woken_and_its_lead_is_told_to_stop_it() -> None:
    """Defect 14."""
    scene = seated(Status.ALIVE)
    disabled = scene.do(c.DisableAgent(seat=SEAT, reason="too loud"))
    assert told(disabled) == ["[STOP AGENT: Lyra] it was disabled: too loud"]
    assert told(scene.do(c.DisableAgent(seat=SEAT))) == []
    scene.do(status(session=at(scene, LEAD_SEAT).session))
    scene.refuse(wake(), "nobody_is")
    scene.refuse(wake(SEAT), "disabled")


def test_disabling_a_sleeper_of_a_lead_says_nothing_to_the_lead() -> None:
    assert told(seated(Status.SLEEPING).do(c.DisableAgent(seat=SEAT))) == []


def test_an_agent_that_connects_by_itself_is_passed_over_and_refused_by_name() -> None:
    scene = Scene()
    scene.connected("pm")
    scene.do(c.DisconnectAgent(seat=scene.seat("pm"), reason="bye"))
    scene.refuse(wake(), "nobody_is")
    scene.refuse(wake(scene.seat("pm")), "connects_by_itself")


def test_an_agent_with_tasks_only_is_not_woken() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Ivy", authority=Authority.MUSTER, on_call=True))
    scene.refuse(wake(scene.seat("Ivy")), "on_call")


def test_an_agent_that_follows_its_state_file_is_woken_by_its_desired_state() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Ada", authority=Authority.FILE))
    scene.do(wake())
    assert scene.agent("Ada").run.desired is CONTINUOUS


# ── start ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_start_of_a_sleeper_tells_the_lead_what_a_wake_would() -> None:
    """Defects 3 and 4: nothing, or a start without soul and transcript."""
    scene = seated(Status.SLEEPING)
    assert at(scene).run.desired is CONTINUOUS
    assert told(start(scene)) == ["[WAKE AGENTS]\n<agent 0/>"]
    assert told(start(scene)) == []  # it is being woken
    scene.later(limits.WAKING_SECONDS)
    scene.want("Lyra", PAUSE)
    assert told(start(scene)) == ["[WAKE AGENTS]\n<agent 0/>"]


@pytest.mark.parametrize(("mode", "word"), [(RUN_ONCE, "one piece of work"), (RUN_CLEANUP, "tidy")])
def test_a_lead_can_tell_a_one_shot_from_a_start(mode: RunMode, word: str) -> None:
    (asleep,) = told(start(seated(Status.SLEEPING), mode))
    assert asleep.startswith("[WAKE AGENTS]\n<agent 0/>\n")
    assert word in asleep
    (awake,) = told(start(seated(Status.ALIVE), mode))
    assert awake.startswith("[START AGENT: Lyra]\n")
    assert word in awake


def test_a_summon_starts_a_lead_that_sleeps() -> None:
    """Defect 13: eight eggs, and nobody was told."""
    scene = led()
    scene.want("Julian", PAUSE)
    scene.ends("Julian")
    assert at(scene, LEAD_SEAT).status is Status.SLEEPING
    command = c.SummonAgents(
        placeholders=places(), authority=Authority.LEAD, message="[SUMMON AGENTS]"
    )
    scene.do(command)
    assert at(scene, LEAD_SEAT).session is not None


# ── messages of any size ──────────────────────────────────────────────────────────────────────────


def test_payloads_of_any_number_and_size_fit_into_messages_and_none_is_lost() -> None:
    """Defect 2: together over a megabyte, and nobody could be woken."""
    texts = [f"<agent {number}>{'x' * 300_000}</agent>" for number in range(20)]
    messages = list(packed(texts))
    assert all(len(each.encode()) <= limits.MESSAGE_BYTES_MAX for each in messages)
    assert all(each.startswith(f"{WAKE}\n") for each in messages)
    assert [line for each in messages for line in each.split("\n")[1:]] == texts
    largest = "x" * limits.WAKE_TEXT_BYTES_MAX
    (alone,) = packed([largest])
    assert len(alone) <= limits.MESSAGE_BYTES_MAX
    assert list(packed([])) == []
