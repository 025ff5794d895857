"""Finds the state machine session that a hook belongs to, and its policy.

That is the team's own session if one is open, whether its server runs or not; otherwise the newest
session of the project that has not ended.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from muster.delegation.following.record import Following
from muster.delegation.session_folder import HOME_FOLDER, SESSIONS_FOLDER, has_session
from muster.delegation.team_session import placed, team_session
from muster.delegation.visiting import visited
from muster.errors import SessionGone
from muster.machines.state import Team
from muster.permissions.policy import DEFAULT, POLICY_FILE, Policy, policy_of
from muster.regular_files import read_regular
from muster.settings.model import SETTINGS_FILE, Settings, load_settings
from muster.team import Muster

SESSIONS_FILE: Final = SESSIONS_FOLDER / "sessions"

SESSIONS_KEPT: Final = 64
"""Size of a server's cache of project sessions."""


class SessionPlace(NamedTuple):
    """The folder of an open session, and the home with its log."""

    root: Path
    home: Path


class OpenSession:
    """An open session."""

    def __init__(self, root: Path, follow: Callable[[], Following]) -> None:
        """Create the recorder of conversations lazily: a verdict needs only the policy in the
        session's folder."""
        self.root = root
        self._follow = follow

    @property
    def following(self) -> Following:
        """The recorder of its conversations."""
        return self._follow()


class Places:
    """Finds the session of a hook."""

    def __init__(
        self,
        home: Path,
        settings: Settings,
        *,
        muster: Muster | None = None,
    ) -> None:
        """Without a team that is open here, its session is the one that its home names."""
        self._home = home
        self._settings = settings
        self._muster = muster
        self._team: Following | None = None
        if muster is not None:
            self._team = Following(muster.requests.conversations, home=home)
        self._known: dict[SessionPlace, Following] = {}

    def of(self, project: Path) -> OpenSession | None:
        """The open session of a project."""
        team = self._team
        if self._muster is not None and team is not None:
            own = open_session_of(self._muster.team, self._home)
            if own is not None:
                return OpenSession(own, lambda: team)
            place = session_of_project(project)
        else:
            place = open_session(project, self._home)
        return None if place is None else OpenSession(place.root, partial(self._following, place))

    def _following(self, place: SessionPlace) -> Following:
        found = self._known.pop(place, None) or self._visiting(place)
        self._known[place] = found
        while len(self._known) > SESSIONS_KEPT:
            del self._known[next(iter(self._known))]
        return found

    def _visiting(self, place: SessionPlace) -> Following:
        settings, of_team = self._settings, place.home == self._home
        if not of_team and (place.home / SETTINGS_FILE).exists():
            settings = load_settings(place.home, os.environ)
        _, conversations = visited(place.root, settings, self._home if of_team else None)
        return Following(conversations, home=place.home)


def open_session(project: Path, home: Path) -> SessionPlace | None:
    """The session whose policy hooks enforce in a project; None where they enforce none.

    The session of the team in `home` counts first, whether a server runs there or not.
    """
    root = team_session(home)
    if root is None:
        return session_of_project(project)
    if not root.exists():
        raise SessionGone(path=root)
    return SessionPlace(root, home)


def session_of_project(project: Path) -> SessionPlace | None:
    """The newest session of a project with a log of its own; see `last_session`."""
    root = last_session(project)
    return None if root is None else SessionPlace(root, root / HOME_FOLDER)


def open_session_of(team: Team, home: Path) -> Path | None:
    """The folder of the open session of the team in a home, or None."""
    return placed(team.delegation.path, home) if team.delegation.mode is not None else None


def last_session(project: Path) -> Path | None:
    """The newest session of a project that has not ended; None if there is none.

    Raises `SessionGone` if its folder or its log is gone: its policy is in force, but unknown.
    """
    try:
        lines = os.fsdecode(read_regular(project / SESSIONS_FILE)).split("\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    known = [line for line in lines if line]
    if not known:
        return None
    root = Path(known[-1])
    if not has_session(root):
        raise SessionGone(path=root)
    return root


class PolicyCache:
    """A cache of the sessions' policies; a changed file is read again."""

    def __init__(self) -> None:
        """Start with an empty cache."""
        self._known: dict[Path, tuple[tuple[int, int, int], Policy]] = {}

    def of(self, root: Path) -> Policy:
        """The policy of a session's folder, as `policy_of` reads it."""
        try:
            found = (root / POLICY_FILE).stat()
        except FileNotFoundError:
            return DEFAULT
        version = (found.st_mtime_ns, found.st_size, found.st_ino)
        known = self._known.get(root)
        if known is None or known[0] != version:
            if len(self._known) >= SESSIONS_KEPT:
                self._known.clear()
            known = self._known[root] = (version, policy_of(root))
        return known[1]
