"""How a team is run: its runtimes, settings and tasks, and this machine as one of its nodes."""

import os
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

import msgspec

from muster.delegation.following.owner import IsAlive, assume_alive
from muster.engine.ports import Runtimes
from muster.engine.snapshots import SNAPSHOT_EVENTS
from muster.home.database import database_of
from muster.machines.ids import HERE, NodeId
from muster.machines.state import Agent
from muster.machines.vocabulary import NO_LIMIT, Allowance
from muster.nodes.membership import NodePlan
from muster.reloading.live import SettingsSource
from muster.settings.in_force import SettingsInForce
from muster.settings.model import DelegationSettings, Settings


def no_runtimes(agent: Agent) -> None:
    """Without a runtime: agents connect by themselves, or their lead runs them."""


class DelegationPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How delegated tasks are run."""

    runtimes: Runtimes = no_runtimes
    task_seconds: Callable[[], float] = lambda: DelegationSettings().task_seconds
    allowance: Callable[[], Allowance] = lambda: NO_LIMIT
    selector: Callable[[], str] = str
    project: Path = Path()
    """The folder that requests come from; relative folders in requests are relative to it."""

    asks_people: bool = True
    """Whether a person can answer requests for approval: not where no server runs."""

    root: Path | None = None
    """The folder of the state machine session, if the log belongs to that session."""

    is_alive: IsAlive = assume_alive
    serves_queue: bool = False
    """Whether queued requests are carried out without a command."""


NO_DELEGATION: Final = DelegationPlan()

ALONE: Final = NodePlan()
"""The only machine of a team."""


Reserve = Callable[[], AbstractContextManager[None]]
"""Reserves what a team needs as long as it is open, or raises why it cannot be had."""


class TeamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a team is run."""

    human: str
    runtimes: Runtimes = no_runtimes
    snapshot_every: int = SNAPSHOT_EVENTS
    in_force: SettingsInForce | None = None
    """The settings; without them every setting has its default."""

    source: SettingsSource | None = None
    """The file that the settings are followed in; none where they never change."""

    names_agents: bool = False
    """Whether the settings say which agents there are; otherwise the log alone does."""

    delegation: DelegationPlan = NO_DELEGATION
    inboxes: Path | None = None
    """The folder of inbox files; none without it."""

    url: str = ""
    """The address at which sessions find the server."""

    reserve: Reserve = nullcontext
    """Entered when the home is locked, before anything of the team starts."""

    node: NodePlan = ALONE
    """This machine, as a node of the team."""


def node_plan(home: Path, settings: Settings) -> NodePlan:
    """This machine as a node: `here` where the log is in the home, else by its name."""
    node, kept = settings.node, database_of(home, os.environ)
    name = HERE if kept is None else NodeId(node.name or kept.node or socket.gethostname())
    return NodePlan(
        name=name,
        labels=node.labels,
        room=node.room or None,
        lease_seconds=node.lease_seconds,
        replaces_lost_home=node.replaces_lost_home,
    )
