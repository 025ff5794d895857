"""A scripted model server: real programs that call a model run against it, without a key.

    python -m muster.testing.model --script FILE.json

prints its address and answers until it is interrupted (programs read the address from
`ANTHROPIC_BASE_URL`). In a test:

    with ScriptedModel([Rule(match="hello", reply="Hi.")]) as model:
        ...  # a program that calls model.url
        assert len(model.calls()) == 1 and not model.unmatched()

The server listens on localhost only, in threads of its own, so it serves tests with and without an
event loop. A test that needs a refused connection closes it.
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
    OutOfTokens,
    Part,
    Refusal,
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
    "OutOfTokens",
    "Refusal",
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
"""Requests of one script: more mean that a rule matches the result of its own reply."""

WAIT_SECONDS: Final = 300.0
"""Default timeout of `wait_for`: a real program may start slowly on a busy machine."""


class ScriptedModel:
    """A model server as a context manager. The first rule that matches a request answers it."""

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
        """Listen, and answer requests."""
        self._server = Server(self, self._port)
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._serve, args=(self._server,), name="model")
        self._thread.start()

    @property
    def url(self) -> str:
        """The base URL; still set after `close`, when connections to it are refused."""
        return f"http://{HOST}:{self._port}"

    def calls(self) -> list[Call]:
        """All requests so far, in order; a request is listed before it is answered."""
        with self._changed:
            return list(self._calls)

    def unmatched(self) -> list[Call]:
        """The requests that no rule matched."""
        with self._changed:
            return list(self._unmatched)

    def add(self, rule: Rule) -> None:
        """Append a rule after the others."""
        with self._changed:
            self._rules.append(_Turns(rule))

    def wait_for(
        self, wanted: int | Callable[[Call], bool], timeout_s: float = WAIT_SECONDS
    ) -> Call:
        """Wait for the call with this number, or the first that satisfies this predicate.

        This method blocks: on an event loop, `await asyncio.to_thread(model.wait_for, 1)`.
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
                raise TimeoutError(f"no such request arrived; the requests were: {asked}")
            return call

    def close(self) -> None:
        """Close all connections, and return when every thread has ended."""
        server, self._server = self._server, None
        if server is None or self._thread is None:
            return
        with self._changed:
            self._closing.set()
            self._changed.notify_all()
            for hold in self._held:
                hold.release()
        server.hang_up()
        # The server thread blocks in accept: one more connection wakes it.
        socket.create_connection((HOST, self._port)).close()
        self._thread.join()
        server.server_close()
        if server.broken:
            raise server.broken[0]

    def _serve(self, server: Server) -> None:
        while not self._closing.is_set():
            server.handle_request()

    # ── called by the request threads ──

    def answer(self, call: Call) -> list[Part]:
        """Record a request, and return the parts of its reply."""
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
        """Pause a reply; closing the server ends the pause."""
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
    "The script's limit of {limit} requests is reached: probably a rule matches its own result. "
    "Give it `times` or `agent`, or raise the limit."
)


class _Turns:
    """A rule, and how often it may still answer; below zero is without limit."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.left = -1 if rule.times is None else rule.times


def main(arguments: list[str] | None = None) -> None:
    """Serve a script until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m muster.testing.model", description=__doc__)
    parser.add_argument("--script", type=Path, required=True, help="a list of rules, as JSON")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--limit", type=int, default=LIMIT, help="maximum number of requests")
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
