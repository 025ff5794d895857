"""Where a session finds itself: its folder, and the variables that tell it who it is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from muster.machines.ids import SessionId
from muster.machines.state import Agent
from muster.machines.vocabulary import RunMode
from muster.sessions.session_tokens import Passes

AGENTS_FOLDER: Final = "agents"


class SessionEnvironment:
    """What every session of a team is given besides its prompt."""

    def __init__(self, passes: Passes, *, home: Path | None = None, url: str = "") -> None:
        """A team in this home, whose server answers at this address, where there is one."""
        self._passes = passes
        self._home = home
        self._url = url

    def folder(self, agent: Agent) -> Path | None:
        """The agent's own folder in the home."""
        if self._home is None:
            return None
        return self._home / AGENTS_FOLDER / (agent.name or f"seat-{agent.seat}")

    def environment(self, agent: Agent, session: SessionId, mode: RunMode) -> Mapping[str, str]:
        """The variables of a session. Its pass is good for this session and no longer."""
        variables = {
            "MUSTER_AGENT": agent.id,
            "MUSTER_SEAT": str(agent.seat),
            "MUSTER_SESSION": session,
            "MUSTER_MODE": mode.value,
        }
        if self._home is not None:
            variables["MUSTER_HOME"] = str(self._home)
        if self._url:
            variables["MUSTER_URL"] = self._url
            variables["MUSTER_TOKEN"] = self._passes.issue(session)
        return variables
