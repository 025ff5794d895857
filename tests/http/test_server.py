"""The server around uvicorn: it looks at nothing while it waits, and ends when it is told to."""

import asyncio

import pytest
from starlette.types import Receive, Scope, Send

from muster.http import server as http_server
from muster.http.server import HttpServer, listen, serve_until
from tests.builders import run
from tests.waits import LIFE_SECONDS, WAIT_SECONDS


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """An app without answers."""


def test_a_server_ends_when_it_is_told_to_and_not_at_its_next_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Issue 15: it looked ten times a second whether it should, which an idle team paid for."""
    monkeypatch.setattr(http_server, "DATE_SECONDS", LIFE_SECONDS)

    async def scene() -> None:
        stop = asyncio.Event()
        with listen("127.0.0.1", 0) as listener:
            server = HttpServer(_nothing, stop.set)  # told as soon as it is up
            async with asyncio.timeout(WAIT_SECONDS):
                await serve_until(stop, server, listener)

    run(scene())
