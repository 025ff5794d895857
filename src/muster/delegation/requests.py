"""Requests of people to a state machine session; any number of them can run at once.

All paths in a request lie in the project: the folder that holds the team's home.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from muster.delegation import session_folder
from muster.delegation.agent_folders import agents_of, find_agents
from muster.delegation.assignments import BY_PERSON, Nesting
from muster.delegation.conversations import Conversations
from muster.delegation.policy import policy_of
from muster.delegation.queue import QueueRunner
from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.ports import Clock
from muster.errors import Closed, Invalid, PathTaken
from muster.machines.ids import ConversationId, WorkspaceId
from muster.machines.state import Delegation, RememberedChoice
from muster.machines.vocabulary import NO_LIMIT, Allowance, DelegationMode
from muster.routing.agent_files import AgentFile, AgentFolders, Warned
from muster.views.conversations import ConversationView


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was opened or resumed."""

    delegation: Delegation
    resumed: bool
    warnings: Sequence[Warned]


class Requests:
    """Takes requests, and returns their results; opens and closes sessions."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        clock: Clock,
        conversations: Conversations,
        queue: QueueRunner,
        *,
        project: Path,
        allowance: Callable[[], Allowance] = lambda: NO_LIMIT,
    ) -> None:
        """`allowance` is the budget of each conversation in sessions that are opened here."""
        self._dispatcher = dispatcher
        self._clock = clock
        self.conversations = conversations
        self.queue = queue
        self.project = project
        self._allowance = allowance
        self._waiting: set[asyncio.Event] = set()

    def close(self) -> None:
        """Fail requests that wait for an answer: muster is stopping."""
        for each in self._waiting:
            each.set()
        self.queue.close()

    async def ask(
        self,
        text: str,
        *,
        speaker: str,
        to: str | None = None,
        wait: bool = True,
        key: str | None = None,
        nesting: Nesting = BY_PERSON,
        workspace: WorkspaceId | None = None,
    ) -> ConversationView:
        """Open a conversation for a request; a retry with its key gets the same conversation.

        With `workspace`, it goes on in that one.

        With `wait`, return when it is closed or in the queue; without, at once. An ambiguous
        request opens none; it is refused with the agents to choose from.
        """
        begun = await self.conversations.begin(
            text,
            speaker=speaker,
            to=to,
            key=key,
            asks=True,
            nesting=nesting,
            workspace=workspace,
        )
        if wait and self._dispatcher.team.delegation.mode is not DelegationMode.RESPONSE:
            await self._closed(begun.conversation)
        return (await self.conversations.views(after=begun.seq - 1))[begun.conversation]

    async def _closed(self, conversation: ConversationId) -> None:
        closed = asyncio.Event()
        self._waiting.add(closed)

        def look(commit: Commit | None = None) -> None:
            if conversation not in self._dispatcher.team.delegation.conversations:
                closed.set()

        self._dispatcher.watch(look)
        try:
            look()
            await closed.wait()
        finally:
            self._waiting.discard(closed)
            self._dispatcher.unwatch(look)
        if conversation in self._dispatcher.team.delegation.conversations:
            raise Closed()

    # ── sessions ──────────────────────────────────────────────────────────────────────────────────

    async def open_session(
        self,
        *,
        mode: DelegationMode | None,
        path: str | None,
        agents: Sequence[str],
        actor: str,
        key: str | None = None,
        earlier: Sequence[RememberedChoice] = (),
        continues: session_folder.Predecessor = session_folder.NOTHING_BEFORE,
    ) -> Opened:
        """Open a session in a folder of the project, or resume the one that is open there.

        A team without choices of its own takes over the `earlier` ones.
        """
        given = [self.inside(folder) for folder in agents]
        found = await self._found(given)
        new = session_folder.new_path(self.project, self._clock.wall())
        root, log_provider = self.inside(path or str(new)), self.conversations.log_provider
        if session_folder.has_session(root):
            raise PathTaken(path=root, why="has a log of its own")
        if self._dispatcher.team.delegation.path != str(root):
            session_folder.prepare(root, ours=await session_folder.was_here(log_provider, root))
        delegation, resumed = await session_folder.start(
            log_provider,
            root=root,
            mode=mode,
            agents=found.agents,
            folders=session_folder.folders_of(given, project=self.project, user=Path.home()),
            policy=policy_of(root),
            actor=actor,
            key=key,
            allowance=self._allowance(),
            earlier=earlier,
            continues=continues,
        )
        return Opened(delegation=delegation, resumed=resumed, warnings=found.warnings)

    async def end_session(self, *, actor: str, key: str | None = None) -> None:
        """Close the session and all its open conversations."""
        await session_folder.end(self.conversations.log_provider, actor=actor, key=key)

    async def agents(self, folders: Sequence[str]) -> Sequence[AgentFile]:
        """The agents in these folders of the project; without any, those of the session."""
        delegation = self._dispatcher.team.delegation
        if not folders and delegation.mode is not None:
            root = self.conversations.log_provider.folder(self._dispatcher.team).root
            return list((await asyncio.to_thread(agents_of, delegation, root)).values())
        given = [self.inside(folder) for folder in folders]
        found = await self._found(given)
        return found.agents if not given else await asyncio.to_thread(self._inside_of, found.agents)

    def _inside_of(self, agents: Sequence[AgentFile]) -> Sequence[AgentFile]:
        """The agents whose files lie in the project: a link in it may lead to any other file."""
        project = self.project.resolve()
        return [each for each in agents if each.path.resolve().is_relative_to(project)]

    async def _found(self, folders: Sequence[Path]) -> AgentFolders:
        """The agents in folders, read in a thread: a slow disk must not block the event loop."""
        return await asyncio.to_thread(find_agents, folders, project=self.project, user=Path.home())

    def inside(self, folder: str) -> Path:
        """The absolute path of a folder, which must lie in the project."""
        try:
            path = (self.project / folder).resolve()
            path.exists()
        except (OSError, ValueError) as wrong:  # too long, or a NUL byte in it
            raise Invalid(what="the path", why=f"cannot be: {wrong}") from wrong
        if not path.is_relative_to(self.project.resolve()):
            raise PathTaken(path=folder, why="is outside of the project")
        return path
