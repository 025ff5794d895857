"""The MCP server that an agent is offered: muster's tools, with the session's token."""

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Final, NamedTuple

from acp.schema import EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio

NAME: Final = "muster"


class McpAddress(NamedTuple):
    """Where muster serves its tools, and with which token."""

    url: str
    token: str


def address_in(environment: Mapping[str, str]) -> McpAddress | None:
    """The address in a session's environment; None without a server, or without its extra."""
    url, token = environment.get("MUSTER_URL"), environment.get("MUSTER_TOKEN")
    if not url or not token or find_spec("mcp") is None:
        return None
    return McpAddress(url.rstrip("/"), token)


def servers(
    address: McpAddress | None, *, has_http: bool
) -> Sequence[HttpMcpServer | McpServerStdio]:
    """The servers to offer: over HTTP where the agent can do that, or else a program."""
    if address is None:
        return ()
    if has_http:
        header = HttpHeader(name="Authorization", value=f"Bearer {address.token}")
        url = f"{address.url}/mcp"
        return [HttpMcpServer(type="http", name=NAME, url=url, headers=[header])]
    variables = [
        EnvVariable(name="MUSTER_URL", value=address.url),
        EnvVariable(name="MUSTER_TOKEN", value=address.token),
    ]
    arguments = ["-m", "muster", "mcp"]
    return [McpServerStdio(name=NAME, command=sys.executable, args=arguments, env=variables)]
