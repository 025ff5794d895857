"""The warden, as its node sees it: a process that is told how long the lease holds.

The pipe to it is the sign of life of the node: when it closes, however that happens, the warden
kills every session of this life, and ends.
"""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from muster.engine.tasks import run_to_completion
from muster.errors import WardenGone
from muster.machines.ids import NodeId, SessionId
from muster.nodes.warden_program import STAYS
from muster.runtimes.process.marks import mark_of

PROGRAM: Final = Path(__file__).with_name("warden_program.py")


class Warden:
    """The running warden of a life."""

    def __init__(self, process: Process, node: NodeId) -> None:
        self._process = process
        self._node = node

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    async def begin_term(self, term: int, until: float) -> None:
        """Begin a term of the lease. Returns when the sessions of earlier terms are dead."""
        self._tell(f"term {term} {until}")
        assert self._process.stdout is not None
        said = await self._process.stdout.readline()
        if said != f"swept {term}\n".encode():
            raise WardenGone(node=self._node)

    def extend(self, until: float) -> None:
        """Tell when the lease ends now."""
        self._tell(f"until {until}")

    def expect(self, session: SessionId, term: int | None) -> None:
        """Tell of a session that is about to start; without a term for one that does not move."""
        self._tell(f"session {mark_of(session)} {STAYS if term is None else term}")

    async def gone(self) -> None:
        """Raise `WardenGone` when its process has ended."""
        await self._process.wait()
        raise WardenGone(node=self._node)

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(ConnectionError):  # `gone` ends the node then
            self._process.stdin.write(f"{line}\n".encode())


@asynccontextmanager
async def guarded(node: NodeId, life: str) -> AsyncGenerator[Warden]:
    """A warden for a life, until the body ends; then everything of that life is killed."""
    process = await _started("guard", life, stdin=PIPE, stdout=PIPE)
    try:
        yield Warden(process, node)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await run_to_completion(process.wait())


async def sweep(home: str) -> None:
    """Kill what earlier lives in a home have left: after `node_lost` the log has no trace of it."""
    process = await _started("sweep", home, stdin=DEVNULL, stdout=DEVNULL)
    await process.wait()


async def _started(verb: str, whom: str, *, stdin: int, stdout: int) -> Process:
    # In a kernel session of its own: Ctrl-C and a closed terminal end the node, and not the warden.
    line = (sys.executable, "-I", "-S", str(PROGRAM), verb, whom)
    return await asyncio.create_subprocess_exec(
        *line, stdin=stdin, stdout=stdout, start_new_session=True
    )
