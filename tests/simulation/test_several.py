"""One team on several simulated machines: no seat ever has two processes, and broken rules show."""

import pytest
from msgspec.structs import replace

from tests.simulation import several
from tests.simulation.several import Machine, Several, Violation, main

SEEDS = (1, 2, 3, 4, 5, 6, 8, 9)
"""Each of them gives up a machine at least once."""


@pytest.mark.parametrize("seed", SEEDS)
def test_no_seat_has_two_processes_whatever_happens_to_its_machines(seed: int) -> None:
    team = Several(seed)
    team.play(4_000)
    counts = team.counts
    assert counts["processes"]
    assert counts["LoseNode"]
    assert counts["decided again"]


def finds(steps: int = 4_000) -> str:
    """The first violation that some seed finds."""
    for seed in range(1, 40):
        try:
            Several(seed).play(steps)
        except Violation as violation:
            return str(violation)
    raise AssertionError("nothing was found")


def test_a_warden_that_does_not_kill_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def idle(self: Several, machine: Machine) -> None:
        pass

    monkeypatch.setattr(Several, "_kill_movers", idle)
    assert "processes at once" in finds()


def test_a_runtime_that_does_not_ask_in_the_last_moment_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spawn = Several._spawn  # pyright: ignore[reportPrivateUsage]

    def unasked(self: Several, machine: Machine, order: several.Spawn) -> None:
        until, machine.until = machine.until, float("inf")
        spawn(self, machine, order)
        machine.until = until
        machine.killed_at = float("inf")  # its warden has killed before, and knows of nobody

    monkeypatch.setattr(Several, "_spawn", unasked)
    assert "processes at once" in finds()


def test_machines_that_give_up_others_too_early_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    look = Several.look

    def impatient(self: Several, machine: Machine) -> None:
        machine.seen = {name: (row, at - 40) for name, (row, at) in machine.seen.items()}
        look(self, machine)

    monkeypatch.setattr(Several, "look", impatient)
    assert "processes at once" in finds()


def test_a_loss_that_counts_after_the_node_is_back_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def belated(self: Several, machine: Machine) -> None:
        self.catch_up(machine)
        for each in machine.verdicts:
            node = machine.team.nodes.get(each.node)
            self.send(machine, replace(each, term=node.term if node else 0))
        machine.verdicts = []

    monkeypatch.setattr(Several, "pronounce", belated)
    assert "processes at once" in finds()


def test_the_program_prints_what_it_has_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "1", "--steps", "300"]) == 0
    assert "0 violations" in capsys.readouterr().out


def test_the_program_prints_how_to_repeat_a_violation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(self: Several) -> None:
        self._fail("broken")  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(Several, "settle", broken)
    assert main(["--seed", "7", "--steps", "5"]) == 1
    assert "several --seed 7 --steps 5" in capsys.readouterr().err
