"""Programs that tests run, and a listener that remembers what they say."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from msgspec import structs

from muster.engine.ports import Launch, Output, SessionReport
from muster.machines.ids import SeatId, SessionId
from muster.machines.state import Agent
from muster.machines.vocabulary import RunMode
from muster.runtimes.command import CommandRuntime
from muster.runtimes.command_session import CommandSession
from muster.runtimes.process import processes
from muster.settings.agents import AgentSettings
from muster.testing.runtime import Unasked
from tests.waits import WAIT_SECONDS

ADA = Agent(seat=SeatId(9), name="Ada")

READY = "ready"
PLAIN = AgentSettings()


_NUMBERS = count(1)


def new_session() -> SessionId:
    """A session that no other test has, not even one of another run beside this."""
    return SessionId(f"test-{os.getpid()}-{next(_NUMBERS)}")


class Listener(Unasked):
    """A listener that remembers."""

    def __init__(self) -> None:
        self.said: list[SessionReport] = []
        self._more = asyncio.Event()

    async def on_report(self, report: SessionReport) -> None:
        self.said.append(report)
        self._more.set()

    async def until(self, condition: Callable[[], object]) -> None:
        """Return when what was said fulfils the condition."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not condition():
                self._more.clear()
                await self._more.wait()

    async def ready(self, times: int = 1) -> None:
        """Return when the program, or so many, have said that they are ready."""
        await self.until(lambda: self.lines().count(READY) >= times)

    def outputs(self, stream: str = "stdout") -> list[Output]:
        return [each for each in self.said if isinstance(each, Output) and each.stream == stream]

    def text(self, stream: str = "stdout") -> str:
        return "\n".join(output.text for output in self.outputs(stream))

    def lines(self, stream: str = "stdout") -> list[str]:
        return self.text(stream).split("\n")

    def words(self) -> list[SessionReport]:
        """All but output."""
        return [each for each in self.said if not isinstance(each, Output)]

    def numbers(self, name: str) -> list[int]:
        """The numbers of processes that lines such as `name 4711` tell."""
        told = [line.split() for line in self.lines()]
        return [int(words[1]) for words in told if len(words) == 2 and words[0] == name]


class DeafListener(Listener):
    """A listener that takes nothing in until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.listens = asyncio.Event()

    async def on_report(self, report: SessionReport) -> None:
        self.asked.set()
        await self.listens.wait()
        await super().on_report(report)


class Stage:
    """A folder with a program in it, and whoever listens to it."""

    def __init__(self, folder: Path) -> None:
        self.base = folder
        self.folder = folder / "home" / "agents" / "Ada"
        self.listener = Listener()

    def python(self, text: str) -> tuple[str, ...]:
        """A Python program's command; without site, because that takes longer than the test."""
        path = self.base / "program.py"
        path.write_text(f"import os, signal, sys, json, time\n{text}", encoding="utf-8")
        return (sys.executable, "-S", "-E", str(path))

    def runtime(self, command: Sequence[str], settings: AgentSettings = PLAIN) -> CommandRuntime:
        return CommandRuntime(structs.replace(settings, command=tuple(command)), self.base)

    def launch(
        self,
        *,
        session: SessionId | None = None,
        prompt: str = "",
        mode: RunMode = RunMode.RUN_ONCE,
    ) -> Launch:
        return Launch(
            session=session or new_session(),
            agent=ADA,
            mode=mode,
            prompt=prompt,
            folder=self.folder,
        )

    async def start(
        self,
        command: Sequence[str],
        settings: AgentSettings = PLAIN,
        *,
        prompt: str = "",
        mode: RunMode = RunMode.RUN_ONCE,
    ) -> CommandSession:
        runtime = self.runtime(command, settings)
        return await runtime.start(self.launch(prompt=prompt, mode=mode), self.listener)


@contextmanager
def a_process(*command: str, session: str | None = None) -> Generator[subprocess.Popen[bytes]]:
    """A process that carries a session, or none; it is gone afterwards."""
    environment = {"PATH": os.environ["PATH"]}
    if session is not None:
        environment[processes.SESSION_VARIABLE] = session
    with subprocess.Popen(
        command or ("sleep", "1000"),
        env=environment,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def open_files() -> set[tuple[str, str]]:
    """The files that this process has open: their numbers, and what each is.

    Threads of tests before may close theirs at any time, so a test looks for new ones only. A file
    that takes the number of another one is new.
    """
    found: set[tuple[str, str]] = set()
    for path in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the list itself, or closed meanwhile
            found.add((path.name, str(path.readlink())))
    return found


def alive(pid: int | None) -> bool:
    """Whether a process runs."""
    return pid is not None and processes.alive(pid) is not None


def sh(script: str) -> tuple[str, ...]:
    """A shell script's command."""
    return ("sh", "-c", script)


async def gone(pid: int | None) -> None:
    """Return when a process has ended, which may be anybody's."""
    assert pid is not None
    async with asyncio.timeout(WAIT_SECONDS):
        await processes.ended(pid)
