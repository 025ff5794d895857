"""`muster mcp`: the team's tools for any program that speaks MCP, over stdin and stdout."""

import asyncio
import difflib
import os
import sys
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final
from urllib.parse import quote

import click

from muster.cli.acting import server
from muster.cli.options import Function, home_option
from muster.cli.render import clean
from muster.cli.setup.mcp_programs import PROGRAMS, START, Entry, McpProgram, edited
from muster.cli.setup.program_settings import read_text, write_text
from muster.client import requests
from muster.errors import MissingExtra, Unavailable
from muster.machines.vocabulary import Role
from muster.regular_files import read_regular

TOKENS: Final = "mcp-tokens"
"""The folder in the home with the tokens of agents whose programs were set up."""

PRIVATE: Final = 0o600


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


# ── the settings of other programs ────────────────────────────────────────────────────────────────


def _entry_options(function: Function) -> Function:
    for option in (
        click.argument("program", type=click.Choice(list(PROGRAMS))),
        click.option("--yes", "-y", is_flag=True, help="Do not ask before the file is changed."),
        click.option("--name", default="muster", metavar="N", help="The entry's name [muster]."),
        click.option("--agent", metavar="A", help="Act as this agent [the operator]."),
        click.option("--project", is_flag=True, help="In this folder's project only."),
        home_option,
    ):
        function = option(function)
    return function


@mcp.command()
@_entry_options
def install(
    home: Path, project: bool, agent: str | None, name: str, yes: bool, program: str
) -> None:
    """Add muster to the settings of PROGRAM, so that it has the team's tools.

    The change is shown first. With --agent the program is that agent: a token is issued for it,
    and kept in the home.
    """
    where, file = PROGRAMS[program], _file(PROGRAMS[program], project)
    arguments = [*START, "--home", str(home)]
    if agent is not None:
        arguments += ["--token-file", str(_token_file(home, program, agent, file))]
    before = read_text(file)
    after = edited(where, file, before, name, Entry(sys.executable, arguments))
    if not _agreed(file, before or "", after.text, yes=yes):
        return
    if agent is not None:
        _issue(home, program, agent, file)
    write_text(file, after.text)
    click.echo(f"{where.title} has the team's tools from its next start on.")


@mcp.command()
@_entry_options
def remove(
    home: Path, project: bool, agent: str | None, name: str, yes: bool, program: str
) -> None:
    """Remove muster from the settings of PROGRAM again.

    With --agent the token that was issued for it is revoked, too.
    """
    where, file = PROGRAMS[program], _file(PROGRAMS[program], project)
    before = read_text(file)
    after = edited(where, file, before, name, None)
    if agent is not None:
        _revoke(home, program, agent, file)
    if not after.had_entry:
        click.echo("It was not installed.")
    elif _agreed(file, before or "", after.text, yes=yes):
        write_text(file, after.text)
        click.echo("Removed.")


def _file(program: McpProgram, project: bool) -> Path:
    return Path(program.project).absolute() if project else program.user()


def _agreed(file: Path, before: str, after: str, *, yes: bool) -> bool:
    """Show a change, and ask whether to make it."""
    if before == after:
        click.echo(f"{clean(str(file))} is as it should be.")
        return True
    old, new = before.splitlines(), after.splitlines()
    for line in difflib.unified_diff(old, new, str(file), str(file), lineterm="", n=2):
        click.echo(clean(line))
    return yes or click.confirm("Change this file?")


# ── an agent's token ──────────────────────────────────────────────────────────────────────────────


def _token_file(home: Path, program: str, agent: str, settings: Path) -> Path:
    """The file of a token: one for each settings file, which is removed with its entry."""
    return home / TOKENS / f"{program}-{quote(agent, safe='')}-{_digest(settings)}"


def _digest(settings: Path) -> str:
    return blake2b(os.fsencode(settings), digest_size=6).hexdigest()


def _note(program: str, settings: Path) -> str:
    return f"muster mcp install {program} ({_digest(settings)})"


def _issue(home: Path, program: str, agent: str, settings: Path) -> None:
    """Issue a token for an agent, in place of the one before."""
    _revoke(home, program, agent, settings)
    with server(home) as client:
        issued = client.ask(requests.issue_token(Role.AGENT, agent, _note(program, settings)))
    file = _token_file(home, program, agent, settings)
    file.parent.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(f"{issued.secret}\n")


def _revoke(home: Path, program: str, agent: str, settings: Path) -> None:
    """Revoke the tokens that were issued for an agent's program, by the settings file it is in."""
    try:
        with server(home) as client:
            for each in client.ask(requests.tokens()).tokens:
                if (each.agent, each.note) == (agent, _note(program, settings)):
                    client.ask(requests.revoke_token(each.id))
    except Unavailable:
        click.echo("muster does not run: the agent's token stays valid.", err=True)
    with suppress(FileNotFoundError):
        _token_file(home, program, agent, settings).unlink()
