"""`muster search`: messages that have all words, newest first; read from the log."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import msgspec

from muster.cli.options import home_option, json_option
from muster.cli.reading import need_agent
from muster.cli.render import Look, Tone, clean, json_line, paint
from muster.cli.terminal import look
from muster.engine.loading import load
from muster.machines.ids import ChannelId
from muster.store.base import SEQ_END, MessageSearch
from muster.store.opening import open_reader
from muster.views.answers.messages import FoundMessage, SearchPage, SnippetPart
from muster.views.content.searching import found_page, searched_words

SHOWN: Final = 20


@click.command()
@home_option
@json_option("Print the messages as JSON.")
@click.option("--channel", metavar="C", help="Only messages in this channel.")
@click.option("--agent", metavar="A", help="Only messages of this agent, or to it alone.")
@click.option("--before", type=click.IntRange(min=0), metavar="N", help="Only before message N.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=SHOWN,
    metavar="N",
    show_default=True,
    help="Show so many messages at most.",
)
@click.argument("words", nargs=-1, required=True)
def search(
    home: Path,
    as_json: bool,
    channel: str | None,
    agent: str | None,
    before: int | None,
    limit: int,
    words: tuple[str, ...],
) -> None:
    """Search all messages for words, newest first.

    A message must have all WORDS; case and accents do not matter.
    """
    query = " ".join(words)
    with open_reader(home) as reader:
        team = load(reader)
        wanted = MessageSearch(
            words=searched_words(query),
            channel=team.channel(ChannelId(channel)).id if channel is not None else None,
            seat=need_agent(team, agent).seat if agent is not None else None,
        )
        found = reader.search(wanted, before=SEQ_END if before is None else before, limit=limit)
        page = found_page(team, query, wanted, found)
    if as_json:
        click.echo(json_line(msgspec.json.encode(page)))
        return
    for line in page_lines(page, look()):
        click.echo(line)


def page_lines(page: SearchPage, shown: Look) -> Iterator[str]:
    """The messages that were found, and how to see more."""
    for message in page.messages:
        yield _line(message, shown)
    if page.note:
        yield page.note
    if page.next_before is not None:
        yield f"older ones: --before {page.next_before}"
    elif not page.messages:
        yield "No message has all of these words."


def _line(message: FoundMessage, shown: Look) -> str:
    place = clean(message.channel or "direct")
    said = "".join(_part(each, shown) for each in message.snippet)
    return f"{message.seq}  {message.ts:%Y-%m-%d %H:%M}  {place}  {clean(message.speaker)}: {said}"


def _part(part: SnippetPart, shown: Look) -> str:
    return paint(part.text, Tone.STRONG if part.is_match else Tone.PLAIN, shown)
