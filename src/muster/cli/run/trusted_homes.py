"""Homes that came with a repository, and which of them this user has approved.

A home names programs, which run as the user. A cloned repository can hold one: two text files, and
`muster up` would start a program of its author. Such a home is used only after the user has seen
what it would run. A home that git does not track was made on this machine.

Approvals are kept in the user's state folder, by the path and the inode of the home: another clone
in the same place is another home.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from muster.home.folder import IGNORE_FILE
from muster.regular_files import open_for_owner_only, read_regular
from muster.settings.model import Settings
from muster.workspaces.git import Git

FILE: Final = "trusted-homes"
STATE_VARIABLE: Final = "XDG_STATE_HOME"


def came_with_repository(home: Path) -> bool:
    """Whether git tracks files of a home: they are what somebody else committed, or will get."""
    place = home.resolve()
    if not place.is_dir() or not any((each / ".git").exists() for each in place.parents):
        return False
    found = Git(place.parent).run("ls-files", "-z", "--", place.name)
    names = {name.rpartition(b"/")[2] for name in found.out.split(b"\0")}
    # a repository that git refuses to read is nobody's whom we know
    return bool(found.code) or bool(names - {b"", os.fsencode(IGNORE_FILE)})


def is_approved(home: Path, environ: Mapping[str, str]) -> bool:
    """Whether this user has approved a home."""
    try:
        lines = read_regular(_file(environ)).splitlines()
    except OSError:
        return False
    return _line(home) in lines


def approve(home: Path, environ: Mapping[str, str]) -> None:
    """Remember that this user has approved a home. Raises `OSError` where that cannot be kept."""
    file = _file(environ)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(file, "ab", opener=open_for_owner_only) as stream:
        stream.write(_line(home) + b"\n")


def programs_of(settings: Settings) -> Iterator[tuple[str, str]]:
    """The programs of the settings: each table, with its command or its kind of program."""
    for name, agent in settings.agents.items():
        program = (*agent.command, agent.target) if agent.command else (agent.target,)
        yield f"agents.{name}", " ".join(program).strip() or agent.preset or agent.runtime
    if settings.delegation.command:
        yield "delegation", " ".join(settings.delegation.command)
    for name, target in settings.notify.items():
        if target.command:
            yield f"notify.{name}", " ".join(target.command)


def _file(environ: Mapping[str, str]) -> Path:
    state = environ.get(STATE_VARIABLE) or Path(environ.get("HOME") or "/").joinpath(".local/state")
    return Path(state) / "muster" / FILE


def _line(home: Path) -> bytes:
    place = home.resolve()
    found = place.stat()
    return b"%d:%d %b" % (found.st_dev, found.st_ino, os.fsencode(place).replace(b"\n", b"?"))
