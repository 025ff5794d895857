"""`python -m bench`: measure every line of the table, print it, and write docs/performance.md."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from bench import (
    boot,
    confine,
    crowd,
    durable,
    flood,
    hooks,
    http,
    idle,
    inject,
    kernel,
    mcp,
    memory,
    moving,
    postgres,
    report,
    run_control,
    search,
    sessions,
    sse,
    startup,
    trust,
    web,
)
from bench.flush import Flushing, flushings
from bench.lines import Line

_TITLE: Final = "Against raw baselines"
_INTRO: Final = """\
- *In memory* is `decide`: rules checked, events created, state evolved, in a channel of three.
- *Durable commands* go through `Dispatcher.send` of a complete open team (`muster.app.open_team`:
  timers, reactor, feed and snapshots run) on the SQLite store: WAL, `synchronous=FULL`, so each is
  on disk before it is answered. A human posts in a channel: one event, one changed channel. The
  baseline writes prepared bytes, decides nothing and has no waiting callers.
- *Every flush 1 ms* uses a shim on both sides that makes fsync and fdatasync take exactly 1 ms:
  the flush time of a shared disk drifts more than the measured difference.
- *PostgreSQL* is Debian's server on the same machine, with `fsync` on. One process is a complete
  team again; of several at once, the first is one, and the others decide and commit alone.
- *Boot* is `open_team` in a fresh process until the start is in the log, on the process's own clock
  from the end of its imports. The log is simulated work of 48 agents in 12 channels: posts, turns,
  activity, waits, disconnects.
- *Memory* is the unique set size (USS) of the process.
- *Over HTTP* the server is a complete muster in a process of its own, as `muster up` runs it. A
  `POST` is a human's message in a channel, with a token; the empty route checks the token too.
- *SSE subscribers* are read by one process with plain sockets. The delay is from the command to the
  subscriber, so it includes the commit. Each round checks for each subscriber that no event was
  lost, duplicated or out of order.
- *Until the program runs* is from the rename of a file with a new desired state until the program,
  a shell, has run its first command. In a team the desired state is on disk before that.
- *A flood* comes from one program as fast as muster reads it. A quiet program beside it prints the
  time; the delay is measured at a subscriber to the event stream. Each run checks that the log
  states how much it left out, and that the files keep everything.
- *The dashboard* is opened in a headless Chromium without a graphics card, on the same machine. Its
  bytes are counted on the wire; an event is on the screen after the frame that shows it.
- *A policy hook* is the hook that Claude Code runs before every tool call, here for an allowed call
  in an open state machine session. *All hooks* are those before and after the real Claude Code
  writes a file, from a scripted model's reply until the next request to the model.
- *Search* asks the open store and builds the answer as it is sent. The words of the messages are as
  frequent as in a language: the n-th is about n times as rare as the first.
- *An injected agent* waits in the long-poll while it has the turn; a human posts in mode `inject`.
  The bare socket has one flush, muster two: the message, and that it was handed over.
- *A call of an MCP tool* is one request of revision 2026-07-28 on an open connection. The bare
  server of the SDK checks no token, and gives the same answer from memory.
- *An idle session* of each runtime waits for work. muster's share is that of its process alone,
  less what the same team takes without any session; what a maker's program spends is its own.
- *A backup* is `muster backup` in a process of its own, beside a complete team to which commands
  come at a steady rate. It verifies what it has written."""


GROUPS: Final = (
    *(
        "kernel",
        "durable",
        "postgres",
        "moving",
        "boot",
        "memory",
        "startup",
        "http",
        "sse",
        "idle",
    ),
    *("idle", "starts", "stops", "crowd", "flood", "web", "hooks", "confine", "search"),
    *("inject", "settings", "mcp", "sessions", "trust"),
)


class Effort(NamedTuple):
    """The number and length of the rounds."""

    kernel_rounds: int
    durable_rounds: int
    startup_rounds: int
    boot_rounds: int
    boot_events: int
    replays: int
    memory_rounds: int
    http_rounds: int
    sse_rounds: int
    sse_lives: int
    idle_rounds: int
    start_rounds: int
    stop_rounds: int
    crowd_rounds: int
    crowd_lives: int
    flood_rounds: int
    web_rounds: int
    web_events: int
    web_seconds: float
    web_tabs: int
    hook_rounds: int
    hook_sessions: int
    search_rounds: int
    search_messages: int
    inject_rounds: int


_FULL: Final = Effort(
    *(300, 40, 40, 9, 1_000_000, 3, 5, 30, 9, 3, 10),
    start_rounds=40,
    stop_rounds=200,
    crowd_rounds=4,
    crowd_lives=3,
    flood_rounds=3,
    web_rounds=3,
    web_events=100_000,
    web_seconds=10.0,
    web_tabs=10,
    hook_rounds=60,
    hook_sessions=9,
    search_rounds=9,
    search_messages=1_000_000,
    inject_rounds=15,
)
_QUICK: Final = Effort(
    *(60, 8, 10, 3, 100_000, 2, 2, 6, 3, 1, 2),
    start_rounds=6,
    stop_rounds=30,
    crowd_rounds=2,
    crowd_lives=1,
    flood_rounds=1,
    web_rounds=1,
    web_events=100_000,
    web_seconds=4.0,
    web_tabs=8,
    hook_rounds=20,
    hook_sessions=3,
    search_rounds=3,
    search_messages=50_000,
    inject_rounds=4,
)


def main() -> int:
    """Measure, print, write."""
    options = _options()
    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="muster-bench-", dir=options.dir) as name:
        folder = Path(name).resolve()
        folder.chmod(0o711)  # the server of PostgreSQL may run as another user
        about = report.circumstances(folder)
        for line in _measured(folder, options):
            print(report.terminal_line(line), flush=True)
            lines.append(line)
    missed = sum(line.verdict == "miss" for line in lines)
    print(f"\n{len(lines) - missed} of {len(lines)} goals met. {about}")
    if options.quick or options.only:
        print(f"{report.DOCUMENT.name} is written by a full run only")
    else:
        report.publish(_TITLE, report.section(_TITLE, _INTRO, lines, about))
    return 1 if missed and options.strict else 0


def _measured(folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    for name, benchmark in _benchmarks(folder, options).items():
        if options.only in (None, name):
            yield from benchmark()


def _benchmarks(
    folder: Path, options: argparse.Namespace
) -> dict[str, Callable[[], Iterator[Line] | list[Line]]]:
    effort = _QUICK if options.quick else _FULL

    def flushed(
        measure: Callable[[Path, Flushing, int], list[Line]], name: str, rounds: int
    ) -> Iterator[Line]:
        (folder / name).mkdir()
        for number, flushing in enumerate(flushings(folder / name, options.flush_ms)):
            yield from measure(folder / name / str(number), flushing, rounds)

    return {
        "kernel": partial(kernel.measure, effort.kernel_rounds),
        "durable": partial(flushed, durable.measure, "durable", effort.durable_rounds),
        "postgres": partial(flushed, postgres.measure, "postgres", effort.durable_rounds),
        "moving": partial(
            moving.measure,
            folder / "moving",
            events=effort.boot_events,
            rounds=effort.memory_rounds,
        ),
        "boot": partial(
            boot.measure,
            folder / "boot",
            events=effort.boot_events,
            rounds=effort.boot_rounds,
            replays=effort.replays,
        ),
        "memory": partial(memory.measure, folder / "memory", effort.memory_rounds),
        "startup": partial(startup.measure, folder / "startup", effort.startup_rounds),
        "http": partial(flushed, http.measure, "http", effort.http_rounds),
        "sse": partial(sse.measure, folder / "sse", effort.sse_rounds, lives=effort.sse_lives),
        "idle": partial(idle.measure, folder / "idle", effort.idle_rounds),
        "starts": partial(run_control.measure_starts, folder / "starts", effort.start_rounds),
        "settings": partial(run_control.measure_settings, folder / "settings", effort.start_rounds),
        "stops": partial(run_control.measure_stops, folder / "stops", effort.stop_rounds),
        "crowd": partial(
            crowd.measure, folder / "crowd", effort.crowd_rounds, lives=effort.crowd_lives
        ),
        "flood": partial(flood.measure, folder / "flood", effort.flood_rounds),
        "web": partial(
            web.measure,
            folder / "web",
            effort.web_rounds,
            events=effort.web_events,
            seconds=effort.web_seconds,
            tabs=effort.web_tabs,
        ),
        "hooks": partial(
            hooks.measure, folder / "hooks", effort.hook_rounds, sessions=effort.hook_sessions
        ),
        "confine": partial(confine.measure, folder / "confine", effort.startup_rounds),
        "search": partial(
            search.measure,
            folder / "search",
            effort.search_rounds,
            messages=effort.search_messages,
        ),
        "inject": partial(inject.measure, folder / "inject", effort.inject_rounds),
        "mcp": partial(mcp.measure, folder / "mcp", effort.http_rounds),
        "trust": partial(
            trust.measure, folder / "trust", effort.memory_rounds, events=effort.boot_events
        ),
        "sessions": partial(sessions.measure, folder / "sessions", effort.memory_rounds),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a rough run in under a minute")
    parser.add_argument("--only", choices=GROUPS)
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a goal is missed")
    parser.add_argument(
        "--flush-ms", type=float, default=1.0, help="duration of a simulated flush; 0 skips it"
    )
    parser.add_argument("--dir", type=Path, help="where to put files: the disk that is measured")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
