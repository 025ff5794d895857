"""Real repositories for tests of workspaces, and a team that has workspaces in one."""

import os
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from muster.engine.dispatcher import Dispatcher
from muster.machines.events import Event, Fact
from muster.machines.ids import MUSTER, SessionId, WorkspaceId
from muster.machines.state import Agent, Workspace
from muster.store.memory import MemoryStore
from muster.testing.clock import ManualClock
from muster.workspaces.cleaning import WorkspaceCleaner
from muster.workspaces.rules import WorkspaceRules
from muster.workspaces.service import Workspaces
from tests.builders import ADA, BEN, a_dispatcher, a_feed, with_program

MAIN = "main"


def git(folder: Path, *arguments: str) -> str:
    """Run git as a person or an agent would, and return its output."""
    environment = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    environment |= {
        "GIT_AUTHOR_NAME": "Somebody",
        "GIT_AUTHOR_EMAIL": "somebody@example.test",
        "GIT_COMMITTER_NAME": "Somebody",
        "GIT_COMMITTER_EMAIL": "somebody@example.test",
    }
    line = ["git", "-c", "advice.detachedHead=false", *arguments]
    done = subprocess.run(line, cwd=folder, env=environment, check=True, capture_output=True)
    return os.fsdecode(done.stdout).rstrip("\n")


def a_repository(folder: Path, **files: str) -> Path:
    """A repository with one commit on `main`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch", MAIN)
    for name, text in (files or {"app.py": "one\ntwo\nthree\n"}).items():
        (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "First")
    return folder


class Workshop:
    """A team of Ada and Ben, each with a worktree of one repository."""

    def __init__(
        self, top: Path, home: Path, dispatcher: Dispatcher, store: MemoryStore, service: Workspaces
    ) -> None:
        """Hold the parts."""
        self.top = top
        self.home = home
        self.dispatcher = dispatcher
        self.store = store
        self.service = service

    async def enter(self, seat: int = ADA) -> Path:
        """The worktree of an agent, as its session gets it."""
        worktree = await self.service.of_agent(
            self.dispatcher.team.agents[ADA if seat == ADA else BEN]
        )
        assert worktree is not None
        return worktree.cwd

    def workspace(self, name: str = "Ada") -> Workspace:
        """A workspace as the log has it."""
        return self.dispatcher.team.workspaces[WorkspaceId(name)]

    async def react(self, fact: Fact) -> None:
        """Look after the workspaces, as after this fact."""
        clock, store = ManualClock(), self.store
        cleaner = WorkspaceCleaner(
            self.service, store, a_feed(store, self.dispatcher), self.dispatcher, clock
        )
        event = Event(1, clock.now(), SessionId("boot-1"), MUSTER, None, fact)
        await cleaner.react(event, self.dispatcher.team)

    async def restarted(self) -> "Workshop":
        """The same team in another muster process."""
        return Workshop(
            self.top,
            self.home,
            self.dispatcher,
            self.store,
            Workspaces(self.dispatcher, self.home, rules_for(self.top)),
        )


def rules_for(top: Path) -> WorkspaceRules:
    """Every agent and every task has a worktree."""

    def everywhere(agent: Agent) -> Path:
        return top

    return WorkspaceRules(agents=everywhere, tasks=everywhere, folders=everywhere)


@asynccontextmanager
async def a_workshop(folder: Path, top: Path | None = None) -> AsyncGenerator[Workshop]:
    """A team with workspaces."""
    top = top or a_repository(folder / "project")
    home, store = folder / "home", MemoryStore()
    dispatcher = await a_dispatcher(store, ManualClock())
    await with_program(dispatcher, "Ada")
    await with_program(dispatcher, "Ben")
    service = Workspaces(dispatcher, home, rules_for(top))
    try:
        yield Workshop(top, home, dispatcher, store, service)
    finally:
        service.close()
