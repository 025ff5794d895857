"""Tools for messages, status and notes."""

from typing import Annotated

import msgspec

from muster.client import requests
from muster.errors import Invalid
from muster.machines.vocabulary import RunMode
from muster.mcp.calls import McpCall
from muster.mcp.declaring import AGENT, PEOPLE, SPEAKERS, Epoch, ToolInput, tool
from muster.mcp.tools.turns import own_turn
from muster.views.answers import Recorded, View


class MessageInput(ToolInput, frozen=True, kw_only=True):
    """A message, and where it goes."""

    text: str
    channel: Annotated[
        str | None,
        msgspec.Meta(description="The channel to say it in; an agent needs the turn there."),
    ] = None
    to: Annotated[
        str | None,
        msgspec.Meta(
            description="The agent that it is for alone. For people only: an agent in a Claude Code"
            " session has a `send_message` of its own, which reaches other agents."
        ),
    ] = None
    reply_to: Annotated[
        int | None, msgspec.Meta(description="The seq of the message that it answers.")
    ] = None
    epoch: Epoch = None


@tool(may=SPEAKERS, title="Send a message")
async def send_message(call: McpCall, given: MessageInput) -> Recorded:
    """Say something: in a channel, or without one to the human that you work for.

    An agent speaks in a channel only in its turn, and keeps the turn: turn_complete ends it. A
    person speaks at any time: in a channel, to one agent (`to`), or without both to the lead.
    """
    if call.me.role in PEOPLE:
        sent = requests.send(
            given.text, to=given.to, channel=given.channel, reply_to=given.reply_to
        )
        return await call.ask(sent)
    if given.to is not None and given.to != call.me.human:
        why = f"is for people; you speak in a channel, or to {call.me.human} without one"
        raise Invalid(what="to", why=why)
    if given.channel is None:
        return await call.ask(requests.tell(call.name, given.text))
    channel = await own_turn(call, given.channel)
    return await call.ask(
        requests.post(channel, given.text, epoch=given.epoch, reply_to=given.reply_to)
    )


class StatusInput(ToolInput, frozen=True, kw_only=True):
    """A report of the calling agent about itself."""

    working: Annotated[
        bool, msgspec.Meta(description="Whether you work on your turns, which renews them.")
    ] = True
    current: Annotated[
        RunMode | None,
        msgspec.Meta(description="Your run mode, if you run by yourself and not by muster."),
    ] = None


class StatusReported(View, frozen=True, kw_only=True):
    """A report was taken."""

    agent: str
    turns: dict[str, int]
    """The turns that the agent holds, with their epochs."""

    report_within_seconds: float
    """How long the agent may be silent before it counts as gone."""


@tool(may=AGENT, title="Report that you are at work", repeatable=True)
async def report_status(call: McpCall, given: StatusInput) -> StatusReported:
    """Say that you are here and at work, so that your turn does not time out.

    Call it now and then in long work, at least once in `reportWithinSeconds`.
    """
    beat = requests.heartbeat(call.name, working=given.working, current=given.current)
    heard = await call.ask(beat)
    return StatusReported(
        agent=heard.agent.label,
        turns={str(channel): epoch for channel, epoch in heard.turns.items()},
        report_within_seconds=heard.timeout_seconds,
    )


class RememberInput(ToolInput, frozen=True, kw_only=True):
    """A note."""

    text: Annotated[str, msgspec.Meta(description="At most 2 KiB.")]


@tool(may=AGENT, title="Remember a note")
async def remember(call: McpCall, given: RememberInput) -> Recorded:
    """Note something that you want to know whenever you wake: a decision, a promise, a fact."""
    return await call.ask(requests.add_note(call.name, given.text))
