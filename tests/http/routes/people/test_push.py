"""Web Push over HTTP: a browser's subscription is a part of its session, and ends with it."""

from collections.abc import Generator

import httpx
import pytest

from muster.machines import commands as c
from tests.asking import Asker, asker
from tests.inside import Inside, inside
from tests.live import NO_TLS, Json
from tests.notify.push.receiving import SETTINGS, PushService, push_service
from tests.waits import WAIT_SECONDS, until


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    with inside(tmp_path_factory.mktemp("push"), "Ada", "Bo", settings=SETTINGS) as team:
        team.runs("Ada")
        yield team


@pytest.fixture
def operator(muster: Inside) -> Generator[Asker]:
    with asker(muster.server, muster.server.token) as somebody:
        yield somebody
        for each in somebody.get("/api/approvals")["approvals"]:
            somebody.post(f"/api/approvals/{each['id']}", {"allow": False})


@pytest.fixture
def service() -> Generator[PushService]:
    with push_service() as running:
        yield running


class SignedIn:
    """A browser with a session."""

    def __init__(self, muster: Inside, token: str) -> None:
        url = muster.server.url
        self.http = httpx.Client(
            base_url=url, headers={"origin": url}, timeout=WAIT_SECONDS, verify=NO_TLS
        )
        assert self.http.post("/api/session", json={"token": token}).is_success

    def subscribe(self, service: PushService, **more: Json) -> httpx.Response:
        body = {"endpoint": service.endpoint, "keys": service.phone.keys, **more}
        return self.http.put("/api/push", json=body)

    def end(self) -> None:
        self.http.delete("/api/session")
        self.http.close()

    def is_on(self) -> bool:
        return self.http.get("/api/push").json()["endpoint"] is not None


@pytest.fixture
def browser(muster: Inside) -> Generator[SignedIn]:
    somebody = SignedIn(muster, muster.server.token)
    yield somebody
    somebody.end()


def test_a_browser_is_told_once_until_it_signs_out(
    muster: Inside, operator: Asker, browser: SignedIn, service: PushService
) -> None:
    state = browser.http.get("/api/push").json()
    assert (state["endpoint"], len(state["key"])) == (None, 87)
    assert browser.subscribe(service).status_code == 204
    assert service.next().content["title"] == "Notifications are on"
    asked = muster.asks("Ada", "Bash", "rm -r build", folder="outputs")
    told = service.next().content
    assert (told["approval"], told["body"]) == (asked, "Bash: rm -r build (in outputs)")
    assert told["whole"] is True
    other = muster.asks("Ada", "Write", "file_path: a.py", change="+ x")
    told = service.next().content
    assert (told["approval"], "whole" in told) == (other, False)
    [session] = [each for each in operator.get("/api/browsers")["browsers"] if each["isNotified"]]
    assert len(session["id"]) == 12

    assert browser.http.delete("/api/session").status_code == 204
    muster.asks("Ada", "Bash", "make")
    again = SignedIn(muster, muster.server.token)
    assert not again.is_on()
    assert again.subscribe(service, about=["failed"]).status_code == 204
    assert service.next().content["tag"] == "welcome"  # and nothing that was asked in between
    again.end()


def test_only_a_browser_that_is_signed_in_subscribes(operator: Asker, service: PushService) -> None:
    body = {"endpoint": service.endpoint, "keys": service.phone.keys}
    problem = operator.http.put("/api/push", json=body).json()
    assert "must be a browser that is signed in" in problem["detail"]
    assert service.messages.empty()


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"endpoint": "http://10.0.0.1/"}, "endpoint"),
        ({"endpoint": "https://127.0.0.2/"}, "endpoint"),
        ({"endpoint": "https://169.254.169.254/latest"}, "endpoint"),
        ({"endpoint": "file:///etc/passwd"}, "endpoint"),
        ({"keys": {"p256dh": "AAAA", "auth": "AAAAAAAAAAAAAAAAAAAAAA"}}, "p256dh"),
        ({"keys": {"p256dh": "ä", "auth": "x"}}, "p256dh"),
        ({"keys": {"p256dh": "A" * 87, "auth": "A" * 22}}, "p256dh"),
        ({"quiet": "9-17"}, "quiet"),
        ({"zone": "../../etc"}, "zone"),
        ({"zone": "Mars/Olympus"}, "zone"),
        ({"about": ["weather"]}, "about"),
    ],
)
def test_a_subscription_that_cannot_be_used_is_refused(
    browser: SignedIn, service: PushService, more: Json, what: str
) -> None:
    answer = browser.subscribe(service, **more)
    assert answer.status_code == 422
    assert what in answer.json()["detail"]
    assert not browser.is_on()
    assert service.messages.empty()


def test_a_push_service_that_does_not_take_the_first_message_is_told_at_once(
    browser: SignedIn, service: PushService
) -> None:
    service.status = 403
    answer = browser.subscribe(service)
    assert (answer.status_code, answer.json()["code"]) == (503, "push_failed")
    assert "it answered 403" in answer.json()["detail"]
    assert not browser.is_on()


def test_a_subscription_that_its_push_service_ended_is_forgotten(
    muster: Inside, operator: Asker, browser: SignedIn, service: PushService
) -> None:
    browser.subscribe(service)
    service.next()
    service.status = 410
    muster.asks("Ada")
    service.next()
    until(lambda: not browser.is_on())


def test_choices_are_changed_without_another_first_message(
    browser: SignedIn, service: PushService
) -> None:
    browser.subscribe(service)
    service.next()
    assert browser.subscribe(service, about=["limit"], quiet="22:00-07:00", zone="Europe/Berlin")
    state = browser.http.get("/api/push").json()
    assert (state["about"], state["quiet"]) == (["limit"], "22:00-07:00")
    assert service.messages.empty()
    assert browser.http.delete("/api/push").status_code == 204
    assert not browser.is_on()


def test_the_next_person_at_a_browser_takes_over_its_address(
    muster: Inside, browser: SignedIn, service: PushService
) -> None:
    browser.subscribe(service)
    later = SignedIn(muster, muster.server.token)
    later.subscribe(service)
    assert (browser.is_on(), later.is_on()) == (False, True)
    later.end()


def test_a_member_is_not_told_of_a_private_channel(
    muster: Inside, operator: Asker, service: PushService
) -> None:
    operator.asked("PUT", "/api/users/Zoe", 200, json={"role": "member"})
    token = operator.post("/api/tokens", {"role": "member", "user": "Zoe"}, 201)["secret"]
    muster.runs("Bo")
    muster.opens("secret", "Bo")
    operator.asked("PATCH", "/api/channels/secret", 200, json={"readRule": "members"})
    member = SignedIn(muster, token)
    assert member.subscribe(service).status_code == 204
    service.next()
    muster.asks("Bo", "Bash", "cat secret")
    muster.send(c.TellHuman(seat=muster.agent("Ada").seat, text="hello"))
    assert service.next().content["title"] == "Ada wrote to you"
    member.end()
    assert service.messages.empty()
