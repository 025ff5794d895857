"""The limits of an agent: the `budget` of its table in `muster.toml`."""

from typing import Annotated

import msgspec

from muster.limits import TURN_SECONDS_MAX
from muster.settings.rules import Rule


class BudgetSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of an agent. An agent that reaches one is paused, with the reason as note."""

    sessions_per_hour: Annotated[
        int | None, Rule("Sessions per hour before the agent is paused.", 1, 1_000_000)
    ] = None
    session_seconds: Annotated[
        float | None,
        Rule(
            "Timeout of a session; the session is stopped and the agent paused.",
            0.1,
            TURN_SECONDS_MAX,
        ),
    ] = None
    failures: Annotated[
        int | None, Rule("Failures in a row before the agent is paused.", 1, 1_000_000)
    ] = None
    cost_usd: Annotated[
        float | None,
        Rule("Cost limit in dollars, counted from the last start by a person.", 0, 1_000_000),
    ] = None
    tokens: Annotated[
        int | None, Rule("Token limit, counted from the last start by a person.", 1, 10**15)
    ] = None
    session_cost_usd: Annotated[
        float | None, Rule("Cost limit of one session, in dollars.", 0, 1_000_000)
    ] = None
    session_tokens: Annotated[int | None, Rule("Token limit of one session.", 1, 10**15)] = None
    cost_usd_per_minute: Annotated[
        float | None,
        Rule(
            "Burn rate in dollars a minute, over the last ten minutes, at which the agent is "
            "paused as a runaway; 0 means no limit.",
            0,
            1_000_000,
        ),
    ] = 2.0
    cost_usd_per_day: Annotated[
        float | None,
        Rule("Cost limit of a day (UTC), in dollars; 0 means no limit.", 0, 1_000_000),
    ] = 20.0
