"""Texts and names on the command line whose bytes are no UTF-8, or no text of the locale."""

import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from muster.client.sync import Client
from tests.homes import MUSTER_SCRIPT, environment
from tests.live import live
from tests.waits import WAIT_SECONDS

ASCII = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""A locale in which Python takes arguments as ASCII."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    path = tmp_path_factory.mktemp("texts") / "home"
    with live(path):
        yield path


@pytest.fixture(scope="module")
def client(home: Path) -> Generator[Client]:
    with Client(home=home) as client:
        client.create_channel("notes")
        yield client


def run(
    home: Path, *args: bytes, stdin: bytes = b"", **changes: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [MUSTER_SCRIPT.encode(), b"--home", bytes(home), *args],
        env=environment(changes),
        input=stdin,
        capture_output=True,
        timeout=WAIT_SECONDS,
        check=False,
    )


def said(client: Client, channel: str = "notes") -> str:
    return client.messages(channel, newest_first=True, limit=1).messages[0].text


@pytest.mark.parametrize("text", [b"caf\xe9", b"-"])
def test_bytes_of_a_message_that_are_no_utf_8_are_replaced(
    home: Path, client: Client, text: bytes
) -> None:
    ran = run(home, b"send", b"--channel", b"notes", text, stdin=b"caf\xe9")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert said(client) == "caf\ufffd"


@pytest.mark.parametrize("text", [b"\xc3\xa9t\xff", b"-"])
def test_bytes_of_a_turn_s_text_that_are_no_utf_8_are_replaced(
    home: Path, client: Client, text: bytes
) -> None:
    name = f"writer-{len(text)}"
    client.register(name)
    client.connect(name)
    client.create_channel(name, members=[name])
    ran = run(home, b"turn", b"complete", name.encode(), text, stdin=b"\xc3\xa9t\xff")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert said(client, name) == "ét\ufffd"


@pytest.mark.parametrize("text", ["café", "-"])
def test_utf_8_is_understood_in_every_locale(home: Path, client: Client, text: str) -> None:
    ran = run(home, b"send", b"--channel", b"notes", text.encode(), stdin="café".encode(), **ASCII)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert said(client) == "café"


def test_words_of_a_search_may_have_any_bytes(home: Path, client: Client) -> None:
    client.post("notes", "a rare word")
    ran = run(home, b"search", b"rare", b"\xe9")
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize(
    "args",
    [
        (b"channel", b"show", b"caf\xe9"),
        (b"channel", b"create", b"caf\xe9"),
        (b"send", b"--channel", b"caf\xe9", b"text"),
        (b"why", b"caf\xe9"),
        (b"agent", b"add", b"x", b"--env", b"A=caf\xe9", b"--", b"true"),
        (b"send", b"--channel", b"notes", b"--file", b"caf\xe9.txt", b"text"),
    ],
    ids=lambda args: " ".join(map(ascii, args)),
)
def test_a_name_that_is_no_utf_8_is_refused(
    home: Path, client: Client, tmp_path: Path, args: tuple[bytes, ...]
) -> None:
    attached = bytes(tmp_path) + b"/caf\xe9.txt"
    Path(attached.decode("utf-8", "surrogateescape")).write_text("x")
    ran = run(home, *(attached if each.endswith(b".txt") else each for each in args))
    assert ran.returncode == 2
    assert b"has bytes that are no UTF-8." in ran.stderr
    assert b"Traceback" not in ran.stderr
