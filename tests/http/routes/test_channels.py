"""Channels over HTTP: opened, looked at, changed, joined and left, by those who may."""

from collections.abc import Generator

import pytest

from muster.http.routes.channels import ConfigChange
from muster.machines.vocabulary import TurnConfig
from tests.live import Json, Scene, Server, a_scene, live


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("channels") / "home") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    with a_scene(server) as playing:
        yield playing


def test_a_channel_is_opened_with_the_rules_that_are_given_and_the_usual_others(
    scene: Scene,
) -> None:
    body = {"channel": scene.named("reviews"), "config": {"defaultTimeoutSeconds": 5}}
    answer = scene.call("POST", "/api/channels", body)
    assert answer.status_code == 201
    opened = answer.json()
    assert opened == scene.get(scene.channel)
    assert opened["config"] == {
        "defaultTimeoutSeconds": 5,
        "humanInterruptMode": "inject",
        "announceTimeouts": True,
        "announceDisconnects": True,
        "autoDetectTurnEnd": False,
        "autoDetectSilenceSeconds": 10,
        "waitTimeoutSeconds": 300,
        "maxTurnSeconds": 1800,
        "interruptHoldSeconds": 30,
        "restAfterIdleRounds": 3,
        "maxCostUsd": 0,
        "maxTokens": 0,
    }
    assert (opened["ring"], opened["holder"], opened["epoch"]) == ([], None, 0)
    assert opened in scene.get("/api/channels")["channels"]


def test_every_rule_can_be_changed() -> None:
    assert ConfigChange.__struct_fields__ == TurnConfig.__struct_fields__


def test_a_change_of_rules_leaves_the_others_as_they_are(scene: Scene) -> None:
    scene.opened(defaultTimeoutSeconds=5)
    changed = scene.call("PATCH", scene.channel, {"humanInterruptMode": "queue"}).json()
    assert changed["config"]["humanInterruptMode"] == "queue"
    assert changed["config"]["defaultTimeoutSeconds"] == 5


def test_a_member_that_joins_or_leaves_is_seen_in_the_ring_with_its_state(scene: Scene) -> None:
    scene.connected("pm", "dev")
    scene.opened()
    joined = scene.joins("pm", timeoutSeconds=7)
    assert joined["holder"] == scene.named("pm")
    assert joined["timeoutAt"] < joined["endsAt"]
    [member] = joined["members"]
    assert (member["state"], member["present"], member["timeoutSeconds"]) == ("ACTIVE", True, 7)
    scene.joins("dev")
    scene.says("hello")
    unread = {each["agent"]: each["unread"] for each in scene.get(scene.channel)["members"]}
    assert unread == {scene.named("pm"): 1, scene.named("dev"): 1}
    left = scene.leaves("pm")
    assert (left["ring"], left["holder"]) == ([scene.named("dev")], scene.named("dev"))


def test_an_agent_joins_and_leaves_as_itself_and_as_nobody_else(scene: Scene) -> None:
    scene.connected("pm", "dev")
    scene.opened("dev")
    me, other = {"agent": scene.named("pm")}, {"agent": scene.named("dev")}
    scene.post(f"{scene.channel}/members", me, by="pm")
    problem = scene.refused("POST", f"{scene.channel}/members", other, by="pm", status=403)
    assert problem["code"] == "forbidden"
    path = f"{scene.channel}/members/{scene.named('dev')}"
    scene.refused("DELETE", path, by="pm", status=403)
    for method, path in (("POST", "/api/channels"), ("PATCH", scene.channel)):
        body = {"channel": "mine"} if method == "POST" else {}
        scene.refused(method, path, body, by="pm", status=403)


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({"defaultTimeoutSeconds": -1}, "defaultTimeoutSeconds"),
        ({"maxTurnSeconds": 1e-9}, "maxTurnSeconds"),
        ({"waitTimeoutSeconds": 1e12}, "waitTimeoutSeconds"),
        ({"restAfterIdleRounds": 0}, "restAfterIdleRounds"),
        ({"restAfterIdleRounds": 10**30}, "restAfterIdleRounds"),
        ({"humanInterruptMode": "shout"}, "humanInterruptMode"),
        ({"defaultTimeout": 1}, "defaultTimeout"),
    ],
)
def test_rules_under_which_no_channel_could_work_are_refused(
    config: Json, names: str, scene: Scene
) -> None:
    scene.opened()
    problem = scene.refused("PATCH", scene.channel, config, status=422)
    assert problem["code"] == "invalid"
    assert names in problem["detail"]
    body = {"channel": scene.named("other"), "config": config}
    scene.refused("POST", "/api/channels", body, status=422)
    assert scene.call("GET", f"/api/channels/{scene.named('other')}").status_code == 404


@pytest.mark.parametrize("name", ["", "..", "a/b", "../../etc", " x", "x\n", "n" * 65, "\x1b[2J"])
def test_a_channel_whose_name_could_do_harm_is_refused(name: str, scene: Scene) -> None:
    scene.opened()
    answer = scene.call("POST", "/api/channels", {"channel": name})
    assert answer.status_code in (409, 422)
    assert answer.json()["code"] in ("invalid", "name_reserved")


def test_an_unknown_channel_and_a_duplicate_are_refused(scene: Scene) -> None:
    scene.connected("pm")
    scene.opened("pm")
    body = {"channel": scene.named("reviews")}
    assert scene.refused("POST", "/api/channels", body)["code"] == "channel_exists"
    again = {"agent": scene.named("pm")}
    problem = scene.refused("POST", f"{scene.channel}/members", again)
    assert problem["code"] == "already_a_member"
    stranger = {"agent": "nobody"}
    scene.refused("POST", f"{scene.channel}/members", stranger, status=404)
    scene.refused("DELETE", f"{scene.channel}/members/nobody", status=404)
    scene.refused("GET", "/api/channels/nowhere", status=404)
    scene.refused("PATCH", "/api/channels/nowhere", {}, status=404)
    scene.agent("pm", "disconnect")
    assert scene.refused("POST", f"{scene.channel}/members", again)["code"] == "not_present"
