"""Which database a home keeps its log in, as `muster up` is told: by option, setting or variable.

The home remembers it (`team.database`), so other verbs and later starts need not be told.
"""

import asyncio
import os
from pathlib import Path

from muster.errors import LogInHome
from muster.home import database
from muster.home.database import TeamDatabase, default_team, password_of, place_of, public_url
from muster.home.folder import make_home
from muster.home.lock import LOG_FILE
from muster.settings.model import StoreSettings
from muster.store.opening import begin_team


def remember_database(
    home: Path, settings: StoreSettings, given: str | None, node: str | None = None
) -> None:
    """Let a home have its log in the database that was named, if one was.

    `node` is the name of this machine, if one was given.

    A new home begins a team there. A home that had its log in a database before may be told another
    address of it, and finds its team there or is refused.
    """
    kept = database.find(home)
    url = given or settings.database or (kept.url if kept is not None and node else "")
    if not url:
        return
    if (home / LOG_FILE).exists():
        raise LogInHome(home=home, place=place_of(url))
    team = settings.team or (default_team(home) if kept is None else kept.team)
    chosen = TeamDatabase(url=_with_known_password(url, kept), team=team)
    if kept is None or (public_url(kept.url), kept.team) != (public_url(url), team):
        asyncio.run(begin_team(chosen, is_new=kept is None))
        make_home(home)
    from_variable = given is None and os.environ.get(database.VARIABLE) == url
    name = node or (kept.node if kept is not None else "")
    wanted = TeamDatabase(
        url=public_url(url) if from_variable else chosen.url, team=team, node=name
    )
    if wanted != kept:
        database.keep(home, wanted)


def _with_known_password(url: str, kept: TeamDatabase | None) -> str:
    """The address with the password that the home knows for it."""
    if kept is None or public_url(kept.url) != public_url(url):
        return url
    return database.with_password(url, password_of(kept.url))
