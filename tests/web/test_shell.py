"""The page around the views: sign-in, policy, shortcuts, themes, shared stream, reconnecting."""

import re
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from muster.http.page.static import (
    FOLDER,
    POLICY,
    SCRIPTS,
    STYLE,
    WORKERS,
    dashboard,
    sources,
    style_parts,
)
from tests.asking import Asker, a_name, asker
from tests.live import NO_TLS, Server, live
from tests.waits import WAIT_SECONDS
from tests.web.pages import (
    PHONE,
    Watched,
    a_free_port,
    hard_to_use,
    live_at,
    sign_in_code,
    watched,
)
from tests.web.teams import programs

FIRST_VIEW_BYTES_MAX = 150_000


PAGE_BYTES_MAX = 160_000
"""All files of the page together, compressed."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(programs(tmp_path_factory.mktemp("shell"))) as running:
        yield running


@pytest.fixture
def operator(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


def connected(operator: Asker, name: str) -> str:
    """A connected agent."""
    operator.post("/api/agents", {"name": name}, 201)
    operator.post(f"/api/agents/{name}/connect")
    return name


# ── signing in ────────────────────────────────────────────────────────────────────────────────────


def test_the_printed_link_signs_in_once_and_lands_on_the_page(
    visitor: Watched, server: Server
) -> None:
    page = visitor.context.new_page()
    page.goto(server.url)
    expect(page.locator("body")).to_contain_text("muster open")
    link = f"{server.url}/sign-in#{sign_in_code(server)}"
    page.goto(f"{link}/agent/Echo")
    expect(page.get_by_role("heading", name="Echo", exact=True)).to_be_visible()
    assert page.url == f"{server.url}/#/agent/Echo"
    page.close()
    later = visitor.context.new_page()
    later.goto(server.url)
    expect(later.locator("agent-card").first).to_be_visible()
    (cookie,) = visitor.context.cookies()
    assert cookie.get("expires", 0) > 10**9  # it outlives the browser
    assert cookie.get("httpOnly")
    assert cookie.get("sameSite") == "Strict"
    assert cookie.get("name") == f"muster-{server.url.rpartition(':')[2]}"
    assert server.token not in cookie.get("value", "")


def test_a_signed_out_browser_is_told_how_to_sign_in(person: Watched, server: Server) -> None:
    page = person.signed_in(server)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    page.goto(f"{server.url}/#/agent/Echo")
    expect(page.locator("body")).to_contain_text("muster open")
    assert not hard_to_use(page)
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("The token is not valid")
    page.get_by_label("Token").fill(server.token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("connection-pill")).to_have_text("live")
    expect(page.get_by_role("heading", name="Echo", exact=True)).to_be_visible()
    assert page.url == f"{server.url}/#/agent/Echo"


def test_an_unknown_address_is_told(person: Watched, server: Server) -> None:
    page = person.signed_in(server, "#/channels/desk")
    expect(page.get_by_role("alert").first).to_contain_text("no page at this address")
    page.goto(f"{server.url}/#/time")
    expect(page.get_by_text("no page at this address")).to_have_count(0)


# ── what is served ────────────────────────────────────────────────────────────────────────────────


def test_the_page_is_light_and_its_comments_are_not_sent() -> None:
    build = dashboard()
    assert sum(len(file.packed) for file in build.files.values()) <= PAGE_BYTES_MAX
    for path, file in build.files.items():
        if path.endswith((".js", ".css")):
            assert not re.search(rb"^([ \t]|//|/\*)", file.plain, re.MULTILINE), path
    style = b"".join(part.read_bytes() for part in style_parts())
    assert build.files[STYLE].plain.count(b"\n") == style.count(b"\n")


def test_every_module_is_a_part_of_a_script_with_the_lines_of_its_source() -> None:
    scripts = {path: dashboard().files[path].plain for path in SCRIPTS}
    for path, content in sources().items():
        names = re.findall(rb"^(?:export )?(?:class|function) (\w+)", content, re.MULTILINE)
        if path.endswith(".js"):
            assert any(set(names) <= _defined(script) for script in scripts.values()), path
    sent, written = scripts["app.js"], (FOLDER / "store.js").read_bytes()
    before = sent[: sent.index(b"\nclass Store{")].partition(b"const $store=(()=>{")[2]
    assert before.count(b"\n") == written[: written.index(b"\nclass Store {")].count(b"\n")


def _defined(script: bytes) -> set[bytes]:
    return set(re.findall(rb"(?:class|function) (\w+)", script))


def test_no_string_of_the_page_looks_like_a_comment_or_indentation() -> None:
    for path in FOLDER.rglob("*.js"):
        for line in path.read_text().splitlines():
            code = re.sub(r"""'["`\\$]+'""", "", line.partition(" // ")[0])
            if not line.lstrip().startswith(("//", "/**", "*")):
                assert all(code.count(quote) % 2 == 0 for quote in '"`'), (path.name, line)


def test_the_page_can_be_installed(server: Server) -> None:
    found = re.search(r'<link rel="manifest" href="([^"]+)"', _front(server).text)
    assert found
    answer = httpx.get(f"{server.url}/{found[1]}", verify=NO_TLS)
    assert answer.headers["content-type"] == "application/manifest+json"
    told = answer.json()
    assert (told["display"], told["start_url"]) == ("standalone", "../../")
    assert "manifest-src 'self'" in _front(server).headers["content-security-policy"]


def test_the_page_has_a_strict_policy_and_nothing_inline(server: Server) -> None:
    answer = _front(server)
    told = answer.headers["content-security-policy"]
    policy = dict(each.split(" ", 1) for each in told.split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in told
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*src=)", answer.text)


@pytest.mark.parametrize("path", [*WORKERS, "icon.svg"])
def test_a_file_that_is_opened_by_itself_has_a_policy_of_its_own(path: str) -> None:
    assert dashboard().files[path].headers["content-security-policy"] == POLICY


def test_static_files_are_cached_for_ever_and_compressed(server: Server) -> None:
    front = _front(server)
    (path,) = [f"/{found}" for found in re.findall(r'src="(web/[^"]+/app\.js)"', front.text)]
    answer = httpx.get(server.url + path, verify=NO_TLS)
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    as_is = {"accept-encoding": "identity"}
    plain = httpx.get(server.url + path, headers=as_is, verify=NO_TLS)
    assert "content-encoding" not in plain.headers
    assert plain.text == answer.text
    known = {"if-none-match": answer.headers["etag"]}
    assert httpx.get(server.url + path, headers=known, verify=NO_TLS).status_code == 304
    assert _front(server, **known).status_code == 304
    assert "no-cache" in front.headers["cache-control"]
    for wrong in (path.replace("app.js", "none.js"), "/web/older/app.js", "/web/x/..%2fapp.js"):
        assert httpx.get(server.url + wrong, verify=NO_TLS).status_code == 404


def _front(server: Server, **headers: str) -> httpx.Response:
    with httpx.Client(base_url=server.url, verify=NO_TLS) as browser:
        browser.post("/api/session", json={"token": server.token})
        return browser.get("/", headers=headers)


def test_the_first_view_is_small(visitor: Watched, server: Server) -> None:
    asked: list[Request] = []
    visitor.context.on("requestfinished", lambda request: asked.append(request))
    page = visitor.signed_in(server)
    expect(page.locator("agent-card").first).to_be_visible()
    sizes = [each.sizes() for each in asked]
    total = sum(each["responseHeadersSize"] + each["responseBodySize"] for each in sizes)
    assert 10_000 < total < FIRST_VIEW_BYTES_MAX


def test_a_view_begins_at_its_top_back_finds_the_place_and_no_view_waits_for_files(
    person: Watched, server: Server
) -> None:
    page = person.signed_in(server)
    page.set_viewport_size({"width": 400, "height": 300})
    expect(page.locator("agent-card").first).to_be_visible()
    page.evaluate("scrollTo(0, 150)")
    page.evaluate("location.hash = '#/agent/Echo'")
    expect(page.get_by_role("heading", name="Echo", exact=True)).to_be_visible()
    assert page.evaluate("scrollY") == 0
    expect(page.locator("main")).to_be_focused()
    page.go_back()
    expect(page.locator("agent-card").first).to_be_visible()
    page.wait_for_function("scrollY === 150")

    page.route("**/*", lambda route: route.abort("connectionrefused"))
    page.get_by_role("link", name="Time").click()
    expect(page.get_by_role("heading", name="Time", exact=True)).to_be_visible()


# ── keys, search, themes ──────────────────────────────────────────────────────────────────────────


def test_a_question_mark_shows_the_keyboard_shortcuts(person: Watched, server: Server) -> None:
    page = person.signed_in(server)
    expect(page.locator("agent-card").first).to_be_visible()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    for key in ("/", "?", "n", "s", "w"):
        expect(dialog.get_by_text(key, exact=True)).to_be_visible()
    expect(dialog).to_contain_text("Press the main button of the selected agent")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Help").click()
    expect(dialog).to_be_visible()


def test_search_matches_letters_and_enter_opens_the_result(person: Watched, server: Server) -> None:
    page = person.signed_in(server)
    expect(page.locator("agent-card").first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("fai")
    expect(page.get_by_role("option").first).to_contain_text("Faily")
    expect(page.get_by_role("option")).to_have_count(1)  # an act needs its verb first
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Faily", exact=True)).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("never started")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option").nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("1")
    expect(page.get_by_role("heading", name="Team")).to_be_visible()


def test_a_verb_is_offered_first_for_the_name_that_begins_with_the_next_word(
    person: Watched, server: Server, operator: Asker
) -> None:
    for name in ("qq-zbackend", "zbuilder"):
        connected(operator, name)
    page = person.signed_in(server)
    expect(page.get_by_role("link", name="zbuilder")).to_be_attached()
    page.keyboard.press("/")
    page.keyboard.type("message zb")
    found = page.locator("dialog [role=option]")
    expect(found.filter(has_text="qq-zbackend")).to_be_visible()
    expect(found.first).to_contain_text("Message zbuilder")


def test_the_theme_follows_the_system_until_a_user_chooses(person: Watched, server: Server) -> None:
    page = person.signed_in(server)
    page.emulate_media(color_scheme="dark")
    assert _background(page) == "rgb(13, 17, 23)"
    page.keyboard.press("t")
    assert _background(page) == "rgb(246, 247, 249)"
    page.reload()
    assert _background(page) == "rgb(246, 247, 249)"
    page.get_by_role("button", name="Theme: light").click()
    page.emulate_media(color_scheme="light")
    assert _background(page) == "rgb(13, 17, 23)"


def _background(page: Page) -> str:
    return page.evaluate("getComputedStyle(document.documentElement).backgroundColor")


# ── made for people ───────────────────────────────────────────────────────────────────────────────


def test_on_a_phone_nothing_scrolls_sideways_and_buttons_are_large_enough(
    browser: Browser, server: Server
) -> None:
    with watched(browser, viewport=PHONE | {"width": 320}, has_touch=True) as person:
        for place in ("#/", "#/agent/Echo"):
            page = person.signed_in(server, place)
            expect(page.locator("agent-card, chat-thread").first).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= 320
            seen = "buttons => buttons.map(button => button.offsetHeight).filter(height => height)"
            assert min(page.locator("main button").evaluate_all(seen)) >= 38


def test_animations_are_off_for_users_who_prefer_reduced_motion(
    browser: Browser, server: Server
) -> None:
    with watched(browser, reduced_motion="reduce") as person:
        page = person.signed_in(server)
        assert page.evaluate(WOBBLE) == "none"
        page.emulate_media(reduced_motion="no-preference")
        assert page.evaluate(WOBBLE) == "wobble"


WOBBLE = """() => {
    const egg = document.body.appendChild(document.createElement("i"));
    egg.className = "egg";
    return getComputedStyle(egg).animationName;
}"""


def test_a_user_who_opts_in_gets_browser_notifications(
    visitor: Watched, server: Server, operator: Asker
) -> None:
    visitor.context.grant_permissions(["notifications"])
    visitor.context.add_init_script(
        "window.Notification = class extends Notification { constructor(title, options) {"
        "  super(title, options); document.documentElement.dataset.told = title; } };"
    )
    page = visitor.signed_in(server)
    missing = {"remedy": "Web Push needs the extra"}  # then the open page tells
    page.route("**/api/push", lambda route: route.fulfill(json=missing))
    page.keyboard.press("?")
    page.get_by_role("button", name="Notifications").click()
    expect(page.get_by_role("dialog")).to_contain_text("Web Push needs the extra")
    page.get_by_label("Notify me while this page is open").check()
    page.keyboard.press("Escape")
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
    name, channel = connected(operator, a_name("Nan")), a_name("desk")
    operator.post("/api/channels", {"channel": channel}, 201)
    operator.post(f"/api/channels/{channel}/members", {"agent": name}, 201)
    operator.post(f"/api/channels/{channel}/turn/wait", {"agent": name, "reason": "a key?"})
    expect(page.locator("html")).to_have_attribute("data-told", f"{name} is waiting for you")
    operator.post(f"/api/channels/{channel}/turn/resume", {"agent": name})


# ── live ──────────────────────────────────────────────────────────────────────────────────────────


def test_more_tabs_than_a_browser_has_connections_share_one_stream_and_agree(
    visitor: Watched, server: Server, operator: Asker
) -> None:
    asked: list[str] = []
    visitor.context.on("request", lambda request: asked.append(request.url))
    tabs = [visitor.signed_in(server) for _ in range(7)]
    name = connected(operator, a_name("Ten"))
    for tab in tabs:
        expect(tab.get_by_role("link", name=name)).to_be_attached()
    assert sum("/api/events" in url for url in asked) <= 1  # a worker's own requests are not seen


@pytest.mark.parametrize("way", ["leader", "direct"])
def test_tabs_are_live_without_a_shared_worker(
    visitor: Watched, server: Server, operator: Asker, way: str
) -> None:
    visitor.signed_in(server).close()
    tabs = [visitor.context.new_page() for _ in range(2)]
    for tab in tabs:
        tab.goto(f"{server.url}/?stream={way}")
        expect(tab.locator("connection-pill")).to_have_text("live")
    name = connected(operator, a_name("Way"))
    for tab in tabs:
        expect(tab.get_by_role("link", name=name)).to_be_attached()
    tabs[0].close()  # the leader is gone; the next tab takes over
    last = connected(operator, a_name("Last"))
    expect(tabs[1].get_by_role("link", name=last)).to_be_attached()


def test_a_restart_is_shown_and_no_event_is_missed(person: Watched, tmp_path: Path) -> None:
    home, port = programs(tmp_path), a_free_port()
    with live_at(home, port) as server:
        page = person.signed_in(server, "#/agent/Echo")
        box = page.get_by_role("textbox", name="Message to Echo")
        box.fill("half a thought")
        with asker(server, server.token) as operator:
            before = operator.get("/api/health")["seq"]
        page.evaluate(HEAR_ALL)
        server.process.kill()
        server.process.wait(WAIT_SECONDS)
        expect(page.locator("connection-pill")).to_contain_text("disconnected since")
        expect(page.get_by_role("heading", name="Echo", exact=True)).to_be_visible()  # it stays
    with live_at(home, port) as server, asker(server, server.token) as operator:
        operator.post("/api/agents/Echo/messages", {"message": "I was away"}, 201)
        expect(page.locator("connection-pill")).to_have_text("live")
        expect(page.locator(".bubble")).to_contain_text("I was away")
        expect(box).to_have_value("half a thought")
        expect(box).to_be_focused()
        heard = [seq for seq in page.evaluate("heard") if seq > before]
        last = operator.get("/api/health")["seq"]
        assert heard == list(range(before + 1, last + 1))
        expect(page.get_by_role("complementary", name="New version")).to_be_hidden()


HEAR_ALL = """() => {
  const Part = Object.getPrototypeOf(customElements.get("agent-view"));
  globalThis.heard = [];
  class HearAll extends Part {
    start() { this.listen((events) => heard.push(...events.map(({ seq }) => seq))); }
  }
  customElements.define("hear-all", HearAll);
  document.body.append(document.createElement("hear-all"));
}"""
"""An element that keeps the number of every event that elements of the page hear."""


def test_a_page_of_an_older_version_says_so_after_a_restart(
    person: Watched, tmp_path: Path
) -> None:
    home, port = programs(tmp_path), a_free_port()
    with live_at(home, port) as server:
        page = person.signed_in(server, "#/agent/Echo")
        expect(page.locator("connection-pill")).to_have_text("live")
        page.route("**/icon.svg", lambda route: route.fulfill(status=404))
    with live_at(home, port):
        notice = page.get_by_role("complementary", name="New version")
        expect(notice).to_contain_text("muster was updated")
        notice.get_by_role("button", name="Reload").click()
        expect(page.locator("connection-pill")).to_have_text("live")


def test_a_replaced_log_at_the_same_address_is_loaded_again(
    person: Watched, tmp_path: Path
) -> None:
    port = a_free_port()
    first, second = programs(tmp_path / "a"), programs(tmp_path / "b", SOMEBODY_ELSE)
    with live_at(first, port) as server, asker(server, server.token) as operator:
        for _ in range(20):
            operator.post("/api/send", {"message": "hi", "targetAgent": "Echo"}, 201)
        page = person.signed_in(server)
        expect(page.get_by_role("link", name="Echo")).to_be_visible()
        token = server.token
    (second / "operator.token").write_text(token)
    with live_at(second, port) as server:
        page.context.request.post(f"{server.url}/api/session", data={"token": server.token})
        expect(page.get_by_role("link", name="Newcomer")).to_be_visible()
        expect(page.locator("connection-pill")).to_have_text("live")


SOMEBODY_ELSE = '[agents.Newcomer]\ncommand = ["true"]\n'


def test_fifty_events_a_second_disturb_neither_focus_nor_frame_rate(
    person: Watched, server: Server, operator: Asker
) -> None:
    name = connected(operator, a_name("Busy"))
    page = person.signed_in(server, f"#/agent/{name}")
    box = page.get_by_role("textbox", name=f"Message to {name}")
    page.get_by_role("tab", name="Why").click()
    box.focus()
    page.evaluate(
        "window.long = []; new PerformanceObserver(list => list.getEntries()"
        ".forEach(each => window.long.push(each.duration))).observe({ type: 'longtask' })"
    )
    for number in range(100):
        operator.post(f"/api/agents/{name}/messages", {"message": f"number {number}"}, 201)
        if number % 10 == 0:
            box.press_sequentially("a")
    expect(page.locator(".bubble").last).to_contain_text("number 99")
    expect(box).to_have_value("a" * 10)
    expect(box).to_be_focused()
    expect(page.get_by_role("tab", name="Why")).to_have_attribute("aria-selected", "true")
    assert page.url.endswith(f"#/agent/{name}/why")
    slow = [each for each in page.evaluate("window.long") if each > 200]
    assert len(slow) < 20  # a page that is slow is so at each of the hundred, a busy machine at few


def test_a_server_that_gives_no_sign_is_noticed(visitor: Watched, server: Server) -> None:
    page = visitor.context.new_page()
    page.clock.install()
    visitor.kept = page
    page = visitor.signed_in(server, "?stream=direct")
    held: list[Route] = []
    page.route("**/api/events*", lambda route: held.append(route))
    page.clock.fast_forward(21_000)  # longer than the pause between two signs of life
    expect(page.locator("connection-pill")).to_have_text(
        re.compile(r"^no answer since .+, reconnecting$")
    )
    held[0].continue_()
    expect(page.locator("connection-pill")).to_have_text("live")
