"""An import puts another agent in a seat while a person writes to the one before."""

from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import expect

from muster.machines.commands import ImportTeam
from tests.asking import Asker, asker
from tests.live import Json, Server, live
from tests.machines.teams.papers import paper
from tests.web.pages import Watched, played

ZORA = paper(0, "Zora", born=9)
LYRA = paper(0, "Lyra", born=0)
"""The older one: it wins the seat."""


@pytest.fixture
def server(tmp_path: Path) -> Generator[Server]:
    with live(played(tmp_path / "home", ImportTeam(documents=(ZORA,)))) as running:
        yield running


@pytest.fixture
def boss(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


def take_in_lyra(boss: Asker) -> None:
    documents: Json = [msgspec.to_builtins(LYRA)]
    boss.asked("POST", "/api/import", 200, json={"documents": documents})


def said(boss: Asker) -> list[str]:
    return [each["text"] for each in boss.get("/api/agents/Lyra/messages")["messages"]]


def test_text_that_was_typed_for_the_one_before_is_shown_and_not_sent(
    person: Watched, server: Server, boss: Asker
) -> None:
    """It stood in the box for the other agent, and Enter sent it there."""
    page = person.signed_in(server, "#/agent/Zora")
    page.get_by_role("textbox", name="Message to Zora").fill("a secret for Zora")
    take_in_lyra(boss)
    expect(page.locator(".who h1")).to_have_text("Lyra")
    told = page.get_by_role("alert").filter(has_text="An import has put Lyra in the place of Zora")
    expect(told).to_contain_text("a secret for Zora")
    box = page.get_by_role("textbox", name="Message to Lyra")
    expect(box).to_have_value("")
    box.fill("hello Lyra")
    box.press("Enter")
    expect(page.locator(".bubble.human")).to_contain_text("hello Lyra")
    assert said(boss) == ["hello Lyra"]


def test_a_message_that_is_under_way_is_refused(boss: Asker) -> None:
    """The page has not heard of the import yet."""
    (zora,) = boss.get("/api/agents")["agents"]
    body = {
        "message": "a secret for Zora",
        "targetAgent": "agent-identity:0",
        "targetCreatedAt": zora["document"]["createdAt"],
    }
    boss.asked("POST", "/api/send", 201, json=body)
    take_in_lyra(boss)
    refused = boss.asked("POST", "/api/send", 409, json=body | {"message": "another secret"})
    assert (refused["code"], "'Lyra'" in str(refused)) == ("seat_of_another", True)
    (kept,) = boss.get("/api/agents/Lyra/messages")["messages"]
    shown = (kept["text"], kept["targetAgent"], kept["delivery"])
    assert shown == ("a secret for Zora", "Zora", "accepted")
