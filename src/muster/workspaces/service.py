"""The workspaces of a team: made before sessions, merged and discarded by people, cleaned up.

A step is a fact, then git, then a fact about the result. All steps in one repository come one after
the other; a step that has no result when its turn comes belongs to an earlier muster process, and
is settled by what git says (`settle`).
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from muster.engine.dispatcher import Dispatcher
from muster.engine.tasks import run_to_completion
from muster.errors import CannotChangeWorkspace, CannotMakeWorkspace, GitFailed, MusterError
from muster.limits import GIT_WRITE_SECONDS
from muster.machines import commands as c
from muster.machines.ids import MUSTER, ConversationId, SeatId, WorkspaceId
from muster.machines.state import Agent, Team, Workspace
from muster.machines.vocabulary import WorkspaceState, WorkspaceStep
from muster.sessions.environment import Worktree
from muster.workspaces import merging, worktrees
from muster.workspaces.git import Git, is_being_written
from muster.workspaces.merging import Author, NotDoneError
from muster.workspaces.reading import count_changes, is_unmerged, is_whole, place_of
from muster.workspaces.repository import NoRepositoryError, Repository, find_repository
from muster.workspaces.rules import WorkspaceRules, open_workspace, task_name

THREADS: Final = 4
"""git commands that run at once: they wait for the disk, and sessions need the cores."""

_POLL_SECONDS: Final = 0.1
"""Between two looks at a git command that a killed muster left behind. It tells nobody its end."""

INTERRUPTED: Final = "muster ended before it was done"
DISCARDED: Final = "discarded by {who}"

P = ParamSpec("P")
T = TypeVar("T")


class Workspaces:
    """Makes, merges, rebases and removes the worktrees of one team."""

    def __init__(self, dispatcher: Dispatcher, home: Path | None, rules: WorkspaceRules) -> None:
        """Keep worktrees in `home`."""
        self._dispatcher = dispatcher
        self.home = home
        self._folder = None if home is None else home.absolute() / worktrees.FOLDER
        self.rules = rules
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="git")
        self.locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def close(self) -> None:
        """Let no further git command start; one that runs goes on."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def in_thread(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run git in a thread of its own kind."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: call(*args, **kwargs))

    @property
    def team(self) -> Team:
        """The committed team."""
        return self._dispatcher.team

    # ── before a session ──────────────────────────────────────────────────────────────────────────

    async def of_agent(self, agent: Agent) -> Worktree | None:
        """The worktree of an agent, made if need be; None where it works in the shared folder."""
        folder = self.rules.agents(agent)
        if folder is None:
            return None
        found = open_workspace(self.team, seat=agent.seat)
        return await self._made(found, agent.id, agent.folder_name, folder, seat=agent.seat)

    def has_task_worktree(self, agent: Agent) -> bool:
        """Whether the tasks of an agent have worktrees of their own."""
        return self.rules.tasks(agent) is not None

    async def of_task(self, conversation: ConversationId, agent: Agent) -> Worktree | None:
        """The worktree of a task, made if need be; None where it works in its outputs alone."""
        folder = self.rules.tasks(agent)
        if folder is None:
            return None
        if not self.rules.is_served:
            remedy = 'Start one with `muster up`, or set workspace = "shared".'
            raise CannotMakeWorkspace(
                name=conversation, folder=folder, why="no muster server runs", remedy=remedy
            )
        found = open_workspace(self.team, conversation=conversation)
        wanted = task_name(conversation)
        return await self._made(found, agent.id, wanted, folder, conversation=conversation)

    async def _made(
        self,
        found: Workspace | None,
        agent: str,
        wanted: str,
        folder: Path,
        *,
        seat: SeatId | None = None,
        conversation: ConversationId | None = None,
    ) -> Worktree:
        try:
            repository = await self.in_thread(find_repository, folder)
            async with self.locks[str(repository.top)]:
                kept = None if found is None else await self.settle(found)
                if kept is None:
                    planned = await self._plan(repository, wanted, agent, seat, conversation)
                    await self._make(repository, planned)
                    kept = self.team.workspaces[planned.workspace]
        except (NoRepositoryError, GitFailed) as failed:
            remedy = getattr(failed, "remedy", "Correct that, and start it again.")
            why = str(failed.found["why"]) if isinstance(failed, GitFailed) else str(failed)
            raise CannotMakeWorkspace(name=agent, folder=folder, why=why, remedy=remedy) from failed
        root = Path(kept.folder)
        if not await self.in_thread(root.is_dir):
            remedy = f"`muster workspace discard {kept.id} --force` removes what is left of it."
            raise CannotMakeWorkspace(
                name=agent, folder=folder, why=f"its worktree {root} is gone", remedy=remedy
            )
        return Worktree(root, root / repository.inside, kept.branch)

    async def _plan(
        self,
        repository: Repository,
        wanted: str,
        agent: str,
        seat: SeatId | None,
        conversation: ConversationId | None,
    ) -> c.PlanWorkspace:
        if self._folder is None:
            raise NoRepositoryError("the team has no home", 'Set workspace = "shared".')
        taken = [
            each.id
            for each in self.team.workspaces.values()
            if each.state is not WorkspaceState.CLOSED
        ]
        free = worktrees.free_name
        name = await self.in_thread(free, wanted, repository.git, self._folder, taken)
        planned = c.PlanWorkspace(
            workspace=WorkspaceId(name),
            repository=str(repository.top),
            folder=str(self._folder / name),
            branch=f"{worktrees.PREFIX}{name}",
            base=repository.commit,
            target=repository.branch,
            seat=seat,
            conversation=conversation,
            agent_name=agent,
        )
        await self._dispatcher.send(planned, actor=MUSTER)
        return planned

    async def _make(self, repository: Repository, plan: c.PlanWorkspace) -> None:
        folder = Path(plan.folder)
        try:
            git_dir = await self.in_thread(
                worktrees.make, repository, folder, plan.branch, plan.base
            )
        except Exception as failed:
            await self._undo(plan.workspace, str(failed))
            raise
        made = c.ReportWorkspaceMade(workspace=plan.workspace, git_dir=str(git_dir))
        await self._dispatcher.send(made, actor=MUSTER)

    async def _undo(self, name: WorkspaceId, why: str) -> None:
        """Remove what there is of a worktree that was not made."""
        half = self.team.workspaces[name]
        await self.in_thread(
            worktrees.undo, Path(half.repository), Path(half.folder), half.branch, half.base
        )
        removed = c.ReportWorkspaceRemoved(workspace=name, reason=why)
        await self._dispatcher.send(removed, actor=MUSTER)

    # ── what people decide ────────────────────────────────────────────────────────────────────────

    async def merge(
        self, name: WorkspaceId, *, actor: str, key: str | None = None, into: str = ""
    ) -> None:
        """Merge a workspace into a branch. A conflict changes nothing, and is raised."""
        await run_to_completion(self._step(name, WorkspaceStep.MERGE, into, actor, key))

    async def rebase(
        self, name: WorkspaceId, *, actor: str, key: str | None = None, onto: str = ""
    ) -> None:
        """Rebase a workspace onto a branch. A conflict changes nothing, and is raised."""
        await run_to_completion(self._step(name, WorkspaceStep.REBASE, onto, actor, key))

    async def _step(
        self, name: WorkspaceId, step: WorkspaceStep, branch: str, actor: str, key: str | None
    ) -> None:
        async with self.locks[self.team.workspace(name).repository]:
            workspace = self.team.workspace(name)
            branch = branch or workspace.target or await self.in_thread(_branch_of, workspace)
            if not branch:
                why = f"{workspace.repository} is on no branch"
                raise _cannot(workspace, step, why, "Check out a branch there, or name one.")
            begun = c.BeginWorkspaceStep(workspace=name, step=step, branch=branch)
            await self._dispatcher.send(begun, actor=actor, key=key)
            try:
                report = await self._carried_out(workspace, step, branch)
            except (NotDoneError, MusterError) as failed:
                await self._report_failure(workspace, failed)
                raise _told(workspace, step, failed) from failed
            await self._dispatcher.send(report, actor=MUSTER)

    async def _carried_out(
        self, workspace: Workspace, step: WorkspaceStep, branch: str
    ) -> c.ReportWorkspaceStep:
        place, author = place_of(workspace), Author(workspace.agent_name, self.team.human)
        if step is WorkspaceStep.REBASE:
            commit = await self.in_thread(merging.rebase, place, branch, author)
            return c.ReportWorkspaceStep(workspace=workspace.id, commit=commit)
        changes = await self.in_thread(count_changes, workspace, branch)
        commit = await self.in_thread(merging.merge, place, branch, author)
        return c.ReportWorkspaceStep(workspace=workspace.id, commit=commit, changes=changes)

    async def _report_failure(self, workspace: Workspace, failed: Exception) -> None:
        files = failed.files if isinstance(failed, NotDoneError) else ()
        failure = c.ReportWorkspaceStep(workspace=workspace.id, failure=str(failed), files=files)
        await self._dispatcher.send(failure, actor=MUSTER)

    async def discard(
        self, name: WorkspaceId, *, actor: str, key: str | None = None, force: bool = False
    ) -> None:
        """Remove a workspace. Unmerged work is removed only with `force`."""
        await run_to_completion(self._discard(name, actor, key, force=force))

    async def _discard(
        self, name: WorkspaceId, actor: str, key: str | None, *, force: bool
    ) -> None:
        async with self.locks[self.team.workspace(name).repository]:
            workspace = self.team.workspace(name)
            begun = c.BeginWorkspaceStep(
                workspace=name, step=WorkspaceStep.DISCARD, branch=workspace.target, force=force
            )
            await self._dispatcher.send(begun, actor=actor, key=key)
            try:
                await self.remove(workspace, _discarded_by(self.team, actor), force=force)
            except (NotDoneError, MusterError) as failed:
                await self._report_failure(workspace, failed)
                raise _told(workspace, WorkspaceStep.DISCARD, failed) from failed

    async def remove(self, workspace: Workspace, reason: str, *, force: bool) -> None:
        """Remove a worktree and its branch, and record the last commit of unmerged work."""
        commit, unmerged = "", await self.in_thread(is_unmerged, workspace)
        if unmerged and not force:
            remedy = "Merge it, or discard it with force."
            raise NotDoneError("it has work that is not merged", remedy)
        if unmerged:
            author = Author(workspace.agent_name, self.team.human)
            commit = await self.in_thread(_last_commit, workspace, author)
        folder = Path(workspace.folder)
        if self._folder is None or folder.parent != self._folder:
            raise NotDoneError(f"{folder} is not a folder of muster", "Remove it yourself.")
        await self.in_thread(worktrees.remove, Path(workspace.repository), folder, workspace.branch)
        removed = c.ReportWorkspaceRemoved(workspace=workspace.id, reason=reason, commit=commit)
        await self._dispatcher.send(removed, actor=MUSTER)

    # ── after a crash ─────────────────────────────────────────────────────────────────────────────

    async def settle(self, workspace: Workspace) -> Workspace | None:
        """The workspace as it is, after a step that an earlier muster process did not end.

        None if there is none any more. The caller has the lock of the repository.
        """
        workspace = self.team.workspaces.get(workspace.id) or workspace
        if workspace.state not in (WorkspaceState.OPEN, WorkspaceState.CLOSED):
            await self._outlast_git(workspace)
        match workspace.state:
            case WorkspaceState.MAKING:
                await self._undo(workspace.id, INTERRUPTED)
            case WorkspaceState.MERGING | WorkspaceState.REBASING:
                report = await self.in_thread(_interrupted, workspace)
                await self._dispatcher.send(report, actor=MUSTER)
            case WorkspaceState.DISCARDING:
                await self._settle_discard(workspace)
            case WorkspaceState.OPEN | WorkspaceState.CLOSED:
                pass
        after = self.team.workspaces.get(workspace.id)
        return after if after is not None and after.state is WorkspaceState.OPEN else None

    async def _outlast_git(self, workspace: Workspace) -> None:
        """Wait until the git command of a killed muster has ended: its result is what counts."""
        folders = (Path(workspace.folder), Path(workspace.repository))
        for _ in range(int(GIT_WRITE_SECONDS / _POLL_SECONDS)):
            if not any([await self.in_thread(is_being_written, each) for each in folders]):
                return
            await asyncio.sleep(_POLL_SECONDS)
        raise GitFailed(folder=folders[0], why="a git command of an earlier muster still runs")

    async def _settle_discard(self, workspace: Workspace) -> None:
        """End a discard. A worktree in its place was not touched by it: then it is not done."""
        try:
            if await self.in_thread(is_whole, workspace):
                raise NotDoneError(INTERRUPTED)
            await self.remove(workspace, INTERRUPTED, force=workspace.force)
        except NotDoneError as failed:
            await self._report_failure(workspace, failed)


def _interrupted(workspace: Workspace) -> c.ReportWorkspaceStep:
    """The result of a merge or a rebase that an earlier muster process began."""
    place, branch = place_of(workspace), workspace.into
    if workspace.state is WorkspaceState.REBASING:
        merging.abort_rebase(place)
        is_done = merging.is_rebased(place, branch)
    else:
        is_done = merging.is_merged(place, branch)
    if not is_done:
        return c.ReportWorkspaceStep(workspace=workspace.id, failure=INTERRUPTED)
    ref = branch if workspace.state is WorkspaceState.MERGING else place.branch
    git = Git(place.repository)
    commit = git.run("rev-parse", f"refs/heads/{ref}^{{commit}}").text
    return c.ReportWorkspaceStep(workspace=workspace.id, commit=commit)


def _branch_of(workspace: Workspace) -> str:
    """The branch that a person has checked out."""
    git = Git(Path(workspace.repository))
    return git.run("symbolic-ref", "--quiet", "HEAD").text.removeprefix("refs/heads/")


def _last_commit(workspace: Workspace, author: Author) -> str:
    """Commit what is in a worktree as far as that works, so that it can be restored for a while."""
    place = place_of(workspace)
    try:
        return merging.commit_all(place, author)
    except (NotDoneError, GitFailed):
        git = Git(place.repository)
        found = git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{place.branch}")
        return found.text if found.code == 0 else ""


def _discarded_by(team: Team, actor: str) -> str:
    return DISCARDED.format(who=actor.partition(":")[2] or team.human)


def _told(workspace: Workspace, step: WorkspaceStep, failed: Exception) -> CannotChangeWorkspace:
    """The refusal for a person."""
    if isinstance(failed, CannotChangeWorkspace):
        return failed
    remedy = failed.remedy if isinstance(failed, NotDoneError) else ""
    return _cannot(workspace, step, str(failed).rstrip("."), remedy)


def _cannot(
    workspace: Workspace, step: WorkspaceStep, why: str, remedy: str
) -> CannotChangeWorkspace:
    return CannotChangeWorkspace(step=step, workspace=workspace.id, why=why, remedy=remedy)
