"""Agents that register, connect, are heard of and leave, through the HTTP API of a real server."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import httpx
import pytest

from tests.asking import Asker, a_name, asker
from tests.homes import muster
from tests.live import LONGEST_WAIT, Scene, Server, a_scene, heard, live
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

SILENCE_SECONDS = 2.0
"""How long an agent of the impatient server may be silent: twenty heartbeats of `heard`."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose heartbeat timeout is longer than every test."""
    home = tmp_path_factory.mktemp("home")
    with live(home) as running:
        yield running


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that disconnects an agent soon after its last heartbeat."""
    home = tmp_path_factory.mktemp("impatient")
    with live(home, SILENCE_SECONDS) as running:
        yield running


@pytest.fixture
def boss(server: Server) -> Iterator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


@pytest.fixture
def scene(impatient: Server) -> Iterator[Scene]:
    with a_scene(impatient) as played:
        yield played


def test_an_agent_that_registers_gets_a_seat_and_a_token_and_sleeps_until_it_connects(
    server: Server, boss: Asker
) -> None:
    name = a_name("pm")
    joined = boss.post("/api/agents", {"name": name, "color": "teal", "maxTurns": 2}, 201)
    assert joined["agent"]["seat"] >= 9
    assert (joined["agent"]["status"], joined["agent"]["turn"]) == ("sleeping", "OFFLINE")
    assert (joined["token"]["role"], joined["token"]["agent"]) == ("agent", name)
    with asker(server, joined["token"]["secret"]) as agent:
        here = agent.post(f"/api/agents/{name}/connect")
        assert (here["agent"]["status"], here["agent"]["turn"]) == ("alive", "IDLE")
        assert here["agent"]["evidence"]["kind"] == "heartbeat"
        assert here["heartbeatSeconds"] == pytest.approx(LIFE_SECONDS / 3)
        assert (here["timeoutSeconds"], here["turns"]) == (LIFE_SECONDS, {})
        gone = agent.post(f"/api/agents/{name}/disconnect", {"reason": "lunch"})
        assert (gone["agent"]["status"], gone["agent"]["turn"]) == ("sleeping", "OFFLINE")
    listed = {each["name"]: each for each in boss.get("/api/agents")["agents"]}
    assert listed[name]["seat"] == joined["agent"]["seat"]
    assert boss.get(f"/api/agents/agent-identity:{joined['agent']['seat']}")["name"] == name


def test_a_name_counts_once_whatever_its_case(boss: Asker) -> None:
    name = a_name("pm")
    boss.post("/api/agents", {"name": name}, 201)
    problem = boss.refused("POST", "/api/agents", 409, "name_taken", json={"name": name.upper()})
    assert problem["found"]["name"] == name.upper()
    assert problem["type"] == "/api/docs#name_taken"
    assert "{name!r}" in problem["rule"]
    boss.refused("POST", "/api/agents", 409, "name_reserved", json={"name": "main"})
    boss.refused("GET", "/api/agents/nobody", 404, "not_found")


def test_an_agent_that_is_disabled_is_offline_and_cannot_connect_until_it_is_enabled(
    server: Server, boss: Asker
) -> None:
    name = a_name("pm")
    token = boss.post("/api/agents", {"name": name}, 201)["token"]["secret"]
    with asker(server, token) as agent:
        agent.post(f"/api/agents/{name}/connect")
        out = boss.post(f"/api/agents/{name}/disable", {"reason": "too loud"})
        assert (out["disabled"], out["turn"]) == (True, "OFFLINE")
        for act in ("connect", "heartbeat"):
            agent.refused("POST", f"/api/agents/{name}/{act}", 409, "disabled")
        boss.post(f"/api/agents/{name}/enable")
        assert agent.post(f"/api/agents/{name}/connect")["agent"]["status"] == "alive"


# ── heartbeats ────────────────────────────────────────────────────────────────────────────────────


def test_one_that_is_silent_is_offline_its_turn_goes_on_and_its_late_words_are_refused(
    scene: Scene,
) -> None:
    scene.connected("pm", "dev")
    with heard(scene, "dev"):
        with heard(scene, "pm"):
            scene.opened("pm", "dev")
            epoch = scene.next("pm")["epoch"]
        scene.until_moved("dev", "QUEUED", "ACTIVE", "turn_granted")
        assert (scene.holder(), scene.state("pm")) == ("dev", "OFFLINE")
        assert scene.ring() == ["dev"]
        told = [each["text"] for each in scene.facts("announcement")]
        assert told == [f"⚠️ {scene.named('pm')} disconnected, skipping turn"]
        late = {"message": "late", "epoch": epoch}
        answer = scene.call("POST", f"{scene.channel}/messages", late, by="pm")
        assert answer.status_code == 409
        beat = scene.call("POST", f"/api/agents/{scene.named('pm')}/heartbeat", {}, by="pm")
        assert (beat.status_code, beat.json()["code"]) == (409, "wrong_state")
        assert scene.agent("pm", "connect")["agent"]["turn"] == "IDLE"


def test_a_heartbeat_keeps_an_agent_and_with_working_its_turn(scene: Scene) -> None:
    scene.connected("pm", "dev")
    with heard(scene, "pm", "dev", working=True):
        scene.opened("pm", "dev", defaultTimeoutSeconds=SILENCE_SECONDS)
        assert scene.next("dev", wait=1.5 * SILENCE_SECONDS)["do"] == "nothing"
        assert (scene.holder(), scene.state("dev")) == ("pm", "QUEUED")
        held = scene.agent("pm", "heartbeat", {"working": True})["turns"]
        assert held == {scene.named("reviews"): 1}
    with heard(scene, "pm", "dev"):
        scene.until_moved("pm", "ACTIVE", "QUEUED", "timeout")


def test_one_that_waits_for_something_to_do_needs_no_heartbeat(scene: Scene) -> None:
    scene.connected("pm")
    began = monotonic()
    scene.next("pm", wait=1.5 * SILENCE_SECONDS)
    assert monotonic() - began >= 1.5 * SILENCE_SECONDS
    assert scene.state("pm") == "IDLE"


def test_one_that_dies_while_it_waits_is_soon_offline(scene: Scene) -> None:
    scene.connected("pm")
    headers = {"authorization": f"Bearer {scene.tokens['pm']}"}
    path = f"{scene.url}/api/agents/{scene.named('pm')}/next?wait={LONGEST_WAIT}"
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(path, headers=headers, timeout=httpx.Timeout(WAIT_SECONDS, read=0.2))
    gone = (scene.named("pm"), "heartbeat_lost")
    scene.until(lambda event: (event.get("agentId"), event.get("trigger")) == gone)
    assert scene.state("pm") == "OFFLINE"


# ── retiring ──────────────────────────────────────────────────────────────────────────────────────


def test_a_retired_agent_is_gone_from_lists_and_its_history_stays_readable(
    server: Server, boss: Asker
) -> None:
    name = a_name("pm")
    joined = boss.post("/api/agents", {"name": name}, 201)
    seat, document = joined["agent"]["seat"], f"agent-identity:{joined['agent']['seat']}"
    with asker(server, joined["token"]["secret"]) as agent:
        agent.post(f"/api/agents/{name}/connect")
        agent.post(f"/api/agents/{name}/messages", {"message": "farewell"}, 201)
        agent.refused("DELETE", f"/api/agents/{name}", 403, "forbidden")
        gone = boss.delete(f"/api/agents/{name}")
        assert (gone["retired"], gone["status"], gone["turn"]) == (True, "sleeping", "OFFLINE")
        agent.get("/api/agents", 401)
    assert seat not in [each["seat"] for each in boss.get("/api/agents")["agents"]]
    assert seat not in [each["seat"] for each in boss.get("/api/state")["agents"]]
    everybody = boss.get("/api/agents?retired=true")["agents"]
    assert [each["retired"] for each in everybody if each["seat"] == seat] == [True]
    assert boss.get(f"/api/agents/{name}")["retired"]  # until another agent takes the name
    [said] = boss.get(f"/api/agents/{document}/messages")["messages"]
    assert (said["speakerName"], said["text"]) == (name, "farewell")
    boss.refused("POST", f"/api/agents/{document}/connect", 409, "retired")
    again = boss.post("/api/agents", {"name": name}, 201)
    assert again["agent"]["seat"] != seat
    boss.refused("DELETE", f"/api/agents/{document}", 409, "retired")


def test_the_command_line_retires_an_agent(tmp_path: Path) -> None:
    home = ("--home", str(tmp_path))
    with live(tmp_path):
        muster("agent", "register", "pm", *home)
        done = muster("agent", "retire", "pm", *home)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "pm: RETIRED, nothing runs it until it is brought back\n"
        assert "pm" not in muster("agent", "list", *home).stdout
        assert "RETIRED" in muster("agent", "list", "--retired", *home).stdout
        assert muster("agent", "register", "pm", *home).returncode == 0


# ── usage ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_agent_reports_what_it_has_used_and_it_counts_for_the_limits_of_its_channel(
    server: Server,
) -> None:
    with a_scene(server) as scene:
        scene.connected("pm", "dev")
        scene.opened("pm", "dev", maxCostUsd=1.0)
        path = f"/api/agents/{scene.named('pm')}/usage"
        used = {"costUsd": 0.75, "inputTokens": 100, "channel": scene.named("reviews")}
        scene.post(path, used, by="pm")
        scene.refused("POST", path, {"costUsd": -1}, by="pm", status=422)
        scene.refused("POST", path, used, by="dev", status=403)
        other = f"/api/agents/{scene.named('dev')}/usage"
        assert scene.refused("POST", other, used, by="dev")["code"] == "not_your_turn"
        scene.post(path, used, by="pm")
        costs = scene.get("/api/costs")
        [agent] = [each for each in costs["agents"] if each["agent"] == scene.named("pm")]
        [channel] = [
            each for each in costs["channels"] if each["channel"] == scene.named("reviews")
        ]
        assert (agent["costUsd"], agent["tokens"]) == (1.5, 200)
        assert (channel["costUsd"], channel["maxCostUsd"]) == (1.5, 1.0)
        scene.turn("complete", by="pm", message="done")
        state = scene.get(scene.channel)
        assert (state["resting"], state["holder"]) == (True, None)
