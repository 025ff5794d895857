"""The folder of settings of a confined Claude Code: one of its own, with links to the person's.

Claude Code runs and reads much of what lies in its folder of settings: hooks, plugins and commands,
but also the snapshots of shells, which every session on the machine sources before a command, and
the memory of projects. A confined session that could write there would act unconfined through the
next session of the person. So it gets a folder of its own: what it writes is private to the agent,
everything else is a link to the person's and stays read-only. Only the file of the credentials,
which it renews, is the person's and writable.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from muster.runtimes.process.confined import WritablePaths

CONFIG_VARIABLE: Final = "CLAUDE_CONFIG_DIR"
OWN_FOLDER: Final = "claude"

_WRITTEN: Final = (
    "plugins/data",
    "projects",
    "sessions",
    "session-env",
    "shell-snapshots",
    "file-history",
    "todos",
    "tasks",
    "statsig",
    "telemetry",
    "cache",
    "debug",
    "backups",
)
"""Folders that Claude Code writes."""

_HISTORY: Final = "history.jsonl"
_ACCOUNT: Final = ".claude.json"
_CREDENTIALS: Final = ".credentials.json"


def with_own_folder(
    paths: WritablePaths, env: dict[str, str], folder: Path | None
) -> WritablePaths:
    """Give a confined session its folder of settings, below the agent's, and name it in `env`."""
    if folder is None:
        return paths
    theirs, own = _config(env), folder / OWN_FOLDER
    made = tuple(_make(own))
    _link(theirs, own)
    if not env.get(CONFIG_VARIABLE):  # then the account is beside the folder, not in it
        _replace(own / _ACCOUNT, theirs.parent / _ACCOUNT)
    env[CONFIG_VARIABLE] = str(own)
    credentials = theirs / _CREDENTIALS
    return paths._replace(
        outputs=(*paths.outputs, *made, *((credentials,) if credentials.is_file() else ()))
    )


def _config(env: Mapping[str, str]) -> Path:
    given = env.get(CONFIG_VARIABLE)
    return Path(given) if given else Path(env.get("HOME") or Path.home()) / ".claude"


def _make(own: Path) -> Iterator[Path]:
    """The private folders and files, made where they are missing."""
    for name in _WRITTEN:
        (own / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        yield own / name
    history = own / _HISTORY
    history.touch(mode=0o600)
    yield history


def _link(theirs: Path, own: Path) -> None:
    """Link what is the person's: all that Claude Code does not write."""
    private = {*_WRITTEN, _HISTORY}
    for folder in (Path(), Path("plugins")):  # a private folder is within that one
        for name in _names(theirs / folder):
            if str(folder / name) not in private and str(folder / name) != "plugins":
                _replace(own / folder / name, theirs / folder / name)


def _names(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()] if folder.is_dir() else []


def _replace(link: Path, target: Path) -> None:
    """Link to a file of the person, unless it is linked already."""
    if link.is_symlink() and link.readlink() == target:
        return
    link.unlink(missing_ok=True)
    link.symlink_to(target)
