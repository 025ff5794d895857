"""Channels in the dashboard: ring, countdown, messages, and the controls of a person."""

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Route, expect

from tests.live import Scene, Server, a_scene, live
from tests.web.channels import member, more_about, opened, said
from tests.web.pages import Watched, in_both_themes


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("channels") / "home") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    with a_scene(server) as playing:
        playing.connected("pm", "dev", "qa")
        playing.opened("pm", "dev", defaultTimeoutSeconds=90)
        yield playing


# ── looking ───────────────────────────────────────────────────────────────────────────────────────


def test_the_ring_shows_the_turn_holder_the_timeout_and_the_next_member(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    ring = page.locator("channel-ring .ring")
    expect(ring.locator("[data-holder] .who")).to_have_text(scene.named("pm"))
    expect(ring.locator("[data-holder]")).to_have_attribute("data-state", "ACTIVE")
    expect(ring.locator(".place", has_text="next")).to_contain_text(scene.named("dev"))
    expect(ring).to_have_attribute("aria-label", re.compile("has turn 1.*In order: .*QUEUED"))
    clock = page.locator(".countdown")
    expect(clock).to_have_text(re.compile(r"(1:\d\d|\d\d s) until timeout"))
    before = clock.text_content()
    expect(clock).not_to_have_text(before or "")  # it runs by itself, without an event
    running = page.evaluate("document.getAnimations().length")
    assert not running, "an animated clock paints the page sixty times a second"
    scene.turn("complete", by="pm", message="done")
    expect(ring.locator("[data-holder] .who")).to_have_text(scene.named("dev"))
    expect(member(page, scene, "dev").locator(".badge")).to_have_text("ACTIVE")


def test_a_waiting_agent_shows_its_reason_and_a_person_resumes_the_turn(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    scene.turn("wait", by="pm", reason="which <b>database</b>?")
    expect(page.locator("channel-ring .wait")).to_have_text(
        "Waiting: which <b>database</b>? (Your message is the answer.)"
    )
    expect(page.locator(".countdown")).to_contain_text("until the wait times out")
    page.get_by_role("button", name="Resume the turn").click()
    expect(page.locator("channel-ring .wait")).to_be_hidden()
    expect(member(page, scene, "pm").locator(".badge")).to_have_text("ACTIVE")
    assert scene.state("pm") == "ACTIVE"


def test_unread_messages_are_counted_for_each_member(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    scene.says("one")
    scene.says("two")
    expect(member(page, scene, "dev").locator(".unread")).to_have_text("2 unread")
    scene.turn("complete", by="pm")
    scene.next("dev")
    expect(member(page, scene, "dev").locator(".unread")).to_have_text("")
    expect(said(page, "two").locator(".delivery")).to_contain_text("delivered to")


def test_messages_and_announcements_are_shown_safely_and_in_order(
    person: Watched, server: Server, scene: Scene
) -> None:
    scene.says("**bold** <img src=x onerror=alert(1)>", by="pm")
    page = opened(person, server, scene)
    expect(said(page, "bold").locator("strong", has_text="bold")).to_be_visible()
    expect(said(page, "bold")).to_contain_text("<img src=x onerror=alert(1)>")
    lines = page.locator(".line")
    expect(lines.filter(has_text="turn 1")).to_have_text(f"turn 1: {scene.named('pm')}")
    scene.agent("pm", "disconnect")
    expect(page.locator(".note[data-kind=announced]")).to_contain_text(scene.named("pm"))
    expect(lines.last).to_have_text(f"turn 2: {scene.named('dev')}")
    scene.says("my turn", by="dev")
    expect(said(page, "my turn")).to_be_visible()
    expect(lines.filter(has_text="turn 2")).to_be_hidden()  # its message says who has it
    expect(page.locator(".line.day")).to_have_text(["Today"])
    page.locator(".said .permalink").first.click()
    expect(page).to_have_url(re.compile(r"#/channel/[^/]+/\d+$"))


def test_a_long_message_is_folded_until_a_person_expands_it(
    person: Watched, server: Server, scene: Scene
) -> None:
    scene.says("\n".join(f"line {number}" for number in range(60)), by="pm")
    page = opened(person, server, scene)
    text = said(page, "line 59").locator(".text")
    expect(text).to_have_class(re.compile("folded"))
    page.get_by_role("button", name="Show all").click()
    expect(text).not_to_have_class(re.compile("folded"))


def test_new_messages_do_not_scroll_a_reader_away_and_are_counted(
    person: Watched, server: Server, scene: Scene
) -> None:
    for number in range(30):
        scene.says(f"message {number}", by="pm")
    page = opened(person, server, scene)
    expect(said(page, "message 29")).to_be_in_viewport()
    page.locator("channel-thread .log").evaluate("log => log.scrollTop = 0")
    expect(said(page, "message 29")).not_to_be_in_viewport()
    scene.says("the newest", by="pm")
    page.get_by_role("button", name="1 new ↓").click()
    expect(said(page, "the newest")).to_be_in_viewport()


# ── speaking ──────────────────────────────────────────────────────────────────────────────────────


def test_a_person_writes_with_the_keyboard_and_a_draft_is_kept(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    page.keyboard.press("m")
    page.keyboard.type("first")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("second")
    page.reload()
    message = page.get_by_role("textbox", name="Message")
    expect(message).to_have_value("first\nsecond")
    message.press("Enter")
    expect(said(page, "second").locator("header strong")).to_have_text("human")
    expect(message).to_have_value("")
    assert [fact["text"] for fact in scene.facts("user_message")] == ["first\nsecond"]


def test_the_effect_on_the_turn_is_shown_before_sending_and_chosen_for_one_message(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    expect(page.locator("channel-post .does")).to_contain_text("Delivered at once")
    page.get_by_label("Effect of this message on the turn").select_option("interrupt")
    send = page.get_by_role("button", name="Interrupt and send")
    expect(send).to_be_visible()
    expect(page.locator("channel-post .does")).to_contain_text("goes on by itself after 30 s")
    page.get_by_role("textbox", name="Message").fill("wait a moment")
    send.click()
    expect(member(page, scene, "pm").locator(".badge")).to_have_text("WAITING")
    expect(page.locator("channel-view .head")).to_contain_text("You interrupted")
    expect(page.locator(".countdown")).to_contain_text("until the turn goes on by itself")
    expect(page.locator("channel-ring .wait")).to_have_text("Paused: you interrupted it.")
    expect(page.locator(".line").last).to_contain_text("was interrupted by a person")
    assert scene.get(scene.channel)["config"]["humanInterruptMode"] == "inject"  # as it was
    page.get_by_role("button", name="Resume the turn").click()
    expect(member(page, scene, "pm").locator(".badge")).to_have_text("ACTIVE")


# ── deciding ──────────────────────────────────────────────────────────────────────────────────────


def test_a_person_passes_the_turn_on_takes_it_away_and_gives_it(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    page.get_by_role("button", name="Pass the turn").click()
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("dev"))
    page.get_by_role("button", name="Take the turn away").click()
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("pm"))
    expect(page.locator(".line", has_text="was taken away from")).to_have_count(1)
    page.get_by_role("button", name=f"{scene.named('dev')} speaks next").click()
    expect(page.locator("channel-ring .upcoming")).to_contain_text("chosen by")
    page.keyboard.press("p")
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("dev"))
    for _ in range(5):  # three silent rounds, and the channel rests
        held = page.locator("[data-holder] .who").text_content()
        page.keyboard.press("p")
        expect(page.locator("[data-holder] .who", has_text=held or "")).to_have_count(0)
        if not page.locator("[data-holder]").count():
            break
    expect(page.locator("channel-view .head")).to_contain_text(
        "Resting: every member passed for 3 whole rounds. A message starts it again."
    )
    page.get_by_role("button", name=f"Give the turn to {scene.named('dev')}").click()
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("dev"))


def test_a_lone_agent_whose_turn_is_taken_away_stops_until_a_message(
    person: Watched, server: Server, scene: Scene
) -> None:
    scene.leaves("dev")
    page = opened(person, server, scene)
    page.get_by_role("button", name="Take the turn away").click()
    expect(page.locator("channel-view .head")).to_contain_text(
        f"Resting: the turn was taken away from {scene.named('pm')}. A message starts it again."
    )
    scene.says("go on")
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("pm"))


def test_members_are_added_and_removed(person: Watched, server: Server, scene: Scene) -> None:
    page = opened(person, server, scene)
    page.get_by_label("Agent to add").select_option(scene.named("qa"))
    page.get_by_role("button", name="Add").click()
    expect(member(page, scene, "qa").locator(".badge")).to_have_text("QUEUED")
    assert scene.ring() == ["pm", "dev", "qa"]
    more_about(page, scene, "pm")
    page.get_by_role("button", name=f"Remove {scene.named('pm')}").click()
    expect(member(page, scene, "pm")).to_have_count(0)
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("dev"))


def test_rules_are_changed_and_an_invalid_value_is_refused(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    page.locator("channel-rules summary").click()
    expect(page.get_by_label("Announce timeouts")).to_be_checked()
    timeout = page.get_by_label("Turn timeout (s)")
    expect(timeout).to_have_value("90")
    page.get_by_label("Announce timeouts").click()  # it changes when muster has confirmed it
    expect(page.get_by_label("Announce timeouts")).not_to_be_checked()
    timeout.fill("45")
    timeout.press("Enter")
    scene.until(lambda event: event.get("config", {}).get("defaultTimeoutSeconds") == 45)
    expect(page.locator("channel-rules [aria-busy]")).to_have_count(0)
    expect(timeout).to_have_value("45")
    config = scene.get(scene.channel)["config"]
    assert (config["announceTimeouts"], config["defaultTimeoutSeconds"]) == (False, 45)
    timeout.fill("-3")
    timeout.press("Enter")
    expect(page.locator("channel-rules .error")).to_contain_text("defaultTimeoutSeconds")
    expect(timeout).to_have_value("45")


def test_a_click_is_pending_until_its_event_has_come_back(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("pm"))
    asked: list[Route] = []
    page.route("**/turn/pass", lambda route: asked.append(route))  # and no answer yet
    page.get_by_role("button", name="Pass the turn").click()
    expect(page.locator(".countdown")).to_have_text("Passing the turn …")
    expect(page.get_by_role("button", name="Pass the turn")).to_have_attribute(
        "aria-disabled", "true"
    )
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("pm"))
    page.get_by_role("button", name="Pass the turn").click(force=True)
    [held] = asked
    held.continue_()
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("dev"))


def test_a_channel_is_created_and_listed(person: Watched, server: Server, scene: Scene) -> None:
    page = opened(person, server, scene)
    name = scene.named("plans")
    page.get_by_label("Name of the new channel").fill(name)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"#{name}")
    expect(page.locator("channel-view .head")).to_contain_text("No members yet")
    page.get_by_label("Name of the new channel").fill(name)
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".side .error")).to_contain_text("exists already")
    page.get_by_role("link", name=f"#{scene.named('reviews')}").click()
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("pm"))


def test_an_unknown_channel_has_a_page_that_explains_channels(
    person: Watched, server: Server
) -> None:
    page = person.signed_in(server, "#/channel/nowhere")
    expect(page.locator(".empty")).to_contain_text("There is no channel nowhere")
    expect(page.locator(".empty")).to_contain_text("speak in order")


def test_the_view_is_accessible_and_fits_a_phone(
    inspector: Watched, server: Server, scene: Scene
) -> None:
    scene.says(f"\u202efrom the right {'x' * 4000}", by="pm")
    scene.turn("wait", by="pm", reason="y" * 300)
    page = opened(inspector, server, scene)
    expect(said(page, "from the right")).to_be_visible()
    assert in_both_themes(page) == []
    page.set_viewport_size({"width": 320, "height": 800})
    expect(page.locator("[data-holder] .who")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert page.locator("main button").evaluate_all(SMALLEST) >= 38
    assert page.locator("channel-ring .acts button").evaluate_all(TALLEST) <= 60  # a line of words


TALLEST = "buttons => Math.max(...buttons.map(each => each.offsetHeight))"
SMALLEST = "buttons => Math.min(...buttons.map(each => each.offsetHeight).filter(each => each))"
