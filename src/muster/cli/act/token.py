"""`muster token`: issue, list, rotate and revoke tokens. Only the digest of a secret is stored."""

from pathlib import Path
from typing import Final

import click

from muster.cli.acting import print_json, server
from muster.cli.options import home_option, json_option
from muster.cli.render import table
from muster.cli.scoping import chosen_scope, scope_options, scope_text
from muster.cli.terminal import look
from muster.client import requests, users
from muster.machines.vocabulary import Role
from muster.views.answers.agents import TokenView

_TOKENS: Final = ("TOKEN", "ROLE", "AGENT", "USER", "ONLY", "EXPIRES", "NOTE")


@click.group()
def token() -> None:
    """Issue, list, rotate and revoke tokens."""


@token.command()
@home_option
@json_option("Print the token as JSON.")
@click.option("--agent", metavar="NAME", help="Token of an agent: acts as this agent only.")
@click.option("--viewer", is_flag=True, help="Token of a viewer: read only.")
@click.option("--operator", is_flag=True, help="Token of an operator: everything.")
@click.option("--member", is_flag=True, help="Token of a member: speak, ask, answer, start, stop.")
@click.option("--user", metavar="NAME", help="User who acts with the token, under their name.")
@click.option(
    "--days", type=click.FloatRange(0, 3650, min_open=True), help="Days until it expires."
)
@click.option("--note", metavar="TEXT", default="", help="Purpose of the token.")
@scope_options
def issue(
    home: Path,
    as_json: bool,
    agent: str | None,
    viewer: bool,
    operator: bool,
    member: bool,
    user: str | None,
    days: float | None,
    note: str,
    agents: tuple[str, ...],
    channels: tuple[str, ...],
) -> None:
    """Issue a token and print its secret, only once.

    Send the secret as `Authorization: Bearer ...`, or set MUSTER_TOKEN to it.
    """
    chosen = {
        Role.AGENT: agent is not None,
        Role.VIEWER: viewer,
        Role.MEMBER: member,
        Role.OPERATOR: operator,
    }
    roles = [role for role, is_given in chosen.items() if is_given]
    if len(roles) != 1:
        raise click.UsageError("Give one of --agent NAME, --viewer, --member and --operator.")
    with server(home) as client:
        scope = chosen_scope(agents, channels)
        request = requests.issue_token(roles[0], agent, note, user=user, days=days, scope=scope)
        issued = client.ask(request)
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
        click.echo(table(_TOKENS, [_row(each) for each in found.tokens], look()))


def _row(token: TokenView) -> tuple[str, ...]:
    until = "-" if token.expires_at is None else f"{token.expires_at:%Y-%m-%d}"
    only = scope_text(token.scope)
    return (token.id, token.role, token.agent or "-", token.user or "-", only, until, token.note)


@token.command()
@home_option
@json_option("Print the token as JSON.")
@click.argument("token_id", metavar="TOKEN")
def rotate(home: Path, as_json: bool, token_id: str) -> None:
    """Replace the secret of a token, and print the new one, only once.

    The old secret is invalid at once; browsers that signed in with it sign in anew.
    """
    with server(home) as client:
        issued = client.ask(users.rotate_token(token_id))
    if as_json:
        print_json(issued)
    else:
        click.echo(issued.secret)


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
