"""Reports about the state file of an agent: whether it can be read and written.

What is desired in a file that cannot be read is not known: no start is accepted until it can be.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.state import Team


def report_state_file(team: Team, command: c.ReportStateFile, now: datetime) -> Iterator[Fact]:
    run = team.agent(command.seat).run
    if (command.problem, command.is_readable) != (run.file_problem, run.is_file_readable):
        yield e.StateFileReported(
            seat=command.seat, problem=command.problem, is_readable=command.is_readable
        )
