"""Approvals and costs in the dashboard: requests, timeouts, answers, usage."""

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from muster.machines import commands as c
from muster.machines.ids import ChannelId
from tests.asking import Asker, asker
from tests.inside import Inside, inside
from tests.live import Json
from tests.web.pages import DESKTOP, PHONE, Watched, in_both_themes
from tests.web.test_hostile import harmless
from tests.web.test_team import card

HOSTILE = (
    "<img src=x onerror=window.hurt=1> before \u202eturned round\u202c \u2066isolated\u2069\n"
    "\x1b[2Jcleared\x00 soft\u00adhyphen tag\U000e0041 <script>window.hurt=1</script>"
)


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    with inside(tmp_path_factory.mktemp("approvals"), "Ada", "Bo") as team:
        team.runs("Ada")
        team.opens("design", "Ada", "Bo")
        begin = c.PostMessage(channel=ChannelId("design"), text="Begin.", speaker_name="Grace")
        team.send(begin)  # without news, an agent that muster runs gets no turn
        yield team


@pytest.fixture
def operator(muster: Inside) -> Generator[Asker]:
    """A second operator; open requests are denied at the end."""
    with asker(muster.server, muster.server.token) as somebody:
        yield somebody
        for each in somebody.get("/api/approvals")["approvals"]:
            somebody.post(f"/api/approvals/{each['id']}", {"allow": False})


def request(page: Page, asked: str) -> Locator:
    """The row of an open request."""
    return page.locator(f"approval-list li[data-approval='{asked}']")


def answer_to(operator: Asker, asked: str) -> Json:
    """The answer of a request in the log."""
    events = operator.get(f"/api/log?types=approval_answered&after={asked}")["events"]
    [fact] = [each for each in events if each["approval"] == asked]
    return fact


# ── asking and answering ──────────────────────────────────────────────────────────────────────────


def test_an_approval_request_appears_at_once_and_a_person_allows_it(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    page = person.signed_in(muster.server)
    ada = card(page, "Ada")
    expect(ada.locator(".meaning")).to_have_text("working in design")
    expect(page.locator("needs-list")).to_be_hidden()
    asked = muster.asks("Ada", "Bash", "rm -r build\nmake", by="tester", seconds=600)
    row = request(page, asked)
    expect(row.locator(".asked")).to_have_text("Ada asks to use Bash (subagent tester) in #design")
    answers = r"Allow\s*Deny\s*Later"
    until = r"Answer within [\d:]+, else it is denied"
    whole = rf"Ada asks .* #design\s*{until}\s*rm -r build\s*make\s*{answers}"
    expect(row).to_have_text(re.compile(f"^{whole}$"), use_inner_text=True)
    expect(row.locator("pre")).to_have_text("rm -r build\nmake")
    expect(row.locator(".rest")).to_have_text(re.compile(r"within 9:\d\d, else it is denied"))
    expect(ada.locator(".meaning")).to_have_text("waiting for you: approval of Bash")
    expect(page.locator("needs-list h2")).to_have_text("Needs you (1)")
    expect(page).to_have_title(re.compile(r"^\(1\) "))

    page.route("**/api/approvals/*", lambda route: held.append(route))
    held: list[Route] = []
    row.get_by_role("button", name="Allow Ada: Bash").click()
    expect(row.get_by_role("button", name="Allow Ada: Bash")).to_have_text("Allow …")
    expect(ada.locator(".meaning")).to_contain_text("waiting for you")  # nothing is guessed
    held[0].continue_()
    page.unroute("**/api/approvals/*")
    expect(row).to_have_count(0)
    expect(ada.locator(".meaning")).to_have_text("working in design")
    expect(page.locator("needs-list")).to_be_hidden()
    assert (answer_to(operator, asked)["allow"], answer_to(operator, asked)["how"]) == (
        True,
        "person",
    )


def test_a_person_denies_in_the_agents_own_view_and_says_why(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    asked = muster.asks("Ada", "Write", "hello.py", default=True)
    page = person.signed_in(muster.server, "#/agent/Ada")
    row = request(page, asked)
    expect(row.locator(".rest")).to_contain_text("else it is allowed")
    row.get_by_role("textbox", name="Note for Ada").fill("not in this folder")
    row.get_by_role("button", name="Deny Ada: Write").click()
    expect(row).to_have_count(0)
    fact = answer_to(operator, asked)
    assert (fact["allow"], fact["note"]) == (False, "not in this folder")


def test_a_person_answers_with_the_keyboard_alone(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    page = person.signed_in(muster.server)
    first, second = muster.asks("Ada", "Bash"), muster.asks("Ada", "Write")
    expect(request(page, second)).to_be_visible()
    page.keyboard.press("a")
    expect(request(page, first)).to_be_focused()
    for _ in range(3):  # the agent, the channel, the note
        page.keyboard.press("Tab")
    expect(page.get_by_role("textbox", name="Note for Ada").first).to_be_focused()
    page.keyboard.press("Tab")
    allow = page.get_by_role("button", name="Allow Ada: Bash")
    expect(allow).to_be_focused()
    expect(allow).to_be_enabled()  # when the request has been in view for a moment
    page.keyboard.press("Enter")
    expect(request(page, first)).to_have_count(0)
    expect(request(page, second)).to_be_focused()  # the focus does not jump to the top
    assert answer_to(operator, first)["allow"] is True
    page.keyboard.press("Tab")
    operator.post(f"/api/approvals/{second}", {"allow": False})
    expect(page.locator("#main")).to_be_focused()


def test_requests_and_answers_are_announced_to_screen_readers(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    page = person.signed_in(muster.server)
    live_region = page.get_by_role("status").filter(has_not=page.locator(".dot")).last
    asked = muster.asks("Ada", "Bash")
    expect(live_region).to_have_text("Ada is waiting for your approval: Bash.")
    operator.post(f"/api/approvals/{asked}", {"allow": True})
    expect(live_region).to_have_text("The request of Ada was allowed.")


def test_a_request_answered_elsewhere_or_by_timeout_disappears(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    page = person.signed_in(muster.server)
    asked = muster.asks("Ada")
    expect(request(page, asked)).to_be_visible()
    operator.post(f"/api/approvals/{asked}", {"allow": False})
    expect(request(page, asked)).to_have_count(0)
    later = muster.asks("Ada", seconds=59)
    expect(request(page, later).locator(".rest")).to_have_text(
        re.compile(r"within \d+ s, else it is denied")
    )
    operator.post(f"/api/approvals/{later}", {"allow": False})
    soon = muster.asks("Ada", seconds=2)
    muster.until(lambda _: not muster.agent("Ada").approvals)
    expect(request(page, soon)).to_have_count(0)
    assert answer_to(operator, soon)["how"] == "deadline"


# ── a decision ────────────────────────────────────────────────────────────────────────────────────

DIFF = "--- core.py\n+++ core.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2"


def test_a_request_shows_where_it_acts_what_it_does_and_what_it_changes(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    page = person.signed_in(muster.server)
    effects = ("deletes build (214 files)", "runs make")
    asked = muster.asks("Ada", "Bash", "rm -r build; make", folder="/home/app", effects=effects)
    row = request(page, asked)
    expect(row.locator(".folder")).to_have_text("in /home/app")
    expect(row.locator(".effect")).to_have_text(list(effects))
    expect(row.locator(".effect.grave")).to_have_text("deletes build (214 files)")
    expect(row.get_by_role("button", name="Always")).to_have_count(0)
    edit = request(page, muster.asks("Ada", "Edit", "file_path: core.py", change=DIFF))
    expect(edit.locator(".change .gone")).to_have_text("-two")
    expect(edit.locator(".change .added")).to_have_text("+2")


@pytest.mark.parametrize(
    ("label", "scope"), [("For this session", "session"), ("Always", "always")]
)
def test_a_permission_reaches_as_far_as_a_person_says_and_is_kept_in_the_history(
    person: Watched, muster: Inside, operator: Asker, label: str, scope: str
) -> None:
    page = person.signed_in(muster.server)
    asked = muster.asks("Ada", "Bash", "pytest -q", rules=("Bash(pytest:*)",))
    row = request(page, asked)
    expect(row.get_by_role("button", name="Allow once Ada: Bash")).to_be_visible()
    button = row.get_by_role("button", name=f"{label} Ada: Bash")
    expect(button).to_have_attribute("title", f"{label}: Bash(pytest:*)")
    button.click()
    expect(row).to_have_count(0)
    assert answer_to(operator, asked)["scope"] == scope
    page.goto(f"{muster.server.url}/#/agent/Ada")
    page.locator("decision-list summary").click()
    reach = "for the session" if scope == "session" else "always"
    expect(page.locator("decision-list li").first).to_contain_text(f"Allowed {reach} by")
    expect(page.locator("decision-list li").first).to_contain_text("Bash pytest -q")


def test_several_requests_are_answered_at_once_and_one_is_put_off(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    page = person.signed_in(muster.server)
    first, second, third = (muster.asks("Ada", "Bash", f"test {n}") for n in range(3))
    request(page, third).get_by_role("button", name="Later Ada: Bash").click()
    expect(request(page, third)).to_have_count(0)
    page.get_by_role("checkbox", name="Select all requests").check()
    page.get_by_role("button", name="Allow 2").click()
    for asked in (first, second):
        expect(request(page, asked)).to_have_count(0)
        assert answer_to(operator, asked)["allow"] is True
    page.get_by_role("button", name="Undo (u)").click()
    expect(request(page, third)).to_be_visible()


# ── in a channel ──────────────────────────────────────────────────────────────────────────────────


def test_a_channel_shows_the_request_its_turn_waits_for_and_only_the_answer_resumes_it(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    asked = muster.asks("Ada", "Bash", "make release")
    page = person.signed_in(muster.server, "#/channel/design")
    head = page.locator("channel-view .whole .head")
    expect(head).to_contain_text(
        "Ada is waiting for your approval in turn 1; the turn timeout is paused."
    )
    expect(page.get_by_role("button", name="Resume the turn")).to_be_hidden()
    request(page, asked).get_by_role("button", name="Allow").click()
    expect(head).to_contain_text("Ada has turn 1.")
    expect(page.locator("channel-view approval-list")).to_be_hidden()


# ── what is asked is hostile ──────────────────────────────────────────────────────────────────────


def test_a_request_is_shown_as_text_with_invisible_characters_made_visible(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    tricky = "Ba\u202esh<b>"
    asked = muster.asks("Ada", tricky, HOSTILE, by="\u2066helper<i>")
    for place in ("", "#/agent/Ada", "#/channel/design"):
        page = person.signed_in(muster.server, place)
        row = request(page, asked)
        expect(row.locator("pre")).to_contain_text(
            "<img src=x onerror=window.hurt=1> before ⟨U+202E⟩"
        )
        for shown in ("⟨U+001B⟩[2J", "⟨U+0000⟩", "soft⟨U+00AD⟩hyphen", "tag⟨U+E0041⟩", "⟨U+2066⟩"):
            expect(row.locator("pre")).to_contain_text(shown)
        expect(row.locator(".wants")).to_contain_text(
            "asks to use a tool called “Ba⟨U+202E⟩sh<b>” (subagent ⟨U+2066⟩helper<i>)"
        )
        assert row.locator("pre > *").count() == 0
        expect(page.locator("#notices :is(b, i)")).to_have_count(0)
        harmless(page)
        page.close()
    page = person.signed_in(muster.server, "#/time")
    expect(page.locator("live-log")).to_contain_text(f"needs approval {asked}")
    harmless(page)


def test_a_long_request_scrolls_and_says_how_long_it_is(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    asked = muster.asks("Ada", "Write", "echo harmless" + "\n" * 400 + "rm -rf /")
    page = person.signed_in(muster.server)
    row = request(page, asked)
    expect(row.locator(".size")).to_have_text("401 lines, 421 characters: scroll to see all of it")
    expect(row.locator("pre")).to_contain_text("rm -rf /")
    row.locator("pre").focus()
    page.keyboard.press("End")
    bottom = "pre => Math.ceil(pre.scrollTop + pre.clientHeight) >= pre.scrollHeight"
    page.wait_for_function(bottom, arg=row.locator("pre").element_handle())


# ── costs ─────────────────────────────────────────────────────────────────────────────────────────


def test_costs_are_shown_only_where_there_is_usage(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    page = person.signed_in(muster.server)
    total = page.locator("team-view .head .cost")
    expect(card(page, "Ada").locator(".cost")).to_be_hidden()
    expect(total).to_be_hidden()
    muster.spends("Ada", 0.25, 1000, "design")
    expect(card(page, "Ada").locator(".cost")).to_have_text("$0.2500")
    expect(card(page, "Bo").locator(".cost")).to_be_hidden()
    expect(total).to_have_text("$0.2500 used")
    expect(total).to_have_attribute("title", re.compile(r"^\$0\.2500, 1,000 tokens;"))
    total.click()
    days = page.get_by_role("dialog", name="Costs by day (UTC)")
    expect(days.locator("tbody td:not(:first-child)")).to_have_text(
        ["Ada", "", "$0.2500, 1,000 tokens"]
    )
    page.keyboard.press("Escape")
    muster.spends("Ada", 1, 500)
    expect(total).to_have_text(re.compile(r"^\$1\.25 used · \$\d+\.\d\d/min$"))
    page.goto(f"{muster.server.url}/#/agent/Ada")
    expect(page.locator("agent-view .facts")).to_contain_text("used $1.25, 1,500 tokens")
    page.goto(f"{muster.server.url}/#/agent/Bo")
    expect(page.locator("agent-view .facts")).to_contain_text("run by muster")
    expect(page.locator("agent-view .facts")).not_to_contain_text("used")


def test_a_person_sets_the_cost_limit_of_a_channel(
    person: Watched, muster: Inside, operator: Asker
) -> None:
    muster.spends("Ada", 0.25, 1000, "design")
    page = person.signed_in(muster.server, "#/channel/design")
    cost = page.locator("channel-ring .progress li").last
    expect(cost).to_have_text(re.compile(r"^In all: .*\$\d\.\d+, \d,\d+ tokens\b"))
    page.locator("channel-rules summary").click()
    limit = page.get_by_role("spinbutton", name="Cost in all")
    limit.fill("50")
    limit.press("Enter")
    expect(cost).to_contain_text(" of $50.00, ")
    tokens = page.get_by_role("spinbutton", name="Tokens in all")
    tokens.fill("90000")
    tokens.press("Enter")
    expect(cost).to_contain_text(" of 90,000 tokens")
    config = operator.get("/api/channels/design")["config"]
    assert (config["maxCostUsd"], config["maxTokens"]) == (50, 90000)
    limit.fill("-3")
    limit.press("Enter")
    expect(page.locator("channel-rules .error")).not_to_be_empty()
    expect(limit).to_have_value("50")


# ── for everybody ─────────────────────────────────────────────────────────────────────────────────


def test_approval_requests_are_accessible(inspector: Watched, muster: Inside) -> None:
    asked = muster.asks("Ada", "Bash", "\n".join(f"step {number}" for number in range(30)))
    muster.asks("Ada", "Edit", "file_path: core.py", change=DIFF)
    page = inspector.signed_in(muster.server)
    page.set_viewport_size(PHONE)
    for place in ("", "agent/Ada", "channel/design"):
        page.goto(f"{muster.server.url}/#/{place}")
        expect(request(page, asked)).to_be_visible()
        assert in_both_themes(page) == []
        wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert page.evaluate(wide)
        tall = request(page, asked).get_by_role("button").first.bounding_box()
        assert tall is not None
        assert tall["height"] >= 40
        note = request(page, asked).get_by_role("textbox").bounding_box()
        assert note is not None
        assert note["y"] + note["height"] <= tall["y"]  # a line of its own: nothing is cut off
    page.set_viewport_size(DESKTOP)
    page.goto(f"{muster.server.url}/#/agent/Bo")
    muster.runs("Bo")
    shown = muster.asks("Bo", "Bash", "make")
    expect(request(page, shown)).to_be_visible()
    expect(page.get_by_role("textbox", name="Message to Bo")).to_be_in_viewport(ratio=1)
