"""A stage for the runtime `claude`: the real program, a scripted model, a listener."""

import asyncio
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from msgspec import structs

from muster.engine.ports import (
    Launch,
    MusterToolCall,
    PartialText,
    Permission,
    PermissionAnswer,
    PromptAccepted,
    Reply,
    Result,
    SessionActivity,
    SessionHandle,
    SessionReport,
    Working,
)
from muster.machines.ids import SessionId
from muster.machines.vocabulary import Activity, RunMode
from muster.runtimes.claude.runtime import ClaudeRuntime
from muster.settings.agent_programs import ClaudeSettings
from muster.settings.agents import AgentSettings
from muster.testing.claude_sandbox import Box, scrubbed
from muster.testing.model import Hold
from tests.runtimes.programs import ADA, Listener, new_session
from tests.waits import SLOW_SECONDS

SLEEPS = "echo asleep; exec python3 -S -c 'import time; time.sleep(300)'"

S = TypeVar("S", bound=SessionReport)


class AnsweringListener(Listener):
    """A listener that also serves and permits, as a test says."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[MusterToolCall] = []
        self.requests: list[Permission] = []
        self.reply: Callable[[MusterToolCall], Reply] = lambda call: Reply(
            True, f"served {call.tool}"
        )
        self.verdict: Callable[[Permission], PermissionAnswer] = lambda _: PermissionAnswer(
            False, "Not today."
        )

    async def on_tool_call(self, call: MusterToolCall) -> Reply:
        self.calls.append(call)
        return self.reply(call)

    async def on_permission_request(self, request: Permission) -> PermissionAnswer:
        self.requests.append(request)
        return self.verdict(request)

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(SLOW_SECONDS):
            while not condition():
                self._more.clear()
                await self._more.wait()

    def all(self, kind: type[S]) -> list[S]:
        return [each for each in self.said if isinstance(each, kind)]

    async def results(self, number: int = 1) -> list[Result]:
        """That many results, as soon as they are there."""
        await self.until(lambda: len(self.all(Result)) >= number)
        return self.all(Result)

    async def did(self, kind: Activity) -> list[SessionActivity]:
        """All that was done of a kind, as soon as anything was."""
        await self.until(lambda: any(each.kind is kind for each in self.all(SessionActivity)))
        return [each for each in self.all(SessionActivity) if each.kind is kind]

    def kinds(self) -> list[str]:
        """The kinds of reports in order, without signs of work and partial text."""
        passing = (Working, PartialText)
        return [type(each).__name__ for each in self.said if not isinstance(each, passing)]

    def taken(self) -> list[tuple[str, str]]:
        return [(each.how.value, each.text) for each in self.all(PromptAccepted)]


class ClaudeStage:
    """A place where an agent is run by the real program."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.home = box.root / ".muster"
        self.folder = self.home / "agents" / "Ada"
        self.listener = AnsweringListener()

    def runtime(self, claude: ClaudeSettings | None = None, **more: object) -> ClaudeRuntime:
        settings = AgentSettings(
            runtime="claude", cwd="work", env=self.box.env, claude=claude or ClaudeSettings()
        )
        return ClaudeRuntime(structs.replace(settings, **more), self.home.parent)

    def launch(self, prompt: str, *, soul: str = "", session: SessionId | None = None) -> Launch:
        return Launch(
            session=session or new_session(),
            agent=ADA,
            mode=RunMode.RUN_ONCE,
            prompt=prompt,
            folder=self.folder,
            soul=soul,
        )

    async def start(
        self,
        prompt: str,
        claude: ClaudeSettings | None = None,
        *,
        soul: str = "",
        **more: object,
    ) -> SessionHandle:
        runtime = self.runtime(claude, **more)
        return await runtime.start(self.launch(prompt, soul=soul), self.listener)

    @property
    def conversation(self) -> str:
        """Which conversation the program is remembered to be in."""
        return (self.folder / "claude-session").read_text().splitlines()[0]


async def end(session: SessionHandle) -> None:
    """Let nothing of it live on after the test."""
    await session.kill()
    await session.wait()


async def reached(hold: Hold) -> None:
    """Return when a request waits there."""
    assert await asyncio.to_thread(hold.reached.wait, SLOW_SECONDS)


@contextmanager
def clean_environment() -> Generator[None]:
    """Take out of our own environment what the program would take for its own."""
    before = dict(os.environ)
    for name in before.keys() - scrubbed(before).keys():
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
