"""Agents with a loop of their own: the writes of their state file are the evidence, and it ages."""

from datetime import timedelta

import pytest

from muster.limits import LOOP_EVIDENCE_SECONDS, LOOP_SILENT_SECONDS
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import MUSTER, agent_actor, person
from muster.machines.kernel import deadlines
from muster.machines.state import Status
from muster.machines.vocabulary import Authority, RunMode
from tests.machines.scene import Scene, facts


def a_running_loop() -> Scene:
    scene = Scene()
    scene.do(c.EnrollAgent(name="loop", authority=Authority.FILE))
    scene.want("loop", RunMode.CONTINUOUS)
    scene.do(c.ConnectAgent(seat=scene.seat("loop")))
    scene.do(c.ReportCurrent(seat=scene.seat("loop"), current=RunMode.CONTINUOUS))
    return scene


def shown(scene: Scene) -> Status:
    return scene.team.shown_status(scene.agent("loop"))


def test_a_loop_that_writes_nothing_for_too_long_is_unknown_until_it_writes_again() -> None:
    """Issue 15, defect 13: a loop that was killed was shown alive and RUNNING for ever."""
    scene = a_running_loop()
    assert facts(scene.later(LOOP_SILENT_SECONDS - 1), e.EvidenceExpired) == []
    assert shown(scene) is Status.ALIVE
    [expired] = facts(scene.later(1), e.EvidenceExpired)
    assert expired.seconds == LOOP_SILENT_SECONDS
    assert (shown(scene), scene.agent("loop").run.current) == (Status.UNKNOWN, RunMode.CONTINUOUS)
    assert scene.later(LOOP_SILENT_SECONDS) == []  # said once
    [confirmed] = facts(scene.do(c.ConnectAgent(seat=scene.seat("loop"))), e.AgentConfirmed)
    assert (confirmed.evidence, shown(scene)) == ("file", Status.ALIVE)


def test_writes_renew_the_evidence_but_the_log_does_not_grow_with_each() -> None:
    scene = a_running_loop()
    seat, began = scene.seat("loop"), scene.now
    scene.later(LOOP_EVIDENCE_SECONDS / 2)
    assert scene.do(c.ConnectAgent(seat=seat)) == []
    scene.later(LOOP_EVIDENCE_SECONDS / 2)
    assert len(facts(scene.do(c.ConnectAgent(seat=seat)), e.AgentConfirmed)) == 1
    evidence = scene.agent("loop").evidence
    assert evidence is not None
    assert (evidence.kind, evidence.at) == (
        "file",
        began + timedelta(seconds=LOOP_EVIDENCE_SECONDS),
    )
    scene.later(1)
    scene.do(c.ReportCurrent(seat=seat, current=RunMode.PAUSE))
    reported = scene.agent("loop").evidence
    assert reported is not None
    assert (reported.kind, reported.at) == ("file", scene.now)


def test_a_state_found_at_the_start_is_no_sign_of_life() -> None:
    scene = a_running_loop()
    scene.boot()
    assert shown(scene) is Status.UNKNOWN
    scene.do(c.ReportCurrent(seat=scene.seat("loop"), current=RunMode.PAUSE))
    assert shown(scene) is Status.UNKNOWN
    assert deadlines.of(scene.team, scene.seat("loop")) is None


def test_a_clock_that_jumps_does_not_age_the_evidence() -> None:
    scene = a_running_loop()
    due = deadlines.of(scene.team, scene.seat("loop"))
    scene.do(c.ReportClockJump(seconds=3600.0, shift_seconds=3600.0))
    moved = deadlines.of(scene.team, scene.seat("loop"))
    assert due is not None
    assert moved is not None
    assert moved.at == due.at + timedelta(hours=1)


@pytest.mark.parametrize(
    ("authority", "actor", "kind"),
    [
        (Authority.MUSTER, MUSTER, "settings"),
        (Authority.FILE, MUSTER, "settings"),
        (Authority.SELF, person("Marcus"), "person"),
        (Authority.SELF, agent_actor("Ada"), "report"),
    ],
)
def test_a_new_agent_has_the_evidence_of_its_author(
    authority: Authority, actor: str, kind: str
) -> None:
    """Issue 15: agents that nobody had touched were shown with the evidence `person`."""
    scene = Scene()
    scene.do(c.EnrollAgent(name="new", authority=authority), actor=actor)
    evidence = scene.agent("new").evidence
    assert evidence is not None
    assert evidence.kind == kind
