"""Answers about nodes: the machines that run a team."""

from datetime import datetime

from muster.views.answers import View


class NodeView(View, frozen=True, kw_only=True):
    """A machine of a team, from its start until it stops in order."""

    name: str
    """`here` where the log is in the home of the only machine."""

    away_since: datetime | None = None
    """Since when it is given up as lost; null while it is here."""

    stopping: bool = False
    labels: tuple[str, ...] = ()
    room: int | None = None
    """The number of sessions that it has room for; null without a limit."""

    sessions: int = 0
    """Sessions that run there, or may still run there while it is away."""

    load: float | None = None
    """Processes of the machine that want to run, for each of its cores, over a minute; null while
    it is away, or is the only machine."""

    agents: tuple[str, ...] = ()
    """The agents that belong to it."""

    running: tuple[str, ...] = ()
    """The agents whose sessions are placed on it."""


class NodeList(View, frozen=True, kw_only=True):
    """The machines of a team, the oldest first."""

    nodes: tuple[NodeView, ...] = ()


class OutputFilePage(View, frozen=True, kw_only=True):
    """A part of an agent's output file, which has the output as a whole."""

    node: str
    """The machine whose disk has the file."""

    path: str
    size: int
    start: int
    """Where the part begins, in bytes; `before` asks for the part that ends there."""

    text: str
