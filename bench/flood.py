"""A program that floods a gigabyte of output, and a quiet program beside it."""

import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Final, NamedTuple

import msgspec

from bench.lines import Bound, Goal, Line, ratios
from bench.processes import own_bytes, python
from bench.supervised import Up, milliseconds, pause, up
from muster.runtimes.process.output_file import OUTPUT_FILE

FLOOD_BYTES: Final = 1_000_000_000
CALM_SECONDS: Final = 4.0

_MB: Final = 1_000_000
_LINE: Final = "all tests pass; next I look at the parser, and then at the tests again"
_SAMPLE_SECONDS: Final = 0.05
_QUIET: Final = """
import time
while True:
    time.sleep(0.05)
    print(time.monotonic(), flush=True)
    time.sleep(0.05)
    print('{"type":"result","text":"%.6f"}' % time.monotonic(), flush=True)
"""
"""Prints the time alternately as a line of text and as a JSON message to muster."""


class Heard(NamedTuple):
    """The delays of the quiet program's lines, by kind."""

    text: list[float]
    word: list[float]


class Flooded(NamedTuple):
    """The effects of a flood."""

    heard: Heard
    more_bytes: int
    seconds: float


class _Event(msgspec.Struct, frozen=True):
    text: str = ""


def measure(
    folder: Path, rounds: int, size: int = FLOOD_BYTES, calm_s: float = CALM_SECONDS
) -> list[Line]:
    """Measure the lines of a flood."""
    with up(folder, _settings(size)) as team, ThreadPoolExecutor(2) as threads:
        team.client.run("quiet", "continuous")
        calm: list[Heard] = []
        floods: list[Flooded] = []
        _listen(team, threads, calm_s / 4)
        before = own_bytes(team.pid)
        for _ in range(rounds):
            calm.append(_listen(team, threads, calm_s))
            floods.append(_flooded(team, threads, before))
        kept = check_what_is_kept(team, rounds * size)
    return [
        *_late_lines(calm, [flood.heard for flood in floods]),
        Line(
            what="memory of `muster up` while a program floods 1 GB of output",
            against="before (memory more)",
            goal=Goal(Bound.AT_MOST, 50, "MB"),
            figures=[flood.more_bytes / _MB for flood in floods],
            aside=f"{size / _MB / statistics.median(each.seconds for each in floods):.0f} MB/s; "
            f"{kept}",
        ),
    ]


def _settings(size: int) -> str:
    quiet = python("-c", _QUIET)
    flood = ["sh", "-c", f"yes '{_LINE}' | head -c {size}"]
    return (
        f"[agents.quiet]\nprompt = 'none'\ncommand = {msgspec.json.encode(quiet).decode()}\n"
        f"[agents.flood]\nprompt = 'none'\noutput_files = 1000\n"
        f"command = {msgspec.json.encode(flood).decode()}\n"
    )


# ── the quiet one ─────────────────────────────────────────────────────────────────────────────────


def _listen(team: Up, threads: ThreadPoolExecutor, seconds: float) -> Heard:
    """Collect delays of the quiet program for a while."""
    enough = Event()
    listening = threads.submit(_hear, team, enough)
    pause(seconds)
    enough.set()
    return listening.result()


def _hear(team: Up, enough: Event) -> Heard:
    """Collect delays until `enough`, and at least one of each kind."""
    heard = Heard([], [])
    for event in team.client.events(types=["agent_output", "session_result"], agent="quiet"):
        now = monotonic()
        said = msgspec.json.decode(event.data, type=_Event).text
        into = heard.text if event.type == "agent_output" else heard.word
        into.append(now - float(said.splitlines()[0]))
        if enough.is_set() and heard.text and heard.word:
            break
    return heard


def _late_lines(calm: Sequence[Heard], flooded: Sequence[Heard]) -> Iterator[Line]:
    kinds = ("a line of text, gathered for 50 ms", "a JSON line, told at once")
    for kind, quiet, loud in zip(
        kinds, zip(*calm, strict=True), zip(*flooded, strict=True), strict=True
    ):
        ours, theirs = ([statistics.median(each) for each in side] for side in (loud, quiet))
        yield Line(
            what=f"a quiet agent beside one that floods 1 GB: {kind}, until it is an event (p50)",
            against="the same without the flood (p50)",
            goal=Goal(Bound.AT_MOST, 2),
            figures=ratios(ours, theirs),
            aside=f"{milliseconds(statistics.median(ours))} against "
            f"{milliseconds(statistics.median(theirs))}",
        )


# ── the flood ─────────────────────────────────────────────────────────────────────────────────────


def _flooded(team: Up, threads: ThreadPoolExecutor, before: int) -> Flooded:
    """Run a flood and measure its effects."""
    enough = Event()
    listening = threads.submit(_hear, team, enough)
    begin = monotonic()
    seq = team.client.run("flood", "run_once").seq
    ending = threads.submit(_ended, team, seq)
    most = max(_samples(team.pid, ending))
    seconds = monotonic() - begin
    enough.set()
    return Flooded(listening.result(), most - before, seconds)


def _ended(team: Up, after: int) -> None:
    next(team.client.events(after=after, types=["session_end"], agent="flood"))


def _samples(pid: int, ending: "Future[None]") -> Iterator[int]:
    """Samples of the memory until the flood is over."""
    yield own_bytes(pid)
    while not ending.done():
        pause(_SAMPLE_SECONDS)
        yield own_bytes(pid)


def check_what_is_kept(team: Up, size: int) -> str:
    """Check that the log has an excerpt that states the omission, and that the files have all."""
    told = omitted = 0
    after, more = -1, True
    while more:
        page = team.client.output("flood", after=after)
        told += sum(len(each.text) + 1 for each in page.output)
        omitted += sum(each.omitted for each in page.output)
        after, more = page.after, page.more
    files = (team.home / "agents" / "flood").glob(f"{OUTPUT_FILE}*")
    kept = sum(file.stat().st_size for file in files)
    if kept != size or abs(told + omitted - size) > size / 1000:
        raise RuntimeError(f"of {size} bytes {told} are told, {omitted} not, and {kept} kept")
    return (
        f"the log has {told / _MB:.1f} MB, says that {omitted / _MB:,.0f} MB are left out, and "
        f"files keep all {kept / _MB:,.0f} MB"
    )
