"""Permissions of actors: some commands are reserved for people."""

from muster.errors import Forbidden, WrongState
from muster.machines.ids import agent_actor, is_agent
from muster.machines.state import Agent


def refuse_agent(actor: str, act: str, remedy: str = "Ask a person to do it.") -> None:
    """Raise `Forbidden` if the actor is an agent."""
    if is_agent(actor):
        name = actor.removeprefix(agent_actor(""))
        raise Forbidden(who=repr(name), act=act, remedy=remedy)


def refuse_by_hand(agent: Agent, act: str) -> None:
    """Refuse to run a session that a person runs."""
    if agent.hand is not None:
        raise WrongState(act=act, name=agent.id, state="run by hand: its terminal decides")
