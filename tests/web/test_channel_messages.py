"""Messages in the dashboard's channel page: pages, replies, files, effects, partial text."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.live import Scene, Server, a_scene, live
from tests.web.channels import opened, said
from tests.web.pages import PHONE, Watched, in_both_themes, watched

HOSTILE = '<img src=x onerror="document.title=1"><b>bold</b>'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("messages") / "home") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    with a_scene(server) as playing:
        playing.connected("pm", "dev")
        playing.opened("pm", "dev", defaultTimeoutSeconds=900)
        yield playing


def writes(scene: Scene, text: str) -> None:
    """The turn holder pm has written so much of its message."""
    answer = scene.call("POST", f"{scene.channel}/turn/partial", {"text": text}, by="pm")
    assert answer.status_code == 204, answer.text


def another_tab(page: Page) -> Page:
    """The same place in another tab of the same browser."""
    tab = page.context.new_page()
    tab.goto(page.url)
    expect(tab.locator("connection-pill")).to_have_text("live")
    return tab


def send(page: Page, text: str) -> None:
    box = page.get_by_role("textbox", name="Message")
    box.fill(text)
    box.press("Enter")
    expect(box).to_have_value("")


def test_messages_that_nobody_has_seen_are_below_a_line_and_one_is_copied(
    browser: Browser, server: Server, scene: Scene
) -> None:
    scene.says("seen already", by="pm")
    seq = scene.get("/api/health")["seq"]
    scene.call("POST", "/api/seen", {"upto": seq, "channel": scene.named("reviews")})
    scene.says("first of two", by="pm")
    scene.says("the second", by="pm")
    with watched(browser, permissions=["clipboard-read", "clipboard-write"]) as person:
        page = opened(person, server, scene)
        line = page.locator(".line.new")
        expect(line).to_have_text("2 new")
        following = line.evaluate("line => line.nextElementSibling.textContent")
        assert "first of two" in following
        last = said(page, "the second")
        last.hover()
        last.get_by_role("button", name="Copy").click()
        expect(last.get_by_role("button", name="Copy")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == "the second"


def test_a_line_break_in_a_message_is_a_line_break(
    person: Watched, server: Server, scene: Scene
) -> None:
    scene.says("one\ntwo <br> **three** https://a.example/x.", by="pm")
    page = opened(person, server, scene)
    body = page.locator(".said .text").last
    expect(body.locator("strong")).to_have_text("three")
    expect(body.locator("br")).to_have_count(1)
    expect(body.get_by_role("link")).to_have_attribute("href", "https://a.example/x")
    page.set_viewport_size(PHONE)
    name, text = page.locator(".said").last.locator("header").bounding_box(), body.bounding_box()
    assert name is not None
    assert text is not None
    assert text["y"] - (name["y"] + name["height"]) < 8  # no empty line below the name
    assert name["height"] < 50
    assert body.inner_text() == "one\ntwo <br> three https://a.example/x."


# ── pages ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_thread_opens_at_the_end_and_loads_earlier_messages_on_scrolling_up(
    person: Watched, server: Server, scene: Scene
) -> None:
    for number in range(300):
        scene.says(f"message {number}.", by="pm")
    page = opened(person, server, scene)
    log = page.locator("channel-thread .log")
    expect(said(page, "message 299.")).to_be_in_viewport()
    assert said(page, "message 0.").count() == 0
    seen = said(page, "message 190.")
    while not said(page, "message 0.").count():
        before = page.locator("channel-thread .entries .said").count()
        log.evaluate("log => log.scrollTop = 0")
        expect(page.locator("channel-thread .entries .said").nth(before)).to_be_attached()
    expect(seen).to_have_count(1)
    log.evaluate("log => log.scrollTop = 0")
    expect(page.locator("channel-thread .line").first).to_have_text("beginning of the channel")


def test_a_link_to_an_old_message_shows_it_and_the_rest_follows(
    person: Watched, server: Server, scene: Scene
) -> None:
    first = scene.says("the very first", by="pm")["seq"]
    for number in range(300):
        scene.says(f"message {number}.", by="pm")
    page = person.signed_in(server, f"#/channel/{scene.named('reviews')}/{first}")
    expect(said(page, "the very first")).to_be_in_viewport()
    assert said(page, "message 299.").count() == 0
    scene.says("while you read", by="pm")
    expect(page.get_by_role("button", name="1 new ↓")).to_be_visible()
    page.locator("channel-thread .log").evaluate("log => log.scrollTop = log.scrollHeight")
    expect(said(page, "message 100.")).to_be_attached()
    page.locator("channel-thread .news").click()
    expect(said(page, "while you read")).to_be_in_viewport()


# ── replies ───────────────────────────────────────────────────────────────────────────────────────


def test_a_person_replies_and_the_quoted_line_leads_to_the_original(
    person: Watched, server: Server, scene: Scene
) -> None:
    first = scene.says(f"Which database? {HOSTILE}", by="pm")["seq"]
    for number in range(40):
        scene.says(f"message {number}.", by="pm")
    page = opened(person, server, scene)
    said(page, "Which database?").hover()
    said(page, "Which database?").get_by_role("button", name="Reply").click()
    expect(page.locator("channel-post .replying")).to_contain_text("Which database? <img")
    send(page, "SQLite")
    quote = said(page, "SQLite").locator(".quote")
    expect(quote).to_have_text(f"↪ {scene.named('pm')}: Which database? {HOSTILE}")
    assert scene.facts("user_message")[-1]["replyTo"] == first
    expect(page.locator("channel-post .replying")).to_be_hidden()
    quote.click()
    expect(said(page, "Which database?").first).to_be_in_viewport()
    expect(said(page, "Which database?").first).to_be_focused()


def test_the_quoted_line_of_an_original_that_is_not_loaded_is_shown(
    person: Watched, server: Server, scene: Scene
) -> None:
    first = scene.says("the original", by="pm")["seq"]
    for number in range(300):
        scene.says(f"message {number}.", by="pm")
    scene.says("an answer", by="pm", replyTo=first)
    page = opened(person, server, scene)
    quote = said(page, "an answer").locator(".quote")
    expect(quote).to_have_text(f"↪ {scene.named('pm')}: the original")
    quote.click()
    expect(said(page, "the original").first).to_be_in_viewport()


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def test_files_are_attached_by_button_drop_and_paste_and_shown_as_links(
    person: Watched, server: Server, scene: Scene, tmp_path: Path
) -> None:
    report = tmp_path / "report.html"
    report.write_text(HOSTILE, encoding="utf-8")
    page = opened(person, server, scene)
    page.get_by_label("Files to attach").set_input_files(report)
    page.locator("channel-post form").evaluate(DROP, ["dropped.txt", "dropped"])
    page.get_by_role("textbox", name="Message").evaluate(PASTE, ["pasted.txt", "pasted"])
    attached = page.locator("channel-post .files li")
    expect(attached).to_have_count(3)
    expect(attached.nth(0)).to_contain_text(f"{len(HOSTILE)} bytes")
    expect(attached.nth(2)).to_contain_text("6 bytes")
    page.get_by_role("button", name="Remove dropped.txt").click()
    send(page, "two files")
    links = said(page, "two files").locator(".files a")
    expect(links).to_have_text(["report.html", "pasted.txt"])
    with page.expect_download() as download:
        links.first.click()
    assert Path(download.value.path()).read_text(encoding="utf-8") == HOSTILE
    assert download.value.suggested_filename == "report.html"
    expect(attached).to_have_count(0)


DROP = """(form, [name, text]) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], name));
    form.dispatchEvent(new DragEvent("drop", {dataTransfer, bubbles: true, cancelable: true}));
}"""
PASTE = """(box, [name, text]) => {
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([text], name));
    box.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true}));
}"""


def test_a_file_over_the_limit_is_refused_before_it_is_sent(
    visitor: Watched, server: Server, scene: Scene, tmp_path: Path
) -> None:
    large = tmp_path / "large.bin"
    large.write_bytes(bytes(8 * 1024 * 1024 + 1))
    page = opened(visitor, server, scene)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_label("Files to attach").set_input_files(large)
    expect(page.locator("channel-post .files .error")).to_have_text("is 8.4 MB; the limit is 8 MiB")
    page.get_by_role("button", name="Remove large.bin").click()
    send(page, "without it")
    assert not [url for url in asked if "/api/files" in url]


def test_a_message_of_files_alone_has_their_names_as_its_text(
    person: Watched, server: Server, scene: Scene, tmp_path: Path
) -> None:
    (tmp_path / "plan.md").write_text("# Plan", encoding="utf-8")
    page = opened(person, server, scene)
    page.get_by_label("Files to attach").set_input_files(tmp_path / "plan.md")
    expect(page.locator("channel-post .files li")).to_contain_text("6 bytes")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(said(page, "plan.md").locator(".files a")).to_have_text("plan.md")


# ── effects ───────────────────────────────────────────────────────────────────────────────────────


def test_what_a_message_did_to_the_turn_is_said_in_the_servers_words(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    with page.expect_response("**/messages") as answer:
        send(page, "hello")
    effect = answer.value.json()["effect"]
    assert effect
    expect(page.locator("channel-post .effect")).to_have_text(effect)
    page.get_by_role("textbox", name="Message").fill("next")
    expect(page.locator("channel-post .effect")).to_have_text("")


def test_a_notice_is_a_message_of_the_channel(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    scene.agent("pm", "disconnect")
    note = page.locator(".note[data-kind=announced]")
    expect(note).to_contain_text("disconnected")
    page.reload()
    expect(note).to_contain_text("disconnected")


# ── partial text ──────────────────────────────────────────────────────────────────────────────────


def test_text_appears_while_it_is_written_and_its_message_replaces_it(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    second = another_tab(page)
    writes(scene, f"I thi {HOSTILE}")
    for each in (page, second):  # both tabs share one stream
        partial = each.locator("channel-thread .partial")
        expect(partial).to_contain_text(f"I thi {HOSTILE}")
        expect(partial.locator("strong")).to_have_text(scene.named("pm"))
    writes(scene, "I think that")
    expect(page.locator(".partial .text")).to_have_text("I think that")
    assert page.locator(".partial").get_attribute("aria-live") == "off"
    late = another_tab(page)
    expect(late.locator(".partial .text")).to_have_text("I think that")
    scene.says("I think that it works", by="pm")
    for each in (page, second, late):
        expect(said(each, "I think that it works")).to_be_visible()
        expect(each.locator(".partial")).to_be_hidden()
    assert not [event for event in scene.facts("agent_message") if HOSTILE in json.dumps(event)]


def test_partial_text_goes_with_its_turn(person: Watched, server: Server, scene: Scene) -> None:
    page = opened(person, server, scene)
    writes(scene, "never finished")
    expect(page.locator(".partial")).to_contain_text("never finished")
    scene.turn("pass", by="pm")
    expect(page.locator(".partial")).to_be_hidden()


def test_messages_with_everything_are_accessible(
    inspector: Watched, server: Server, scene: Scene, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    first = scene.says("the original", by="pm")["seq"]
    scene.says("an answer", replyTo=first)
    page = opened(inspector, server, scene)
    page.get_by_label("Files to attach").set_input_files(tmp_path / "notes.txt")
    expect(page.locator("channel-post .files li")).to_contain_text("1 bytes")
    said(page, "the original").first.get_by_role("button", name="Reply").focus()
    page.keyboard.press("Enter")
    writes(scene, "half a sent")
    expect(page.locator(".partial")).to_be_visible()
    assert in_both_themes(page) == []
