"""`muster token`: who may do what. A secret is told once; the team knows only its digest."""

from pathlib import Path
from typing import Final

import click
import msgspec

from muster.cli.acting import print_json, server
from muster.cli.options import home_option, json_option
from muster.cli.render import table
from muster.cli.terminal import look
from muster.client.request import Ask, a_path
from muster.machines.vocabulary import Role
from muster.views.agents import NewToken, TokenList

_TOKENS: Final = ("TOKEN", "ROLE", "AGENT", "NOTE")


class Done(msgspec.Struct, frozen=True):
    """Where the log stood when it was done."""

    seq: int


@click.group()
def token() -> None:
    """Issue, list and revoke the tokens that programs and people show."""


@token.command()
@home_option
@json_option("Print the token as JSON.")
@click.option("--agent", metavar="NAME", help="For an agent: to act as this agent, and no other.")
@click.option("--viewer", is_flag=True, help="For somebody who only reads.")
@click.option("--operator", is_flag=True, help="For somebody who may do everything.")
@click.option("--note", metavar="TEXT", default="", help="What it is for.")
def issue(
    home: Path, as_json: bool, agent: str | None, viewer: bool, operator: bool, note: str
) -> None:
    """Issue a token and print its secret, this once.

    Whoever has the secret shows it as `Authorization: Bearer ...`, or has it in MUSTER_TOKEN.
    """
    if [agent is not None, viewer, operator].count(True) != 1:
        raise click.UsageError("Say for whom: one of --agent NAME, --viewer and --operator.")
    role = Role.AGENT if agent is not None else Role.VIEWER if viewer else Role.OPERATOR
    wish = {"role": role, "agent": agent, "note": note}
    with server(home) as client:
        path = a_path("tokens")
        issued = client.ask(Ask(method="POST", path=path, answer=NewToken, body=wish))
    if as_json:
        print_json(issued)
    else:
        click.echo(issued.secret)


@token.command("list")
@home_option
@json_option("Print the tokens as JSON.")
def list_(home: Path, as_json: bool) -> None:
    """Show every token that counts. Nobody can show its secret again."""
    with server(home) as client:
        found = client.ask(Ask(method="GET", path=a_path("tokens"), answer=TokenList))
    if as_json:
        print_json(found)
    else:
        rows = [(each.id, each.role, each.agent or "-", each.note) for each in found.tokens]
        click.echo(table(_TOKENS, rows, look()))


@token.command()
@home_option
@json_option("Print where the log stood then, as JSON.")
@click.argument("token_id", metavar="TOKEN")
def revoke(home: Path, as_json: bool, token_id: str) -> None:
    """Let a token count for nothing any more. TOKEN is its id, as `muster token list` shows it."""
    with server(home) as client:
        done = client.ask(Ask(method="DELETE", path=a_path("tokens", token_id), answer=Done))
    if as_json:
        print_json(done)
    else:
        click.echo(f"{token_id} is revoked.")
