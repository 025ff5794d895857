"""The folder of settings of a confined program: one of its own, with copies of the person's.

A program that may write its settings could name programs there, which the person's own next session
of the same program would run unconfined. So a confined session gets a folder below its agent's,
which is all that it writes. The person's files are copied into it at each start, and folders with
extensions and commands are links, which stay read-only. Credentials are links too; the program
renews them, so they alone are writable.

A confined program cannot open a pseudoterminal: the folder of those has the person's terminals too.
So a program that runs commands in one is told to use pipes, by a variable or a file of defaults.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Final, NamedTuple

from muster.regular_files import open_for_owner_only, read_regular

OWN_FOLDER: Final = "program"
DEFAULTS: Final = "defaults.json"
FILE_BYTES_MAX: Final = 1024 * 1024
"""The largest file that is copied: settings and instructions are small."""


class PrivateFolder(NamedTuple):
    """How a program is given another folder of settings."""

    folder: str
    """The folder, relative to HOME."""

    variable: str
    """The variable that names it to the program."""

    names_parent: bool = False
    """Whether the variable names the folder around it, as HOME does."""

    linked: tuple[str, ...] = ()
    """Folders in it that the program only reads."""

    credentials: tuple[str, ...] = ()
    """Files in it that the program renews."""

    variables: Mapping[str, str] = {}
    """Further variables of a confined program, unless the agent has them already."""

    defaults: tuple[str, str] | None = None
    """The variable that names a file of default settings, and the content of that file."""


def make_private(private: PrivateFolder, variables: dict[str, str], below: Path) -> list[Path]:
    """Make the folder of a program and name it in `variables`; return the paths that it writes."""
    theirs, own = _theirs(private, variables), below / OWN_FOLDER / private.folder
    own.mkdir(mode=0o700, parents=True, exist_ok=True)
    for entry in sorted(theirs.iterdir()) if theirs.is_dir() else ():
        if entry.name in (*private.linked, *private.credentials):
            _link(own / entry.name, entry)
        elif entry.is_file():
            _copy(entry, own / entry.name)
    for name, value in (*private.variables.items(), *_defaults(private, own.parent)):
        variables.setdefault(name, value)
    variables[private.variable] = str(own.parent if private.names_parent else own)
    return [own, *_renewed(private, theirs)]


def _theirs(private: PrivateFolder, variables: dict[str, str]) -> Path:
    given = variables.get(private.variable)
    if given:
        return Path(given) / private.folder if private.names_parent else Path(given)
    return Path(variables.get("HOME") or Path.home()) / private.folder


def _defaults(private: PrivateFolder, folder: Path) -> Iterator[tuple[str, str]]:
    """Write the file of defaults beside what the program may write."""
    if private.defaults is not None:
        variable, content = private.defaults
        (folder / DEFAULTS).write_text(content)
        yield variable, str(folder / DEFAULTS)


def _renewed(private: PrivateFolder, theirs: Path) -> Iterator[Path]:
    return (theirs / name for name in private.credentials if (theirs / name).is_file())


def _copy(source: Path, target: Path) -> None:
    """Copy a file of the person's over what an earlier session made of it."""
    with suppress(OSError):  # it is too large, or cannot be read: the program does without it
        content = read_regular(source, bytes_max=FILE_BYTES_MAX)
        _remove(target)
        with open(target, "xb", opener=open_for_owner_only) as file:
            file.write(content)


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    _remove(link)
    link.symlink_to(target)


def _remove(path: Path) -> None:
    """Remove what an earlier session left there, without following links."""
    if path.is_dir() and not path.is_symlink():
        rmtree(path)
    path.unlink(missing_ok=True)
