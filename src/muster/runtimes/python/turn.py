"""The turn that a coroutine is given: the prompt, and methods for what it does in its work."""

import asyncio
import itertools
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from muster.engine.ports import (
    AgentText,
    MusterToolCall,
    PartialText,
    Permission,
    PermissionAnswer,
    Reply,
    SessionActivity,
    SessionListener,
    TurnWaits,
    Working,
)
from muster.limits import ACTIVITY_CHARS_MAX, APPROVAL_DETAIL_CHARS_MAX
from muster.machines.vocabulary import Activity, Usage
from muster.sessions.tools import TOOLS, Tool

T = TypeVar("T")


class TurnIsOver(RuntimeError):
    """The turn was taken, or the session has ended: nothing can be said in it any more."""


class PythonTurn:
    """One piece of work of an agent: a turn in a channel, or messages to it.

    Its methods are for the coroutine and its own event loop. What they do happens in muster's.
    """

    def __init__(
        self,
        text: str,
        *,
        agent: str,
        session: str,
        folder: Path,
        state: dict[str, Any],  # the coroutine's own
        listener: SessionListener,
        muster: asyncio.AbstractEventLoop,
    ) -> None:
        """Work on this text; `muster` is the event loop in which the listener listens."""
        self.text = text
        """The prompt, as any program of an agent reads it."""

        self.agent = agent
        """The agent's name."""

        self.session = session
        """The session's id: one of many that an agent has in its life."""

        self.folder = folder
        """The folder that it works in: a git worktree of its own, if the settings say so. All
        coroutines share the working directory of muster's process."""

        self.state = state
        """The coroutine's own memory, as long as the session lives. Any: it is the coroutine's."""

        self.tools: Sequence[Tool] = TOOLS
        """muster's tools, for a model to choose from: name, description, schema."""

        self.usage = Usage()
        """Tokens and costs of this turn, by `add_usage`."""

        self._listener = listener
        self._muster = muster
        self._is_over = False
        self._numbers = itertools.count(1)

    # ── speaking ──────────────────────────────────────────────────────────────────────────────────

    async def post(self, text: str, channel: str | None = None) -> None:
        """Say something before the turn ends. What the coroutine returns is said at its end."""
        await self._in_muster(self._listener.on_report(AgentText(text=text, channel=channel)))

    async def partial(self, text: str) -> None:
        """Show the text that has been written so far; it is not recorded."""
        await self._in_muster(self._listener.on_report(PartialText(text=text)))

    async def working(self) -> None:
        """Give a sign of work, which renews the turn."""
        await self._in_muster(self._listener.on_report(Working()))

    async def wait(self, reason: str, seconds: float | None = None) -> None:
        """Keep the turn and wait for a person's answer, which comes as the next prompt."""
        await self._in_muster(self._listener.on_report(TurnWaits(reason=reason, seconds=seconds)))

    # ── acting ────────────────────────────────────────────────────────────────────────────────────

    async def call(self, tool: str, arguments: Mapping[str, object] | None = None) -> Reply:
        """Call one of muster's tools."""
        called = MusterToolCall(tool=tool, arguments=arguments or {})
        return await self._in_muster(self._listener.on_tool_call(called))

    async def ask(self, tool: str, detail: str, *, seconds: float = 600.0) -> PermissionAnswer:
        """Ask a person for an approval, and wait for the answer."""
        request = Permission(tool=tool, detail=detail[:APPROVAL_DETAIL_CHARS_MAX], seconds=seconds)
        return await self._in_muster(self._listener.on_permission_request(request))

    async def report_tool(
        self, name: str, given: str, result: str, *, failed: bool = False
    ) -> None:
        """Record a tool call of the coroutine's own."""
        ref = f"{self.session}-{next(self._numbers)}"
        ended = Activity.TOOL_FAILED if failed else Activity.TOOL_DONE
        for kind, text in ((Activity.TOOL_CALL, given), (ended, result)):
            shown = text[:ACTIVITY_CHARS_MAX]
            activity = SessionActivity(kind=kind, name=name, text=shown, ref=ref)
            await self._in_muster(self._listener.on_report(activity))

    def add_usage(
        self, *, cost_usd: float = 0.0, input_tokens: int = 0, output_tokens: int = 0
    ) -> None:
        """Count what a model has used; it is recorded when the turn ends."""
        self.usage += Usage(
            cost_usd=cost_usd, input_tokens=input_tokens, output_tokens=output_tokens
        )

    # ── between the two event loops ───────────────────────────────────────────────────────────────

    def end(self) -> None:
        """The turn is over: whatever still runs of it says nothing more."""
        self._is_over = True

    async def _in_muster(self, work: Coroutine[Any, Any, T]) -> T:  # Any: asyncio's own
        if self._is_over:
            work.close()
            raise TurnIsOver("this turn is over")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._muster))
