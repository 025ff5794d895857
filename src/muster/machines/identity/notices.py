"""Notices of muster to a lead about the agents that it brought to life: an end, another name."""

from collections.abc import Iterator

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.ids import MUSTER
from muster.machines.state import Agent, Team
from muster.machines.turns.speech import indented
from muster.machines.vocabulary import Authority, RunMode


def tell_of_end(team: Team, agent: Agent, outcome: str, words: str) -> Iterator[Command]:
    """The session of an agent that muster runs for its lead has ended. Its last words are its own,
    so their further lines are indented."""
    if agent.hosted:
        text = f"[AGENT ENDED: {agent.id}] its session {outcome}{words and f': {words}'}"
        yield from _told(team, agent, indented(text))


def tell_of_name(team: Team, agent: Agent, fact: e.AgentRenamed) -> Iterator[Command]:
    """A person has renamed an agent of the lead.

    The lead may be handed the notice again after its agents have slept, so it has to stay true.
    """
    if agent.hosted or agent.authority is Authority.LEAD:
        known = agent.running_as
        goes_on = f"; {known} counts for it too, as long as no other agent has that name"
        text = f"[AGENT RENAMED: {fact.previous}] it is called {fact.name} now"
        text += goes_on if known not in ("", fact.name) else ""
        yield from _told(team, agent, text)


def _told(team: Team, agent: Agent, text: str) -> Iterator[Command]:
    lead = team.lead
    if lead is None or lead.seat == agent.seat or team.shutdown is not None:
        return
    if lead.present or _comes_back(lead):
        yield c.SendMessage(text=text, speaker_name=MUSTER)


def _comes_back(lead: Agent) -> bool:
    """Whether a lead that is not awake is between two sessions of a program that always runs.

    When muster itself was killed, the sessions of the lead and of its agents end in any order.
    """
    always = lead.run.long_lived and lead.run.desired is RunMode.CONTINUOUS
    return always and lead.authority is Authority.MUSTER and not lead.disabled
