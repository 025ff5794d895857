"""A thousand subscribers to the event stream: a burst, a steady rate, and memory per subscriber.

One process reads all of them with plain sockets, and parses the data only afterwards.
"""

import re
import resource
import select
import socket
import statistics
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, perf_counter
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from bench.contestants import Contestant, running
from bench.lines import Bound, Goal, Line, rate, ratios
from bench.rounds import in_turns

SUBSCRIBERS: Final = 1000
BURST_EVENTS: Final = 50
PACED_EVENTS: Final = 20
_BOUND_SECONDS: Final = 60.0
_READ_BYTES: Final = 1 << 15

_OURS: Final = "bench.children.http_server"
_OTHERS: Final = "bench.children.sse_peers"

_FRAME_END: Final = b"\n\n"
_EVENT: Final = b"\ndata: "
_ID: Final = re.compile(rb"^id: (\d+)$", re.MULTILINE)
_SENT: Final = re.compile(rb'"text":"([0-9.]+)"')


class Piece(NamedTuple):
    """The bytes of one read of a subscriber, and the time."""

    moment: float
    data: bytes


class Readers:
    """A thousand subscribers."""

    def __init__(self, contestant: Contestant) -> None:
        self.contestant = contestant
        self._epoll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        self._pieces: dict[int, list[Piece]] = {}
        self._pool = ThreadPoolExecutor(1)

    def connect(self) -> None:
        """Subscribe, a hundred at a time, and wait for the start of every stream."""
        for _ in range(SUBSCRIBERS // 100):
            for _ in range(100):
                self._add(self._subscribe())
            self._read(_FRAME_END, 1)

    def _subscribe(self) -> socket.socket:
        where = urlsplit(str(self.contestant.greeting["url"]))
        tokens = self.contestant.greeting["tokens"]
        assert isinstance(tokens, dict)
        each = socket.create_connection((where.hostname, where.port))
        each.sendall(
            f"GET /api/events HTTP/1.1\r\nhost: {where.netloc}\r\n"
            f"authorization: Bearer {tokens['']}\r\n\r\n".encode()
        )
        return each

    def _add(self, each: socket.socket) -> None:
        each.setblocking(False)
        self._sockets[each.fileno()] = each
        self._pieces[each.fileno()] = []
        self._epoll.register(each, select.EPOLLIN)

    def close(self) -> None:
        """Close all connections."""
        for each in self._sockets.values():
            each.close()
        self._epoll.close()
        self._pool.shutdown()

    def hear(self, task: str, events: int) -> float:
        """Publish events; return the seconds until every subscriber has all of them."""
        for pieces in self._pieces.values():
            pieces.clear()
        begin = perf_counter()
        published = self._pool.submit(self.contestant.do, task, events)
        self._read(_EVENT, events)
        took = perf_counter() - begin
        published.result()
        self._check(events)
        return took

    def _read(self, mark: bytes, count: int) -> None:
        """Read until every subscriber has that many occurrences of a mark."""
        left = {number: count for number, pieces in self._pieces.items() if not pieces}
        last = dict.fromkeys(left, b"")
        end = monotonic() + _BOUND_SECONDS
        while left:
            ready = self._epoll.poll(1.0)
            if monotonic() > end:
                raise TimeoutError(f"{len(left)} subscribers miss something")
            for number, _ in ready:
                data = self._sockets[number].recv(_READ_BYTES)
                if not data:
                    raise ConnectionError("the server hung up")
                self._pieces[number].append(Piece(monotonic(), data))
                if number in left:
                    left[number] -= (last[number] + data).count(mark)
                    last[number] = (last[number] + data)[1 - len(mark) :]
                    if left[number] <= 0:
                        del left[number]

    def _check(self, events: int) -> None:
        """Check that no subscriber misses an event, has one twice, or has them out of order."""
        for pieces in self._pieces.values():
            text = b"".join(piece.data for piece in pieces)
            seqs = [int(found) for found in _ID.findall(text)]
            if seqs != list(range(seqs[0], seqs[0] + events)):
                raise AssertionError(f"a subscriber has {len(seqs)} events: {seqs[:10]}...")

    def delays(self) -> list[float]:
        """Seconds from the publication of an event until its arrival, per delivery."""
        return [
            piece.moment - float(sent)
            for pieces in self._pieces.values()
            for piece in pieces
            for sent in _SENT.findall(piece.data)
        ]

    def own_kilobytes(self) -> float:
        """The unique set size of the server."""
        lines = Path(f"/proc/{self.contestant.greeting['pid']}/smaps_rollup").read_text()
        private = [line for line in lines.splitlines() if line.startswith("Private_")]
        return sum(int(line.split()[1]) for line in private)


@contextmanager
def subscribed(module: str, folder: Path) -> Generator[Readers]:
    """Run a server with a thousand subscribers until the end of the block."""
    with running(module, folder, environment={}) as contestant:
        readers = Readers(contestant)
        try:
            readers.connect()
            yield readers
        finally:
            readers.close()


def measure(folder: Path, rounds: int, *, lives: int) -> list[Line]:
    """Measure the three lines of the event stream; memory is measured on fresh servers."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with ExitStack() as stack:
        ours = stack.enter_context(subscribed(_OURS, folder / "ours"))
        theirs = stack.enter_context(subscribed(_OTHERS, folder / "starlette"))
        burst = in_turns({"ours": _burst(ours), "starlette": _burst(theirs)}, rounds)
    with ExitStack() as stack:
        ours = stack.enter_context(subscribed(_OURS, folder / "paced"))
        theirs = stack.enter_context(subscribed(_OTHERS, folder / "bare"))
        paced = in_turns({"ours": _paced(ours), "bare": _paced(theirs)}, rounds)
    memory = [_memory(folder / f"memory-{number}") for number in range(lives)]
    return [_burst_line(burst), _paced_line(paced), _memory_line(memory)]


def _burst(readers: Readers) -> Callable[[], float]:
    """Deliveries per second."""
    return lambda: SUBSCRIBERS * BURST_EVENTS / readers.hear("burst", BURST_EVENTS)


def _paced(readers: Readers) -> Callable[[], float]:
    """The 99th percentile of the delay."""

    def run() -> float:
        readers.hear("paced", PACED_EVENTS)
        return statistics.quantiles(readers.delays(), n=100)[98]

    return run


def _memory(folder: Path) -> float:
    """KB per subscriber of a fresh server, after each has received events."""
    with running(_OURS, folder, environment={}) as contestant:
        readers = Readers(contestant)
        try:
            contestant.do("burst", BURST_EVENTS)
            before = readers.own_kilobytes()
            readers.connect()
            readers.hear("burst", BURST_EVENTS)
            return (readers.own_kilobytes() - before) / SUBSCRIBERS
        finally:
            readers.close()


def _burst_line(found: dict[str, list[float]]) -> Line:
    return Line(
        what=f"{SUBSCRIBERS:,} SSE subscribers, a burst of {BURST_EVENTS} durable events",
        against="the same stream on sse-starlette, of events that lie ready (deliveries a second)",
        goal=Goal(Bound.AT_LEAST, 5),
        figures=ratios(found["ours"], found["starlette"]),
        aside=f"{rate(found['ours'])} against {rate(found['starlette'])}, none lost",
    )


def _paced_line(found: dict[str, list[float]]) -> Line:
    ours, bare = (1000 * statistics.median(found[side]) for side in ("ours", "bare"))
    return Line(
        what=f"{SUBSCRIBERS:,} SSE subscribers, 10 durable events a second (p99 of the delay)",
        against="a bare asyncio protocol that writes the bytes, of events that lie ready (p99)",
        goal=Goal(Bound.AT_MOST, 3.5),
        figures=ratios(found["ours"], found["bare"]),
        aside=f"{ours:.1f} ms against {bare:.1f} ms, from the command to the subscriber",
    )


def _memory_line(found: Sequence[float]) -> Line:
    return Line(
        what=f"memory of an SSE subscriber, of {SUBSCRIBERS:,} that have been served",
        against="the same server without subscribers (memory more)",
        goal=Goal(Bound.AT_MOST, 16, "KB"),
        figures=found,
    )
