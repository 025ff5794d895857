"""A proxy that signs people in names them in a header; from anywhere else it is refused."""

from collections.abc import Iterator

import pytest
from starlette.requests import Request

from muster.errors import BadSettings, Forbidden
from muster.http.signing_in.trusted_header import SECRET_HEADER, SECRET_VARIABLE, TrustedHeader
from muster.settings.model import ServerSettings, load_settings
from muster.settings.rules import WrongError
from tests.asking import Asker, asker
from tests.homes import muster
from tests.live import Server, live

SECRET = "a long and random secret"
PROXY = {SECRET_HEADER: SECRET}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("home")
    variables = {"MUSTER_SERVER_TRUSTED_USER_HEADER": "X-Remote-User", SECRET_VARIABLE: SECRET}
    with live(home, MUSTER_TEAM_HUMAN="Grace", **variables) as running:
        with asker(running, running.token) as boss:
            boss.asked("PUT", "/api/users/Zoë", 200, json={"role": "member"})
        yield running


@pytest.fixture
def anyone(server: Server) -> Iterator[Asker]:
    with asker(server, None) as somebody:
        yield somebody


def named(name: str, **more: str) -> dict[bytes, bytes]:
    sent = {**PROXY, "x-remote-user": name, **more}
    return {each.encode(): value.encode() for each, value in sent.items()}


def test_a_person_acts_under_the_name_that_the_proxy_gives(anyone: Asker) -> None:
    me = anyone.asked("GET", "/api/me", 200, headers=named("zoë"))
    assert (me["user"], me["role"]) == ("Zoë", "member")
    grace = anyone.asked("GET", "/api/me", 200, headers=named("Grace"))
    assert (grace["user"], grace["role"]) == ("Grace", "operator")
    page = anyone.http.get("/", headers=named("Zoë"))
    assert "connection-pill" in page.text  # the dashboard, and not the page to sign in
    refused = anyone.http.get("/api/me", headers=named("Eve"))
    assert refused.status_code == 403
    assert "muster user add" in refused.json()["detail"]
    assert anyone.http.get("/api/me", headers=PROXY).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"x-remote-user": "Grace"},
        {"x-remote-user": "Grace", SECRET_HEADER: "guessed"},
        [("x-remote-user", "Grace"), ("x-remote-user", "Zoe"), (SECRET_HEADER, SECRET)],
    ],
)
def test_the_header_from_elsewhere_is_refused_and_a_token_counts_before_it(
    headers: dict[str, str] | list[tuple[str, str]], server: Server, anyone: Asker
) -> None:
    for path in ("/api/me", "/"):
        answer = anyone.http.get(path, headers=headers)
        assert answer.status_code == 403
        assert "trusted proxy" in answer.json()["detail"]
    with asker(server, server.token) as boss:  # a token is one's own: it counts by itself
        assert boss.http.get("/api/me", headers=headers).json()["user"] == "Grace"


def test_a_page_of_another_site_cannot_act_through_the_proxy(anyone: Asker) -> None:
    body = {"message": "hello", "channel": "design"}
    for headers in (named("Zoë"), named("Zoë", origin="https://evil.example")):
        answer = anyone.http.post("/api/send", json=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    ours = named("Zoë", origin=str(anyone.http.base_url).rstrip("/"))
    told = anyone.http.post("/api/session/code", json={}, headers=ours)
    assert (told.status_code, "in the same way" in told.json()["detail"]) == (403, True)


def request(client: str, **headers: str) -> Request:
    sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "client": (client, 1), "headers": sent})


@pytest.mark.parametrize(
    ("client", "taken"), [("10.0.0.7", True), ("::ffff:10.0.0.7", True), ("10.0.0.8", False)]
)
def test_the_address_of_the_proxy_counts(client: str, taken: bool) -> None:
    settings = ServerSettings(trusted_user_header="X-Remote-User", trusted_proxy="10.0.0.7")
    trusted = TrustedHeader.of(settings, {})
    sent = request(client, x_remote_user="Ada")
    if taken:
        assert trusted.person_of(sent) == "Ada"
    else:
        with pytest.raises(Forbidden):
            trusted.person_of(sent)
    assert trusted.person_of(request(client)) is None


@pytest.mark.parametrize(("proxy", "secret"), [("", ""), ("127.0.0.1", ""), ("", "short")])
def test_a_header_that_anybody_could_send_is_refused_at_the_start(proxy: str, secret: str) -> None:
    settings = ServerSettings(trusted_user_header="X-Remote-User", trusted_proxy=proxy)
    with pytest.raises(WrongError):
        TrustedHeader.of(settings, {SECRET_VARIABLE: secret})


def test_muster_does_not_start_with_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("open")
    (home / "muster.toml").write_text('[server]\ntrusted_user_header = "X-Remote-User"\n')
    refused = muster("up", "--home", str(home), "--port", "0")
    assert refused.returncode != 0
    assert SECRET_VARIABLE in refused.stderr


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("TRUSTED_USER_HEADER", "x y"),
        ("TRUSTED_USER_HEADER", "Cookie"),
        ("TRUSTED_PROXY", "the proxy"),
        ("TRUSTED_PROXY", "10.0.0.7/24"),
    ],
)
def test_wrong_settings_are_refused(
    name: str, wrong: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.raises(BadSettings):
        load_settings(tmp_path_factory.mktemp("wrong"), {f"MUSTER_SERVER_{name}": wrong})
