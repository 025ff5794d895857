"""`muster channel`: create, list, configure and archive channels, and change their members."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click
import msgspec

from muster.cli.act.channel_facts import channel_facts
from muster.cli.act.channel_messages import export, messages
from muster.cli.act.rule_options import given_rules, rule_options
from muster.cli.acting import (
    channel_table,
    print_channel,
    print_json,
    server,
    unread_count,
)
from muster.cli.options import home_option, json_option
from muster.cli.render import Look, Row, clean, table
from muster.cli.terminal import look
from muster.client import requests
from muster.errors import Invalid
from muster.machines.vocabulary import TurnConfig
from muster.views.answers.channels import ChannelState, MemberView

RULES: Final = TurnConfig.__struct_encode_fields__

_MEMBERS: Final = ("AGENT", "STATE", "TIMEOUT", "UNREAD")


@click.group()
def channel() -> None:
    """Create, show, change and archive channels, and their members."""


channel.add_command(messages)
channel.add_command(export)


@channel.command()
@home_option
@json_option("Print the channel as JSON.")
@click.option("--set", "rules", multiple=True, metavar="RULE=VALUE", help="Set a rule; repeatable.")
@rule_options
@click.argument("name", metavar="CHANNEL")
@click.argument("agents", nargs=-1)
def create(
    home: Path,
    as_json: bool,
    rules: Sequence[str],
    name: str,
    agents: Sequence[str],
    **options: object,
) -> None:
    """Create a channel in which AGENTS speak in this order.

    The agents have to be registered, but need not be connected yet. If one of them cannot be a
    member, no channel is created. Agents can be added later. `muster channel config CHANNEL` lists
    the rules.
    """
    config = parsed(rules) | given_rules(options)
    with server(home) as client:
        state = client.ask(requests.create_channel(name, config, agents))
    print_channel(state, as_json)


@channel.command("list")
@home_option
@json_option("Print all channels as JSON.")
@click.option("--archived", is_flag=True, help="List archived channels, too.")
def list_(home: Path, as_json: bool, archived: bool) -> None:
    """List channels: state, holder of the turn, members, and the reason."""
    with server(home) as client:
        found = client.ask(requests.channels(archived=archived))
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
    """Show one channel: its members, who speaks next and why, and its limits."""
    with server(home) as client:
        state = client.ask(requests.channel(name))
    print_channel(state, as_json)
    if as_json:
        return
    if state.members:
        click.echo("\n" + member_table(state, look()))
    click.echo("\n" + "\n".join(clean(fact) for fact in channel_facts(state)))


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
@json_option("Print the channel as JSON.")
@click.argument("name", metavar="CHANNEL")
@click.argument("agents", nargs=-1, required=True)
def order(home: Path, as_json: bool, name: str, agents: Sequence[str]) -> None:
    """Change the order of turns: AGENTS are all members of the channel, each once."""
    with server(home) as client:
        print_channel(client.ask(requests.order_ring(name, agents)), as_json)


@channel.command()
@home_option
@json_option("Print the channel as JSON.")
@click.argument("name", metavar="CHANNEL")
@click.argument("agent")
@click.argument("seconds", metavar="SECONDS|default")
def timeout(home: Path, as_json: bool, name: str, agent: str, seconds: str) -> None:
    """Change the turn timeout of a member; `default` means the timeout of the channel.

    A turn in progress keeps its deadline.
    """
    with server(home) as client:
        state = client.ask(requests.configure_member(name, agent, _seconds(seconds)))
    print_channel(state, as_json)


def _seconds(typed: str) -> float | None:
    if typed == "default":
        return None
    try:
        return float(typed)
    except ValueError as wrong:
        why = "must be a number of seconds, or `default` for the timeout of the channel"
        raise Invalid(what=f"{typed!r}", why=why) from wrong


@channel.command()
@home_option
@json_option("Print the channel as JSON.")
@click.argument("name", metavar="CHANNEL")
def archive(home: Path, as_json: bool, name: str) -> None:
    """Archive a channel: its turn ends, and nothing more is said in it.

    Its members keep their places, its messages stay. `muster channel restore` brings it back.
    """
    with server(home) as client:
        print_channel(client.ask(requests.archive_channel(name)), as_json)


@channel.command()
@home_option
@json_option("Print the channel as JSON.")
@click.argument("name", metavar="CHANNEL")
def restore(home: Path, as_json: bool, name: str) -> None:
    """Bring an archived channel back; it goes on where it was."""
    with server(home) as client:
        print_channel(client.ask(requests.restore_channel(name)), as_json)


@channel.command("set")
@home_option
@json_option("Print the rules as JSON.")
@rule_options
@click.argument("name", metavar="CHANNEL")
def set_(home: Path, as_json: bool, name: str, **options: object) -> None:
    """Change rules of a channel, and show them all. A turn in progress keeps its deadline."""
    wanted = given_rules(options)
    if not wanted:
        raise click.UsageError("Name a rule to change, such as --turns-per-message 20.")
    with server(home) as client:
        _print_rules(client.ask(requests.configure_channel(name, wanted)), as_json)


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
        _print_rules(client.ask(change), as_json)


def _print_rules(state: ChannelState, as_json: bool) -> None:
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
    return (member.agent, state, f"{member.timeout_seconds:g} s", unread_count(member))
