"""The view of time: timeline, log, state diagrams, and the team in the past."""

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.live import Scene, Server, a_scene, live
from tests.web.pages import Watched, in_both_themes

COLOURS = """canvas => {
  const {width, height} = canvas;
  const copy = Object.assign(document.createElement("canvas"), {width, height});
  const pen = copy.getContext("2d", {willReadFrequently: true});
  pen.drawImage(canvas, 0, 0);
  const data = pen.getImageData(0, 0, width, height).data;
  const found = new Map();
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] < 255) continue;
    const colour = `${data[at]},${data[at + 1]},${data[at + 2]}`;
    found.set(colour, (found.get(colour) ?? 0) + 1);
  }
  return Object.fromEntries(found);
}"""
GREEN, BLUE, AMBER = "26,127,55", "11,98,196", "154,103,0"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("time") / "home") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    with a_scene(server) as playing:
        playing.connected("pm", "dev")
        playing.opened("pm", "dev")
        yield playing


def opened(person: Watched, server: Server, path: str = "#/time") -> Page:
    page = person.signed_in(server, path)
    page.get_by_role("button", name="States").click()
    expect(page.locator("time-line")).to_have_attribute("data-lanes", re.compile(r"\d"))
    return page


def until_drawn(page: Page, colour: str) -> None:
    look = f"() => {{ const found = ({COLOURS})(document.querySelector('time-line canvas'));"
    page.wait_for_function(f"{look} return (found['{colour}'] ?? 0) > 20; }}")


# ── the timeline ──────────────────────────────────────────────────────────────────────────────────


def test_every_agent_has_its_lanes_and_they_grow_as_things_happen(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server)
    until_drawn(page, GREEN)
    until_drawn(page, BLUE)
    lanes = int(page.locator("time-line").get_attribute("data-lanes") or 0)
    assert lanes >= 6
    scene.connected("late")
    expect(page.locator("time-line")).to_have_attribute("data-lanes", str(lanes + 3))
    scene.turn("wait", by="pm", reason="a build")
    until_drawn(page, AMBER)


def test_machines_are_shown_and_hidden_and_the_choice_is_kept(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server)
    until_drawn(page, GREEN)
    page.get_by_label("identity").uncheck()
    page.wait_for_function(
        f"() => (({COLOURS})(document.querySelector('time-line canvas'))['{GREEN}'] ?? 0)"
        f" < 3 * document.querySelector('time-line canvas').height"  # the line of now stays
    )
    page.reload()
    expect(page.get_by_label("identity")).not_to_be_checked()
    page.get_by_label("identity").check()
    until_drawn(page, GREEN)


def test_the_timeline_zooms_by_buttons_and_by_keys(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server)
    until_drawn(page, GREEN)
    with page.expect_request("**/api/timeline?*") as day:
        page.get_by_role("button", name="1 day").click()
    with page.expect_request("**/api/timeline?*") as hour:
        page.get_by_role("button", name="1 h", exact=True).click()
    assert day.value.url != hour.value.url
    expect(page.get_by_role("button", name="1 h", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    page.locator("time-line canvas").focus()
    with page.expect_request("**/api/timeline?*"):
        page.keyboard.press("+")
    expect(page.get_by_role("button", name="1 h", exact=True)).to_have_attribute(
        "aria-pressed", "false"
    )


# ── the team as it was ────────────────────────────────────────────────────────────────────────────


def turn_then(page: Page, scene: Scene, name: str) -> Locator:
    return page.locator(".then li", has_text=scene.named(name)).locator(".turn")


def test_choosing_an_event_shows_the_team_after_it(
    person: Watched, server: Server, scene: Scene
) -> None:
    before = scene.get("/api/health")["seq"]
    scene.turn("complete", by="pm", message="done")
    page = opened(person, server)
    page.get_by_role("button", name=f"Event {before}: show the team at this event").click()
    expect(page.locator(".when")).to_contain_text(f"after event {before}")
    expect(turn_then(page, scene, "pm")).to_have_text("ACTIVE")
    expect(turn_then(page, scene, "dev")).to_have_text("QUEUED")
    expect(page.locator(".then-channels")).to_contain_text(f"{scene.named('pm')} has turn 1")
    assert page.url.endswith(f"#/time/{before}")
    expect(page.locator(".lines li").first).to_have_attribute("data-seq", str(before))
    for _ in range(3):
        page.keyboard.press(".")
    expect(page.locator(".when")).to_contain_text(f"after event {before + 3}")
    page.get_by_role("button", name="Back to now").click()
    expect(page.locator("team-then")).to_be_hidden()
    expect(page.locator(".lines li").first).not_to_have_attribute("data-seq", str(before))


def test_a_moment_has_a_url_and_an_unknown_event_is_reported(
    person: Watched, server: Server, scene: Scene
) -> None:
    seq = scene.get("/api/health")["seq"]
    scene.turn("complete", by="pm")
    page = opened(person, server, f"#/time/{seq}")
    expect(turn_then(page, scene, "pm")).to_have_text("ACTIVE")
    page.goto(f"{server.url}/#/time/99999999")
    expect(page.locator(".when")).to_contain_text("There is no event")
    expect(page.locator(".lines li").first).to_be_visible()


def test_choosing_a_moment_on_the_timeline_shows_the_team_at_that_time(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server)
    until_drawn(page, GREEN)
    picture = page.locator("time-line canvas")
    box = picture.bounding_box()
    assert box is not None
    picture.click(position={"x": box["width"] - 30, "y": 60})
    expect(page.locator(".when")).to_contain_text("The team at")
    chosen = int(page.locator("team-then").get_attribute("data-seq") or -1)
    told = scene.get(f"/api/state?seq={chosen}")
    expect(page.locator(".then li")).to_have_count(len(told["agents"]))
    picture.focus()
    page.keyboard.press("Home")
    expect(page.locator(".when")).to_contain_text("after event 1")
    page.keyboard.press("End")
    expect(page.locator("team-then")).to_be_hidden()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".when")).to_contain_text("after event")
    expect(picture).to_have_attribute("aria-valuetext", re.compile("event"))


# ── the log ───────────────────────────────────────────────────────────────────────────────────────


def test_the_log_updates_live_is_filtered_and_can_be_paused(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server)
    rows = page.locator(".lines .says")
    scene.says("<i>good</i> morning")
    expect(rows.first).to_contain_text("said in")
    expect(page.locator(".lines")).to_contain_text("<i>good</i> morning")
    page.get_by_label("Filter by type").select_option(label="state changes")
    expect(rows.filter(has_text="went from")).not_to_have_count(0)
    expect(rows.filter(has_not_text="went from")).to_have_count(0)
    page.get_by_label("Filter by agent").select_option(scene.named("dev"))
    expect(rows.filter(has_not_text=scene.named("dev"))).to_have_count(0)
    page.get_by_label("Filter by type").select_option(label="all events")
    page.get_by_label("Filter by agent").select_option("")
    page.get_by_label("Filter by channel").select_option(scene.named("reviews"))
    page.get_by_label("Filter by text").fill("morning")
    expect(rows).to_have_count(1)
    page.get_by_label("Filter by text").fill("")
    page.get_by_role("button", name="Pause").click()
    scene.says("while it is held")
    scene.says("and more")
    expect(page.locator(".lines")).not_to_contain_text("while it is held")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".lines")).to_contain_text("and more")
    expect(page.locator(".lines")).to_contain_text("while it is held")


def test_why_shows_the_chain_of_causes_of_an_event(
    person: Watched, server: Server, scene: Scene
) -> None:
    page = opened(person, server)
    scene.turn("complete", by="pm", message="done")
    granted = page.locator(".lines li", has_text=f"{scene.named('dev')} went from QUEUED to ACTIVE")
    granted.get_by_role("button", name="Why event").click()
    causes = page.get_by_role("dialog").locator(".causes li")
    expect(causes.first).to_contain_text("QUEUED to ACTIVE")
    expect(causes.nth(1)).to_contain_text("ACTIVE to QUEUED")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


# ── the machines ──────────────────────────────────────────────────────────────────────────────────


def test_diagrams_highlight_occupied_states_now_and_in_the_past(
    person: Watched, server: Server, scene: Scene
) -> None:
    before = scene.get("/api/health")["seq"]
    page = opened(person, server)
    states = page.locator(".diagram .state")
    expect(states).to_have_count(5)
    active = page.locator(".diagram [data-state=ACTIVE]")
    expect(active).to_have_attribute("aria-label", re.compile(scene.named("pm")))
    scene.turn("complete", by="pm")
    expect(active).to_have_attribute("aria-label", re.compile(scene.named("dev")))
    page.goto(f"{server.url}/#/time/{before}")
    expect(active).to_have_attribute("aria-label", re.compile(scene.named("pm")))
    page.get_by_role("tab", name="identity").click()
    expect(page.locator(".diagram [data-state=alive]")).to_have_attribute("data-lit", "")
    expect(page.locator(".diagram [data-state=hatching]")).not_to_have_attribute("data-lit", "")
    page.get_by_role("tab", name="identity").press("ArrowRight")
    expect(page.get_by_role("tab", name="run: desired")).to_be_focused()
    expect(page.locator(".diagram [data-state=continuous]")).to_have_attribute("data-lit", "")
    page.get_by_role("tab", name="delegation").click()
    expect(states).to_have_count(3)
    page.get_by_text("All transitions as text").click()
    expect(page.locator(".ways")).to_contain_text("task_completed")


def test_the_view_is_accessible_and_fits_a_phone(
    inspector: Watched, server: Server, scene: Scene
) -> None:
    scene.says(f"\u202efrom the right {'x' * 4000}", by="pm")
    page = opened(inspector, server, f"#/time/{scene.get('/api/health')['seq']}")
    expect(page.locator(".then li").first).to_be_visible()
    expect(page.locator(".diagram .state").first).to_be_visible()
    page.get_by_label("Filter by text").fill("from the right")  # one row stands for all
    assert in_both_themes(page) == []
    page.set_viewport_size({"width": 320, "height": 800})
    until_drawn(page, "88,166,255")  # the blue of the dark
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert page.locator("main button").evaluate_all(SMALLEST) >= 38


SMALLEST = "buttons => Math.min(...buttons.map(each => each.offsetHeight).filter(each => each))"


def test_a_word_is_found_in_events_that_are_older_than_the_page(
    person: Watched, server: Server, scene: Scene
) -> None:
    scene.says("a walrus, long ago", by="pm")
    for number in range(160):
        scene.says(f"message {number}", by="pm")
    page = person.signed_in(server, "#/time")
    log = page.locator("live-log")
    expect(log.locator(".lines li")).to_have_count(150)
    log.get_by_label("Filter by text").fill("walrus")
    expect(log.locator(".lines li")).to_have_count(1)
    expect(log.locator(".says")).to_contain_text("a walrus, long ago")
    expect(log.get_by_role("status")).to_have_text("Searched to the beginning of the log.")


# ── the work ──────────────────────────────────────────────────────────────────────────────────────


def test_the_work_is_drawn_by_agent_and_replayed(
    person: Watched, server: Server, scene: Scene
) -> None:
    scene.says("the plan is ready", by="pm")
    page = person.signed_in(server, "#/time")
    line = page.locator("time-line")
    expect(line).to_have_attribute("data-work", re.compile(r"[1-9]"))
    expect(line.locator(".legend")).to_be_visible()
    until_drawn(page, BLUE)
    page.get_by_role("slider", name="Moment of the shown time").fill("500")
    expect(page.locator(".when")).to_contain_text("The team at")
    play = page.get_by_role("button", name="Replay")
    page.get_by_role("slider", name="Moment of the shown time").fill("960")
    play.click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.locator(".when")).to_contain_text("Now.")  # it ends in the present
    expect(play).to_be_visible()
