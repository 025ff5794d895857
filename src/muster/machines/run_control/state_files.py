"""The state file of an agent, as far as run control depends on it: can it be read and written.

What is desired in a file that cannot be read is not known, so it counts as pause: the agent is
paused, and no start is accepted until the file can be read. A file that cannot be written is only
shown to people.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.errors import StateFileUnreadable
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.state import Agent, Team


def report_state_file(team: Team, command: c.ReportStateFile, now: datetime) -> Iterator[Fact]:
    run = team.agent(command.seat).run
    if (command.problem, command.is_readable) != (run.file_problem, run.is_file_readable):
        yield e.StateFileReported(
            seat=command.seat, problem=command.problem, is_readable=command.is_readable
        )


def require_readable_file(agent: Agent) -> None:
    """Refuse a start while nobody can tell what the agent's state file says."""
    if not agent.run.is_file_readable:
        raise StateFileUnreadable(name=agent.id, problem=agent.run.file_problem)
