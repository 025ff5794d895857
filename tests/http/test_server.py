"""The server around uvicorn: it looks at nothing while it waits, and ends when it is told to."""

import asyncio
import re
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from muster.http import server as http_server
from muster.http.server import HttpServer, listen, serve_until
from tests.builders import run
from tests.homes import MUSTER_SCRIPT, environment
from tests.waits import LIFE_SECONDS, WAIT_SECONDS, until


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


def test_a_full_file_table_is_one_line_and_the_server_goes_on(tmp_path: Path) -> None:
    """Issue 21, M1: each connection was a traceback, 62 MB of them in 45 seconds."""
    up = f"ulimit -n 100; exec {MUSTER_SCRIPT} up --home {tmp_path / 'home'} --port 0"
    with (
        (tmp_path / "errors").open("w+") as errors,
        subprocess.Popen(
            ["sh", "-c", up], env=environment({}), stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            found = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
            assert found is not None
            address = ("127.0.0.1", int(found[1]))
            with ExitStack() as many:
                for _ in range(300):
                    many.enter_context(socket.create_connection(address, WAIT_SECONDS))
                until(lambda: "Too many open files" in (tmp_path / "errors").read_text())
            until(lambda: httpx.get(f"http://127.0.0.1:{address[1]}/api/health").is_success)
        finally:
            process.terminate()
    told = (tmp_path / "errors").read_text()
    assert "Traceback" not in told
    assert told.count("cannot be accepted") == 1
