"""`muster channel messages` and `muster channel export`: what was said in a channel."""

import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

import click

from muster.cli.acting import print_json, server
from muster.cli.options import home_option, json_option
from muster.cli.render import Look, Tone, clean, paint
from muster.cli.terminal import look
from muster.client import requests
from muster.client.sync import Client
from muster.machines.ids import ChannelId
from muster.regular_files import open_for_owner_only
from muster.views.answers.messages import MessageKind, MessagePage, MessageView
from muster.views.content.exporting import ExportFormat, ExportWriter

SHOWN: Final = 50
PAGE: Final = 200
_TONES: Final = {
    MessageKind.PERSON: Tone.STRONG,
    MessageKind.AGENT: Tone.GOOD,
    MessageKind.NOTICE: Tone.DIM,
}


@click.command()
@home_option
@json_option("Print the page as JSON.")
@click.option("--newest", is_flag=True, help="Begin with the newest message.")
@click.option("--after", type=click.IntRange(min=0), default=0, metavar="N", help="Only after N.")
@click.option("--before", type=click.IntRange(min=0), metavar="N", help="Only before N.")
@click.option(
    "--limit",
    type=click.IntRange(1, 500),
    default=SHOWN,
    metavar="N",
    show_default=True,
    help="Show so many messages at most.",
)
@click.argument("name", metavar="CHANNEL")
def messages(
    home: Path, as_json: bool, newest: bool, after: int, before: int | None, limit: int, name: str
) -> None:
    """Show messages of a channel: the oldest first, or the newest."""
    with server(home) as client:
        page = client.ask(
            requests.messages(name, after=after, before=before, limit=limit, newest_first=newest)
        )
    if as_json:
        print_json(page)
        return
    for line in page_lines(page, look()):
        click.echo(line)


def page_lines(page: MessagePage, shown: Look) -> Iterator[str]:
    """The messages of a page, and how to see more."""
    for message in page.messages:
        yield from message_lines(message, shown)
    if page.next_before is not None:
        yield f"older ones: --newest --before {page.next_before}"
    elif page.next_after is not None:
        yield f"newer ones: --after {page.next_after}"


def message_lines(message: MessageView, shown: Look) -> Iterator[str]:
    """A message: who and when, what it answers, its text, its files."""
    speaker = paint(message.speaker, _TONES[message.kind], shown)
    yield f"{message.seq}  {message.ts:%Y-%m-%d %H:%M:%S}  {speaker}"
    if message.quoted is not None:
        quoted = message.quoted
        yield f"    in reply to {clean(quoted.speaker)} ({quoted.seq}): {clean(quoted.text)}"
    for line in message.text.splitlines() or [""]:
        yield f"    {clean(line)}"
    for file in message.files:
        yield f"    file: {clean(file.name)} ({file.size} bytes, {file.digest})"


@click.command()
@home_option
@click.option(
    "--format",
    "form",
    type=click.Choice([each.value for each in ExportFormat]),
    default=ExportFormat.MARKDOWN.value,
    show_default=True,
    help="The format.",
)
@click.option(
    "--output",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write into this file; left out, it is printed.",
)
@click.argument("name", metavar="CHANNEL")
def export(home: Path, form: str, file: Path | None, name: str) -> None:
    """Export every message of a channel as Markdown or JSON.

    In Markdown every message is in a code block, so that no message can pass as that of another
    speaker.
    """
    with server(home) as client:
        state = client.ask(requests.channel(name))
        parts = _parts(client, state.channel, ExportFormat(form), state.last_message)
        if file is None:
            for part in parts:
                sys.stdout.write(part)
            return
        with _replaced(file) as target:
            count = sum(target.write(part) for part in parts)
    click.echo(f"{file}: {count} characters")


def _parts(client: Client, channel: ChannelId, form: ExportFormat, last: int) -> Iterator[str]:
    writer = ExportWriter(channel, form)
    yield writer.begin()
    after: int | None = 0
    while after is not None:
        asked = requests.messages(channel, after=after, before=last + 1, limit=PAGE)
        page = client.ask(asked)
        yield writer.write(page.messages)
        after = page.next_after
    yield writer.end()


@contextmanager
def _replaced(path: Path) -> Generator[TextIO]:
    """A file that takes the place of another when it is complete; for its owner alone."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(aside, "x", encoding="utf-8", opener=open_for_owner_only) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
