"""The push desk: what arrives at a push service, and what its answers mean."""

import socket
import ssl
import sys
import threading
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from muster.errors import Invalid, MissingExtra, PushFailed
from muster.machines.vocabulary import NeedKind, Role
from muster.notify.notification import Notification, NotificationBatch
from muster.notify.push import desk as desk_module
from muster.notify.push.desk import PushDesk, SubscriptionGone
from muster.notify.push.keys import FILE, VALID_HOURS
from muster.notify.push.messages import LIFE_SECONDS, MESSAGES_MAX
from muster.notify.push.subscription import PushKeys, PushSubscription, PushTarget
from muster.notify.targets import DeliveryFailed
from muster.settings.notify import PushSettings
from muster.testing.clock import EPOCH
from tests.notify.push.receiving import HOST, OWN, Phone, PushService, push_service

DASHBOARD = "http://127.0.0.1:6878/"
ASKS = Notification(
    key="approval:7",
    topic="needs",
    kind=NeedKind.APPROVAL,
    title="Ada is waiting for your approval",
    text="Bash: rm -rf build",
    url=f"{DASHBOARD}#/agent/Ada",
    agent="Ada",
    approval="7",
    until=EPOCH + timedelta(seconds=90),
    is_whole=True,
)
SAYS = Notification(
    key="message:3",
    topic="message",
    kind=NeedKind.MESSAGE,
    title="Bo wrote to you",
    text="x" * 500,
    url=f"{DASHBOARD}#/agent/Bo",
    agent="Bo",
)


@pytest.fixture
def service() -> Generator[PushService]:
    with push_service() as running:
        yield running


def a_desk(home: Path | None = None, settings: PushSettings = OWN, contact: str = "") -> PushDesk:
    return PushDesk(home, lambda: settings, lambda: EPOCH, contact)


def batch(*notifications: Notification) -> NotificationBatch:
    return NotificationBatch(notifications=notifications, url=DASHBOARD)


def target(service: PushService, role: Role = Role.OPERATOR) -> PushTarget:
    return PushTarget(subscription=service.subscription, role=role)


def test_a_message_arrives_signed_and_readable_by_the_browser_alone(
    service: PushService, tmp_path: Path
) -> None:
    desk = a_desk(tmp_path, contact="https://team.example")
    desk.deliver(target(service), batch(ASKS, SAYS))
    asks, says = service.next(), service.next()

    assert asks.content == {
        "title": "Ada is waiting for your approval",
        "body": "Bash: rm -rf build",
        "tag": "approval:7",
        "place": "#/agent/Ada",
        "approval": "7",
        "whole": True,
    }
    assert asks.claims == {
        "aud": f"http://{HOST}:{service.server_port}",
        "exp": int((EPOCH + timedelta(hours=VALID_HOURS)).timestamp()),
        "sub": "https://team.example",
    }
    headers = asks.headers
    assert headers["authorization"].endswith(f"k={desk.public_key}")
    assert (headers["ttl"], headers["urgency"]) == ("90", "high")
    assert (headers["content-encoding"], headers[":path"]) == ("aes128gcm", "/push/one?x=1")
    assert len(headers["topic"]) == 32
    assert headers["topic"] != says.headers["topic"]
    assert (says.headers["ttl"], says.headers["urgency"]) == (str(LIFE_SECONDS), "normal")
    assert says.content["body"] == "x" * 239 + "…"
    assert "approval" not in says.content


def test_what_is_not_shown_whole_cannot_be_allowed_there_and_viewers_answer_nothing(
    service: PushService,
) -> None:
    desk = a_desk()
    long = msgspec.structs.replace(ASKS, text="Bash: " + "x" * 200)
    changed = msgspec.structs.replace(ASKS, is_whole=False)
    desk.deliver(target(service), batch(long, changed))
    for told in (service.next(), service.next()):
        assert told.content["approval"] == "7"
        assert "whole" not in told.content
    desk.deliver(target(service, Role.VIEWER), batch(ASKS))
    assert "approval" not in service.next().content


def test_many_needs_are_one_message(service: PushService) -> None:
    a_desk().deliver(target(service), batch(*[SAYS] * (MESSAGES_MAX + 1)))
    assert service.next().content["title"] == f"{MESSAGES_MAX + 1} things need you"
    assert service.messages.empty()


def test_the_key_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    first = a_desk(tmp_path).public_key
    assert a_desk(tmp_path).public_key == first
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0
    assert a_desk().public_key != first


def test_a_key_file_that_holds_another_key_is_refused(tmp_path: Path) -> None:
    other = ed25519.Ed25519PrivateKey.generate()
    pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / FILE).write_bytes(pem)
    with pytest.raises(PushFailed, match="remove it"):
        _ = a_desk(tmp_path).public_key
    (tmp_path / FILE).write_text("nonsense")
    with pytest.raises(PushFailed):
        _ = a_desk(tmp_path).public_key


@pytest.mark.parametrize("status", [404, 410])
def test_a_subscription_that_the_push_service_ended_is_gone(
    service: PushService, status: int
) -> None:
    service.status = status
    with pytest.raises(SubscriptionGone):
        a_desk().welcome(service.subscription)


@pytest.mark.parametrize("status", [302, 400, 403, 500])
def test_any_other_refusal_is_a_failure_and_no_redirect_is_followed(
    service: PushService, status: int
) -> None:
    service.status = status
    with pytest.raises(DeliveryFailed, match=f"it answered {status}") as failed:
        a_desk().welcome(service.subscription)
    assert not isinstance(failed.value, SubscriptionGone)
    service.next()
    assert service.messages.empty()


def test_an_address_inside_is_not_connected_to_unless_the_settings_allow_it(
    service: PushService,
) -> None:
    desk = a_desk(settings=PushSettings())
    with pytest.raises(DeliveryFailed, match="https address"):
        desk.welcome(service.subscription)
    with pytest.raises(Invalid, match="https address"):
        desk.check(service.subscription)
    assert service.messages.empty()


def test_a_push_service_that_drips_its_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "WHOLE_SECONDS", 0.05)
    with socket.create_server((HOST, 0)) as silent:
        keys = PushKeys(**Phone().keys)
        endpoint = f"http://{HOST}:{silent.getsockname()[1]}/"
        with pytest.raises(DeliveryFailed):
            a_desk().welcome(PushSubscription(endpoint=endpoint, keys=keys))


def test_without_the_extra_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "muster.notify.push.keys", None)
    with pytest.raises(MissingExtra, match=r"muster-agents\[push\]"):
        _ = a_desk().public_key


def test_a_push_service_over_tls_must_prove_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path, HOST)
    phone = Phone()
    with PushService(phone) as service:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        service.socket = context.wrap_socket(service.socket, server_side=True)
        thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            endpoint = service.endpoint.replace("http://", "https://")
            given = PushSubscription(endpoint=endpoint, keys=PushKeys(**phone.keys))
            with pytest.raises(DeliveryFailed, match="certificate verify failed"):
                a_desk().welcome(given)
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            a_desk().welcome(given)
            assert service.next().content["tag"] == "welcome"
        finally:
            service.shutdown()
            thread.join()


def self_signed(folder: Path, number: str) -> Path:
    """A certificate for an address, with its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "push")])
    now = datetime.now(UTC)  # noqa: TID251 - TLS asks the clock of the system
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(number))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, SHA256())
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = folder / "push.pem"
    path.write_bytes(pem + made.public_bytes(Encoding.PEM))
    return path
