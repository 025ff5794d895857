"""The name of a node: one life has it at a time.

A name without a lease is free. A lease that this home has left behind is replaced at once: the lock
of the home proves that its life is over. Any other lease may belong to a node that goes on, on this
machine or another one, so it is watched for as long as it holds: a beat means that the name is
taken.

Silence proves less: a node that is cut off says nothing either, and its agents that stay run on. So
a silent lease is replaced only by a home that was copied or moved from the one that has taken it,
such as a volume on another machine; or if a person says that the other home is gone.
"""

import logging
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from muster.engine.ports import Clock
from muster.errors import NodeSilent, NodeTaken
from muster.home.lock import lock_identity
from muster.machines.ids import NodeId, SessionId
from muster.nodes.timing import LeaseTiming
from muster.nodes.watching import LeaseWatch
from muster.regular_files import open_for_owner_only, read_regular
from muster.store.base import Lease, LeaseStore

FILE: Final = "node.json"
CARRIED_MAX: Final = 4
"""Two lives of a home, and of the one before."""

log = logging.getLogger(__name__)


class HomeLives(msgspec.Struct, frozen=True, kw_only=True):
    """Lives of a node that a home knows of."""

    over: tuple[SessionId, ...] = ()
    """Lives that began in this home, and are over if its lock is held: the last that has taken the
    name, and the one that was about to."""

    carried: tuple[SessionId, ...] = ()
    """Lives that the home brought along from another place, where they may go on."""


class _NodeFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file `node.json`."""

    home: str
    """The mark of the home: a copy of the file in another home proves nothing."""

    lives: tuple[SessionId, ...]
    carried: tuple[SessionId, ...] = ()


def home_mark(home: Path) -> str:
    """A mark of this home that no copy of it has, for the processes that are started in it."""
    return sha256(repr(lock_identity(home)).encode()).hexdigest()[:16]


def lives_of(home: Path) -> HomeLives:
    """The lives that a home knows of."""
    try:
        kept = msgspec.json.decode(read_regular(home / FILE), type=_NodeFile)
    except (OSError, msgspec.DecodeError):
        return HomeLives()
    if kept.home == home_mark(home):
        return HomeLives(over=kept.lives, carried=kept.carried)
    return HomeLives(carried=(*kept.carried, *kept.lives)[-CARRIED_MAX:])


def remember_lives(home: Path, lives: HomeLives) -> None:
    """Note the lives that may have the name, before one takes it."""
    aside = home / f"{FILE}.new"
    aside.unlink(missing_ok=True)
    kept = _NodeFile(home=home_mark(home), lives=lives.over, carried=lives.carried)
    with open(aside, "xb", opener=open_for_owner_only) as file:
        file.write(msgspec.json.encode(kept) + b"\n")
    aside.replace(home / FILE)


class NodeName:
    """The name of a node, to be taken for a new life."""

    def __init__(
        self,
        leases: LeaseStore,
        name: NodeId,
        timing: LeaseTiming,
        clock: Clock,
        uptime: Callable[[], float],
    ) -> None:
        self._leases = leases
        self._name = name
        self._timing = timing
        self._clock = clock
        self._uptime = uptime

    async def take(self, life: SessionId, lives: HomeLives, *, replaces: bool = False) -> float:
        """Take the name. Returns when the lease began, or raises `NodeTaken` or `NodeSilent`.

        `replaces` takes it also from a silent home that this one knows nothing of.
        """
        new = Lease(life, 0, self._timing.seconds)
        while True:
            board = await self._leases.look(within=self._timing.call_s)
            found = board.leases.get(self._name)
            if found is not None and found.life not in lives.over:
                if not await self._is_silent(found):
                    continue
                if found.life not in lives.carried and not replaces:
                    raise NodeSilent(node=self._name)
            began = self._uptime()
            if await self._leases.take(
                self._name, new, instead_of=found, within=self._timing.call_s
            ):
                return began

    async def _is_silent(self, found: Lease) -> bool:
        """Watch a lease for as long as it holds; false if it is given up. A beat: `NodeTaken`."""
        log.warning(
            "node %r was last seen in another home; waiting %.0f s to see whether it goes on",
            self._name,
            LeaseTiming(found.seconds).lost_s,
            extra={"action": "node_name_watched", "node": self._name},
        )
        watch = LeaseWatch(self._timing)
        while True:
            asked = self._uptime()
            board = await self._leases.look(within=self._timing.call_s)
            now = board.leases.get(self._name)
            if now is None:
                return False
            if now != found:
                raise NodeTaken(node=self._name)
            if watch.silent(board, [self._name], asked_at=asked, told_at=self._uptime()):
                return True
            await self._clock.sleep(LeaseTiming(found.seconds).look_s)
