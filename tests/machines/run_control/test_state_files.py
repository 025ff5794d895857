"""A state file that cannot be read counts as pause: no start is accepted until it can be."""

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.policies import RunPolicy
from muster.machines.vocabulary import Authority, RunMode
from tests.machines.scene import Scene, facts

CONTINUOUS, PAUSE, RUN_ONCE, _ = RunMode
UNREADABLE = "agent_state.json cannot be read: Is a directory"


def enrolled(policy: RunPolicy | None = None) -> Scene:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Lyra", authority=Authority.MUSTER))
    if policy is not None:
        seat = scene.seat("Lyra")
        scene.do(c.ConfigureAgent(seat=seat, authority=Authority.MUSTER, policy=policy))
    return scene


def report(scene: Scene, problem: str = "", *, is_readable: bool = True) -> list[e.Event]:
    seat = scene.seat("Lyra")
    told = c.ReportStateFile(seat=seat, problem=problem, is_readable=is_readable)
    return scene.do(told, "muster")


@pytest.mark.parametrize("mode", [CONTINUOUS, RUN_ONCE])
def test_no_start_is_accepted_while_the_file_cannot_be_read(mode: RunMode) -> None:
    """One session ran before the file was looked at again."""
    scene = enrolled()
    report(scene, UNREADABLE, is_readable=False)
    wish = c.SetDesired(seat=scene.seat("Lyra"), desired=mode, set_by="Marcus")
    refused = scene.refuse(wish, "state_file_unreadable")
    assert UNREADABLE in str(refused)
    assert not scene.team.sessions
    scene.want("Lyra", PAUSE)
    report(scene)
    scene.want("Lyra", mode)
    assert scene.agent("Lyra").session is not None


def test_an_agent_whose_file_cannot_be_read_is_not_woken() -> None:
    scene = enrolled()
    report(scene, UNREADABLE, is_readable=False)
    scene.refuse(c.WakeAgents(), "nobody_is")
    scene.refuse(c.WakeAgents(seats=(scene.seat("Lyra"),)), "state_file_unreadable")


def test_autostart_waits_until_the_file_can_be_read() -> None:
    scene = enrolled(RunPolicy(autostart=True))
    report(scene, UNREADABLE, is_readable=False)
    start = c.AutostartAgent(seat=scene.seat("Lyra"))
    scene.refuse(start, "state_file_unreadable")
    report(scene)
    scene.do(start, "muster")
    assert scene.agent("Lyra").run.desired is CONTINUOUS


def test_a_file_that_cannot_be_written_is_told_once_and_hinders_no_start() -> None:
    scene = enrolled()
    [told] = facts(report(scene, "it is read-only"), e.StateFileReported)
    assert (told.problem, told.is_readable) == ("it is read-only", True)
    assert not report(scene, "it is read-only")
    assert scene.agent("Lyra").run.file_problem == "it is read-only"
    scene.want("Lyra", CONTINUOUS)
    assert scene.agent("Lyra").session is not None


def test_the_file_of_an_agent_that_runs_elsewhere_now_is_no_matter_any_more() -> None:
    scene = enrolled()
    report(scene, UNREADABLE, is_readable=False)
    scene.do(c.ConfigureAgent(seat=scene.seat("Lyra"), authority=Authority.SELF))
    run = scene.agent("Lyra").run
    assert (run.file_problem, run.is_file_readable) == ("", True)
