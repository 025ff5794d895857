"""`muster summon`, `wake`, `sleep` and `adopt`.

A verb sends the request and returns; `muster agents` shows the result.
"""

from collections.abc import Sequence
from pathlib import Path

import click

from muster.cli.acting import print_json, server
from muster.cli.options import Function, home_option, json_option
from muster.cli.render import clean, count
from muster.client.by_hand import adopt as adopt_request
from muster.limits import SEAT_MAX
from muster.machines.state import Status
from muster.views.answers.agents import AgentList, AgentView, Called


def _options(function: Function) -> Function:
    """The options of verbs that name agents."""
    names = click.argument("names", metavar="[AGENT]...", nargs=-1)
    return home_option(json_option("Print the agents as JSON.")(names(function)))


@click.command()
@home_option
@json_option("Print the seats as JSON.")
@click.option(
    "--seat",
    "seats",
    type=click.IntRange(0, SEAT_MAX),
    multiple=True,
    help="Prepare only this free seat, beside the agents that are there. Can be repeated.",
)
def summon(home: Path, as_json: bool, seats: Sequence[int]) -> None:
    """Create new agents in the free seats around the lead.

    If the team has a lead, the lead creates them; otherwise muster runs a session for each, as
    `[agents."*"]` says. A seat whose agent has registered no name within five minutes expires.
    """
    with server(home) as client:
        called = client.summon(*seats)
    _print(called, as_json, f"{count(len(called.agents), 'seat')} prepared: {_seats(called)}")


@click.command()
@_options
@click.option(
    "--all", "wakes_all", is_flag=True, help="Also those that a person or a limit has stopped."
)
def wake(home: Path, as_json: bool, names: Sequence[str], wakes_all: bool) -> None:
    """Wake the given agents, or all sleeping ones.

    Each agent gets its soul and the transcript of its last session. For agents in state unknown
    the lead is asked first; confirmed ones are left alone. An agent that a person or a limit has
    stopped is woken by its name, or with --all.
    """
    with server(home) as client:
        spared = () if names or wakes_all else _stopped(client.agents())
        if spared:
            click.echo(
                f"Stopped by a person or a limit, and not woken: {_listed(spared)}", err=True
            )
            click.echo("`muster wake --all` wakes them, too.", err=True)
        called = client.wake(*names, spares_stopped=not wakes_all)
    said = (
        f"waking: {_names(called)}"
        if called.agents
        else "no agent needs waking, or each is being woken"
    )
    _print(called, as_json, said)


@click.command()
@_options
def sleep(home: Path, as_json: bool, names: Sequence[str]) -> None:
    """Put the given agents to sleep, or all awake ones.

    Their sessions end gracefully; name, soul and transcript are kept.
    """
    with server(home) as client:
        called = client.sleep(*names)
    _print(called, as_json, f"going to sleep: {_names(called)}")


def _print(called: Called, as_json: bool, said: str) -> None:
    if as_json:
        print_json(called)
    else:
        click.echo(clean(said))


def _seats(called: Called) -> str:
    return "seats " + ", ".join(map(_seat, called.agents))


def _seat(agent: AgentView) -> str:
    """A seat, with its place in the grid where that has another number."""
    moved = agent.place is not None and agent.place != agent.seat
    return f"{agent.seat} (at place {agent.place})" if moved else str(agent.seat)


def _names(called: Called) -> str:
    return _listed(called.agents)


def _stopped(found: AgentList) -> Sequence[AgentView]:
    """Agents that sleep because a person or a limit has stopped them."""
    asleep = (Status.SLEEPING, Status.UNKNOWN)
    return [each for each in found.agents if each.is_stopped and each.status in asleep]


def _listed(agents: Sequence[AgentView]) -> str:
    return clean(", ".join(agent.label for agent in agents))


@click.command()
@home_option
@json_option("Print the event number as JSON.")
@click.option("--name", "new_name", help="The name that it gets.")
@click.option(
    "--soul",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file with the soul that it gets.",
)
@click.argument("agent", metavar="AGENT")
def adopt(home: Path, as_json: bool, new_name: str | None, soul: Path | None, agent: str) -> None:
    """Give a Claude Code run by hand its seat for good.

    AGENT is its name. Only its own conversation comes back to this seat. Without this, another
    Claude Code takes the seat after the session has ended.
    """
    text = None if soul is None else soul.read_text(encoding="utf-8")
    with server(home) as client:
        found = client.ask(adopt_request(agent, new_name, text))
    if as_json:
        print_json(found)
    else:
        click.echo(f"{clean(new_name or agent)} keeps its seat.")
