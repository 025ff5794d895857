"""Programs for agents that are found on this machine: what a search answers."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec


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
    """How to get it, where it was not found."""


DetectPrograms = Callable[[], Awaitable[Sequence[DetectedProgram]]]
"""Looks for programs for agents on this machine."""
