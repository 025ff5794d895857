"""A model that follows a script: real programs that talk to a model run against it, without a key.

    python -m muster.testing.model --script FILE.json

prints its address and answers until it is interrupted (`ANTHROPIC_BASE_URL` is where programs look
for it). In a test:

    with ScriptedModel([Rule(match="hello", reply="Hi.")]) as model:
        ...  # a program that asks model.url
        assert len(model.calls()) == 1 and not model.unmatched()

It listens on this machine only, in threads of its own, so it serves tests with and without a loop.
A test that wants a refused connection closes it.
"""

import argparse
import signal
import socket
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from muster.testing.model_http import HOST, Call, Server
from muster.testing.model_script import (
    BadScript,
    Cut,
    Hold,
    Part,
    Rule,
    Silence,
    Slow,
    Status,
    Tool,
    Usage,
    read_script,
)
from muster.testing.model_wire import refusal

__all__ = [
    "BadScript",
    "Call",
    "Cut",
    "Hold",
    "Rule",
    "ScriptedModel",
    "Silence",
    "Slow",
    "Status",
    "Tool",
    "Usage",
    "main",
    "read_script",
]

LIMIT: Final = 200
"""Requests of one script: more are a rule that matches what comes of it."""

WAIT_SECONDS: Final = 300.0
"""A real program takes seconds to start on a busy machine."""


class ScriptedModel:
    """Serves while it is entered. The first rule that fits a request answers it."""

    def __init__(self, rules: Iterable[Rule] = (), *, port: int = 0, limit: int = LIMIT) -> None:
        self._rules = [_Turns(rule) for rule in rules]
        self._port = port
        self._limit = limit
        self._changed = threading.Condition()
        self._calls: list[Call] = []
        self._unmatched: list[Call] = []
        self._held: set[Hold] = set()
        self._closing = threading.Event()
        self._server: Server | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def open(self) -> None:
        """Listen, and answer whoever asks."""
        self._server = Server(self, self._port)
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._serve, args=(self._server,), name="model")
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens, also after it was closed: there nobody answers then."""
        return f"http://{HOST}:{self._port}"

    def calls(self) -> list[Call]:
        """What it was asked, in order; a request is here before it is answered."""
        with self._changed:
            return list(self._calls)

    def unmatched(self) -> list[Call]:
        """What no rule was for."""
        with self._changed:
            return list(self._unmatched)

    def add(self, rule: Rule) -> None:
        """One more rule, after the others."""
        with self._changed:
            self._rules.append(_Turns(rule))

    def wait_for(
        self, wanted: int | Callable[[Call], bool], timeout_s: float = WAIT_SECONDS
    ) -> Call:
        """The call of this number, or the first one that is like this, as soon as it has come.

        It blocks: on a loop, `await asyncio.to_thread(model.wait_for, 1)`.
        """

        def found() -> Call | None:
            if isinstance(wanted, int):
                return self._calls[wanted - 1] if len(self._calls) >= wanted else None
            return next((call for call in self._calls if wanted(call)), None)

        with self._changed:
            self._changed.wait_for(lambda: found() or self._closing.is_set(), timeout_s)
            call = found()
            if call is None:
                asked = [call.text[:80] for call in self._calls]
                raise TimeoutError(f"the model was not asked for it; it was asked: {asked}")
            return call

    def close(self) -> None:
        """Hang up on everybody, and return when nothing is left."""
        server, self._server = self._server, None
        if server is None or self._thread is None:
            return
        with self._changed:
            self._closing.set()
            self._changed.notify_all()
            for hold in self._held:
                hold.release()
        server.hang_up()
        # The loop waits for a connection: it gets one.
        socket.create_connection((HOST, self._port)).close()
        self._thread.join()
        server.server_close()
        if server.broken:
            raise server.broken[0]

    def _serve(self, server: Server) -> None:
        while not self._closing.is_set():
            server.handle_request()

    # ── what the threads of requests use ──

    def answer(self, call: Call) -> list[Part]:
        """Write a request down, and say what it gets."""
        with self._changed:
            if len(self._calls) >= self._limit:
                return [Status(400, refusal(400, _TOO_MANY.format(limit=self._limit)))]
            self._calls.append(call)
            self._changed.notify_all()
            for turns in self._rules:
                if turns.left != 0 and turns.rule.fits(
                    text=call.text, agent=call.agent, session=call.session
                ):
                    turns.left -= 1
                    return list(turns.rule.parts())
            self._unmatched.append(call)
            return [f"The script has no rule for this: {call.text[:200]!r}"]

    def pause(self, how: Silence | Hold) -> None:
        """Let time pass, but none after the server is closed."""
        if isinstance(how, Silence):
            self._closing.wait(min(how.seconds, threading.TIMEOUT_MAX))
        else:
            with self._changed:
                self._held.add(how)
                if self._closing.is_set():
                    how.release()
            how.reached.set()
            how.released.wait()
        if self._closing.is_set():
            raise ConnectionAbortedError("the scripted model was closed")


_TOO_MANY: Final = (
    "The script's limit of {limit} requests is reached: probably a rule matches what comes of it. "
    "Give it `times` or `agent`, or raise the limit."
)


class _Turns:
    """A rule, and how often it may still answer; below nothing there is no end."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.left = -1 if rule.times is None else rule.times


def main(arguments: list[str] | None = None) -> None:
    """Serve a script until somebody interrupts."""
    parser = argparse.ArgumentParser(prog="python -m muster.testing.model", description=__doc__)
    parser.add_argument("--script", type=Path, required=True, help="a list of rules, as JSON")
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--limit", type=int, default=LIMIT, help="how many requests it answers")
    chosen = parser.parse_args(arguments)
    try:
        rules = read_script(chosen.script)
    except BadScript as error:
        parser.error(str(error))
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    model = ScriptedModel(rules, port=chosen.port, limit=chosen.limit)
    try:
        model.open()
    except (OSError, OverflowError) as error:
        parser.error(f"port {chosen.port}: {error}")
    print(model.url, flush=True)
    signal.sigwait(ends)
    model.close()


if __name__ == "__main__":
    main()
