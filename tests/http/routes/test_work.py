"""The long-poll over HTTP: an agent asks what to do, waits at no cost, and is told once."""

import signal
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from muster.errors import Invalid
from muster.http.parsing import parse_known
from tests.live import Scene, Server, a_scene, live
from tests.waits import WAIT_SECONDS


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("next") / "home") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    """pm and dev in one channel; pm holds the turn."""
    with a_scene(server) as playing:
        playing.connected("pm", "dev")
        playing.opened("pm", "dev")
        yield playing


@pytest.fixture
def beside() -> Generator[ThreadPoolExecutor]:
    """Somebody who asks while the test goes on."""
    with ThreadPoolExecutor(max_workers=4) as threads:
        yield threads


def test_an_agent_that_waits_is_told_its_turn_when_it_comes(
    scene: Scene, beside: ThreadPoolExecutor
) -> None:
    asking = beside.submit(scene.next, "dev")
    scene.turn("complete", "pm", message="yours")
    told = asking.result(WAIT_SECONDS)
    assert (told["do"], told["channel"], told["epoch"]) == ("turn", scene.named("reviews"), 2)
    assert (told["agent"], told["state"]) == (scene.named("dev"), "ACTIVE")
    assert [each["text"] for each in told["messages"]] == ["yours"]
    assert told["timeoutAt"] == scene.get(scene.channel)["timeoutAt"]


def test_where_there_is_nothing_the_answer_is_nothing(scene: Scene) -> None:
    told = scene.next("dev", wait=0.05)
    assert (told["do"], told["state"], told["messages"]) == ("nothing", "QUEUED", [])


def test_an_agent_that_is_disabled_while_it_waits_is_told_to_stop(
    scene: Scene, beside: ThreadPoolExecutor
) -> None:
    asking = beside.submit(scene.next, "dev")
    scene.post(f"/api/agents/{scene.named('dev')}/disable")
    told = asking.result(WAIT_SECONDS)
    assert (told["do"], told["reason"], told["state"]) == ("stop", "disabled", "OFFLINE")


def paused(scene: Scene, name: str, note: str = "") -> None:
    wish = {"desired": "pause", "note": note}
    assert scene.call("PUT", f"/api/agents/{scene.named(name)}/run", wish).is_success


def test_an_agent_that_is_paused_while_it_waits_is_told_to_stop_with_the_reason(
    scene: Scene, beside: ThreadPoolExecutor
) -> None:
    asking = beside.submit(scene.next, "dev")
    paused(scene, "dev", note="too expensive")
    told = asking.result(WAIT_SECONDS)
    assert (told["do"], told["reason"]) == ("stop", "too expensive")
    paused(scene, "pm")
    scene.turn("complete", "pm")
    assert scene.next("pm")["reason"] == "paused"


def test_an_agent_that_is_paused_in_its_turn_may_finish_it(
    scene: Scene, beside: ThreadPoolExecutor
) -> None:
    paused(scene, "pm", note="that will do")
    assert scene.next("pm", wait=0)["do"] == "turn"
    assert scene.next("pm", wait=0, known=1)["do"] == "nothing"
    asking = beside.submit(scene.next, "pm", known=1)
    scene.turn("complete", "pm", message="done")
    told = asking.result(WAIT_SECONDS)
    assert (told["do"], told["reason"]) == ("stop", "that will do")
    assert scene.holder() == "dev"


def test_a_paused_agent_gets_no_turn_and_no_message_until_it_is_started_again(scene: Scene) -> None:
    paused(scene, "dev")
    scene.turn("complete", "pm", message="yours?")
    assert scene.holder() != "dev"
    assert scene.next("dev")["messages"] == []
    wish = {"desired": "continuous"}
    assert scene.call("PUT", f"/api/agents/{scene.named('dev')}/run", wish).is_success
    if scene.holder() == "pm":
        scene.turn("complete", "pm")
    told = scene.next("dev")
    assert (told["do"], [each["text"] for each in told["messages"]]) == ("turn", ["yours?"])


def test_a_paused_and_disconnected_agent_is_told_to_stop_and_stays_disconnected(
    scene: Scene,
) -> None:
    paused(scene, "dev", note="for today")
    scene.agent("dev", "disconnect")
    told = scene.next("dev")
    assert (told["do"], told["reason"], told["state"]) == ("stop", "for today", "OFFLINE")
    assert scene.state("dev") == "OFFLINE"


def test_an_asker_that_is_gone_is_handed_nothing(scene: Scene) -> None:
    path = f"/api/agents/{scene.named('dev')}/next?wait=30"
    headers = {"authorization": f"Bearer {scene.tokens['dev']}"}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(
            f"{scene.url}{path}", headers=headers, timeout=httpx.Timeout(WAIT_SECONDS, read=0.2)
        )
    scene.post("/api/send", {"message": "for you", "targetAgent": scene.named("dev")})
    told = scene.next("dev")
    assert [each["text"] for each in told["messages"]] == ["for you"]


def test_messages_are_handed_over_once_however_many_ask(
    scene: Scene, beside: ThreadPoolExecutor
) -> None:
    askers = [beside.submit(scene.next, "pm", wait=1, known=1) for _ in range(3)]
    for number in range(3):
        scene.says(str(number))
    handed = [
        message["text"] for asker in askers for message in asker.result(WAIT_SECONDS)["messages"]
    ]
    rest = scene.next("pm", wait=0, known=1)["messages"]
    assert sorted([*handed, *(message["text"] for message in rest)]) == ["0", "1", "2"]


def test_an_agent_asks_for_itself_only(scene: Scene) -> None:
    path = f"/api/agents/{scene.named('pm')}/next?wait=0"
    assert scene.refused("POST", path, by="dev", status=403)["code"] == "forbidden"
    assert scene.post(path)["do"] == "turn"  # the operator may act as everybody
    scene.refused("POST", "/api/agents/nobody/next", status=404)


@pytest.mark.parametrize("query", ["wait=-1", "wait=61", "wait=nan", "known=design", "known=a:b"])
def test_a_question_that_makes_no_sense_is_refused(query: str, scene: Scene) -> None:
    path = f"/api/agents/{scene.named('pm')}/next?{query}"
    assert scene.refused("POST", path, by="pm", status=422)["code"] == "invalid"


def test_turns_that_are_known_are_channels_with_numbers() -> None:
    assert parse_known("") == {}
    assert parse_known("design:7,code review:12") == {"design": 7, "code review": 12}
    for wrong in ("design", "design:", "design:-1", "design:²", "a:1,b", "a:" + "9" * 19):
        with pytest.raises(Invalid):
            parse_known(wrong)


def test_a_server_that_ends_answers_every_long_poll(
    tmp_path: Path, beside: ThreadPoolExecutor
) -> None:
    with live(tmp_path / "home") as ending, a_scene(ending) as scene:
        scene.connected("pm")
        scene.agent("pm", "disconnect")
        last = scene.get("/api/health")["seq"]
        asking = beside.submit(scene.next, "pm")
        scene.until(lambda event: event["seq"] > last)  # by asking it is here again
        ending.process.send_signal(signal.SIGTERM)
        _, complaint = ending.process.communicate(timeout=WAIT_SECONDS)
        assert (ending.process.returncode, complaint) == (0, "")
        assert asking.result(WAIT_SECONDS)["do"] == "nothing"
