"""Policies and plans: what is not valid is named, and an older kernel is told apart."""

from pathlib import Path

import pytest

from muster.confine import filter as seccomp
from muster.confine import kernel
from muster.confine.bubblewrap import arguments
from muster.confine.kernel import Support, writing
from muster.confine.plan import plan_of
from muster.confine.policy import ConfineError, ConfinePolicy, parse


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ("[]", "must be an object"),
        ('{"read": []}', "no field 'read'"),
        ('{"write": "x"}', "list of paths"),
        ('{"write": ["x"]}', "absolute paths"),
        ('{"write": [1]}', "absolute paths"),
        ('{"write": ["/a\\u0000b"]}', "absolute paths"),
        ('{"network": 1}', "'network' must be true or false"),
        ('{"environment": []}', "must be an object"),
        ('{"environment": {"A=B": "c"}}', "names to strings"),
        ('{"network": false, "network": true}', "'network' twice"),
        ('{"environment": {"A": "b", "A": "c"}}', "'A' twice"),
    ],
)
def test_a_mistake_in_a_policy_is_named(text: str, why: str) -> None:
    with pytest.raises(ConfineError, match=why):
        parse(text)


def test_a_policy_is_read_with_all_its_fields() -> None:
    found = parse('{"write": ["/a"], "network": true, "metadata": true, "environment": {"A": "b"}}')
    assert (found.write, found.network, found.metadata) == (("/a",), True, True)
    assert found.environment == {"A": "b"}
    assert not parse("{}").network


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfineError, match="No such file"):
        plan_of(ConfinePolicy((str(tmp_path / "x"),)), Support(7))


@pytest.mark.parametrize(("abi", "lacks"), [(1, 4), (2, 3), (3, 2), (4, 2), (5, 1), (6, 0), (9, 0)])
def test_what_an_older_kernel_lacks_is_said(abi: int, lacks: int) -> None:
    found = Support(abi)
    assert len(found.lacks) == lacks
    assert found.sentence.startswith(f"confined by Landlock (ABI {abi})")
    assert all(each in found.sentence for each in found.lacks)


def test_a_plan_asks_an_older_kernel_for_nothing_that_it_does_not_know(tmp_path: Path) -> None:
    sizes = {}
    for abi in range(1, 8):
        steps = dict(
            line.split(" ", 1) for line in plan_of(ConfinePolicy(), Support(abi)).splitlines()
        )
        handled, network, scopes = map(int, steps["handle"].split())
        assert handled == writing(min(abi, kernel.ABI_MAX))
        assert (network > 0, scopes > 0) == (abi >= 4, abi >= 6)
        sizes[abi] = int(steps["size"])
    assert sizes == {1: 8, 2: 8, 3: 8, 4: 16, 5: 16, 6: 24, 7: 24}


def test_a_machine_without_landlock_says_what_confines_instead_or_that_nothing_does() -> None:
    wrapped = Support(0, bubblewrap="/usr/bin/bwrap", why="this kernel has no Landlock")
    assert wrapped.way == "bubblewrap"
    assert "bubblewrap" in wrapped.sentence
    bare = Support(0, why="this kernel has no Landlock")
    assert bare.way == "none"
    assert bare.sentence.startswith("not confined: this kernel has no Landlock")
    with pytest.raises(ConfineError, match="no Landlock"):
        plan_of(ConfinePolicy(), bare)


def test_bubblewrap_mounts_everything_read_only_but_what_may_be_written() -> None:
    policy = ConfinePolicy(("/srv/out",), environment={"TMPDIR": "/srv/out"})
    line = arguments("/usr/bin/bwrap", policy, ["ls", "-l"])
    assert line[:5] == ["/usr/bin/bwrap", "--die-with-parent", "--ro-bind", "/", "/"]
    assert line[-3:] == ["--", "ls", "-l"]
    assert " --bind /srv/out /srv/out " in " ".join(line)
    assert "--unshare-net" in line
    assert "--unshare-ipc" in line
    assert "--unshare-ipc" not in arguments("bwrap", ConfinePolicy(sockets=True), ["ls"])
    assert "--unshare-net" not in arguments("bwrap", ConfinePolicy(network=True), ["ls"])


def test_an_unknown_architecture_has_no_filter_and_says_so() -> None:
    assert seccomp.program("riscv64", metadata=False, truncate=True) == b""
    assert seccomp.offline("riscv64") == b""
    assert "no seccomp filter" in Support(7, seccomp=False).sentence
    for machine in ("x86_64", "aarch64"):
        strict = seccomp.program(machine, metadata=False, truncate=False)
        assert len(strict) > len(seccomp.program(machine, metadata=True, truncate=True))
