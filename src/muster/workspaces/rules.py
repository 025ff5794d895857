"""Which agents and tasks have a workspace, and which one that is."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from muster.machines.ids import ConversationId, SeatId
from muster.machines.state import Agent, Team, Workspace
from muster.machines.vocabulary import WorkspaceState
from muster.settings.in_force import WORKTREE, SettingsInForce, table_of, task_workspace


class WorkspaceRules(NamedTuple):
    """Which agents and tasks have a worktree of their own, as the settings say now."""

    agents: Callable[[Agent], Path | None]
    """The folder whose repository an agent has a worktree of; none where it has none."""

    tasks: Callable[[Agent], Path | None]
    folders: Callable[[Agent], Path]
    """The folder that an agent works in where it is shared."""

    is_served: bool = True
    """Whether a server runs, in which people can merge."""


class TaskPlace(Protocol):
    """Where tasks come from."""

    @property
    def project(self) -> Path:
        """The folder that requests come from."""
        ...

    @property
    def asks_people(self) -> bool:
        """Whether a server runs, in which people answer and merge."""
        ...


def rules_of(in_force: SettingsInForce, tasks: TaskPlace, home: Path | None) -> WorkspaceRules:
    """The rules of the settings: they are asked at each start of a session."""

    def of_agent(agent: Agent) -> Path | None:
        table = table_of(in_force.current, agent)
        return table.cwd_beside(home) if home and table.workspace == WORKTREE else None

    def of_task(agent: Agent) -> Path | None:
        return tasks.project if task_workspace(in_force.current, agent) == WORKTREE else None

    def shared(agent: Agent) -> Path:
        return table_of(in_force.current, agent).cwd_beside(home or Path())

    return WorkspaceRules(
        agents=of_agent, tasks=of_task, folders=shared, is_served=tasks.asks_people
    )


def open_workspace(
    team: Team, *, seat: SeatId | None = None, conversation: ConversationId | None = None
) -> Workspace | None:
    """The workspace of an agent or of a conversation, or the one that was closed last."""
    found = [
        each
        for each in team.workspaces.values()
        if (each.seat == seat if conversation is None else conversation in _tasks(each))
    ]
    found.sort(key=lambda each: (each.state is not WorkspaceState.CLOSED, each.seq))
    return found[-1] if found else None


def _tasks(workspace: Workspace) -> tuple[ConversationId | None, ...]:
    return (*workspace.earlier, workspace.conversation)


def task_name(conversation: ConversationId) -> str:
    """The name of a task's workspace: `task-12` for `conv_012`."""
    number = conversation.removeprefix("conv_")
    return f"task-{number.lstrip('0') or number}"


def is_over(team: Team, workspace: Workspace) -> bool:
    """Whether nobody will work in a workspace any more: its task is done, its agent retired."""
    if workspace.conversation is not None:
        return not team.is_worked_in(workspace)
    agent = None if workspace.seat is None else team.agents.get(workspace.seat)
    return agent is None or agent.retired
