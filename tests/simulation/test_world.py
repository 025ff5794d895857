"""The simulation from a random seed: no invariant breaks, and a broken rule is found."""

from collections.abc import Sequence
from datetime import datetime

import pytest
from msgspec.structs import replace

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Event, Fact
from muster.machines.ids import HERE, SessionId
from muster.machines.kernel import team
from muster.machines.kernel.fold import EVOLVERS
from muster.machines.maps import put
from muster.machines.run_control import fold as run_fold
from muster.machines.state import Team
from muster.machines.vocabulary import RunMode
from tests.simulation import world
from tests.simulation.world import Violation, World

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("seed", range(1, 9))
def test_no_invariant_breaks_in_a_simulated_team(seed: int) -> None:
    life = World(seed)
    life.play(8_000)
    assert life.counts["crash of muster"] > 10
    assert life.counts["CompleteTurn"] > 30
    assert life.counts["ReportSessionEnded"] > 50


def test_the_same_random_seed_gives_the_same_log() -> None:
    lives = [World(3), World(3)]
    for life in lives:
        life.play(2_000)
    assert lives[0].log == lives[1].log


def test_the_command_line_prints_the_simulated_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert world.main(["--seed", "5", "--steps", "2000"]) == 0
    assert "seed 5: 2000 steps" in capsys.readouterr().out


def start_whatever_is_wanted(
    now_team: Team, command: c.StartSession, now: datetime
) -> Sequence[Fact]:
    """A gate that ignores the desired state."""
    agent = now_team.agent(command.seat)
    if agent.session is not None:
        return ()
    request = e.SessionRequested(
        seat=agent.seat,
        session=SessionId(f"{now_team.nodes[HERE].life}-{now_team.seq + 1}"),
        mode=agent.run.desired,
        generation=agent.run.generation,
        trigger=command.trigger,
    )
    return (request,)


def never_offer(now_team: Team, command: c.OfferTurn, now: datetime) -> Sequence[Fact]:
    """A turn manager that never grants a turn."""
    return ()


def let_anybody(now_team: Team, command: c.ResumeTurn, actor: str) -> None:
    """A rule that lets an agent lift a human's hold."""


def forget_that_it_pauses(now_team: Team, event: Event, fact: e.DesiredSet) -> Team:
    """An evolver that takes a pause for a run."""
    changed = run_fold.desired_set(now_team, event, fact)
    agent = changed.agents[fact.seat]
    run = replace(agent.run, desired=RunMode.CONTINUOUS)
    return replace(changed, agents=put(changed.agents, agent.seat, replace(agent, run=run)))


@pytest.mark.parametrize(
    ("table", "key", "broken"),
    [
        (team.DECIDERS, c.StartSession, start_whatever_is_wanted),
        (team.DECIDERS, c.OfferTurn, never_offer),
        (team.ACTOR_RULES, c.ResumeTurn, let_anybody),
        (EVOLVERS, e.DesiredSet, forget_that_it_pauses),
    ],
    ids=["the gate", "the grant", "the hold", "the fold"],
)
def test_a_broken_rule_is_found_and_the_command_to_reproduce_it_is_printed(
    table: dict[type, object],
    key: type,
    broken: object,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(table, key, broken)
    assert world.main(["--seed", "1", "--steps", "20000"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("violation: ")
    steps = said.rsplit("--steps ", 1)[1].strip()
    assert f"python -m tests.simulation.world --seed 1 --steps {steps}" in said
    with pytest.raises(Violation, match=f"at step {steps}"):
        World(1).play(int(steps))
