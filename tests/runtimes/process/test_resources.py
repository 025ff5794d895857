"""The plan of a session's limits: by cgroup v2 where there is one, by process else, and said so."""

import pytest

from muster.runtimes.process.resources import MIB, LimitPlan, Limits, Rlimit, plan_limits

ALL = Limits(memory_mb=512, cpu_percent=150, cpu_seconds=60, processes=50, open_files=256, nice=10)
EVERY_CONTROLLER = frozenset({"memory", "cpu", "pids"})
NONE: frozenset[str] = frozenset()


def plan(limits: Limits, controllers: frozenset[str], *, is_root: bool = False) -> LimitPlan:
    return plan_limits(limits, controllers, is_root=is_root, user_tasks=200)


def test_with_cgroup_v2_memory_cpu_and_processes_hold_for_the_whole_session() -> None:
    found = plan(ALL, EVERY_CONTROLLER, is_root=True)
    assert found.cgroup == {
        "memory.max": str(512 * MIB),
        "cpu.max": "150000 100000",
        "pids.max": "50",
    }
    assert [each.name for each in found.rlimits] == ["CPU", "NOFILE"]
    assert found.nice == 10
    assert found.held == (
        "memory_mb = 512 by cgroup v2",
        "cpu_percent = 150 by cgroup v2",
        "cpu_seconds = 60 by RLIMIT_CPU, for each process",
        "processes = 50 by cgroup v2",
        "open_files = 256 by RLIMIT_NOFILE, for each process",
        "nice = 10",
    )


def test_without_cgroup_v2_the_kernels_limits_of_a_process_hold_as_far_as_they_go() -> None:
    found = plan(ALL, NONE)
    assert found.cgroup == {}
    assert found.rlimits == (
        Rlimit("DATA", 512 * MIB, 512 * MIB, "memory_mb = 512"),
        Rlimit("CPU", 60, 65, "cpu_seconds = 60"),
        Rlimit("NPROC", 250, 250, "processes = 50"),
        Rlimit("NOFILE", 256, 256, "open_files = 256"),
    )
    assert found.held[:2] == (
        "memory_mb = 512 by RLIMIT_DATA, for each process",
        "cpu_percent = 150 is not in force: it needs cgroup v2",
    )
    assert "processes = 50 by RLIMIT_NPROC, 250 for all processes of this user" in found.held


def test_a_limit_that_does_not_bind_root_is_not_claimed() -> None:
    found = plan(Limits(processes=50), NONE, is_root=True)
    assert found.rlimits == ()
    assert found.held == ("processes = 50 is not in force: RLIMIT_NPROC does not bind root",)


@pytest.mark.parametrize("controller", sorted(EVERY_CONTROLLER))
def test_each_controller_counts_alone(controller: str) -> None:
    found = plan(ALL, frozenset({controller}))
    by_cgroup = [each for each in found.held if each.endswith("by cgroup v2")]
    assert len(by_cgroup) == len(found.cgroup) == 1


def test_without_limits_nothing_is_planned() -> None:
    assert plan(Limits(), EVERY_CONTROLLER) == LimitPlan((), {}, None, ())
