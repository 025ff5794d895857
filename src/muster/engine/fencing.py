"""The port to the lease of a node: which sessions may start, and when one was ended with its lease.

A session that may move runs on its node only while the node's lease holds: afterwards other nodes
start it, and its process here must be dead by then. A team on one machine has no lease, and every
session may start.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from muster.machines.ids import SessionId


class StartPermit(Protocol):
    """The right of one session to run."""

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variables by which its processes are found and killed."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether its processes are dead, or about to be killed, because the lease is over."""
        ...

    def check(self) -> None:
        """Raise `LeaseOver` if its program must not be started any more."""
        ...


class Fence(Protocol):
    """The sessions that may run on this node."""

    async def permit(self, session: SessionId, *, moves: bool) -> StartPermit:
        """The permit of a session. For one that may move, wait until the lease holds."""
        ...


def always() -> None:
    """Permit a start."""


class _Unlimited:
    """The permit of every session without a lease."""

    variables: Mapping[str, str] = {}
    is_over = False

    def check(self) -> None:
        """Permit the start."""
        always()


class NoFence:
    """The fence of a team on one machine: every session may run."""

    async def permit(self, session: SessionId, *, moves: bool) -> StartPermit:
        """A permit without an end."""
        return UNLIMITED


UNLIMITED: Final = _Unlimited()
NO_FENCE: Final = NoFence()
