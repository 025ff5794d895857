"""`muster export`: the team in a file, for another machine; read from the log, without a server.

Souls and messages are private: the file is for its owner alone.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from muster.cli.options import home_option
from muster.cli.render import count
from muster.engine.loading import load
from muster.machines.documents import MessageCopy
from muster.machines.state import Team
from muster.machines.teams.importing import message_copy, said_order
from muster.machines.teams.papers import documents_of
from muster.regular_files import open_for_owner_only
from muster.store.base import LogFilter, ReadableLog
from muster.store.codec import decode
from muster.store.opening import open_reader
from muster.views.paper import write_paper

PAGE: Final = 256
MESSAGES: Final = LogFilter(types=frozenset({"user_message", "agent_message", "message_imported"}))


@click.command()
@home_option
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
def export(home: Path, file: Path) -> None:
    """Export the team to a file, for another machine.

    The file has every agent's document and all messages. `muster import` merges it into a team on
    the other machine. With FILE `-` it is printed.
    """
    with open_reader(home) as reader:
        team = load(reader)
        messages = sorted(_messages(reader, team), key=said_order)
    documents = documents_of(team)
    content = write_paper(team.human, documents, messages)
    if str(file) == "-":
        sys.stdout.buffer.write(content)
        return
    write_private(file, content)
    agents, said = count(len(documents), "agent"), count(len(messages), "message")
    click.echo(f"{file}: {agents}, {said}")


def _messages(reader: ReadableLog, team: Team) -> Iterator[MessageCopy]:
    after = 0
    while page := reader.read(after=after, limit=PAGE, where=MESSAGES):
        for each in page:
            copy = message_copy(decode(each.data), team) if each.seq <= team.seq else None
            if copy is not None:
                yield copy
        after = page[-1].seq


def write_private(path: Path, content: bytes) -> None:
    """Replace a file atomically; only its owner may read it."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(aside, "wb", opener=open_for_owner_only) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
