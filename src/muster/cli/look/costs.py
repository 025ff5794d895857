"""`muster costs`: tokens and cost by agent, session, channel, conversation, day and model."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click
import msgspec

from muster.cli.options import home_option, json_option
from muster.cli.reading import now
from muster.cli.render import Look, Row, clean, json_line, table
from muster.cli.terminal import look
from muster.engine.loading import load
from muster.machines.kernel.sentences import dollars
from muster.store.base import ReadableLog
from muster.store.opening import open_reader
from muster.views.answers.agents import UsageView
from muster.views.answers.costs import BurningView, CostsView, LimitedView
from muster.views.conversation_costs import PAGE_EVENTS, SPENT, Tally
from muster.views.costs import view_costs

_ENDED_MAX: Final = 10
"""Sessions that have ended, of which the table lists the newest."""

_COSTS: Final = ("COST", "TOKENS", "READ", "WRITTEN", "FROM CACHE", "INTO CACHE", "LIMIT", "NOW")


@click.command()
@home_option
@json_option("Print one JSON object.")
@click.option(
    "--days",
    type=click.IntRange(0, 366),
    default=7,
    show_default=True,
    help="How many days are listed by agent and model.",
)
def costs(home: Path, as_json: bool, days: int) -> None:
    """Show tokens and cost by agent, channel, day and model.

    The tables list agents, sessions, channels, conversations, and the last days by agent and model;
    those without usage are left out. The data comes from the team's log, so no server is needed.
    """
    with open_reader(home) as log:
        found = view_costs(load(log), _tally(log), now())
    if as_json:
        click.echo(json_line(msgspec.json.encode(found)))
    else:
        click.echo("\n".join((*_text(found, look()), *_by_day(found, days, look()))))


def _tally(log: ReadableLog) -> Tally:
    tally = Tally()
    while page := log.read(after=tally.seq, limit=PAGE_EVENTS, where=SPENT):
        tally.add(page)
    return tally


def _text(found: CostsView, shown: Look) -> Iterator[str]:
    if not found.team.tokens and not found.team.cost_usd:
        yield "There is no usage yet."
        return
    rate = f", {_rate(found.usd_per_minute)} now" if found.usd_per_minute else ""
    is_partly = 0 < found.today_usd < found.team.cost_usd
    today = f", {dollars(found.today_usd)} today" if is_partly else ""
    yield f"{dollars(found.team.cost_usd)}, {found.team.tokens} tokens in all{today}{rate}"
    agents = [(each.agent, each) for each in found.agents]
    live = [each for each in found.sessions if not each.ended]
    ended = [each for each in found.sessions if each.ended][:_ENDED_MAX]
    sessions = [
        (f"{each.agent}: {each.session}{' (ended)' if each.ended else ''}", each)
        for each in (*live, *ended)
    ]
    channels = [(each.channel, each) for each in found.channels]
    talks = [(each.conversation, each) for each in found.conversations]
    yield from _table("AGENT", agents, shown)
    yield from _table("SESSION", sessions, shown)
    yield from _table("CHANNEL", channels, shown)
    yield from _table("CONVERSATION", talks, shown)


def _by_day(found: CostsView, days: int, shown: Look) -> Iterator[str]:
    """The last days with usage, by agent and model."""
    newest = sorted({each.day for each in found.days}, reverse=True)[:days]
    rows = [
        (
            each.day,
            clean(each.agent) or "-",
            clean(each.model) or "-",
            dollars(each.cost_usd),
            str(each.tokens),
        )
        for each in found.days
        if each.day in newest
    ]
    if rows:
        yield ""
        yield table(("DAY", "AGENT", "MODEL", "COST", "TOKENS"), rows, shown)


def _table(title: str, rows: Sequence[tuple[str, UsageView]], shown: Look) -> Iterator[str]:
    if rows:
        yield ""
        yield table((title, *_COSTS), [_row(name, each) for name, each in rows], shown)


def _row(name: str, used: UsageView) -> Row:
    return (
        name,
        dollars(used.cost_usd),
        str(used.tokens),
        str(used.input_tokens),
        str(used.output_tokens),
        str(used.cache_read_tokens),
        str(used.cache_write_tokens),
        _limit(used) if isinstance(used, LimitedView) else "-",
        _rate(used.usd_per_minute) if isinstance(used, BurningView) else "-",
    )


def _rate(usd_per_minute: float) -> str:
    return f"${usd_per_minute:.2f}/min" if usd_per_minute else "-"


def _limit(used: LimitedView) -> str:
    cost = [] if used.max_cost_usd is None else [f"${used.max_cost_usd:g}"]
    tokens = [] if used.max_tokens is None else [f"{used.max_tokens} tokens"]
    day = used.max_usd_per_day if isinstance(used, BurningView) else None
    days = [] if day is None else [f"${day:g} a day"]
    return " or ".join([*cost, *tokens, *days]) or "-"
