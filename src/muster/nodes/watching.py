"""Watches the beats of other nodes: which of them have not beaten for longer than their lease.

No time of another machine is looked at: a beat is old if this node saw it first long ago, on its
own clock. A node that cannot look forgets what it saw, because beats may have passed meanwhile.
After a failover of the database beats may be missing, so every watch begins anew.
"""

from collections.abc import Iterable
from typing import NamedTuple

from muster.machines.ids import NodeId
from muster.nodes.timing import LeaseTiming
from muster.store.base import Lease, LeaseBoard


class _Sighting(NamedTuple):
    lease: Lease | None
    """None for a node without a lease: its end was not recorded, or it never had one."""

    first_at: float
    """When it was first seen so, on this node's clock."""


class LeaseWatch:
    """The leases that this node has seen."""

    def __init__(self, timing: LeaseTiming) -> None:
        """Begin without having seen any. `timing` counts for nodes without a lease."""
        self._timing = timing
        self._server = ""
        self._seen: dict[NodeId, _Sighting] = {}

    def forget(self) -> None:
        """Begin anew: this node could not look."""
        self._seen.clear()

    def silent(
        self, board: LeaseBoard, names: Iterable[NodeId], *, asked_at: float, told_at: float
    ) -> list[NodeId]:
        """Take in a look that was asked for and answered at these times; those of the named nodes
        whose beat is too old.

        A beat was there before the answer came, so its watch begins then; it was still the same
        when the look was asked for.
        """
        if board.server != self._server:
            self._server = board.server
            self.forget()
        self._seen = {
            name: self._continued(name, board.leases.get(name), told_at) for name in names
        }
        return [name for name, seen in self._seen.items() if self._is_over(seen, asked_at)]

    def _continued(self, name: NodeId, lease: Lease | None, now: float) -> _Sighting:
        found = self._seen.get(name)
        return found if found is not None and found.lease == lease else _Sighting(lease, now)

    def _is_over(self, seen: _Sighting, now: float) -> bool:
        timing = self._timing if seen.lease is None else LeaseTiming(seen.lease.seconds)
        return now >= seen.first_at + timing.lost_s
