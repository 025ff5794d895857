"""Settings files of other programs: read, changed in one place, and written atomically.

A file that cannot be understood is left alone. All other settings in a file are kept.
"""

import json
import shutil
from pathlib import Path
from typing import Any, Final

from muster.errors import BadSource
from muster.regular_files import read_regular

Json = Any  # any JSON value

REMEDY: Final = "Nothing was changed; correct the file first."


def read_text(file: Path) -> str | None:
    """The text of a settings file; nothing if there is none."""
    try:
        return read_regular(file).decode("utf-8")
    except FileNotFoundError:
        return None
    except ValueError as wrong:
        raise BadSource(path=file, what=f"is not UTF-8: {wrong}", remedy=REMEDY) from None


def parse_json(file: Path, text: str | None, remedy: str = REMEDY) -> dict[str, Json]:
    """The settings in a text; none where there is no file, or an empty one.

    `remedy` is told where it is no JSON.
    """
    try:
        settings: Json = json.loads(text) if text and not text.isspace() else {}
    except (ValueError, RecursionError) as wrong:
        raise BadSource(path=file, what=f"is not JSON: {wrong}", remedy=remedy) from None
    if not isinstance(settings, dict):
        raise unexpected(file, "the settings are not an object")
    return settings  # pyright: ignore[reportUnknownVariableType]


def table_in(file: Path, settings: dict[str, Json], name: str) -> dict[str, Json]:
    """A table of the settings, which is added if there is none."""
    table = settings.setdefault(name, {})
    if not isinstance(table, dict):
        raise unexpected(file, f"{name} is not an object")
    return table  # pyright: ignore[reportUnknownVariableType]


def write_text(file: Path, text: str) -> None:
    """Replace a file atomically; if it is a symbolic link, its target."""
    file = file.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f".{file.name}.muster")
    aside.write_text(text, encoding="utf-8")
    if file.exists():
        shutil.copymode(file, aside)
    aside.replace(file)


def unexpected(file: Path, what: str) -> BadSource:
    """The error for a file that is not as its program writes it."""
    return BadSource(path=file, what=what, remedy=REMEDY)
