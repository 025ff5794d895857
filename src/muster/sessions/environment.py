"""The folder, the git worktree and the environment variables of a session."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from muster.engine.fencing import NO_FENCE, Fence
from muster.machines.ids import ConversationId, SessionId
from muster.machines.state import Agent
from muster.machines.vocabulary import RunMode
from muster.sessions.session_tokens import SessionTokens

AGENTS_FOLDER: Final = "agents"


class Worktree(NamedTuple):
    """A git worktree that a session works in."""

    root: Path
    cwd: Path
    """The folder in it that stands for the one that the settings name."""

    branch: str


class WorktreeProvider(Protocol):
    """Makes the worktrees of sessions, where the settings say so."""

    async def of_agent(self, agent: Agent) -> Worktree | None:
        """The worktree of an agent. Raises `CannotMakeWorkspace`."""
        ...

    def has_task_worktree(self, agent: Agent) -> bool:
        """Whether the tasks of an agent have worktrees of their own."""
        ...

    async def of_task(self, conversation: ConversationId, agent: Agent) -> Worktree | None:
        """The worktree of a conversation. Raises `CannotMakeWorkspace`."""
        ...


class SessionEnvironment:
    """Makes the folder path and the environment variables of a team's sessions."""

    def __init__(
        self,
        session_tokens: SessionTokens,
        worktrees: WorktreeProvider | None = None,
        *,
        home: Path | None = None,
        url: str = "",
        fence: Fence = NO_FENCE,
    ) -> None:
        """`home` is the team's home; `url` is the address of its server, if there is one.

        `fence` permits the sessions that run on this node.
        """
        self.fence = fence
        self._worktrees = worktrees
        self._session_tokens = session_tokens
        self._home = home
        self._url = url

    def folder(self, agent: Agent) -> Path | None:
        """The agent's own folder in the home."""
        if self._home is None:
            return None
        return self._home / AGENTS_FOLDER / agent.folder_name

    async def worktree(self, agent: Agent) -> Worktree | None:
        """The git worktree of an agent, made if need be; None where it has none of its own."""
        return None if self._worktrees is None else await self._worktrees.of_agent(agent)

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
            variables["MUSTER_FOLDER"] = str(self._home / AGENTS_FOLDER / agent.folder_name)
        if self._url:
            variables["MUSTER_URL"] = self._url
            variables["MUSTER_TOKEN"] = self._session_tokens.issue(session)
        return variables


def worktree_variables(worktree: Worktree | None) -> Mapping[str, str]:
    """The variables of a session that works in a git worktree of its own."""
    if worktree is None:
        return {}
    return {"MUSTER_WORKTREE": str(worktree.root), "MUSTER_BRANCH": worktree.branch}
