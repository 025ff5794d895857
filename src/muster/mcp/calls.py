"""The call of a tool: the identity of its caller, and the way to make requests as that caller."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from muster.client.requests import ApiRequest
from muster.errors import Forbidden
from muster.views.answers.agents import CallerView

T = TypeVar("T")

Report = Callable[[float, float, str], Awaitable[None]]
"""Tells the caller how far its call has come: progress, total, and a sentence."""


class Asking(Protocol):
    """Makes a request as a caller, and returns its answer or raises its error."""

    async def __call__(self, request: ApiRequest[T], /) -> T:
        """The answer."""
        ...


async def report_nothing(progress: float, total: float, message: str) -> None:
    """Report to nobody."""


class McpCall:
    """One call of a tool, resource or prompt, by an authenticated caller."""

    __slots__ = ("ask", "me", "report")

    def __init__(self, me: CallerView, ask: Asking, report: Report = report_nothing) -> None:
        """`me` is the caller; `ask` makes requests with its token."""
        self.me = me
        self.ask = ask
        self.report = report

    @property
    def name(self) -> str:
        """The name of the calling agent."""
        if self.me.agent is None:
            remedy = "Use a token of that agent: `muster token` issues one."
            raise Forbidden(who=f"A token of role {self.me.role}", act="be an agent", remedy=remedy)
        return self.me.agent
