"""Scheduled runs that were missed while muster was down, with real programs and two servers.

The hours of the gap are not waited for: the runs that were planned are moved back in the log.
"""

from datetime import datetime, timedelta
from pathlib import Path

from muster.engine.system import SystemClock
from muster.machines import events as e
from muster.machines.ids import SeatId
from tests.acceptance.test_supervised import Json
from tests.asking import Asker, asker
from tests.homes import append
from tests.live import live
from tests.waits import until

CLOCK = SystemClock()
HOURLY = {"made-up": 'every = "1h"', "skipped": 'every = "1h"\nmissed = "skip"'}
MINUTE = (CLOCK.wall().minute + 30) % 60  # not while the test runs
CRON = {
    "cron-made-up": f'schedule = "{MINUTE} * * * *"',
    "cron-skipped": f'schedule = "{MINUTE} * * * *"\nmissed = "skip"',
}
GAP = timedelta(hours=3, minutes=20)


def planned(operator: Asker) -> dict[str, Json]:
    """The agents by name, once each has a next run that is to come."""
    found: dict[str, Json] = {}

    def all_planned() -> bool:
        found.update({each["name"]: each for each in operator.get("/api/agents")["agents"]})
        now = CLOCK.wall()
        return all(each["nextStart"] and next_run(each) > now for each in found.values())

    until(all_planned)
    return found


def next_run(agent: Json) -> datetime:
    return datetime.fromisoformat(agent["nextStart"]["at"])


def test_runs_that_were_missed_over_a_gap_are_made_up_for_once_or_skipped(tmp_path: Path) -> None:
    """Issue 15: after the run that makes up for them, an interval begins anew."""
    home = tmp_path / ".muster"
    home.mkdir()
    book = tmp_path / "book"
    tables = [
        f'[agents.{name}]\ncommand = ["sh", "-c", "echo {name} >> {book}"]\n{settings}\n'
        for name, settings in (HOURLY | CRON).items()
    ]
    (home / "muster.toml").write_text("\n".join(tables))
    with live(home) as server, asker(server, server.token) as operator:
        for name in HOURLY | CRON:
            operator.asked("PUT", f"/api/agents/{name}/run", 200, json={"desired": "continuous"})
        before = planned(operator)
        for name in HOURLY:
            assert next_run(before[name]) - CLOCK.wall() > timedelta(minutes=55)
    for agent in before.values():
        append(home, e.RunPlanned(seat=SeatId(agent["seat"]), at=CLOCK.wall() - GAP))
    came_back = CLOCK.wall()
    with live(home) as server, asker(server, server.token) as operator:
        until(lambda: book.exists() and len(book.read_text().split()) >= 2)
        after = planned(operator)
        assert sorted(book.read_text().split()) == ["cron-made-up", "made-up"]
    hour, minute = timedelta(hours=1), timedelta(minutes=1)
    assert next_run(after["made-up"]) >= came_back + hour
    assert came_back < next_run(after["skipped"]) <= came_back + hour - 15 * minute
    for name in CRON:
        assert next_run(after[name]).minute == MINUTE
