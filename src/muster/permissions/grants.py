"""The rights that an allowed command line needs from the kernel, if it runs confined.

The judge knows the documents that a line writes and whether it opens connections. A confined line
gets exactly that, beside the outputs of the conversation.
"""

from __future__ import annotations

import os

from muster.permissions.programs.catalogue import named

TYPE_CHECKING = False

if TYPE_CHECKING:
    from muster.permissions.shell.effects import Act, Scene

_REACHING = named(
    """curl wget gh dig host nslookup whois docker docker-compose podman kubectl helm npm pnpm yarn
    pip pip3 brew apt aws conda muster systemctl journalctl loginctl hostnamectl timedatectl
    resolvectl"""
)
"""Programs that open connections, if only to a daemon of this machine."""

_DAEMONS = named(
    """docker docker-compose podman systemctl journalctl loginctl hostnamectl timedatectl resolvectl
    gh git"""
)
"""Programs that work by a daemon, or sign in by one: an agent of SSH, a keyring."""

_REACHING_GIT = frozenset(("ls-remote", "remote", "lfs", "submodule"))


class Grants:
    """The rights of one line: files and folders to write, and connections."""

    __slots__ = ("files", "folders", "moves_only", "network", "sockets")

    def __init__(
        self,
        files: tuple[str, ...] = (),
        folders: tuple[str, ...] = (),
        *,
        network: bool = False,
        sockets: bool = False,
        moves_only: bool = False,
    ) -> None:
        self.files = files
        self.folders = folders
        self.network = network
        self.sockets = sockets
        """Whether the line reaches daemons of this machine by Unix sockets."""
        self.moves_only = moves_only
        """Whether the line only changes the working directory, which must outlive it."""


def grants_of(scene: Scene) -> Grants:
    """The rights that a line needs, all of whose acts are allowed."""
    files = [_file(act, scene.folders) for act in scene.acts if act.kind == "write"]
    folders = [_parent(act, scene.folders) for act in scene.acts if act.kind == "folder"]
    programs = [act.names for act in scene.acts if act.kind == "execute"]
    reaching = [names for names in programs if _reaches(names)]
    return Grants(
        tuple(dict.fromkeys(filter(None, files))),
        tuple(dict.fromkeys(filter(None, folders))),
        network=bool(reaching),
        sockets=any(names[0] in _DAEMONS for names in reaching),
        moves_only=bool(programs)
        and all(names == ("cd",) for names in programs)
        and not files + folders,
    )


def _reaches(names: tuple[str, ...]) -> bool:
    if names[:1] == ("git",):
        return bool(_REACHING_GIT & set(names[1:]))
    return bool(_REACHING & set(names[:1]))


def _places(act: Act, folders: list[str]) -> list[str]:
    text = act.word.text if act.word is not None else ""
    return [os.path.normpath(os.path.join(folder, text)) for folder in folders or ["/"]]  # noqa: PTH118


def _file(act: Act, folders: list[str]) -> str:
    """The file that an act writes: the one that exists, or that can be made where `cd` leads."""
    places = _places(act, folders)
    for path in reversed(places):
        if os.path.isfile(path):  # noqa: PTH113
            return path
    for path in reversed(places):
        if os.path.isdir(os.path.dirname(path)) and not os.path.lexists(path):  # noqa: PTH112, PTH120
            return path
    return ""


def _parent(act: Act, folders: list[str]) -> str:
    """The existing folder in which a new folder is made."""
    path = _places(act, folders)[-1]
    while path != "/" and not os.path.isdir(path):  # noqa: PTH112
        path = os.path.dirname(path)  # noqa: PTH120
    return path
