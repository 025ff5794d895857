"""The team view: faces in the grid, the button, activities, agents that need a person."""

import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from muster.machines.commands import EnrollAgent, SummonAgents
from muster.machines.events import Conflict
from muster.machines.identity.palette import PALETTE
from muster.machines.ids import LEAD_SEAT
from muster.machines.vocabulary import Authority
from tests.asking import Asker, asker
from tests.homes import ADA, TWO_AGENTS
from tests.live import Server, live
from tests.waits import until
from tests.web.pages import DESKTOP, PHONE, Watched, home_with, played
from tests.web.teams import command, led, programs


def card(page: Page, name: str) -> Locator:
    """The card of an agent."""
    return page.locator("agent-card", has=page.get_by_role("link", name=name, exact=True))


def dot(card: Locator) -> str:
    """The colour of a card's dot."""
    return card.locator(".portrait .dot").evaluate("dot => getComputedStyle(dot).backgroundColor")


def opacity(card: Locator) -> float:
    return float(card.locator(".face").evaluate("face => getComputedStyle(face).opacity"))


LEAD = EnrollAgent(name="Julian", authority=Authority.SELF, seat=LEAD_SEAT)
GREEN, AMBER = "rgb(26, 127, 55)", "rgb(154, 103, 0)"


# ── births, sleep and waking ──────────────────────────────────────────────────────────────────────


def test_a_team_is_summoned_hatches_sleeps_and_wakes(person: Watched, tmp_path: Path) -> None:
    home = led(tmp_path)
    with live(home) as server, asker(server, server.token) as operator:
        page = person.signed_in(server)
        julian = card(page, "Julian ★")
        julian.get_by_role("button", name="Start Agent Julian").click()
        expect(julian).to_have_attribute("data-status", "alive")

        page.route("**/api/agents/summon", lambda route: held.append(route))
        held: list[Route] = []
        page.get_by_role("button", name="SUMMON").click()
        expect(page.get_by_role("button", name="WAKING...")).to_be_disabled()
        expect(page.locator("agent-card[data-status=hatching]")).to_have_count(0)  # nothing guessed
        held[0].continue_()
        expect(page.locator(".egg")).to_have_count(8)
        expect(page.get_by_role("button", name="SUMMON")).to_be_hidden()
        assert page.locator(".egg").first.evaluate("egg => getComputedStyle(egg).animationName")

        operator.post("/api/send", {"message": "hatch"}, 201)
        expect(page.locator("agent-card[data-status=alive]")).to_have_count(9)
        expect(page.locator(".egg")).to_have_count(0)
        assert (dot(card(page, "Lyra")), opacity(card(page, "Lyra"))) == (GREEN, 1)
        assert in_the_grid(page)[4] == "Julian ★"
        assert in_the_grid(page)[0] == "Lyra"

        operator.post("/api/send", {"message": "forget them"}, 201)
        expect(page.locator("agent-card[data-status=sleeping]")).to_have_count(8)
        assert (dot(card(page, "Lyra")), opacity(card(page, "Lyra"))) == (AMBER, 0.4)

        other = person.context.new_page()
        other.goto(server.url)
        expect(other.get_by_role("button", name="WAKE", exact=True)).to_be_enabled()
        waking = page.get_by_role("button", name="WAKING...")
        with page.expect_response("**/api/agents/wake"):
            page.get_by_role("button", name="WAKE", exact=True).click()
        expect(page.locator("agent-card[data-status=alive]")).to_have_count(9)
        expect(other.locator("agent-card[data-status=alive]")).to_have_count(9)
        expect(waking).to_be_hidden()
        expect(page.get_by_role("button", name="WAKE", exact=True)).to_be_hidden()


def in_the_grid(page: Page) -> list[str]:
    """The names in the grid, by rows."""
    boxes = "cards => cards.map(card => [card.querySelector('.name')?.textContent ?? '', "
    boxes += "card.getBoundingClientRect().top, card.getBoundingClientRect().left])"
    seen: list[tuple[str, float, float]] = page.locator(".grid.nine > *").evaluate_all(boxes)
    return [name for name, _, _ in sorted(seen, key=lambda each: (each[1], each[2]))]


def test_a_new_team_offers_only_what_works_here(person: Watched, tmp_path: Path) -> None:
    unsigned_in = {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": ""}
    with (
        live(tmp_path / "home", **unsigned_in) as server,
        asker(server, server.token) as operator,
    ):
        page = person.signed_in(server)
        steps = page.locator("first-steps")
        expect(steps.get_by_role("heading", name="No agents yet")).to_be_visible()
        expect(steps).to_contain_text("muster up --demo")
        expect(page.get_by_role("button", name="SUMMON")).to_be_hidden()  # nothing could be born
        steps.get_by_role("button", name="A program of my own").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("A program of my own")).to_be_checked()
        unsigned = "No sign-in of Claude Code was found. Run claude and sign in"
        expect(dialog).not_to_contain_text(unsigned)
        dialog.get_by_label("Claude Code").check()
        expect(dialog).to_contain_text(unsigned)  # before the agent is added, not after it failed
        page.keyboard.press("Escape")

        expect(steps.locator(".template").filter(has_text="Start pair")).to_contain_text(unsigned)
        steps.get_by_role("button", name="Start pair without a model").click()
        expect(page.get_by_role("heading", name="desk")).to_be_visible()
        members = page.locator("channel-members")
        expect(members).to_contain_text("writer")
        expect(members).to_contain_text("reviewer")
        assert "runtime" not in (tmp_path / "home/muster.toml").read_text().partition("[agents.")[2]
        again = operator.post("/api/settings/template", {"name": "pair"}, 409)
        assert again["code"] == "team_in_settings"
        operator.post("/api/settings/template", {"name": "../../etc/passwd"}, 404)


# ── who does what ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(programs(tmp_path_factory.mktemp("team"))) as running:
        yield running


@pytest.fixture
def operator(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


def test_a_card_shows_the_activity_of_its_agent_and_starts_and_stops_it(
    person: Watched, server: Server
) -> None:
    page = person.signed_in(server)
    echo = card(page, "Echo")
    expect(echo.locator(".run")).to_have_text("IDLE")
    page.route("**/run", lambda route: held.append(route))
    held: list[Route] = []
    echo.get_by_role("button", name="Start Agent Echo").click()
    expect(echo.locator(".act")).to_have_text(["Start …"])
    expect(echo.locator(".run")).to_have_text("IDLE")  # pending is not running
    held[0].continue_()
    page.unroute("**/run")
    expect(echo.locator(".run")).to_have_text("RUNNING")
    expect(echo.locator(".doing")).to_have_text("awake")
    expect(echo.locator(".age")).to_contain_text("ago")
    expect(echo.locator(".meaning")).to_have_text("waiting for work")
    expect(echo).to_have_attribute("aria-label", "Echo, RUNNING, waiting for work")
    expect(echo.locator(".badge:visible")).to_have_count(1)
    echo.get_by_role("button", name="Stop Agent Echo").click()
    expect(echo.locator(".run")).to_have_text("IDLE")
    expect(echo).to_have_attribute("data-status", "sleeping")


def test_arrow_keys_move_and_shortcuts_act(person: Watched, server: Server) -> None:
    page = person.signed_in(server)
    page.locator("agent-card[tabindex='0']").focus()
    expect(card(page, "Echo")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(card(page, "Once")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("s")
    expect(card(page, "Echo").locator(".run")).to_have_text("RUNNING")
    page.keyboard.press("s")
    expect(card(page, "Echo").locator(".run")).to_have_text("IDLE")
    expect(card(page, "Echo")).to_be_focused()
    page.keyboard.press("m")
    expect(page.get_by_role("textbox", name="Message to Echo")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Team")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Echo", exact=True)).to_be_visible()


def test_a_failing_agent_can_be_tried_now_and_stopped_and_the_key_stops_it(
    person: Watched, server: Server, operator: Asker
) -> None:
    operator.asked("PUT", "/api/agents/Faily/run", 200, json={"desired": "continuous"})
    page = person.signed_in(server)
    faily = card(page, "Faily")
    backs_off = re.compile(r"^failed (once|\d+ times).*next try")
    expect(faily.locator(".meaning")).to_have_text(backs_off)
    expect(faily.locator(".badge.run")).to_have_text("IDLE")
    expect(faily.locator(".act")).to_have_text(["Stop", "Try now"])

    def tries() -> int:
        return len(operator.get("/api/log?types=session_end&limit=1000")["events"])

    before = tries()
    faily.get_by_role("button", name="Try now Faily").click()
    until(lambda: tries() > before)
    expect(faily.locator(".act")).to_have_text(["Stop", "Try now"])  # it has failed again
    faily.focus()
    page.keyboard.press("s")
    expect(faily.locator(".act")).to_have_text(["Start"])
    expect(faily.locator(".meaning")).to_have_text("paused by human: stopped in Mission Control")
    assert operator.get("/api/agents/Faily/run")["desired"] == "pause"


def test_wake_asks_before_it_starts_what_a_person_has_stopped(
    person: Watched, server: Server, operator: Asker
) -> None:
    operator.asked("PUT", "/api/agents/Once/run", 200, json={"desired": "continuous"})
    operator.asked("PUT", "/api/agents/Once/run", 200, json={"desired": "pause", "now": True})
    until(lambda: operator.get("/api/agents/Once")["status"] == "sleeping")
    page = person.signed_in(server)
    page.get_by_role("button", name="WAKE", exact=True).click()
    dialog = page.get_by_role("dialog", name="Wake agents")
    expect(dialog.locator(".names")).to_contain_text("Once")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert operator.get("/api/agents/Once/run")["desired"] == "pause"
    page.get_by_role("button", name="WAKE", exact=True).click()
    dialog.get_by_role("button", name="Wake all").click()
    until(lambda: operator.get("/api/agents/Once/run")["note"] != "")
    for name in ("Echo", "Faily", "Once"):
        operator.asked("PUT", f"/api/agents/{name}/run", 200, json={"desired": "pause"})


def test_no_key_acts_on_an_agent_that_nobody_selected(
    person: Watched, server: Server, operator: Asker
) -> None:
    before = operator.get("/api/health")["seq"]
    page = person.signed_in(server)
    expect(card(page, "Echo")).to_be_visible()
    page.keyboard.press("s")
    page.keyboard.press("m")
    expect(page.get_by_role("heading", name="Team")).to_be_visible()
    wishes = operator.get(f"/api/log?types=desired_set&after={before}")["events"]
    assert wishes == []


# ── who needs you ─────────────────────────────────────────────────────────────────────────────────


def test_agents_that_wait_fail_or_are_stuck_come_first_and_in_the_title(
    person: Watched, server: Server, operator: Asker
) -> None:
    page = person.signed_in(server)
    needs = page.locator("needs-list")
    expect(needs).to_be_hidden()
    icon = page.locator("link[rel=icon]").get_attribute("href")

    operator.post("/api/agents", {"name": "Ada"}, 201)
    operator.post("/api/agents/Ada/connect")
    operator.post("/api/channels", {"channel": "design"}, 201)
    operator.post("/api/channels/design/members", {"agent": "Ada"}, 201)
    question = {"agent": "Ada", "reason": "Blue or green?", "timeoutSeconds": 600}
    operator.post("/api/channels/design/turn/wait", question)
    expect(needs.get_by_role("listitem")).to_have_count(1)
    expect(needs).to_contain_text("Ada is waiting for you")
    expect(needs).to_contain_text("Blue or green?")
    expect(page).to_have_title("(1) Team · muster")
    assert page.locator("link[rel=icon]").get_attribute("href") != icon

    operator.asked("PUT", "/api/agents/Faily/run", 200, json={"desired": "run_once"})
    expect(needs).to_contain_text("Faily failed")
    expect(needs).to_contain_text("exit code 3")
    expect(page).to_have_title("(2) Team · muster")
    expect(needs.get_by_role("listitem").first).to_contain_text("Ada")
    page.set_viewport_size(PHONE)
    buttons = needs.get_by_role("listitem").last.locator("button, .button").all()
    places = [each.bounding_box() for each in buttons]
    assert len({round(place["y"]) for place in places if place}) == 1  # in one line
    page.set_viewport_size(DESKTOP)
    ends = "/api/log?types=session_end&agent=Faily&limit=1000"
    before = len(operator.get(ends)["events"])
    page.get_by_role("button", name="Run again: Faily").click()
    until(lambda: len(operator.get(ends)["events"]) > before)
    page.reload()  # nothing that needs a person is forgotten
    expect(needs).to_contain_text("Faily failed")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(needs.locator("li:focus")).to_contain_text("Faily failed")
    page.keyboard.press("e")
    expect(page).to_have_title("(1) Team · muster")
    expect(needs.get_by_role("status")).to_contain_text("Done: Faily failed")
    page.keyboard.press("u")
    expect(needs.get_by_role("listitem").last).to_contain_text("Faily failed")
    page.get_by_role("button", name="Put off for an hour: Faily").click()
    expect(needs.get_by_role("status")).to_contain_text("Put off for an hour: Faily failed")
    expect(page).to_have_title("(1) Team · muster")
    assert operator.get("/api/needs")["putOff"] == 1

    operator.asked("PUT", "/api/agents/Faily/run", 200, json={"desired": "continuous"})
    expect(needs).to_contain_text("Faily keeps failing")
    expect(needs).to_contain_text("next try in")
    operator.asked("PUT", "/api/agents/Faily/run", 200, json={"desired": "pause"})

    page.keyboard.press("n")
    expect(page.get_by_role("heading", name="Ada")).to_be_visible()
    expect(page.locator("agent-view .need")).to_contain_text("Blue or green?")
    operator.post("/api/channels/design/turn/resume", {"agent": "Ada"})
    expect(page.locator("agent-view .need")).to_be_hidden()


def test_an_answer_to_a_person_is_unread_until_it_was_seen(
    person: Watched, server: Server, operator: Asker
) -> None:
    operator.post("/api/agents", {"name": "Ann"}, 201)
    operator.post("/api/agents/Ann/connect")
    page = person.signed_in(server)
    expect(card(page, "Ann")).to_be_visible()
    operator.post("/api/send", {"targetAgent": "Ann", "message": "How far is it?"}, 201)
    operator.post("/api/agents/Ann/messages", {"message": "It is *done*."}, 201)
    needs = page.locator("needs-list")
    expect(needs).to_contain_text("Ann wrote to you")
    expect(needs).to_contain_text("It is *done*.")
    expect(card(page, "Ann")).to_have_attribute("data-unread", "")
    needs.get_by_role("link", name="Ann wrote to you").click()
    expect(page.locator("chat-thread")).to_contain_text("It is done.")
    page.get_by_role("link", name="Team").click()
    expect(needs).not_to_contain_text("Ann wrote to you")
    expect(card(page, "Ann")).not_to_have_attribute("data-unread", "")


def test_an_answer_is_written_in_the_list_and_ends_the_need(
    person: Watched, server: Server, operator: Asker
) -> None:
    operator.post("/api/agents", {"name": "Eva"}, 201)
    operator.post("/api/agents/Eva/connect")
    page = person.signed_in(server)
    needs = page.locator("needs-list")
    operator.post("/api/agents/Eva/messages", {"message": "@human: **which** `one`?"}, 201)
    row = needs.get_by_role("listitem").filter(has_text="Eva wrote to you")
    expect(row).to_contain_text("which one?")
    row.focus()
    page.keyboard.press("r")
    expect(row.get_by_label("Answer to Eva")).to_be_focused()
    page.keyboard.type("the sec")
    operator.post("/api/agents/Eva/messages", {"message": "@human: I mean it"}, 201)
    expect(needs).to_contain_text("wrote 2 messages to you")
    page.keyboard.type("ond")  # no letter is lost, and none presses a button
    row = needs.get_by_role("listitem").filter(has_text="Eva wrote 2 messages")
    expect(row.get_by_label("Answer to Eva")).to_have_value("the second")
    operator.post("/api/agents", {"name": "Fay"}, 201)
    operator.post("/api/agents/Fay/connect")
    operator.post("/api/agents/Fay/messages", {"message": "@human: and me?"}, 201)
    expect(needs).to_contain_text("Fay wrote to you")
    order = needs.locator("li[tabindex]").evaluate_all("rows => rows.map(row => row.ariaLabel)")
    after = order[(order.index("Eva wrote 2 messages to you") + 1) % len(order)]
    page.keyboard.press("Enter")
    expect(row).to_have_count(0)
    page.keyboard.press("j")  # goes on where the answer was written
    expect(needs.locator("li:focus")).to_have_attribute("aria-label", after)
    said = operator.get("/api/agents/Eva/messages")["messages"][-1]
    assert (said["text"], said["speakerName"]) == ("the second", "human")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """An old team: two unconfirmed agents, a conflict, and eight expired seats."""
    summons = SummonAgents(placeholders=PALETTE, authority=Authority.LEAD)
    dispute = Conflict(seat=ADA, reported="sleeping", evidence="its process is alive")
    home = tmp_path_factory.mktemp("old") / "home"
    with live(played(home, LEAD, summons, *TWO_AGENTS, facts=[dispute])) as running:
        yield running


def test_conflicting_reports_are_shown_until_they_are_done(person: Watched, old: Server) -> None:
    page = person.signed_in(old)
    needs = page.locator("needs-list")
    expect(needs).to_contain_text("Ada has conflicting reports")
    expect(needs).to_contain_text("reported sleeping, but its process is alive")
    page.get_by_role("button", name="Done: Ada").click()
    expect(needs).to_be_hidden()
    page.reload()
    expect(card(page, "Ada")).to_be_visible()
    expect(needs).to_be_hidden()


def test_unconfirmed_agents_are_unknown_and_expired_seats_are_hidden(
    person: Watched, old: Server
) -> None:
    page = person.signed_in(old)
    expect(card(page, "Bo")).to_have_attribute("data-status", "unknown")
    expect(card(page, "Bo")).to_contain_text("not confirmed since muster started")
    assert (dot(card(page, "Bo")), opacity(card(page, "Bo"))) == (AMBER, 0.4)
    expect(page.locator("agent-card")).to_have_count(3)  # five minutes were over long ago
    expect(page.locator(".vacant")).to_have_count(8)
    assert in_the_grid(page)[4] == "Julian ★"
    expect(page.get_by_role("button", name="SUMMON", exact=True)).to_be_visible()


BIRTH = """
import json, os, signal, sys
from pathlib import Path
if not (Path(__file__).parent / "fixed").exists():
    sys.exit("no key")
seat = int(os.environ["MUSTER_SEAT"])
if seat == 2:
    signal.pause()
soul = f"I am number {seat}."
profile = {"name": f"Nova {seat}", "gridPosition": seat, "individuationArtifact": soul}
print("[AGENT_REGISTERED] " + json.dumps(profile))
"""


def test_a_birth_that_failed_says_why_and_is_summoned_again(
    person: Watched, tmp_path: Path
) -> None:
    """An egg counts down; a failed one stands in its place with the reason, and a button."""
    births = '[agents."*"]\n' + command(tmp_path, "birth", BIRTH)
    with live(home_with(tmp_path, births)) as server:
        with asker(server, server.token) as operator:
            operator.post("/api/agents/summon", {"seats": [0, 2]}, 201)
        page = person.signed_in(server)
        failed = page.locator(".unborn")
        expect(failed).to_have_count(2)
        expect(failed.first).to_contain_text("not born: exit code 1: no key")
        (tmp_path / "fixed").touch()
        page.get_by_role("button", name="Summon again in seat 0").click()
        expect(page.locator("agent-card")).to_contain_text("Nova 0")
        page.get_by_role("button", name="Summon again in seat 2").click()
        egg = page.locator("agent-card[data-look=hatching]")
        expect(egg).to_contain_text("no name yet; expires in")
        expect(failed).to_have_count(0)


def test_an_agent_is_retired_and_brought_back_on_the_page(person: Watched, tmp_path: Path) -> None:
    births = '[agents."*"]\n' + command(tmp_path, "birth", BIRTH)
    (tmp_path / "fixed").touch()
    with live(home_with(tmp_path, births)) as server:
        with asker(server, server.token) as operator:
            operator.post("/api/agents/summon", {"seats": [0]}, 201)
        page = person.signed_in(server)
        expect(card(page, "Nova 0").locator(".run")).to_have_text("IDLE")  # its session has ended
        expect(page.locator("retired-list")).to_be_hidden()
        card(page, "Nova 0").get_by_role("link", name="Nova 0", exact=True).click()
        page.get_by_role("button", name="Settings", exact=True).click()
        page.get_by_role("button", name="Retire…").click()
        page.get_by_role("button", name="Retire Nova 0").click()
        retired = page.locator("retired-list")
        expect(retired.locator("summary").first).to_have_text("Retired agents (1)")
        expect(page.locator("agent-card")).to_have_count(0)
        retired.locator("summary").first.click()
        retired.get_by_role("button", name="Bring back Nova 0").click()
        expect(card(page, "Nova 0")).to_be_visible()
        expect(retired).to_be_hidden()


def test_the_place_of_a_retired_agent_is_summoned_on_the_page_and_its_soul_stays_readable(
    person: Watched, tmp_path: Path
) -> None:
    births = '[agents."*"]\n' + command(tmp_path, "birth", BIRTH)
    (tmp_path / "fixed").touch()
    with live(home_with(tmp_path, births)) as server:
        page = person.signed_in(server)
        with asker(server, server.token) as operator:
            operator.post("/api/agents/summon", {"seats": [0, 1]}, 201)
            expect(card(page, "Nova 0").locator(".run")).to_have_text("IDLE")
            operator.delete("/api/agents/Nova 0")
            vacancy = page.get_by_role("button", name="Summon an agent to place 0")
            vacancy.click()
            first = page.locator(".nine > :first-child")
            expect(first).to_contain_text("Nova 1000")
            expect(first.locator(".run")).to_have_text("IDLE")
            retired = page.locator("retired-list")
            retired.locator("summary").first.click()
            retired.locator("li summary").click()
            expect(retired).to_contain_text("I am number 0.")
            retired.get_by_role("button", name="Bring back Nova 0").click()
            expect(page.locator(".roster agent-card")).to_contain_text("Nova 0")
            expect(first).to_contain_text("Nova 1000")
            operator.delete("/api/agents/Nova 1000")
            expect(first).to_contain_text("Nova 0")
