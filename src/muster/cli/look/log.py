"""`muster log`: the events of the team; `--follow` prints new ones.

Following reads the log's file again and again, so it needs no server and outlives one.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event as Pause
from typing import Final

import click

from muster.cli.options import home_option, json_option
from muster.cli.reading import need_agent
from muster.cli.render import Look, json_line
from muster.cli.telling import tell
from muster.cli.terminal import look
from muster.engine.loading import advance, load
from muster.errors import Invalid
from muster.machines.events import FACTS
from muster.machines.ids import ChannelId
from muster.machines.state import Team
from muster.store.base import LogFilter, ReadableLog, Stored
from muster.store.codec import decode
from muster.store.opening import open_reader

SHOWN: Final = 50
PAGE: Final = 1000
POLL_SECONDS: Final = 0.2

TYPES: Final = tuple(sorted(str(fact.__struct_config__.tag) for fact in FACTS))


@click.command()
@home_option
@click.option("--follow", "-f", is_flag=True, help="Print new events until Ctrl-C.")
@json_option("Print one JSON object a line, as it is in the log.")
@click.option(
    "--after", type=click.IntRange(min=0), metavar="N", help="Only events after number N."
)
@click.option("--agent", metavar="A", help="Only events of an agent (name or seat).")
@click.option("--channel", metavar="C", help="Only events of a channel.")
@click.option(
    "--type", "kind", metavar="T", help="Only events of a type; an unknown type lists all types."
)
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="Limit the number of events."
)
def log(
    home: Path,
    follow: bool,
    as_json: bool,
    after: int | None,
    agent: str | None,
    channel: str | None,
    kind: str | None,
    limit: int | None,
) -> None:
    """Show events; --follow prints new ones.

    Without --after it shows the newest 50 events (or --limit). With --after it shows everything
    from there on. Conditions are joined by "and".
    """
    if follow and limit and after is not None:
        raise click.UsageError(
            "--limit and --follow with --after would leave a gap between old and new events."
        )
    with open_reader(home) as reader:
        team = load(reader)
        where = _filter(team, agent, channel, kind)
        shown = look()
        for page in _pages(reader, where, after, limit, team.seq):
            _print(page, team, as_json, shown)
        if follow:
            _follow(reader, where, team, as_json, shown)


def _filter(team: Team, agent: str | None, channel: str | None, kind: str | None) -> LogFilter:
    if kind is not None and kind not in TYPES:
        raise Invalid(what=f"{kind!r}", why=f"is no type of event; they are {', '.join(TYPES)}")
    return LogFilter(
        types=frozenset({kind} if kind else ()),
        seat=need_agent(team, agent).seat if agent else None,
        channel=team.channel(ChannelId(channel)).id if channel else None,
    )


def _pages(
    reader: ReadableLog, where: LogFilter, after: int | None, limit: int | None, last: int
) -> Iterator[Sequence[Stored]]:
    """Past events: the newest, or those after a number. Those after `last` are left to --follow."""
    if after is None:
        wanted = limit or SHOWN
        newer = max(0, reader.last_seq() - last)  # written since the team was read
        newest = reader.read(after=0, limit=wanted + newer, where=where, backwards=True)
        yield [event for event in newest if event.seq <= last][:wanted][::-1]
        return
    left = limit
    while left is None or left > 0:
        page = reader.read(after=after, limit=min(PAGE, left or PAGE), where=where)
        if not page:
            return
        yield [event for event in page if event.seq <= last]
        after = page[-1].seq
        left = None if left is None else left - len(page)


def _follow(reader: ReadableLog, where: LogFilter, team: Team, as_json: bool, shown: Look) -> None:
    """Print new events until Ctrl-C, which exits with 0.

    The first one is the event after the loaded `team`: all before it were printed or filtered.
    """
    pause = Pause()
    try:
        while True:
            while page := reader.read(after=team.seq, limit=PAGE):
                team = advance(team, page)
                _print([event for event in page if where.wants(event)], team, as_json, shown)
            pause.wait(POLL_SECONDS)
    except KeyboardInterrupt:
        return


def _print(page: Sequence[Stored], team: Team, as_json: bool, shown: Look) -> None:
    for stored in page:
        line = json_line(stored.data) if as_json else tell(decode(stored.data), team, shown)
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
