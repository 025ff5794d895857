"""A scripted model for the programs of several makers, on loopback.

What it answers is in the last text of a person in the request (`do: write a.txt`, `do@codex: run
ls`), and in how many results of tools came after that. So requests that programs make beside
(titles, classifiers) do no harm. One thing is remembered: a model hangs only once for the same word
(`do: hang first`), in the middle of its words (`do: stream first`), or calls a tool only once (`do:
tail a.log`, `do: touch a.txt`), so that work which is begun again after a crash comes to its end.
"""

import json
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from tests.acceptance.makers.wires import (
    Asked,
    ClaudeWire,
    GeminiWire,
    Json,
    OpencodeWire,
    PlainWire,
    ResponsesWire,
    Step,
    Wire,
)
from tests.waits import LIFE_SECONDS

WIRES = {
    "claude": ClaudeWire(),
    "codex": ResponsesWire(),
    "gemini": GeminiWire(),
    "graph": PlainWire(),
    "opencode": OpencodeWire(),
    "qwen": Wire(),
}
TURN = re.compile(r"It is your turn in the channel \S+ \(turn (\d+)")
ACT = re.compile(r"\bdo(?:@(\w+))?: (\w+) ?(.*)$", re.MULTILINE)
"""What a model is asked to do: every model, or one maker's."""

FIRST = ("tail", "touch")
"""Verbs for tools that a model calls only once for the same file: to follow it, or to write it."""


class MakersModel:
    """The server: each maker's API is below its name. A request to hang waits until the end."""

    def __init__(self) -> None:
        self.requests = 0
        """How many requests the models have had."""

        self._hung: dict[tuple[str, str], threading.Event] = {}
        self._asked: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._over = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
                pass

            def do_GET(self) -> None:
                self._reply('{"data":[],"models":[]}', "application/json")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                maker = self.path.split("/")[1]
                with suppress(OSError):  # an interrupted program has gone
                    self._reply(outer.answer(maker, body, self._begin), WIRES[maker].media_type)

            def _begin(self, text: str) -> None:
                """Send the beginning of an answer whose end never comes."""
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                self.wfile.write(text.encode())
                self.wfile.flush()

            def _reply(self, text: str, kind: str) -> None:
                data = text.encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, maker: str, body: Json, begin: Callable[[str], None]) -> str:
        self.requests += 1
        wire, number = WIRES[maker], self.requests
        asked = wire.asked(body)
        verb, word = _act(maker, asked)
        if verb == "stream" and not asked.results and self._is_first(maker, word):
            begin(wire.beginning(f"{maker} begins"))
            self._hang(maker, word)
        if verb in FIRST and not body.get("tools"):  # a title, or an agent that calls none
            return "".join(wire.answer(_end(asked, f"{maker} is back from {word}"), number))
        return "".join(wire.answer(self._step(wire, maker, asked, number), number))

    def hangs(self, maker: str, word: str = "") -> threading.Event:
        """Set when this maker's model hangs for a word."""
        with self._lock:
            return self._hung.setdefault((maker, word), threading.Event())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def _is_first(self, maker: str, word: str) -> bool:
        """Whether a model has not been asked for this word before; each is first once."""
        with self._lock:
            is_first = (maker, word) not in self._asked
            self._asked.add((maker, word))
            return is_first

    def _hang(self, maker: str, word: str) -> None:
        self.hangs(maker, word).set()
        self._over.wait(LIFE_SECONDS)

    def _step(self, wire: Wire, maker: str, asked: Asked, number: int) -> Step:
        verb, rest = _act(maker, asked)
        if asked.results and verb not in FIRST:
            return _end(asked, f"{maker} is told: {asked.results[-1][:300]}")
        if verb == "hang" and self._is_first(maker, rest):
            self._hang(maker, rest)
        if verb in FIRST and self._is_first(maker, rest):
            write = wire.call(wire.write, rest, number)
            return wire.run(f"tail -f {rest}") if verb == "tail" else write
        if verb == "write":
            return wire.call(wire.write, rest, number)
        if verb == "run":
            return wire.run(rest)
        if verb == "why":
            return _end(asked, next(line for line in asked.text.splitlines() if "may not" in line))
        if verb in ("back", "hang", "stream", *FIRST):
            return _end(asked, f"{maker} is back from {rest}")
        return _end(asked, rest if verb == "say" else f"{maker} speaks")


def _act(maker: str, asked: Asked) -> tuple[str, str]:
    """What a maker's model is asked to do last: a verb, and the rest of the line."""
    found = ACT.findall(asked.text)
    acts = [(verb, rest) for whose, verb, rest in found if whose in ("", maker)]
    return acts[-1] if acts else ("", "")


def _end(asked: Asked, text: str) -> Step:
    """A text; in a turn with the line that ends it."""
    turn = TURN.findall(asked.text)
    return Step(text=f"{text} in turn {turn[-1]}\nTURN_COMPLETE" if turn else text)
