"""`muster init`: a starter `muster.toml`, written from the settings so that it cannot drift."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from muster.cli.options import home_option
from muster.errors import SettingsExist
from muster.settings.model import SETTINGS, SETTINGS_FILE, Setting

EXAMPLE: Final = """\
An agent that muster runs has a table of its own, named after it. `command` is all that it needs;
docs/reference/settings.md has the rest. `muster start helper` then lets it run.

[agents.helper]
command = ["sh", "-c", "cat; echo done"]
cwd = "."
prompt = "stdin"
budget = { sessions_per_hour = 60, session_seconds = 600, failures = 5 }
"""
"""The end of the starter file, as a comment."""


@click.command()
@home_option
def init(home: Path) -> None:
    """Write a starter settings file with every default in it.

    The file is muster.toml in the team's home. Every setting is in it as a comment; remove
    the '#' of those you change. An existing file is left alone.
    """
    path = home / SETTINGS_FILE
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(starter())
    except FileExistsError:
        raise SettingsExist(path=path) from None
    click.echo(f"Wrote {path}. `muster up` starts the team.")


def starter() -> str:
    """The starter file: every setting, commented out, with its default."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Settings of this team. Commented lines are defaults; remove the '#' to change one."
    yield "# A variable such as MUSTER_SERVER_PORT overrides this file."
    table = ""
    for setting in SETTINGS.values():
        here, _, name = setting.key.partition(".")
        if here != table:
            table = here
            yield ""
            yield f"[{table}]"
        yield f"# {setting.rule.about} Give {setting.expected}."
        yield f"# {name} = {_as_toml(setting)}"
    yield ""
    yield from (f"# {line}".rstrip() for line in EXAMPLE.splitlines())


def _as_toml(setting: Setting) -> str:
    if isinstance(setting.default, bool):
        return str(setting.default).lower()
    if isinstance(setting.default, str):
        return f'"{setting.default}"'
    if isinstance(setting.default, tuple):
        return "[]"
    return str(setting.default)
