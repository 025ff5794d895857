"""Tools that read: the team, one agent, messages. Each shows what its caller may see."""

from datetime import datetime
from typing import Annotated, Final

import msgspec

from muster.client import requests
from muster.client.roster import roster
from muster.errors import Invalid
from muster.machines.vocabulary import Role, RunMode
from muster.mcp.calls import McpCall
from muster.mcp.declaring import EVERYBODY, NoInput, ToolInput, tool
from muster.views.answers import View
from muster.views.answers.messages import MessageDocument, MessageView
from muster.views.answers.roster import TeamRoster

MESSAGES: Final = 20
MESSAGES_MAX: Final = 100
"""Messages in one answer: a model has to read them all."""


@tool(may=EVERYBODY, title="Show the team", reads=True)
async def who(call: McpCall, given: NoInput) -> TeamRoster:
    """Show who is in the team and who is here, what each does, and whose turn it is."""
    return await call.ask(roster())


# ── one agent ─────────────────────────────────────────────────────────────────────────────────────


class AgentInput(ToolInput, frozen=True, kw_only=True):
    """An agent."""

    agent: Annotated[str, msgspec.Meta(description="The name of the agent.")]


class RunStatus(View, frozen=True, kw_only=True):
    """An agent's desired and current state, and what keeps it from the desired one."""

    agent: str
    status: str
    line: str
    desired: RunMode
    current: RunMode
    set_by: str
    note: str
    disabled: bool
    session: str | None
    """The session that runs."""

    failures: int
    """Failed sessions in a row."""

    retry_at: datetime | None
    last_failure: str | None
    waits_for: tuple[str, ...]
    """Agents that must run before this one starts."""


@tool(may=EVERYBODY, title="Show an agent's status", reads=True)
async def status(call: McpCall, given: AgentInput) -> RunStatus:
    """Show what an agent is to do (desired), what it does (current), and its last failure."""
    return await status_of(call, given.agent)


async def status_of(call: McpCall, name: str) -> RunStatus:
    """The status of an agent."""
    run = await call.ask(requests.run_state(name))
    failure = run.last_failure
    return RunStatus(
        agent=run.agent,
        status=run.badge.status,
        line=run.badge.line,
        desired=run.desired,
        current=run.current,
        set_by=run.set_by,
        note=run.note,
        disabled=run.disabled,
        session=None if run.session is None else str(run.session.id),
        failures=run.failures,
        retry_at=run.retry_at,
        last_failure=None if failure is None else failure.reason,
        waits_for=run.waits_for,
    )


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


class ReadInput(ToolInput, frozen=True, kw_only=True):
    """Which messages."""

    channel: Annotated[str | None, msgspec.Meta(description="The channel to read.")] = None
    agent: Annotated[
        str | None,
        msgspec.Meta(description="The agent whose thread with the human to read."),
    ] = None
    after: Annotated[
        Annotated[int, msgspec.Meta(ge=0)] | None,
        msgspec.Meta(description="Only messages after this seq; left out, the newest."),
    ] = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MESSAGES_MAX)] = MESSAGES


class MessageLine(View, frozen=True, kw_only=True, omit_defaults=True):
    """A message."""

    seq: int
    at: datetime
    speaker: str
    text: str
    to: str | None = None
    """The agent that it is for alone."""

    reply_to: int | None = None
    files: tuple[str, ...] = ()
    """Names of attached files."""


class MessageLines(View, frozen=True, kw_only=True):
    """Messages, the oldest first."""

    messages: tuple[MessageLine, ...]
    after: int
    """Give it as `after` to read on."""

    more: bool
    """Whether there are more after these."""


@tool(may=EVERYBODY, title="Read messages", reads=True)
async def read_messages(call: McpCall, given: ReadInput) -> MessageLines:
    """Read the messages of a channel, or an agent's thread with the human, oldest first.

    An agent that names neither reads its own thread. Reading does not mark anything as read.
    """
    if given.channel is not None and given.agent is not None:
        raise Invalid(what="channel and agent", why="exclude each other; give one of them")
    if given.channel is not None:
        return await _of_channel(call, given.channel, given)
    if given.agent is None and call.me.role is not Role.AGENT:
        raise Invalid(what="channel or agent", why="must be given")
    return await _of_thread(call, given.agent or call.name, given)


async def _of_channel(call: McpCall, channel: str, given: ReadInput) -> MessageLines:
    newest = given.after is None
    page = await call.ask(
        requests.messages(channel, after=given.after or 0, limit=given.limit, newest_first=newest)
    )
    found = page.messages[::-1] if newest else page.messages
    after = found[-1].seq if found else given.after or 0
    more = not newest and len(found) == given.limit
    return MessageLines(messages=tuple(map(_line, found)), after=after, more=more)


def _line(message: MessageView) -> MessageLine:
    return MessageLine(
        seq=message.seq,
        at=message.ts,
        speaker=message.speaker,
        text=message.text,
        reply_to=message.reply_to,
        files=tuple(each.name for each in message.files),
    )


async def _of_thread(call: McpCall, agent: str, given: ReadInput) -> MessageLines:
    page = await call.ask(requests.thread(agent, after=given.after, limit=given.limit))
    lines = tuple(map(_thread_line, page.messages))
    return MessageLines(messages=lines, after=page.after, more=page.more)


def _thread_line(message: MessageDocument) -> MessageLine:
    return MessageLine(
        seq=message.seq,
        at=message.created_at,
        speaker=message.speaker_name,
        text=message.text,
        to=message.target_agent,
    )
