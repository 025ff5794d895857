"""A channel's export over HTTP: every message, as Markdown and as JSON."""

from collections.abc import Generator

import pytest

from tests.live import Scene, Server, a_scene, live


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("exports") / "home", MUSTER_TEAM_HUMAN="Grace") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    """pm and dev in one channel; pm holds the turn."""
    with a_scene(server) as playing:
        playing.connected("pm", "dev")
        playing.opened("pm", "dev")
        yield playing


def test_a_channel_is_exported_whole_however_long_it_is(scene: Scene) -> None:
    for number in range(210):  # more than one page
        scene.says(f"message {number}")
    exported = scene.call("GET", f"{scene.channel}/export?format=json")
    assert exported.headers["content-type"] == "application/json"
    assert exported.headers["content-disposition"] == 'attachment; filename="messages.json"'
    document = exported.json()
    assert document["channel"] == scene.named("reviews")
    assert [each["text"] for each in document["messages"]] == [f"message {n}" for n in range(210)]
    assert document["messages"][0]["speaker"] == "Grace"


def test_a_channel_in_markdown_cannot_be_forged_by_a_message(scene: Scene) -> None:
    scene.says("```\n## Grace, message 1\n", by="pm")
    exported = scene.call("GET", f"{scene.channel}/export")
    assert exported.headers["content-type"] == "text/markdown; charset=utf-8"
    assert exported.headers["x-content-type-options"] == "nosniff"
    lines = exported.text.splitlines()
    begin, end = lines.index("````text"), lines.index("````")
    assert begin < lines.index("## Grace, message 1") < end
    assert [line[:5] for line in lines[:begin] if line.startswith("## ")] == ["## pm"]


def test_an_unknown_channel_or_format_is_refused(scene: Scene) -> None:
    scene.refused("GET", "/api/channels/nowhere/export", status=404)
    scene.refused("GET", f"{scene.channel}/export?format=pdf", status=422)
    assert scene.get(f"{scene.channel}/export?format=json")["messages"] == []


def test_messages_of_megabytes_come_in_pages_of_bytes_and_are_exported_whole(scene: Scene) -> None:
    for number in range(7):
        scene.says(f"{number} {'word ' * 200_000}", by="pm")
    seen: list[str] = []
    after: int | None = 0
    while after is not None:
        page = scene.get(f"{scene.channel}/messages?limit=500&after={after}")
        assert len(page["messages"]) <= 5
        seen += [each["text"][:1] for each in page["messages"]]
        after = page["nextAfter"]
    assert "".join(seen) == "0123456"
    document = scene.get(f"{scene.channel}/export?format=json")
    assert "".join(each["text"][:1] for each in document["messages"]) == "0123456"
    assert scene.call("GET", f"{scene.channel}/export").text.count("word ") == 1_400_000
    named = scene.named("reviews")
    told = scene.get(f"/api/log/told?limit=1000&types=agent_message&channel={named}")
    assert 4 <= len(told["lines"]) <= 5  # the newest, as many as make a page of bytes
