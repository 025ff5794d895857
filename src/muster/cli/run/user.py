"""`muster user`: people who take part under names of their own, each with a role."""

from pathlib import Path
from typing import Final

import click

from muster.cli.acting import print_json, server
from muster.cli.options import home_option, json_option
from muster.cli.render import clean, table
from muster.cli.scoping import chosen_scope, scope_options, scope_text
from muster.cli.terminal import look
from muster.client import requests, users
from muster.machines.access.users import PEOPLE_ROLES
from muster.machines.vocabulary import Role

_USERS: Final = ("USER", "ROLE", "ONLY", "TOKENS")


def role_choice() -> click.Choice[str]:
    """The roles of people."""
    return click.Choice([str(role) for role in PEOPLE_ROLES])


@click.group()
def user() -> None:
    """Add, list and remove people, and change their roles."""


@user.command()
@home_option
@json_option("Print the user's token as JSON.")
@click.option("--role", type=role_choice(), required=True, help="What the user may do.")
@click.option(
    "--days", type=click.FloatRange(0, 3650, min_open=True), help="Days until it expires."
)
@scope_options
@click.argument("name")
def add(
    home: Path,
    as_json: bool,
    role: str,
    days: float | None,
    agents: tuple[str, ...],
    channels: tuple[str, ...],
    name: str,
) -> None:
    """Add a user, and print a token for them, only once.

    Hand it over by a safe way: NAME signs in with it on the dashboard, or sets MUSTER_TOKEN to it.
    """
    with server(home) as client:
        if any(each.name.casefold() == name.casefold() for each in client.ask(users.users()).users):
            raise click.UsageError(f"{clean(name)} is a user. Use `muster user role`.")
        client.ask(users.set_user(name, Role(role), chosen_scope(agents, channels)))
        issued = client.ask(requests.issue_token(Role(role), user=name, days=days))
    if as_json:
        print_json(issued)
    else:
        click.echo(issued.secret)


@user.command("list")
@home_option
@json_option("Print the users as JSON.")
def list_(home: Path, as_json: bool) -> None:
    """List the users. The human of the team is the operator, and none of them."""
    with server(home) as client:
        found = client.ask(users.users())
    if as_json:
        print_json(found)
    else:
        rows = [
            (each.name, each.role, scope_text(each.scope), str(each.tokens)) for each in found.users
        ]
        click.echo(table(_USERS, rows, look()))


@user.command()
@home_option
@json_option("Print the event number as JSON.")
@scope_options
@click.argument("name")
@click.argument("role", type=role_choice())
def role(
    home: Path,
    as_json: bool,
    agents: tuple[str, ...],
    channels: tuple[str, ...],
    name: str,
    role: str,
) -> None:
    """Change what a user may do. A token that grants more grants this from now on.

    Without --only-agent and --only-channel, a member may act on the whole team.
    """
    with server(home) as client:
        if all(each.name.casefold() != name.casefold() for each in client.ask(users.users()).users):
            raise click.UsageError(f"{clean(name)} is no user. Use `muster user add`.")
        done = client.ask(users.set_user(name, Role(role), chosen_scope(agents, channels)))
    if as_json:
        print_json(done)
    else:
        click.echo(f"{clean(name)} is a {role} now.")


@user.command()
@home_option
@json_option("Print the event number as JSON.")
@click.argument("name")
def remove(home: Path, as_json: bool, name: str) -> None:
    """Remove a user: their tokens are revoked, and their browsers signed out."""
    with server(home) as client:
        done = client.ask(users.remove_user(name))
    if as_json:
        print_json(done)
    else:
        click.echo(f"{clean(name)} is no longer a user.")
