"""`muster since`: what was done, asked and spent, and what failed, since a person last looked."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import click

from muster.cli.acting import print_json
from muster.cli.options import home_option, json_option
from muster.cli.reading import now
from muster.cli.render import Look, Tone, clean, duration, paint
from muster.cli.terminal import look
from muster.engine.loading import load
from muster.machines.kernel.sentences import dollars
from muster.store.base import ReadableLog
from muster.store.opening import open_reader
from muster.views.answers.since import SinceEntry, SinceKind, SinceView
from muster.views.content.since import looked, read_digest_of
from muster.views.history import moment_of

_TONES: Final = {SinceKind.FAILED: Tone.BAD, SinceKind.ASKED: Tone.ODD, SinceKind.DONE: Tone.GOOD}
_CHARS: Final = 100


@click.command()
@home_option
@click.option("--hours", type=click.FloatRange(min=0, min_open=True), help="Tell so much time.")
@json_option("Print one JSON object.")
def since(home: Path, hours: float | None, as_json: bool) -> None:
    """Tell what happened since you last looked.

    What was done, what failed, what agents asked, and what it cost. The dashboard records when you
    look at it. The digest comes from the team's log, so no server is needed.
    """
    with open_reader(home) as log:
        team = load(log)
        after = looked(team) if hours is None else _seq_at(log, team.seq, hours)
        found = read_digest_of(log, team, after, now())
    if as_json:
        print_json(found)
    else:
        click.echo("\n".join(_lines(found, look())))


def _seq_at(log: ReadableLog, last: int, hours: float) -> int:
    """The last event before so many hours ago."""
    at, low, high = now() - timedelta(hours=hours), 0, last
    while low < high:
        middle = (low + high + 1) // 2
        if _moment(log, middle) <= at:
            low = middle
        else:
            high = middle - 1
    return low


def _moment(log: ReadableLog, seq: int) -> datetime:
    return moment_of(log.read(after=seq - 1, limit=1)[0])


def _lines(found: SinceView, shown: Look) -> Iterator[str]:
    yield f"{_begin(found)}: {_counts(found)}"
    for entry in found.entries:
        yield _line(entry, shown)
    if found.channels:
        talked = (f"#{clean(each.channel)} {each.messages}" for each in found.channels)
        yield f"messages: {', '.join(talked)}"


def _begin(found: SinceView) -> str:
    if found.since is None:
        return "From the beginning"
    return f"In the last {duration((found.until - found.since).total_seconds())}"


def _counts(found: SinceView) -> str:
    counts = [(found.done, "done"), (found.failed, "failed"), (found.asked, "asked")]
    parts = [f"{count} {word}" for count, word in counts if count]
    if found.spent.cost_usd:
        parts.append(f"{dollars(found.spent.cost_usd)} spent")
    return ", ".join(parts) or "nothing was done, failed or asked"


def _line(entry: SinceEntry, shown: Look) -> str:
    what = clean(" ".join(entry.what.split()))
    what = what if len(what) <= _CHARS else f"{what[: _CHARS - 1]}…"
    who = f"{clean(entry.agent)}: " if entry.agent else ""
    times = f" ({entry.count} times)" if entry.count > 1 else ""
    return f"  {paint(entry.kind, _TONES[entry.kind], shown)}  {who}{what}{times}"
