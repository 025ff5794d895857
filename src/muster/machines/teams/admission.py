"""Admission of documents and messages that arrive: names that no agent can have, speakers that pose
as another one, and acts of the future are refused.

A name or time that the agent in the seat has already is taken, whatever the rules say now: the
human may have been renamed, or the clock set back. So a team can always be imported where it was
exported. The same holds for the speaker of a message that was imported before.
"""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final

from muster.errors import Invalid, LookAlike, Refused
from muster.machines.bounds import CLOCKS_APART
from muster.machines.documents import AgentDocument, MessageCopy
from muster.machines.ids import MUSTER, SeatId
from muster.machines.names import (
    check_agent_name,
    check_human_name,
    check_looks_new,
    look_alike,
)
from muster.machines.state import Agent, Team

_UNNAMED: Final = re.compile(r"agent-identity:[0-9]{1,9}")
"""The name of an agent in the log that has not registered yet."""


def check_incoming(team: Team, document: AgentDocument, now: datetime) -> None:
    """Refuse a document that this team cannot take in."""
    seat = document.grid_position
    agent = team.agents.get(seat) or Agent(seat=seat)
    _check_names(team, agent, document)
    _check_acts(agent, document, now)


def _check_names(team: Team, agent: Agent, document: AgentDocument) -> None:
    """Refuse reserved names. Those of other agents are free at first: the merge gives each its
    own."""
    known = (agent.name, agent.chosen_name, agent.born_as)
    for name in filter(None, (document.name, document.chosen_name, document.born_as)):
        if name not in known:
            check_agent_name(Team(human=team.human), name)
            check_looks_new(Team(human=team.human, users=team.users), name)


def check_told_apart(team: Team, after: Mapping[SeatId, AgentDocument]) -> None:
    """Refuse a name that nobody here has and that looks like the name of an agent here.

    `after` is the team as it would be. Two names that look alike and come together are taken: they
    are an existing pair of the other team.
    """
    here = {agent.name for agent in team.agents.values() if not agent.retired}
    for seat, document in after.items():
        if document.name is None or document.name in here:
            continue
        other = look_alike(team, document.name, seat)
        if other is not None and after[other.seat].name == other.name:
            raise LookAlike(name=document.name, other=other.id, seat=other.seat)


def _check_acts(agent: Agent, document: AgentDocument, now: datetime) -> None:
    """Refuse acts of the future, which no act of a person here could overrule."""
    known = (agent.renamed_at, agent.soul_edited_at, agent.last_alive_at)
    acts = (document.renamed_at, document.soul_edited_at, document.last_alive_at)
    for late in (each for each in acts if each is not None and each - now > CLOCKS_APART):
        if late not in known:
            why = (
                f"has a time of {late:%Y-%m-%d %H:%M} UTC, more than a day after the clock here."
                " Correct the clock that is wrong; then rename, edit or wake the agent once more"
                " where it has that time"
            )
            raise Invalid(what=f"the document {document.id!r}", why=why)


def check_speakers(team: Team, messages: Iterable[MessageCopy]) -> None:
    """Refuse a message whose speaker cannot have that name, such as an agent with a person's."""
    names = _names_here(team)
    for message in (each for each in messages if each.id not in team.imported):
        try:
            _check_speaker(team, names, message)
        except Refused as refused:
            kind, reason = message.speaker_type, str(refused).rstrip(".")
            why = f"has a speaker of the type {kind!r} that is refused: {reason}"
            raise Invalid(what=f"the message {message.id!r}", why=why) from refused


def _check_speaker(team: Team, names_here: AbstractSet[str | None], message: MessageCopy) -> None:
    name = message.speaker_name
    if message.speaker_type == "human":
        check_human_name(name)
    elif message.speaker_type == "muster":
        if name != MUSTER:
            raise Invalid(what=f"the name {name!r}", why=f"must be {MUSTER!r}")
    elif name not in names_here and not _UNNAMED.fullmatch(name):
        check_agent_name(Team(human=team.human, users=team.users), name)


def _names_here(team: Team) -> AbstractSet[str | None]:
    """The names that agents here have or had."""
    agents = team.agents.values()
    return {name for each in agents for name in (each.id, each.chosen_name, *each.earlier_names)}
