"""Web Push in a real browser: turned on in the page, shown by the service worker, answered there.

The browser of the tests has no push service of its maker. Its push manager is given the address
and the keys of one on loopback; what arrives there is decrypted, and handed to the service worker
as the browser would.
"""

import json
from collections.abc import Generator
from typing import Any

import pytest
from playwright.sync_api import Page, Worker, expect

from tests.asking import Asker, asker
from tests.inside import Inside, inside
from tests.notify.push.receiving import SETTINGS, Json, PushService, push_service
from tests.waits import until
from tests.web.pages import PHONE, Watched

SUBSCRIBED = """
PushManager.prototype.subscribe = async function ({ applicationServerKey }) {
  localStorage.setItem("asked-key", applicationServerKey);
  localStorage.setItem("subscribed", "yes");
  return { toJSON: () => (%s) };
};
PushManager.prototype.getSubscription = async () =>
  localStorage.getItem("subscribed") && {
    endpoint: (%s).endpoint,
    unsubscribe: async () => localStorage.removeItem("subscribed"),
  };
"""
"""A push manager whose push service is the test's."""

SHOWN = """async () => (await registration.getNotifications()).map(
  ({ title, body, tag, actions }) =>
    ({ title, body, tag, actions: actions.map((each) => each.action) }))"""

PRESSED = """async ([tag, action]) => {
  const [notification] = await registration.getNotifications({ tag });
  const event = new NotificationEvent("notificationclick", { notification, action });
  dispatchEvent(event);
}"""
"""A press of a notification, or of a button in it: no browser lets a test press it outside."""


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    with inside(tmp_path_factory.mktemp("push"), "Ada", settings=SETTINGS) as team:
        team.runs("Ada")
        yield team


@pytest.fixture
def operator(muster: Inside) -> Generator[Asker]:
    with asker(muster.server, muster.server.token) as somebody:
        yield somebody


@pytest.fixture
def service() -> Generator[PushService]:
    with push_service() as running:
        yield running


class Notified:
    """A browser that has turned notifications on, and its push service."""

    def __init__(self, page: Page, service: PushService, origin: str) -> None:
        self.page = page
        self.service = service
        self._origin = origin
        self._registration: Json = None
        # Any: messages of the browser's debugger are JSON
        self._cdp: Any = page.context.new_cdp_session(page)
        self._cdp.on("ServiceWorker.workerRegistrationUpdated", self._registered)
        self._cdp.send("ServiceWorker.enable")

    def _registered(self, told: Json) -> None:
        for each in told["registrations"]:
            self._registration = each

    @property
    def worker(self) -> Worker:
        # events of the browser are heard while an answer is waited for
        until(lambda: self.page.evaluate("1") and self.page.context.service_workers)
        return self.page.context.service_workers[0]

    def receive(self) -> Json:
        """Hand the next message of the push service to the service worker."""
        message = self.service.next().content
        until(lambda: self.page.evaluate("1") and self._registration)
        self._cdp.send(
            "ServiceWorker.deliverPushMessage",
            {
                "origin": self._origin,
                "registrationId": self._registration["registrationId"],
                "data": json.dumps(message),
            },
        )
        return message

    def shown(self) -> list[Json]:
        return self.worker.evaluate(SHOWN)

    def press(self, tag: str, action: str = "") -> None:
        self.worker.evaluate(PRESSED, [tag, action])


def turned_on(visitor: Watched, muster: Inside, service: PushService) -> Notified:
    given = json.dumps({"endpoint": service.endpoint, "keys": service.phone.keys})
    visitor.context.grant_permissions(["notifications"], origin=muster.server.url)
    visitor.context.add_init_script(SUBSCRIBED % (given, given))
    page = visitor.signed_in(muster.server)
    page.keyboard.press("Control+k")
    page.keyboard.type("notifications")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Notifications")
    dialog.get_by_role("button", name="Turn on").click()
    expect(dialog).to_have_count(0)
    return Notified(page, service, muster.server.url)


def notified(operator: Asker) -> int:
    return sum(each["isNotified"] for each in operator.get("/api/browsers")["browsers"])


def test_a_notification_allows_what_it_shows_whole_after_the_page_is_left(
    visitor: Watched, muster: Inside, operator: Asker, service: PushService
) -> None:
    phone = turned_on(visitor, muster, service)
    assert phone.receive()["tag"] == "welcome"
    assert notified(operator) == 1
    key = phone.page.evaluate("localStorage.getItem('asked-key')")
    assert service.messages.empty()

    asked = muster.asks("Ada", "Bash", "rm -r build")
    tag = phone.receive()["tag"]
    until(lambda: any(each["tag"] == tag for each in phone.shown()))
    [shown] = [each for each in phone.shown() if each["tag"] == tag]
    assert (shown["title"], shown["body"]) == (
        "Ada is waiting for your approval",
        "Bash: rm -r build",
    )
    assert shown["actions"] == ["allow", "deny"]
    phone.press(tag, "allow")
    muster.until(lambda team: not muster.agent("Ada").approvals)
    decision = operator.get(f"/api/approvals/{asked}")
    assert (decision["allow"], decision["how"]) == (True, "person")
    until(lambda: all(each["tag"] != tag for each in phone.shown()))

    long = muster.asks("Ada", "Write", "file_path: a.py", change="+ x = 1")
    tag = phone.receive()["tag"]
    until(lambda: any(each["tag"] == tag for each in phone.shown()))
    [shown] = [each for each in phone.shown() if each["tag"] == tag]
    assert shown["actions"] == ["deny"]  # a change of a file is looked at first
    phone.press(tag)
    phone.page.wait_for_url("**/#/agent/Ada")
    operator.post(f"/api/approvals/{long}", {"allow": False})
    until(lambda: all(each["tag"] != tag for each in phone.shown()))  # the page takes it away
    assert len(key) == 87


def test_a_press_that_the_server_refuses_says_why_and_signing_out_ends_all(
    visitor: Watched, muster: Inside, operator: Asker, service: PushService
) -> None:
    before = notified(operator)
    phone = turned_on(visitor, muster, service)
    phone.receive()
    page = phone.page
    asked = muster.asks("Ada", "Bash", "make")
    tag = phone.receive()["tag"]
    until(lambda: any(each["tag"] == tag for each in phone.shown()))
    cookies = visitor.context.cookies()
    visitor.context.clear_cookies()  # as if the session had expired
    phone.press(tag, "allow")
    until(lambda: any("signed out" in each["body"] for each in phone.shown()))
    [shown] = [each for each in phone.shown() if each["tag"] == tag]
    assert shown["title"] == "Not answered: Ada is waiting for your approval"
    assert shown["actions"] == []
    assert operator.get(f"/api/approvals/{asked}")["open"] is True
    visitor.context.add_cookies(cookies)  # pyright: ignore[reportArgumentType] - as it gave them

    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")
    until(lambda: phone.shown() == [])
    assert page.evaluate("localStorage.getItem('subscribed')") is None
    operator.post(f"/api/approvals/{asked}", {"allow": False})
    assert notified(operator) == before


def test_choices_are_kept_on_the_server_and_can_be_turned_off(
    visitor: Watched, muster: Inside, operator: Asker, service: PushService
) -> None:
    before = notified(operator)
    page = turned_on(visitor, muster, service).page
    service.next()
    page.set_viewport_size(PHONE)
    page.get_by_role("button", name="Help").click()
    page.get_by_role("button", name="Notifications").click()
    dialog = page.get_by_role("dialog", name="Notifications")
    dialog.get_by_label("Messages to you").uncheck()
    dialog.get_by_label("from").fill("22:00")
    dialog.get_by_label("to", exact=True).fill("07:00")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Help").click()
    page.get_by_role("button", name="Notifications").click()
    expect(dialog.get_by_label("Messages to you")).not_to_be_checked()
    expect(dialog.get_by_label("Limits")).to_be_checked()
    expect(dialog.get_by_label("from")).to_have_value("22:00")
    dialog.get_by_role("button", name="Turn off").click()
    expect(dialog).to_have_count(0)
    assert notified(operator) == before
