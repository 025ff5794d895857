"""A real Firefox, driven over WebDriver BiDi with nothing but sockets.

Playwright drives Debian's Firefox only as far as the emulation of media features goes, which that
Firefox does not know; and Debian has no geckodriver. Firefox itself speaks BiDi.
"""

import base64
import json
import os
import re
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from tests.waits import WAIT_SECONDS, until

FIREFOX: Final = os.environ.get("FIREFOX", "/usr/bin/firefox-esr")
TEXT: Final = 0x1
FINAL: Final = 0x80
MASKED: Final = 0x80
Json = Any  # what BiDi says


class BidiSocket:
    """A WebSocket to a browser: one JSON text for each message, each command answered by its id."""

    def __init__(self, host: str, port: int) -> None:
        """Connect, and ask to speak WebSocket."""
        self._plain = socket.create_connection((host, port), WAIT_SECONDS)
        self._file: IO[bytes] = self._plain.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        lines = (
            "GET /session HTTP/1.1",
            f"Host: {host}:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
        )
        self._plain.sendall("".join(f"{each}\r\n" for each in (*lines, "")).encode())
        while self._file.readline().strip():
            pass
        self._number = 0
        self.heard: list[Json] = []
        """Events, as they came."""

    def ask(self, method: str, **params: Json) -> Json:
        """Send a command, and wait for its result."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            said = self._receive()
            if said.get("id") == self._number:
                assert said["type"] == "success", said
                return said["result"]
            self.heard.append(said)

    def close(self) -> None:
        """End the connection."""
        self._file.close()
        self._plain.close()

    def _send(self, message: Json) -> None:
        data, mask = json.dumps(message).encode(), os.urandom(4)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
        self._plain.sendall(bytes([FINAL | TEXT]) + _size(len(data)) + mask + masked)

    def _receive(self) -> Json:
        whole = b""
        while True:
            first, length = self._file.read(2)
            if length >= 126:
                length = int.from_bytes(self._file.read(2 if length == 126 else 8), "big")
            whole += self._file.read(length)
            if first & FINAL:
                return json.loads(whole)


def _size(length: int) -> bytes:
    """The length of a masked frame; it must be the shortest that fits."""
    if length < 126:
        return bytes([MASKED | length])
    bytes_ = 2 if length < 1 << 16 else 8
    return bytes([MASKED | (126 if bytes_ == 2 else 127)]) + length.to_bytes(bytes_, "big")


class FirefoxPage:
    """The one tab of a Firefox."""

    def __init__(self, bidi: BidiSocket) -> None:
        """Take the tab that Firefox opened, and hear of its errors."""
        self._bidi = bidi
        bidi.ask("session.new", capabilities={})
        bidi.ask("session.subscribe", events=["log.entryAdded"])
        tree = bidi.ask("browsingContext.getTree")
        self._tab = tree["contexts"][0]["context"]

    def go(self, url: str) -> None:
        """Open an address."""
        self._bidi.ask("browsingContext.navigate", context=self._tab, url=url, wait="complete")

    def eval(self, script: str) -> Json:
        """The value of an expression in the page."""
        told = self._bidi.ask(
            "script.evaluate",
            expression=script,
            target={"context": self._tab},
            awaitPromise=True,
        )
        assert told["type"] == "success", told
        return told["result"].get("value")

    def until(self, script: str) -> None:
        """Wait until an expression is true."""
        until(lambda: self.eval(f"Boolean({script})") is True)

    def click(self, selector: str) -> None:
        """Press the mouse on the middle of an element."""
        self.until(f"document.querySelector({selector!r})?.checkVisibility()")
        box = f"document.querySelector({selector!r})"
        place = f"(e => (e.scrollIntoView({{block: 'center'}}), e.getBoundingClientRect()))({box})"
        spot = json.loads(
            self.eval(f"(r => JSON.stringify([r.x + r.width / 2, r.y + r.height / 2]))({place})")
        )
        x, y = (int(each) for each in spot)
        press = [
            {"type": "pointerMove", "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self._act({"type": "pointer", "id": "mouse", "actions": press})

    def type(self, text: str) -> None:
        """Type keys; a line feed is Enter."""
        keys = [
            {"type": kind, "value": "\ue007" if key == "\n" else key}
            for key in text
            for kind in ("keyDown", "keyUp")
        ]
        self._act({"type": "key", "id": "keys", "actions": keys})

    def _act(self, source: Json) -> None:
        self._bidi.ask("input.performActions", context=self._tab, actions=[source])

    @property
    def errors(self) -> list[str]:
        """Errors of the page."""
        entries = [each["params"] for each in self._bidi.heard if each.get("params")]
        return [str(each.get("text")) for each in entries if each.get("level") == "error"]


@contextmanager
def firefox(folder: Path) -> Generator[FirefoxPage]:
    """A Firefox with a new profile. Its process is always ended."""
    profile = folder / "firefox"
    profile.mkdir()
    line = [FIREFOX, "--headless", "--no-remote", "--profile", str(profile)]
    with subprocess.Popen(
        [*line, "--remote-debugging-port", "0", "about:blank"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"HOME": str(folder)},
        text=True,
    ) as process:
        try:
            bidi = BidiSocket("127.0.0.1", _port(process.stderr))
            try:
                yield FirefoxPage(bidi)
            finally:
                bidi.close()
        finally:
            process.kill()


def _port(said: IO[str] | None) -> int:
    """The port that Firefox tells when it is ready."""
    assert said is not None
    for line in said:
        if found := re.search(r"BiDi listening on ws://[^:]+:(\d+)", line):
            return int(found[1])
    raise AssertionError("Firefox ended")
