"""The policies of an agent: when muster starts, restarts and stops its sessions by itself.

They come from the settings and never change `desired` for the better: an agent that a person has
paused stays paused, whatever its policies say.
"""

from typing import Final

import msgspec

from muster.limits import RETRY_SECONDS_FIRST, RETRY_SECONDS_MAX
from muster.machines.vocabulary import (
    RUNAWAY,
    MissedRuns,
    OnSilence,
    RestartPolicy,
    RunsFor,
)


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

    schedule: str = ""
    """A cron expression: `continuous` runs one session at each of its times."""

    every: str = ""
    """A fixed interval instead, such as `30m`."""

    timezone: str = "UTC"
    missed: MissedRuns = MissedRuns.ONCE
    silent_seconds: float | None = None
    """How long a working session may show no sign of work."""

    on_silence: OnSilence = OnSilence.TELL
    runs_for: RunsFor = RunsFor.LOOP
    """What starts a session of a program that ends by itself."""

    moves: bool = False
    """Whether it may be started on another machine while its own is away."""

    needs: tuple[str, ...] = ()
    """Labels that a machine must have to run it."""

    @property
    def has_schedule(self) -> bool:
        """Whether sessions start at times instead of one after another."""
        return bool(self.schedule or self.every)

    @property
    def schedule_text(self) -> str:
        """The schedule as it was written; empty without one."""
        if self.every:
            return f"every {self.every}"
        zone = "" if self.timezone == "UTC" or not self.schedule else f" {self.timezone}"
        return f"{self.schedule}{zone}"


# ── pauses, by the trigger that set the desired state ─────────────────────────────────────────────

PERSON: Final = "person"
"""The trigger of a person's wish, and of an edit of a state file."""

BUDGET: Final = "budget"
"""The trigger of a pause at a limit of usage."""

RUN_NOW: Final = "now"
"""The trigger of a session that a person started, whatever the schedule says."""

SESSION_LIMIT: Final = "session_limit"
"""The trigger of a pause at a limit of sessions: of their number, their length, their failures."""

LIMIT_PAUSES: Final = frozenset({BUDGET, RUNAWAY, SESSION_LIMIT})
"""The triggers of pauses by which muster keeps a limit."""

STOPS: Final = LIMIT_PAUSES | {PERSON}
"""The triggers of pauses that stand until a person starts the agent again."""

PUT_TO_SLEEP: Final = "put to sleep"
"""The note of a pause that is a sleep, which WAKE ends."""
