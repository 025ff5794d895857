"""An agent's page follows its agent through renames, and loses nothing that a person has typed."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.asking import Asker, asker
from tests.live import Server, live
from tests.waits import until
from tests.web.pages import Watched, home_with
from tests.web.teams import ANSWERER, command, led

SHOTS = os.environ.get("MUSTER_SHOTS")


@pytest.fixture
def server(tmp_path: Path) -> Generator[Server]:
    echo = "long_lived = true\n" + command(tmp_path, "echo", ANSWERER)
    tables = f"[agents.Ada]\nsoul = 'I am the first.'\n{echo}"
    tables += f"[agents.Bea]\nsoul = 'I am the second.'\n{echo}"
    with live(home_with(tmp_path, tables)) as running:
        yield running


@pytest.fixture
def boss(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


def rename(boss: Asker, name: str, new: str) -> None:
    boss.post(f"/api/settings/agents/{name}/rename", {"name": new})


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()


def shot(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)


def said(boss: Asker, name: str) -> list[str]:
    return [each["text"] for each in boss.get(f"/api/agents/{name}/messages")["messages"]]


# ── names ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_open_page_stays_with_its_agent_when_another_one_takes_the_name(
    person: Watched, server: Server, boss: Asker
) -> None:
    page = person.signed_in(server, "#/agent/Ada")
    tab(page, "Notes")
    page.get_by_role("textbox", name="New note for Ada").fill("a note for the first")
    page.get_by_role("textbox", name="Message to Ada").fill("hello to the first")
    page.get_by_role("button", name="Settings").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("New name")).to_have_value("Ada")
    rename(boss, "Ada", "Cleo")
    rename(boss, "Bea", "Ada")

    expect(page.locator(".who h1")).to_have_text("Cleo")
    expect(page).to_have_url(f"{server.url}/#/agent/Cleo/notes")
    expect(page).to_have_title("Cleo · muster")
    dialog.get_by_label("New name").fill("Dora")
    dialog.get_by_role("button", name="Rename", exact=True).click()
    expect(dialog).to_be_hidden()
    expect(page.locator(".who h1")).to_have_text("Dora")
    expect(page).to_have_url(f"{server.url}/#/agent/Dora/notes")
    assert {each["name"] for each in boss.get("/api/agents")["agents"]} == {"Ada", "Dora"}

    page.get_by_role("textbox", name="New note for Dora").press("End")
    page.get_by_role("button", name="Add note").click()
    expect(page.get_by_role("textbox", name="Note 1")).to_have_value("a note for the first")
    page.get_by_role("textbox", name="Message to Dora").press("Enter")
    expect(page.locator(".bubble.human")).to_contain_text("hello to the first")
    page.get_by_role("button", name="Start Agent").click()
    expect(page.locator(".bubble:not(.human)")).to_contain_text("I heard hello to the first")
    for name, words in (
        ("Soul", "I am the first."),
        ("Wake payload", 'name="Dora"'),
        ("Transcript", "hello to the first"),
        ("Output", "awake"),
        ("Why", "Dora"),
    ):
        tab(page, name)
        expect(page.get_by_role("tabpanel")).to_contain_text(words)
    shot(page, "renamed-twice")
    assert boss.get("/api/agents/Ada/notes")["notes"] == []
    assert said(boss, "Ada") == []
    assert boss.get("/api/agents/Ada/run")["desired"] == "pause"


def test_reload_and_back_lead_to_the_agent_that_was_shown_whatever_it_is_called_now(
    person: Watched, server: Server, boss: Asker
) -> None:
    page = person.signed_in(server, "#/agent/Ada")
    expect(page.locator(".who h1")).to_have_text("Ada")
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Team")).to_be_visible()
    rename(boss, "Ada", "Cleo")
    rename(boss, "Bea", "Ada")
    page.go_back()
    expect(page.locator(".who h1")).to_have_text("Cleo")
    page.reload()
    expect(page.locator(".who h1")).to_have_text("Cleo")
    expect(page).to_have_url(f"{server.url}/#/agent/Cleo")
    page.get_by_role("link", name="Team").first.click()
    page.get_by_role("link", name="Ada", exact=True).click()
    tab(page, "Soul")
    expect(page.get_by_role("tabpanel")).to_contain_text("I am the second.")
    page.goto(f"{server.url}/#/agent/Bea")  # an old link, and nobody is called so now
    expect(page.locator(".who h1")).to_have_text("Ada")


def test_the_page_of_an_egg_is_that_of_the_agent_that_hatches(
    person: Watched, tmp_path: Path
) -> None:
    with live(led(tmp_path / "led")) as server, asker(server, server.token) as boss:
        boss.asked("PUT", "/api/agents/Julian/run", 200, json={"desired": "continuous"})
        boss.post("/api/agents/summon", {}, 201)
        page = person.signed_in(server, "#/agent/agent-identity:0")
        expect(page.locator(".who h1")).to_have_text("Seat 0, unnamed")
        page.get_by_role("textbox", name="Message to").fill("welcome")
        boss.post("/api/send", {"message": "hatch"}, 201)
        expect(page.locator(".who h1")).to_have_text("Lyra")
        expect(page).to_have_url(f"{server.url}/#/agent/Lyra")
        box = page.get_by_role("textbox", name="Message to Lyra")
        expect(box).to_have_value("welcome")
        box.press("Enter")
        expect(page.locator(".bubble.human")).to_contain_text("welcome")
        page.goto(f"{server.url}/#/agent/agent-identity:0")
        expect(page).to_have_url(f"{server.url}/#/agent/Lyra")


# ── typed text ────────────────────────────────────────────────────────────────────────────────────


def test_text_typed_into_notes_survives_what_others_do_to_notes(
    person: Watched, server: Server, boss: Asker
) -> None:
    base = "/api/agents/Ada/notes"
    for text in ("first", "second", "third"):
        boss.post(base, {"text": text}, 201)
    page = person.signed_in(server, "#/agent/Ada")
    tab(page, "Notes")
    note = [page.get_by_role("textbox", name=f"Note {number}", exact=True) for number in range(6)]
    note[1].fill("first, of mine")
    note[3].fill("third, of mine")
    new = page.get_by_role("textbox", name="New note for Ada")
    new.fill("a thought that is not fin")
    boss.asked("PUT", f"{base}/1", 200, json={"text": "first, of another"})
    boss.asked("PUT", f"{base}/2", 200, json={"text": "second, of another"})
    boss.delete(f"{base}/3")
    boss.post(base, {"text": "fourth"}, 201)

    expect(note[4]).to_have_value("fourth")
    expect(note[2]).to_have_value("second, of another")
    expect(note[1]).to_have_value("first, of mine")
    items = page.locator("agent-notes li")
    expect(items.nth(0)).to_contain_text("changed meanwhile. It says: first, of another")
    expect(note[3]).to_have_value("third, of mine")
    expect(items.last).to_contain_text("deleted meanwhile")
    expect(new).to_have_value("a thought that is not fin")
    shot(page, "notes-meanwhile")
    rename(boss, "Ada", "Cleo")
    expect(page.locator(".who h1")).to_have_text("Cleo")
    page.reload()
    tab(page, "Notes")
    expect(note[1]).to_have_value("first, of mine")
    expect(note[3]).to_have_value("third, of mine")
    expect(page.get_by_role("textbox", name="New note for Cleo")).to_have_value(
        "a thought that is not fin"
    )
    page.get_by_role("button", name="Save note 3").click()
    expect(note[5]).to_have_value("third, of mine")
    page.get_by_role("button", name="Save note 1").click()
    expect(items).to_have_count(4)

    def texts() -> list[str]:
        return [each["text"] for each in boss.get("/api/agents/Cleo/notes")["notes"]]

    wanted = ["first, of mine", "second, of another", "fourth", "third, of mine"]
    until(lambda: texts() == wanted)
    page.get_by_role("button", name="Add note").click()
    expect(items).to_have_count(5)
    page.reload()
    tab(page, "Notes")
    expect(items).to_have_count(5)
    expect(page.get_by_role("textbox", name="New note for Cleo")).to_have_value("")


def test_a_draft_and_a_field_that_is_being_edited_survive_live_updates(
    person: Watched, server: Server, boss: Asker
) -> None:
    ada = {"runtime": "claude"}
    boss.post("/api/settings/agents", {"name": "Clara", "settings": ada}, 201)
    page = person.signed_in(server, "#/agent/Clara")
    model = page.locator("program-choice").get_by_label("Model")
    model.press_sequentially("claude-ha")
    for count in range(3):
        change = {"settings": {"description": f"number {count}"}}
        with page.expect_response("**/program"):
            boss.asked("PATCH", "/api/settings/agents/Clara", 200, json=change)
    model.press_sequentially("iku")
    expect(model).to_have_value("claude-haiku")
    rename(boss, "Clara", "Clio")
    expect(page.locator(".who h1")).to_have_text("Clio")
    expect(model).to_have_value("claude-haiku")
    model.press("Enter")
    settings = "/api/settings/agents/Clio/program"
    until(lambda: boss.get(settings)["model"] == "claude-haiku")

    box = page.get_by_role("textbox", name="Message to Clio")
    box.fill("half a tho")
    boss.delete("/api/settings/agents/Clio")
    expect(page.get_by_role("heading", level=1)).to_have_text("No agent is called Clio")
    boss.post("/api/settings/agents", {"name": "Clio", "settings": ada}, 201)
    expect(box).to_have_value("half a tho")
