"""Programs that speak MCP: where each keeps its servers, and how an entry is spelled there."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from muster.cli.setup.program_settings import Json, parse_json, table_in, unexpected
from muster.errors import Invalid

START: Final = ("-m", "muster", "mcp")
"""The arguments by which an entry of muster is known."""


class Entry(NamedTuple):
    """The program that a client of MCP starts."""

    command: str
    arguments: Sequence[str]


class McpProgram(NamedTuple):
    """A program: its settings for the user and for a project, and its spelling of an entry."""

    title: str
    user: Callable[[], Path]
    project: str
    """The file in a project, relative to its folder."""

    table: str
    """The table of servers."""

    spell: Callable[[Entry], Json]
    is_toml: bool = False


def _home_file(*parts: str, variable: str = "", under: str = "") -> Callable[[], Path]:
    """A file in the user's home; the folder `under` it is moved by a variable."""

    def found() -> Path:
        told = os.environ.get(variable) if variable else None
        return Path(told or Path.home() / under).absolute().joinpath(*parts)

    return found


def _plain(entry: Entry) -> Json:
    return {"command": entry.command, "args": list(entry.arguments)}


def _typed(entry: Entry) -> Json:
    return {"type": "stdio", **_plain(entry)}


def _local(entry: Entry) -> Json:
    return {"type": "local", "command": [entry.command, *entry.arguments], "enabled": True}


PROGRAMS: Final = {
    "claude": McpProgram(
        "Claude Code",
        _home_file(".claude.json", variable="CLAUDE_CONFIG_DIR"),
        ".mcp.json",
        "mcpServers",
        _typed,
    ),
    "codex": McpProgram(
        "Codex",
        _home_file("config.toml", variable="CODEX_HOME", under=".codex"),
        ".codex/config.toml",
        "mcp_servers",
        _plain,
        is_toml=True,
    ),
    "gemini": McpProgram(
        "Gemini CLI",
        _home_file("settings.json", under=".gemini"),
        ".gemini/settings.json",
        "mcpServers",
        _plain,
    ),
    "opencode": McpProgram(
        "opencode",
        _home_file("opencode", "opencode.json", variable="XDG_CONFIG_HOME", under=".config"),
        "opencode.json",
        "mcp",
        _local,
    ),
    "cursor": McpProgram(
        "Cursor", _home_file("mcp.json", under=".cursor"), ".cursor/mcp.json", "mcpServers", _plain
    ),
    "vscode": McpProgram(
        "VS Code",
        _home_file("Code", "User", "mcp.json", variable="XDG_CONFIG_HOME", under=".config"),
        ".vscode/mcp.json",
        "servers",
        _typed,
    ),
}


class ChangedSettings(NamedTuple):
    """The text of a settings file after a change; the same text where nothing changes."""

    text: str
    had_entry: bool


def edited(
    program: McpProgram, file: Path, text: str | None, name: str, entry: Entry | None
) -> ChangedSettings:
    """The settings with an entry, or without it. An entry that is not muster's is refused."""
    if program.is_toml:
        return _edited_toml(program, file, text or "", name, entry)
    settings = parse_json(file, text, _by_hand(program, name, entry))
    servers = table_in(file, settings, program.table)
    had = _is_there(file, servers, name)
    if entry is None and not had:
        return ChangedSettings(text or "", had_entry=False)
    if entry is None:
        del servers[name]
    else:
        servers[name] = program.spell(entry)
    if not servers:
        del settings[program.table]
    shown = json.dumps(settings, indent=2, ensure_ascii=False)
    return ChangedSettings(f"{shown}\n", had)


def _by_hand(program: McpProgram, name: str, entry: Entry | None) -> str:
    """The remedy for a file that may have comments: programs allow them, and they would be lost."""
    change = f"remove {name!r} from {program.table!r}"
    if entry is not None:
        change = f"add to {program.table!r}: {json.dumps({name: program.spell(entry)})[1:-1]}"
    return f"Nothing was changed; correct the file, or, if it has comments, edit it: {change}"


def _edited_toml(
    program: McpProgram, file: Path, text: str, name: str, entry: Entry | None
) -> ChangedSettings:
    import tomlkit  # one program of six needs it
    from tomlkit.exceptions import TOMLKitError

    try:
        settings = tomlkit.parse(text)
    except TOMLKitError as wrong:
        raise unexpected(file, f"is not TOML: {wrong}") from None
    if program.table not in settings:
        settings[program.table] = tomlkit.table(is_super_table=True)
    servers = table_in(file, settings, program.table)
    had = _is_there(file, servers, name)
    if entry is None and not had:
        return ChangedSettings(text, had_entry=False)
    spelled = None if entry is None else program.spell(entry)
    if spelled is not None and servers.get(name) == spelled:
        return ChangedSettings(text, had)  # to write it anew would move its blank lines
    servers.pop(name, None)
    if spelled is not None:
        servers[name] = spelled
    if not servers:
        del settings[program.table]
    return ChangedSettings(tomlkit.dumps(settings), had)


def _is_there(file: Path, servers: dict[str, Json], name: str) -> bool:
    """Whether muster has an entry of this name; one of another program is refused."""
    found = servers.get(name)
    if found is not None and not _is_ours(found):
        why = f"has another server named {name!r}; choose another name with --name"
        raise Invalid(what=f"{file}", why=why)
    return found is not None


def _is_ours(found: Json) -> bool:
    """Whether an entry starts `muster mcp`."""
    try:
        entry = msgspec.convert(found, _FoundEntry)
    except msgspec.ValidationError:
        return False
    command = [entry.command] if isinstance(entry.command, str) else entry.command
    return all(each in (*command, *entry.args) for each in START)


class _FoundEntry(msgspec.Struct, frozen=True):
    """The command of an entry in any spelling."""

    command: str | list[str]
    args: list[str] = []
