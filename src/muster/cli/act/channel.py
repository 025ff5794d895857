"""`muster channel`: create, list and configure channels, and change their members."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click
import msgspec

from muster.cli.acting import (
    channel_table,
    print_channel,
    print_json,
    server,
)
from muster.cli.options import home_option, json_option
from muster.cli.render import Look, Row, table
from muster.cli.terminal import look
from muster.client import requests
from muster.errors import Invalid
from muster.machines.vocabulary import TurnConfig
from muster.views.answers.channels import ChannelState, MemberView

RULES: Final = TurnConfig.__struct_encode_fields__

_MEMBERS: Final = ("AGENT", "STATE", "TIMEOUT", "UNREAD")


@click.group()
def channel() -> None:
    """Create, show and configure channels, and change their members."""


@channel.command()
@home_option
@json_option("Print the channel as JSON.")
@click.option("--set", "rules", multiple=True, metavar="RULE=VALUE", help="Set a rule; repeatable.")
@click.argument("name", metavar="CHANNEL")
@click.argument("agents", nargs=-1)
def create(
    home: Path, as_json: bool, rules: Sequence[str], name: str, agents: Sequence[str]
) -> None:
    """Create a channel in which AGENTS speak in this order.

    Agents can be added later. `muster channel config CHANNEL` lists the rules.
    """
    with server(home) as client:
        state = client.ask(requests.create_channel(name, parsed(rules)))
        for agent in agents:
            state = client.ask(requests.add_member(name, agent))
    print_channel(state, as_json)


@channel.command("list")
@home_option
@json_option("Print all channels as JSON.")
def list_(home: Path, as_json: bool) -> None:
    """List all channels: state, holder of the turn, members."""
    with server(home) as client:
        found = client.ask(requests.channels())
    if as_json:
        print_json(found)
    elif found.channels:
        click.echo(channel_table(found.channels, look()))
    else:
        click.echo(
            "The team has no channels yet. `muster channel create CHANNEL [AGENT]...` creates one."
        )


@channel.command()
@home_option
@json_option("Print the channel as JSON.")
@click.argument("name", metavar="CHANNEL")
def show(home: Path, as_json: bool, name: str) -> None:
    """Show one channel and each of its members."""
    with server(home) as client:
        state = client.ask(requests.channel(name))
    print_channel(state, as_json)
    if not as_json and state.members:
        click.echo("\n" + member_table(state, look()))


@channel.command()
@home_option
@json_option("Print the channel as JSON.")
@click.option(
    "--timeout", type=float, metavar="S", help="Turn timeout of these members, in seconds."
)
@click.argument("name", metavar="CHANNEL")
@click.argument("agents", nargs=-1, required=True)
def add(home: Path, as_json: bool, timeout: float | None, name: str, agents: Sequence[str]) -> None:
    """Add AGENTS at the end of the ring."""
    with server(home) as client:
        states = [client.ask(requests.add_member(name, agent, timeout)) for agent in agents]
    print_channel(states[-1], as_json)


@channel.command()
@home_option
@json_option("Print the channel as JSON.")
@click.argument("name", metavar="CHANNEL")
@click.argument("agents", nargs=-1, required=True)
def remove(home: Path, as_json: bool, name: str, agents: Sequence[str]) -> None:
    """Remove AGENTS from the ring; a turn held by one of them passes to the next."""
    with server(home) as client:
        states = [client.ask(requests.remove_member(name, agent)) for agent in agents]
    print_channel(states[-1], as_json)


@channel.command()
@home_option
@json_option("Print the rules as JSON.")
@click.argument("name", metavar="CHANNEL")
@click.argument("rules", nargs=-1, metavar="[RULE=VALUE]...")
def config(home: Path, as_json: bool, name: str, rules: Sequence[str]) -> None:
    """Show the rules of a channel, after changing the given ones."""
    wanted = parsed(rules)
    with server(home) as client:
        change = requests.configure_channel(name, wanted) if wanted else requests.channel(name)
        state = client.ask(change)
    if as_json:
        print_json(state.config)
    else:
        told = msgspec.to_builtins(state.config)
        click.echo(table(("RULE", "VALUE"), [(rule, _shown(told, rule)) for rule in RULES], look()))


def parsed(rules: Sequence[str]) -> dict[str, object]:
    """Rules from the command line: `defaultTimeoutSeconds=30`, or `default_timeout_seconds=30`."""
    return dict(_parsed(rule) for rule in rules)


def _parsed(typed: str) -> tuple[str, object]:
    name, equals, value = typed.partition("=")
    rule = re.sub(r"_(\w)", lambda found: found[1].upper(), name)
    if not equals or rule not in RULES:
        raise Invalid(
            what=f"{typed!r}", why=f"must be RULE=VALUE; the rules are {', '.join(RULES)}"
        )
    try:
        return rule, msgspec.json.decode(value.encode(), type=bool | int | float)
    except msgspec.DecodeError:
        return rule, value


def _shown(config: Mapping[str, object], rule: str) -> str:
    default = TurnConfig.__struct_defaults__[RULES.index(rule)]
    value = config.get(rule, default)
    return str(value).lower() if isinstance(value, bool) else str(value)


def member_table(state: ChannelState, shown: Look) -> str:
    """A table of the members, in the order of the ring."""
    return table(_MEMBERS, [_member(each) for each in state.members], shown)


def _member(member: MemberView) -> Row:
    state = str(member.state) if member.present else f"{member.state} (away)"
    return (member.agent, state, f"{member.timeout_seconds:g} s", str(member.unread))
