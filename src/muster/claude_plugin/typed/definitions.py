"""Finds the files that may define a typed command.

Claude Code tells a hook a command's name and the kind of its source, not its file. So every file
that may have this name counts, whichever of them Claude Code prefers.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

from muster.claude_plugin.typed.surroundings import Surroundings, as_list, field, json_of

MANAGED: Final = Path("/etc/claude-code/.claude")
"""The folder of the machine's administrator."""

PLUGIN_SOURCE: Final = "plugin"
MANIFEST: Final = Path(".claude-plugin", "plugin.json")
INSTALLED: Final = Path("plugins", "installed_plugins.json")

FILES_MAX: Final = 20_000
"""How many files are looked at for one command."""


class TooManyFiles(ValueError):
    """There are too many files to find the command among them."""


def definitions(name: str, source: str, where: Surroundings) -> list[Path]:
    """The files that may define the command `name`, without doubles."""
    plugin, _, rest = name.partition(":")
    last = name.rpartition(":")[2]
    found: list[Path] = []
    if source == PLUGIN_SOURCE:
        for root in _plugins(plugin, where):
            found += _named(root, last)
            if rest == last == root.name and (root / "SKILL.md").exists():
                found.append(root / "SKILL.md")
    else:
        for folder in _claude_folders(where):
            found += _named(folder / "commands", last)
            found += _skills(folder / "skills", last)
    return list(dict.fromkeys(found))


def _claude_folders(where: Surroundings) -> Iterator[Path]:
    """The folders with commands and skills, without doubles."""
    projects = (each / ".claude" for each in where.project_folders)
    return iter(dict.fromkeys((MANAGED, where.config, *projects)))


def _named(folder: Path, last: str) -> Iterator[Path]:
    """The Markdown files below a folder that have this name, or are a skill of this name."""
    looked = 0
    for at, _, names in os.walk(folder, followlinks=True):
        looked += 1 + len(names)
        if looked > FILES_MAX:
            raise TooManyFiles
        here = os.path.basename(at)  # noqa: PTH119
        for name in names:
            stem, ending = os.path.splitext(name)  # noqa: PTH122
            is_skill = stem.lower() == "skill" and here == last
            if ending.lower() == ".md" and (stem == last or is_skill):
                yield Path(at, name)


def _skills(folder: Path, last: str) -> Iterator[Path]:
    """The files of a skill of this name."""
    own = folder / last
    try:
        names = os.listdir(own)  # noqa: PTH208
    except OSError:
        return
    yield from (own / name for name in names if name.lower() == "skill.md")


# ── plugins ───────────────────────────────────────────────────────────────────────────────────────


def _plugins(name: str, where: Surroundings) -> list[Path]:
    """The folders of the plugins of this name."""
    given = [each for each in where.plugin_folders if _name_of(each) == name]
    skills = (each / "skills" for each in _claude_folders(where))
    among = [each / name for each in skills if (each / name / MANIFEST).exists()]
    return list(dict.fromkeys((*given, *among, *_installed(name, where.config))))


def _installed(name: str, config: Path) -> Iterator[Path]:
    known = field(json_of(config / INSTALLED), "plugins")
    if not isinstance(known, dict):
        return
    for key, places in cast("dict[str, object]", known).items():
        if key.partition("@")[0] != name:
            continue
        for path in (field(each, "installPath") for each in as_list(places)):
            if isinstance(path, str) and "\0" not in path:
                yield Path(path)


def _name_of(plugin: Path) -> str:
    told = field(json_of(plugin / MANIFEST), "name")
    return told if isinstance(told, str) else plugin.name


def has_commands_in_manifest(name: str, where: Surroundings) -> bool:
    """Whether a plugin has commands whose text is in its manifest, and not in files."""
    manifests = (json_of(root / MANIFEST) for root in _plugins(name, where))
    return any(isinstance(field(each, "commands"), dict) for each in manifests)
