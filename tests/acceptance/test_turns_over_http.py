"""Turn-taking over HTTP on a real server: the transition table row by row, and the edge cases."""

import json
import re
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.live import Json, Scene, Server, a_scene, heard, live
from tests.machines.turns.test_turns import BASIC_ROWS
from tests.postgres import STORES, new_home

SHORT = 0.3
"""A timeout that a test waits for."""


@pytest.fixture(scope="module", params=STORES)
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Generator[Server]:
    home = new_home(tmp_path_factory.mktemp("turns") / "home", request.param)
    with live(home) as running:
        yield running


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """A server that takes an agent for dead when it is silent for a moment."""
    home: Path = tmp_path_factory.mktemp("impatient") / "home"
    with live(home, 2) as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    with a_scene(server) as playing:
        yield playing


def trio(scene: Scene, **config: Json) -> None:
    """pm, dev and qa in one channel; pm holds the turn."""
    scene.connected("pm", "dev", "qa")
    scene.opened("pm", "dev", "qa", **config)


def hurry(scene: Scene) -> None:
    """Let the next turn, and this one after the next post, time out soon."""
    scene.call("PATCH", scene.channel, {"defaultTimeoutSeconds": SHORT})


# ── the table ─────────────────────────────────────────────────────────────────────────────────────


def _starts(scene: Scene) -> None:
    scene.connected("new")


def _assigned(scene: Scene) -> None:
    trio(scene)
    scene.connected("new")
    scene.joins("new")


def _stops(scene: Scene) -> None:
    scene.connected("new")
    scene.agent("new", "disconnect")


def _completes(scene: Scene) -> None:
    trio(scene)
    scene.turn("complete", "pm", message="done", epoch=1)


def _removed(scene: Scene) -> None:
    trio(scene)
    scene.leaves("qa")


def _disconnects(scene: Scene) -> None:
    trio(scene)
    scene.agent("qa", "disconnect")


def _times_out(scene: Scene) -> None:
    trio(scene, defaultTimeoutSeconds=SHORT)


def _waits(scene: Scene) -> None:
    trio(scene, waitTimeoutSeconds=SHORT)
    scene.turn("wait", "pm", reason="a build")


def _crashes(scene: Scene) -> None:
    trio(scene)
    scene.agent("pm", "disconnect")


def _resumes(scene: Scene) -> None:
    trio(scene)
    scene.turn("wait", "pm", reason="a build", timeoutSeconds=60)
    scene.turn("resume", "pm")


def _disconnects_while_waiting(scene: Scene) -> None:
    trio(scene)
    scene.turn("wait", "pm", reason="a build")
    scene.agent("pm", "disconnect")


ROWS_IN_LIFE: list[tuple[str, Callable[[Scene], None]]] = [
    ("new OFFLINE IDLE agent_starts", _starts),
    ("new IDLE QUEUED assigned_to_channel", _assigned),
    ("new IDLE OFFLINE agent_stops", _stops),
    ("dev QUEUED ACTIVE turn_granted", _completes),
    ("qa QUEUED IDLE removed_from_channel", _removed),
    ("qa QUEUED OFFLINE agent_disconnects", _disconnects),
    ("pm ACTIVE QUEUED TURN_COMPLETE", _completes),
    ("pm ACTIVE QUEUED timeout", _times_out),
    ("pm ACTIVE WAITING wait_requested", _waits),
    ("pm ACTIVE OFFLINE agent_crashes", _crashes),
    ("pm WAITING ACTIVE wait_resolved", _resumes),
    ("pm WAITING QUEUED wait_timeout", _waits),
    ("pm WAITING OFFLINE agent_disconnects", _disconnects_while_waiting),
]


@pytest.mark.parametrize(("row", "happen"), ROWS_IN_LIFE, ids=[row for row, _ in ROWS_IN_LIFE])
def test_every_row_of_the_transition_table_happens_over_http(
    row: str, happen: Callable[[Scene], None], scene: Scene
) -> None:
    happen(scene)
    scene.until_moved(*row.split())


def test_the_rows_that_happen_over_http_are_the_whole_transition_table() -> None:
    assert [tuple(row.split()[1:]) for row, _ in ROWS_IN_LIFE] == BASIC_ROWS


def test_a_transition_is_logged_with_exactly_the_documented_fields(scene: Scene) -> None:
    trio(scene)
    scene.turn("complete", "pm")
    path = f"/api/log?format=turn-transitions&after={scene.began}&channel={scene.named('reviews')}"
    entry = next(each for each in scene.get(path)["events"] if each["trigger"] == "TURN_COMPLETE")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", entry.pop("timestamp"))
    assert entry == {
        "event": "state_transition",
        "agentId": scene.named("pm"),
        "from": "ACTIVE",
        "to": "QUEUED",
        "trigger": "TURN_COMPLETE",
        "channel": scene.named("reviews"),
    }


# ── the six edge cases ────────────────────────────────────────────────────────────────────────────


def test_an_agent_that_falls_silent_mid_turn_is_offline_and_the_next_goes_on(
    impatient: Server,
) -> None:
    with a_scene(impatient) as scene:
        scene.connected("pm", "dev")
        with heard(scene, "pm", "dev"):
            scene.opened("pm", "dev")
            epoch = scene.next("pm")["epoch"]
        told = scene.next("dev")  # and it is heard of for as long as it waits
        assert (told["do"], told["epoch"]) == ("turn", epoch + 1)
        with heard(scene, "dev"):
            assert ("pm", "ACTIVE", "OFFLINE", "agent_crashes") in scene.moves()
            assert [each["text"] for each in scene.facts("announcement")] == [
                f"⚠️ {scene.named('pm')} disconnected, skipping turn"
            ]
            assert (scene.state("pm"), scene.ring()) == ("OFFLINE", ["dev"])

            late = {"message": "I was not dead", "epoch": epoch}
            problem = scene.refused("POST", f"{scene.channel}/messages", late, by="pm")
            assert problem["code"] in ("not_a_member", "stale_epoch")

            scene.agent("pm", "connect")  # it is back, and not queued again by that
            with heard(scene, "pm"):
                assert (scene.state("pm"), scene.ring()) == ("IDLE", ["dev"])


def test_a_turn_that_times_out_is_announced_and_its_holder_keeps_its_place(scene: Scene) -> None:
    trio(scene, defaultTimeoutSeconds=60)
    state = scene.get(scene.channel)
    assert state["timeoutAt"] is not None
    hurry(scene)
    scene.turn("pass", "pm")
    scene.until_moved("dev", "ACTIVE", "QUEUED", "timeout")
    scene.until_moved("qa", "QUEUED", "ACTIVE", "turn_granted")
    assert scene.facts("announcement")[0]["text"] == f"⏱️ {scene.named('dev')} turn timed out"
    assert scene.ring() == ["pm", "dev", "qa"]
    scene.until(
        lambda event: (
            event.get("agentId") == scene.named("dev")
            and event.get("trigger") == "turn_granted"
            and event["epoch"] > 2
        )
    )


def test_a_member_may_have_a_timeout_of_its_own(scene: Scene) -> None:
    scene.connected("pm", "dev")
    scene.opened(defaultTimeoutSeconds=60)
    scene.joins("dev")
    scene.joins("pm", timeoutSeconds=SHORT)
    scene.turn("pass", "dev")
    scene.until_moved("pm", "ACTIVE", "QUEUED", "timeout")
    assert scene.holder() == "dev"
    members = {
        each["agent"]: each["timeoutSeconds"] for each in scene.get(scene.channel)["members"]
    }
    assert members == {scene.named("pm"): SHORT, scene.named("dev"): 60}


def texts(told: Json) -> list[str]:
    return [message["text"] for message in told["messages"]]


def test_in_queue_mode_a_human_is_heard_after_the_turn(scene: Scene) -> None:
    trio(scene, humanInterruptMode="queue")
    epoch = scene.next("pm")["epoch"]
    scene.says("later")
    assert scene.next("pm", wait=0, known=epoch)["do"] == "nothing"
    assert texts(scene.next("pm", wait=0)) == []  # told its turn anew, it is held back as well
    scene.turn("complete", "pm", epoch=epoch)
    assert texts(scene.next("dev")) == ["later"]
    scene.turn("complete", "dev")
    scene.turn("complete", "qa")
    assert texts(scene.next("pm")) == ["later"]


def test_in_interrupt_mode_the_turn_stands_still_until_the_human_lets_go(scene: Scene) -> None:
    trio(scene, humanInterruptMode="interrupt")
    epoch = scene.next("pm")["epoch"]
    scene.says("stop a moment")
    scene.until_moved("pm", "ACTIVE", "WAITING", "human_interrupt")
    assert scene.get(scene.channel)["waiting"]["byHuman"]
    assert scene.next("pm", known=epoch)["do"] == "over"
    told = scene.next("pm")
    assert (told["do"], told["state"], texts(told)) == ("message", "WAITING", ["stop a moment"])
    assert scene.next("dev", wait=0)["do"] == "nothing"
    problem = scene.refused("POST", f"{scene.channel}/turn/resume", {}, by="pm", status=403)
    assert problem["code"] == "forbidden"

    scene.post(f"{scene.channel}/turn/resume")
    scene.until_moved("pm", "WAITING", "ACTIVE", "human_release")
    told = scene.next("pm")
    assert (told["do"], told["epoch"]) == ("turn", epoch)
    assert [message["again"] for message in told["messages"]] == [True]


def test_a_human_who_falls_silent_lets_the_turn_go_on(scene: Scene) -> None:
    trio(scene, humanInterruptMode="interrupt", interruptHoldSeconds=SHORT)
    scene.says("hm")
    scene.until_moved("pm", "WAITING", "ACTIVE", "human_release")


def test_in_inject_mode_the_active_agent_hears_a_human_at_once(scene: Scene) -> None:
    trio(scene)  # it is the default
    epoch = scene.next("pm")["epoch"]
    scene.says("by the way")
    told = scene.next("pm", known=epoch)
    assert (told["do"], texts(told), told["epoch"]) == ("message", ["by the way"], epoch)
    assert scene.next("dev", wait=0)["do"] == "nothing"
    assert scene.next("pm", wait=0, known=epoch)["do"] == "nothing"


def test_in_parallel_mode_everybody_hears_a_human_at_once(scene: Scene) -> None:
    trio(scene, humanInterruptMode="parallel")
    epoch = scene.next("pm")["epoch"]
    scene.says("everybody")
    assert texts(scene.next("pm", known=epoch)) == ["everybody"]
    for name in ("dev", "qa"):
        told = scene.next(name)
        assert (told["do"], told["state"], texts(told)) == ("message", "QUEUED", ["everybody"])
        assert scene.next(name, wait=0)["do"] == "nothing"


def test_an_agent_that_forgets_to_signal_loses_its_turn_with_a_warning(scene: Scene) -> None:
    trio(scene)
    hurry(scene)
    scene.says("my answer", by="pm")
    scene.until_moved("pm", "ACTIVE", "QUEUED", "timeout")
    [warning] = scene.facts("warning_logged")
    assert warning["text"] == "Agent completed response without TURN_COMPLETE"


def test_silence_after_a_post_can_be_taken_for_its_end(scene: Scene) -> None:
    trio(scene, autoDetectTurnEnd=True, autoDetectSilenceSeconds=SHORT)
    scene.says("my answer", by="pm")
    scene.until_moved("pm", "ACTIVE", "QUEUED", "silence")
    assert scene.facts("warning_logged")
    assert scene.holder() == "dev"


def test_when_all_are_gone_messages_wait_for_the_first_who_comes_back(scene: Scene) -> None:
    scene.connected("pm", "dev")
    scene.opened("pm", "dev")
    scene.agent("pm", "disconnect")
    scene.agent("dev", "disconnect")
    notice = "⚠️ No agents available in this channel"
    assert scene.facts("announcement")[-1]["text"] == notice
    assert (scene.ring(), scene.holder()) == ([], None)
    said = scene.says("is anybody there?")
    assert scene.get(f"{scene.channel}/messages")["messages"][0]["delivery"] == {}

    scene.agent("dev", "connect")
    scene.joins("dev")
    assert scene.holder() == "dev"
    *notices, message = scene.next("dev")["messages"]
    assert {each["kind"] for each in notices} == {"notice"}
    assert (message["seq"], message["text"]) == (said["seq"], "is anybody there?")


def test_an_added_member_comes_last_and_a_removed_one_leaves_the_others_in_order(
    scene: Scene,
) -> None:
    trio(scene)
    scene.connected("ops", "doc")
    scene.joins("ops")
    assert (scene.ring(), scene.holder()) == (["pm", "dev", "qa", "ops"], "pm")
    scene.leaves("dev")
    assert (scene.ring(), scene.holder()) == (["pm", "qa", "ops"], "pm")
    scene.leaves("pm")
    assert (scene.ring(), scene.holder()) == (["qa", "ops"], "qa")
    assert scene.state("pm") == "IDLE"
    scene.joins("doc")
    for name in ("qa", "ops", "doc", "qa"):
        assert scene.holder() == name
        scene.turn("complete", name, message="word")


# ── what an agent is told ─────────────────────────────────────────────────────────────────────────


def test_one_agent_is_active_at_a_time_and_each_hears_every_message_once(scene: Scene) -> None:
    trio(scene)
    heard: dict[str, list[str]] = {"pm": [], "dev": [], "qa": []}
    for turn in range(9):
        name = ("pm", "dev", "qa")[turn % 3]
        told = scene.next(name)
        states = [each["state"] for each in scene.get(scene.channel)["members"]]
        assert sorted(states) == ["ACTIVE", "QUEUED", "QUEUED"]
        heard[name] += texts(told)
        scene.turn("complete", name, epoch=told["epoch"], message=f"{name} {turn}")
    assert heard["pm"] == ["dev 1", "qa 2", "dev 4", "qa 5"]
    assert heard["dev"] == ["pm 0", "qa 2", "pm 3", "qa 5", "pm 6"]
    assert json.dumps(scene.get(f"{scene.channel}/messages")).count('"accepted"') == 3
