"""`muster next`: the next thing for an agent to do, for agents that are shell scripts."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final

import click

from muster.cli.acting import print_json, server
from muster.cli.keeping import ending_with_script, find_scripts, is_kept, keep_turn
from muster.cli.options import home_option, json_option
from muster.cli.render import clean
from muster.client import requests
from muster.client.requests import ApiRequest
from muster.client.sending import TimeLimit
from muster.client.sync import Client
from muster.client.turn import NOTHING_NEW, asks_for_something
from muster.errors import Refused, Unavailable
from muster.machines.backoff import pause_s
from muster.views.answers.messages import Do, MessageView, Next

POLL_SECONDS: Final = 60.0
"""The longest that a server waits in one request."""

AGAIN_SECONDS: Final = 2.0
"""The pause before a turn is printed again: a script that fails to end it must not spin."""

SERVER_PAUSE_SECONDS: Final = 2.0
"""The longest pause before a server that is away is asked again."""

TOLD_TO_STOP: Final = 1

CHOOSE: Final = "choose"
"""The word for a turn of a channel's selector."""


@click.command(name="next")
@home_option
@json_option("Print the answer as JSON.")
@click.option(
    "--wait",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Print `nothing` after S seconds [wait as long as it takes].",
)
@click.option(
    "--known",
    multiple=True,
    metavar="CHANNEL:N",
    help="A turn that the agent is working on: only news of it; repeatable.",
)
@click.option(
    "--no-keep", is_flag=True, help="Send no heartbeats while the script works on a turn."
)
@click.option("--unasked", is_flag=True, help="Print turns in which there is nothing new, too.")
@click.argument("agent")
@click.pass_context
def next_work(
    ctx: click.Context,
    home: Path,
    as_json: bool,
    wait: float | None,
    known: Sequence[str],
    no_keep: bool,
    unasked: bool,
    agent: str,
) -> None:
    """Print the next thing for AGENT to do.

    The first line has a word, the number of the turn and the channel: `turn 7 design`. The words:
    `turn`, `choose` (a turn of the channel's selector: complete it with the name of the next
    speaker, or `nobody`), `message` (there is news outside of a turn, or for a known one), `over`
    (a known turn is lost or paused), `nothing` and `stop`. Every message follows in a line of its
    own; further lines of a message are indented. After `choose`, the members to choose from come
    first, each in a line with its name, a tab and its description; an empty line ends them. A turn
    in which there is nothing new is passed instead.

    Asking connects the agent, and gives it back the places that it lost while it was silent. While
    the script works on a turn, a process in the background sends heartbeats for it, until the turn
    is over or the script ends. A turn that the script did not end is printed again after a pause.

    Without --wait, a server that is away is waited for. The exit code is 1 where the agent is to
    stop.
    """
    scripts = find_scripts()
    with ending_with_script(), server(home) as client:
        told = _wait(client, agent, _epochs(known), wait, unasked)
        if _is_again(home, told):
            # A script whose `turn complete` fails asks at once, and as often as the machine can.
            Event().wait(AGAIN_SECONDS if wait is None else min(wait, AGAIN_SECONDS))
            told = _wait(client, agent, _epochs(known), wait, unasked)
    if as_json:
        print_json(told)
    else:
        _print(told)
    if told.do is Do.STOP:
        ctx.exit(TOLD_TO_STOP)
    if told.do is Do.TURN and not no_keep:
        keep_turn(home, told, scripts)


globals()["next"] = next_work  # the verb is a name of Python's own


def _epochs(known: Sequence[str]) -> Mapping[str, int]:
    turns: dict[str, int] = {}
    for each in known:
        channel, _, epoch = each.rpartition(":")
        if not channel or not epoch.isdecimal():
            raise click.UsageError(f"--known {each!r} must be CHANNEL:N.")
        turns[channel] = int(epoch)
    return turns


def _wait(
    client: Client, agent: str, known: Mapping[str, int], wait_s: float | None, unasked: bool
) -> Next:
    """The next answer that is something to do, or nothing after `wait_s` seconds."""
    end, failures = None if wait_s is None else TimeLimit(wait_s), 0
    while True:
        left_s = POLL_SECONDS if end is None else end.left_s
        try:
            told = client.ask(_step(agent, known, min(left_s, POLL_SECONDS)))
        except Unavailable as error:
            if end is not None:
                raise
            if not failures:
                click.echo(f"muster: {error} Waiting for it.", err=True)
            failures += 1
            Event().wait(min(pause_s(failures), SERVER_PAUSE_SECONDS))
            continue
        if told.do is Do.TURN and not unasked and not asks_for_something(told):
            with suppress(Refused):
                client.ask(
                    requests.pass_turn(
                        told.channel or "", NOTHING_NEW, agent=agent, epoch=told.epoch
                    )
                )
        elif told.do is not Do.NOTHING or (end is not None and end.is_over):
            return told


def _is_again(home: Path, told: Next) -> bool:
    """Whether a turn was handed out before, and is not ended yet."""
    if told.do is not Do.TURN:
        return False
    is_old = bool(told.messages) and all(each.again for each in told.messages)
    return is_old or is_kept(home, told)


def _step(agent: str, known: Mapping[str, int], wait_s: float) -> ApiRequest[Next]:
    """The request for the next thing to do. Work on one turn is told nothing of other channels."""
    (channel,) = known if len(known) == 1 else (None,)
    return requests.next_step(agent, wait_s, known, channel=channel, outside=not known, places=True)


def _print(told: Next) -> None:
    epoch = "-" if told.epoch is None else str(told.epoch)
    about = told.reason if told.do is Do.STOP else told.channel
    word = CHOOSE if told.choosing else str(told.do)
    first = [word] if told.do in (Do.NOTHING, Do.STOP) else [word, epoch]
    click.echo(" ".join([*first, *([_shown(about)] if about else [])]))
    if told.choosing:
        for each in told.candidates:
            click.echo(f"{_shown(each.name)}\t{_shown(' '.join(each.description.split()))}")
        click.echo()
    for message in told.messages:
        click.echo(message_line(message))


def message_line(message: MessageView) -> str:
    """A message, its further lines indented."""
    first, *rest = message.text.splitlines() or [""]
    return "\n    ".join([f"{_shown(message.speaker)}: {_shown(first)}", *map(_shown, rest)])


def _shown(text: str) -> str:
    """A line for a program as it is; on a terminal, control characters are escaped."""
    return clean(text) if sys.stdout.isatty() else text
