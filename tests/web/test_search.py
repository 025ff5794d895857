"""The search of the dashboard over all messages."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Page, expect

from tests.live import Scene, Server, a_scene, live
from tests.web.channels import said
from tests.web.pages import Watched, in_both_themes


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("search") / "home") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    with a_scene(server) as playing:
        playing.connected("pm", "dev")
        playing.opened("pm", "dev", defaultTimeoutSeconds=900)
        yield playing


def searched(page: Page, words: str) -> None:
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Search").fill(words)


def test_messages_are_found_newest_first_with_marked_words_and_enter_shows_one(
    person: Watched, server: Server, scene: Scene
) -> None:
    scene.says("the zebra is <b>old</b>", by="pm")
    for number in range(200):
        scene.says(f"message {number}", by="pm")
    scene.says("another zebra", by="pm")
    scene.says("that is all", by="pm")  # an agent is found by its last words, too
    page = person.signed_in(server)
    searched(page, "zebra")
    found = page.locator("dialog .snippet")
    expect(found).to_have_text(["another zebra", "the zebra is <b>old</b>"])
    expect(found.first.locator("mark")).to_have_text("zebra")
    expect(page.locator("dialog [role=option]").first).to_contain_text(scene.named("reviews"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(said(page, "the zebra is")).to_be_in_viewport()


def test_a_search_without_a_result_says_so(person: Watched, server: Server) -> None:
    page = person.signed_in(server)
    searched(page, "nowhere to be found")
    expect(page.locator("dialog [role=status]")).to_have_text("No message has these words.")
    page.get_by_role("combobox", name="Search").fill("")
    expect(page.locator("dialog [role=status]")).to_have_text("")


def test_the_results_are_accessible(inspector: Watched, server: Server, scene: Scene) -> None:
    scene.says("a giraffe in the room", by="pm")
    page = inspector.signed_in(server)
    searched(page, "giraffe")
    expect(page.locator("dialog mark")).to_be_visible()
    assert in_both_themes(page) == []


# ── the palette ───────────────────────────────────────────────────────────────────────────────────


def test_the_palette_opens_in_a_text_field_too_and_goes_to_an_event(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = person.signed_in(server, f"#/channel/{scene.named('reviews')}")
    page.locator("channel-post textarea").focus()
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Search")
    box.fill("event 3")
    page.keyboard.press("Enter")
    expect(page.locator(".when")).to_contain_text("after event 3")


def test_shortcuts_of_a_single_key_are_turned_off_and_on_in_the_palette(
    person: Watched, server: Server
) -> None:
    page = person.signed_in(server)
    searched(page, "shortcuts off")
    page.keyboard.press("Enter")
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").fill("shortcuts on")
    page.keyboard.press("Enter")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
