"""`muster nodes`: the machines of a team, read from the log without a server."""

from pathlib import Path
from typing import Final

import click
import msgspec

from muster.cli.options import home_option, json_option
from muster.cli.render import Row, clean, json_line, table
from muster.cli.terminal import look
from muster.engine.loading import load
from muster.store.opening import open_reader
from muster.views.answers.nodes import NodeList, NodeView
from muster.views.run.nodes import view_nodes

_HEADER: Final = ("NODE", "STATE", "SESSIONS", "LABELS", "AGENTS")


@click.command()
@home_option
@json_option("Print one JSON object.")
def nodes(home: Path, as_json: bool) -> None:
    """List the machines of a team: here or away, sessions.

    Each is listed with its labels and the agents that it runs. A machine that stopped in order is
    not listed. One that was lost is away until it is back.
    """
    with open_reader(home) as log:
        found = view_nodes(load(log))
    print_nodes(found, as_json=as_json)


def print_nodes(found: NodeList, *, as_json: bool) -> None:
    """Print the nodes of a team."""
    if as_json:
        click.echo(json_line(msgspec.json.encode(found)))
    elif not found.nodes:
        click.echo("No machine runs the team. `muster up` starts it.")
    else:
        click.echo(table(_HEADER, [_row(each) for each in found.nodes], look()))


def _row(node: NodeView) -> Row:
    room = "" if node.room is None else f" of {node.room}"
    labels, agents = ", ".join(node.labels), ", ".join(node.agents)
    return (clean(node.name), _state(node), f"{node.sessions}{room}", clean(labels), clean(agents))


def _state(node: NodeView) -> str:
    if node.away_since is not None:
        return f"away since {node.away_since:%Y-%m-%d %H:%M} UTC"
    return "stopping" if node.stopping else "here"
