"""Turns over HTTP: only the holder acts, only on its own turn, and a human decides."""

from collections.abc import Generator

import pytest

from tests.live import Json, Scene, Server, a_scene, live


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("turns") / "home") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    """pm and dev in one channel; pm holds the turn."""
    with a_scene(server) as playing:
        playing.connected("pm", "dev")
        playing.opened("pm", "dev")
        yield playing


def test_to_post_and_to_complete_is_one_request(scene: Scene) -> None:
    said = scene.turn("complete", "pm", message="done", epoch=1)
    [message] = scene.get(f"{scene.channel}/messages")["messages"]
    assert (message["seq"], message["text"]) == (said["seq"], "done")
    assert scene.holder() == "dev"


def test_a_last_word_that_is_sent_twice_is_said_once_and_ends_nobody_elses_turn(
    scene: Scene,
) -> None:
    body, path = {"message": "done"}, f"{scene.channel}/turn/complete"
    first = scene.post(path, body, by="pm", key="k1")
    again = scene.post(path, body, by="pm", key="k1")
    assert again == {"seq": first["seq"], "repeated": True}
    assert len(scene.get(f"{scene.channel}/messages")["messages"]) == 1
    assert scene.holder() == "dev"


def test_to_pass_is_to_complete_without_a_word(scene: Scene) -> None:
    scene.turn("pass", "pm", reason="nothing to add")
    assert scene.holder() == "dev"
    assert scene.get(f"{scene.channel}/messages")["messages"] == []


def test_a_turn_waits_and_resumes_and_is_held_meanwhile(scene: Scene) -> None:
    scene.turn("wait", "pm", reason="a build", timeoutSeconds=120)
    waiting = scene.get(scene.channel)
    assert (waiting["holder"], waiting["epoch"]) == (scene.named("pm"), 1)
    assert waiting["waiting"]["reason"] == "a build"
    assert waiting["timeoutAt"] == waiting["waiting"]["until"]
    problem = scene.refused("POST", f"{scene.channel}/turn/complete", {}, by="pm")
    assert problem["code"] == "not_your_turn"
    assert problem["found"]["state"] == "WAITING"
    scene.turn("resume", "pm", epoch=1)
    assert scene.get(scene.channel)["waiting"] is None


def test_the_operator_acts_for_whoever_has_the_turn_or_for_whom_it_names(scene: Scene) -> None:
    scene.post(f"{scene.channel}/turn/complete")
    assert scene.holder() == "dev"
    scene.post(f"{scene.channel}/turn/complete", {"agent": scene.named("dev")})
    assert scene.holder() == "pm"


def test_a_human_gives_and_takes_the_turn(scene: Scene) -> None:
    path = f"{scene.channel}/turn/override"
    give = {"agent": scene.named("dev"), "to": "ACTIVE"}
    problem = scene.refused("POST", path, give)
    assert (problem["code"], problem["found"]["holder"]) == ("turn_taken", scene.named("pm"))
    scene.post(path, {"to": "QUEUED"})
    assert scene.holder() == "dev"
    scene.turn("wait", "dev")
    scene.post(path, give)
    assert ("dev", "WAITING", "ACTIVE", "human_override") in scene.moves()
    scene.turn("wait", "dev")
    scene.post(path, {"agent": scene.named("dev"), "to": "QUEUED"})
    assert ("dev", "WAITING", "QUEUED", "human_override") in scene.moves()
    assert scene.holder() == "pm"
    for wrong in ({"to": "OFFLINE"}, {"to": "up"}, {}):
        scene.refused("POST", path, wrong, status=422)
    scene.refused("POST", path, {"to": "QUEUED"}, by="pm", status=403)


def test_where_nobody_has_the_turn_the_operator_must_say_whom_it_means(scene: Scene) -> None:
    scene.leaves("pm")
    scene.leaves("dev")
    problem = scene.refused("POST", f"{scene.channel}/turn/complete", {}, status=422)
    assert "nobody has the turn" in problem["detail"]


@pytest.mark.parametrize("act", ["complete", "pass", "wait"])
def test_an_agent_without_the_turn_is_refused_with_its_state(act: str, scene: Scene) -> None:
    problem = scene.refused("POST", f"{scene.channel}/turn/{act}", {}, by="dev")
    assert problem["code"] == "not_your_turn"
    assert problem["found"]["state"] == "QUEUED"
    assert scene.named("pm") in problem["detail"]
    scene.refused("POST", f"{scene.channel}/turn/resume", {}, by="dev")
    scene.refused("POST", f"{scene.channel}/turn/resume", {}, by="pm")  # it does not wait


def test_an_agent_cannot_act_for_another(scene: Scene) -> None:
    for act in ("complete", "pass", "wait", "resume"):
        body = {"agent": scene.named("pm")}
        problem = scene.refused("POST", f"{scene.channel}/turn/{act}", body, by="dev", status=403)
        assert problem["code"] == "forbidden"


def test_a_request_with_a_stale_epoch_is_refused_and_logged(scene: Scene) -> None:
    scene.turn("complete", "pm", epoch=1)
    scene.turn("complete", "dev", epoch=2)
    for act in ("complete", "pass", "wait", "resume"):
        problem = scene.refused("POST", f"{scene.channel}/turn/{act}", {"epoch": 1}, by="pm")
        assert (problem["code"], problem["found"]["epoch"]) == ("stale_epoch", 3)
    assert {each["code"] for each in scene.facts("command_refused")} == {"stale_epoch"}


@pytest.mark.parametrize(
    ("act", "body"),
    [
        ("wait", {"timeoutSeconds": -1}),
        ("wait", {"timeoutSeconds": 0}),
        ("wait", {"timeoutSeconds": 1e12}),
        ("complete", {"message": ""}),
        ("complete", {"epoch": "one"}),
        ("complete", {"epoch": 10**30}),
        ("wait", {"reason": "x" * 10_000}),
        ("complete", {"massage": "x"}),
    ],
)
def test_what_makes_no_sense_is_refused(act: str, body: Json, scene: Scene) -> None:
    problem = scene.refused("POST", f"{scene.channel}/turn/{act}", body, by="pm", status=422)
    assert problem["code"] == "invalid"


def test_a_channel_or_an_agent_that_is_not_there_is_not_found(scene: Scene) -> None:
    for act in ("complete", "pass", "wait", "resume", "override"):
        body: Json = {"to": "QUEUED"} if act == "override" else {}
        scene.refused("POST", f"/api/channels/nowhere/turn/{act}", body, status=404)
        named = {**body, "agent": "nobody"}
        scene.refused("POST", f"{scene.channel}/turn/{act}", named, status=404)
