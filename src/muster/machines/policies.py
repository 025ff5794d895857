"""The policies of an agent: when muster starts, restarts and stops its sessions by itself.

They come from the settings and never change `desired` for the better: an agent that a person has
paused stays paused, whatever its policies say.
"""

import msgspec

from muster.limits import RETRY_SECONDS_FIRST, RETRY_SECONDS_MAX
from muster.machines.vocabulary import RestartPolicy


class RunPolicy(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The policies of one agent. The defaults are those of an agent without settings."""

    restart: RestartPolicy = RestartPolicy.ALWAYS
    restart_seconds: float = RETRY_SECONDS_FIRST
    """The first pause before a failed session is retried; it doubles with each failure in a row."""

    restart_seconds_max: float = RETRY_SECONDS_MAX
    success_codes: tuple[int, ...] = (0,)
    autostart: bool = False
    """Whether the agent starts with muster, unless a person or a budget has paused it."""

    after: tuple[str, ...] = ()
    """Names of agents that must be running before a session of this one starts."""

    groups: tuple[str, ...] = ()
    graceful_seconds: float | None = None
    """How long a graceful stop may take before the session is stopped now."""
