"""Shared by the reading verbs: the clock, the running server, and finding an agent."""

import os
from datetime import UTC, datetime
from pathlib import Path

from muster.errors import NotFound
from muster.home import address
from muster.home.lock import running_pid
from muster.machines.identity.crew import retired_as
from muster.machines.ids import name_key, seat_in
from muster.machines.state import Agent, Team


def now() -> datetime:
    """The wall clock, for ages and countdowns."""
    # the Clock port's implementation would load asyncio, and a reading verb must start fast
    return datetime.now(UTC)  # noqa: TID251


def running(home: Path) -> address.Address | None:
    """The server that runs in the home, or None; a stale address file is ignored.

    An agent's program that does not see the home knows it from its environment.
    """
    pid = running_pid(home)
    if pid is None:
        return address.of_session(home, os.environ)
    published = address.find(home)
    if published is not None and published.pid == pid:
        return published
    return address.Address(url="", pid=pid)


def find_agent(team: Team, word: str) -> Agent | None:
    """Find an agent by name, by the number of its seat or by its document. A retired one has its
    name until another agent takes it."""
    seat = team.names.get(name_key(word))
    if seat is None:
        seat = seat_in(word)
    found = None if seat is None else team.agents.get(seat)
    return found or retired_as(team, word)


def need_agent(team: Team, word: str) -> Agent:
    """Find an agent by name or seat, or raise `NotFound`."""
    found = find_agent(team, word)
    if found is None:
        raise NotFound(kind="agent", name=word)
    return found
