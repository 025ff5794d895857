"""An agent's document and the team's button, in the documented format."""

from datetime import UTC, datetime
from itertools import product

import msgspec
import pytest
from msgspec.structs import replace

from muster.machines.ids import HERE, LEAD_SEAT, SeatId, SessionId
from muster.machines.state import Agent, Node, RunControl, Status, Team
from muster.machines.teams.papers import document_of
from muster.machines.vocabulary import Authority, FaceVariant
from muster.views.agents import button_of
from muster.views.answers.agents import Button

BOOT = SessionId("boot-2")
NONE, HATCHING, ALIVE, SLEEPING, EXPIRED, UNKNOWN = Status


def team_of(*shown: Status, lead: Status | None = None) -> Team:
    """A team whose crew is shown so, and perhaps a lead."""
    agents = {SeatId(seat): somebody(SeatId(seat), each) for seat, each in enumerate(shown)}
    if lead is not None:
        agents[LEAD_SEAT] = somebody(LEAD_SEAT, lead)
    return Team(nodes={HERE: Node(name=HERE, life=BOOT, since=1)}, agents=agents)


def somebody(seat: SeatId, shown: Status) -> Agent:
    if shown is UNKNOWN:  # stored as alive, by an earlier life of muster
        shown, boot = ALIVE, SessionId("boot-1")
    else:
        boot = BOOT
    return Agent(seat=seat, status=shown, confirmed_in=boot, authority=Authority.LEAD)


# ── the button ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("shown", "button"),
    [
        ((), Button.SUMMON),  # never summoned
        ((NONE,), Button.SUMMON),
        ((EXPIRED,) * 4, Button.SUMMON),  # a summon that failed as a whole
        ((SLEEPING,), Button.WAKE),
        ((UNKNOWN,), Button.WAKE),
        ((ALIVE, SLEEPING), Button.WAKE),
        ((HATCHING, SLEEPING), Button.WAKE),
        ((EXPIRED, SLEEPING), Button.WAKE),
        ((ALIVE,), None),
        ((ALIVE,) * 4, None),
        ((HATCHING,) * 4, None),  # in progress
        ((ALIVE, HATCHING), None),
        ((ALIVE, ALIVE, ALIVE, EXPIRED), None),  # a summon that failed in part
    ],
)
def test_the_button_follows_the_documented_table(
    shown: tuple[Status, ...], button: Button | None
) -> None:
    assert button_of(team_of(*shown)) is button


def test_every_team_of_three_shows_the_documented_button() -> None:
    for shown in product(Status, repeat=3):
        visible = [each for each in shown if each not in (NONE, EXPIRED)]
        if not visible:
            expected = Button.SUMMON
        elif SLEEPING in visible or UNKNOWN in visible:
            expected = Button.WAKE
        else:
            expected = None
        assert button_of(team_of(*shown)) is expected, shown


@pytest.mark.parametrize("lead", list(Status))
def test_the_lead_s_own_document_never_counts(lead: Status) -> None:
    assert button_of(team_of(lead=lead)) is Button.SUMMON
    assert button_of(team_of(ALIVE, lead=lead)) is None
    assert button_of(team_of(SLEEPING, lead=lead)) is Button.WAKE


@pytest.mark.parametrize(
    ("shown", "can_summon", "button"),
    [
        (ALIVE, True, Button.SUMMON),
        (SLEEPING, True, Button.SUMMON),
        (ALIVE, False, None),
        (SLEEPING, False, Button.WAKE),
    ],
)
def test_enrolled_agents_leave_the_button_to_summon_where_a_summon_is_possible(
    shown: Status, can_summon: bool, button: Button | None
) -> None:
    ada = Agent(seat=SeatId(9), status=shown, confirmed_in=BOOT, authority=Authority.MUSTER)
    team = Team(
        nodes={HERE: Node(name=HERE, life=BOOT, since=1)},
        agents={SeatId(9): replace(ada, name="Ada", enrolled=True)},
    )
    assert button_of(team, can_summon=can_summon) is button


@pytest.mark.parametrize(
    "agent",
    [
        replace(somebody(SeatId(0), SLEEPING), disabled=True),
        replace(somebody(SeatId(9), SLEEPING), authority=Authority.SELF, enrolled=True),
        replace(somebody(SeatId(9), SLEEPING), retired=True),
        replace(somebody(SeatId(9), SLEEPING), run=RunControl(on_call=True)),
    ],
    ids=["disabled", "connects by itself", "retired", "on call"],
)
def test_the_button_never_offers_to_wake_an_agent_that_cannot_be_started(agent: Agent) -> None:
    born = somebody(SeatId(1), ALIVE)
    team = Team(
        nodes={HERE: Node(name=HERE, life=BOOT, since=1)},
        agents={agent.seat: agent, born.seat: born},
    )
    assert button_of(team) is None


# ── the document ──────────────────────────────────────────────────────────────────────────────────

BORN = datetime(2026, 2, 16, tzinfo=UTC)
SEEN = datetime(2026, 2, 16, 12, tzinfo=UTC)


def written(agent: Agent) -> dict[str, object]:
    return msgspec.json.decode(msgspec.json.encode(document_of(agent)), type=dict[str, object])


def test_a_place_that_is_prepared_has_looks_and_nothing_of_a_person() -> None:
    place = Agent(seat=SeatId(3), status=HATCHING, color="#007e98", gender="woman", created_at=BORN)
    assert written(place) == {
        "_id": "agent-identity:3",
        "type": "agent-identity",
        "category": "identity",
        "status": "hatching",
        "gridPosition": 3,
        "color": "#007e98",
        "gender": "woman",
        "createdAt": "2026-02-16T00:00:00Z",
    }


def test_an_agents_document_has_exactly_the_documented_fields() -> None:
    lyra = Agent(
        seat=SeatId(3),
        status=SLEEPING,
        name="Lyra",
        color="#c9b1e8",
        color_name="Violet Heaven",
        gender="woman",
        face_variant=FaceVariant(eyes="standard", mouth="gentle"),
        soul="I choose this.",
        last_alive_at=SEEN,
        last_session_id=SessionId("session-1"),
        created_at=BORN,
    )
    assert written(lyra) == {
        "_id": "agent-identity:3",
        "type": "agent-identity",
        "category": "identity",
        "status": "sleeping",
        "name": "Lyra",
        "colorName": "Violet Heaven",
        "individuationArtifact": "I choose this.",
        "color": "#c9b1e8",
        "gender": "woman",
        "gridPosition": 3,
        "faceVariant": {"eyes": "standard", "mouth": "gentle"},
        "lastAliveAt": "2026-02-16T12:00:00Z",
        "lastSessionId": "session-1",
        "createdAt": "2026-02-16T00:00:00Z",
    }


def test_a_document_says_what_is_stored_and_never_unknown() -> None:
    assert written(somebody(SeatId(0), UNKNOWN))["status"] == "alive"
