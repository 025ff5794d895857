"""The name of a node: one life has it at a time.

A name without a lease is free. A lease that this home has left behind is replaced at once: the lock
of the home proves that its life is over. Any other lease may belong to a node that goes on, on this
machine or another one, so it is watched for as long as it holds: a beat means that the name is
taken.
"""

import logging
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from muster.engine.ports import Clock
from muster.errors import NodeTaken
from muster.home.lock import lock_identity
from muster.machines.ids import NodeId, SessionId
from muster.nodes.timing import LeaseTiming
from muster.nodes.watching import LeaseWatch
from muster.regular_files import open_for_owner_only, read_regular
from muster.store.base import Lease, LeaseStore

FILE: Final = "node.json"

log = logging.getLogger(__name__)


class _HomeLives(msgspec.Struct, frozen=True, kw_only=True):
    """The file `node.json`: the lives of a node that began in a home."""

    home: str
    """The mark of the home: a copy of the file in another home says nothing."""

    lives: tuple[SessionId, ...]
    """The last that has taken the name, and the one that was about to."""


def home_mark(home: Path) -> str:
    """A mark of this home that no copy of it has, for the processes that are started in it."""
    return sha256(repr(lock_identity(home)).encode()).hexdigest()[:16]


def former_lives(home: Path) -> tuple[SessionId, ...]:
    """The lives that began in this home, and are over if its lock is held."""
    try:
        kept = msgspec.json.decode(read_regular(home / FILE), type=_HomeLives)
    except (OSError, msgspec.DecodeError):
        return ()
    return kept.lives if kept.home == home_mark(home) else ()


def remember_lives(home: Path, *lives: SessionId) -> None:
    """Note the lives that may have the name, before one takes it."""
    aside = home / f"{FILE}.new"
    aside.unlink(missing_ok=True)
    with open(aside, "xb", opener=open_for_owner_only) as file:
        file.write(msgspec.json.encode(_HomeLives(home=home_mark(home), lives=lives)) + b"\n")
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

    async def take(self, life: SessionId, former: tuple[SessionId, ...]) -> float:
        """Take the name. Returns when the lease began, or raises `NodeTaken`.

        `former` are lives that are known to be over.
        """
        new = Lease(life, 0, self._timing.seconds)
        while True:
            board = await self._leases.look(within=self._timing.call_s)
            found = board.leases.get(self._name)
            if found is not None and found.life not in former:
                await self._require_silent(found)
            began = self._uptime()
            if await self._leases.take(
                self._name, new, instead_of=found, within=self._timing.call_s
            ):
                return began

    async def _require_silent(self, found: Lease) -> None:
        """Watch a lease for as long as it holds. Raises `NodeTaken` if it beats."""
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
                return
            if now != found:
                raise NodeTaken(node=self._name)
            if watch.silent(board, [self._name], asked_at=asked, told_at=self._uptime()):
                return
            await self._clock.sleep(LeaseTiming(found.seconds).look_s)
