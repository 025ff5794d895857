"""Delivers notifications to one target. Each function blocks, so it runs in a thread, and raises
`DeliveryFailed` with the reason.

Secrets come from environment variables of muster, never from the settings file. Redirects are not
followed: a notification goes to the address that a person wrote, or nowhere.
"""

import hmac
import json
import smtplib
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from email.message import EmailMessage
from http.client import HTTPException
from typing import Final
from urllib.parse import urlsplit

import msgspec

from muster.notify.notification import NotificationBatch
from muster.settings.notify import NotifySettings

TIMEOUT_SECONDS: Final = 10
"""The longest that a target may take; the next attempt follows by backoff."""

SIGNATURE: Final = "X-Muster-Signature"
NTFY_PRIORITY: Final = 4
"""High: it makes a sound. The topics that wake nobody can be left out of `about`."""


class DeliveryFailed(Exception):
    """A target could not be told; the text is the reason."""


def deliver(
    target: NotifySettings, delivery: NotificationBatch, environ: Mapping[str, str]
) -> None:
    """Tell a target; returns when it has taken the notification."""
    secret = environ.get(target.secret_env, "") if target.secret_env else ""
    if target.secret_env and not secret:
        raise DeliveryFailed(f"the environment variable {target.secret_env} is not set")
    with _explained():
        _KINDS[target.kind](target, delivery, secret)


@contextmanager
def _explained() -> Generator[None]:
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        raise DeliveryFailed(f"it answered {error.code} {error.reason}") from error
    except (OSError, HTTPException, smtplib.SMTPException, subprocess.SubprocessError) as error:
        reason = getattr(error, "reason", None) or error
        raise DeliveryFailed(str(reason) or type(error).__name__) from error


# ── over HTTP ─────────────────────────────────────────────────────────────────────────────────────


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect as the error that it is."""

    def redirect_request(self, *args: object, **kwargs: object) -> None:
        """Follow none."""


def _post(url: str, body: bytes, headers: Mapping[str, str]) -> None:
    request = urllib.request.Request(url, data=body, method="POST")
    for name, value in {"Content-Type": "application/json", **headers}.items():
        request.add_header(name, value)
    opener = urllib.request.build_opener(_NoRedirects)
    with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
        answer.read(1024)


def _webhook(target: NotifySettings, delivery: NotificationBatch, secret: str) -> None:
    body = msgspec.json.encode(delivery)
    _post(target.url, body, {SIGNATURE: signature(secret, body)} if secret else {})


def signature(secret: str, body: bytes) -> str:
    """The signature of a webhook's body: HMAC with SHA-256, in hexadecimal."""
    return f"sha256={hmac.new(secret.encode(), body, 'sha256').hexdigest()}"


def _ntfy(target: NotifySettings, delivery: NotificationBatch, secret: str) -> None:
    server, _, topic = target.url.rstrip("/").rpartition("/")
    message = {
        "topic": topic,
        "title": delivery.title,
        "message": delivery.text,
        "click": delivery.notifications[0].url,
        "priority": NTFY_PRIORITY,
    }
    _post(server, _json(message), {"Authorization": f"Bearer {secret}"} if secret else {})


def _slack(target: NotifySettings, delivery: NotificationBatch, secret: str) -> None:
    lines = [f"*{_escaped(each.title)}*\n{_escaped(each.text)}" for each in delivery.notifications]
    link = f"<{_escaped(delivery.notifications[0].url)}|Open muster>"
    _post(target.url, _json({"text": "\n\n".join((*lines, link))}), {})


def _escaped(text: str) -> str:
    """Text that Slack shows as it is: an agent's words mention nobody and link nowhere."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _json(message: Mapping[str, object]) -> bytes:
    return json.dumps(message).encode()


# ── by mail and by a program ──────────────────────────────────────────────────────────────────────


def _email(target: NotifySettings, delivery: NotificationBatch, secret: str) -> None:
    message = EmailMessage()
    message["Subject"] = f"muster: {delivery.title}"
    message["From"] = target.sender
    message["To"] = ", ".join(target.to)
    message.set_content(delivery.text)
    with _mail_server(target) as server:
        if target.user:
            server.login(target.user, secret)
        server.send_message(message)


def _mail_server(target: NotifySettings) -> smtplib.SMTP:
    address = urlsplit(target.url)
    host, context = address.hostname or "", ssl.create_default_context()
    if address.scheme == "smtps":
        return smtplib.SMTP_SSL(
            host, address.port or smtplib.SMTP_SSL_PORT, timeout=TIMEOUT_SECONDS, context=context
        )
    server = smtplib.SMTP(host, address.port or smtplib.SMTP_PORT, timeout=TIMEOUT_SECONDS)
    server.ehlo()
    if server.has_extn("starttls"):
        server.starttls(context=context)
        server.ehlo()
    elif target.user:
        server.close()
        raise DeliveryFailed("the mail server offers no encryption, so no password is sent to it")
    return server


def _command(target: NotifySettings, delivery: NotificationBatch, secret: str) -> None:
    done = subprocess.run(
        list(target.command),
        input=msgspec.json.encode(delivery),
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
        start_new_session=True,
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()[-200:]
        raise DeliveryFailed(f"it ended with code {done.returncode}: {said}".rstrip(": "))


_KINDS: Final[Mapping[str, Callable[[NotifySettings, NotificationBatch, str], None]]] = {
    "webhook": _webhook,
    "ntfy": _ntfy,
    "slack": _slack,
    "email": _email,
    "command": _command,
}
