"""Messages over HTTP: said once, by whom they are from, and followed to each member."""

from collections.abc import Generator

import pytest

from tests.live import Json, Scene, Server, a_scene, live
from tests.postgres import STORES, new_home


@pytest.fixture(scope="module", params=STORES)
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Generator[Server]:
    home = new_home(tmp_path_factory.mktemp("messages") / "home", request.param)
    with live(home, MUSTER_TEAM_HUMAN="Grace") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    """pm and dev in one channel; pm holds the turn."""
    with a_scene(server) as playing:
        playing.connected("pm", "dev")
        playing.opened("pm", "dev")
        yield playing


def page(scene: Scene, query: str = "") -> Json:
    return scene.get(f"{scene.channel}/messages{query}")


def test_a_human_may_always_speak_and_an_agent_in_its_turn(scene: Scene) -> None:
    scene.says("hello")
    scene.says("I am here", by="pm", epoch=1)
    scene.says("and go", by="pm", complete=True)
    scene.post(f"{scene.channel}/messages", {"message": "for dev", "agent": scene.named("dev")})
    spoken = [(each["speaker"], each["text"], each["byHuman"]) for each in page(scene)["messages"]]
    assert spoken == [
        ("Grace", "hello", True),
        (scene.named("pm"), "I am here", False),
        (scene.named("pm"), "and go", False),
        (scene.named("dev"), "for dev", False),
    ]
    actors = [each["actor"] for each in scene.facts("agent_message")]
    assert actors == [f"agent:{scene.named('pm')}"] * 2 + ["person:Grace"]


def test_a_human_message_may_have_a_mode_of_its_own(scene: Scene) -> None:
    scene.says("one moment", mode="interrupt")
    assert scene.state("pm") == "WAITING"
    assert page(scene)["messages"][0]["mode"] == "interrupt"
    assert scene.get(scene.channel)["config"]["humanInterruptMode"] == "inject"
    body = {"message": "x", "mode": "queue"}
    assert scene.refused("POST", f"{scene.channel}/messages", body, by="pm", status=422)


def test_an_agent_out_of_turn_is_refused_with_its_state(scene: Scene) -> None:
    problem = scene.refused("POST", f"{scene.channel}/messages", {"message": "me!"}, by="dev")
    assert (problem["code"], problem["found"]["state"]) == ("not_your_turn", "QUEUED")
    stale = {"message": "late", "epoch": 0}
    assert scene.refused("POST", f"{scene.channel}/messages", stale, by="pm")["code"] == (
        "stale_epoch"
    )
    other = {"message": "as pm", "agent": scene.named("pm")}
    scene.refused("POST", f"{scene.channel}/messages", other, by="dev", status=403)


def test_a_retry_with_the_same_idempotency_key_is_sent_once(scene: Scene) -> None:
    body, path = {"message": "once"}, f"{scene.channel}/messages"
    first = scene.call("POST", path, body, key="a")
    again = scene.call("POST", path, body, key="a")
    assert (first.status_code, again.status_code) == (201, 201)
    assert (again.json()["seq"], again.json()["repeated"]) == (first.json()["seq"], True)
    scene.post(path, {"message": "twice"}, by="pm", key="b")
    scene.post(path, {"message": "twice"}, by="pm", key="b")
    direct = {"message": "for you", "targetAgent": scene.named("dev")}
    assert scene.post("/api/send", direct, key="c") != scene.post("/api/send", direct, key="c")
    assert [each["text"] for each in page(scene)["messages"]] == ["once", "twice"]
    long = scene.call("POST", path, body, key="k" * 129)
    assert (long.status_code, long.json()["code"]) == (422, "invalid")


def test_a_message_is_followed_to_each_member(scene: Scene) -> None:
    pm, dev = scene.named("pm"), scene.named("dev")
    scene.says("hello")
    assert page(scene)["messages"][0]["delivery"] == {pm: "accepted", dev: "accepted"}
    scene.next("pm")
    assert page(scene)["messages"][0]["delivery"] == {pm: "delivered", dev: "accepted"}
    scene.turn("complete", "pm", message="hello Grace")
    scene.next("dev")
    hello, answer = page(scene)["messages"]
    assert hello["delivery"] == {pm: "read", dev: "delivered"}
    assert answer["delivery"] == {dev: "delivered"}


def test_messages_are_paged_through(scene: Scene) -> None:
    for number in range(5):
        scene.says(str(number))
    seen: list[str] = []
    after: int | None = 0
    while after is not None:
        found = page(scene, f"?limit=2&after={after}")
        seen += [each["text"] for each in found["messages"]]
        after = found["nextAfter"]
    assert seen == ["0", "1", "2", "3", "4"]
    for query in ("?limit=0", "?limit=501", "?after=-1", "?after=x"):
        scene.refused("GET", f"{scene.channel}/messages{query}", status=422)


def test_a_message_goes_to_an_agent_to_a_channel_or_to_the_lead_if_there_is_one(
    scene: Scene,
) -> None:
    sent = scene.post("/api/send", {"message": "for dev", "targetAgent": scene.named("dev")})
    told = scene.next("dev")
    assert (told["do"], told["messages"][0]["seq"]) == ("message", sent["seq"])
    scene.post("/api/send", {"message": "for all", "channel": scene.named("reviews")})
    assert [each["text"] for each in page(scene)["messages"]] == ["for all"]
    problem = scene.refused("POST", "/api/send", {"message": "for the lead"})
    assert problem["code"] == "no_lead"
    both = {
        "message": "?",
        "channel": scene.named("reviews"),
        "targetAgent": scene.named("dev"),
    }
    scene.refused("POST", "/api/send", both, status=422)
    scene.refused("POST", "/api/send", {"message": "x", "targetAgent": "nobody"}, status=404)
    scene.refused("POST", "/api/send", {"message": "x", "channel": "nowhere"}, status=404)
    scene.refused("POST", "/api/send", {"message": "x"}, by="pm", status=403)


@pytest.mark.parametrize(
    "body",
    [
        {"message": ""},
        {"message": 7},
        {},
        {"message": "x", "epoch": 1},
        {"message": "x", "complete": True},
        {"message": "x", "to": "dev"},
    ],
)
def test_what_makes_no_sense_is_refused(body: Json, scene: Scene) -> None:
    problem = scene.refused("POST", f"{scene.channel}/messages", body, status=422)
    assert problem["code"] == "invalid"


def test_a_message_of_one_megabyte_is_taken_and_a_larger_one_refused(scene: Scene) -> None:
    path = f"{scene.channel}/messages"
    scene.post(path, {"message": "x" * 2**20})
    answer = scene.call("POST", path, {"message": "x" * (2**20 + 1)})
    assert answer.status_code in (413, 422)
    assert scene.call("POST", path, {"message": "x" * 50_000_000}).status_code == 413
    assert len(page(scene)["messages"]) == 1


def test_a_channel_that_is_not_there_is_not_found(scene: Scene) -> None:
    scene.refused("POST", "/api/channels/nowhere/messages", {"message": "x"}, status=404)
    scene.refused("GET", "/api/channels/nowhere/messages", status=404)


def test_a_message_says_to_whom_it_went_and_what_it_did_to_the_turn(scene: Scene) -> None:
    pm, dev = scene.named("pm"), scene.named("dev")
    said = scene.says("hello")
    assert (said["deliveredTo"], said["effect"]) == ([pm], f"{pm} gets it now, in its turn.")
    told = scene.says("over to you", by="pm", complete=True)
    assert (told["deliveredTo"], told["effect"]) == ([dev], f"{dev} has the turn.")
    direct = scene.post("/api/send", {"message": "psst", "targetAgent": dev})
    assert direct["deliveredTo"] == [dev]
    assert [each["deliverTo"] for each in page(scene)["messages"]] == [[pm], []]


def test_a_notice_is_in_the_channel_and_is_handed_over_with_the_next_turn(scene: Scene) -> None:
    scene.leaves("dev")
    scene.agent("pm", "disconnect")
    notices = page(scene)["messages"]
    assert [(each["speaker"], each["kind"]) for each in notices] == [("muster", "notice")] * 2
    assert notices[1]["text"] == "⚠️ No agents available in this channel"
    assert scene.next("dev", wait=0)["do"] == "nothing"  # nobody is woken by it
    scene.joins("dev")
    handed = scene.next("dev")
    assert (handed["do"], [each["kind"] for each in handed["messages"]]) == (
        "turn",
        ["notice", "notice"],
    )


def test_messages_are_read_newest_first(scene: Scene) -> None:
    for number in range(5):
        scene.says(str(number))
    seen: list[str] = []
    query = "?order=desc&limit=2"
    while True:
        found = page(scene, query)
        seen += [each["text"] for each in found["messages"]]
        if found["nextBefore"] is None:
            break
        query = f"?order=desc&limit=2&before={found['nextBefore']}"
    assert seen == ["4", "3", "2", "1", "0"]
    middle = page(scene, f"?before={page(scene)['messages'][2]['seq']}")
    assert [each["text"] for each in middle["messages"]] == ["0", "1"]
    scene.refused("GET", f"{scene.channel}/messages?order=newest", status=422)


def test_a_reply_quotes_a_message_of_the_same_channel(scene: Scene) -> None:
    asked = scene.says("Is the plan ready?")["seq"]
    scene.says("yes", by="pm", replyTo=asked)
    scene.post(
        "/api/send", {"message": "good", "channel": scene.named("reviews"), "replyTo": asked}
    )
    *_, reply, thanks = page(scene)["messages"]
    assert (reply["replyTo"], thanks["replyTo"]) == (asked, asked)
    quoted = {"seq": asked, "speaker": "Grace", "text": "Is the plan ready?"}
    assert reply["quoted"] == quoted
    assert scene.next("pm")["messages"][-1]["quoted"] == quoted


def test_a_reply_to_anything_else_is_refused(scene: Scene) -> None:
    path = f"{scene.channel}/messages"
    joined = scene.facts("member_joined")[0]["seq"]
    direct = scene.post("/api/send", {"message": "psst", "targetAgent": scene.named("dev")})["seq"]
    for nothing in (0, joined, direct, 10**9):
        scene.refused("POST", path, {"message": "?", "replyTo": nothing}, status=404)
    answer = {"message": "x", "targetAgent": scene.named("dev"), "replyTo": direct}
    scene.refused("POST", "/api/send", answer, status=422)
