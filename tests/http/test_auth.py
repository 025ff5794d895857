"""Access control on a real server: tokens, roles, hosts, origins, sizes, rate limits."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from muster import limits
from muster.errors import BadSettings, OverQuota, TooFast
from muster.home import operator_token
from muster.http.auth import RateLimits, is_ours
from muster.http.signing_in.browser_sessions import (
    FILE,
    SESSION_DAYS,
    SESSIONS_MAX,
    BrowserSessions,
)
from muster.http.signing_in.codes import CODE_MINUTES, CODES_MAX, SignInCodes
from muster.machines.state import Team, Token
from muster.machines.vocabulary import Role
from muster.settings.model import ServerSettings, load_settings
from muster.testing.clock import ManualClock
from muster.testing.ids import CountingIds
from tests.asking import Asker, a_name, asker
from tests.forkserver import ForkedProcess
from tests.homes import muster
from tests.inside import inside
from tests.live import NO_TLS, Server, live
from tests.waits import LIFE_SECONDS, WAIT_SECONDS


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with live(tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture
def boss(server: Server) -> Iterator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


@pytest.fixture
def stranger(server: Server) -> Iterator[Asker]:
    with asker(server, None) as somebody:
        yield somebody


# ── tokens ────────────────────────────────────────────────────────────────────────────────────────


def test_health_is_open_to_all_and_nothing_else_is(stranger: Asker) -> None:
    assert stranger.get("/api/health")["status"] == "ok"
    for path in ("/api/agents", "/api/tokens", "/api/openapi.json", "/api/docs", "/api/events"):
        problem = stranger.refused("GET", path, 401, "unauthenticated")
        assert "bearer token" in problem["detail"]


@pytest.mark.parametrize("header", ["Bearer", "Bearer x", "Basic eDp5", "x", "Bearer é"])
def test_a_wrong_token_is_refused(header: str, stranger: Asker) -> None:
    sent = [(b"authorization", header.encode())]
    problem = stranger.refused("GET", "/api/agents", 401, "unauthenticated", headers=sent)
    was_sent = header in ("Bearer x", "Bearer é")
    assert ("its agent was retired" in problem["detail"]) == was_sent
    answer = stranger.http.get("/api/agents", headers=sent)
    assert answer.headers["www-authenticate"] == "Bearer"


def test_an_agent_may_act_only_as_itself(server: Server, boss: Asker) -> None:
    mine, other = a_name("mine"), a_name("other")
    token = boss.post("/api/agents", {"name": mine}, 201)["token"]["secret"]
    boss.post("/api/agents", {"name": other}, 201)
    with asker(server, token) as agent:
        assert agent.post(f"/api/agents/{mine.upper()}/connect")["agent"]["status"] == "alive"
        assert agent.get(f"/api/agents/{other}")["status"] == "sleeping"
        problem = agent.refused("POST", f"/api/agents/{other}/connect", 403, "forbidden")
        assert mine in problem["detail"]
        assert other in problem["detail"]
        for path in ("/api/agents", f"/api/agents/{mine}/disable", "/api/tokens"):
            agent.refused("POST", path, 403, "forbidden", json={"name": "x", "role": "viewer"})


def test_a_viewer_may_only_read(server: Server, boss: Asker) -> None:
    name = a_name("seen")
    boss.post("/api/agents", {"name": name}, 201)
    secret = boss.post("/api/tokens", {"role": "viewer"}, 201)["secret"]
    with asker(server, secret) as viewer:
        assert viewer.get(f"/api/agents/{name}")["name"] == name
        viewer.refused("POST", f"/api/agents/{name}/connect", 403, "forbidden")
        problem = viewer.refused("GET", "/api/tokens", 403, "forbidden")
        assert "A token of role viewer may not do this: list" in problem["detail"]
        assert "/api/" not in problem["detail"]
        assert viewer.get("/api/state")["role"] == "viewer"
        assert boss.get("/api/state")["role"] == "operator"
        for method, path, body in (
            ("PUT", f"/api/agents/{name}/run", {"desired": "continuous"}),
            ("POST", "/api/send", {"message": "hi", "agent": name}),
            ("POST", "/api/approvals/1", {"allow": True}),
            ("POST", "/api/channels", {"channel": name}),
        ):
            viewer.refused(method, path, 403, "forbidden", json=body)


# ── the operator's file ───────────────────────────────────────────────────────────────────────────


def test_the_operators_token_is_in_a_private_file_and_the_printed_link_signs_in_once(
    tmp_path: Path,
) -> None:
    with live(tmp_path) as server:
        assert (tmp_path / operator_token.FILE).stat().st_mode & 0o777 == 0o600
        token = operator_token.find(tmp_path)
        assert token == server.token
        assert server.process.stdout is not None
        link = re.search(r"http://\S+", server.process.stdout.readline())
        assert link
        assert server.token not in link[0]
        code = {"code": link[0].partition("/sign-in#")[2]}
        with httpx.Client(base_url=server.url, verify=NO_TLS) as browser:
            assert "sign-in.js" in browser.get(link[0]).text
            assert browser.get("/api/agents").status_code == 401  # to open a link is not to act
            assert browser.post("/api/session", json=code).json() == {"role": "operator"}
            assert "app.js" in browser.get("/").text  # the dashboard
            assert browser.get("/api/agents").json()["agents"] == []
        with asker(server, None) as late:
            late.refused("POST", "/api/session", 401, "sign_in_expired", json=code)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(WAIT_SECONDS) == 0
    with live(tmp_path) as server:
        assert operator_token.find(tmp_path) == server.token == token


def test_an_operators_file_that_is_gone_or_open_to_others_is_made_anew_and_the_old_token_is_revoked(
    tmp_path: Path,
) -> None:
    tokens: list[str] = []
    for spoil in (_remove, _open_to_others, _overwrite):
        with live(tmp_path) as server, asker(server, server.token) as boss:
            assert len(boss.get("/api/tokens")["tokens"]) == 1
            tokens.append(server.token)
        spoil(tmp_path / operator_token.FILE)
    with live(tmp_path) as server:
        assert server.token not in tokens
        for old in tokens:
            with asker(server, old) as nobody:
                nobody.get("/api/agents", 401)
    assert len(set(tokens)) == 3


def _remove(file: Path) -> None:
    file.unlink()


def _open_to_others(file: Path) -> None:
    file.chmod(0o644)


def _overwrite(file: Path) -> None:
    file.write_text("x")


# ── browsers ──────────────────────────────────────────────────────────────────────────────────────


def test_a_browser_signs_in_by_a_cookie_that_pages_cannot_read(
    server: Server, stranger: Asker
) -> None:
    stranger.refused("POST", "/api/session", 401, "unauthenticated", json={"token": "x"})
    stranger.http.get("/", params={"token": server.token})
    stranger.get("/api/agents", 401)  # no address signs in by itself
    assert "muster open" in stranger.http.get("/").text
    answer = stranger.http.post("/api/session", json={"token": server.token})
    assert answer.json() == {"role": "operator"}
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert stranger.get("/api/agents")
    (session,) = stranger.http.cookies.jar
    assert session.value is not None
    assert server.token not in session.value
    with asker(server, session.value) as thief:  # it is no token
        thief.get("/api/agents", 401)
    assert stranger.http.delete("/api/session").status_code == 204
    stranger.get("/api/agents", 401)
    stranger.http.cookies.set(session.name, session.value)  # by somebody who has seen it
    stranger.get("/api/agents", 401)


def test_an_operator_lists_signed_in_browsers_and_signs_one_out(
    server: Server, boss: Asker, stranger: Asker
) -> None:
    stranger.post("/api/session", {"token": server.token})
    [shown] = boss.get("/api/browsers")["browsers"]
    assert (shown["role"], shown["isThis"]) == ("operator", False)
    [own] = stranger.get("/api/browsers")["browsers"]
    assert own["isThis"]

    assert boss.http.delete(f"/api/browsers/{shown['id']}").status_code == 204

    stranger.get("/api/agents", 401)
    boss.refused("DELETE", f"/api/browsers/{shown['id']}", 404, "not_found")


def test_a_code_signs_in_once_and_not_for_ever() -> None:
    clock = ManualClock()
    codes = SignInCodes(clock.now, CountingIds())
    first, *more = [codes.issue("digest").code for _ in range(CODES_MAX + 1)]
    assert codes.take(first) is None  # the oldest made room
    assert codes.take(more[0]) == "digest"
    assert codes.take(more[0]) is None
    clock.advance(CODE_MINUTES * 60)
    assert codes.take(more[1]) is None


def test_only_an_operator_gets_a_code(boss: Asker, stranger: Asker) -> None:
    token = boss.post("/api/tokens", {"role": "viewer"}, 201)
    stranger.post("/api/session", {"token": token["secret"]})
    stranger.refused("POST", "/api/session/code", 403, "forbidden")


def test_a_token_is_no_cookie(server: Server, stranger: Asker) -> None:
    for name in ("muster", f"muster-{server.url.rpartition(':')[2]}"):
        stranger.http.cookies.set(name, server.token)
    stranger.get("/api/agents", 401)


def test_a_browser_is_signed_out_when_its_token_is_revoked(boss: Asker, stranger: Asker) -> None:
    token = boss.post("/api/tokens", {"role": "viewer"}, 201)
    assert stranger.post("/api/session", {"token": token["secret"]}) == {"role": "viewer"}
    assert stranger.get("/api/agents")
    boss.delete(f"/api/tokens/{token['id']}")
    stranger.get("/api/agents", 401)


def test_two_servers_on_one_host_do_not_sign_each_other_out(server: Server, tmp_path: Path) -> None:
    with live(tmp_path / "other") as other, httpx.Client(verify=NO_TLS) as browser:
        for each in (server, other):
            browser.post(f"{each.url}/api/session", json={"token": each.token})
        for each in (server, other):
            assert browser.get(f"{each.url}/api/agents").status_code == 200
        browser.delete(f"{other.url}/api/session")
        assert browser.get(f"{other.url}/api/agents").status_code == 401
        assert browser.get(f"{server.url}/api/agents").status_code == 200


def test_a_restart_signs_no_browser_out_and_the_home_has_no_secret_of_it(tmp_path: Path) -> None:
    with httpx.Client(verify=NO_TLS) as browser:
        with live(tmp_path) as before:
            browser.post(f"{before.url}/api/session", json={"token": before.token})
            (cookie,) = browser.cookies.jar
            assert cookie.value is not None
        kept = tmp_path / FILE
        assert kept.stat().st_mode & 0o777 == 0o600
        assert cookie.value not in kept.read_text()
        with live(tmp_path) as after:
            name = f"muster-{after.url.rpartition(':')[2]}"
            browser.cookies.set(name, cookie.value)
            assert browser.get(f"{after.url}/api/agents").status_code == 200
            assert browser.delete(f"{after.url}/api/session").status_code == 204
        assert json.loads(kept.read_bytes()) == {}


def test_a_session_of_a_browser_ends_after_its_days_and_the_oldest_makes_room() -> None:
    clock = ManualClock()
    token = Token(id="1", role=Role.VIEWER)
    team = Team(tokens={"digest": token, "other": token})
    browsers = BrowserSessions(clock.now, CountingIds())
    other = browsers.open("other")
    first, *more = [browsers.open("digest") for _ in range(SESSIONS_MAX + 1)]
    assert browsers.token_of(team, first) is None
    assert all(browsers.token_of(team, each) is token for each in (*more, other))
    clock.advance(SESSION_DAYS * 24 * 3600)
    assert browsers.token_of(team, other) is None


def test_sessions_of_browsers_that_cannot_be_read_or_kept_cost_only_a_sign_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    (tmp_path / FILE).write_text("nonsense")
    assert BrowserSessions(clock.now, CountingIds(), tmp_path).token_of(Team(), "anything") is None
    nowhere = BrowserSessions(clock.now, CountingIds(), tmp_path / "nowhere")
    session = nowhere.open("digest")
    token = Token(id="1", role=Role.VIEWER)
    assert nowhere.token_of(Team(tokens={"digest": token}), session) is token
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]


def test_a_page_of_another_site_cannot_use_the_cookie(server: Server, stranger: Asker) -> None:
    stranger.post("/api/session", {"token": server.token})
    ours, theirs = {"origin": server.url}, {"origin": "http://evil.example"}
    wish = {"role": "viewer"}
    for origin in (theirs, {"origin": "null"}, {}):
        problem = stranger.refused(
            "POST", "/api/tokens", 403, "forbidden", json=wish, headers=origin
        )
        assert "page" in problem["detail"]
    stranger.asked("POST", "/api/tokens", 201, json=wish, headers=ours)


@pytest.mark.parametrize("path", ["/api/agents/Ada/messages", "/api/agents"])
def test_a_page_of_another_port_cannot_even_read_with_the_cookie(
    path: str, server: Server, stranger: Asker, boss: Asker
) -> None:
    if "Ada" not in str(boss.get("/api/agents")):
        boss.post("/api/agents", {"name": "Ada"}, 201)
    stranger.post("/api/session", {"token": server.token})
    for site in ("same-site", "cross-site"):
        stranger.refused("GET", path, 403, "forbidden", headers={"sec-fetch-site": site})
    for site in ("same-origin", "none"):
        stranger.asked("GET", path, 200, headers={"sec-fetch-site": site})


def test_a_page_of_another_site_cannot_use_a_token_either(server: Server, boss: Asker) -> None:
    evil = {"origin": "http://evil.example"}
    boss.refused("POST", "/api/tokens", 403, "forbidden", json={"role": "viewer"}, headers=evil)
    fine = {"origin": server.url}
    boss.asked("POST", "/api/tokens", 201, json={"role": "viewer"}, headers=fine)


def test_a_rebound_dns_name_is_refused(boss: Asker) -> None:
    for host in ("evil.example", "evil.example:6878", "127.0.0.1.evil.example", ""):
        answer = boss.http.get("/api/agents", headers={"host": host})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert boss.http.get("/api/agents", headers={"host": "localhost:1"}).status_code == 200


@pytest.mark.parametrize(
    ("authority", "host", "ours"),
    [
        ("127.0.0.1:6878", "127.0.0.1", True),
        ("127.9.9.9", "127.0.0.1", True),
        ("LOCALHOST", "127.0.0.1", True),
        ("[::1]:6878", "127.0.0.1", True),
        ("[::1]", "127.0.0.1", True),
        ("::1", "127.0.0.1", True),
        ("192.0.2.1", "127.0.0.1", False),
        ("192.0.2.1:80", "0.0.0.0", True),
        ("[2001:db8::1]:80", "::", True),
        ("team.example:80", "0.0.0.0", False),
        ("team.example:80", "team.example", True),
        ("Team.Example", "team.example", True),
        ("", "127.0.0.1", False),
        ("localhost:x", "127.0.0.1", False),
    ],
)
def test_which_names_are_ours(authority: str, host: str, ours: bool) -> None:
    assert is_ours(authority, host) is ours


# ── bad requests ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{", 400),
        (b"not json", 400),
        (b'{"name": "\xff"}', 400),
        (b'{"name": "\\ud800"}', 400),
        (b'{"x": ' + b"[" * 100_000, 400),
        (b"[]", 422),
        (b"{}", 422),
        (b"null", 422),
        (b'{"name": 7}', 422),
        (b'{"name": ""}', 422),
        (b'{"name": "../../etc/passwd"}', 422),
        (b'{"name": "a", "maxTurns": 0}', 422),
        (b'{"name": "a", "maxTurns": 1e400}', 422),
        (b'{"name": "a", "maxTurns": 9999999999999999999999}', 422),
        (b'{"name": "a", "color": "' + b"x" * 1000 + b'"}', 422),
    ],
)
def test_an_invalid_request_is_refused(content: bytes, status: int, boss: Asker) -> None:
    boss.refused("POST", "/api/agents", status, "invalid", content=content)


def test_a_body_that_is_too_large_is_refused_though_all_of_it_was_sent(boss: Asker) -> None:
    for size in (limits.REQUEST_BYTES_MAX + 1, 50 * 1024 * 1024):
        content = b'{"name": "' + b"x" * size + b'"}'
        problem = boss.refused("POST", "/api/agents", 413, "too_large", content=content)
        assert problem["found"] == {"limit": limits.REQUEST_BYTES_MAX}


def test_a_path_or_a_method_that_is_not_there_is_told_as_a_problem(boss: Asker) -> None:
    boss.refused("GET", "/nowhere", 404, "not_found")
    boss.refused("GET", "/api/agents/", 404, "not_found")
    boss.refused("GET", "/api/agents/a%2Fb", 404, "not_found")
    boss.refused("GET", "/api/agents/%FF%00", 404, "not_found")
    boss.refused("GET", f"/api/agents/agent-identity:{'9' * 5000}", 404, "not_found")
    boss.refused("PUT", "/api/agents", 405, "wrong_method")
    assert boss.http.put("/api/agents").headers["allow"] == "GET, POST"


# ── rates ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_token_has_a_rate_which_can_be_saved_up_for_a_burst() -> None:
    now = [0.0]
    rates = RateLimits(lambda: now[0])
    for _ in range(int(10 * limits.BURST_SECONDS)):
        rates.spend("a", 10)
    with pytest.raises(TooFast, match=r"10 requests a second exceeded. Retry after 0\.1 s"):
        rates.spend("a", 10)
    rates.spend("b", 10)
    now[0] = 0.1
    rates.spend("a", 10)
    with pytest.raises(TooFast):
        rates.spend("a", 10)


def test_a_token_has_a_quota_of_bytes_and_writes_a_minute() -> None:
    now = [0.0]
    rates = RateLimits(lambda: now[0])
    rates.spend_minute("a", 600, 500, "bytes")
    with pytest.raises(OverQuota, match=r"600 bytes a minute exceeded. Retry after 10\.0 s"):
        rates.spend_minute("a", 600, 200, "bytes")
    rates.spend_minute("b", 600, 600, "bytes")
    now[0] = 10.0
    rates.spend_minute("a", 600, 200, "bytes")


def test_an_agent_that_sends_too_much_is_told_to_wait_and_the_operator_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BYTES_PER_MINUTE", 1000)
    with inside(tmp_path, "Ada") as team, asker(team.server, team.server.token) as boss:
        secret = boss.post("/api/tokens", {"role": "agent", "agent": "Ada"}, 201)["secret"]
        long = {"message": "x" * 600}
        with asker(team.server, secret) as ada:
            ada.post("/api/agents/Ada/messages", long, 201)
            answer = ada.http.post("/api/agents/Ada/messages", json=long)
            assert (answer.status_code, answer.json()["code"]) == (429, "too_fast")
            assert int(answer.headers["retry-after"]) > 0
            ada.get("/api/agents")
        for _ in range(3):
            boss.post("/api/send", {**long, "targetAgent": "Ada"}, 201)


def test_the_body_of_a_request_without_a_token_is_small(stranger: Asker) -> None:
    content = b'{"code": "' + b"x" * limits.OPEN_BODY_BYTES_MAX + b'"}'
    stranger.refused("POST", "/api/session", 413, "too_large", content=content)


def test_strangers_who_ask_too_often_are_told_to_wait_and_nobody_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STRANGER_REQUESTS_PER_SECOND", 1 / LIFE_SECONDS)
    monkeypatch.setattr(limits, "BURST_SECONDS", 2 * LIFE_SECONDS)
    with (
        inside(tmp_path) as muster,
        asker(muster.server, None) as stranger,
        asker(muster.server, muster.server.token) as boss,
    ):
        for _ in range(2):
            stranger.asked("GET", "/api/agents", 401)
        told = stranger.http.get("/api/agents")
        assert (told.status_code, told.json()["code"]) == (429, "too_fast")
        assert 0 < int(told.headers["retry-after"]) <= LIFE_SECONDS
        assert boss.get("/api/agents")


# ── behind a proxy ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("forwards_host", [True, False])
def test_behind_a_proxy_the_public_address_counts_and_its_cookies_are_secure(
    forwards_host: bool, tmp_path: Path
) -> None:
    public = "https://team.example"
    with live(tmp_path, MUSTER_SERVER_PUBLIC_URL=f"{public}/") as proxied:
        sent = {"host": "team.example", "origin": public} if forwards_host else {"origin": public}
        with asker(proxied, None) as browser:
            body = {"token": proxied.token}
            answer = browser.http.post("/api/session", json=body, headers=sent)
            assert answer.status_code == 200, answer.text
            assert "Secure" in answer.headers["set-cookie"]
            other = {**sent, "origin": "https://evil.example"}
            assert browser.http.post("/api/session", json=body, headers=other).status_code == 403
            other = {**sent, "host": "evil.example"}
            assert browser.http.get("/api/health", headers=other).status_code == 403
        link = muster("open", "--no-browser", "--home", str(tmp_path)).stdout
        assert link.startswith(f"{public}/sign-in#")


def test_a_path_prefix_is_a_part_of_links_and_cookies_and_may_come_with_requests(
    tmp_path: Path,
) -> None:
    with live(tmp_path, MUSTER_SERVER_PUBLIC_URL="https://team.example/blue/ox") as proxied:
        sent = {"host": "team.example", "origin": "https://team.example"}
        with asker(proxied, None) as browser:
            body = {"token": proxied.token}
            for path in ("/api/session", "/blue/ox/api/session"):
                cookie = browser.http.post(path, json=body, headers=sent).headers["set-cookie"]
                assert cookie.startswith("muster-80-blue-ox=")
                assert {"Path=/blue/ox/", "Secure"} <= set(cookie.split("; "))
            direct = browser.http.post("/api/session", json=body).headers["set-cookie"]
            assert "Path=/;" in direct
            assert "Secure" not in direct
            without = {"host": "team.example"}
            there = browser.http.post("/api/session", json=body, headers=without)
            assert "Secure" in there.headers["set-cookie"]
        link = muster("open", "--no-browser", "--home", str(tmp_path)).stdout
        assert link.startswith("https://team.example/blue/ox/sign-in#")


@pytest.mark.parametrize(
    "wrong",
    [
        "team.example",
        "https://",
        "ftp://x",
        "https://a@x",
        "https://[x",
        "https://x:port",
        "https://x/a b",
        "https://x/team?a",
        "https://x/../team",
        "https://x/api",
        "https://x/web/team",
    ],
)
def test_a_public_address_is_a_scheme_a_host_and_a_prefix_of_its_own(
    wrong: str, tmp_path: Path
) -> None:
    with pytest.raises(BadSettings, match="public_url"):
        load_settings(tmp_path, {"MUSTER_SERVER_PUBLIC_URL": wrong})


@pytest.mark.parametrize(
    ("host", "public_url", "exposed"),
    [
        ("127.0.0.1", "", False),
        ("localhost", "", False),
        ("::1", "", False),
        ("0.0.0.0", "", True),
        ("192.0.2.1", "http://team.example", True),
        ("0.0.0.0", "https://team.example", False),
    ],
)
def test_a_server_that_others_reach_without_tls_is_exposed(
    host: str, public_url: str, exposed: bool
) -> None:
    assert ServerSettings(host=host, public_url=public_url).is_exposed is exposed


def test_a_server_on_all_interfaces_warns_and_prints_a_link_that_a_browser_reaches(
    tmp_path: Path,
) -> None:
    with live(tmp_path, MUSTER_SERVER_HOST="0.0.0.0") as exposed:
        assert isinstance(exposed.process, ForkedProcess)
        assert exposed.process.stdout.readline().startswith("Sign in: http://127.0.0.1:")
        assert "without TLS" in exposed.process.errors()
        assert muster("open", "--home", str(tmp_path)).stdout.startswith("http://127.0.0.1:")
