"""`muster import`: merge the file of another machine into the running team.

The whole file is read and checked before anything is sent. A large one goes in several requests;
merging gives the same whichever comes first, and one that failed can simply be run again.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click
import msgspec

from muster import limits
from muster.cli.acting import print_json, server
from muster.cli.options import home_option, json_option
from muster.cli.render import clean, count
from muster.client import requests
from muster.machines.documents import AgentDocument, MessageCopy
from muster.views.answers.agents import Imported
from muster.views.paper import documents_in, messages_in, read_paper

PART_BYTES: Final = limits.REQUEST_BYTES_MAX // 2
"""Size of one request, unless a single message is larger."""

Part = tuple[list[AgentDocument], list[MessageCopy]]


@click.command(name="import")
@home_option
@json_option("Print what changed as JSON.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
def take_in(home: Path, as_json: bool, file: Path) -> None:
    """Merge the team that another machine exported.

    FILE was written by `muster export`; `-` reads standard input. If both machines changed an
    agent, the most recent session wins, the oldest soul is kept, and the latest rename and the
    latest edit of that soul win; the discarded version is recorded in the log. Nothing is started,
    and agents that are live here are left alone. An invalid file changes nothing.
    """
    content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    paper = read_paper(content, str(file))
    documents, messages = documents_in(paper), messages_in(paper)
    with server(home) as client:
        parts = _parts(documents, messages)
        done = [client.ask(requests.import_team(*part)) for part in parts]
    total = _sum(done)
    if as_json:
        print_json(total)
    else:
        click.echo(clean(_told(total)))


globals()["import"] = take_in  # the verb is a word that Python keeps for itself


def _parts(documents: Iterable[AgentDocument], messages: Iterable[MessageCopy]) -> Iterator[Part]:
    """Split the file into requests; at least one."""
    part, room = _empty(), PART_BYTES
    for each in (*documents, *messages):
        size = len(msgspec.json.encode(each))
        if size > room and room < PART_BYTES:
            yield part
            part, room = _empty(), PART_BYTES
        if isinstance(each, AgentDocument):
            part[0].append(each)
        else:
            part[1].append(each)
        room -= size
    yield part


def _empty() -> Part:
    return [], []


def _sum(done: list[Imported]) -> Imported:
    return Imported(
        seq=done[-1].seq,
        changed=tuple(dict.fromkeys(name for each in done for name in each.changed)),
        lost=sum(each.lost for each in done),
        held=tuple(dict.fromkeys(name for each in done for name in each.held)),
        messages=sum(each.messages for each in done),
    )


def _told(total: Imported) -> str:
    changed = f"changed: {', '.join(total.changed)}" if total.changed else "no agent changed"
    lost = f"; {count(total.lost, 'document')} lost (see `muster log`)" if total.lost else ""
    held = f"; left alone, because live here: {', '.join(total.held)}" if total.held else ""
    return f"{changed}; {count(total.messages, 'new message')}{lost}{held}"
