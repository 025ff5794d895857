"""`muster needs`: the list of what needs a person, and how to answer it from a shell."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from muster.cli.acting import print_json, server
from muster.cli.options import home_option, json_option
from muster.cli.reading import now
from muster.cli.render import Look, Tone, clean, duration, paint
from muster.cli.terminal import look
from muster.client.needs import allow_more, reopen, settle
from muster.engine.loading import load
from muster.limits import MORE_TURNS_MAX
from muster.machines.vocabulary import NeedKind
from muster.store.opening import open_reader
from muster.views.answers.needs import NeedList, NeedView
from muster.views.needs import view_needs

_WHY_CHARS: Final = 200


@click.group(invoke_without_command=True)
@home_option
@json_option("Print what needs you as JSON.")
@click.pass_context
def needs(context: click.Context, home: Path, as_json: bool) -> None:
    """List what needs you, and how to answer it.

    Approvals, questions, failures, limits, answers: the list of the dashboard. It comes from the
    team's log, so no server is needed to look at it.
    """
    if context.invoked_subcommand is not None:
        return
    with open_reader(home) as log:
        found = view_needs(load(log), now())
    _show(found, as_json)


@needs.command()
@home_option
@json_option("Print what still needs you as JSON.")
@click.argument("key")
def done(home: Path, as_json: bool, key: str) -> None:
    """Put KEY aside as done. The next occasion is listed again."""
    with server(home) as client:
        found = client.ask(settle(key))
    _show(found, as_json)


@needs.command()
@home_option
@json_option("Print what still needs you as JSON.")
@click.option(
    "--minutes",
    type=click.FloatRange(min=1, max=43_200),
    default=60.0,
    show_default=True,
    help="When it comes back.",
)
@click.argument("key")
def later(home: Path, as_json: bool, minutes: float, key: str) -> None:
    """Put KEY off for some time."""
    with server(home) as client:
        found = client.ask(settle(key, minutes * 60))
    _show(found, as_json)


@needs.command()
@home_option
@json_option("Print what needs you as JSON.")
@click.argument("key")
def again(home: Path, as_json: bool, key: str) -> None:
    """List KEY again, which was put aside."""
    with server(home) as client:
        found = client.ask(reopen(key))
    _show(found, as_json)


@needs.command()
@home_option
@json_option("Print what still needs you as JSON.")
@click.option(
    "--turns",
    type=click.IntRange(1, MORE_TURNS_MAX),
    default=10,
    show_default=True,
    help="How many turns, or pieces of work, are allowed.",
)
@click.argument("key")
def more(home: Path, as_json: bool, turns: int, key: str) -> None:
    """Let KEY, a limit or a runaway, go on for some turns."""
    with server(home) as client:
        found = client.ask(allow_more(key, turns))
    _show(found, as_json)


# ── as text ───────────────────────────────────────────────────────────────────────────────────────


def _show(found: NeedList, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    for line in _lines(found, look()):
        click.echo(line)


def _lines(found: NeedList, shown: Look) -> Iterator[str]:
    for need in found.needs:
        yield from _need(need, shown)
    if not found.needs:
        yield "Nothing needs you."
    if found.put_off:
        yield f"{found.put_off} more put off for later"


def _need(need: NeedView, shown: Look) -> Iterator[str]:
    age = "" if need.since is None else duration((now() - need.since).total_seconds())
    about = _about(need)
    since = f", {age}" if age else ""
    yield f"{paint(about, Tone.ODD, shown)} {need.what}{since}  [{clean(need.key)}]"
    why = clean(" ".join(need.why.split()))
    if why:
        yield f"    {why if len(why) <= _WHY_CHARS else f'{why[: _WHY_CHARS - 1]}…'}"
    yield f"    {remedy(need)}"


def _about(need: NeedView) -> str:
    """The agent, channel or request that the need is about."""
    if need.can_go_on and need.channel is not None:
        return f"#{clean(need.channel)}"
    if need.kind is NeedKind.DISK:
        return "The disk of muster"
    if need.agent is None:
        return clean(str(need.conversation))
    return clean(need.agent) + (f" in #{clean(need.channel)}" if need.channel else "")


def remedy(need: NeedView) -> str:
    """The command that answers a need."""
    agent = clean(need.agent or "")
    match need.kind:
        case NeedKind.DISK:
            return "make room on the disk of the home; muster goes on by itself"
        case NeedKind.APPROVAL:
            return f"muster approve {need.approval}, or muster deny {need.approval}"
        case NeedKind.QUESTION | NeedKind.HELD:
            return f"muster send --channel {clean(str(need.channel))} TEXT"
        case NeedKind.UNANSWERED:
            return f"muster retry {agent}"
        case NeedKind.MESSAGE:
            to = f"--channel {clean(need.channel)}" if need.channel else f"--to {agent}"
            return f"muster send {to} TEXT, or muster needs done {need.key}"
        case NeedKind.LIMIT | NeedKind.RUNAWAY:
            on = f"muster needs more {need.key}" if need.can_go_on else f"muster start {agent}"
            return f"{on}, or muster needs done {need.key}"
        case NeedKind.REVIEW:
            name = need.key.partition(":")[2]
            return f"muster workspace merge {name}, or muster workspace discard {name} --force"
        case NeedKind.REQUEST:
            return f"muster ask TEXT, or muster needs done {need.key}"
        case NeedKind.FAILED | NeedKind.FAILING | NeedKind.STUCK | NeedKind.CONFLICT:
            then = f", then muster start {agent}" if need.kind is NeedKind.FAILED else ""
            return f"muster why {agent}{then}"
