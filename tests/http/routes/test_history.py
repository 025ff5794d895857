"""History over HTTP: the team at a moment, the agents' lanes, sentences, diagrams."""

from collections.abc import Generator
from datetime import UTC, datetime, timedelta

import pytest

from muster.machines.state import Status, TurnState
from muster.machines.vocabulary import RunMode
from tests.asking import Asker, asker
from tests.live import Json, Scene, Server, a_scene, live
from tests.postgres import STORES, new_home


@pytest.fixture(scope="module", params=STORES)
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Generator[Server]:
    home = new_home(tmp_path_factory.mktemp("history") / "home", request.param)
    with live(home) as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    with a_scene(server) as playing:
        yield playing


@pytest.fixture
def boss(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


def channel_in(state: Json, scene: Scene) -> Json:
    return next(c for c in state["channels"] if c["channel"] == scene.named("reviews"))


# ── the team as it was ────────────────────────────────────────────────────────────────────────────


def test_the_team_is_shown_as_it_was_after_any_event(scene: Scene) -> None:
    scene.connected("pm", "dev")
    scene.opened("pm", "dev")
    before = scene.get("/api/state")
    scene.turn("complete", by="pm", message="done")
    after = scene.get("/api/state")
    assert channel_in(before, scene)["holder"] == scene.named("pm")
    assert channel_in(after, scene)["holder"] == scene.named("dev")
    then = scene.get(f"/api/state?seq={before['seq']}")
    assert channel_in(then, scene) == channel_in(before, scene)
    for field in ("seq", "boot", "human", "button"):
        assert then[field] == before[field]
    assert then["now"] <= before["now"]  # the time of the event, and ages are as they were then
    assert [_ageless(each) for each in then["agents"]] == [
        _ageless(each) for each in before["agents"]
    ]
    assert channel_in(scene.get(f"/api/state?seq={after['seq']}"), scene)["holder"] == scene.named(
        "dev"
    )


def _ageless(card: Json) -> Json:
    evidence = card["evidence"] and {**card["evidence"], "ageSeconds": None}
    return {**card, "evidence": evidence}


def test_the_team_is_shown_as_it_was_at_a_time(scene: Scene, boss: Asker) -> None:
    scene.connected("pm")
    seq = scene.get("/api/state")["seq"]
    event = scene.get(f"/api/log?after={seq - 1}&limit=1")["events"][0]
    scene.opened("pm")
    then = boss.get(f"/api/state?at={event['ts']}")
    assert then["seq"] >= seq
    assert scene.named("pm") in [each["name"] for each in then["agents"]]
    long_ago = boss.get("/api/state?at=2001-01-01T00:00:00Z")
    assert (long_ago["seq"], long_ago["agents"], long_ago["channels"]) == (0, [], [])
    assert long_ago["now"] == "2001-01-01T00:00:00Z"


def test_before_the_first_event_there_is_nobody(boss: Asker) -> None:
    assert boss.get("/api/state?seq=0")["agents"] == []


def test_a_moment_that_is_none_is_refused(boss: Asker) -> None:
    boss.refused("GET", "/api/state?seq=99999999", 404, "not_found")
    boss.refused("GET", "/api/state?seq=-1", 422, "invalid")
    boss.refused("GET", "/api/state?seq=1&at=2026-01-01T00:00:00Z", 422, "invalid")
    for moment in ("soon", "2026-01-01T00:00:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        boss.refused("GET", f"/api/state?at={moment}", 422, "invalid")
        boss.refused("GET", f"/api/timeline?to={moment}", 422, "invalid")


# ── lanes ─────────────────────────────────────────────────────────────────────────────────────────


def lanes_of(timeline: Json, name: str) -> dict[str, list[str]]:
    return {
        lane["machine"]: [span["state"] for span in lane["spans"]]
        for lane in timeline["lanes"]
        if lane["name"] == name
    }


def test_every_agent_has_a_lane_for_each_machine_with_all_that_it_went_through(
    scene: Scene,
) -> None:
    scene.connected("pm", "dev")
    scene.opened("pm", "dev")
    for _ in range(2):
        for name in ("pm", "dev"):
            scene.turn("complete", by=name, message="done")
    seen = scene.get("/api/timeline?points=4000&from=2026-01-01T00:00:00Z")
    assert seen["completeFrom"] == 0
    assert set(lanes_of(seen, scene.named("pm"))) == {"identity", "run", "turns"}
    # four thousand points over months are hours each: what happened since is one span
    fine = scene.get(f"/api/timeline?points=4000&from={recently()}")
    lanes = lanes_of(fine, scene.named("pm"))
    assert lanes["turns"][-1] == "ACTIVE"
    assert lanes["identity"][-1] == "alive"
    last = next(
        lane["spans"][-1]
        for lane in fine["lanes"]
        if (lane["name"], lane["machine"]) == (scene.named("pm"), "turns")
    )
    then = scene.get(f"/api/state?seq={last['seq']}")
    assert channel_in(then, scene)["holder"] == scene.named("pm")
    assert fine["from"] < fine["to"]
    assert fine["began"] <= fine["now"]


def recently() -> str:
    """Some seconds ago, so that what a test does is far apart on the picture."""
    return (datetime.now(UTC) - timedelta(seconds=20)).isoformat().replace("+00:00", "Z")  # noqa: TID251


def test_a_window_that_ends_before_it_begins_is_refused(boss: Asker) -> None:
    path = "/api/timeline?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z"
    boss.refused("GET", path, 422, "invalid")
    boss.refused("GET", "/api/timeline?points=0", 422, "invalid")


def test_before_anything_happened_there_is_nothing_to_see(boss: Asker) -> None:
    path = "/api/timeline?from=2001-01-01T00:00:00Z&to=2001-01-02T00:00:00Z"
    assert boss.get(path)["lanes"] == []


# ── the log, told ─────────────────────────────────────────────────────────────────────────────────


def test_the_log_is_told_in_sentences_and_filtered_like_the_log(scene: Scene) -> None:
    scene.connected("pm")
    scene.opened("pm")
    scene.says("<b>hello</b>")
    where = f"after={scene.began}&channel={scene.named('reviews')}"
    told = scene.get(f"/api/log/told?{where}&limit=1000")
    said = [line["says"] for line in told["lines"]]
    assert f"channel {scene.named('reviews')} was opened (by human)" in said
    assert any("<b>hello</b>" in each for each in said)
    assert not told["more"]
    posted = scene.get(f"/api/log/told?{where}&types=user_message")["lines"]
    assert [line["type"] for line in posted] == ["user_message"]
    joined = scene.get(f"/api/log/told?after={scene.began}&agent={scene.named('pm')}")["lines"]
    assert {line["agent"] for line in joined} == {scene.named("pm")}
    page = scene.get(f"/api/log/told?after={scene.began}&limit=2")
    assert (len(page["lines"]), page["more"]) == (2, True)
    assert page["after"] == page["lines"][-1]["seq"]


# ── diagrams ──────────────────────────────────────────────────────────────────────────────────────


def test_the_diagrams_have_every_state_and_every_way_of_every_machine(boss: Asker) -> None:
    diagrams = boss.get("/api/diagrams")["diagrams"]
    assert [each["machine"] for each in diagrams] == [
        "identity",
        "run",
        "run",
        "turns",
        "delegation",
    ]
    states = {each["machine"]: set(each["states"]) for each in diagrams}
    assert states["turns"] == set(TurnState)
    assert states["run"] == set(RunMode)
    assert states["identity"] == set(Status) - {Status.UNKNOWN}
    for diagram in diagrams:
        for arrow in diagram["arrows"]:
            assert {arrow["from"], arrow["to"]} <= set(diagram["states"])
            assert arrow["trigger"]
    turns = next(each for each in diagrams if each["machine"] == "turns")
    assert {"from": "QUEUED", "to": "ACTIVE", "trigger": "turn_granted"}.items() <= next(
        arrow for arrow in turns["arrows"] if arrow["trigger"] == "turn_granted"
    ).items()
    assert [arrow for arrow in turns["arrows"] if arrow["condition"] == "done"]


def test_a_viewer_may_read_the_history_and_a_stranger_may_not(server: Server, boss: Asker) -> None:
    viewer = boss.post("/api/tokens", {"role": "viewer"}, 201)["secret"]
    paths = ("/api/state?seq=1", "/api/timeline", "/api/log/told", "/api/diagrams")
    with asker(server, viewer) as somebody:
        for path in paths:
            somebody.get(path)
    with asker(server, None) as stranger:
        for path in paths:
            stranger.get(path, 401)
