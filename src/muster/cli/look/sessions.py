"""`muster sessions`: the conversations of an agent with its program, and resuming one."""

from pathlib import Path
from typing import Final

import click

from muster.cli.acting import print_json, server
from muster.cli.options import home_option, json_option
from muster.cli.render import clean, table
from muster.cli.terminal import look
from muster.client import requests
from muster.errors import Invalid
from muster.machines.kernel.sentences import dollars
from muster.views.answers.agents import PastConversation

_COLUMNS: Final = ("#", "BEGAN", "LAST", "SESSIONS", "COST", "FIRST WORDS")


@click.command()
@home_option
@json_option("Print the conversations, or the agent's state, as JSON.")
@click.option(
    "--resume", type=click.IntRange(min=1), metavar="N", help="Resume number N in a new session."
)
@click.argument("name")
def sessions(home: Path, as_json: bool, resume: int | None, name: str) -> None:
    """List the conversations of an agent with Claude Code; resume one.

    The newest is first. With --resume its next session goes on with that conversation: an idle
    agent is started, a running one restarted after its work.
    """
    with server(home) as client:
        found = client.ask(requests.past_conversations(name))
        if resume is not None:
            if resume > len(found.conversations):
                why = f"has {len(found.conversations)} conversations to resume"
                raise Invalid(what=found.agent, why=why)
            chosen = found.conversations[resume - 1]
            run = client.ask(requests.resume(name, chosen.id))
            if as_json:
                print_json(run)
            else:
                words = clean(chosen.first_words) or chosen.id
                click.echo(f"{clean(found.agent)} resumes: {words}")
        elif as_json:
            print_json(found)
        elif found.conversations:
            rows = [_row(at, each) for at, each in enumerate(found.conversations, start=1)]
            click.echo(table(_COLUMNS, rows, look()))
        else:
            click.echo(f"{clean(found.agent)} has no conversation that can be resumed.")


def _row(at: int, past: PastConversation) -> tuple[str, ...]:
    last = f"{past.ended:%Y-%m-%d %H:%M}" if past.ended else "now"
    cost = dollars(past.cost_usd) if past.cost_usd else "-"
    began = f"{past.began:%Y-%m-%d %H:%M}"
    return (str(at), began, last, str(past.sessions), cost, past.first_words or "-")
