"""Requests with retries: the part of a client that all of its methods send with."""

import os
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TypeVar

from msgspec.structs import replace

from muster.client import requests
from muster.client.requests import ApiRequest, new_key
from muster.client.retry import PATIENCE_SECONDS, RetryBudget
from muster.client.sync_or_async import sync_or_async
from muster.client.transport import ConnectionPool, Transport, locate
from muster.errors import MusterError, Unavailable

T = TypeVar("T")


class RequestSender:
    """A team's server, found by its address or its home; a server that is away is retried."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        home: Path | None = None,
        patience_s: float = PATIENCE_SECONDS,
    ) -> None:
        """Use the server at `url`, or the one that runs in the home. Nothing is sent yet."""
        self._given = (url, token, home)
        self._patience_s = patience_s
        self._answered = False
        self._transport = self._new_transport()
        self._pool: ConnectionPool | None = None
        self._pool_lock = Lock()
        self._present: set[str] = set()
        """Agents that this client has connected; they are disconnected with it."""

    @abstractmethod
    def _new_transport(self) -> Transport:
        """The way in which this client connects and waits."""

    async def _ask(
        self,
        request: ApiRequest[T] | Callable[[], ApiRequest[T]],
        *,
        patience_s: float | None = None,
    ) -> T:
        """Send a request. A server that has answered before is retried for a while.

        A function gives a request for each try, where a retry asks for something else.
        """
        budget = RetryBudget(self._patience_s if patience_s is None else patience_s)
        if not callable(request) and request.key is None and request.method != "GET":
            request = replace(request, key=new_key())
        while True:
            try:
                answer = await self._reach().ask(request() if callable(request) else request)
            except Unavailable as error:
                await self._retry_after(error, budget)
            else:
                self._answered = True
                return answer

    async def _retry_after(self, error: Unavailable, budget: RetryBudget) -> None:
        await self._forget()
        if not self._answered:
            raise error
        await self._transport.sleep(budget.pause_s(error))

    def _reach(self) -> ConnectionPool:
        with self._pool_lock:
            if self._pool is None:
                self._pool = ConnectionPool(locate(*self._given, os.environ), self._transport)
            return self._pool

    async def _forget(self) -> None:
        """Locate the server anew next time: after a restart it may have another address."""
        with self._pool_lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    @sync_or_async
    async def close(self) -> None:
        """Disconnect the agents that took turns, and close the connections."""
        while self._present:
            with suppress(MusterError):
                await self._ask(requests.disconnect(self._present.pop()), patience_s=0.0)
        await self._transport.close()
        await self._forget()
