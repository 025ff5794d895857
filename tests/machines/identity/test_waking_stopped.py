"""WAKE of all agents, and those that a person or a limit has stopped."""

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.vocabulary import Authority, RunMode
from tests.machines.scene import Scene, facts

CONTINUOUS, PAUSE, _, _ = RunMode


def asleep() -> Scene:
    """One that was never started, one that a person stopped, one that was put to sleep."""
    scene = Scene()
    for name in ("new", "stopped", "slept"):
        scene.do(c.EnrollAgent(name=name, authority=Authority.MUSTER))
    for name in ("stopped", "slept"):
        scene.want(name, CONTINUOUS)
        scene.up(name)
    scene.want("stopped", PAUSE)
    scene.do(c.SleepAgents(seats=(scene.seat("slept"),)))
    for name in ("stopped", "slept"):
        scene.ends(name)
    return scene


def woken(scene: Scene, command: c.WakeAgents) -> set[str]:
    [asked] = facts(scene.do(command), e.WakeRequested)
    return {scene.team.agents[seat].id for seat in asked.seats}


def test_agents_that_were_stopped_are_spared_and_a_sleep_ends() -> None:
    assert woken(asleep(), c.WakeAgents(spares_stopped=True)) == {"new", "slept"}


def test_without_that_all_are_woken_and_a_name_is_always_meant() -> None:
    assert woken(asleep(), c.WakeAgents()) == {"new", "stopped", "slept"}
    scene = asleep()
    by_name = c.WakeAgents(seats=(scene.seat("stopped"),), spares_stopped=True)
    assert woken(scene, by_name) == {"stopped"}


def test_where_all_were_stopped_nobody_is_woken() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Ada", authority=Authority.MUSTER))
    scene.want("Ada", CONTINUOUS)
    scene.up("Ada")
    scene.want("Ada", PAUSE)
    scene.ends("Ada")
    scene.refuse(c.WakeAgents(spares_stopped=True), "nobody_is")
