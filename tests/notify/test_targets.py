"""Targets: each kind with a real receiver on loopback."""

import json
import socketserver
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from muster.machines.vocabulary import NeedKind
from muster.notify.notification import Notification, NotificationBatch
from muster.notify.targets import SIGNATURE, DeliveryFailed, deliver, signature
from muster.settings.notify import NotifySettings
from tests.homes import muster
from tests.inside import inside
from tests.waits import until

ASKS = Notification(
    key="approval-1",
    topic="needs",
    kind=NeedKind.APPROVAL,
    title="Ada is waiting for your approval",
    text="Bash: rm -rf <build> & more",
    url="http://127.0.0.1:6878/#/agent/Ada",
    agent="Ada",
)
DELIVERY = NotificationBatch(notifications=(ASKS,), url="http://127.0.0.1:6878/")


class Posted(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes


class Receiver(HTTPServer):
    """Keeps what is posted, and answers with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.posted: list[Posted] = []
        self.status = 200

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Receiver)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posted.append(Posted(self.path, dict(self.headers), body))
        self.send_response(self.server.status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_webhook_receives_json_with_a_signature(receiver: Receiver) -> None:
    target = NotifySettings(url=receiver.url("/hook"), secret_env="KEY")

    deliver(target, DELIVERY, {"KEY": "s3cret"})

    [posted] = receiver.posted
    assert posted.path == "/hook"
    assert json.loads(posted.body)["notifications"][0]["title"] == ASKS.title
    assert posted.headers[SIGNATURE.title()] == signature("s3cret", posted.body)


def test_links_lead_to_the_public_address(receiver: Receiver, tmp_path: Path) -> None:
    public = 'public_url = "https://team.example/blue/"'
    settings = f'[server]\n{public}\n[notify.a]\nurl = "{receiver.url("/a")}"\n'
    with inside(tmp_path, "Ada", settings=settings) as team:
        team.runs("Ada")
        team.asks("Ada")
        until(lambda: receiver.posted)
    told = json.loads(receiver.posted[0].body)
    assert told["url"] == "https://team.example/blue/"
    assert told["notifications"][0]["url"] == "https://team.example/blue/#/agent/Ada"


def test_ntfy_receives_the_topic_the_link_and_its_token(receiver: Receiver) -> None:
    target = NotifySettings(kind="ntfy", url=receiver.url("/team"), secret_env="KEY")

    deliver(target, DELIVERY, {"KEY": "tk_1"})

    [posted] = receiver.posted
    message = json.loads(posted.body)
    assert (posted.path, message["topic"], message["click"]) == ("/", "team", ASKS.url)
    assert posted.headers["Authorization"] == "Bearer tk_1"


def test_slack_receives_words_that_mention_nobody(receiver: Receiver) -> None:
    deliver(NotifySettings(kind="slack", url=receiver.url("/s")), DELIVERY, {})

    text = json.loads(receiver.posted[0].body)["text"]
    assert "rm -rf &lt;build&gt; &amp; more" in text
    assert f"<{ASKS.url}|Open muster>" in text


@pytest.mark.parametrize("status", [302, 404, 500])
def test_an_answer_that_is_no_success_is_a_failure_and_no_redirect_is_followed(
    receiver: Receiver, status: int
) -> None:
    receiver.status = status

    with pytest.raises(DeliveryFailed, match=f"it answered {status}"):
        deliver(NotifySettings(url=receiver.url("/hook")), DELIVERY, {})

    assert len(receiver.posted) == 1


def test_a_target_that_is_not_there_is_a_failure() -> None:
    with pytest.raises(DeliveryFailed, match="refused"):
        deliver(NotifySettings(url="http://127.0.0.1:9/"), DELIVERY, {})


def test_a_missing_secret_is_named_and_nothing_is_sent(receiver: Receiver) -> None:
    with pytest.raises(DeliveryFailed, match="KEY is not set"):
        deliver(NotifySettings(url=receiver.url("/"), secret_env="KEY"), DELIVERY, {})

    assert receiver.posted == []


# ── mail ──────────────────────────────────────────────────────────────────────────────────────────


class MailServer(socketserver.TCPServer):
    """As much of a mail server as one message needs; it offers no encryption."""

    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), MailHandler)
        self.lines: list[str] = []


class MailHandler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, MailServer)
        self._say("220 mail")
        in_data = False
        for raw in self.rfile:
            line = raw.decode().rstrip("\r\n")
            self.server.lines.append(line)
            if in_data:
                in_data = line != "."
                answer = "" if in_data else "250 taken"
            elif line.upper() == "QUIT":
                self._say("221 bye")
                return
            else:
                in_data = line.upper() == "DATA"
                answer = "354 go on" if in_data else "250 ok"
            if answer:
                self._say(answer)

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@pytest.fixture
def mail_server() -> Iterator[MailServer]:
    with MailServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def mail(server: MailServer, user: str = "", secret_env: str = "") -> NotifySettings:
    return NotifySettings(
        kind="email",
        url=f"smtp://127.0.0.1:{server.server_address[1]}",
        sender="m@x",
        to=("you@x",),
        user=user,
        secret_env=secret_env,
    )


def test_a_mail_server_receives_a_message(mail_server: MailServer) -> None:
    deliver(mail(mail_server), DELIVERY, {})

    assert f"Subject: muster: {ASKS.title}" in mail_server.lines
    assert "rcpt TO:<you@x>" in mail_server.lines
    assert ASKS.url in mail_server.lines


def test_no_password_is_sent_without_encryption(mail_server: MailServer) -> None:
    target = mail(mail_server, user="me", secret_env="PASSWORD")

    with pytest.raises(DeliveryFailed, match="no encryption"):
        deliver(target, DELIVERY, {"PASSWORD": "s3cret"})

    assert not any("s3cret" in line or "AUTH" in line for line in mail_server.lines)


# ── a program ─────────────────────────────────────────────────────────────────────────────────────


def test_a_command_receives_json_and_its_failure_is_told(tmp_path: Path) -> None:
    keep = f"import sys; open({str(tmp_path / 'got')!r}, 'w').write(sys.stdin.read())"
    fail = "import sys; sys.exit('no screen')"

    deliver(NotifySettings(kind="command", command=(sys.executable, "-c", keep)), DELIVERY, {})
    with pytest.raises(DeliveryFailed, match="code 1: no screen"):
        deliver(NotifySettings(kind="command", command=(sys.executable, "-c", fail)), DELIVERY, {})

    assert json.loads((tmp_path / "got").read_text())["url"] == DELIVERY.url


def test_the_verb_tries_every_target_and_tells_which_failed(
    receiver: Receiver, tmp_path: Path
) -> None:
    (tmp_path / "muster.toml").write_text(
        f'[notify.a]\nurl = "{receiver.url("/a")}"\n[notify.b]\nurl = "http://127.0.0.1:9/"\n'
    )

    tried = muster("--home", str(tmp_path), "notify")
    unknown = muster("--home", str(tmp_path), "notify", "c")

    assert tried.returncode == 1
    assert "a: told" in tried.stdout
    assert "b: failed" in tried.stderr
    assert len(receiver.posted) == 1
    assert unknown.returncode != 0
