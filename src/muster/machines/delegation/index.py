"""The index of conversations: muster writes the lines of its own, other programs theirs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

import msgspec

from muster.errors import Invalid
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.state import Team
from muster.machines.turns.messages import check_text

PREFIX: Final = "conv_"
"""The beginning of the id of every conversation; a number follows."""


class _IndexEntry(msgspec.Struct):
    """The part of a line of the index that is checked."""

    conversation_id: Annotated[str, msgspec.Meta(pattern=rf"\A{PREFIX}[0-9]{{3,9}}\Z")]


def log_conversation(team: Team, command: c.LogConversation, now: datetime) -> Sequence[Fact]:
    check_text(command.entry)
    name = _logged_id(command.entry)
    if 1 <= int(name.removeprefix(PREFIX)) <= team.delegation.opened:
        raise Invalid(what=f"the entry for {name}", why="is written by muster when that is closed")
    return (e.ConversationLogged(entry=command.entry),)


def _logged_id(entry: str) -> str:
    """The conversation that a line of the index is about."""
    try:
        return msgspec.json.decode(entry, type=_IndexEntry).conversation_id
    except (msgspec.DecodeError, RecursionError):
        why = "must be a JSON object with a conversation_id such as conv_900"
        raise Invalid(what="the entry", why=why) from None
