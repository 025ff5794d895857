"""`muster agents`, `soul` and `transcript`: identities, read from the log without a server.

Text of agents is hostile: it is printed line by line, without terminal control characters.
"""

import sys
from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from typing import Final

import click
import msgspec

from muster.cli.badges import badge_cell, evidence
from muster.cli.options import home_option, json_option
from muster.cli.reading import need_agent, now, running
from muster.cli.render import Look, Row, Tone, clean, count, json_line, paint, table
from muster.cli.terminal import look
from muster.engine.loading import load
from muster.errors import NotFound
from muster.machines.state import Agent, Status, Team
from muster.machines.turns.speech import speaker_label
from muster.store.base import LogFilter, ReadableLog, Stored
from muster.store.codec import decode
from muster.store.opening import open_reader
from muster.views.agents import view_agents
from muster.views.answers.agents import AgentList, AgentView, Button
from muster.views.answers.messages import MessageDocument
from muster.views.content.messages import MESSAGE_TYPES, thread_of
from muster.views.memory.transcripts import SENT_TYPES, is_said_by, may_be_sent_by
from muster.views.messages import message_document

PAGE: Final = 64

_HEADER: Final = ("SEAT", "AGENT", "STATE", "COLOUR", "GENDER", "SOUL", "LAST ALIVE", "EVIDENCE")
_PRESS: Final = {
    Button.SUMMON: "There are no agents yet. `muster summon` prepares seats for them.",
    Button.WAKE: "`muster wake` wakes all sleeping agents.",
}


@click.command()
@home_option
@json_option("Print all agents with their documents as JSON.")
def agents(home: Path, as_json: bool) -> None:
    """List agents: name, colour, soul, presence.

    An agent is shown as unknown until its status is confirmed after a start of muster. Seats
    whose agent was never born are in the JSON only.
    """
    with open_reader(home) as reader:
        team = load(reader)
    found = view_agents(team, now(), running=running(home) is not None)
    if as_json:
        click.echo(json_line(msgspec.json.encode(found)))
    else:
        click.echo("\n\n".join(_told(found, look())))


def _told(found: AgentList, shown: Look) -> Iterator[str]:
    visible = [agent for agent in found.agents if agent.status is not Status.EXPIRED]
    if visible:
        yield table(_HEADER, [_row(agent) for agent in visible], shown)
    if found.button is not None:
        yield _PRESS[found.button]


def _row(agent: AgentView) -> Row:
    document = agent.document
    assert document is not None
    colors = " ".join(each for each in (document.color, document.color_name) if each)
    written, seen = document.individuation_artifact, document.last_alive_at
    return (
        str(agent.seat),
        agent.label,
        badge_cell(agent),
        colors or "-",
        document.gender or "-",
        count(len(written), "character") if written else "-",
        f"{seen.astimezone():%Y-%m-%d %H:%M}" if seen else "-",
        evidence(agent.evidence),
    )


@click.command()
@home_option
@click.argument("name", metavar="AGENT")
def soul(home: Path, name: str) -> None:
    """Print an agent's soul: what it wrote at its registration.

    The agent gets this text whenever it wakes.
    """
    with open_reader(home) as reader:
        agent = need_agent(load(reader), name)
    if not agent.soul:
        raise NotFound(kind="soul of", name=agent.id)
    click.echo("\n".join(_lines(agent.soul)))


def _lines(text: str) -> list[str]:
    return [clean(line.expandtabs()) for line in text.split("\n")]


# ── what was said ─────────────────────────────────────────────────────────────────────────────────


@click.command()
@home_option
@json_option("Print one JSON object a line for each message.")
@click.option("--all", "whole", is_flag=True, help="All sessions, not only the last one.")
@click.argument("name", metavar="AGENT")
def transcript(home: Path, as_json: bool, whole: bool, name: str) -> None:
    """Show the messages of an agent, sent and received.

    Without --all these are the messages of its last session on this machine that has any: its
    memory when it wakes. With --all earlier ones and those of other machines are added. A message
    that the agent has not read yet is shown with its delivery state.
    """
    shown = look()
    with open_reader(home) as reader:
        team = load(reader)
        agent = need_agent(team, name)
        after = 0 if whole else agent.transcript_from
        thread = _thread(reader, agent, after, whole=whole)
        for message in merge(thread, _sent(reader, team, agent, after), key=lambda each: each.seq):
            if message.seq > team.seq:
                break
            if as_json:
                sys.stdout.write(f"{json_line(msgspec.json.encode(message))}\n")
            else:
                sys.stdout.write(f"{_said(message, agent, shown)}\n")


def _thread(
    reader: ReadableLog, agent: Agent, after: int, *, whole: bool
) -> Iterator[MessageDocument]:
    """The messages of an agent's last session, or all."""
    for each in _read(reader, after, thread_of(agent.seat)):
        if whole or each.type in MESSAGE_TYPES:
            yield message_document(decode(each.data), agent)


def _sent(reader: ReadableLog, team: Team, agent: Agent, after: int) -> Iterator[MessageDocument]:
    """The messages of the agent to other agents alone, with the delivery of each."""
    if agent.sent <= after:
        return
    for each in _read(reader, after, LogFilter(types=SENT_TYPES)):
        if each.seat is None or not may_be_sent_by(agent, each):
            continue
        event = decode(each.data)
        if is_said_by(agent, event):
            yield message_document(event, team.agent(each.seat))


def _read(reader: ReadableLog, after: int, where: LogFilter) -> Iterator[Stored]:
    while page := reader.read(after=after, limit=PAGE, where=where):
        yield from page
        after = page[-1].seq


def _said(message: MessageDocument, agent: Agent, shown: Look) -> str:
    at = paint(f"{message.created_at.astimezone():%Y-%m-%d %H:%M:%S}", Tone.DIM, shown)
    by_agent = message.speaker_type == "agent"
    to = message.target_agent if by_agent and message.speaker_name == agent.id else None
    label = speaker_label(message.speaker_name, message.channel, to)
    speaker = paint(f"{label}:", Tone.STRONG, shown)
    first, *more = _lines(message.text)
    told = "\n    ".join([first, *more])
    return f"{at}  {speaker} {told}{_how_far(message, shown)}"


def _how_far(message: MessageDocument, shown: Look) -> str:
    """The delivery state of a message that has not been read yet."""
    if message.delivery is None or message.delivery == "read":
        return ""
    return " " + paint(f"({message.delivery})", Tone.ODD, shown)
