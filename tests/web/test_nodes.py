"""Several machines in the page: two real nodes on one PostgreSQL, one of which is killed."""

import re
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.live import Server, live
from tests.several_nodes import new_team_in_database, node_home
from tests.web.pages import PHONE, Watched, in_both_themes

AGENTS = "".join(
    f'[agents.{name}]\ncommand = ["sh", "-c", "cat >/dev/null"]\nlong_lived = true\n'
    "autostart = true\n"
    for name in ("Mia", "Sam")
)
"""Programs that wait for input, and end in order as soon as they are asked to."""


class TwoNodes(NamedTuple):
    """The servers of one team's two machines. The desk starts first, so all agents are there."""

    desk: Server
    box: Server


@pytest.fixture
def nodes(tmp_path: Path) -> Generator[TwoNodes]:
    kept = new_team_in_database()
    desk = node_home(tmp_path, "desk", kept, AGENTS)
    box = node_home(tmp_path, "gpu-box", kept, AGENTS, 'labels = ["gpu"]\nroom = 4')
    with ExitStack() as opened:
        yield TwoNodes(opened.enter_context(live(desk)), opened.enter_context(live(box)))


def card(page: Page, name: str) -> Locator:
    return page.locator("agent-card", has=page.get_by_role("link", name=name))


def machine(page: Page, name: str) -> Locator:
    return page.locator("node-line li", has_text=name)


def move_from_card(page: Page, name: str) -> Locator:
    """Open the dialog in which an agent is moved."""
    card(page, name).get_by_label("More about").click()
    page.get_by_role("menuitem", name="Move to …").click()
    return page.get_by_role("dialog")


def test_an_agent_is_moved_in_the_page_and_off_a_dead_machine_at_a_second_word(
    nodes: TwoNodes, inspector: Watched
) -> None:
    page = inspector.signed_in(nodes.desk)
    expect(machine(page, "desk")).to_contain_text("2 sessions")
    expect(machine(page, "gpu-box")).to_contain_text(re.compile(r"0 of 4 sessions.*gpu"))
    expect(machine(page, "gpu-box")).to_contain_text(re.compile(r"load \d+ %"))
    expect(card(page, "Sam")).to_contain_text("on desk")

    dialog = move_from_card(page, "Sam")
    expect(dialog).to_contain_text("Files are not copied")
    assert in_both_themes(page) == []
    dialog.get_by_role("button", name="Move to gpu-box").click()
    expect(dialog).to_have_count(0)
    expect(card(page, "Sam")).to_contain_text("on gpu-box")
    expect(machine(page, "gpu-box")).to_contain_text("1 of 4 sessions")

    nodes.box.process.kill()
    expect(machine(page, "gpu-box")).to_contain_text("away since")
    expect(machine(page, "gpu-box")).not_to_contain_text("load")
    expect(card(page, "Sam")).to_contain_text("its machine gpu-box is away")
    dialog = move_from_card(page, "Sam")
    dialog.get_by_role("button", name="Move to desk").click()
    expect(dialog.get_by_role("alert")).to_contain_text("may still run on node 'gpu-box'")
    assert in_both_themes(page) == []
    dialog.get_by_role("button", name="move it to desk anyway").click()
    expect(card(page, "Sam")).to_contain_text("on desk")
    expect(machine(page, "desk")).to_contain_text("2 sessions")
    assert in_both_themes(page) == []


def test_the_page_of_an_agent_moves_it_and_no_line_is_wider_than_a_phone(
    nodes: TwoNodes, person: Watched
) -> None:
    page = person.signed_in(nodes.box, "#/agent/Mia")
    page.get_by_role("button", name="Move to …").click()
    page.get_by_role("dialog").get_by_role("button", name="Move to gpu-box").click()
    expect(page.locator("agent-view .facts").first).to_contain_text("on gpu-box")

    page.set_viewport_size(PHONE)
    page.goto(f"{nodes.box.url}/#/")
    expect(machine(page, "gpu-box")).to_contain_text("1 of 4 sessions")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_team_on_one_machine_has_no_line_of_machines_and_nowhere_to_move(
    tmp_path: Path, person: Watched
) -> None:
    with live(node_home(tmp_path, "desk", new_team_in_database(), AGENTS)) as server:
        page = person.signed_in(server)
        card(page, "Sam").get_by_label("More about").click()
        expect(page.get_by_role("menuitem", name="Settings")).to_be_visible()
        expect(page.get_by_role("menuitem", name="Move to …")).to_have_count(0)
        expect(page.locator("node-line")).to_be_hidden()
