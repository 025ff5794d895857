"""How long a lease holds: shorter for its node than for the others, so that they never overlap.

    its node    renewed at t0, and the answer came: sessions that may move live until
                t0 + L(1 - r) - m on its own clock
    the others  saw this beat first at s, which is after t0: they give the node up at s + L(1 + r)
                on theirs

L is the lease, r a bound for the difference of two clocks' rates, and m the time that the warden
may take to notice and to kill.
"""

from typing import Final, NamedTuple

LEASE_SECONDS: Final = 60.0
"""A node that dies is replaced after a minute; its database may be away for 38 seconds."""

LEASE_SECONDS_MIN: Final = 3.0

DRIFT: Final = 0.02
"""Far more than two quartz clocks differ: room for virtual machines that are slowed down."""

_MARGIN_MIN, _MARGIN_MAX = 0.8, 5.0
_CALL_SECONDS_MIN: Final = 0.5


class LeaseTiming(NamedTuple):
    """The durations that follow from a lease."""

    seconds: float

    @property
    def held_s(self) -> float:
        """How long the node's own sessions may run after the request for a renewal was sent."""
        margin = min(max(self.seconds / 12, _MARGIN_MIN), _MARGIN_MAX)
        return self.seconds * (1 - DRIFT) - margin

    @property
    def lost_s(self) -> float:
        """How long the others wait after they saw a beat first."""
        return self.seconds * (1 + DRIFT)

    @property
    def renew_s(self) -> float:
        """The time between two renewals: three may fail."""
        return self.seconds / 4

    @property
    def look_s(self) -> float:
        """The time between two looks at the others: adds little to the time of a handover."""
        return self.seconds / 30

    @property
    def call_s(self) -> float:
        """How long a call of the store may take: a lost connection must not use the lease up."""
        return max(self.renew_s, _CALL_SECONDS_MIN)
