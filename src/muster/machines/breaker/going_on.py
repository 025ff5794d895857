"""Going on beyond a limit: a person allows some more turns; after them the limit holds again."""

from collections.abc import Sequence
from datetime import datetime

from muster.errors import Invalid
from muster.limits import MORE_TURNS_MAX
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.needs.decide import open_need
from muster.machines.state import Team


def allow_more(team: Team, command: c.AllowMore, now: datetime) -> Sequence[Fact]:
    need = open_need(team, command.key, now)
    if not need.can_go_on:
        why = "is no limit of turns or usage; `muster start` starts an agent at another limit"
        raise Invalid(what=f"{need.key!r}", why=why)
    if not 1 <= command.turns <= MORE_TURNS_MAX:
        raise Invalid(what="turns", why=f"must be 1 to {MORE_TURNS_MAX}")
    return (e.MoreAllowed(turns=command.turns, seat=need.seat, channel=need.channel),)
