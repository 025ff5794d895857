"""`muster agent`: add, change, register, list, enable, disable and retire agents."""

from pathlib import Path
from typing import Final

import click

from muster.cli.act.agent_settings import add, edit, remove, rename
from muster.cli.acting import print_json, server
from muster.cli.badges import badge_cell, badge_line
from muster.cli.look.nodes import print_nodes
from muster.cli.options import home_option, json_option
from muster.cli.reading import now
from muster.cli.render import Row, clean, table
from muster.cli.terminal import look
from muster.client import requests
from muster.client.requests import ApiRequest, api_path
from muster.client.transport import TOKEN_VARIABLE
from muster.views.answers.agents import AgentView
from muster.views.answers.nodes import NodeList

_AGENTS: Final = ("SEAT", "AGENT", "STATE", "CHANNELS", "NOW")


@click.group()
def agent() -> None:
    """Add, edit, remove, rename, list, enable and disable agents.

    add, edit, remove and rename change muster.toml. An agent that is registered instead connects by
    itself, with the token that it is given.
    """


for _verb in (add, edit, remove, rename):
    agent.add_command(_verb)


@agent.command()
@home_option
@json_option("Print the agent and its token as JSON.")
@click.option("--color", metavar="C", help="Colour in the dashboard.")
@click.option("--max-turns", type=int, metavar="N", help="Turns the agent may hold at once [1].")
@click.argument("name")
def register(
    home: Path, as_json: bool, color: str | None, max_turns: int | None, name: str
) -> None:
    """Give an agent a seat and a token. The token is printed only once.

    The agent's program authenticates with the token, and can act only as this agent.
    """
    with server(home) as client:
        joined = client.ask(requests.register(name, color, max_turns))
    if as_json:
        print_json(joined)
        return
    click.echo(
        f"{clean(joined.agent.label)} has seat {joined.agent.seat}. Its token, shown only once:"
    )
    click.echo(f"{TOKEN_VARIABLE}={joined.token.secret}")


@agent.command("list")
@home_option
@json_option("Print all agents as JSON.")
@click.option("--retired", is_flag=True, help="List retired agents, too.")
def list_(home: Path, as_json: bool, retired: bool) -> None:
    """List all agents: their states, and their turns by channel."""
    with server(home) as client:
        found = client.ask(requests.agents(retired=retired))
    if as_json:
        print_json(found)
    elif found.agents:
        click.echo(table(_AGENTS, [_row(each) for each in found.agents], look()))
    else:
        click.echo("The team has no agents yet. `muster agent register NAME` adds one.")


def _row(agent: AgentView) -> Row:
    channels = ", ".join(f"{channel} ({state})" for channel, state in agent.channels.items())
    state = badge_cell(agent)
    return (str(agent.seat), agent.label, state, channels or "-", badge_line(agent.badge, now()))


@agent.command()
@home_option
@json_option("Print the agent as JSON.")
@click.option("--reason", metavar="TEXT", help="Reason, for the log.")
@click.argument("name")
def disable(home: Path, as_json: bool, reason: str | None, name: str) -> None:
    """Disable an agent: it goes OFFLINE, and nothing starts it until it is enabled."""
    with server(home) as client:
        _print(client.ask(requests.disable(name, reason)), as_json)


@agent.command()
@home_option
@json_option("Print the machines as JSON.")
@click.option("--anyway", is_flag=True, help="Its process on a machine that is away is dead.")
@click.argument("name")
@click.argument("node")
def move(home: Path, as_json: bool, anyway: bool, name: str, node: str) -> None:
    """Let an agent belong to another machine: its session ends, the next starts there."""
    with server(home) as client:
        path, body = api_path("agents", name, "node"), {"node": node, "anyway": anyway}
        found = client.ask(ApiRequest(method="PUT", path=path, answer=NodeList, body=body))
    print_nodes(found, as_json=as_json)


@agent.command()
@home_option
@json_option("Print the agent as JSON.")
@click.argument("name")
def enable(home: Path, as_json: bool, name: str) -> None:
    """Enable a disabled agent."""
    with server(home) as client:
        _print(client.ask(requests.enable(name)), as_json)


@agent.command()
@home_option
@json_option("Print the agent and its turns as JSON.")
@click.option("--working", is_flag=True, help="Renew the timeouts of its turns.")
@click.argument("name")
def heartbeat(home: Path, as_json: bool, working: bool, name: str) -> None:
    """Send a heartbeat of an agent, as its program does in long work."""
    with server(home) as client:
        present = client.ask(requests.heartbeat(name, working=working))
    if as_json:
        print_json(present)
    else:
        _print(present.agent, as_json)


@agent.command()
@home_option
@json_option("Print the agent as JSON.")
@click.argument("name")
def retire(home: Path, as_json: bool, name: str) -> None:
    """Retire an agent that connects by itself, or a summoned one.

    It leaves its channels, its tokens are revoked, and its name is free for another agent. A live
    session has 30 seconds to end by itself. Soul, messages and history stay: restore brings it
    back.
    """
    with server(home) as client:
        _print(client.ask(requests.retire(name)), as_json)


@agent.command()
@home_option
@json_option("Print the agent as JSON.")
@click.argument("name")
def restore(home: Path, as_json: bool, name: str) -> None:
    """Bring a retired agent back to its seat, with its name, soul and history.

    It is paused. One that connects by itself needs a new token: `muster token issue`.
    """
    with server(home) as client:
        _print(client.ask(requests.restore(name)), as_json)


def _print(agent: AgentView, as_json: bool) -> None:
    if as_json:
        print_json(agent)
    else:
        click.echo(clean(f"{agent.label}: {agent.badge.status}, {badge_line(agent.badge, now())}"))
