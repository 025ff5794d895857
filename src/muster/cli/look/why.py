"""`muster why`: explains a state by following each event to its cause."""

from pathlib import Path

import click

from muster.cli.options import home_option, json_option
from muster.cli.reading import find_agent, need_agent
from muster.cli.render import Look, Tone, json_line, paint
from muster.cli.telling import tell
from muster.cli.terminal import look
from muster.engine.loading import load
from muster.errors import NotFound
from muster.home.lock import LOG_FILE
from muster.machines.ids import ChannelId, name_key
from muster.machines.state import Team
from muster.store.codec import encode
from muster.store.reading import LogReader
from muster.views import why as views
from muster.views.why import Explanation, Reading, read_from


@click.command()
@home_option
@click.argument("subject", metavar="AGENT|CHANNEL|SEQ")
@json_option("Print the events as JSON, one a line, each before its cause.")
def why(home: Path, subject: str, as_json: bool) -> None:
    """Explain why an agent, channel or event is in its current state.

    Each event is followed by its cause. A word that could mean several things is an agent's name
    first, then a channel's, then the number of an event; agent:X, channel:X, event:X and approval:X
    say which.
    """
    with LogReader.open(home / LOG_FILE) as log:
        team = load(log)
        found = read_from(log, _explained(team, subject))
    if as_json:
        for event in (event for each in found for event in each.events):
            click.echo(json_line(encode(event)))
    else:
        click.echo("\n\n".join(_text(each, team, look()) for each in found))


def _text(explanation: Explanation, team: Team, look: Look) -> str:
    lines = [
        tell(event, team, look, lead="← " if depth else "")
        for depth, event in enumerate(explanation.events)
    ]
    title = explanation.subject + explanation.title
    return "\n".join([paint(title, Tone.STRONG, look), *lines])


# ── the subject ───────────────────────────────────────────────────────────────────────────────────


def _explained(team: Team, subject: str) -> Reading[list[Explanation]]:
    kind, _, word = subject.rpartition(":")
    match kind:
        case "agent":
            return views.of_agent(team, need_agent(team, word))
        case "channel":
            return views.of_channel(team, team.channel(ChannelId(word)))
        case "event":
            return views.of_event(word)
        case "approval":
            return views.of_approval(word)
        case _:
            return _bare_word(team, subject)


def _bare_word(team: Team, word: str) -> Reading[list[Explanation]]:
    """An agent's name, else a channel's, else an event's number. A number is no seat here."""
    if not word.isdecimal() or name_key(word) in team.names:
        agent = find_agent(team, word)
        if agent is not None:
            return views.of_agent(team, agent)
    channel = team.channels.get(ChannelId(word))
    if channel is not None:
        return views.of_channel(team, channel)
    if word.isdecimal():
        return views.of_event(word)
    raise NotFound(kind="agent, channel or event", name=word)
