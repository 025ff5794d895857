"""muster behind real proxies with TLS, HTTP/2 and a path prefix, in a real browser."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from playwright.sync_api import Browser, expect

from muster import Client
from muster.http.signing_in.trusted_header import SECRET_VARIABLE
from tests.asking import asker
from tests.forkserver import ForkedProcess
from tests.live import Server, live
from tests.waits import WAIT_SECONDS
from tests.web.pages import a_free_port, watched
from tests.web.proxies import ProxyPlan, caddy, nginx, until_up
from tests.web.test_tls import certificate

Proxy = Callable[[Path, ProxyPlan], AbstractContextManager[None]]


class Behind(NamedTuple):
    """A muster behind a proxy: its own address, the public one, the link to sign in."""

    server: Server
    url: str
    link: str
    cert: Path


@pytest.fixture(scope="module", params=[nginx, caddy], ids=["nginx", "caddy"])
def behind(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Behind]:
    proxy: Proxy = request.param
    folder = tmp_path_factory.mktemp("proxy")
    cert, key = certificate(folder)
    port = a_free_port()
    url = f"https://localhost:{port}/team"
    with live(folder / "home", MUSTER_SERVER_PUBLIC_URL=f"{url}/") as server:
        assert isinstance(server.process, ForkedProcess)
        link = server.process.stdout.readline().removeprefix("Sign in: ").strip()
        with proxy(folder, ProxyPlan(port, server.url, cert, key)):
            until_up(url, cert)
            yield Behind(server, url, link, cert)


def test_a_person_signs_in_looks_acts_and_signs_out_through_a_proxy(
    behind: Behind, browser: Browser
) -> None:
    assert behind.link.startswith(f"{behind.url}/sign-in#")
    with watched(browser, ignore_https_errors=True) as person:
        page = person.context.new_page()
        page.goto(behind.link)
        expect(page.locator("connection-pill")).to_have_text("live")
        assert page.url.startswith(f"{behind.url}/")
        protocol = "performance.getEntriesByType('navigation')[0].nextHopProtocol"
        assert page.evaluate(protocol) == "h2"
        [cookie] = person.context.cookies()
        found = (cookie.get("path"), cookie.get("secure"), cookie.get("httpOnly"))
        assert found == ("/team/", True, True)
        with asker(behind.server, behind.server.token) as boss:  # what others do is shown at once
            boss.post("/api/agents", {"name": "Ada"}, 201)
            boss.post("/api/channels", {"channel": "design", "members": ["Ada"]}, 201)
        expect(page.locator("main")).to_contain_text("Ada")
        page.goto(f"{behind.url}/#/channel/design")
        page.get_by_role("textbox", name="Message").fill("Hello through the proxy")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.locator("channel-thread")).to_contain_text("Hello through the proxy")
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{behind.url}/sign-in")
        assert person.context.cookies() == []
        page.goto(f"{behind.url}/")
        expect(page.get_by_label("Token")).to_be_visible()


def test_events_reach_a_program_through_a_proxy_as_they_happen(
    behind: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(behind.cert))
    with Client(behind.url, behind.server.token) as client:
        events = iter(client.events(after=0))
        first = next(events)  # the stream is open
        with asker(behind.server, behind.server.token) as boss:
            boss.post("/api/agents", {"name": "Bo"}, 201)
        assert first.seq == 1
        assert "Bo" in next(str(each) for each in events if "Bo" in str(each))


def test_a_proxy_leads_to_the_dashboard_from_the_prefix_without_a_slash(behind: Behind) -> None:
    with httpx.Client(verify=False, timeout=WAIT_SECONDS) as http:
        answer = http.get(behind.url)
        assert answer.headers["location"].endswith("/team/")


def test_nginx_signs_people_in_and_muster_knows_their_names(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    port, secret = a_free_port(), "the secret of the two"
    (tmp_path / "muster.htpasswd").write_text("Ada:{PLAIN}password\n")
    url = f"https://localhost:{port}/team"
    header = {"MUSTER_SERVER_TRUSTED_USER_HEADER": "X-Remote-User", SECRET_VARIABLE: secret}
    with live(tmp_path / "home", MUSTER_SERVER_PUBLIC_URL=url, **header) as server:
        with asker(server, server.token) as boss:
            boss.asked("PUT", "/api/users/Ada", 200, json={"role": "member"})
        with (
            nginx(tmp_path, ProxyPlan(port, server.url, cert, key, secret)),
            httpx.Client(verify=False, timeout=WAIT_SECONDS) as http,
        ):
            until_up(url, cert, "Ada:password")
            forged = {"x-remote-user": "Grace"}
            me = http.get(f"{url}/api/me", auth=("Ada", "password"), headers=forged).json()
            assert (me["user"], me["role"]) == ("Ada", "member")
            assert http.get(f"{url}/api/me", headers=forged).status_code == 401
