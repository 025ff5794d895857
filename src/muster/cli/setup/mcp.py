"""`muster mcp`: the team's tools for any program that speaks MCP, over stdin and stdout."""

import asyncio
from pathlib import Path

import click

from muster.cli.options import home_option
from muster.errors import MissingExtra
from muster.regular_files import read_regular


@click.group(invoke_without_command=True)
@home_option
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="F",
    help="A file with the token to act with [MUSTER_TOKEN, or else the operator's].",
)
@click.pass_context
def mcp(ctx: click.Context, home: Path, token_file: Path | None) -> None:
    """Serve the team's tools over MCP, on standard input and output.

    A program that speaks MCP starts this and asks it for tools: Claude Code, Codex, Gemini CLI,
    opencode, an editor. It acts with the token in MUSTER_TOKEN, or else as the operator of the team
    that runs in the home. While an agent works on a turn, heartbeats are sent for it. A running
    server also answers MCP over HTTP, at /mcp.
    """
    if ctx.invoked_subcommand is None:
        token = None if token_file is None else read_regular(token_file).decode().strip()
        asyncio.run(_serve(home, token))


async def _serve(home: Path, token: str | None) -> None:
    try:
        from muster.mcp.stdio import serve  # imports the SDK
    except ModuleNotFoundError as missing:
        raise MissingExtra(what="MCP", extra="mcp") from missing
    await serve(home, token)
