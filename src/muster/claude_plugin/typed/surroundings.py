"""The surroundings of a running Claude Code, which tell where its commands may come from."""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, cast

from muster.claude_plugin.hooks.calls import began_of, now
from muster.regular_files import read_regular

ADD_FOLDER: Final = "--add-dir"
PLUGIN_FOLDER: Final = "--plugin-dir"

START_SECONDS: Final = 0.03
"""What is added to the start of a process, so that a file written just before it is older.

The system tells both the start and the present in hundredths of a second, rounded down, and the
time of a file by a clock of its own. Claude Code reads its commands later than that.
"""


class Surroundings(NamedTuple):
    """The folders, the arguments and the start of a running Claude Code."""

    project: Path
    cwd: Path
    config: Path
    """Its own folder: `~/.claude`, or the one that `CLAUDE_CONFIG_DIR` names."""

    arguments: Sequence[str] = ()
    began: float = 0.0
    """The time of day at which it started; 0 on a system that does not tell."""

    @classmethod
    def of(cls, project: Path, cwd: Path, pid: int, environ: Mapping[str, str]) -> "Surroundings":
        """The surroundings of the process `pid`, which started this hook."""
        told = environ.get("CLAUDE_CONFIG_DIR")
        config = Path(told) if told else Path(environ.get("HOME") or "/") / ".claude"
        began = began_of(pid) if pid else 0.0
        started = time.time() - (now() - began) + START_SECONDS if began else 0.0
        return cls(project, cwd, config, _arguments(pid), started)

    @property
    def project_folders(self) -> Iterator[Path]:
        """The folders whose `.claude` may have commands: the project and those around it, and the
        ones that were added."""
        for start in dict.fromkeys((self.project, self.cwd)):
            yield from (start, *start.parents)
        for added in (*_values(self.arguments, ADD_FOLDER), *self._added_by_settings()):
            yield self.cwd / added
            yield self.project / added

    @property
    def plugin_folders(self) -> Iterator[Path]:
        """The folders that were given as plugins on the command line."""
        return (self.cwd / each for each in _values(self.arguments, PLUGIN_FOLDER))

    def _added_by_settings(self) -> Iterator[str]:
        own = self.project / ".claude"
        files = (self.config / "settings.json", own / "settings.json", own / "settings.local.json")
        for permissions in (field(json_of(file), "permissions") for file in files):
            added = field(permissions, "additionalDirectories")
            yield from (each for each in as_list(added) if isinstance(each, str))


def _arguments(pid: int) -> list[str]:
    try:
        return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes()).split("\0")
    except OSError:
        return []


def _values(arguments: Iterable[str], option: str) -> Iterator[str]:
    """The values of an option, which may be given several times and take several values."""
    taking = False
    for each in arguments:
        if each.startswith("-"):
            name, given, value = each.partition("=")
            taking = name == option
            if taking and given:
                yield value
        elif taking and each:
            yield each


# ── JSON that anybody may have written ────────────────────────────────────────────────────────────


def json_of(file: Path) -> object:
    """The value in a JSON file; None if there is none, or it cannot be read."""
    try:
        return json.loads(read_regular(file))
    except (OSError, ValueError, RecursionError):
        return None


def field(value: object, name: str) -> object:
    """A field of an object; None if it is none, or has no such field."""
    return cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None


def as_list(value: object) -> list[object]:
    """The value if it is a list; else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []
