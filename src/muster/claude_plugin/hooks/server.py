"""The socket for the hooks of Claude Code: `hooks.sock` in the home, accessible to its owner only.

A hook connects, sends a header line of JSON and then its input, and reads the answer until the end:
a digit, which is its exit code, and a text. `plugin/client.py` is the other side.

The socket is bound under a temporary name and renamed when it listens, so a hook finds either a
listening server or none. The rename also replaces the stale socket of a server that was killed.

A confined program can make no Unix socket. Its hooks connect to a port of this machine instead, and
both sides prove first that they know its secret (`port.py`).
"""

import asyncio
import json
import logging
import os
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from muster.claude_plugin.hooks.answers import NOTHING, answer_safely, failed
from muster.claude_plugin.hooks.calls import (
    POLICY_EVENT,
    RECORD_EVENT,
    RECORD_SECONDS,
    HookAnswer,
    HookCall,
    HookResponder,
    now,
)
from muster.claude_plugin.hooks.ordering import HookOrder
from muster.claude_plugin.hooks.port import LOCALHOST, Handshake, is_nonce, published

FILE: Final = "hooks.sock"

INPUT_BYTES_MAX: Final = 32 * 1024 * 1024
"""The size limit of a hook's input: a whole file, escaped as JSON."""

HEADER_BYTES_MAX: Final = 64 * 1024
"""The size limit of the header: a path, a token and two numbers."""

REQUEST_SECONDS: Final = 10.0
"""Timeout of a hook's request; the hook has read its input before it connects."""

BACKLOG: Final = 1024
"""The listen backlog: many subagents can call tools at the same time."""

log = logging.getLogger(__name__)


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    """The header line before a hook's input."""

    event: str
    project: str
    length: int
    token: str = ""
    pid: int = 0


class _NotAnswered(Exception):
    """An invalid request, with the reason."""

    def __init__(self, why: str, event: str = POLICY_EVENT) -> None:
        super().__init__(why)
        self.event = event


@asynccontextmanager
async def serving(
    home: Path, desk: HookResponder, *, replies_early: bool = True
) -> AsyncGenerator[None]:
    """Answer the hooks of a home while this context is open.

    With `replies_early`, a hook that only records does not wait until its record is written.
    """
    hooks = _Hooks(desk, replies_early=replies_early)
    with _listening(home) as listener, socket.create_server((LOCALHOST, 0)) as port:
        try:
            async with (
                _answering(asyncio.start_unix_server, listener, hooks.handle),
                _answering(asyncio.start_server, port, hooks.handle_confined),
            ):
                with published(home, port.getsockname()[1], hooks.secret):
                    yield
        finally:
            await hooks.end()


@asynccontextmanager
async def _answering(
    start: Callable[..., Awaitable[asyncio.Server]],
    listener: socket.socket,
    handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncGenerator[None]:
    """Accept the connections of a listener."""
    server = await start(handle, sock=listener, limit=HEADER_BYTES_MAX, backlog=BACKLOG)
    try:
        yield
    finally:
        server.close()


def is_answered(home: Path) -> bool:
    """Whether a process listens for the hooks of a home."""
    with _folder(home) as folder, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(str(_place(folder, FILE)))
        except OSError:
            return False
        return True


# ── the file ──────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _listening(home: Path) -> Generator[socket.socket]:
    """A socket under its final path, removed at the end."""
    aside = f"{FILE}.new"
    with _folder(home) as folder, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        with suppress(FileNotFoundError):
            os.unlink(aside, dir_fd=folder)
        place = _place(folder, aside)
        listener.bind(str(place))
        place.chmod(0o600)  # it listens before it can be found
        listener.listen(BACKLOG)
        os.rename(aside, FILE, src_dir_fd=folder, dst_dir_fd=folder)
        ours = os.stat(FILE, dir_fd=folder).st_ino
        yield listener
        with suppress(FileNotFoundError):
            if os.stat(FILE, dir_fd=folder).st_ino == ours:
                os.unlink(FILE, dir_fd=folder)


@contextmanager
def _folder(home: Path) -> Generator[int]:
    folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield folder
    finally:
        os.close(folder)


def _place(folder: int, name: str) -> Path:
    """A short path of a file in an open folder: a home's own can be too long for a socket."""
    return Path(f"/proc/self/fd/{folder}/{name}")


# ── one request ───────────────────────────────────────────────────────────────────────────────────


class _Hooks:
    """The connections that are being answered."""

    def __init__(self, desk: HookResponder, *, replies_early: bool) -> None:
        self._desk = desk
        self._early_events = {RECORD_EVENT} if replies_early else set[str]()
        self._order = HookOrder()
        self._asking: set[asyncio.Task[None]] = set()
        self._recording: dict[asyncio.Task[None], Path] = {}
        """Connections that were answered already, with their projects."""

        self._is_ending = False
        self.secret = os.urandom(16).hex()
        """The data that a hook needs to connect to the port."""

    async def handle_confined(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer one connection to the port."""
        await self.handle(reader, writer, self.secret)

    async def handle(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: str = ""
    ) -> None:
        """Answer one connection, which must know the secret if there is one."""
        task = asyncio.current_task()
        assert task is not None
        self._asking.add(task)
        try:
            call = await _request(reader, writer, secret)
            if secret and isinstance(call, HookCall) and not call.token:
                # The port is for programs of agents, which all have a token; a hook without one
                # would count as a person's.
                call = failed(call.event, "a hook on this port needs the token of its session")
            if isinstance(call, HookCall) and call.event in self._early_events:
                self._recording[task] = call.project
                await _reply(
                    writer, NOTHING
                )  # its answer is always empty, and later hooks wait for its record
                await answer_safely(self._desk, call)
            else:
                await _reply(writer, await self._answered(call))
        except asyncio.CancelledError:
            # asyncio of Python 3.11 prints a traceback for each handler that ends cancelled.
            if not self._is_ending:
                raise
        finally:
            self._asking.discard(task)
            self._recording.pop(task, None)
            writer.close()

    async def _answered(self, call: HookCall | HookAnswer) -> HookAnswer:
        if isinstance(call, HookAnswer):
            return call
        async with self._order.turn(call):
            if call.event != POLICY_EVENT:
                before = [each for each, of in self._recording.items() if of == call.project]
                if before:
                    await asyncio.wait(before)
            return await answer_safely(self._desk, call)

    async def end(self) -> None:
        """Finish the records of answered hooks, then end the open connections."""
        self._is_ending = True
        for task in self._asking - set(self._recording):
            task.cancel()
        if self._recording:
            await asyncio.wait(list(self._recording), timeout=RECORD_SECONDS)
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)
        await self._desk.finish()


async def _reply(writer: asyncio.StreamWriter, answer: HookAnswer) -> None:
    with suppress(OSError):  # the hook has disconnected: Claude Code treats that as a failed hook
        writer.write(f"{answer.code}{answer.text}".encode("utf-8", "backslashreplace"))
        await writer.drain()
        writer.close()
        await writer.wait_closed()


async def _request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: str
) -> HookCall | HookAnswer:
    """Read a hook's request; for an invalid one, return its answer instead."""
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            if secret:
                await _shake_hands(reader, writer, secret)
            return await _call(reader)
    except _NotAnswered as wrong:
        log.warning("%s: %s", wrong.event, wrong, extra={"action": "hook_refused"})
        return failed(wrong.event, str(wrong))
    except TimeoutError:
        return failed(POLICY_EVENT, "timeout while reading the hook's request")


async def _shake_hands(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: str
) -> None:
    """Prove to a hook that this is its server, and have it prove that it is a hook."""
    nonce = await _line(reader)
    if not is_nonce(nonce):
        raise _NotAnswered(
            "the hook is of another version of muster: `muster claude-plugin install` renews it"
        )
    handshake = Handshake(secret, nonce.rstrip())
    writer.write(handshake.offer)
    if not handshake.accepts(await _line(reader)):
        raise _NotAnswered("the hook does not know the secret of this port")


async def _call(reader: asyncio.StreamReader) -> HookCall:
    began = now()
    header = _header(await _line(reader))
    if not 0 <= header.length <= INPUT_BYTES_MAX:
        why = (
            f"the hook's input has {header.length} bytes, more than the limit of {INPUT_BYTES_MAX}"
        )
        raise _NotAnswered(why, header.event)
    try:
        data = await reader.readexactly(header.length)
    except asyncio.IncompleteReadError:
        raise _NotAnswered("the hook's input is shorter than announced", header.event) from None
    return HookCall(
        event=header.event,
        project=Path(header.project),
        token=header.token,
        pid=header.pid,
        began=began,
        data=data,
    )


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        raise _NotAnswered("the header of the hook's request is invalid") from None


def _header(line: bytes) -> _Header:
    try:
        # not msgspec's decoder: a path that is not UTF-8 contains lone surrogates
        return msgspec.convert(json.loads(line), _Header)
    except (ValueError, RecursionError, msgspec.ValidationError):
        raise _NotAnswered("the header of the hook's request is invalid") from None
