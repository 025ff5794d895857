"""The `python` runtime: a session is a coroutine in this process, in a thread of its own."""

import asyncio
from pathlib import Path
from typing import Final

from muster.engine.ports import Launch, Leftover, SessionListener
from muster.errors import CannotStart
from muster.limits import AGENT_CONNECT_SECONDS
from muster.runtimes.process.confined import working_directory
from muster.runtimes.process.listener import SerialListener
from muster.runtimes.python.session import PythonSession
from muster.runtimes.python.thread import AgentThread
from muster.settings.agents import AgentSettings

_THREADS: Final[dict[str, AgentThread]] = {}
"""The thread of the last session of each agent in this process."""


class PythonRuntime:
    """Runs the coroutine of one agent."""

    is_output_speech = False
    """The text that it returns is the agent's speech."""

    has_initial_prompt = True
    confirms_prompts = True

    def __init__(self, settings: AgentSettings, base: Path, *, home: Path | None = None) -> None:
        """Modules are also looked for in `base`, the folder that the settings are seen from."""
        self._settings = settings
        self._base = base.absolute()

    async def start(self, launch: Launch, listener: SessionListener) -> PythonSession:
        """Import the coroutine, and return when it has its first prompt."""
        key = f"{self._base}:{launch.agent.id}"
        last = _THREADS.get(key)
        if last is not None and not await last.ends_within(self._settings.interrupt_seconds):
            raise self._cannot(
                "its last session is stuck, and its thread still runs", "Restart muster."
            )
        thread = _THREADS[key] = AgentThread(self._settings.target, self._base)
        try:
            async with asyncio.timeout(AGENT_CONNECT_SECONDS):
                await asyncio.wrap_future(thread.ready)
        except TimeoutError as error:
            raise self._cannot("its module is still being imported", "Restart muster.") from error
        except Exception as error:  # a module can raise anything when it is imported
            why = f"{type(error).__name__}: {error}"
            raise self._cannot(why, "Correct the module, or the agent's target.") from error
        session = PythonSession(
            thread,
            agent=launch.agent.id,
            session=launch.session,
            folder=working_directory(self._settings, self._base, launch),
            listener=SerialListener(listener),
            end_s=self._settings.interrupt_seconds,
        )
        await session.begin(launch.prompt, idle=launch.idle)
        return session

    async def reclaim(self, leftover: Leftover) -> str:
        """Nothing can be left of it: it ran in the process of an earlier muster."""
        return "it ran in muster's own process, and ended with it"

    def _cannot(self, why: str, remedy: str) -> CannotStart:
        return CannotStart(
            program=self._settings.target, cwd=str(self._base), why=why, remedy=remedy
        )
