"""Finds the state machine session that a hook belongs to, and its policy.

With a server, that is the team's own session if one is open; otherwise the newest session of the
project that has not ended.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from muster.delegation.following.record import Following
from muster.delegation.session_folder import HOME_FOLDER, SESSIONS_FOLDER, has_session
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
        """Without a team, only projects have sessions."""
        self._home = home
        self._settings = settings
        self._muster = muster
        self._team: Following | None = None
        if muster is not None:
            self._team = Following(muster.requests.conversations, home=home)
        self._known: dict[Path, Following] = {}

    def of(self, project: Path) -> OpenSession | None:
        """The open session of a project."""
        team = self._team
        if self._muster is not None and team is not None:
            own = open_session_of(self._muster.team)
            if own is not None:
                return OpenSession(own, lambda: team)
        root = last_session(project)
        return None if root is None else OpenSession(root, partial(self._following, root))

    def _following(self, root: Path) -> Following:
        found = self._known.pop(root, None) or self._visiting(root)
        self._known[root] = found
        while len(self._known) > SESSIONS_KEPT:
            del self._known[next(iter(self._known))]
        return found

    def _visiting(self, root: Path) -> Following:
        own, settings = root / HOME_FOLDER, self._settings
        if (own / SETTINGS_FILE).exists():
            settings = load_settings(own, os.environ)
        log_provider, conversations = visited(root, settings)
        return Following(conversations, home=log_provider.home)


def enforced_root(project: Path, team: Team | None) -> Path | None:
    """The session's folder whose policy hooks enforce in a project; None where they enforce none.

    `team` is the team of the server that runs in the project's home, if there is one.
    """
    return (open_session_of(team) if team is not None else None) or last_session(project)


def open_session_of(team: Team) -> Path | None:
    """The folder of the team's open session, or None."""
    return Path(team.delegation.path) if team.delegation.mode is not None else None


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
