"""Takes a session that was opened before the server over into the team's log.

A session that is opened while no server runs has a log of its own, which the team's dashboard does
not show. The server closes it and opens one like it in its own log: with its mode, its agents and
its choices. Its earlier conversations stay in its own log, which is read beside the team's
(`earlier.py`). A session in which something is being worked on is left as it is.
"""

from pathlib import Path

import msgspec

from muster.delegation import session_folder
from muster.delegation.requests import Requests
from muster.delegation.visiting import OnDemandLogProvider, team_in
from muster.errors import HomeInUse, Refused
from muster.machines.state import Delegation, Team

CONTINUED = "continued by the server"


class TakenOver(msgspec.Struct, frozen=True, kw_only=True):
    """A session that goes on in the team's log."""

    before: Path
    """The folder with its earlier conversations."""

    path: str
    """Its folder from now on."""


async def take_over(
    requests: Requests, team: Team, log_provider: OnDemandLogProvider, *, actor: str
) -> TakenOver | None:
    """Continue the session with this log; None if it is closed, busy or cannot be moved."""
    found = team_in(log_provider.home)
    if found is None or found.delegation.mode is None or team.delegation.mode is not None:
        return None
    before = found.delegation
    agents = _own_folders(before, requests.project)
    try:
        for folder in agents:
            requests.inside(folder)
        if before.conversations:
            return None
        await session_folder.end(log_provider, actor=actor, reason=CONTINUED)
    except (HomeInUse, Refused):  # `muster ask` runs there, or its agents are not the project's
        return None
    opened = await requests.open_session(
        mode=before.mode,
        path=None,
        agents=agents,
        actor=actor,
        earlier=before.choices,
        continues=session_folder.Predecessor(str(log_provider.root), before.opened),
    )
    return TakenOver(before=log_provider.root, path=opened.delegation.path)


def _own_folders(delegation: Delegation, project: Path) -> tuple[str, ...]:
    """The folders of agents that were given with `--agents`."""
    usual = session_folder.folders_of((), project=project, user=Path.home())
    return tuple(each for each in delegation.folders if Path(each) not in usual)
