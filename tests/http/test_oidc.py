"""Single sign-on at a real provider: who it names signs in, and nothing else does."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from muster.errors import BadSettings
from muster.settings.model import load_settings
from muster.settings.server import is_safe_url
from tests.asking import asker
from tests.http.oidc_provider import CLIENT, CLIENT_SECRET, Provider, provider
from tests.live import NO_TLS, Server, live
from tests.waits import WAIT_SECONDS


@pytest.fixture(scope="module")
def idp() -> Iterator[Provider]:
    with provider() as running:
        yield running


@pytest.fixture(scope="module")
def server(idp: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {
        "MUSTER_OIDC_ISSUER": idp.issuer,
        "MUSTER_OIDC_CLIENT_ID": CLIENT,
        "MUSTER_OIDC_SECRET_ENV": "SSO_SECRET",
        "MUSTER_OIDC_LABEL": "Sign in with Example",
        "SSO_SECRET": CLIENT_SECRET,
    }
    with live(tmp_path_factory.mktemp("home"), **settings) as running:
        with asker(running, running.token) as boss:
            boss.asked("PUT", "/api/users/Ada", 200, json={"role": "member"})
        yield running


@pytest.fixture
def browser(server: Server, idp: Provider) -> Iterator[httpx.Client]:
    idp.person, idp.changes, idp.signs_with, idp.error = "Ada", {}, "own", ""
    headers = {"origin": server.url}
    with httpx.Client(
        base_url=server.url, headers=headers, verify=NO_TLS, timeout=WAIT_SECONDS
    ) as client:
        yield client


def come_back(browser: httpx.Client) -> dict[str, str]:
    """Begin, sign in at the provider, and come back to the page to sign in."""
    url = browser.post("/api/session/sso", json={}).json()["url"]
    back = httpx.get(url, verify=NO_TLS, timeout=WAIT_SECONDS).headers["location"]
    assert back.startswith(f"{str(browser.base_url).rstrip('/')}/sign-in?")
    return {key: each[0] for key, each in parse_qs(urlsplit(back).query).items()}


def finish(browser: httpx.Client, back: dict[str, str]) -> httpx.Response:
    return browser.post("/api/session/sso/finish", json=back)


def test_a_person_signs_in_at_the_provider_and_acts_under_their_name(
    browser: httpx.Client, server: Server
) -> None:
    assert browser.get("/api/session/ways").json() == {"sso": "Sign in with Example"}
    answer = finish(browser, come_back(browser))
    assert (answer.status_code, answer.json()) == (200, {"role": "member"})
    assert "HttpOnly" in answer.headers["set-cookie"]
    me = browser.get("/api/me").json()
    assert (me["user"], me["role"]) == ("Ada", "member")
    with asker(server, server.token) as boss:
        [found] = boss.get("/api/browsers")["browsers"]
        assert found["user"] == "Ada"
        boss.asked("PUT", "/api/users/Ada", 200, json={"role": "viewer"})
        assert browser.get("/api/me").json()["role"] == "viewer"
        boss.delete("/api/users/Ada")
        assert browser.get("/api/me").status_code == 401
        boss.asked("PUT", "/api/users/Ada", 200, json={"role": "member"})
    assert browser.delete("/api/session").status_code == 204
    assert browser.get("/api/me").status_code == 401


def test_a_person_who_is_no_user_is_refused(browser: httpx.Client, idp: Provider) -> None:
    idp.person = "Eve"
    answer = finish(browser, come_back(browser))
    assert answer.status_code == 403
    assert "muster user add" in answer.json()["detail"]


def test_a_sign_in_belongs_to_the_browser_that_began_it_and_counts_once(
    browser: httpx.Client, server: Server
) -> None:
    stolen = come_back(browser)
    with httpx.Client(base_url=server.url, verify=NO_TLS, timeout=WAIT_SECONDS) as victim:
        assert finish(victim, stolen).status_code == 401  # another person's link
    assert finish(browser, stolen).status_code == 401  # and it is used up
    back = come_back(browser)
    assert finish(browser, {**back, "code": "guessed"}).status_code == 401
    assert finish(browser, back).status_code == 401
    back = come_back(browser)
    assert finish(browser, back).status_code == 200
    assert finish(browser, back).status_code == 401


Claims = dict[str, Any]  # any JSON values

LONG_AGO = 1_000_000_000
"""A fixed time: the name of a test must be the same in every process."""

WRONG: list[Claims] = [
    {"iss": "https://other.example"},
    {"aud": "another-client"},
    {"aud": [CLIENT, "another-client"], "azp": "another-client"},
    {"exp": LONG_AGO},
    {"exp": None},
    {"nonce": "of another sign-in"},
    {"nonce": None},
    {"preferred_username": None},
    {"preferred_username": 7},
]


@pytest.mark.parametrize("claims", WRONG, ids=str)
def test_what_the_provider_says_is_checked(
    claims: Claims, browser: httpx.Client, idp: Provider
) -> None:
    idp.changes = claims
    answer = finish(browser, come_back(browser))
    assert (answer.status_code, answer.json()["code"]) == (401, "sso_failed")
    assert browser.get("/api/me").status_code == 401


def test_a_token_of_another_key_is_refused(browser: httpx.Client, idp: Provider) -> None:
    idp.signs_with = "other"
    assert finish(browser, come_back(browser)).status_code == 401


def test_without_a_provider_there_is_no_such_way(tmp_path_factory: pytest.TempPathFactory) -> None:
    with live(tmp_path_factory.mktemp("plain")) as plain, asker(plain, None) as anyone:
        assert anyone.get("/api/session/ways") == {"sso": None}
        anyone.refused("POST", "/api/session/sso", 404, "not_found", json={})


def test_a_provider_that_is_not_there_is_told(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = {"MUSTER_OIDC_ISSUER": "http://127.0.0.1:9", "MUSTER_OIDC_CLIENT_ID": CLIENT}
    with live(tmp_path_factory.mktemp("gone"), **settings) as alone, asker(alone, None) as anyone:
        told = anyone.refused("POST", "/api/session/sso", 401, "sso_failed", json={})
        assert "127.0.0.1:9" in told["detail"]


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://id.example.org/realm", True),
        ("http://127.0.0.1:9", True),
        ("http://id.example.org", False),
        ("https://", False),
        ("https://[x", False),
    ],
)
def test_a_provider_has_tls_or_is_on_this_machine(
    url: str, safe: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert is_safe_url(url) is safe
    if not safe:
        with pytest.raises(BadSettings, match="issuer"):
            load_settings(tmp_path_factory.mktemp("wrong"), {"MUSTER_OIDC_ISSUER": url})
