"""Shared by the acting verbs: finding the server, common options, printing answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import msgspec

from muster.cli.options import Function
from muster.cli.reading import now
from muster.cli.render import Look, Row, clean, duration, json_line, table
from muster.cli.terminal import look
from muster.client.sync import Client
from muster.limits import UNREAD_MAX
from muster.views.answers import Recorded
from muster.views.answers.channels import ChannelState, MemberView, TurnOverridden

_CHANNELS: Final = ("CHANNEL", "STATE", "HOLDER", "TURN", "ENDS IN", "RING", "BECAUSE")


def server(home: Path) -> Client:
    """The server that runs in the home, without retries: a person at a terminal can retry."""
    return Client(home=home, patience_s=0.0)


def agent_option(function: Function) -> Function:
    """Add `--agent` to a verb about turns."""
    return click.option(
        "--agent",
        metavar="A",
        help="Whose turn [with an agent's token its own, else the holder's].",
    )(function)


def epoch_option(function: Function) -> Function:
    """Add `--epoch` to a verb about turns."""
    return click.option(
        "--epoch", type=int, metavar="N", help="Only if the turn still has this number."
    )(function)


def print_json(answer: object) -> None:
    """Print an answer as JSON."""
    click.echo(json_line(msgspec.json.encode(answer)))


def print_said(said: Recorded, as_json: bool) -> None:
    """Print what a message did to the turn; of other acts, the event number."""
    if as_json:
        print_json(said)
    elif said.effect and not said.repeated:
        click.echo(f"{clean(said.effect)} (message {said.seq})")
    else:
        click.echo(f"{'repeated, see' if said.repeated else 'done:'} event {said.seq}")


def print_effect(said: TurnOverridden, as_json: bool) -> None:
    """Print the effect of a person's decision about a turn."""
    if as_json:
        print_json(said)
    else:
        click.echo(clean(said.effect))


def print_channel(state: ChannelState, as_json: bool) -> None:
    """Print the state of a channel."""
    if as_json:
        print_json(state)
    else:
        click.echo(channel_table([state], look()))


def channel_table(states: Sequence[ChannelState], shown: Look) -> str:
    """A table of channels."""
    return table(_CHANNELS, [_row(state) for state in states], shown)


def _row(state: ChannelState) -> Row:
    return (
        state.channel,
        what_goes_on(state),
        state.holder or "-",
        str(state.epoch) if state.epoch else "-",
        ends_in(state),
        " → ".join(state.ring) or "-",
        state.rest_reason or state.granted_because or "-",
    )


def what_goes_on(state: ChannelState) -> str:
    """A channel's state in a few words."""
    if state.stopping:
        return f"stopping the work of {state.stopping}"
    return f"waiting: {state.waiting.reason}" if state.waiting else state.state


def why(state: ChannelState) -> str:
    """Why a channel rests, or why its holder has the turn, after its state; empty if unknown."""
    if state.rest_reason:
        return f": {state.rest_reason}"
    return f" ({state.granted_because})" if state.granted_because else ""


def unread_count(member: MemberView) -> str:
    """How many messages a member has not been handed; `1000+` where nobody counted further."""
    return f"{UNREAD_MAX}+" if member.unread >= UNREAD_MAX else str(member.unread)


def ends_in(state: ChannelState) -> str:
    """Time until the channel's next deadline."""
    if state.timeout_at is None:
        return "-"
    left = (state.timeout_at - now()).total_seconds()
    return "due" if left < 0 else duration(left)
