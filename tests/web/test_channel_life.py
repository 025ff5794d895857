"""The life of a channel in the dashboard: created with members, its rules, its end, its archive."""

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.asking import asker
from tests.live import Scene, Server, a_scene, live
from tests.web.channels import member, opened, said
from tests.web.pages import PHONE, Watched


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("life") / "home") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    with a_scene(server) as playing:
        playing.connected("pm", "dev")
        yield playing


# ── creating ──────────────────────────────────────────────────────────────────────────────────────


def test_a_channel_is_created_with_its_members_in_the_order_of_choosing(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = person.signed_in(server, "#/channel")
    page.get_by_label("Name of the new channel").fill(scene.named("reviews"))
    page.locator("channel-new summary").click()
    for name in ("dev", "pm"):
        page.locator("channel-new .pick").get_by_text(scene.named(name), exact=True).click()
    expect(page.locator("channel-new [role=status]")).to_have_text(
        f"In this order: {scene.named('dev')}, {scene.named('pm')}"
    )
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"#{scene.named('reviews')}")
    assert scene.ring() == ["dev", "pm"]


def test_a_channel_says_why_its_agents_have_left(person: Watched, tmp_path: Path) -> None:
    home, name = tmp_path / "home", "broken".ljust(64, "w")
    home.mkdir()
    (home / "muster.toml").write_text(
        f"[agents.{name}]\ncommand = ['sh', '-c', 'read line; echo no key >&2; exit 3']\n"
        f"autostart = true\nlong_lived = true\n[channels.desk]\nmembers = ['{name}']\n"
    )
    with live(home) as server:
        page = person.signed_in(server, "#/channel/desk")
        page.get_by_label("Message", exact=True).fill("Hello")
        page.keyboard.press("Enter")
        head = page.locator(".room .head")
        expect(head).to_contain_text(f"{name} failed: exit code 3: no key")
        expect(page.locator("channel-post .does")).to_have_text(
            f"Your message is kept until {name} can read it."
        )
        expect(page.locator("channel-post .effect")).to_have_text("")
        page.set_viewport_size(PHONE)
        page.goto(f"{server.url}/#/")
        expect(page.locator("needs-list li strong")).to_have_text(name)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_team_without_agents_is_told_how_to_get_one(person: Watched, tmp_path: Path) -> None:
    with live(tmp_path / "home") as empty:
        page = person.signed_in(empty, "#/channel")
        page.locator("channel-new summary").click()
        expect(page.locator("channel-new")).to_contain_text("There are no agents yet")
        page.get_by_label("Name of the new channel").fill("design")
        page.get_by_role("button", name="Create").click()
        nobody = page.locator("channel-members .nobody")
        expect(nobody).to_contain_text("muster agent register pm")
        nobody.get_by_role("link").click()
        expect(page.locator(".empty")).to_contain_text("No agents yet")
        ignored = tmp_path / "home" / ".gitignore"
        assert "*" in ignored.read_text().split()  # no token of a new home gets into a repository

        page.goto(f"{empty.url}/#/channel")
        words = page.get_by_label("Filter channels")
        expect(words).to_be_hidden()
        with asker(empty, empty.token) as operator:
            for number in range(1, 13):
                operator.post("/api/channels", {"channel": f"room-{number}"}, 201)
        names = page.locator(".side > .channels strong")
        expect(names).to_have_count(13)
        assert names.all_text_contents()[1:4] == ["#room-1", "#room-2", "#room-3"]
        words.fill("ROOM-1")
        expect(names).to_have_text(["#room-1", "#room-10", "#room-11", "#room-12"])


# ── rules ─────────────────────────────────────────────────────────────────────────────────────────


def test_every_rule_of_a_channel_has_a_field(person: Watched, server: Server, scene: Scene) -> None:
    scene.opened("pm", "dev")
    page = opened(person, server, scene)
    page.locator("channel-rules summary").click()
    fields = page.locator("channel-rules [name]").evaluate_all("all => all.map(each => each.name)")
    assert sorted(fields) == sorted(scene.get(scene.channel)["config"])
    silence = page.get_by_label("Silence that ends a turn (s)")
    expect(silence).to_have_value("10")
    silence.fill("4")
    silence.press("Enter")
    phrase = page.get_by_label("Stop phrase")
    phrase.fill("<b>DONE</b>")
    phrase.press("Enter")
    page.get_by_label("May join").select_option("invited")
    page.get_by_label("May read").select_option("members")
    scene.until(lambda event: event.get("config", {}).get("readRule") == "members")
    config = scene.get(scene.channel)["config"]
    assert config["autoDetectSilenceSeconds"] == 4
    assert config["stopPhrase"] == "<b>DONE</b>"
    assert config["joinRule"] == "invited"


# ── the end of a conversation ─────────────────────────────────────────────────────────────────────


def test_a_channel_that_rests_at_a_limit_says_which_and_a_message_starts_it_again(
    person: Watched, server: Server, scene: Scene
) -> None:
    scene.opened("pm", "dev", turnsPerMessage=3, costUsdPerMessage=0)
    page = opened(person, server, scene)
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("pm"))
    scene.turn("complete", by="pm", message="one")
    expect(page.locator("channel-ring .progress li").first).to_have_text(
        "Since the last message: 2 of 3 turns"
    )
    scene.turn("complete", by="dev", message="two")
    scene.turn("complete", by="pm", message="three")
    head = page.locator("channel-view .head")
    expect(head).to_contain_text(
        "Resting: the limit of 3 turns per message is reached. A message starts it again."
    )
    expect(page.locator(".note").last).to_contain_text("3 turns since the last message")
    page.get_by_role("textbox", name="Message").fill("go on")
    page.keyboard.press("Enter")
    expect(said(page, "go on")).to_be_visible()
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("dev"))
    expect(page.locator("channel-ring .progress")).to_contain_text("In all: 4 turns")


def test_a_channel_that_rests_at_a_limit_in_all_goes_on_when_the_limit_is_raised(
    person: Watched, server: Server, scene: Scene
) -> None:
    scene.opened("pm", "dev", maxTurns=1)
    scene.turn("complete", by="pm", message="one")
    page = opened(person, server, scene)
    expect(page.locator("channel-view .head")).to_contain_text(
        "Resting: the limit of 1 turn in all is reached. Raise the limit"
    )
    page.locator("channel-rules summary").click()
    page.get_by_label("Turns in all").fill("5")
    page.get_by_label("Turns in all").press("Enter")
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("dev"))
    expect(page.locator("channel-ring .progress")).to_contain_text("In all: 2 of 5 turns")


# ── archive and export ────────────────────────────────────────────────────────────────────────────


def test_a_channel_is_archived_listed_under_a_fold_and_brought_back(
    person: Watched, server: Server, scene: Scene
) -> None:
    scene.opened("pm", "dev")
    page = opened(person, server, scene)
    page.get_by_role("button", name="Archive").click()
    expect(page.locator("channel-view .head")).to_contain_text("Archived:")
    expect(page.locator("channel-post form")).to_be_hidden()
    link = f"#{scene.named('reviews')}"
    expect(page.locator(".side > .channels", has_text=link)).to_have_count(0)
    page.locator(".archive summary").click()
    expect(page.locator(".archive").get_by_role("link", name=link)).to_be_visible()
    page.get_by_role("button", name="Bring back").click()
    expect(page.locator(".side > .channels", has_text=link)).to_be_visible()
    expect(page.locator("channel-post form")).to_be_visible()
    expect(member(page, scene, "pm")).to_be_visible()


@pytest.mark.parametrize(("format_", "start"), [("Markdown", "# "), ("JSON", "{")])
def test_a_channel_is_exported_as_a_download(
    person: Watched, server: Server, scene: Scene, format_: str, start: str
) -> None:
    scene.opened("pm", "dev")
    scene.says("the plan", by="pm")
    page = opened(person, server, scene)
    with page.expect_download() as download:
        page.get_by_role("link", name=format_).click()
    content = Path(download.value.path()).read_text(encoding="utf-8")
    assert content.startswith(start)
    assert "the plan" in content
