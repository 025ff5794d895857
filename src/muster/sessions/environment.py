"""The folder and the environment variables of a session."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from muster.machines.ids import SessionId
from muster.machines.state import Agent
from muster.machines.vocabulary import RunMode
from muster.sessions.session_tokens import SessionTokens

AGENTS_FOLDER: Final = "agents"


class SessionEnvironment:
    """Makes the folder path and the environment variables of a team's sessions."""

    def __init__(
        self, session_tokens: SessionTokens, *, home: Path | None = None, url: str = ""
    ) -> None:
        """`home` is the team's home; `url` is the address of its server, if there is one."""
        self._session_tokens = session_tokens
        self._home = home
        self._url = url

    def folder(self, agent: Agent) -> Path | None:
        """The agent's own folder in the home."""
        if self._home is None:
            return None
        return self._home / AGENTS_FOLDER / agent.folder_name

    @property
    def guarded(self) -> tuple[Path, ...]:
        """The folders that confined sessions never write, apart from their own."""
        return () if self._home is None else (self._home,)

    def environment(self, agent: Agent, session: SessionId, mode: RunMode) -> Mapping[str, str]:
        """The environment variables of a session. Its token is valid until the session ends."""
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
            variables["MUSTER_TOKEN"] = self._session_tokens.issue(session)
        return variables
