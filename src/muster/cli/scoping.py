"""The options that limit a member to some agents and channels."""

import click

from muster.cli.options import Function
from muster.views.answers.agents import ScopeView


def scope_options(command: Function) -> Function:
    """Add `--only-agent` and `--only-channel` to a command."""
    agents = click.option(
        "--only-agent",
        "agents",
        metavar="NAME",
        multiple=True,
        help="Let a member act on this agent, and on nothing that is not named.",
    )
    channels = click.option(
        "--only-channel",
        "channels",
        metavar="NAME",
        multiple=True,
        help="Let a member speak in this channel, and act on nothing that is not named.",
    )
    return agents(channels(command))


def chosen_scope(agents: tuple[str, ...], channels: tuple[str, ...]) -> ScopeView | None:
    """The scope of these options; none for the whole team."""
    return ScopeView(agents=agents, channels=channels) if agents or channels else None


def scope_text(scope: ScopeView | None) -> str:
    """A scope in a table."""
    if scope is None:
        return "-"
    return ", ".join((*scope.agents, *(f"#{name}" for name in scope.channels))) or "nothing"
