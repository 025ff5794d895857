"""Who speaks next, in the dashboard: claims, hands, the order of the ring, the selector."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.live import Scene, Server, a_scene, live
from tests.web.channels import member, more_about, opened
from tests.web.pages import Watched, in_both_themes, watched


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("order") / "home") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    with a_scene(server) as playing:
        playing.connected("pm", "dev", "qa")
        playing.opened("pm", "dev", "qa", defaultTimeoutSeconds=900)
        yield playing


# ── the next speaker ──────────────────────────────────────────────────────────────────────────────


def test_a_person_chooses_who_speaks_next_while_another_member_has_the_turn(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    shown = page.locator("channel-ring .upcoming")
    expect(shown).to_have_text(f"Next: {scene.named('dev')}, by the order of the ring")
    expect(page.locator("channel-ring .because")).to_have_text(
        f"{scene.named('pm')} speaks: by the order of the ring"
    )
    page.get_by_role("button", name=f"{scene.named('qa')} speaks next").click()
    expect(shown).to_have_text(f"Next: {scene.named('qa')}, chosen by human")
    expect(member(page, scene, "qa").locator(".claim")).to_have_text("next: chosen by human")
    expect(page.locator(".ring .place", has_text="next")).to_contain_text(scene.named("qa"))
    assert scene.holder() == "pm"
    scene.turn("complete", by="pm", message="over to you")
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("qa"))
    expect(page.locator("channel-ring .because")).to_contain_text("chosen by human")
    expect(page.locator("channel-thread .line").last).to_have_text(
        f"turn 2: {scene.named('qa')}, chosen by human"
    )


def test_a_handoff_names_the_agent_that_handed_over(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    scene.turn("complete", by="pm", message="please check", to=scene.named("qa"))
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("qa"))
    expect(page.locator("channel-ring .because")).to_have_text(
        f"{scene.named('qa')} speaks: handed over by {scene.named('pm')}"
    )
    expect(page.locator("channel-thread .line").last).to_contain_text("handed over by")


def test_a_hand_is_raised_and_lowered(person: Watched, server: Server, scene: Scene) -> None:
    page = opened(person, server, scene)
    more_about(page, scene, "qa")
    page.get_by_role("button", name=f"Raise the hand of {scene.named('qa')}").click()
    expect(member(page, scene, "qa").locator(".claim")).to_have_text("next: raised its hand")
    expect(page.locator(".ring .place", has_text="next")).to_contain_text(scene.named("qa"))
    page.get_by_role("button", name=f"Lower the hand of {scene.named('qa')}").click()
    expect(member(page, scene, "qa").locator(".claim")).to_have_text("")
    assert not scene.get(scene.channel)["claims"]


def test_the_selector_is_marked_and_its_choice_is_shown(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    page.locator("channel-rules summary").click()
    page.locator("channel-rules [name=speakerOrder]").select_option("selector")
    expect(member(page, scene, "pm").locator(".role")).to_be_visible()
    page.locator("channel-rules [name=selector]").select_option(scene.named("qa"))
    expect(member(page, scene, "qa").locator(".role")).to_have_text("selector")
    expect(page.locator(".ring .place", has_text="selector")).to_contain_text(scene.named("qa"))
    expect(page.locator("channel-ring .upcoming")).to_have_text(
        f"Next: {scene.named('qa')} chooses the next speaker"
    )
    scene.turn("complete", by="pm", message="who goes on?")
    expect(page.locator("channel-view .head")).to_contain_text("is asked who speaks next")
    scene.turn("complete", by="qa", message=scene.named("dev"))
    expect(page.locator("[data-holder] .who")).to_have_text(scene.named("dev"))
    expect(page.locator("channel-ring .because")).to_contain_text("chosen by the selector")
    chose = f"{scene.named('qa')} chose {scene.named('dev')}"
    expect(page.locator("channel-thread .line", has_text=chose)).to_be_visible()


# ── the order of the ring ─────────────────────────────────────────────────────────────────────────


def moved(page: Page, scene: Scene, name: str) -> Locator:
    """A member in the strip of the turns."""
    return page.get_by_role("button", name=f"Move {scene.named(name)}")


def grab(page: Page, place: Locator) -> None:
    """Press the mouse on a member; again if it moved away under the pointer meanwhile."""
    dragged = page.locator(".ring .dragged")
    for _ in range(10):
        place.hover()
        page.mouse.down()
        if dragged.count():
            return
        page.mouse.up()
    raise AssertionError("the member could not be grabbed")


def test_the_order_changes_by_dragging_and_by_keys(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    grab(page, moved(page, scene, "qa"))
    first = moved(page, scene, "pm").bounding_box()
    assert first
    page.mouse.move(first["x"] + 2, first["y"] + first["height"] / 2, steps=5)
    expect(page.locator(".ring .dragged")).to_have_count(1)
    expect(page.locator(".ring .who")).to_have_text(
        [scene.named(each) for each in ("qa", "pm", "dev")]
    )
    assert scene.ring() == ["pm", "dev", "qa"]  # nothing is sent before the drop
    page.mouse.up()
    scene.until(lambda event: event["type"] == "ring_ordered")
    assert scene.ring() == ["qa", "pm", "dev"]
    expect(page.locator(".members .name").first).to_have_text(scene.named("qa"))

    moved(page, scene, "qa").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#notices")).to_have_text(f"{scene.named('qa')} is number 2 of 3.")
    assert scene.ring() == ["pm", "qa", "dev"]
    expect(moved(page, scene, "qa")).to_be_focused()


def test_the_order_changes_by_touch(browser: Browser, server: Server, scene: Scene) -> None:
    with watched(browser, has_touch=True) as somebody:
        page = opened(somebody, server, scene)
        place = moved(page, scene, "pm").bounding_box()
        last = moved(page, scene, "qa").bounding_box()
        assert place
        assert last
        finger = page.context.new_cdp_session(page)
        start = {"x": place["x"] + 5, "y": place["y"] + 5}
        end = {"x": last["x"] + last["width"] - 2, "y": start["y"]}
        for kind, points in (
            ("touchStart", [start]),
            ("touchMove", [end]),
            ("touchEnd", []),
        ):
            touch = {"type": kind, "touchPoints": points}
            finger.send("Input.dispatchTouchEvent", touch)  # pyright: ignore[reportUnknownMemberType]
        scene.until(lambda event: event["type"] == "ring_ordered")
        assert scene.ring() == ["dev", "qa", "pm"]


# ── members ───────────────────────────────────────────────────────────────────────────────────────


def test_the_timeout_of_a_member_is_changed_and_a_refusal_is_shown(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    more_about(page, scene, "dev")
    timeout = page.get_by_label(f"Turn timeout of {scene.named('dev')} (s)")
    expect(timeout).to_have_value("900")
    timeout.fill("45")
    timeout.press("Enter")
    scene.until(lambda event: event["type"] == "member_configured")
    dev = scene.get(scene.channel)["members"][1]
    assert dev["timeoutSeconds"] == 45
    timeout.fill("-1")
    timeout.press("Enter")
    expect(page.locator("channel-members .error")).to_contain_text("timeoutSeconds")
    expect(timeout).to_have_value("45")


def test_an_agent_is_added_before_it_connects(
    person: Watched, server: Server, scene: Scene
) -> None:
    scene.post("/api/agents", {"name": scene.named("ops")})
    page = opened(person, server, scene)
    page.get_by_label("Agent to add").select_option(scene.named("ops"))
    page.get_by_role("button", name="Add", exact=True).click()
    expect(member(page, scene, "ops").locator(".badge")).to_have_text("not connected")
    assert scene.ring() == ["pm", "dev", "qa", "ops"]


def test_a_removed_agent_is_barred_until_a_person_lets_it_back_in(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server, scene)
    more_about(page, scene, "dev")
    page.get_by_role("button", name=f"Remove {scene.named('dev')}").click()
    barred = page.locator("channel-members .barred li")
    expect(barred).to_contain_text(scene.named("dev"))
    expect(barred.locator(".badge")).to_have_text("barred")
    body = {"agent": scene.named("dev")}
    scene.refused("POST", f"{scene.channel}/members", body, by="dev")
    page.get_by_role("button", name=f"Let {scene.named('dev')} back in").click()
    expect(barred).to_have_count(0)
    assert scene.ring() == ["pm", "qa", "dev"]


def test_the_order_is_accessible_with_everything_unfolded(
    inspector: Watched, server: Server, scene: Scene
) -> None:
    page = opened(inspector, server, scene)
    more_about(page, scene, "dev")
    page.get_by_role("button", name=f"{scene.named('qa')} speaks next").click()
    expect(member(page, scene, "qa").locator(".claim")).to_contain_text("next")
    for summary in page.locator("channel-view summary:visible").all():
        summary.click()
    assert in_both_themes(page) == []
    page.set_viewport_size({"width": 320, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
