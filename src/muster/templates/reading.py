"""Reads a template: finds it, checks it like any other foreign file, and makes settings of it.

A template comes from somebody else. It may hold agents and channels with their rules, and nothing
about the machine: no server, no person, no path outside the project. Nothing is written or run.
"""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, cast

import msgspec

from muster import limits
from muster.errors import BadSettings, BadSource, NotFound
from muster.settings.agents import AGENTS, CLAUDE, PATHS, AgentSettings
from muster.settings.channels import CHANNELS
from muster.settings.file import line_of, parsed, text_of
from muster.settings.model import Settings, read_settings

FORMAT: Final = 1
TEMPLATE: Final = "template"
ABOUT: Final = "about"
BEGIN: Final = "begin"

TABLES: Final = (AGENTS, CHANNELS, "turns", "summon", "delegation")
"""The settings that a template may hold."""

FOLDER: Final = Path(__file__).parent
SUFFIX: Final = ".toml"

RUNTIME_NAMES: Final = {CLAUDE: "Claude Code", "codex": "Codex", "acp": "an agent of ACP"}


class TeamTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A template that was checked, and the settings file that is made of it."""

    name: str
    about: str
    begin: str
    """The command to begin with; shown, never run."""

    settings: Settings
    text: str
    """The text of the settings file."""

    is_packaged: bool
    """Whether it comes with muster."""


# The content of a TOML file: tables and values of any type.
_Data = dict[str, Any]


def packaged() -> Mapping[str, Path]:
    """The templates that come with muster, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob(f"*{SUFFIX}"))}


def read_template(source: str, *, has_claude: bool) -> TeamTemplate:
    """Read a template by its name, or else from a file.

    An agent that has both Claude Code and a script keeps the one that this machine can run.
    """
    own = packaged().get(source)
    path = own or Path(source)
    text = text_of(path, bytes_max=limits.TEMPLATE_BYTES_MAX)
    if text is None:
        raise NotFound(kind="template", name=source)
    return _read(path, text, has_claude=has_claude, is_packaged=own is not None)


def check_template(path: Path, text: str) -> TeamTemplate:
    """Read the text of a template that is about to be written to a file."""
    if (size := len(text.encode())) > limits.TEMPLATE_BYTES_MAX:
        what = f"would have {size} bytes, and a template has at most {limits.TEMPLATE_BYTES_MAX}"
        raise BadSource(path=path, line=0, what=what, remedy="Shorten the longest souls.")
    return _read(path, text, has_claude=True, is_packaged=False)


def _read(path: Path, text: str, *, has_claude: bool, is_packaged: bool) -> TeamTemplate:
    document: _Data = parsed(path, text)
    about, begin = _heading(path, text, document.pop(TEMPLATE, None))
    _check_tables(path, text, document)
    chosen = _chosen(document, has_claude=has_claude)
    settings = read_settings(path, text, chosen, {})
    return TeamTemplate(
        name=path.stem,
        about=about,
        begin=begin,
        settings=settings,
        text=settings_text(text, chosen, has_claude=has_claude),
        is_packaged=is_packaged,
    )


def program_text(agent: AgentSettings) -> str:
    """The program of an agent of a template, in words: a person reads it before it runs."""
    return ", ".join((_program(agent), *_notable(agent)))


def _program(agent: AgentSettings) -> str:
    if agent.script:
        return "says the lines of its script, without a model"
    match agent.runtime:
        case "command":
            return f"runs {shlex.join(agent.command)}"
        case "python":
            return f"runs {agent.target} inside muster itself"
        case "file":
            return "follows its state file"
        case "claude" | "codex" | "acp":
            own = {"claude": agent.claude.program, "codex": agent.codex.program}
            program = own.get(agent.runtime) or shlex.join(agent.command)
            name = RUNTIME_NAMES[agent.runtime]
            return f"{name}, by the program {program}" if program else name


def _notable(agent: AgentSettings) -> Iterator[str]:
    """Settings by which a program may do or know more than usual."""
    if agent.isolate == "none":
        yield "not isolated from the team's home"
    if agent.pass_env:
        yield f"gets the secrets {', '.join(agent.pass_env)}"
    if agent.env:
        yield f"with the variables {', '.join(sorted(agent.env))}"
    if agent.runtime == "claude" and agent.claude.permission_mode != "default":
        yield f"permission mode {agent.claude.permission_mode}"


# ── checking ──────────────────────────────────────────────────────────────────────────────────────


def _heading(path: Path, text: str, found: object) -> tuple[str, str]:
    """The texts of the `[template]` table."""
    if not isinstance(found, dict):
        what, remedy = "has no [template] table", "A template begins with [template], format = 1."
        raise BadSource(path=path, line=0, what=what, remedy=remedy)
    heading = cast("dict[str, object]", found)
    if heading.get("format") != FORMAT or isinstance(heading["format"], bool):
        what = "is not of a format that this muster knows"
        raise _wrong(path, text, (TEMPLATE, "format"), what, f"Write format = {FORMAT}.")
    for key, value in heading.items():
        place = (TEMPLATE, key)
        if key not in ("format", ABOUT, BEGIN):
            raise _wrong(path, text, place, f"there is no setting template.{key}", "Remove it.")
        short = isinstance(value, str) and len(value) <= limits.TEMPLATE_ABOUT_CHARS_MAX
        if key != "format" and not short:
            remedy = f"Give a text of at most {limits.TEMPLATE_ABOUT_CHARS_MAX} characters."
            raise _wrong(path, text, place, f"template.{key} is no short text", remedy)
    return str(heading.get(ABOUT, "")), str(heading.get(BEGIN, ""))


def _check_tables(path: Path, text: str, document: _Data) -> None:
    """Refuse what a template may not say, before its values are looked at."""
    for table in document:
        if table not in TABLES:
            what = f"[{table}] is not for a template"
            remedy = f"Remove it; a template has {', '.join(TABLES)}."
            raise _wrong(path, text, (table,), what, remedy)
    bounds = {AGENTS: limits.TEMPLATE_AGENTS_MAX, CHANNELS: limits.TEMPLATE_CHANNELS_MAX}
    for table, most in bounds.items():
        found = document.get(table)
        if isinstance(found, dict) and len(cast("_Data", found)) > most:
            what = f"[{table}] has more than {most} entries"
            raise _wrong(path, text, (table,), what, "Remove some.")
    for place, value in _paths(document):
        if not is_inside(value):
            what = f"{'.'.join(place)} leads out of the project"
            remedy = "Write a path below the project's folder, without .. and ~."
            raise _wrong(path, text, place, what, remedy)


def _paths(document: _Data) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every setting of an agent that is a path, with its place."""
    for name, table in _tables(document):
        for key in PATHS:
            part, _, below = key.partition(".")
            found = table.get(part)
            if below:
                found = cast("_Data", found).get(below) if isinstance(found, dict) else None
            if isinstance(found, str):
                yield (AGENTS, name, *key.split(".")), found


def is_inside(path: str) -> bool:
    """Whether a path stays below the folder that it is seen from."""
    pure = PurePosixPath(path)
    return not pure.is_absolute() and ".." not in pure.parts and not path.startswith("~")


def _wrong(path: Path, text: str, place: tuple[str, ...], what: str, remedy: str) -> BadSettings:
    return BadSettings(path=path, line=line_of(text, place), what=what, remedy=remedy)


# ── the settings ──────────────────────────────────────────────────────────────────────────────────


# The values of TOML are of any type.
def _tables(document: Mapping[str, Any]) -> Iterator[tuple[str, _Data]]:
    agents = document.get(AGENTS)
    for name, table in cast("_Data", agents).items() if isinstance(agents, dict) else ():
        if isinstance(table, dict):
            yield name, cast("_Data", table)


# The values of TOML are of any type.
def _unused(table: Mapping[str, Any], *, has_claude: bool) -> tuple[str, ...]:
    """The settings of an agent with Claude Code and a script that are not for this machine."""
    if table.get("runtime") != CLAUDE or "script" not in table:
        return ()
    return ("script",) if has_claude else ("runtime", CLAUDE)


def _chosen(document: _Data, *, has_claude: bool) -> _Data:
    """The content, with one way to run each agent."""
    tables = {
        name: {k: v for k, v in table.items() if k not in _unused(table, has_claude=has_claude)}
        for name, table in _tables(document)
    }
    agents = document.get(AGENTS)
    every = {**cast("_Data", agents), **tables} if isinstance(agents, dict) else agents
    return {**document, AGENTS: every} if AGENTS in document else document


def settings_text(text: str, wanted: Mapping[str, Any], *, has_claude: bool) -> str:
    """The template's text as a settings file: with its comments, if that is the same content."""
    import tomllib

    import tomlkit  # slow, and only a template needs it
    from tomlkit.exceptions import TOMLKitError

    edited = ""
    try:
        document = tomlkit.parse(_without_heading(text))
        for _, table in _tables(document):
            for key in _unused(table, has_claude=has_claude):
                table.pop(key, None)
        edited = tomlkit.dumps(document)
        if tomllib.loads(edited) == wanted:
            return edited.lstrip("\n")
    except (TOMLKitError, tomllib.TOMLDecodeError):
        pass  # written in an unusual form: without its comments, then
    return tomlkit.dumps(wanted)


def _without_heading(text: str) -> str:
    """The text without the table `[template]`, as it is usually written."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if line.strip() == f"[{TEMPLATE}]":
            inside = True
        elif inside and not line.strip():
            inside = False
        elif not inside or line.startswith(("[", "#")):
            inside = False
            kept.append(line)
    return "".join(kept)
