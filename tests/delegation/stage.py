"""A state machine session in a folder, with real small programs as its agents."""

import sys
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from muster.app import open_team
from muster.delegation import session_folder
from muster.delegation.agent_folders import read_agents
from muster.delegation.conversations import Conversations
from muster.delegation.folder.workspace import files_of
from muster.delegation.following.owner import IsAlive, assume_alive
from muster.delegation.visiting import OnDemandLogProvider
from muster.engine import ports
from muster.engine.ports import Clock
from muster.errors import FolderBehind
from muster.machines.events import Event, Fact
from muster.machines.ids import person
from muster.machines.vocabulary import DelegationMode
from muster.permissions.policy import DEFAULT, Policy
from muster.runtimes.catalog import TaskRuntimeCatalog
from muster.settings.agents import AgentSettings
from muster.settings.in_force import SettingsInForce
from muster.settings.model import DelegationSettings, Settings
from muster.team import Muster
from muster.team_options import DelegationPlan, TeamOptions, no_runtimes
from muster.testing.clock import ManualClock
from muster.testing.ids import CountingIds
from muster.views.conversations import ConversationView
from tests.waits import LIFE_SECONDS, until

MARCUS = "Marcus"


AGENTS = {
    "python-engineer": "Use to write Python scripts, modules and command line programs.",
    "docs-writer": "Use to write documentation, guides and READMEs.",
    "sql-tuner": "Use for slow SQL queries, indexes and query plans.",
}

PYTHON = "Write a hello world Python script"
DOCS = "Write the documentation and the README"
SQL = "Tune this slow SQL query and its indexes"
EITHER = "Write a Python guide"
"""A request for python-engineer or for docs-writer."""

HELLO = """
open("hello_world.py", "w").write("print('Hello, World!')\\n")
print("I wrote hello_world.py.")
"""


def agent_file(folder: Path, name: str, description: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: {name}\ndescription: {description}\n---\nYou are careful.\n"
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def number_in(path: Path) -> int:
    """The number that a program writes into a file; waits for it, up to a timeout."""
    until(path.exists)
    return int(path.read_text())


class Stage:
    """One session with its log, folder, project, agents and settings."""

    def __init__(
        self,
        base: Path,
        program: str = HELLO,
        *,
        own: dict[str, str] | None = None,
        task_seconds: float = LIFE_SECONDS,
        command: tuple[str, ...] = (),
        clock: Clock | None = None,
        is_alive: IsAlive = assume_alive,
        selector: str = "",
    ) -> None:
        """`program` runs every agent that has none of its `own`."""
        self.base = base
        self.root = base / "session"
        self.project = base / "project"
        self.project.mkdir(exist_ok=True)
        for name, description in AGENTS.items():
            agent_file(base / "agents", name, description)
        self.settings = Settings(
            delegation=DelegationSettings(
                runtime="command",
                command=command or (self.command(program) if program else ()),
                selector=selector,
            ),
            agents={
                name: AgentSettings(command=self.command(code))
                for name, code in (own or {}).items()
            },
        )
        self.clock = ManualClock()
        self._used = clock or self.clock
        self._is_alive = is_alive
        self._task_seconds = task_seconds
        self.log_provider = OnDemandLogProvider(
            self.root, clock=self._used, ids=CountingIds(), human=MARCUS
        )
        self.conversations = Conversations(self.log_provider, self._used, is_alive=is_alive)
        self.trouble: FolderBehind | None = None
        self.runtime: ports.Runtime | None = None
        """The runtime of every task, if a test sets one."""

        self.own_runtimes: ports.Runtimes = no_runtimes
        """The runtimes of sessions that are no tasks."""

    def remove(self, agent: str) -> None:
        """Remove the file of an agent."""
        (self.base / "agents" / f"{agent}.md").unlink()

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Muster]:
        """Open the session's log with the whole engine, as `muster ask` does."""
        plan = DelegationPlan(
            runtimes=(lambda _: self.runtime)
            if self.runtime is not None
            else TaskRuntimeCatalog(SettingsInForce(self.settings), self.base / ".muster"),
            task_seconds=lambda: self._task_seconds,
            selector=lambda: self.settings.delegation.selector,
            project=self.project,
            root=self.root,
            is_alive=self._is_alive,
        )
        options = TeamOptions(human=MARCUS, delegation=plan, runtimes=self.own_runtimes)
        async with open_team(self.log_provider.home, options, clock=self._used) as muster:
            yield muster
        self.trouble = muster.requests.conversations.log_provider.trouble

    def command(self, code: str) -> tuple[str, ...]:
        return (sys.executable, "-c", code)

    async def start(
        self,
        mode: DelegationMode | None = DelegationMode.ORCHESTRATOR,
        policy: Policy = DEFAULT,
    ) -> bool:
        session_folder.prepare(self.root)
        folders = [self.base / "agents"]
        _, resumed = await session_folder.start(
            self.log_provider,
            root=self.root,
            mode=mode,
            agents=read_agents(folders).agents,
            folders=folders,
            policy=policy,
            actor=person(MARCUS),
        )
        return resumed

    async def ask(self, text: str, to: str | None = None) -> ConversationView:
        async with self.open() as muster:
            return await muster.requests.ask(text, speaker=MARCUS, to=to)

    async def serve_queue(self, names: Collection[str] = (), *, until_empty: bool = True) -> int:
        async with self.open() as muster:
            return await muster.requests.queue.carry_out(names, until_empty=until_empty)

    async def end(self) -> None:
        await session_folder.end(self.log_provider, actor=person(MARCUS))

    # ── seeing ────────────────────────────────────────────────────────────────────────────────────

    async def events(self) -> Sequence[Event]:
        """The events that make the folder."""
        async with self.log_provider.access() as session_log:
            return await session_log.history(str(self.root))

    async def facts(self, *kinds: type[Fact]) -> list[Fact]:
        return [event.fact for event in await self.events() if isinstance(event.fact, kinds)]

    def files(self) -> dict[str, bytes]:
        """Every file of the folder, without the log and the outputs."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
            and path.name != ".workspace.json"
            and not {".muster", "outputs"} & set(path.relative_to(self.root).parts)
        }

    async def is_up_to_date(self) -> bool:
        """Whether the folder is what the log says, byte for byte."""
        return self.files() == files_of(await self.events())

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")
