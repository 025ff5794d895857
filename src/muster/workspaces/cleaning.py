"""Looks after workspaces when work in them ends: counts what they change, and cleans up.

A workspace whose task is done or whose agent is retired is removed, unless it has unmerged work. At
the start of muster every step that an earlier process did not end is settled.
"""

import logging
from typing import Final

from muster.engine.dispatcher import Dispatcher
from muster.engine.feed import Feed
from muster.engine.ports import Clock
from muster.engine.reactors import Runner
from muster.errors import MusterError
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Event, Fact
from muster.machines.ids import MUSTER, WorkspaceId
from muster.machines.state import Team, Workspace
from muster.machines.vocabulary import WorkspaceState, WorkspaceStep
from muster.store.base import EventStore
from muster.workspaces.merging import NotDoneError
from muster.workspaces.reading import count_changes, is_unmerged
from muster.workspaces.rules import is_over
from muster.workspaces.service import Workspaces

MERGED: Final = "merged"
EMPTY: Final = "nothing was changed"

ENDS: Final = (
    e.MusterStarted,
    e.SessionEnd,
    e.ConversationEnd,
    e.WorkspaceMerged,
    e.AgentRetired,
)
"""Facts after which a workspace may be no longer needed."""

log = logging.getLogger(__name__)


class WorkspaceCleaner:
    """Counts and cleans up the workspaces of a team."""

    name = "workspaces"
    types = frozenset(str(fact.__struct_config__.tag) for fact in ENDS)

    def __init__(
        self,
        workspaces: Workspaces,
        store: EventStore,
        feed: Feed,
        dispatcher: Dispatcher,
        clock: Clock,
    ) -> None:
        """Follow the log from where the last muster process was."""
        self._workspaces = workspaces
        self._dispatcher = dispatcher
        self._runner = Runner(self, store, feed, dispatcher, clock)

    async def run(self) -> None:
        """Follow the log until it is closed."""
        await self._runner.run()

    async def close(self) -> None:
        """Let no further git command start."""
        self._workspaces.close()

    async def react(self, event: Event, team: Team) -> None:
        """Look after the workspaces that an event may end the work in."""
        for workspace in concerned(self._workspaces.team, event.fact):
            try:
                async with self._workspaces.locks[workspace.repository]:
                    await self._look_after(workspace.id)
            except (MusterError, NotDoneError) as failed:
                extra = {"action": "workspace_failed", "workspace": workspace.id}
                log.warning("workspace %s: %s", workspace.id, failed, extra=extra)

    async def _look_after(self, name: WorkspaceId) -> None:
        service = self._workspaces
        found = service.team.workspaces.get(name)
        workspace = None if found is None else await service.settle(found)
        if workspace is None:
            return
        changes = await service.in_thread(count_changes, workspace, workspace.target)
        counted = c.ReportWorkspaceChanges(workspace=name, changes=changes)
        await self._dispatcher.send(counted, actor=MUSTER)
        if not is_over(service.team, workspace):
            return
        if not await service.in_thread(is_unmerged, workspace):
            begun = c.BeginWorkspaceStep(workspace=name, step=WorkspaceStep.DISCARD)
            await self._dispatcher.send(begun, actor=MUSTER)
            await service.remove(workspace, MERGED if workspace.merged else EMPTY, force=False)


def concerned(team: Team, fact: Fact) -> list[Workspace]:
    """The workspaces that a fact may end the work in."""
    found = [w for w in team.workspaces.values() if w.state is not WorkspaceState.CLOSED]
    match fact:
        case e.WorkspaceMerged(workspace=name):
            return [each for each in found if each.id == name]
        case e.ConversationEnd(conversation=conversation):
            return [each for each in found if each.conversation == conversation]
        case e.AgentRetired(seat=seat):
            return [each for each in found if each.seat == seat]
        case e.SessionEnd(seats=seats):
            return [each for each in found if each.seat in seats]
        case _:
            return found
