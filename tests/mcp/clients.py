"""The official client of MCP, at a server over HTTP or at `muster mcp` over stdio."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from tests.homes import MUSTER_SCRIPT, environment
from tests.live import NO_TLS, Server
from tests.waits import WAIT_SECONDS

Json = Any  # any JSON value

REVISIONS = ("legacy", "2026-07-28")
"""The two ways in which current clients speak: with a handshake first, and without."""


@asynccontextmanager
async def over_http(server: Server, token: str, mode: str = REVISIONS[1]) -> AsyncGenerator[Client]:
    """A client with a token."""
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=WAIT_SECONDS, verify=NO_TLS) as http:
        transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=WAIT_SECONDS) as client:
            yield client


@asynccontextmanager
async def over_stdio(
    home: Path, token: str | None = None, mode: str = REVISIONS[0]
) -> AsyncGenerator[Client]:
    """A client of a real process, which acts with a token or as the operator."""
    given = {} if token is None else {"MUSTER_TOKEN": token}
    async with over_stdio_of(MUSTER_SCRIPT, ["mcp", "--home", str(home)], mode, **given) as client:
        yield client


@asynccontextmanager
async def over_stdio_of(
    program: str, arguments: list[str], mode: str = REVISIONS[0], **given: str
) -> AsyncGenerator[Client]:
    """A client of the process that an entry in the settings of a program starts."""
    command = StdioServerParameters(command=program, args=arguments, env=environment(given))
    async with Client(
        stdio_client(command), mode=mode, read_timeout_seconds=WAIT_SECONDS
    ) as client:
        yield client


async def called(client: Client, name: str, /, **given: Json) -> Json:
    """The structured answer of a tool, which must succeed."""
    result = await client.call_tool(name, given)
    assert not result.is_error, texts(result)
    return result.structured_content


async def refused(client: Client, name: str, /, **given: Json) -> Json:
    """The problem document of a tool that must fail; its sentence comes first."""
    result = await client.call_tool(name, given)
    assert result.is_error
    sentence, document = texts(result)
    problem = httpx2.Response(200, content=document).json()
    assert problem["detail"] == sentence
    return problem


def texts(result: CallToolResult) -> list[str]:
    return [each.text for each in result.content if isinstance(each, TextContent)]


async def names(client: Client) -> list[str]:
    """The names of all tools that the caller is told of."""
    return [each.name for each in (await client.list_tools()).tools]
