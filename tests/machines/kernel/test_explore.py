"""Every reachable state of small teams, with every invariant checked in each."""

import pytest
from msgspec.structs import replace

from muster.machines.maps import put
from muster.machines.turns import table as turn_rules
from tests.simulation import claims, explore
from tests.simulation.explore import START, Report, Space

pytestmark = pytest.mark.exhaustive

ASKING = frozenset({"approval_requested", "approval_answered", "place_kept", "session_ended"})
"""The triggers that only sessions cause; the last space has all of them."""


def explored(space: Space, capsys: pytest.CaptureFixture[str]) -> Report:
    """Visit every reachable state; each keeps every invariant."""
    report = explore.explore(space)
    with capsys.disabled():
        print(f"\n  {report}")
    assert report.transitions > report.states > 10
    return report


@pytest.mark.parametrize("space", explore.SPACES, ids=[space.name for space in explore.SPACES])
def test_every_reachable_state_keeps_every_invariant(
    space: Space, capsys: pytest.CaptureFixture[str]
) -> None:
    report = explored(space, capsys)
    if space is explore.SPACES[-1]:
        assert {trigger for _, _, trigger in report.moves} >= ASKING


def test_every_reachable_claim_keeps_every_invariant_and_every_row_of_turns_is_used(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One test for both: else two processes would explore the claims, for 15 s each."""
    spaces = (explore.turn_space(2, 1), *claims.SPACES)
    moves = {move for space in spaces for move in explored(space, capsys).moves}
    rows = {(row.source, row.target, row.trigger) for row in turn_rules.TABLE}
    by_sessions = {row for row in rows if row[2] in ASKING}
    by_sessions.add(("QUEUED", "OFFLINE", "agent_stops"))
    assert rows - by_sessions == moves & rows - by_sessions


def test_the_explorer_detects_a_turn_that_is_never_granted() -> None:
    team = explore.turn_space(1, 1).start()
    [agent], [channel] = team.agents.values(), team.channels.values()
    explore.check(team, START)
    stuck = replace(
        team,
        agents=put(team.agents, agent.seat, replace(agent, channels=(channel.id,))),
        channels=put(team.channels, channel.id, replace(channel, ring=(agent.seat,))),
    )
    with pytest.raises(AssertionError, match="nobody is granted it"):
        explore.check(stuck, START)
