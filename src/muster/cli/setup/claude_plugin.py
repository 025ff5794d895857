"""`muster claude-plugin`: prints the folder of the plugin, installs and removes it.

The installed plugin is a copy that names the Python of muster, and the file of muster that the
hooks run, so an update of muster also updates the hooks. Claude Code finds it by its settings: the
folder is a marketplace with one enabled plugin. All other settings are left alone.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Final

import click

from muster.claude_plugin.copying import MANIFEST, SOURCE, as_text, write_copy
from muster.cli.render import clean
from muster.cli.setup.program_settings import (
    Json,
    parse_json,
    read_text,
    table_in,
    unexpected,
    write_text,
)
from muster.errors import Invalid
from muster.regular_files import read_regular

NAME: Final = "muster"
PLUGIN: Final = f"{NAME}@{NAME}"
"""The id of the plugin in Claude Code: plugin@marketplace."""

MARKETPLACES: Final = "extraKnownMarketplaces"
ENABLED: Final = "enabledPlugins"

COMMAND: Final = Path("commands", "agent-state-machine.md")
FULL_NAME: Final = "/muster:agent-state-machine"

_KNOWN: Final = Path("plugins", "known_marketplaces.json")
"""Where Claude Code keeps the marketplaces that it has seen, beside its settings."""

_MARKETPLACE: Final = Path(".claude-plugin", "marketplace.json")
_scope_options = (
    click.option(
        "--user", "scope", flag_value="user", default="user", help="In all projects [the default]."
    ),
    click.option("--project", "scope", flag_value="project", help="In this folder's project only."),
)


@click.group(name="claude-plugin")
def claude_plugin() -> None:
    """Install muster's plugin in Claude Code.

    The commands are /agent-state-machine (also /muster:agent-state-machine), /muster:status and
    /muster:ask. The hooks record a state machine session, and enforce the permissions of MAIN.
    """


@claude_plugin.command()
def path() -> None:
    """Print the plugin's folder, for `claude --plugin-dir`."""
    click.echo(SOURCE)


@claude_plugin.command()
@_scope_options[0]
@_scope_options[1]
def install(scope: str) -> None:
    """Install the plugin in Claude Code, from its next start on."""
    folder, file = _places(scope)
    settings = parse_json(file, read_text(file))
    _refuse_others(folder, file, settings)
    _write_copy(folder)
    _add_command(_command(file))
    source = {"source": "directory", "path": str(folder)}
    table_in(file, settings, MARKETPLACES)[NAME] = {"source": source}
    table_in(file, settings, ENABLED)[PLUGIN] = True
    write_text(file, as_text(settings))
    click.echo(f"Installed in {clean(str(folder))}. Claude Code has it from its next start on.")
    if scope == "project":
        click.echo("In a project, Claude Code loads it once you trust the folder.")


@claude_plugin.command()
@_scope_options[0]
@_scope_options[1]
def remove(scope: str) -> None:
    """Uninstall the plugin from Claude Code."""
    folder, file = _places(scope)
    settings = parse_json(file, read_text(file))
    _refuse_others(folder, file, settings)
    ours = _is_ours(folder)
    _remove_command(_command(file))
    gone = [_taken(file, settings, MARKETPLACES, NAME), _taken(file, settings, ENABLED, PLUGIN)]
    if any(gone) and (settings or file.is_symlink()):
        write_text(file, as_text(settings))
    elif any(gone):
        file.unlink()  # there was nothing else in it
    _forget_marketplace(file.parent / _KNOWN, folder)
    if ours:
        shutil.rmtree(folder)
    click.echo("Removed." if ours or any(gone) else "It was not installed.")


def _places(scope: str) -> tuple[Path, Path]:
    """The folder of the copy, and the settings that name it.

    In a project these are the personal settings (settings.local.json): the copy is on this machine
    only.
    """
    if scope == "project":
        base, name = Path(".claude").absolute(), "settings.local.json"
    else:
        told = os.environ.get("CLAUDE_CONFIG_DIR")
        base, name = Path(told).absolute() if told else Path.home() / ".claude", "settings.json"
    return base / "hooks" / NAME, base / name


# ── the copy ──────────────────────────────────────────────────────────────────────────────────────


def _write_copy(folder: Path) -> None:
    """Write the copy, and the marketplace that has it."""
    write_copy(folder)
    about = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    entry = {"name": NAME, "source": "./", "description": about["description"]}
    market = {"name": NAME, "owner": {"name": NAME}, "plugins": [entry]}
    (folder / _MARKETPLACE).write_text(as_text(market), encoding="utf-8")


def _is_ours(folder: Path) -> bool:
    try:
        return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["name"] == NAME
    except (OSError, ValueError, KeyError, TypeError):
        return False


# ── the command without a prefix ──────────────────────────────────────────────────────────────────


def _command(file: Path) -> Path:
    """The file of the command `/agent-state-machine`, beside the settings."""
    return file.parent / COMMAND


def _add_command(path: Path) -> None:
    """Add `/agent-state-machine`, unless a command of that name is there that is not muster's."""
    if path.exists() and not _is_our_command(path):
        click.echo(f"{clean(str(path))} is yours and stays; muster's is {FULL_NAME}.", err=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(SOURCE / COMMAND, path)


def _remove_command(path: Path) -> None:
    if _is_our_command(path):
        path.unlink()


def _is_our_command(path: Path) -> bool:
    """Whether the file is a copy of muster's, of this version or of another."""
    try:
        text = read_regular(path).decode("utf-8", "replace")
    except OSError:
        return False
    return "muster has already carried out this command." in text


# ── the settings ──────────────────────────────────────────────────────────────────────────────────


def _refuse_others(folder: Path, file: Path, settings: dict[str, Json]) -> None:
    """Refuse to replace an entry or folder of the same name that muster did not write."""
    known = table_in(file, settings, MARKETPLACES).get(NAME)
    table_in(file, settings, ENABLED)
    ours = {"source": {"source": "directory", "path": str(folder)}}
    if known is not None and known != ours:
        raise unexpected(file, f"{MARKETPLACES} has another marketplace named {NAME!r}")
    if folder.exists() and not _is_ours(folder):
        raise Invalid(what=f"{folder}", why="has other content; move it away first")


def _forget_marketplace(file: Path, folder: Path) -> None:
    """Remove muster's folder from the marketplaces that Claude Code has seen, or it complains."""
    known = parse_json(file, read_text(file))
    if str(folder) in json.dumps(known.get(NAME)):
        del known[NAME]
        write_text(file, as_text(known))


def _taken(file: Path, settings: dict[str, Json], name: str, key: str) -> bool:
    """Remove an entry from a table, and an empty table too."""
    if name not in settings:
        return False
    table = table_in(file, settings, name)
    found = table.pop(key, None) is not None
    if not table:
        del settings[name]
    return found
