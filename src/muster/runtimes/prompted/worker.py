"""Works on the prompts of a session, one piece of work at a time, and reports what becomes of each.

A prompt that comes in the middle of work is injected where the program can do that, or else waits;
all that wait are one piece of work together afterwards. So a program never has two at once: agents
disagree about what that means.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from muster.engine.ports import PromptAccepted, Result
from muster.machines.vocabulary import Taken
from muster.runtimes.process.listener import SerialListener

Work = Callable[[str], Awaitable[Result]]
"""Does a piece of work, and returns what came of it."""

Inject = Callable[[str], Awaitable[bool]]
"""Adds a prompt to the work that is under way; false if that cannot be done any more."""


class _Prompt(NamedTuple):
    text: str
    whole: str
    """The text with what was held back before it."""

    how: Taken


class PromptWorker:
    """The prompts of one session, and the work on them."""

    def __init__(
        self,
        listener: SerialListener,
        work: Work,
        *,
        inject: Inject | None = None,
        on_idle: Callable[[], object] = lambda: None,
    ) -> None:
        """Report to `listener`; call `on_idle` whenever nothing more is to be done."""
        self._listener = listener
        self._work = work
        self._inject = inject
        self._on_idle = on_idle
        self._waiting: list[_Prompt] = []
        self._working = False
        self._closed = False
        self._results = 0
        self._changed = asyncio.Event()

    @property
    def is_working(self) -> bool:
        """Whether a piece of work is under way."""
        return self._working

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self._working and not self._waiting

    async def add(self, text: str, *, before: str = "") -> None:
        """Take a prompt; the program reads `before` ahead of it."""
        if self._inject is not None and self._working and await self._inject(f"{before}{text}"):
            await self._listener.on_report(PromptAccepted(how=Taken.INJECTED, text=text))
            return
        how = Taken.STARTED if self.is_idle else Taken.QUEUED
        self._waiting.append(_Prompt(text, f"{before}{text}", how))
        self._change()

    def withdraw(self, text: str) -> bool:
        """Take back a prompt that waits; false if its work has begun."""
        found = next((each for each in self._waiting if each.text == text), None)
        if found is None or found.text != found.whole:  # what was held back for it must be read
            return False
        self._waiting.remove(found)
        self._change()
        return True

    async def run(self) -> None:
        """Work until `close`. Raises what the work raises."""
        while True:
            await self._until(lambda: bool(self._waiting) or self._closed)
            if self._closed:
                return
            await self._piece()
            self._change()
            if self.is_idle or self._closed:
                self._on_idle()

    def close(self) -> None:
        """Begin nothing more."""
        self._closed = True
        self._change()

    async def interrupted(self, cancel: Callable[[], Awaitable[object]], seconds: float) -> bool:
        """Cancel the work, and say whether it ended in time.

        A prompt whose work has not begun would begin after that: so it begins first.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._until(lambda: self._working or self.is_idle or self._closed)
                if not self._working:
                    return True
                so_far = self._results
                await cancel()
                await self._until(lambda: self._results > so_far or self._closed)
        except TimeoutError:
            return False
        return True

    async def _piece(self) -> None:
        prompts, self._waiting = self._waiting, []
        self._working = True
        try:
            for each in prompts:
                await self._listener.on_report(PromptAccepted(how=each.how, text=each.text))
            self._change()
            result = await self._work("\n\n".join(each.whole for each in prompts))
            await self._listener.on_report(result)
        finally:
            self._working = False
            self._results += 1

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self._changed.wait()

    def _change(self) -> None:
        """Let every waiter look again."""
        self._changed.set()
        self._changed = asyncio.Event()
