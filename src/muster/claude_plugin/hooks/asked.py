"""A hook that is being answered: its call, its caller, and the session that it belongs to."""

from typing import NamedTuple

from muster.claude_plugin.hooks.calls import HookCall
from muster.claude_plugin.hooks.places import OpenSession
from muster.delegation.following.record import Following
from muster.machines.ids import LEAD_SEAT
from muster.machines.state import Agent


class HookCaller(NamedTuple):
    """The caller of a hook."""

    known: bool = True
    agent: Agent | None = None
    """The agent of the seat; None where a person runs the program."""

    @property
    def leads(self) -> bool:
        """Whether the program itself, apart from its subagents, is MAIN."""
        return self.agent is None or self.agent.seat == LEAD_SEAT


class AskedHook(NamedTuple):
    """A hook that is being answered: the call, its caller, and its session."""

    call: HookCall
    caller: HookCaller
    place: OpenSession | None

    @property
    def followed(self) -> Following | None:
        """The recorder of its conversations; None if the caller leads none."""
        return self.place.following if self.place is not None and self.caller.leads else None
