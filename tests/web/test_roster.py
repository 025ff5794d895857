"""The roster: agents by what they do, as cards or as a list, filtered and sorted."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Page, expect

from muster.machines.commands import EnrollAgent
from muster.machines.vocabulary import Authority
from tests.asking import Asker, asker
from tests.live import Server, live
from tests.waits import LIFE_SECONDS
from tests.web.pages import PHONE, Watched, home_with, in_both_themes, played
from tests.web.test_team import card

NAMES = ("ada", "bo", "cy", "dee", "eli", "fay", "gus", "hal", "ivy", "jan", "kit", "lou")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """A team of twelve agents that connect by themselves."""
    team = [EnrollAgent(name=name, authority=Authority.SELF) for name in NAMES]
    patient = f"[presence]\nheartbeat_timeout_seconds = {LIFE_SECONDS}\n"
    with live(played(home_with(tmp_path_factory.mktemp("twelve"), patient), *team)) as running:
        yield running


@pytest.fixture(scope="module")
def operator(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        somebody.post("/api/channels", {"channel": "design"}, 201)
        for name in ("ada", "bo", "cy"):
            somebody.post(f"/api/agents/{name}/connect")
        yield somebody


def groups(page: Page) -> dict[str, list[str]]:
    """The headings of the roster, and the agents under each."""
    read = "all => all.map(each => [each.querySelector('h2').firstChild.textContent.trim(), "
    read += "[...each.querySelectorAll('agent-card .name')].map(name => name.textContent)])"
    found: list[tuple[str, list[str]]] = page.locator(".roster section").evaluate_all(read)
    return dict(found)


def test_agents_stand_in_groups_by_what_they_do(
    person: Watched, server: Server, operator: Asker
) -> None:
    page = person.signed_in(server)
    expect(page.locator(".roster [data-group=stopped] agent-card")).to_have_count(9)
    assert list(groups(page)) == ["Ready", "Stopped"]
    assert groups(page)["Ready"] == ["ada", "bo", "cy"]
    expect(page.locator(".counts")).to_have_text("3 ready9 stopped")

    operator.post("/api/channels/design/members", {"agent": "ada"}, 201)
    working = page.get_by_role("region", name="Working")
    expect(working).to_contain_text("ada")
    expect(working).to_contain_text("working in design")
    card(page, "ada").focus()
    wait = {"agent": "ada", "reason": "Blue or green?", "timeoutSeconds": 600}
    operator.post("/api/channels/design/turn/wait", wait)
    expect(page.locator(".roster [data-group=needs]")).to_contain_text("Blue or green?")
    expect(card(page, "ada")).to_be_focused()  # it was moved, and keeps the focus
    assert next(iter(groups(page))) == "Needs you"
    expect(page.locator(".counts")).to_contain_text("1 need you")
    operator.post("/api/channels/design/turn/resume", {"agent": "ada"})
    expect(working).to_contain_text("ada")
    operator.post("/api/channels/design/turn/complete", {"agent": "ada", "message": "Blue."})
    expect(card(page, "ada").locator(".meaning")).not_to_contain_text("working")
    # nothing more happens: the numbers follow the roster all the same
    expect(page.locator(".counts")).not_to_contain_text("working")


def test_a_large_team_is_a_list_until_a_person_wants_cards(
    person: Watched, server: Server, operator: Asker
) -> None:
    page = person.signed_in(server)
    expect(card(page, "lou")).to_be_visible()
    assert operator.get("/api/state")["agents"]
    row = card(page, "lou").bounding_box()
    assert row is not None
    assert row["height"] < 50
    page.get_by_role("button", name="Cards").click()
    tall = card(page, "lou").bounding_box()
    assert tall is not None
    assert tall["height"] > 80
    page.reload()
    expect(page.get_by_role("button", name="Cards")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="List", exact=True).click()
    expect(page.locator(".roster")).to_have_attribute("data-shape", "list")


def test_a_filter_and_an_order_narrow_and_sort_the_roster(
    person: Watched, server: Server, operator: Asker
) -> None:
    page = person.signed_in(server)
    expect(page.locator("agent-card")).to_have_count(len(NAMES))
    page.keyboard.press("f")
    page.keyboard.type("stopped")
    expect(page.locator("agent-card")).to_have_count(9)
    page.keyboard.type(" lou")
    expect(page.locator("agent-card")).to_have_count(1)
    assert groups(page) == {"Stopped": ["lou"]}
    page.get_by_role("searchbox").fill("nobody has this name")
    expect(page.get_by_text("No agent matches the filter.")).to_be_visible()
    page.get_by_role("searchbox").fill("")
    page.get_by_label("Sort agents by").select_option("name")
    expect(page.locator("agent-card")).to_have_count(len(NAMES))
    assert groups(page)["Stopped"] == list(NAMES[3:])


def test_the_list_is_usable_for_everybody(
    inspector: Watched, server: Server, operator: Asker
) -> None:
    assert operator.get("/api/health")
    page = inspector.signed_in(server)
    expect(card(page, "lou")).to_be_visible()
    assert in_both_themes(page) == []
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert in_both_themes(page) == []
