"""Nodes over HTTP and on the command line: who is here or away, and moving an agent."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from muster.machines import commands as c
from muster.machines.ids import HERE, NodeId, SeatId, SessionId
from muster.machines.vocabulary import Authority, RunMode
from tests.asking import Asker, asker
from tests.homes import muster as typed
from tests.homes import play
from tests.inside import Inside, inside

BOX, LIFE = NodeId("gpu-box"), SessionId("box-life")
JOIN = c.StartMuster(
    server_session=LIFE, muster_version="0", human="Ann", node=BOX, labels=("gpu",), room=4
)
LOST = c.LoseNode(node=BOX, life=LIFE, term=0)
ENROL = c.EnrollAgent(name="Mia", authority=Authority.MUSTER)


@pytest.fixture
def muster(tmp_path: Path) -> Generator[Inside]:
    with inside(tmp_path) as team:
        team.joined_by(JOIN)
        team.send(ENROL)
        yield team


@pytest.fixture
def operator(muster: Inside) -> Generator[Asker]:
    with asker(muster.server, muster.server.token) as somebody:
        yield somebody


def strand(muster: Inside) -> None:
    """Let Mia run on the box, which is then lost."""
    seat = muster.agent("Mia").seat
    muster.send(c.ConfigureAgent(seat=seat, authority=Authority.MUSTER, node=BOX))
    muster.send(c.SetDesired(seat=seat, desired=RunMode.CONTINUOUS, set_by="Ann"))
    muster.send(LOST)


def test_the_nodes_of_a_team_are_listed_with_their_sessions_and_agents(
    muster: Inside, operator: Asker
) -> None:
    strand(muster)
    here, box = operator.get("/api/nodes")["nodes"]
    assert (here["name"], here["awaySince"], here["sessions"]) == (HERE, None, 0)
    assert (box["name"], box["labels"], box["room"]) == (BOX, ["gpu"], 4)
    assert box["awaySince"] is not None
    assert (box["sessions"], box["agents"], box["running"]) == (1, ["Mia"], ["Mia"])
    assert (box["load"], operator.get("/api/state")["nodes"]) == (None, 2)
    mia = operator.get("/api/agents/Mia")
    assert (mia["node"], mia["badge"]["line"]) == (BOX, f"its machine {BOX} is away")


def test_an_agent_is_moved_and_off_a_node_that_is_away_only_by_a_word(
    muster: Inside, operator: Asker
) -> None:
    strand(muster)
    path, body = "/api/agents/Mia/node", {"node": HERE}
    operator.refused("PUT", path, 409, "node_away", json=body)
    operator.refused("PUT", path, 404, "not_found", json={"node": "nowhere"})
    found = operator.asked("PUT", path, 200, json=body | {"anyway": True})
    assert [each["agents"] for each in found["nodes"]] == [["Mia"], []]
    assert muster.agent("Mia").node == HERE


def test_verbs_show_nodes_and_the_agents_on_them_without_a_server(tmp_path: Path) -> None:
    home = tmp_path / "home"
    of_box = c.ConfigureAgent(seat=SeatId(9), authority=Authority.MUSTER, node=BOX)
    play(home, JOIN, ENROL, of_box, LOST)
    assert "Mia: on gpu-box" in typed("status", "--home", str(home)).stdout
    told = typed("nodes", "--home", str(home)).stdout
    assert "gpu-box" in told
    assert "away since" in told
    found = json.loads(typed("nodes", "--json", "--home", str(home)).stdout)
    assert [each["name"] for each in found["nodes"]] == [HERE, BOX]
