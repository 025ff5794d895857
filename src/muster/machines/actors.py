"""Permissions of actors: some commands are reserved for people."""

from muster.errors import Forbidden
from muster.machines.ids import agent_actor, is_agent


def refuse_agent(actor: str, act: str, remedy: str = "Ask a person to do it.") -> None:
    """Raise `Forbidden` if the actor is an agent."""
    if is_agent(actor):
        name = actor.removeprefix(agent_actor(""))
        raise Forbidden(who=repr(name), act=act, remedy=remedy)
