"""Turns over HTTP: only the holder acts, only on its own turn, and a human decides."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import pytest

from muster.limits import PARTIAL_CHARS_MAX
from tests.live import Json, Scene, Server, a_scene, live
from tests.waits import WAIT_SECONDS


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
    assert (again["seq"], again["repeated"]) == (first["seq"], True)
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
    scene.post(path, {"to": "QUEUED"})
    assert scene.holder() == "dev"
    scene.turn("wait", "dev")
    scene.post(path, give)
    assert ("dev", "WAITING", "ACTIVE", "human_override") in scene.moves()
    scene.turn("wait", "dev")
    scene.post(path, {"agent": scene.named("dev"), "to": "QUEUED"})
    assert ("dev", "WAITING", "QUEUED", "human_override") in scene.moves()
    assert scene.get(scene.channel)["holder"] is None  # both were stopped
    scene.post(path, {"agent": scene.named("pm"), "to": "ACTIVE"})
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
        ("complete", {"epoch": "one"}),
        ("complete", {"epoch": 10**30}),
        ("wait", {"reason": "x" * 10_000}),
        ("complete", {"massage": "x"}),
    ],
)
def test_what_makes_no_sense_is_refused(act: str, body: Json, scene: Scene) -> None:
    problem = scene.refused("POST", f"{scene.channel}/turn/{act}", body, by="pm", status=422)
    assert problem["code"] == "invalid"


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_blank_text_completes_the_turn_without_a_message(text: str, scene: Scene) -> None:
    before = len(scene.facts("agent_message"))
    scene.turn("complete", "pm", message=text)
    assert len(scene.facts("agent_message")) == before
    assert scene.holder() == "dev"


def test_a_channel_or_an_agent_that_is_not_there_is_not_found(scene: Scene) -> None:
    for act in ("complete", "pass", "wait", "resume", "override"):
        body: Json = {"to": "QUEUED"} if act == "override" else {}
        scene.refused("POST", f"/api/channels/nowhere/turn/{act}", body, status=404)
        named = {**body, "agent": "nobody"}
        scene.refused("POST", f"{scene.channel}/turn/{act}", named, status=404)


# ── who speaks next ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def three(server: Server) -> Generator[Scene]:
    """Three agents in a channel; pm has the turn."""
    with a_scene(server) as playing:
        playing.connected("pm", "dev", "qa")
        playing.opened("pm", "dev", "qa")
        yield playing


def test_a_person_says_who_speaks_next_while_somebody_speaks(three: Scene) -> None:
    path, qa = f"{three.channel}/turn/override", three.named("qa")
    told = three.post(path, {"agent": qa, "to": "ACTIVE"})
    assert (told["agent"], told["state"], told["isNext"]) == (qa, "QUEUED", True)
    assert told["effect"] == f"{qa} speaks next, after {three.named('pm')}"
    three.turn("complete", "pm", message="done")
    assert three.holder() == "qa"
    assert three.get(three.channel)["grantedBecause"] == "chosen by human"
    again = three.post(path, {"agent": qa, "to": "ACTIVE"})
    assert (again["state"], again["isNext"]) == ("ACTIVE", False)
    assert again["effect"] == f"{qa} has the turn"
    taken = three.post(path, {"agent": qa, "to": "QUEUED"})
    assert taken["effect"] == (
        f"the turn was taken away from {qa}; {three.named('dev')} has it."
        " A new message lets it speak again, and so does a person who chooses it"
    )


def test_a_person_stops_a_lone_agent_until_there_is_something_new(server: Server) -> None:
    with a_scene(server) as scene:
        scene.connected("pm")
        scene.opened("pm")
        pm = scene.named("pm")
        told = scene.post(f"{scene.channel}/turn/override", {"to": "QUEUED"})
        assert told["state"] == "QUEUED"
        channel = scene.get(scene.channel)
        assert (channel["holder"], channel["members"][0]["stopped"]) == (None, True)
        assert channel["restReason"] == (
            f"a person took the turn away from {pm} (nothingNew); a message starts it again"
        )
        assert scene.next("pm", wait=0)["do"] == "nothing"
        scene.says("now this")
        offered = scene.next("pm")
        assert (offered["do"], [each["text"] for each in offered["messages"]]) == (
            "turn",
            ["now this"],
        )
        assert not scene.get(scene.channel)["members"][0]["stopped"]


def test_a_person_wakes_a_resting_channel_by_choosing_a_speaker(three: Scene) -> None:
    for name in ("pm", "dev", "qa") * 3:
        three.turn("pass", name)
    assert three.get(three.channel)["resting"]
    told = three.post(
        f"{three.channel}/turn/override", {"agent": three.named("qa"), "to": "ACTIVE"}
    )
    assert (told["state"], told["isNext"]) == ("ACTIVE", False)
    assert three.holder() == "qa"


def test_a_person_cannot_choose_an_agent_that_cannot_speak(three: Scene) -> None:
    path, qa = f"{three.channel}/turn/override", three.named("qa")
    three.call("PUT", f"/api/agents/{qa}/run", {"desired": "pause"})
    problem = three.refused("POST", path, {"agent": qa, "to": "ACTIVE"})
    assert problem["code"] == "cannot_speak"
    assert "is paused" in problem["detail"]


@pytest.mark.parametrize("way", ["complete", "pass", "message"])
def test_the_speaker_hands_its_turn_to_a_named_member(way: str, three: Scene) -> None:
    qa = three.named("qa")
    if way == "message":
        three.says("your part", by="pm", complete=True, to=qa)
    else:
        three.turn(way, "pm", to=qa)
    assert three.holder() == "qa"
    assert three.get(three.channel)["grantedBecause"] == f"handed over by {three.named('pm')}"
    three.turn("pass", "qa")
    assert three.holder() == "dev"  # the ring goes on where it was


def test_a_handoff_names_an_agent_and_ends_the_turn(three: Scene) -> None:
    path = f"{three.channel}/turn/complete"
    problem = three.refused("POST", path, {"to": "nobody"}, by="pm", status=422)
    assert "there is no agent 'nobody'" in problem["detail"]
    unfinished = {"message": "x", "to": three.named("dev")}
    problem = three.refused("POST", f"{three.channel}/messages", unfinished, by="pm", status=422)
    assert "complete" in problem["detail"]
    problem = three.refused("POST", f"{three.channel}/messages", unfinished, status=422)
    assert "name the agent" in problem["detail"]


def test_a_handoff_to_one_that_left_ends_the_turn_and_says_why_the_ring_decides(
    three: Scene,
) -> None:
    three.leaves("qa")
    qa = three.named("qa")
    ended = three.post(f"{three.channel}/turn/complete", {"to": qa, "agent": three.named("pm")})
    assert ended["effect"] == (
        f"The turn ends without a handoff: {qa!r} is no member of {three.named('reviews')!r}."
    )
    assert three.get(three.channel)["holder"] == three.named("dev")


def test_a_wait_for_a_person_ends_with_a_message_and_a_wait_for_a_resume_does_not(
    three: Scene,
) -> None:
    three.turn("wait", "pm", reason="the build", awaits="resume")
    three.says("still there?")
    waiting = three.get(three.channel)["waiting"]
    assert (waiting["reason"], waiting["awaits"]) == ("the build", "resume")
    three.turn("resume", "pm")
    three.turn("wait", "pm", reason="an answer")
    three.says("yes")
    assert three.get(three.channel)["waiting"] is None
    three.refused("POST", f"{three.channel}/turn/wait", {"awaits": "rain"}, by="pm", status=422)


# ── one request a turn ────────────────────────────────────────────────────────────────────────────


def end_and_wait(scene: Scene, by: str, wait: float = 60, act: str = "complete") -> Json:
    path = f"{scene.channel}/turn/{act}?wait={wait}"
    return scene.post(path, {"message": f"{by} speaks"} if act == "complete" else {}, by=by)


def test_a_turn_is_ended_and_the_next_one_waited_for_in_one_request(scene: Scene) -> None:
    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(end_and_wait, scene, "pm")
        told = scene.next("dev")
        assert [each["text"] for each in told["messages"]] == ["pm speaks"]
        mine = scene.turn("complete", "dev", message="dev speaks")
        ended = waiting.result(WAIT_SECONDS)
    work = ended["next"]
    assert (work["do"], work["epoch"], work["state"]) == ("turn", 3, "ACTIVE")
    assert [(each["seq"], each["again"]) for each in work["messages"]] == [(mine["seq"], False)]
    assert ended["seq"] < mine["seq"]
    assert scene.next("pm", wait=0)["messages"][0]["again"]  # handed over once as new


def test_a_turn_that_waits_in_vain_for_the_next_says_so(scene: Scene) -> None:
    ended = end_and_wait(scene, "pm", wait=0, act="pass")
    assert (ended["next"]["do"], scene.holder()) == ("nothing", "dev")
    assert scene.turn("pass", "dev")["next"] is None
    scene.refused("POST", f"{scene.channel}/turn/pass?wait=61", {}, by="pm", status=422)
    scene.refused("POST", f"{scene.channel}/turn/pass?wait=1&known=x", {}, by="pm", status=422)


# ── partial text ──────────────────────────────────────────────────────────────────────────────────


def test_the_holder_shows_partial_text_and_nobody_else_may(scene: Scene) -> None:
    path = f"{scene.channel}/turn/partial"
    first = scene.call("POST", path, {"text": "I <b>think", "epoch": 1}, by="pm")
    assert (first.status_code, first.content) == (204, b"")
    named = {"text": "I think so", "agent": scene.named("pm")}
    assert scene.call("POST", path, named).status_code == 204
    assert scene.refused("POST", path, {"text": "me"}, by="dev")["code"] == "not_your_turn"
    stale = {"text": "late", "epoch": 7}
    assert scene.refused("POST", path, stale, by="pm")["code"] == "stale_epoch"
    long = {"text": "x" * (PARTIAL_CHARS_MAX + 1)}
    assert scene.refused("POST", path, long, by="pm", status=422)["status"] == 422
    assert scene.get(f"{scene.channel}/messages")["messages"] == []
