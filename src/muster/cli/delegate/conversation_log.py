"""`muster conversation-log`: a line that another program adds to the index of conversations."""

import asyncio
import json
import sys
from pathlib import Path

import click
import msgspec

from muster.cli.delegate.places import client_at, place_of, settings_of
from muster.cli.options import home_option
from muster.cli.render import clean
from muster.client import delegation
from muster.delegation.visiting import OnDemandLogProvider, visited
from muster.errors import Invalid
from muster.machines.commands import LogConversation
from muster.machines.ids import MUSTER


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON on standard input of `muster conversation-log`."""

    session_path: str = ""
    """The session's folder; the open session of this folder without it."""

    conversation_data: dict[str, object] = {}
    conversation_id: str = ""
    """Names a conversation whose fields are given without the two above."""


@click.command(name="conversation-log")
@home_option
def conversation_log(home: Path) -> None:
    """Add a line of JSON from standard input to messages.jsonl.

    The input is {"session_path": DIR, "conversation_data": {...}}; the data has a conversation_id.
    Data that stand alone, {"conversation_id": ...}, are for the session that is open in this
    folder.
    """
    given = sys.stdin.buffer.read()
    try:
        entry = msgspec.json.decode(given, type=_Entry)
        data = entry.conversation_data
        if entry.conversation_id and not data:
            data = msgspec.json.decode(given, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
        raise Invalid(what="The entry", why=f"is not valid: {wrong}") from None
    if not isinstance(data.get("conversation_id"), str):
        raise Invalid(what="The entry", why="has no conversation_id in its conversation_data")
    place = place_of(Path(entry.session_path) if entry.session_path else None, home)
    line = json.dumps(data, ensure_ascii=False)
    if place.server is not None:
        with client_at(place) as client:
            client.ask(delegation.log_line(line))
    else:
        settings = settings_of(place.root, home)
        log_provider, _ = visited(place.root, settings, place.team_home)
        asyncio.run(_log(log_provider, line))
        if log_provider.trouble is not None:
            raise log_provider.trouble
    click.echo(f"Logged {clean(str(data['conversation_id']))}.")


async def _log(log_provider: OnDemandLogProvider, line: str) -> None:
    async with log_provider.access() as session_log:
        await session_log.send(LogConversation(entry=line), actor=MUSTER)
