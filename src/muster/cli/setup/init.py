"""`muster init`: a starter `muster.toml`, written from the settings so that it cannot drift; or the
settings of a template.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from muster.cli.options import home_option
from muster.cli.render import clean
from muster.cli.setup.from_template import ask, print_templates, read, show
from muster.errors import SettingsExist
from muster.home.folder import make_home
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
@click.option(
    "--from",
    "source",
    metavar="TEMPLATE",
    help="Write the team of a template: the name of one that comes with muster, or a file.",
)
@click.option("--list-templates", is_flag=True, help="List the templates that come with muster.")
@click.option(
    "--runtime",
    type=click.Choice(["claude", "script"]),
    help="What agents of a template run on, where it has both [claude, if it is installed].",
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask before a template is written.")
@click.option("--dry-run", is_flag=True, help="Show the file, and write nothing.")
def init(
    home: Path,
    source: str | None,
    list_templates: bool,
    runtime: str | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """Write a starter settings file, or a team from a template.

    The file is muster.toml in the team's home. Every setting is in it as a comment; remove
    the '#' of those you change. An existing file is left alone.

    A template is settings that somebody else wrote. It is checked as a whole, shown, and written
    only if you agree. Nothing in it runs before `muster up`.
    """
    if list_templates:
        print_templates()
        return
    path = home / SETTINGS_FILE
    if path.exists() and not dry_run:
        raise SettingsExist(path=path)
    template = None if source is None else read(source, runtime, home)
    if template is not None:
        show(template, whole=dry_run or not template.is_packaged)
    text = starter() if template is None else template.text
    if dry_run:
        if template is None:
            click.echo(text, nl=False)
        return
    if template is not None and not template.is_packaged and not yes:
        ask(path)
    _write(path, text)
    click.echo(f"Wrote {path}. `muster up` starts the team.")
    if template is not None and template.begin:
        click.echo(f"Then try: {clean(template.begin)}")


def _write(path: Path, text: str) -> None:
    make_home(path.parent)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise SettingsExist(path=path) from None


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
