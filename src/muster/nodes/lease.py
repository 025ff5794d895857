"""The lease of this node: until when sessions that may move run here, and in which term.

A lease that was over counts again only in a new term. The sessions of the terms before are killed
first, and a permit is good for its own term: an order to start may have waited that long.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from muster.engine.fencing import StartPermit
from muster.errors import LeaseOver
from muster.machines.ids import NodeId, SessionId
from muster.nodes.timing import LeaseTiming


class Killer(Protocol):
    """The part of a warden that a lease needs."""

    async def begin_term(self, term: int, until: float) -> None:
        """Begin a term, and return when the sessions of earlier ones are dead."""
        ...

    def extend(self, until: float) -> None:
        """Take a later end of the lease."""
        ...

    def expect(self, session: SessionId, term: int | None) -> None:
        """Hear of a session that is about to start; without a term for one that does not move."""
        ...


class NodeLease:
    """The lease of a life of this node; the fence of its sessions."""

    def __init__(
        self,
        node: NodeId,
        life: str,
        timing: LeaseTiming,
        warden: Killer,
        uptime: Callable[[], float],
    ) -> None:
        """`life` marks the processes of its sessions."""
        self.node = node
        self.term = 0
        self._life = life
        self._timing = timing
        self._warden = warden
        self._uptime = uptime
        self._until = float("-inf")
        self._changed = asyncio.Event()

    @property
    def is_held(self) -> bool:
        """Whether sessions that may move may run now."""
        return self._uptime() < self._until

    async def begin_term(self, term: int, renewed_at: float) -> None:
        """Hold the lease from a renewal on, in a new term."""
        until = renewed_at + self._timing.held_s
        await self._warden.begin_term(term, until)
        self.term = term
        self._hold(until)

    def extend(self, renewed_at: float) -> None:
        """Hold the lease longer, in the same term."""
        until = renewed_at + self._timing.held_s
        self._warden.extend(until)
        self._hold(until)

    def end(self) -> None:
        """Give the lease up at once: the others have given up this node."""
        self._until = float("-inf")
        self._warden.extend(0.0)

    def _hold(self, until: float) -> None:
        self._until = until
        self._changed.set()

    async def permit(self, session: SessionId, *, moves: bool) -> StartPermit:
        """The permit of a session. For one that may move, wait until the lease holds."""
        while moves and not self.is_held:
            self._changed.clear()
            await self._changed.wait()
        self._warden.expect(session, self.term if moves else None)
        return _Permit(self, self._life, self.term if moves else None)


class _Permit:
    """The right of one session to run, in a term of the lease if it may move."""

    def __init__(self, lease: NodeLease, life: str, term: int | None) -> None:
        self._lease = lease
        self._life = life
        self._term = term

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variables by which the warden finds its processes."""
        own = {"MUSTER_LIFE": self._life}
        return own if self._term is None else own | {"MUSTER_LEASE": f"{self._life}.{self._term}"}

    @property
    def is_over(self) -> bool:
        """Whether the warden kills its processes."""
        return self._term is not None and (
            self._term != self._lease.term or not self._lease.is_held
        )

    def check(self) -> None:
        """Raise `LeaseOver` if its program must not be started any more."""
        if self.is_over:
            raise LeaseOver(node=self._lease.node)
