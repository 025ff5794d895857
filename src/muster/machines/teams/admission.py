"""Admission of a document that arrives: names that no agent can have, and acts of the future, are
refused.

A name or time that the agent in the seat has already is taken, whatever the rules say now: the
human may have been renamed, or the clock set back. So a team can always be imported where it was
exported.
"""

from datetime import datetime

from muster.errors import Invalid
from muster.machines.bounds import CLOCKS_APART
from muster.machines.documents import AgentDocument
from muster.machines.names import check_agent_name
from muster.machines.state import Agent, Team


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
