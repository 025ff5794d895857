"""The place of a state machine session: its folder, its settings, the server with its log."""

import os
from pathlib import Path
from typing import Final, NamedTuple

from muster.cli.acting import server
from muster.cli.delegate import sessions
from muster.cli.delegate.served import client_of, is_served
from muster.cli.options import is_home_named
from muster.client import delegation
from muster.client.sync import Client
from muster.delegation import session_folder
from muster.delegation.assignments import BY_PERSON, DEPTH_VARIABLE, Nesting
from muster.delegation.earlier import earlier_homes
from muster.delegation.team_session import team_session
from muster.errors import NoDelegation, SessionGone
from muster.home.address import is_hidden
from muster.settings.model import SETTINGS_FILE, Settings, load_settings

DEPTH_DIGITS_MAX: Final = 6
"""A longer number is none that muster has set."""


class Place(NamedTuple):
    """The place of a session: a folder with a log of its own, or a team's home."""

    root: Path
    server: Path | None = None
    """The home of the server that keeps the log open, if there is one."""

    team_home: Path | None = None
    """The home of the team whose log has the session, where no server runs."""

    @property
    def home(self) -> Path:
        """The home with the log."""
        return self.server or self.team_home or self.root / session_folder.HOME_FOLDER


def place_of(path: Path | None, home: Path) -> Place:
    """The place of the given session, or of the last one in this folder, or of the team."""
    root = path.absolute() if path is not None else sessions.last()
    if root is not None:
        own = root / session_folder.HOME_FOLDER
        served = is_served(own)
        if session_folder.has_session(root) or (served and is_hidden(own)):
            return Place(root, own if served else None)
    home = home if path is None else home_around(path, home)
    served = is_served(home)
    of_team = _open_session(home) if served and is_hidden(home) else team_session(home)
    if served and path is None:
        return Place(of_team or home, home)
    if of_team is None or (root is not None and root.resolve() != of_team.resolve()):
        if path is None and root is not None:
            raise SessionGone(path=root)
        raise NoDelegation()
    return Place(of_team, home) if served else Place(of_team, team_home=home)


def _open_session(home: Path) -> Path | None:
    """The folder of the open session of a team whose home this program does not see."""
    with server(home) as client:
        found = client.ask(delegation.delegation())
    return Path(found.path) if found.open else None


def homes_of(path: Path | None, home: Path) -> list[Path]:
    """The homes whose logs may have a conversation of this folder: the session's, the team's.

    Before the team's come those of sessions that go on in it.
    """
    if path is None and is_home_named():
        return [*earlier_homes(home), home]
    root = path.absolute() if path is not None else sessions.last()
    own = [root / session_folder.HOME_FOLDER] if root and session_folder.has_session(root) else []
    team = home if path is None else home_around(path, home)
    return [*own, *earlier_homes(team), team]


def home_around(root: Path, home: Path) -> Path:
    """The home of the project that a session's folder lies in, unless a home was named.

    A session may be used from any folder; its agents are run as its own project says.
    """
    if is_home_named():
        return home
    near = (parent / session_folder.HOME_FOLDER for parent in root.absolute().parents)
    return next((each for each in near if (each / SETTINGS_FILE).exists()), home)


def client_at(place: Place) -> Client:
    """A client of the server that keeps the log of a session open."""
    assert place.server is not None
    own = place.server == place.root / session_folder.HOME_FOLDER
    return client_of(place.server) if own else server(place.server)


def settings_of(root: Path, home: Path) -> Settings:
    """The settings in the session's own home, or else the team's."""
    own = root / session_folder.HOME_FOLDER
    return load_settings(own if (own / SETTINGS_FILE).exists() else home, os.environ)


def nesting_here() -> Nesting:
    """The agent that runs this command, as muster's variables in its environment tell."""
    depth = os.environ.get(DEPTH_VARIABLE, "")
    if not (depth.isascii() and depth.isdecimal()) or len(depth) > DEPTH_DIGITS_MAX:
        return BY_PERSON
    return Nesting(int(depth), os.environ.get("MUSTER_AGENT", ""))
