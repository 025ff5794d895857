"""A proxy in front of a PostgreSQL, which loses what passes through it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

SOCKET: Final = ".s.PGSQL.5432"

_STARTING: Final = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"
STARTING: Final = b"E" + (len(_STARTING) + 4).to_bytes(4, "big") + _STARTING
"""The answer of a server that takes no connections yet, as PostgreSQL sends it."""


class Proxy:
    """Passes bytes between clients and a server, until it is told not to."""

    def __init__(self, server: Path) -> None:
        self.loses_questions = False
        self.loses_answers = False
        self.starting = 0
        """How many more clients hear that the server still starts."""

        self.lost = asyncio.Event()
        """Set when something was lost."""

        self._server = server
        self._writers: list[asyncio.StreamWriter] = []

    @classmethod
    @asynccontextmanager
    async def opened(cls, folder: Path, server: Path) -> AsyncGenerator["Proxy"]:
        """Listen in a folder, as the server does in its own."""
        proxy = cls(server / SOCKET)
        listening = await asyncio.start_unix_server(proxy._serve, folder / SOCKET)
        try:
            yield proxy
        finally:
            listening.close()
            proxy.cut()

    def cut(self) -> None:
        """Reset all connections."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def heal(self) -> None:
        """Pass everything on again, over new connections: what was lost stays lost."""
        self.loses_questions = self.loses_answers = False
        self.cut()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.starting:
            self.starting -= 1
            await reader.read(65536)
            writer.write(STARTING)
            writer.close()
            return
        try:
            answers, questions = await asyncio.open_unix_connection(self._server)
        except ConnectionError:  # the server is down
            writer.transport.abort()
            return
        self._writers += [writer, questions]
        with suppress(ConnectionError, asyncio.CancelledError):  # the loop may end first
            await asyncio.gather(
                self._pass(reader, questions, is_answer=False),
                self._pass(answers, writer, is_answer=True),
            )

    async def _pass(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        try:
            while data := await source.read(65536):
                if self._loses(is_answer=is_answer):
                    self.lost.set()
                    continue
                target.write(data)
                await target.drain()
        finally:
            if not self._loses(is_answer=is_answer):  # the end of a connection gets lost, too
                target.close()

    def _loses(self, *, is_answer: bool) -> bool:
        return self.loses_answers if is_answer else self.loses_questions
