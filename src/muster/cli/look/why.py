"""`muster why`: explains a state by following each event to its cause."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from muster.cli.options import home_option, json_option
from muster.cli.reading import find_agent, need_agent
from muster.cli.render import Look, Tone, clean, json_line, paint
from muster.cli.telling import tell
from muster.cli.terminal import look
from muster.engine.loading import load
from muster.errors import MusterError, NoTeam, NotFound
from muster.machines.ids import ChannelId, ConversationId, name_key
from muster.machines.state import Team
from muster.store.codec import encode
from muster.store.opening import open_reader
from muster.views import why as views
from muster.views.why import Explanation, Reading, read_from

_CONVERSATION: Final = re.compile(r"conversation:.*|conv_[0-9]+")
"""A subject that is a conversation, unless an agent or a channel has its name."""


@click.command()
@home_option
@click.option(
    "--path",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A conversation: the folder of its session [the open session of this folder].",
)
@click.argument("subject", metavar="AGENT|CHANNEL|CONVERSATION|SEQ")
@json_option("Print the events as JSON, one a line, each before its cause.")
def why(home: Path, path: Path | None, subject: str, as_json: bool) -> None:
    """Explain the state of an agent, channel, conversation or event.

    Each event is followed by its cause. A word that could mean several things is an agent's name
    first, then a channel's, then a conversation, then the number of an event; agent:X (a name or a
    seat), seat:X, channel:X, conversation:X, event:X and approval:X say which.
    """
    team, found = _found(_homes(home, path, subject), subject)
    if as_json:
        for event in (event for each in found for event in each.events):
            click.echo(json_line(encode(event)))
    else:
        click.echo("\n\n".join(_text(each, team, look()) for each in found))
        _tell_of_seat(team, subject)


def _tell_of_seat(team: Team, subject: str) -> None:
    """Tell how to ask for an agent, where the number of its seat was taken for that of an event."""
    is_event = subject.isdecimal() and subject not in team.names and subject not in team.channels
    agent = find_agent(team, subject) if is_event else None
    if agent is not None:
        who = clean(f"{agent.id} in seat {agent.seat}")
        click.echo(f"({subject} is an event here. {who}: muster why seat:{agent.seat})", err=True)


def _homes(home: Path, path: Path | None, subject: str) -> Sequence[Path]:
    """The homes that may know a subject: a conversation may be in that of a session's folder."""
    if not _CONVERSATION.fullmatch(subject):
        return [home]
    from muster.cli.delegate.places import homes_of  # it loads much, and no other subject needs it

    return homes_of(path, home)


def _found(homes: Sequence[Path], subject: str) -> tuple[Team, list[Explanation]]:
    """The explanations of the first log that knows the subject."""
    first: MusterError | None = None
    for home in homes:
        try:
            return _read(home, subject)
        except (NotFound, NoTeam) as missing:
            first = first or missing
    assert first is not None
    raise first


def _read(home: Path, subject: str) -> tuple[Team, list[Explanation]]:
    with open_reader(home) as log:
        team = load(log)
        return team, read_from(log, _explained(team, subject))


def _text(explanation: Explanation, team: Team, look: Look) -> str:
    lines = [
        tell(event, team, look, lead="← " if depth else "")
        for depth, event in enumerate(explanation.events)
    ]
    title = clean(explanation.subject + explanation.title)
    return "\n".join([paint(title, Tone.STRONG, look), *lines])


# ── the subject ───────────────────────────────────────────────────────────────────────────────────


def _explained(team: Team, subject: str) -> Reading[list[Explanation]]:
    kind, _, word = subject.partition(":")
    match kind:
        case "agent" | "seat":
            return views.of_agent(team, need_agent(team, word))
        case "channel":
            return views.of_channel(team, team.channel(ChannelId(word)))
        case "conversation":
            return _of_conversation(word)
        case "event":
            return views.of_event(word)
        case "approval":
            return views.of_approval(word)
        case _:
            return _bare_word(team, subject)


def _bare_word(team: Team, word: str) -> Reading[list[Explanation]]:
    """An agent's name, else a channel's, a conversation or an event's number, which is no seat."""
    if not word.isdecimal() or name_key(word) in team.names:
        agent = find_agent(team, word)
        if agent is not None:
            return views.of_agent(team, agent)
    channel = team.channels.get(ChannelId(word))
    if channel is not None:
        return views.of_channel(team, channel)
    if _CONVERSATION.fullmatch(word):
        return _of_conversation(word)
    if word.isdecimal():
        return views.of_event(word)
    raise NotFound(kind="agent, channel, conversation or event", name=word)


def _of_conversation(word: str) -> Reading[list[Explanation]]:
    from muster.views.content.why_conversation import (
        of_conversation,
    )  # only a conversation needs it

    return of_conversation(ConversationId(word))
