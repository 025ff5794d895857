"""The paths that Claude Code itself needs to write when it runs confined.

Its folder of settings also has what would be run outside of the confinement later: hooks, plugins,
commands and MCP servers in its settings files. Those stay read-only; a session gets the folders of
its transcripts and caches, and the file of its credentials, which it renews.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from muster.runtimes.process.confined import WritablePaths

_FOLDERS: Final = (
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
_FILES: Final = (".credentials.json", "history.jsonl")


def with_own_paths(paths: WritablePaths, env: Mapping[str, str]) -> WritablePaths:
    """The paths of a session and those of the program; its folders are made."""
    return paths._replace(outputs=(*paths.outputs, *_own(_config(env))))


def _config(env: Mapping[str, str]) -> Path:
    given = env.get("CLAUDE_CONFIG_DIR")
    return Path(given) if given else Path(env.get("HOME") or Path.home()) / ".claude"


def _own(config: Path) -> Iterator[Path]:
    for name in _FOLDERS:
        folder = config / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield folder
    yield from (config / name for name in _FILES if (config / name).is_file())
