"""Programs of agents: those on this machine, those that run, and conversations to resume."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from muster.machines.ids import SessionId
from muster.machines.state import Agent


class DetectedProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A program for agents that was looked for on this machine."""

    runtime: str
    """The kind of agent that it makes."""

    label: str
    program: str = ""
    """Its path; empty where it was not found."""

    version: str = ""
    command: tuple[str, ...] = ()
    """How it is run, if it is run as a command."""

    preset: str = ""
    """The preset of an agent that speaks the Agent Client Protocol."""

    enforcement: str = ""
    """The permissions that are enforced, and those that are only advice to it."""

    remedy: str = ""
    """How to get it, where it was not found; how to sign in, where it is without a sign-in."""

    lacks_sign_in: bool = False
    """Whether no credentials of it were seen: its sessions will probably fail."""


DetectPrograms = Callable[[], Awaitable[Sequence[DetectedProgram]]]
"""Looks for programs for agents on this machine."""


class ProgramInForce(NamedTuple):
    """The model and the mode that a running program works with; an empty model is its default."""

    model: str
    mode: str


class ProgramControl(Protocol):
    """The part of a session that commands its program itself, and not the agent in it."""

    @property
    def program(self) -> ProgramInForce | None:
        """The model and the mode in force, where they can change while the program runs."""
        ...

    async def choose(self, *, model: str | None, mode: str | None) -> None:
        """Set the model or the mode of the running program, where it can change."""
        ...

    def is_command(self, text: str) -> bool:
        """Whether a text is a command to the program, which takes it as it is."""
        ...


class KeptConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation of an agent with its program that a session can resume."""

    id: str
    sessions: tuple[SessionId, ...]
    """The sessions that it went on in, the first one first."""


class KeptConversations(Protocol):
    """The conversations of agents with their programs."""

    async def of(self, agent: Agent) -> Sequence[KeptConversation]:
        """Those of an agent, the newest first; none where its program keeps none."""
        ...

    async def choose(self, agent: Agent, conversation: str) -> bool:
        """Let the next session of an agent resume this one; false if there is none such."""
        ...
