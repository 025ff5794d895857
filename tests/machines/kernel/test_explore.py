"""Every reachable state of small teams, with every invariant checked in each."""

from functools import cache

import pytest
from msgspec.structs import replace

from muster.machines.maps import put
from muster.machines.turns import table as turn_rules
from tests.simulation import claims, explore
from tests.simulation.explore import START, Report, Space

pytestmark = pytest.mark.exhaustive

SPACES = (*claims.SPACES, *explore.SPACES)

ASKING = frozenset({"approval_requested", "approval_answered", "place_kept", "session_ended"})
"""The triggers that only sessions cause; the last space has all of them."""


@cache
def explored(space: Space) -> Report:
    """The result, cached for all tests."""
    return explore.explore(space)


@pytest.mark.parametrize("space", SPACES, ids=[space.name for space in SPACES])
def test_every_reachable_state_keeps_every_invariant(
    space: Space, capsys: pytest.CaptureFixture[str]
) -> None:
    report = explored(space)
    with capsys.disabled():
        print(f"\n  {report}")
    assert report.transitions > report.states > 10
    if space is SPACES[-1]:
        assert {trigger for _, _, trigger in report.moves} >= ASKING


def test_the_explored_turns_use_every_row_that_connected_agents_can_cause() -> None:
    moves = explore.explore(explore.turn_space(2, 1)).moves
    moves = moves.union(*(explored(space).moves for space in claims.SPACES))
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
