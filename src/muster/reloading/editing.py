"""Writing an edited `muster.toml`: validated as a whole before, and atomic.

An edit that finds another file than it was made for is refused, and nothing is lost: the new
content is swapped into place, and what comes back is compared with what was read.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from muster.errors import SettingsConflict
from muster.limits import SETTINGS_BYTES_MAX
from muster.mirrors import exchange
from muster.settings.file import text_of
from muster.settings.model import Settings, parse_settings
from muster.settings.writing import HEADER, difference

Edit = Callable[[str], str]
"""The new text of the file for its text; an empty text where there is no file. Pure."""

_RULES: Final = exchange.FileRules(bytes_max=SETTINGS_BYTES_MAX)

_CHANGED: Final = "muster.toml has changed meanwhile"


class Edited(msgspec.Struct, frozen=True, kw_only=True):
    """An edit of the settings file."""

    before: str
    after: str
    settings: Settings
    difference: str
    """The edit as a unified diff."""


def version_of(text: str) -> str:
    """A short digest by which two versions of the file are told apart."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def preview_edit(path: Path, edit: Edit, version: str | None = None) -> Edited:
    """The file after an edit, validated; nothing is written.

    `version` is the version of the file that the edit was made for.
    """
    before = text_of(path) or ""
    if version is not None and version != version_of(before):
        raise SettingsConflict(what=_CHANGED)
    parse_settings(path, before, os.environ)  # an edit does not hide an earlier mistake
    after = edit(before)
    settings = parse_settings(path, after, os.environ)
    shown = difference(before, after, path.name)
    return Edited(before=before, after=after, settings=settings, difference=shown)


def write_edit(path: Path, edit: Edit, version: str | None = None) -> Edited:
    """Edit the file, and create it where there is none."""
    existed = path.exists()
    edited = preview_edit(path, edit, version)
    if not existed:
        _create(path, edited.after)
    elif edited.after != edited.before:
        late = exchange.exchange(path, lambda base: _changed(base, edited), _RULES).late
        if late is not None:
            late.close()
    return edited


def create_settings(path: Path) -> None:
    """Write a file with nothing but a comment, unless there is one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        exchange.create(path, HEADER.encode(), 0o600, _RULES)


def _create(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        exchange.create(path, text.encode(), 0o600, _RULES)
    except FileExistsError:
        raise SettingsConflict(what=_CHANGED) from None


def _changed(base: bytes, edited: Edited) -> bytes:
    """The new content, if the file is still the one that was edited."""
    if base.decode("utf-8-sig", "replace") != edited.before:
        raise SettingsConflict(what=_CHANGED)
    return edited.after.encode()
