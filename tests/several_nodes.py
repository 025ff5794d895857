"""Homes of one team on several nodes: each is a machine of its own, with the log in PostgreSQL."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from muster.home.database import TeamDatabase, keep
from muster.home.folder import make_home
from muster.store.opening import begin_team
from tests.postgres import a_database, new_team
from tests.waits import WAIT_SECONDS

LEASE_SECONDS = 3.0
"""The shortest lease: a node that was killed is given up soon."""


def new_team_in_database() -> TeamDatabase:
    """A new team. It is begun in a thread of its own: while a browser is driven from this one, a
    loop runs in it."""
    kept = TeamDatabase(url=a_database().url, team=new_team())
    with ThreadPoolExecutor(1) as thread:
        begun = thread.submit(lambda: asyncio.run(begin_team(kept, is_new=True)))
        begun.result(WAIT_SECONDS)
    return kept


def node_home(folder: Path, name: str, kept: TeamDatabase, settings: str, node: str = "") -> Path:
    """A home of a team as the node `name`; `node` has further lines of its `[node]` table."""
    home = folder / name / ".muster"
    make_home(home)
    keep(home, kept)
    table = f'[node]\nname = "{name}"\nlease_seconds = {LEASE_SECONDS}\n{node}\n'
    (home / "muster.toml").write_text(table + settings, encoding="utf-8")
    return home
