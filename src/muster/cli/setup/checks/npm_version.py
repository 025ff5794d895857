"""The version of a program that npm has installed, read from its package.

Programs of this kind take seconds to say it themselves.
"""

from pathlib import Path
from typing import Final

import msgspec

from muster.regular_files import read_start

PACKAGE_BYTES_MAX: Final = 256 * 1024


class _Package(msgspec.Struct):
    version: str


def npm_version(program: str) -> str:
    """The version of the package that a program belongs to; empty if it is not npm's."""
    for folder in Path(program).resolve().parents:
        if folder.parent.name == "node_modules" or folder.parent.parent.name == "node_modules":
            version = _version(folder / "package.json")
            if version:
                return version
    return ""


def _version(package: Path) -> str:
    try:
        content = read_start(package, PACKAGE_BYTES_MAX)
        return msgspec.json.decode(content, type=_Package).version
    except (OSError, ValueError):
        return ""
