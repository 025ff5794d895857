"""Records what each turn in a worktree changed, when the turn ends."""

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
from muster.machines.ids import MUSTER
from muster.machines.state import Team, Workspace
from muster.machines.vocabulary import Machine, TurnState, WorkspaceState
from muster.store.base import EventStore
from muster.workspaces.cleaning import WorkspaceCleaner
from muster.workspaces.reading import count_changes
from muster.workspaces.service import Workspaces
from muster.workspaces.turns import STEP, record_turn

ENDS: Final = (
    e.StateTransition,
    e.SessionResult,
    e.SessionEnd,
    e.WorkspaceMerged,
    e.WorkspaceRebased,
)
"""Facts after which the files of a worktree are those of the end of a turn."""

BUSY: Final = (TurnState.ACTIVE, TurnState.WAITING)

log = logging.getLogger(__name__)


class TurnRecorder:
    """Records the turns in worktrees."""

    name = "turn_changes"
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
        """Nothing is held."""

    async def react(self, event: Event, team: Team) -> None:
        """Record the turn that an event ends."""
        label = turn_ended(event.fact)
        if label is None:
            return
        for workspace in worked_in(self._workspaces.team, event.fact):
            try:
                async with self._workspaces.locks[workspace.repository]:
                    await self._record(workspace, label)
            except MusterError as failed:
                extra = {"action": "turn_not_recorded", "workspace": workspace.id}
                log.warning("workspace %s: %s", workspace.id, failed, extra=extra)

    async def _record(self, workspace: Workspace, label: str) -> None:
        """Record a turn, and count what it leaves: pages that show the changes hear of it."""
        if await self._workspaces.in_thread(record_turn, workspace, label):
            changes = await self._workspaces.in_thread(count_changes, workspace, workspace.target)
            counted = c.ReportWorkspaceChanges(workspace=workspace.id, changes=changes)
            await self._dispatcher.send(counted, actor=MUSTER)


def turn_ended(fact: Fact) -> str | None:
    """A label for the turn that a fact ends; None where it ends none."""
    match fact:
        case e.StateTransition(machine=Machine.TURNS, channel=channel, epoch=epoch):
            ended = fact.source in BUSY and fact.target not in BUSY
            return f"turn {epoch} in #{channel}" if ended else None
        case e.SessionResult(channel=channel):
            return f"work in #{channel}" if channel else "a message or a task"
        case e.SessionEnd():
            return "the end of its session"
        case e.WorkspaceMerged() | e.WorkspaceRebased():
            return STEP
        case _:
            return None


def worked_in(team: Team, fact: Fact) -> list[Workspace]:
    """The worktrees in which a turn ends with a fact."""
    found = [w for w in team.workspaces.values() if w.state is WorkspaceState.OPEN]
    match fact:
        case e.WorkspaceMerged(workspace=name) | e.WorkspaceRebased(workspace=name):
            return [each for each in found if each.id == name]
        case e.SessionResult(conversation=task) if task is not None:
            return [each for each in found if each.conversation == task]
        case e.SessionEnd(seats=seats):
            return [each for each in found if each.seat in seats]
        case e.StateTransition(seat=seat) | e.SessionResult(seat=seat):
            return [each for each in found if each.seat is not None and each.seat == seat]
        case _:
            return []


def workspace_keepers(
    workspaces: Workspaces, store: EventStore, feed: Feed, dispatcher: Dispatcher, clock: Clock
) -> tuple[WorkspaceCleaner, TurnRecorder]:
    """The reactors that look after workspaces when work in them ends."""
    return (
        WorkspaceCleaner(workspaces, store, feed, dispatcher, clock),
        TurnRecorder(workspaces, store, feed, dispatcher, clock),
    )
