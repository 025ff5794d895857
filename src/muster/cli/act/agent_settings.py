"""`muster agent add|edit|remove|rename`, `muster model` and `mode`: agents of the settings file,
without an editor.

With a server the edit goes through it, and holds at once. Without one the file alone is edited, and
the next start takes it up.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, NamedTuple

import click

from muster.cli.act.agent_values import (
    AddOptions,
    add_options,
    chosen_values,
    edited_values,
    set_option,
    values_of,
)
from muster.cli.acting import print_json, server
from muster.cli.following import followed_in
from muster.cli.options import home_option, json_option
from muster.cli.reading import running
from muster.cli.render import clean
from muster.client import settings as requests
from muster.client.requests import ApiRequest
from muster.errors import Invalid, MusterError
from muster.reloading.editing import Edit, preview_edit, version_of, write_edit
from muster.settings import writing
from muster.settings.model import SETTINGS_FILE
from muster.views.answers.settings import ProgramChoice, SettingsEdited

_LATER: Final = "muster is not running; the next `muster up` takes it up"


def dry_run_option(function: Callable[..., None]) -> Callable[..., None]:
    """Add `--dry-run` to a verb that edits the settings."""
    return click.option(
        "--dry-run", is_flag=True, help="Print the edit as a diff, and write nothing."
    )(function)


class _Act(NamedTuple):
    """An edit of the settings file: as a request to the server, or as a change of the text."""

    name: str
    ask: Callable[..., ApiRequest[SettingsEdited]]
    """Takes `preview`."""

    edit: Edit
    version: str | None = None
    """The version of the file that the edit was made for; None for the present one."""


def _carry_out(home: Path, act: _Act, *, dry_run: bool) -> SettingsEdited:
    if running(home) is not None:
        with server(home) as client:
            return client.ask(act.ask(preview=dry_run))
    _refuse_unfollowed(home, act)
    write = preview_edit if dry_run else write_edit
    edited = write(home / SETTINGS_FILE, act.edit, act.version)
    return SettingsEdited(
        name=act.name,
        preview=dry_run,
        difference=edited.difference,
        version=version_of(edited.before if dry_run else edited.after),
        effect=_LATER,
    )


def _refuse_unfollowed(home: Path, act: _Act) -> None:
    """Refuse an edit that the team could not follow when it starts, as the server does."""
    edited = preview_edit(home / SETTINGS_FILE, act.edit, act.version)
    refused = followed_in(home, edited.settings).refusal_of(act.name)
    if refused is not None:
        raise refused


def _show(edited: SettingsEdited, done: str, as_json: bool) -> None:
    if as_json:
        print_json(edited)
    elif edited.preview:
        for line in edited.difference.splitlines():
            click.echo(clean(line))
    else:
        click.echo(f"{done}: {clean(edited.effect)}")


@click.command(context_settings={"ignore_unknown_options": False})
@home_option
@json_option("Print the edit as JSON.")
@dry_run_option
@add_options
@set_option
@click.option("--start", is_flag=True, help="Let it run right away.")
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def add(
    home: Path,
    as_json: bool,
    dry_run: bool,
    start: bool,
    name: str,
    command: tuple[str, ...],
    settings: tuple[str, ...],
    **options: AddOptions,
) -> None:
    """Add an agent to muster.toml: a program after --, or a runtime.

    Without either, muster looks for what is installed: on a terminal it asks, else it lists it.
    """
    values = {**chosen_values(home, name, command, options), **values_of(settings)}
    if start and running(home) is None:
        raise Invalid(what="--start", why="needs a running server: `muster up` first")
    act = _Act(
        name,
        partial(requests.add_agent, name, values, start=start),
        partial(writing.add_agent, name=name, values=values),
    )
    _show(_carry_out(home, act, dry_run=dry_run), f"{clean(name)} is in muster.toml", as_json)


@click.command()
@home_option
@json_option("Print the edit as JSON.")
@dry_run_option
@set_option
@click.option("--unset", multiple=True, metavar="KEY", help="Remove a setting; may be repeated.")
@click.argument("name")
def edit(
    home: Path,
    as_json: bool,
    dry_run: bool,
    settings: tuple[str, ...],
    unset: tuple[str, ...],
    name: str,
) -> None:
    """Change an agent in muster.toml.

    Without --set and --unset, $EDITOR opens on the agent's table; comments are edited in the file.
    """
    if settings or unset:
        _change(home, name, values_of(settings), unset, dry_run=dry_run, as_json=as_json)
    else:
        _edit_text(home, name, dry_run=dry_run, as_json=as_json)


def _change(
    home: Path,
    name: str,
    values: Mapping[str, object],
    removed: Sequence[str],
    *,
    version: str | None = None,
    dry_run: bool,
    as_json: bool,
) -> None:
    act = _Act(
        name,
        partial(requests.change_agent, name, values, removed, version=version),
        partial(writing.change_agent, name=name, values=values, unset=removed),
        version,
    )
    _show(_carry_out(home, act, dry_run=dry_run), f"{clean(name)} is changed", as_json)


def _edit_text(home: Path, name: str, *, dry_run: bool, as_json: bool) -> None:
    """Change what a person changes in an editor. A text that is refused is kept."""
    text = preview_edit(home / SETTINGS_FILE, lambda text: text).before
    table = writing.agent_text(text, name)
    written = _edited(table)
    if written is None:
        click.echo("Nothing changed.")
        return
    try:
        values, removed = edited_values(table, written, name)
        if not values and not removed:
            click.echo("No setting changed; comments are edited in muster.toml itself.")
            return
        version = version_of(text)
        _change(home, name, values, removed, version=version, dry_run=dry_run, as_json=as_json)
    except MusterError:
        with NamedTemporaryFile("w", suffix=".toml", delete=False, encoding="utf-8") as kept:
            kept.write(written)
        click.echo(f"Your text is kept in {kept.name}.", err=True)
        raise


def _edited(table: str) -> str | None:
    """The text that a person saved in an editor; None if they left it as it was."""
    try:
        written = click.edit(table, extension=".toml")
    except click.ClickException as failed:
        why = f"could not be used ({failed.format_message()}). Set $EDITOR. Nothing was changed"
        raise Invalid(what="the editor", why=why) from failed
    return None if written == table else written


@click.command()
@home_option
@json_option("Print the edit as JSON.")
@dry_run_option
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.argument("name")
def remove(home: Path, as_json: bool, dry_run: bool, yes: bool, name: str) -> None:
    """Remove an agent from muster.toml. Its session ends; its history stays.

    Adding it again brings it back in its seat.
    """
    act = _Act(
        name,
        partial(requests.remove_agent, name),
        partial(writing.remove_agent, name=name),
    )
    if not yes and not dry_run:
        if not sys.stdin.isatty():
            raise Invalid(what="muster agent remove", why="asks first: repeat it with --yes")
        effect = _carry_out(home, act, dry_run=True).effect
        click.confirm(f"Remove {clean(name)}? {clean(effect)}.", abort=True)
    _show(_carry_out(home, act, dry_run=dry_run), f"{clean(name)} is removed", as_json)


@click.command()
@home_option
@json_option("Print the edit as JSON.")
@dry_run_option
@click.argument("name")
@click.argument("new")
def rename(home: Path, as_json: bool, dry_run: bool, name: str, new: str) -> None:
    """Rename an agent. Its seat, history, channels and folder stay."""
    act = _Act(
        new,
        partial(requests.rename_agent, name, new),
        partial(writing.rename_agent, name=name, new=new),
    )
    _show(_carry_out(home, act, dry_run=dry_run), f"{clean(name)} is {clean(new)} now", as_json)


@click.command()
@home_option
@json_option("Print the program's settings as JSON.")
@click.argument("name")
@click.argument("model", required=False)
def model(home: Path, as_json: bool, name: str, model: str | None) -> None:
    """Show or choose the model of an agent's program.

    "" is the program's default. A running Claude Code takes another model over at once, other
    programs at their next session. The choice is kept in muster.toml.
    """
    with server(home) as client:
        found = client.ask(requests.program(name))
        if model is not None:
            found = client.ask(requests.choose_program(name, model=model))
    _show_choice(found, "model", found.model, found.running_model, as_json)


@click.command()
@home_option
@json_option("Print the program's settings as JSON.")
@click.argument("name")
@click.argument("mode", required=False)
def mode(home: Path, as_json: bool, name: str, mode: str | None) -> None:
    """Show or choose an agent's permission mode.

    Claude Code has default, acceptEdits, plan and dontAsk, and takes another one over at once;
    other programs do at their next session. The choice is kept in muster.toml.
    """
    with server(home) as client:
        found = client.ask(requests.program(name))
        if mode is not None:
            found = client.ask(requests.choose_program(name, mode=mode))
    _show_choice(found, "mode", found.mode, found.running_mode, as_json)


def _show_choice(
    found: ProgramChoice, what: str, value: str | None, in_force: str | None, as_json: bool
) -> None:
    if as_json:
        print_json(found)
        return
    if value is None:
        said = f"the runtime {found.runtime} has no {what} to choose"
    else:
        said = _named(what, value)
    if in_force is not None:
        said += f" in muster.toml, {_named(what, in_force)} in the running session"
    effect = f"; {found.effect}" if found.effect else ""
    click.echo(clean(f"{found.name}: {said}{effect}"))


def _named(what: str, value: str) -> str:
    return f"{what} {value}" if value else f"the program's default {what}"
