"""The settings of an agent, as options of `muster agent add` and `edit` give them."""

import asyncio
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import click

from muster.engine.programs import DetectedProgram
from muster.errors import Invalid
from muster.machines.ids import name_key
from muster.settings.agents import AGENT_RULES, AGENTS, is_text

_QUOTES: Final = ("'", '"')

AddOptions = str | float | int | bool | tuple[str, ...] | None
"""The value of an option of `muster agent add`."""

_OPTIONS: Final[Mapping[str, str]] = {
    "runtime": "runtime",
    "cwd": "cwd",
    "confine": "confine",
    "workspace": "workspace",
    "description": "description",
    "seat": "seat",
    "color": "color",
    "prompt": "prompt",
    "long_lived": "long_lived",
    "env_file": "env_file",
    "stop_signal": "stop_signal",
    "memory_mb": "memory_mb",
    "cpu_percent": "cpu_percent",
    "processes": "processes",
    "nice": "nice",
    "model": "claude.model",
    "permission_mode": "claude.permission_mode",
    "allow_tool": "claude.allowed_tools",
    "budget_usd": "budget.cost_usd",
    "sessions_per_hour": "budget.sessions_per_hour",
    "session_seconds": "budget.session_seconds",
}
"""The options, and the settings that they give."""


def add_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add an option for every common setting."""
    for option in reversed(
        (
            click.option(
                "--runtime",
                metavar="R",
                help="command, claude, codex, acp, python or file [command].",
            ),
            click.option("--cwd", metavar="DIR", help="Working directory."),
            click.option(
                "--confine", metavar="C", help="Where it may write: outputs, worktree or none."
            ),
            click.option("--workspace", metavar="W", help="Where it works: shared or worktree."),
            click.option("--model", metavar="M", help="Model of Claude Code."),
            click.option("--permission-mode", metavar="M", help="Claude Code's permission mode."),
            click.option(
                "--allow-tool", multiple=True, metavar="T", help="Tool that needs no approval."
            ),
            click.option("--budget-usd", type=float, metavar="N", help="Cost limit in dollars."),
            click.option("--sessions-per-hour", type=int, metavar="N", help="Session limit."),
            click.option("--session-seconds", type=float, metavar="N", help="Session timeout."),
            click.option(
                "--prompt",
                metavar="P",
                help="How the prompt is passed: stdin, lines, file or none.",
            ),
            click.option("--long-lived", is_flag=True, help="The program waits for work."),
            click.option("--env", multiple=True, metavar="K=V", help="Environment variable."),
            click.option("--env-file", metavar="FILE", help="File of NAME=VALUE lines."),
            click.option("--stop-signal", metavar="S", help="First signal of a stop [SIGINT]."),
            click.option("--memory-mb", type=int, metavar="N", help="Memory limit in MiB."),
            click.option("--cpu-percent", type=int, metavar="N", help="CPU limit; 100 is a core."),
            click.option("--processes", type=int, metavar="N", help="Limit of processes."),
            click.option("--nice", type=int, metavar="N", help="Niceness, up to 19."),
            click.option("--description", metavar="TEXT", help="What the agent is for."),
            click.option("--color", metavar="C", help="Colour in the dashboard."),
            click.option("--seat", type=int, metavar="N", help="Place in the grid, 0 to 8."),
        )
    ):
        function = option(function)
    return function


def set_option(function: Callable[..., None]) -> Callable[..., None]:
    """Add `--set KEY=VALUE`."""
    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Any setting of an agent, such as budget.tokens=1000; may be repeated.",
    )(function)


def values_of(settings: Sequence[str]) -> dict[str, object]:
    """The settings that `--set` gives."""
    values: dict[str, object] = {}
    for each in settings:
        key, sign, text = each.partition("=")
        if not sign or not key.strip():
            raise Invalid(what=f"--set {each}", why="must be KEY=VALUE")
        values[key.strip()] = value_of(key.strip(), text)
    return values


def value_of(key: str, text: str) -> object:
    """A value as it is typed: a text as it is, everything else as in TOML."""
    if text[:1] in _QUOTES and text.count(text[0]) % 2:
        raise Invalid(what=f"the value of {key}", why=f"has a quote ({text[0]}) that is not closed")
    if is_text(key):
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # the check of the settings says what is expected


def chosen_values(
    home: Path, name: str, command: Sequence[str], options: Mapping[str, AddOptions]
) -> dict[str, object]:
    """The settings that options and the program after `--` give."""
    values: dict[str, object] = {}
    for option, key in _OPTIONS.items():
        given = options.get(option)
        if given not in (None, False, ()):
            values[key] = list(given) if isinstance(given, tuple) else given
    for each in _listed(options.get("env")):
        variable, _, content = each.partition("=")
        values[f"env.{variable}"] = content
    if command:
        values = {"command": list(command), **values}
    if "runtime" not in values and not command:
        program = _choose(home, name)
        values = {**_run_by(program), **values}
    return values


def _listed(given: AddOptions) -> tuple[str, ...]:
    return given if isinstance(given, tuple) else ()


def _run_by(program: DetectedProgram) -> dict[str, object]:
    if program.command:
        return {"command": list(program.command)}
    if program.preset:
        return {"runtime": program.runtime, "acp.preset": program.preset}
    return {"runtime": program.runtime}


def _choose(home: Path, name: str) -> DetectedProgram:
    """Ask which of the installed programs to run; without a terminal, say what there is."""
    from muster.runtimes.programs import detect_programs  # only a choice needs it

    found = asyncio.run(detect_programs(home.absolute().parent))
    here = [each for each in found if each.program]
    for number, each in enumerate(here, start=1):
        click.echo(f"{number}  {each.label}  {each.version or each.program}", err=True)
    for each in found:
        if not each.program:
            click.echo(f"-  {each.label} is not installed. {each.remedy}", err=True)
    example = f"`muster agent add {name} -- PROGRAM ARGUMENT` runs any program"
    if not here or not sys.stdin.isatty():
        raise Invalid(what=f"the agent {name!r}", why=f"has no program. {example}")
    click.echo(f"{example}.", err=True)
    number = click.prompt("Which one", type=click.IntRange(1, len(here)), err=True)
    return here[number - 1]


def edited_values(before: str, after: str, name: str) -> tuple[dict[str, object], Sequence[str]]:
    """The settings that an edit of an agent's table sets, and those that it removes."""
    old, new = _flat(before, name), _flat(after, name)
    changed = {key: value for key, value in new.items() if key not in old or old[key] != value}
    return changed, tuple(key for key in old if key not in new)


def _flat(text: str, name: str) -> dict[str, object]:
    """The settings in an agent's table, by their keys."""
    try:
        found = tomllib.loads(text).get(AGENTS)
    except tomllib.TOMLDecodeError as wrong:
        why = f"is no TOML: {wrong}. Nothing was written"
        raise Invalid(what="the edited text", why=why) from wrong
    # any TOML; the settings check it
    tables = cast("dict[str, dict[str, Any]]", found if isinstance(found, dict) else {})
    if [name_key(each) for each in tables] != [name_key(name)]:
        why = f"must be the table [agents.{name}], and no other. Nothing was written"
        raise Invalid(what="the edited text", why=why)
    [table] = tables.values()
    flat: dict[str, object] = {}
    for key, value in table.items():
        if isinstance(value, dict) and key not in AGENT_RULES:
            parts = cast("dict[str, object]", value)
            flat.update({f"{key}.{each}": content for each, content in parts.items()})
        else:
            flat[key] = value
    return flat
