"""Text of agents is shown as text and breaks nothing; the policy blocks injected markup."""

import re
import socket
from collections.abc import Generator
from contextlib import suppress
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.asking import Asker, asker
from tests.live import Server, live
from tests.web.pages import Watched, home_with
from tests.web.teams import command
from tests.web.test_agent import HOSTILE

TURNED = "before \u202eturned round\u202c \u2066isolated\u2069 \u200fafter"
ONE_LINE = "<img src=x onerror=window.hurt=1> [a](javascript:window.hurt=1) " + TURNED

PRINTER = f"""
import json, sys
for text in {[*HOSTILE, TURNED, "x" * 300_000]!r}:
    print(text)
    print(text, file=sys.stderr)
print("\\x1b[31mred\\x1b[0m \\x07 bell")
print("the end")
"""

FLOOD = """
import sys, time
begin = time.monotonic()
for hundredth in range(600):
    time.sleep(max(0, begin + hundredth / 100 - time.monotonic()))
    lines = "".join(f"line {hundredth * 100 + n} <b>&\\u202e{'x' * n}\\n" for n in range(100))
    sys.stdout.write(lines + ("y" * 500_000 + "\\n" if hundredth % 100 == 0 else ""))
    sys.stdout.flush()
print("the flood is over")
"""
"""Ten thousand lines a second for six seconds, and now and then one of half a megabyte."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    folder = tmp_path_factory.mktemp("hostile")
    tables = "[agents.Printer]\n" + command(folder, "printer", PRINTER)
    tables += "[agents.Flood]\n" + command(folder, "flood", FLOOD)
    with live(home_with(folder, tables)) as running:
        yield running


@pytest.fixture
def operator(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


def harmless(page: Page) -> None:
    """No script ran, no markup was created, nothing overflows, no other text is reversed."""
    assert page.evaluate("window.hurt") is None
    forbidden = "main :is(script, iframe, object, style, meta, base, [onclick], [onerror], img)"
    assert page.locator(forbidden).count() == 0
    links = page.locator("a").evaluate_all("links => links.map(link => link.protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}
    wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(wide)
    assert page.evaluate(TURNED_ROUND) == []


TURNED_ROUND = r"""() => {
  const tricks = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walk.nextNode()) {
    const { data, length } = walk.currentNode;
    if (!/^[ -~]{3,60}$/.test(data.trim()) || tricks.test(data)) continue;
    const [first, last] = [data.search(/\S/), data.trimEnd().length - 1].map((at) => {
      const range = document.createRange();
      range.setStart(walk.currentNode, at);
      range.setEnd(walk.currentNode, at + 1);
      return range.getBoundingClientRect();
    });
    if (first.width && first.top === last.top && first.left > last.left) found.push(data);
  }
  return found;
}"""
"""Every text in plain letters whose first letter stands to the right of its last."""


# ── what agents write ─────────────────────────────────────────────────────────────────────────────


def test_output_is_shown_as_text_everywhere(visitor: Watched, server: Server) -> None:
    asked: list[str] = []
    visitor.context.on("request", lambda request: asked.append(request.url))
    page = visitor.signed_in(server, "#/agent/Printer")
    page.get_by_role("button", name="Run Single Session").click()
    lines = page.locator("live-output .lines")
    expect(lines).to_contain_text("the end")
    expect(lines).to_contain_text('<b onclick="window.hurt=1">there</b>')
    expect(lines).to_contain_text(re.compile(r"… \(\d+ characters\)"))
    made = lines.locator("> div *").evaluate_all("all => all.map(each => each.outerHTML)")
    assert made == ['<span class="ansi-red">red</span>']  # its colour, and nothing else
    harmless(page)
    page.goto(f"{server.url}/#/time")
    expect(page.locator("live-log li").first).to_be_visible()
    harmless(page)
    page.goto(f"{server.url}/#/")
    expect(page.locator("agent-card").first).to_be_visible()
    harmless(page)
    assert all(url.startswith((server.url, "data:image/svg+xml")) for url in asked), asked


def test_channel_messages_are_shown_as_text_everywhere(
    visitor: Watched, server: Server, operator: Asker
) -> None:
    channel = "<b>design"
    at = f"/api/channels/{quote(channel, safe='')}"
    operator.post("/api/agents", {"name": "Mallory"}, 201)
    operator.post("/api/agents/Mallory/connect")
    created = operator.http.post("/api/channels", json={"channel": channel})
    if not created.is_success:  # then no name can be hostile
        channel, at = "design", "/api/channels/design"
        operator.post("/api/channels", {"channel": channel}, 201)
    operator.post(f"{at}/members", {"agent": "Mallory"}, 201)
    asked: list[str] = []
    visitor.context.on("request", lambda request: asked.append(request.url))
    page = visitor.signed_in(server, f"#/channel/{quote(channel, safe='')}")
    expect(page.locator("channel-thread .log")).to_contain_text("Mallory")
    for text in (*HOSTILE, TURNED):
        operator.post(f"{at}/messages", {"message": text, "agent": "Mallory"}, 201)
    expect(page.locator(".said")).to_have_count(len(HOSTILE) + 1)
    expect(page.locator(".said .text p").first).to_be_visible()
    waits = {"agent": "Mallory", "reason": ONE_LINE, "timeoutSeconds": 600}
    operator.post(f"{at}/turn/wait", waits)
    expect(page.locator("channel-view")).to_contain_text("onerror=window.hurt=1")
    harmless(page)
    page.goto(f"{server.url}/#/")
    expect(page.locator("needs-list")).to_contain_text("<img src=x onerror=window.hurt=1>")
    harmless(page)
    page.goto(f"{server.url}/#/agent/Mallory")
    expect(page.locator("agent-view .need")).to_contain_text("<img src=x")
    harmless(page)
    page.goto(f"{server.url}/#/time")
    expect(page.locator("live-log li").first).to_be_visible()
    harmless(page)
    assert all(url.startswith((server.url, "data:image/svg+xml")) for url in asked), asked


def test_ten_thousand_lines_a_second_are_bounded_and_the_page_stays_responsive(
    person: Watched, server: Server
) -> None:
    page = person.signed_in(server, "#/agent/Flood")
    page.evaluate(
        "window.long = []; new PerformanceObserver(list => list.getEntries()"
        ".forEach(each => window.long.push(each.duration))).observe({ type: 'longtask' })"
    )
    page.get_by_role("button", name="Run Single Session").click()
    lines = page.locator("live-output .lines")
    expect(lines).to_contain_text("<b>&")
    box = page.get_by_role("textbox", name="Message to Flood")
    box.press_sequentially("still here")
    expect(box).to_have_value("still here")
    box.press("Escape")
    for view in ("4", "1", "2"):  # every view is reached while it goes on
        page.keyboard.press(view)
        expect(page.locator("nav a[aria-current]")).to_have_attribute("title", TITLE[view])
    assert page.evaluate("document.querySelectorAll('*').length") < 6000
    page.goto(f"{server.url}/#/agent/Flood")
    expect(lines).to_contain_text("the flood is over")
    assert lines.locator("div").count() <= 1000
    slow = [each for each in page.evaluate("window.long") if each > 1000]
    assert len(slow) < 5  # of some hundred: that many a busy machine can cause, a slow page more


TITLE = {"1": "Team ( 1 )", "2": "Channels ( 2 )", "4": "Time ( 4 )"}


# ── the policy ────────────────────────────────────────────────────────────────────────────────────

BROKEN_IN = r"""async (evil) => {
  const violated = new Set();
  const note = ({ effectiveDirective }) => violated.add(effectiveDirective);
  document.addEventListener("securitypolicyviolation", note);
  const put = (tag, set = {}, text = "") => {
    const element = Object.assign(document.createElement(tag), set);
    element.append(text);
    document.body.append(element);
    return element;
  };
  const refused = [];
  const tried = (name, run) => {
    try { run(); } catch (error) { refused.push(`${name}: ${error.name}`); }
  };
  tried("innerHTML", () => { put("div").innerHTML = "<img src=x onerror='window.hurt=1'>"; });
  const later = (run) => new Promise((done) => setTimeout(() => done(run())));
  await later(() => tried("eval", () => window.eval("window.hurt = 2")));
  tried("handler", () => put("b").setAttribute("onclick", "window.hurt=3"));
  document.querySelector("body > b")?.click();
  tried("script", () => put("script", {}, "window.hurt = 4"));
  tried("address", () => put("script", { src: `${evil}/x.js` }));
  tried("policy", () => trustedTypes.createPolicy("evil", { createHTML: (html) => html }));
  tried("frame", () => put("iframe", { src: `${evil}/` }));
  put("a", { href: "javascript:window.hurt=5" }, "x").click();
  put("img", { src: `${evil}/?secret` });
  put("div").setAttribute("style", "position:fixed;inset:0");
  put("style", {}, "body { display: none }");
  put("link", { rel: "stylesheet", href: `${evil}/x.css` });
  tried("object", () => put("object", { data: `${evil}/` }));
  await fetch(`${evil}/`).catch(() => {});
  const form = put("form", { action: `${evil}/`, method: "post" });
  form.submit();
  await new Promise((done) => setTimeout(done, 300));
  return { violated: [...violated].sort(), refused, hurt: window.hurt ?? null };
}"""
"""Everything that hostile text could try if it had slipped by as markup."""


def heard(server: socket.socket) -> bytes:
    """Whatever was sent there. A browser may connect ahead of a request that it then refuses."""
    said = b""
    with suppress(BlockingIOError):
        while True:
            caller, _ = server.accept()
            with caller, suppress(BlockingIOError):
                caller.setblocking(False)
                said += caller.recv(1000)
    return said


def test_the_content_security_policy_blocks_injected_markup(
    person: Watched, server: Server
) -> None:
    page = person.signed_in(server)
    with socket.create_server(("127.0.0.1", 0)) as evil:
        evil.setblocking(False)
        found = page.evaluate(BROKEN_IN, f"http://127.0.0.1:{evil.getsockname()[1]}")
        assert heard(evil) == b""
    assert found["hurt"] is None
    assert {"innerHTML: TypeError", "eval: EvalError"} <= set(found["refused"])
    assert {"handler: TypeError", "policy: TypeError"} <= set(found["refused"])
    stopped = {"connect-src", "form-action", "frame-src", "img-src"}
    stopped |= {"script-src-elem", "style-src-attr", "style-src-elem"}
    assert stopped <= set(found["violated"]), found
    assert page.evaluate("document.querySelector('connection-pill').checkVisibility()")
    assert person.wrong  # the browser's console tells of every one of them
    person.wrong.clear()


def test_every_response_has_its_content_type_and_security_headers(
    server: Server, operator: Asker
) -> None:
    for path in ("/", "/api/state", "/api/log", "/api/agents", "/api/docs", "/nothing"):
        answer = operator.http.get(path)
        assert answer.headers["x-content-type-options"] == "nosniff", path
        kind = answer.headers["content-type"]
        if "html" in kind:
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy, path
            assert "unsafe" not in policy, path
            assert "frame-ancestors 'none'" in policy, path


def test_the_api_page_allows_only_its_own_style(person: Watched, server: Server) -> None:
    page = person.signed_in(server)
    page.goto(f"{server.url}/api/docs")
    expect(page.get_by_role("heading", name="muster: the HTTP API")).to_be_visible()
    body = page.locator("body")
    assert body.evaluate("body => getComputedStyle(body).fontSize") == "16px"
    width = "body => parseFloat(getComputedStyle(body).maxWidth)"
    assert body.evaluate(width) == 960  # its own style counts
