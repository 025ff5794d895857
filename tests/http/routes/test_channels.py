"""Channels over HTTP: opened, looked at, changed, joined and left, by those who may."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

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
        "speakerOrder": "ring",
        "selector": "",
        "stopPhrase": "",
        "turnsPerMessage": 100,
        "roundsPerMessage": 0,
        "costUsdPerMessage": 5,
        "tokensPerMessage": 0,
        "alikeInARow": 12,
        "costUsdPerMinute": 2,
        "costUsdPerDay": 20,
        "maxTurns": 0,
        "maxRounds": 0,
        "maxCostUsd": 0,
        "maxTokens": 0,
        "joinRule": "open",
        "readRule": "everybody",
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


def test_two_changes_of_rules_at_the_same_time_are_both_kept(scene: Scene) -> None:
    def changed(change: Json) -> None:
        scene.call("PATCH", scene.channel, change)

    scene.opened()
    for number in range(1, 11):
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(changed, [{"waitTimeoutSeconds": number}, {"maxTurns": number}]))
        config = scene.get(scene.channel)["config"]
        assert (config["waitTimeoutSeconds"], config["maxTurns"]) == (number, number)


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
    scene.leaves("pm")
    scene.post(f"/api/agents/{scene.named('pm')}/disable")
    assert scene.refused("POST", f"{scene.channel}/members", again)["code"] == "disabled"


# ── members before they connect ───────────────────────────────────────────────────────────────────


def registered(scene: Scene, *names: str) -> None:
    """Agents that have a token, and are not connected yet."""
    for name in names:
        joined = scene.post("/api/agents", {"name": scene.named(name)})
        scene.tokens[name] = joined["token"]["secret"]


def a_channel(scene: Scene, *names: str, **config: Json) -> Json:
    """The body that creates the scene's channel with these members."""
    members = [scene.named(name) for name in names]
    return {"channel": scene.named("reviews"), "members": members, "config": config}


def test_agents_have_places_in_a_channel_before_they_connect(scene: Scene) -> None:
    registered(scene, "pm", "dev")
    created = scene.call("POST", "/api/channels", a_channel(scene, "dev", "pm"))
    assert created.status_code == 201, created.text
    assert (scene.ring(), scene.holder()) == (["dev", "pm"], None)
    scene.agent("pm", "connect")
    assert scene.holder() == "pm"
    scene.agent("dev", "connect")
    scene.turn("complete", "pm", message="hello")
    assert (scene.ring(), scene.holder()) == (["dev", "pm"], "dev")


def test_a_channel_is_created_with_all_of_its_members_or_not_at_all(scene: Scene) -> None:
    registered(scene, "pm", "dev")
    before = scene.get("/api/health")["seq"]
    unknown = scene.call("POST", "/api/channels", a_channel(scene, "pm", "ghost"))
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
    assert scene.named("ghost") in unknown.json()["detail"]
    twice = scene.call("POST", "/api/channels", a_channel(scene, "pm", "pm"))
    assert (twice.status_code, twice.json()["code"]) == (422, "invalid")
    assert scene.get("/api/health")["seq"] == before
    scene.post(f"/api/agents/{scene.named('dev')}/disable")
    disabled = scene.call("POST", "/api/channels", a_channel(scene, "pm", "dev"))
    assert (disabled.status_code, disabled.json()["code"]) == (409, "disabled")
    assert scene.call("GET", scene.channel).status_code == 404
    scene.post(f"/api/agents/{scene.named('dev')}/enable")
    assert scene.call("POST", "/api/channels", a_channel(scene, "pm", "dev")).status_code == 201


# ── order, timeouts, hands ────────────────────────────────────────────────────────────────────────


def test_the_order_of_turns_is_changed_as_a_whole(scene: Scene) -> None:
    scene.connected("pm", "dev", "qa")
    scene.opened("pm", "dev", "qa")
    order = [scene.named(name) for name in ("qa", "pm", "dev")]
    changed = scene.call("PUT", f"{scene.channel}/ring", {"agents": order})
    assert (changed.status_code, changed.json()["ring"]) == (200, order)
    assert scene.holder() == "pm"  # a turn in progress stays where it is
    scene.turn("complete", "pm", message="hello")
    assert scene.holder() == "dev"


def test_an_order_that_leaves_somebody_out_is_refused_with_the_members(scene: Scene) -> None:
    scene.connected("pm", "dev")
    scene.opened("pm", "dev")
    pm, dev = scene.named("pm"), scene.named("dev")
    path = f"{scene.channel}/ring"
    for order in ([pm], [pm, pm], [pm, dev, dev], []):
        problem = scene.refused("PUT", path, {"agents": order}, status=422)
        assert f"{pm}, {dev}" in problem["detail"]
    scene.refused("PUT", path, {"agents": [pm, "nobody"]}, status=404)
    scene.refused("PUT", path, {}, status=422)
    scene.refused("PUT", path, {"agents": [dev, pm]}, by="pm", status=403)


def test_the_timeout_of_a_member_is_changed_and_given_back(scene: Scene) -> None:
    scene.connected("pm")
    scene.opened("pm", defaultTimeoutSeconds=50)
    path = f"{scene.channel}/members/{scene.named('pm')}"
    for wanted, found in ((7, 7), (None, 50)):
        changed = scene.call("PATCH", path, {"timeoutSeconds": wanted})
        assert changed.status_code == 200, changed.text
        assert changed.json()["members"][0]["timeoutSeconds"] == found
    for wrong in ({}, {"timeoutSeconds": 0}, {"timeoutSeconds": "long"}, {"timeout": 3}):
        scene.refused("PATCH", path, wrong, status=422)
    scene.refused("PATCH", path, {"timeoutSeconds": 5}, by="pm", status=403)
    other = f"{scene.channel}/members/nobody"
    scene.refused("PATCH", other, {"timeoutSeconds": 5}, status=404)


def test_a_member_that_raises_its_hand_speaks_before_the_next_in_the_ring(scene: Scene) -> None:
    scene.connected("pm", "dev", "qa")
    scene.opened("pm", "dev", "qa")
    hand = f"{scene.channel}/members/{scene.named('qa')}/hand"
    raised = scene.post(hand, {"raised": True}, by="qa")
    [claim] = raised["claims"]
    assert (claim["agent"], claim["claim"]) == (scene.named("qa"), "hand")
    assert raised["next"] == scene.named("qa")
    assert scene.post(hand, {"raised": False}, by="qa")["claims"] == []
    scene.post(hand, by="qa")
    scene.turn("complete", "pm", message="hello")
    assert scene.holder() == "qa"
    assert scene.get(scene.channel)["grantedBecause"] == "raised its hand"
    scene.refused("POST", hand, {}, by="pm", status=403)
    scene.refused("POST", f"{scene.channel}/members/nobody/hand", {}, status=404)


# ── archived channels ─────────────────────────────────────────────────────────────────────────────


def test_an_archived_channel_is_listed_only_if_asked_for_and_comes_back_as_it_was(
    scene: Scene,
) -> None:
    scene.connected("pm", "dev")
    scene.opened("pm", "dev")
    scene.says("hello")
    archived = scene.post(f"{scene.channel}/archive")
    assert (archived["archived"], archived["holder"]) == (True, None)

    def listed(query: str = "") -> list[str]:
        return [each["channel"] for each in scene.get(f"/api/channels{query}")["channels"]]

    assert scene.named("reviews") not in listed()
    assert scene.named("reviews") in listed("?archived=true")
    problem = scene.refused("POST", f"{scene.channel}/messages", {"message": "more"})
    assert problem["code"] == "channel_is_archived"
    assert "muster channel restore" in problem["detail"]
    restored = scene.post(f"{scene.channel}/restore")
    assert (restored["archived"], len(restored["ring"])) == (False, 2)
    assert restored["holder"] is not None
    assert scene.named("reviews") in listed()
    for act in ("archive", "restore"):
        scene.refused("POST", f"{scene.channel}/{act}", {}, by="pm", status=403)
        scene.refused("POST", f"/api/channels/nowhere/{act}", {}, status=404)
    scene.refused("GET", "/api/channels?archived=perhaps", status=422)


# ── why ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_channel_says_why_it_rests_and_what_starts_it_again(scene: Scene) -> None:
    scene.connected("pm", "dev")
    scene.opened("pm", "dev", turnsPerMessage=2)
    scene.turn("complete", "pm", message="one")
    scene.turn("complete", "dev", message="two")
    resting = scene.get(scene.channel)
    assert (resting["resting"], resting["restLimit"]) == (True, "turnsPerMessage")
    assert resting["restReason"] == (
        "2 turns since the last message of a person (turnsPerMessage); a message starts it again"
    )
    team = scene.get("/api/state")["channels"]
    [seen] = [each for each in team if each["channel"] == scene.named("reviews")]
    assert seen["restReason"] == resting["restReason"]
    scene.says("go on")
    assert scene.get(scene.channel)["restReason"] is None
    assert scene.get(scene.channel)["grantedBecause"] == "ring"
