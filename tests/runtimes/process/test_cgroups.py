"""Cgroups of sessions, in a folder that looks like cgroup v2: what is written, read and refused."""

import os
from pathlib import Path

import pytest

from muster.runtimes.process import cgroups
from muster.runtimes.process.cgroups import Cgroup, Cgroups, delegation, take_over
from tests.builders import run

PID = os.getpid()


class Machine:
    """A `/proc` with this process in a cgroup, and the folder of that cgroup."""

    def __init__(self, base: Path, *, path: str = "/user/muster.service") -> None:
        self.proc = base / "proc"
        self.mount = base / "cgroup"
        self.folder = self.mount / path.lstrip("/")
        self.folder.mkdir(parents=True)
        own = self.proc / str(PID)
        own.mkdir(parents=True)
        (own / "cgroup").write_text(f"2:cpu:/\n0::{path}\n")
        line = f"30 23 0:26 / {self.mount} rw,nosuid - cgroup2 cgroup2 rw\n"
        (own / "mountinfo").write_text(f"22 1 0:21 / / rw - ext4 /dev/root rw\n{line}")
        (self.folder / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
        (self.folder / "cgroup.procs").write_text(f"{PID}\n")
        (self.folder / "cgroup.subtree_control").write_text("")

    def delegation(self) -> cgroups.DelegatedCgroup:
        return delegation(PID, self.proc)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_delegated_cgroup_with_own_processes_alone_is_found(machine: Machine) -> None:
    found = machine.delegation()
    assert found.folder == machine.folder
    assert found.controllers == {"cpu", "memory", "pids"}
    assert found.sentence == "limits of agents hold by cgroup v2 (cpu, memory, pids)"


def test_a_muster_that_has_moved_already_is_found_in_its_own_child(tmp_path: Path) -> None:
    machine = Machine(tmp_path, path="/user/muster.service/muster")
    service = machine.folder.parent
    (service / "cgroup.controllers").write_text("memory pids")
    (service / "cgroup.subtree_control").write_text("memory pids")
    found = machine.delegation()
    assert (found.folder, found.controllers) == (service, {"memory", "pids"})


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("proc/cgroup", "1:name=systemd:/\n", "this machine has no cgroup v2"),
        ("proc/mountinfo", "", "this machine has no cgroup v2"),
        ("cgroup/cgroup.controllers", "hugetlb", "cgroup v2 has no controllers here"),
        ("cgroup/cgroup.subtree_control", None, "no cgroup was delegated to muster"),
        ("cgroup/cgroup.procs", "1\n", "its cgroup has processes of others"),
    ],
)
def test_a_cgroup_that_cannot_be_used_says_why(
    machine: Machine, file: str, content: str | None, why: str
) -> None:
    place, _, name = file.partition("/")
    path = (machine.proc / str(PID) if place == "proc" else machine.folder) / name
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    found = machine.delegation()
    assert found.folder is None
    assert why in found.sentence
    assert "by process (rlimits)" in found.sentence


def test_to_take_over_moves_the_processes_and_enables_the_controllers(machine: Machine) -> None:
    left = machine.folder / "session-of-yesterday"
    left.mkdir()
    (machine.folder / "cgroup.procs").write_text("")
    made = take_over(machine.folder, frozenset({"pids"}))
    assert made is not None
    assert (machine.folder / "muster").is_dir()
    assert (machine.folder / "cgroup.subtree_control").read_text() == "+pids"
    assert (left / "cgroup.kill").read_text() == "1"


def test_a_process_is_moved_by_its_number(machine: Machine) -> None:
    take_over(machine.folder, frozenset({"pids"}))
    assert (machine.folder / "muster" / "cgroup.procs").read_text() == str(PID)


def test_where_the_kernel_refuses_there_are_no_cgroups(machine: Machine) -> None:
    (machine.folder / "muster").write_text("in the way")
    assert take_over(machine.folder, frozenset({"pids"})) is None


def test_a_session_has_a_cgroup_with_its_limits(tmp_path: Path) -> None:
    made = Cgroups(tmp_path, frozenset({"memory"})).create("3f-1", {"memory.max": "1024"})
    assert made.members_file == tmp_path / "session-3f-1" / "cgroup.procs"
    assert (made.path / "memory.max").read_text() == "1024"
    assert (made.path / "memory.swap.max").read_text() == "0"
    assert (made.path / "memory.oom.group").read_text() == "1"


def test_a_cgroup_whose_limits_cannot_be_written_is_not_left_behind(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"memory\.max"):
        Cgroups(tmp_path, frozenset()).create("1", {"no/memory.max": "1"})
    (tmp_path / "session-2").mkdir()
    with pytest.raises(FileExistsError):
        Cgroups(tmp_path, frozenset()).create("2", {})


def test_the_kernels_counters_are_read(tmp_path: Path) -> None:
    cgroup = Cgroup(tmp_path)
    assert (cgroup.kills, cgroup.refused_forks) == (0, 0)
    (tmp_path / "memory.events").write_text("low 0\nmax 12\noom 2\noom_kill 3\n")
    (tmp_path / "pids.events").write_text("max 7\n")
    assert (cgroup.kills, cgroup.refused_forks) == (3, 7)


def test_what_is_left_in_a_cgroup_is_killed_and_a_cgroup_that_stays_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "CGROUP_EMPTY_SECONDS", 0.0)
    stays = Cgroup(tmp_path / "stays")
    stays.path.mkdir()
    run(stays.remove())
    assert (stays.path / "cgroup.kill").read_text() == "1"
    gone = Cgroup(tmp_path / "gone")
    run(gone.remove())
    assert not gone.path.exists()
