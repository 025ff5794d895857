"""The hook client as a real process, a desk that remembers, and a socket with it in a thread."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from muster.claude_plugin.copying import SOURCE
from muster.claude_plugin.hooks.calls import HookAnswer, HookCall
from muster.claude_plugin.hooks.server import serving
from tests.waits import WAIT_SECONDS

HOOK = SOURCE / "hook.py"

PASSED = HookAnswer(0, "")

OBSERVERS = (
    *("SessionStart", "UserPromptSubmit", "PostToolUse", "SubagentStart", "SubagentStop"),
    *("Stop", "SessionEnd"),
)

Json = Any  # any JSON value


class Desk:
    """Answers every hook the same, or by a function, and records the calls."""

    def __init__(self, answer: HookAnswer | Callable[[HookCall], HookAnswer] = PASSED) -> None:
        self._answer = answer
        self.calls: list[HookCall] = []

    async def answer(self, call: HookCall) -> HookAnswer:
        self.calls.append(call)
        return self._answer if isinstance(self._answer, HookAnswer) else self._answer(call)

    async def finish(self) -> None:
        """Nothing is being recorded."""

    def events(self) -> list[str]:
        return [call.event for call in self.calls]


@contextmanager
def short(path: Path) -> Generator[str]:
    """A short path of a socket, independent of the depth of the test's folder."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


@contextmanager
def served(home: Path, desk: Desk) -> Generator[Desk]:
    """A socket in a home that a desk answers on, in a thread of its own."""
    ready, ending = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with serving(home, desk):
            ready.set()
            await ending.wait()
            for _ in range(4):  # a server that closes right after it accepted leaks the connection
                await asyncio.sleep(0)

    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(WAIT_SECONDS)
        yield desk
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join(WAIT_SECONDS)
        loop.close()


def hook(
    event: str, data: Json = None, *, project: Path, **environ: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the client as Claude Code does."""
    return run([str(HOOK), event], data, project, environ)


def run(
    arguments: list[str], data: Json, project: Path, environ: Mapping[str, str]
) -> subprocess.CompletedProcess[bytes]:
    """Run a program in a project as Claude Code runs the client."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MUSTER", "CLAUDE", "PYTHON"))
    }
    return subprocess.run(
        [sys.executable, "-I", "-S", *arguments],
        input=data if isinstance(data, bytes) else json.dumps(data or {}).encode(),
        env={**kept, "CLAUDE_PROJECT_DIR": str(project), **environ},
        cwd=project,
        capture_output=True,
        timeout=WAIT_SECONDS,
        check=False,
    )


def denial(ran: subprocess.CompletedProcess[bytes]) -> str:
    """The reason of a denial, which is printed as Claude Code takes a decision."""
    assert (ran.returncode, ran.stderr) == (0, b""), ran
    told = json.loads(ran.stdout)["hookSpecificOutput"]
    assert (told["hookEventName"], told["permissionDecision"]) == ("PreToolUse", "deny")
    return told["permissionDecisionReason"]


def call_of(tool: str, given: Json, cwd: Path, **more: str) -> Json:
    """The JSON of a PreToolUse hook."""
    return {
        "session_id": "s",
        "cwd": str(cwd),
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": given,
        **more,
    }
