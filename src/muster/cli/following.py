"""The settings that the team of a home can follow, for verbs without a server."""

from pathlib import Path

from muster.engine.loading import load
from muster.errors import NoTeam
from muster.machines.state import Team
from muster.settings.in_force import Followed, follow
from muster.settings.model import Settings
from muster.store.opening import open_reader


def followed_in(home: Path, settings: Settings) -> Followed:
    """The part of settings that the team in the log can follow; all, without a log."""
    try:
        with open_reader(home) as log:
            return follow(load(log), settings)
    except NoTeam:
        return follow(Team(), settings)
