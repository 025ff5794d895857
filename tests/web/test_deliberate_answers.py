"""An answer to an approval request is for the request that a person has read, and for no other."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.asking import Asker, asker
from tests.inside import Inside, inside
from tests.web.pages import Watched
from tests.web.test_approvals import request


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    with inside(tmp_path_factory.mktemp("deliberate"), "Ada", "Bo") as team:
        team.runs("Ada")
        team.runs("Bo")
        yield team


@pytest.fixture
def operator(muster: Inside) -> Generator[Asker]:
    """A second operator; open requests are denied at the end."""
    with asker(muster.server, muster.server.token) as somebody:
        yield somebody
        for each in waiting(somebody):
            somebody.post(f"/api/approvals/{each}", {"allow": False})


def waiting(operator: Asker) -> list[str]:
    """The open requests."""
    return [each["id"] for each in operator.get("/api/approvals")["approvals"]]


def allow_of(page: Page, asked: str) -> Locator:
    return request(page, asked).get_by_role("button", name="Allow")


def chosen(page: Page, asked: str) -> None:
    """Go to the first request by key, when its buttons count."""
    expect(allow_of(page, asked)).to_be_enabled()
    page.keyboard.press("j")
    expect(request(page, asked)).to_be_focused()


def test_a_held_key_allows_one_request(person: Watched, muster: Inside, operator: Asker) -> None:
    first, second = muster.asks("Ada"), muster.asks("Bo")
    page = person.signed_in(muster.server)
    chosen(page, first)
    page.keyboard.down("y")
    for _ in range(3):
        page.keyboard.down("y")  # the browser marks it as a repetition
    expect(request(page, second)).to_be_focused()
    expect(allow_of(page, second)).to_be_enabled()
    page.keyboard.down("y")
    page.keyboard.up("y")
    page.keyboard.press("x")  # answered after all keys before it
    expect(request(page, second)).to_have_count(0)
    [fact] = [
        each
        for each in operator.get(f"/api/log?types=approval_answered&after={second}")["events"]
        if each["allow"]
    ]
    assert fact["approval"] == first


def test_the_next_request_takes_keys_only_when_it_could_have_been_read(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    first, second = muster.asks("Ada"), muster.asks("Bo")
    page = person.signed_in(muster.server)
    chosen(page, first)
    tap = (
        "addEventListener('focusin', () => dispatchEvent(new KeyboardEvent('keydown', {key: 'y'})))"
    )
    page.evaluate(tap)  # as soon as the next request has the focus
    page.keyboard.press("y")
    page.keyboard.press("y")
    expect(request(page, second)).to_be_focused()
    expect(allow_of(page, second)).to_be_enabled()
    assert waiting(operator) == [second]
    page.keyboard.press("y")
    expect(request(page, second)).to_have_count(0)


def test_a_request_that_is_answered_elsewhere_says_so_and_keeps_the_focus(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    first, second = muster.asks("Ada"), muster.asks("Bo")
    page = person.signed_in(muster.server)
    chosen(page, first)
    operator.post(f"/api/approvals/{first}", {"allow": False})
    over = page.locator("approval-list li.over")
    expect(over).to_contain_text("Denied by human")
    expect(over).to_be_focused()
    page.keyboard.press("y")
    page.keyboard.press("j")
    expect(request(page, second)).to_be_focused()
    expect(over).to_have_count(0)
    assert waiting(operator) == [second]


def test_no_request_moves_to_where_the_pointer_is(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    first, second = muster.asks("Ada"), muster.asks("Bo")
    page = person.signed_in(muster.server)
    expect(allow_of(page, second)).to_be_enabled()
    place = request(page, second).bounding_box()
    allow_of(page, first).hover()
    operator.post(f"/api/approvals/{first}", {"allow": False})
    expect(page.locator("approval-list li.over")).to_contain_text("Denied by human")
    page.mouse.down()
    page.mouse.up()
    assert request(page, second).bounding_box() == place
    allow_of(page, second).click()
    expect(request(page, second)).to_have_count(0)
    allowed = f"/api/log?types=approval_answered&after={second}"
    facts = operator.get(allowed)["events"]
    assert [each["approval"] for each in facts if each["allow"]] == [second]


def test_a_request_that_has_just_moved_does_not_take_a_press(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    asked = muster.asks("Ada")
    page = person.signed_in(muster.server)
    expect(allow_of(page, asked)).to_be_enabled()
    shift = """button => {
        document.querySelector("needs-list h2").style.marginTop = "40px";
        button.click();
        return button.ariaDisabled;
    }"""
    assert allow_of(page, asked).evaluate(shift) == "true"
    expect(allow_of(page, asked)).to_be_enabled()
    assert waiting(operator) == [asked]
    allow_of(page, asked).click()
    expect(request(page, asked)).to_have_count(0)


# ── the palette ───────────────────────────────────────────────────────────────────────────────────


def test_a_search_for_words_of_a_request_does_not_offer_to_allow_it(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    asked = muster.asks("Ada", "Bash", "make zebra")
    page = person.signed_in(muster.server)
    expect(allow_of(page, asked)).to_be_enabled()
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search")
    for words in ("zebra", "make zebra", "bash", "Ada allow"):
        box.fill(words)
        expect(page.locator("dialog [role=option]", has_text="Allow")).to_have_count(0)
    box.fill("allow zebra")
    expect(page.locator("dialog [role=option]").first).to_contain_text("Allow Bash of Ada")
    page.keyboard.press("Enter")
    whole = page.get_by_role("dialog", name="Request of Ada")
    expect(whole.locator("pre")).to_have_text("make zebra")
    allow = whole.get_by_role("button", name="Allow Ada: Bash")
    expect(allow).to_be_focused()
    assert waiting(operator) == [asked]
    expect(allow).to_be_enabled()
    page.keyboard.press("Enter")
    expect(whole).to_have_count(0)
    assert waiting(operator) == []


# ── the keyboard in the list ──────────────────────────────────────────────────────────────────────


def test_a_note_survives_a_reload_and_a_checked_box_leaves_the_keys_alone(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    first, second = muster.asks("Ada"), muster.asks("Bo")
    page = person.signed_in(muster.server)
    request(page, first).get_by_role("textbox", name="Note for Ada").fill("not there")
    page.reload()
    note = request(page, first).get_by_role("textbox", name="Note for Ada")
    expect(note).to_have_value("not there")
    expect(allow_of(page, second)).to_be_enabled()
    request(page, first).get_by_role("checkbox", name="Select Ada: Bash").check()
    page.keyboard.press("j")
    expect(request(page, second)).to_be_focused()
    page.keyboard.press("h")
    expect(request(page, second)).to_have_count(0)
    page.keyboard.press("u")
    expect(request(page, second)).to_be_focused()  # what came back


def test_a_tool_whose_name_is_a_sentence_is_quoted(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    asked = muster.asks("Ada", "Read (allowed by operator)", "x")
    page = person.signed_in(muster.server)
    expect(request(page, asked).locator(".wants")).to_have_text(
        "asks to use a tool called “Read (allowed by operator)”"
    )
