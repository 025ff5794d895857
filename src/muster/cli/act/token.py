"""`muster token`: issue, list and revoke tokens. Only the digest of a secret is stored."""

from pathlib import Path
from typing import Final

import click

from muster.cli.acting import print_json, server
from muster.cli.options import home_option, json_option
from muster.cli.render import table
from muster.cli.terminal import look
from muster.client import requests
from muster.machines.vocabulary import Role

_TOKENS: Final = ("TOKEN", "ROLE", "AGENT", "NOTE")


@click.group()
def token() -> None:
    """Issue, list and revoke tokens of programs and people."""


@token.command()
@home_option
@json_option("Print the token as JSON.")
@click.option("--agent", metavar="NAME", help="Token of an agent: acts as this agent only.")
@click.option("--viewer", is_flag=True, help="Token of a viewer: read only.")
@click.option("--operator", is_flag=True, help="Token of an operator: everything.")
@click.option("--note", metavar="TEXT", default="", help="Purpose of the token.")
def issue(
    home: Path, as_json: bool, agent: str | None, viewer: bool, operator: bool, note: str
) -> None:
    """Issue a token and print its secret, only once.

    Send the secret as `Authorization: Bearer ...`, or set MUSTER_TOKEN to it.
    """
    if [agent is not None, viewer, operator].count(True) != 1:
        raise click.UsageError("Give one of --agent NAME, --viewer and --operator.")
    role = Role.AGENT if agent is not None else Role.VIEWER if viewer else Role.OPERATOR
    with server(home) as client:
        issued = client.ask(requests.issue_token(role, agent, note))
    if as_json:
        print_json(issued)
    else:
        click.echo(issued.secret)


@token.command("list")
@home_option
@json_option("Print the tokens as JSON.")
def list_(home: Path, as_json: bool) -> None:
    """List all valid tokens. Secrets cannot be shown again."""
    with server(home) as client:
        found = client.ask(requests.tokens())
    if as_json:
        print_json(found)
    else:
        rows = [(each.id, each.role, each.agent or "-", each.note) for each in found.tokens]
        click.echo(table(_TOKENS, rows, look()))


@token.command()
@home_option
@json_option("Print the event number as JSON.")
@click.argument("token_id", metavar="TOKEN")
def revoke(home: Path, as_json: bool, token_id: str) -> None:
    """Revoke a token. TOKEN is its id, as `muster token list` shows it."""
    with server(home) as client:
        done = client.ask(requests.revoke_token(token_id))
    if as_json:
        print_json(done)
    else:
        click.echo(f"{token_id} is revoked.")
