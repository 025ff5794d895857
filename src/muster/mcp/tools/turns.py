"""Tools for an agent's turns: waiting for one, ending it, handing it over, pausing it."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Final

import msgspec

from muster.client import requests
from muster.client.sending import TimeLimit
from muster.client.turn import NOTHING_NEW, asks_for_something
from muster.errors import AlreadyAMember, Invalid, Refused
from muster.machines.ids import ChannelId
from muster.machines.vocabulary import Authority, Awaits, TurnState
from muster.mcp.calls import McpCall
from muster.mcp.declaring import AGENT, Channel, Epoch, ToolInput, tool
from muster.views.answers import Recorded
from muster.views.answers.messages import Do, Next

AWAIT_SECONDS_MAX: Final = 30.0
"""The longest wait in one call: some clients give up a silent one after 60 s."""

PROGRESS_SECONDS: Final = 5.0
"""How often a call that waits reports progress, which keeps such clients waiting."""

JOINED_MAX: Final = 16
"""Channels that one call joins: each is a request."""

HELD: Final = frozenset({TurnState.ACTIVE, TurnState.WAITING})


class AwaitInput(ToolInput, frozen=True, kw_only=True):
    """How long to wait, and for which turns."""

    seconds: Annotated[
        float, msgspec.Meta(ge=0, le=AWAIT_SECONDS_MAX, description="How long to wait at most.")
    ] = AWAIT_SECONDS_MAX
    join: Annotated[
        tuple[str, ...],
        msgspec.Meta(max_length=JOINED_MAX, description="Channels to join, if you are not there."),
    ] = ()
    unasked: Annotated[
        bool,
        msgspec.Meta(description="Whether to take turns in which there is nothing new, too."),
    ] = False


@tool(may=AGENT, title="Wait for your turn")
async def turn_await(call: McpCall, given: AwaitInput) -> Next:
    """Wait until there is something for you to do, for up to 30 seconds.

    `do` in the answer says what: `turn` (you may speak in `channel`; read `messages`, do your work,
    then call turn_complete or turn_pass), `message` (messages for you alone), `over` (your turn was
    taken away: stop working on it), `stop` (you are paused or disabled: stop calling), `nothing`
    (call again). The first call connects you to the team. A turn that you did not end is answered
    again.
    """
    end = TimeLimit(given.seconds)
    await _join(call, given.join)
    while True:
        left_s = end.left_s
        wait_s = min(left_s, PROGRESS_SECONDS)
        told = await call.ask(requests.next_step(call.name, wait_s, places=True))
        if not given.unasked and left_s and _is_unasked(told):
            await _pass_unasked(call, told)
        elif told.do is not Do.NOTHING or left_s <= PROGRESS_SECONDS:
            return told
        await call.report(given.seconds - end.left_s, given.seconds, "waiting for a turn")


async def _join(call: McpCall, channels: Sequence[str]) -> None:
    """Take a place in these channels, where the caller has none."""
    if not channels:
        return
    agent = await call.ask(requests.agent(call.name))
    missing = [each for each in channels if each not in agent.channels]
    if missing and agent.authority is Authority.SELF:
        await call.ask(requests.connect(call.name))
    for each in missing:
        with suppress(AlreadyAMember):  # another call of the same agent was first
            await call.ask(requests.add_member(each, call.name))


def _is_unasked(told: Next) -> bool:
    return told.do is Do.TURN and not asks_for_something(told)


async def _pass_unasked(call: McpCall, told: Next) -> None:
    """Pass a turn in which there is nothing to do, so that no model is asked for it."""
    try:
        await call.ask(requests.pass_turn(told.channel or "", NOTHING_NEW, epoch=told.epoch))
    except Refused:
        return  # it is over already


class CompleteInput(ToolInput, frozen=True, kw_only=True):
    """The end of a turn."""

    message: Annotated[
        str | None, msgspec.Meta(description="Your message in the channel; left out, none.")
    ] = None
    channel: Channel = None
    epoch: Epoch = None
    to: Annotated[
        str | None,
        msgspec.Meta(description="The member that speaks next; left out, the rules decide."),
    ] = None


@tool(may=AGENT, title="End your turn")
async def turn_complete(call: McpCall, given: CompleteInput) -> Recorded:
    """End your turn, saying `message` with it. Call it once, when your work is done.

    Then call turn_await, or stop if you are started anew for each turn.
    """
    channel = await own_turn(call, given.channel)
    ending = requests.complete(channel, given.message, epoch=given.epoch, to=given.to)
    return _receipt(await call.ask(ending))


class PassInput(ToolInput, frozen=True, kw_only=True):
    """The end of a turn without a message."""

    reason: Annotated[str | None, msgspec.Meta(description="Why, for the log.")] = None
    channel: Channel = None
    epoch: Epoch = None


@tool(may=AGENT, title="Pass your turn")
async def turn_pass(call: McpCall, given: PassInput) -> Recorded:
    """End your turn without saying anything."""
    channel = await own_turn(call, given.channel)
    ending = requests.pass_turn(channel, given.reason, epoch=given.epoch)
    return _receipt(await call.ask(ending))


class HandoffInput(ToolInput, frozen=True, kw_only=True):
    """The end of a turn, and the member that goes on."""

    to: Annotated[str, msgspec.Meta(description="The member of the channel that goes on.")]
    reason: Annotated[str, msgspec.Meta(description="What it is to do, said in the channel.")]
    channel: Channel = None
    epoch: Epoch = None


@tool(may=AGENT, title="Hand your turn over")
async def handoff(call: McpCall, given: HandoffInput) -> Recorded:
    """End your turn by asking another member of the channel to go on: it speaks next."""
    channel = await own_turn(call, given.channel)
    text = f"@{given.to.removeprefix('@')} {given.reason}"
    ending = requests.complete(
        channel, text, epoch=given.epoch, to=given.to.strip().removeprefix("@")
    )
    return _receipt(await call.ask(ending))


class WaitInput(ToolInput, frozen=True, kw_only=True):
    """A pause in the middle of a turn."""

    reason: Annotated[str, msgspec.Meta(description="What you wait for, shown to people.")]
    seconds: Annotated[
        float | None, msgspec.Meta(description="The turn is lost after that many seconds.")
    ] = None
    awaits: Annotated[
        Awaits,
        msgspec.Meta(description="What ends the wait: a person's message, or your next act only."),
    ] = Awaits.PERSON
    channel: Channel = None
    epoch: Epoch = None


@tool(may=AGENT, title="Pause your turn")
async def turn_wait(call: McpCall, given: WaitInput) -> Recorded:
    """Keep your turn while you wait for something, with its timeout suspended.

    Whatever you do next in the turn (turn_complete, turn_pass, send_message) ends the wait.
    """
    channel = await own_turn(call, given.channel)
    wait = requests.wait_turn(
        channel,
        given.reason,
        epoch=given.epoch,
        timeout_seconds=given.seconds,
        awaits=given.awaits,
    )
    return await call.ask(wait)


# ── the turn that is meant ────────────────────────────────────────────────────────────────────────


async def own_turn(call: McpCall, named: str | None) -> str:
    """The channel that is named, or the one in which the caller has the turn; ends its own wait."""
    places = (await call.ask(requests.agent(call.name))).channels
    held = [channel for channel, state in places.items() if state in HELD]
    channel = ChannelId(named) if named else _only(held) or _only(list(places))
    if channel is None:
        why = f"you have the turn in {', '.join(held)}" if held else "you have no turn"
        raise Invalid(what="channel", why=f"must be named: {why}")
    if places.get(channel) is TurnState.WAITING:
        await call.ask(requests.resume_turn(channel))
    return channel


def _only(names: Sequence[ChannelId]) -> ChannelId | None:
    return names[0] if len(names) == 1 else None


def _receipt(ended: Recorded) -> Recorded:
    """The receipt for the end of a turn, without the work that nobody waited for."""
    return Recorded(
        seq=ended.seq,
        repeated=ended.repeated,
        delivered_to=ended.delivered_to,
        effect=ended.effect,
    )
