"""`muster memory`: the notes of an agent, and its soul with all versions."""

import sys
from pathlib import Path
from typing import Final

import click

from muster.cli.acting import print_json, server
from muster.cli.options import home_option, json_option
from muster.cli.render import clean, table
from muster.cli.terminal import look
from muster.client import requests

_NOTES: Final = ("NOTE", "WHEN", "BY", "TEXT")


@click.group()
def memory() -> None:
    """Read and change the notes and the soul of an agent."""


@memory.command()
@home_option
@json_option("Print the notes as JSON.")
@click.argument("agent", metavar="AGENT")
def notes(home: Path, as_json: bool, agent: str) -> None:
    """List the notes of an agent."""
    with server(home) as client:
        found = client.ask(requests.notes(agent))
    if as_json:
        print_json(found)
    elif not found.notes:
        click.echo(f"{clean(found.agent)} has no notes.")
    else:
        rows = [
            (str(each.id), f"{each.at.astimezone():%Y-%m-%d %H:%M}", each.by, clean(each.text))
            for each in found.notes
        ]
        click.echo(table(_NOTES, rows, look()))


@memory.command()
@home_option
@json_option("Print the event number as JSON.")
@click.argument("agent", metavar="AGENT")
@click.argument("text", metavar="TEXT")
def add(home: Path, as_json: bool, agent: str, text: str) -> None:
    """Add a note that AGENT is given whenever it wakes."""
    with server(home) as client:
        done = client.ask(requests.add_note(agent, text))
    _print(done, as_json, f"{agent} is told this whenever it wakes.")


@memory.command()
@home_option
@json_option("Print the event number as JSON.")
@click.argument("agent", metavar="AGENT")
@click.argument("note", metavar="NOTE", type=click.IntRange(1))
@click.argument("text", metavar="TEXT")
def edit(home: Path, as_json: bool, agent: str, note: int, text: str) -> None:
    """Replace the text of a note. NOTE is its number in `muster memory notes`."""
    with server(home) as client:
        done = client.ask(requests.edit_note(agent, note, text))
    _print(done, as_json, f"note {note} of {agent} is changed.")


@memory.command()
@home_option
@json_option("Print the event number as JSON.")
@click.argument("agent", metavar="AGENT")
@click.argument("note", metavar="NOTE", type=click.IntRange(1))
def forget(home: Path, as_json: bool, agent: str, note: int) -> None:
    """Delete a note. NOTE is its number in `muster memory notes`."""
    with server(home) as client:
        done = client.ask(requests.forget_note(agent, note))
    _print(done, as_json, f"{agent} is no longer told note {note}.")


@memory.command("edit-soul")
@home_option
@json_option("Print the event number as JSON.")
@click.option("--reason", metavar="TEXT", default="", help="Why, for the history.")
@click.argument("agent", metavar="AGENT")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
def edit_soul(home: Path, as_json: bool, reason: str, agent: str, file: Path) -> None:
    """Replace the soul of AGENT by the text in FILE; `-` reads standard input.

    Every earlier version is kept: `muster memory souls` shows them.
    """
    raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    with server(home) as client:
        done = client.ask(requests.edit_soul(agent, raw.decode(errors="replace"), reason))
    _print(done, as_json, f"the soul of {agent} is changed, from its next session on.")


@memory.command("choose-soul")
@home_option
@json_option("Print the event number as JSON.")
@click.option("--reason", metavar="TEXT", default="", help="Why, for the history.")
@click.argument("agent", metavar="AGENT")
@click.argument("version", metavar="VERSION", type=click.IntRange(1))
def choose_soul(home: Path, as_json: bool, reason: str, agent: str, version: int) -> None:
    """Make a version of AGENT's soul the current one. VERSION is its number in `souls`.

    It may be an earlier version, or one that lost a merge.
    """
    with server(home) as client:
        done = client.ask(requests.choose_soul(agent, version, reason))
    _print(done, as_json, f"version {version} is the soul of {agent}, from its next session on.")


@memory.command()
@home_option
@json_option("Print the versions as JSON.")
@click.argument("agent", metavar="AGENT")
def souls(home: Path, as_json: bool, agent: str) -> None:
    """Show every version of AGENT's soul: the first one, then the differences.

    A version that lost a merge is marked; `choose-soul` chooses one.
    """
    with server(home) as client:
        found = client.ask(requests.souls(agent))
    if as_json:
        print_json(found)
        return
    for each in found.versions:
        why = f": {each.reason}" if each.reason else ""
        mark = " (current)" if each.is_current else " (lost a merge)" if each.lost else ""
        when = f"{each.at.astimezone():%Y-%m-%d %H:%M}"
        click.echo(clean(f"version {each.number}{mark}, {when}, {each.by}{why}"))
        for line in (each.difference or each.soul).split("\n"):
            click.echo(f"    {clean(line.expandtabs())}")


def _print(done: object, as_json: bool, said: str) -> None:
    if as_json:
        print_json(done)
    else:
        click.echo(clean(said))
