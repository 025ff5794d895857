"""Conversations in the dashboard: the request, its route, trace, dialogue and files."""

import json
import re
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.asking import Asker, asker
from tests.delegation.stage import AGENTS, DOCS, EITHER, PYTHON, SQL, agent_file
from tests.live import Server, live
from tests.web.pages import Watched, hard_to_use, in_both_themes
from tests.web.test_agent import HOSTILE

PROGRAM = r"""
import os, sys, time
task = sys.stdin.read()
agent = os.environ["MUSTER_AGENT"]
if agent == "python-engineer":
    open("hello_world.py", "w").write("print('Hello, World!')\n<script>window.hurt=1</script>\n")
    print("I wrote **hello_world.py**.")
elif agent == "docs-writer":
    # works until the test releases it, then draws a picture
    while not os.path.exists(os.environ["GATE"]):
        time.sleep(0.01)
    picture = "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944"
    picture += "4154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    open("dot.png", "wb").write(bytes.fromhex(picture))
    if os.environ["MUSTER_MODE"] == "interactive":
        print("Drawn.\n[HANDOFF python-engineer] it needs a script, too")
    else:
        print("Drawn.")
else:
    name = "bill\u202eFDP.exe" + "y" * 150
    open(name, "w").write("x" * 100_000 + "\u202e" + "<img src=x onerror=window.hurt=1>")
    for line in open(os.environ["HOSTILE"], encoding="utf-8"):
        print(line, end="")
    print("y" * 200_000, file=sys.stderr)
    sys.exit(3)
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conversations")


@pytest.fixture(scope="module")
def server(base: Path) -> Generator[Server]:
    for name, description in AGENTS.items():
        agent_file(base / "agents", name, description)
    (base / "hostile.txt").write_text("\n\n".join(HOSTILE), encoding="utf-8")
    (base / "program.py").write_text(PROGRAM, encoding="utf-8")
    home = base / "home"
    home.mkdir()
    command = json.dumps([sys.executable, str(base / "program.py")])
    (home / "muster.toml").write_text(f"[delegation]\ncommand = {command}\n")
    with live(
        home, HOME=str(base), HOSTILE=str(base / "hostile.txt"), GATE=str(base / "gate")
    ) as running:
        yield running


@pytest.fixture
def operator(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


@pytest.fixture
def session(operator: Asker, request: pytest.FixtureRequest) -> Generator[str]:
    """A session in a folder of its own, until the end of the test."""
    mode = getattr(request, "param", "orchestrator")
    path = f"session-{request.node.name[:40]}"
    operator.http.delete("/api/delegation")  # whatever a failed test left
    operator.http.delete("/api/delegation/choices")
    operator.post("/api/delegation", {"path": path, "agents": ["agents"], "mode": mode})
    yield path
    operator.delete("/api/delegation")


@pytest.fixture
def gate(base: Path) -> Generator[Path]:
    """The file that an agent waits for."""
    path = base / "gate"
    yield path
    path.unlink(missing_ok=True)


def ask(page: Page, text: str) -> None:
    box = page.get_by_role("textbox", name="Request")
    box.fill(text)
    box.press("Enter")


# ── asking ────────────────────────────────────────────────────────────────────────────────────────


def test_a_session_is_opened_used_and_closed(person: Watched, server: Server) -> None:
    page = person.signed_in(server)
    page.keyboard.press("3")
    panel = page.locator("session-panel")
    expect(panel).to_contain_text("No session is open")
    expect(page.get_by_role("textbox", name="Request")).to_be_hidden()
    expect(page.get_by_role("heading", name="No tasks yet")).to_be_visible()
    panel.get_by_role("combobox", name="Mode").select_option("interactive")
    expect(panel).to_contain_text("Agents may hand a request to another agent")
    panel.get_by_role("textbox", name="Folder with agents").fill("agents")
    panel.get_by_role("button", name="Open a session").click()
    expect(panel.locator(".mode strong")).to_have_text("interactive")
    expect(panel.locator(".chips li")).to_have_text(sorted(AGENTS))

    page.keyboard.press("m")
    box = page.get_by_role("textbox", name="Request")
    expect(box).to_be_focused()
    box.press_sequentially(PYTHON)
    expect(page.locator(".guess")).to_contain_text("Best match: python-engineer (confidence ")
    box.press("Enter")
    expect(page).to_have_url(re.compile(r"#/conversation/conv_\d+$"))
    expect(page.locator(".way .state")).to_have_text(["MAIN", "python-engineer", "MAIN"])
    expect(page.locator(".head .badge")).to_have_text("answered")
    page.get_by_role("link", name="All tasks").click()
    expect(page.get_by_role("textbox", name="Request")).to_have_value("")

    page.keyboard.press("Control+k")
    words = page.get_by_role("combobox", name="Search")
    words.fill("ask write")
    words.fill("ask write a tale")  # the verb is not part of the request
    expect(page.locator("dialog [role=option]").last).to_have_text("Ask: write a tale a new task")
    page.keyboard.press("Escape")

    other = person.context.new_page()
    other.goto(f"{server.url}/#/conversation")
    expect(other.locator("task-board li")).to_have_count(1)
    other.get_by_role("button", name="Close the session").click()
    expect(panel).to_contain_text("No session is open")
    expect(other.locator("session-panel")).to_contain_text("No session is open")


def test_an_ambiguous_request_asks_which_agent_and_one_key_answers(
    person: Watched, server: Server, session: str
) -> None:
    page = person.signed_in(server, "#/conversation")
    box = page.get_by_role("textbox", name="Request")
    ask(page, EITHER)
    question = page.get_by_role("group", name="Which agent?")
    expect(question).to_contain_text(re.compile(r"(docs-writer|python-engineer) or "))
    buttons = question.get_by_role("button")
    expect(buttons).to_have_count(2)
    expect(buttons.first).to_be_focused()
    expect(buttons.first).to_contain_text("Matched: ")
    assert hard_to_use(page) == []
    page.keyboard.press("Escape")
    expect(question).to_be_hidden()
    expect(box).to_be_focused()
    expect(box).to_have_value(EITHER)
    box.press("Enter")
    expect(buttons).to_have_count(2)
    number = 1 + ["python-engineer" in each for each in buttons.all_inner_texts()].index(True)
    page.keyboard.press(str(number))
    expect(page).to_have_url(re.compile(r"#/conversation/conv_\d+$"))
    expect(page.locator(".way .state")).to_have_text(["MAIN", "python-engineer", "MAIN"])
    expect(question).to_be_hidden()


def test_a_wrong_agent_is_corrected_and_the_same_request_goes_to_the_right_one(
    person: Watched, server: Server, session: str, operator: Asker
) -> None:
    page = person.signed_in(server, "#/conversation")
    ask(page, PYTHON)
    expect(page.locator(".way .state")).to_have_text(["MAIN", "python-engineer", "MAIN"])
    form = page.locator("talk-choice")
    agent = form.get_by_role("combobox", name="The right agent")
    expect(agent).to_have_value("python-engineer")
    agent.select_option("sql-tuner")
    form.get_by_role("button", name="Remember").click()
    expect(form.get_by_role("status")).to_have_text(
        "Remembered: the same request goes to sql-tuner."
    )
    assert hard_to_use(page) == []
    [choice] = operator.get("/api/delegation/choices")["choices"]
    assert (choice["agent"], choice["guess"]) == ("sql-tuner", "python-engineer")
    box = page.get_by_role("textbox", name="Request")
    box.fill(PYTHON)
    expect(page.locator(".guess")).to_contain_text("Best match: sql-tuner")
    box.press("Enter")
    expect(page.locator(".way .state")).to_have_text(["MAIN", "sql-tuner", "MAIN"])
    expect(page.locator(".steps")).to_contain_text("Remembered: chosen for")


def test_a_request_shows_its_trace_reason_dialogue_and_file(
    person: Watched, server: Server, session: str
) -> None:
    page = person.signed_in(server, "#/conversation")
    ask(page, PYTHON)
    steps = page.locator("talk-trace .steps li")
    expect(steps).to_have_count(2)
    expect(steps.first.locator("strong")).to_have_text("MAIN → python-engineer")
    expect(steps.first.locator(".reason")).to_contain_text('"Python"')
    expect(steps.first.locator(".score")).to_have_text(
        re.compile(r"score \d+\.\d\d, confidence \d\.\d\d")
    )
    expect(steps.last.locator("strong")).to_have_text("python-engineer → MAIN")
    expect(steps.last.locator(".reason")).to_contain_text("task completed")
    page.get_by_text("Candidates").click()
    expect(page.locator("talk-trace tbody tr").first).to_contain_text("python-engineer")

    dialogue = page.get_by_role("log", name="Dialogue")
    expect(dialogue.locator(".said.human .text")).to_have_text(PYTHON)
    expect(dialogue.locator(".said strong", has_text="hello_world.py").first).to_be_visible()
    expect(dialogue).to_contain_text("Routed to python-engineer:")
    expect(dialogue).to_contain_text("python-engineer created hello_world.py")
    dialogue.locator("summary", has_text="MAIN sets a task").click()
    expect(dialogue.locator("details[open] pre")).to_contain_text("You are careful.")

    file = page.get_by_role("button", name="hello_world.py")
    file.press("Enter")
    expect(file).to_have_attribute("aria-expanded", "true")
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("print('Hello, World!')\n<script>window.hurt=1</script>")
    file.click()
    expect(preview).to_be_hidden()


def test_a_request_is_pending_until_confirmed_and_then_updates_live(
    person: Watched, server: Server, gate: Path, session: str
) -> None:
    page = person.signed_in(server, "#/conversation")
    held: list[object] = []
    page.route("**/api/conversations", lambda route: held.append(route))
    with page.expect_request("**/api/conversations"):
        ask(page, DOCS)
    button = page.locator("ask-box button")
    expect(button).to_have_text("Asking …")
    expect(page.locator("task-board li")).to_have_count(0)  # nothing is guessed
    held[0].continue_()  # type: ignore[attr-defined]
    expect(page.locator(".head .badge")).to_have_text("docs-writer is working")
    now = page.locator(".way .state[data-now=true]")
    expect(now).to_have_text("docs-writer")
    expect(page.locator(".head .age")).to_contain_text("for ")
    gate.write_text("go")
    expect(page.locator(".head .badge")).to_have_text("answered")
    expect(now).to_have_count(0)
    page.get_by_role("button", name="dot.png").click()
    picture = page.get_by_role("img", name="dot.png")
    expect(picture).to_be_visible()
    assert picture.evaluate("picture => picture.decode().then(() => picture.naturalWidth)") == 1


def test_the_board_shows_each_task_where_it_stands_and_cancels_it(
    person: Watched, server: Server, operator: Asker, session: str
) -> None:
    operator.post("/api/conversations", {"text": PYTHON})
    page = person.signed_in(server, "#/conversation")
    board = page.locator("task-board")
    done = board.get_by_role("region", name=re.compile("^Done"))
    expect(done).to_contain_text(PYTHON)
    ask(page, DOCS)
    expect(page.locator(".head .badge")).to_have_text("docs-writer is working")
    page.get_by_role("link", name="All tasks").click()
    working = board.get_by_role("region", name="Working")
    expect(working).to_contain_text("docs-writer")
    working.get_by_role("button", name=re.compile("^Cancel")).click()
    undone = board.get_by_role("region", name="Not done")
    expect(undone).to_contain_text("cancelled")
    expect(working.locator("li")).to_have_count(0)
    operator.post("/api/conversations", {"text": "Peel the bananas"})
    unmatched = undone.locator("li").filter(has_text="bananas")
    state, title = unmatched.locator(".tone").bounding_box(), unmatched.locator("a").bounding_box()
    assert state is not None
    assert title is not None
    assert state["x"] == title["x"]  # there is no agent before it

    board.get_by_role("button", name="List").click()
    rows = board.locator(".rows li")
    expect(rows.nth(1)).to_contain_text("cancelled")
    page.reload()
    expect(board.get_by_role("button", name="List")).to_have_attribute("aria-pressed", "true")
    first = rows.filter(has_text=PYTHON).first
    first.get_by_role("button", name=re.compile("^Run again")).click()
    expect(page).to_have_url(re.compile(r"#/conversation/conv_\d+$"))
    expect(page.locator(".head .badge")).to_have_text("answered")


def test_a_task_is_continued_by_the_agent_that_did_it(
    person: Watched, server: Server, session: str
) -> None:
    page = person.signed_in(server, "#/conversation")
    ask(page, PYTHON)
    expect(page.locator(".head .badge")).to_have_text("answered")
    more = page.get_by_role("textbox", name="Go on from this task")
    more.fill("Now in French")
    more.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Now in French")
    expect(page.locator(".way .state").nth(1)).to_have_text("python-engineer")
    expect(page.locator("talk-answer .request")).to_contain_text("I wrote **hello_world.py**.")


@pytest.mark.parametrize("session", ["interactive"], indirect=True)
def test_agents_hand_over_and_the_whole_chain_is_shown(
    person: Watched, server: Server, gate: Path, session: str
) -> None:
    gate.write_text("go")
    page = person.signed_in(server, "#/conversation")
    page.get_by_role("combobox", name="Agent to ask").select_option("docs-writer")
    ask(page, "Whatever this is")
    way = ["MAIN", "docs-writer", "python-engineer", "MAIN"]
    expect(page.locator(".way .state")).to_have_text(way)
    steps = page.locator("talk-trace .steps li")
    expect(steps.nth(0)).to_contain_text("decided by person")
    expect(steps.nth(1).locator(".reason")).to_contain_text("it needs a script, too")


def test_a_denial_shows_the_rule_and_the_agent_to_create(
    person: Watched, server: Server, session: str
) -> None:
    page = person.signed_in(server, "#/conversation")
    ask(page, "Forge the kraken firmware in kraken.rs")
    expect(page.locator("talk-trace .denied")).to_contain_text("kraken.rs")
    denied = page.locator("talk-dialogue .denied")
    expect(denied).to_contain_text("MAIN may not do this (rule")
    expect(denied).to_contain_text("forge-kraken-firmware-agent")
    expect(page.locator(".head .badge")).to_have_text("failed")
    expect(page.locator("talk-trace .steps li")).to_contain_text("MAIN keeps the request")
    first = page.locator("h1").text_content()
    expect(page.locator("talk-answer")).to_contain_text("kraken.rs")  # the reason comes first
    ask(page, "hello")
    expect(page.locator(".head .badge")).to_have_text("answered")
    expect(page.locator("h1")).to_have_text("hello")  # a task is called what it asks for
    expect(page.locator("talk-answer .answer")).not_to_be_empty()
    expect(page.locator("talk-files")).to_be_hidden()
    asked = page.url
    before = page.locator(".talks li").count()
    page.get_by_role("button", name="Run again").click()
    expect(page.locator(".talks li")).to_have_count(before + 1)
    expect(page).not_to_have_url(asked)  # the list may have the task before the page shows it
    expect(page.locator(".head .badge")).to_have_text("answered")
    page.go_back()
    here = page.locator(f".talks a[aria-current][href='{asked.removeprefix(server.url + '/')}']")
    expect(here).to_be_visible()
    page.keyboard.press("[")
    expect(page.locator("h1")).to_have_text(first or "")
    expect(page.locator(".talks a[aria-current]")).to_contain_text("kraken")


def test_a_task_that_a_running_load_misses_is_not_called_missing(
    person: Watched, server: Server, operator: Asker, session: str
) -> None:
    page = person.signed_in(server, "#/conversation")
    expect(page.get_by_role("textbox", name="Request")).to_be_visible()
    held: list[tuple[Route, APIResponse]] = []
    lists = "**/api/conversations?*"
    page.route(lists, lambda route: held.append((route, route.fetch())), times=1)
    with page.expect_request(lists):
        operator.post("/api/conversations", {"text": PYTHON})
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        ask(page, "hello")
    expect(page.get_by_role("textbox", name="Request")).to_have_value("hello")  # until it is listed
    ((route, answer),) = held
    route.fulfill(response=answer)
    expect(page.get_by_role("heading", name="hello", level=1)).to_be_visible()
    expect(page.locator("h1")).to_have_count(1)


def test_a_refusal_is_shown_and_the_text_is_kept(
    person: Watched, server: Server, operator: Asker, session: str
) -> None:
    page = person.signed_in(server, "#/conversation/conv_404")
    expect(page.get_by_role("heading", name="There is no task conv_404")).to_be_visible()
    page.get_by_role("link", name="All tasks").click()
    page.route("**/api/delegation", lambda route: route.fulfill(status=503))  # so it hears no end
    expect(page.get_by_role("textbox", name="Request")).to_be_visible()
    operator.delete("/api/delegation")
    ask(page, PYTHON)
    expect(page.locator("ask-box [role=alert]")).to_contain_text("session")
    expect(page.get_by_role("textbox", name="Request")).to_have_value(PYTHON)
    page.unroute("**/api/delegation")
    operator.post("/api/delegation", {"path": f"{session}-again", "agents": ["agents"]})
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".head .badge")).to_have_text("answered")


def test_the_page_is_accessible(
    inspector: Watched, server: Server, operator: Asker, session: str
) -> None:
    operator.post("/api/conversations", {"text": "Forge the kraken firmware in kraken.rs"})
    operator.post("/api/conversations", {"text": PYTHON})
    page = inspector.signed_in(server, "#/conversation")
    expect(page.locator("task-board [data-column=done] li").first).to_be_visible()
    assert in_both_themes(page) == []
    page.locator("task-board").get_by_role("link", name=PYTHON).first.click()
    page.get_by_role("button", name="hello_world.py").click()
    expect(page.locator(".preview pre")).to_be_visible()
    expect(page.locator("talk-dialogue .said .text p").first).to_be_visible()
    assert in_both_themes(page) == []


# ── hostile ───────────────────────────────────────────────────────────────────────────────────────


def test_hostile_messages_files_and_names_are_shown_as_text(
    visitor: Watched, server: Server, session: str
) -> None:
    asked: list[str] = []
    visitor.context.on("request", lambda request: asked.append(request.url))
    page = visitor.signed_in(server, "#/conversation")
    page.get_by_role("combobox", name="Agent to ask").select_option("sql-tuner")
    ask(page, f"{SQL} <img src=x onerror=window.hurt=1> \u202eevil\u202c [x](javascript:alert(1))")
    expect(page.locator(".head .badge")).to_have_text("failed")
    file = page.locator(".files button")
    expect(file).to_contain_text("bill⟨U+202E⟩FDP.exe")
    file.click()
    expect(page.locator(".preview pre")).to_contain_text("xxx")
    expect(page.locator(".preview")).to_contain_text("Truncated: the file has 100.0 KB")
    dialogue = page.get_by_role("log", name="Dialogue")
    for each in dialogue.locator("summary").all():
        each.click()
    expect(dialogue).to_contain_text("onerror=")
    forbidden = "script, img, iframe, style, form, input, meta, [onclick], [onerror], [style]"
    shown = page.locator(
        "talk-answer > :not(.row), talk-dialogue, talk-trace, talk-files, .talks, .head"
    )
    assert shown.locator(forbidden).count() == 0
    links = dialogue.locator("a").evaluate_all("links => links.map(link => link.protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}
    assert page.evaluate("window.hurt") is None
    assert all(url.startswith((server.url, "data:")) for url in asked), asked
    wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(wide)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate(wide)
