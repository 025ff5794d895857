"""Parts of views about running: the badge with its buttons, failures, the next start."""

from typing import Final

from muster.machines.run_control.gate import missing_dependencies
from muster.machines.state import Agent, RunControl, Team
from muster.machines.vocabulary import Authority, RunMode
from muster.views.answers.agents import Badge, Control, FailureView, NextStart

_STOP: Final = Control(label="Stop Agent", color="red", desired=RunMode.PAUSE)
_START: Final = Control(label="Start Agent", color="orange", desired=RunMode.CONTINUOUS)


def badge_of(run: RunControl) -> Badge:
    """The badge says the current state; its buttons follow the desired one, too.

    An agent that is to run can be stopped while it does not run: in backoff after a failure, or
    before its own loop has seen the request.
    """
    is_running = run.current is not RunMode.PAUSE
    status, color = ("RUNNING", "green") if is_running else ("IDLE", "gray")
    if run.desired is RunMode.PAUSE and not is_running:
        return Badge(status=status, color=color, controls=(_START,))
    if run.failures and run.retry_at is not None:
        retry = Control(label="Try Now", color="orange", desired=run.desired)
        return Badge(status=status, color=color, controls=(_STOP, retry))
    return Badge(status=status, color=color, controls=(_STOP,))


def last_failure(run: RunControl) -> FailureView | None:
    """The newest failure, if no session has succeeded since."""
    failure = run.last_failure
    if failure is None:
        return None
    return FailureView(at=failure.at, reason=failure.reason, count=failure.count)


def next_start(agent: Agent) -> NextStart | None:
    """The time at which a session of the agent starts by itself, if it is to run and does not."""
    run = agent.run
    if run.desired is RunMode.PAUSE or agent.disabled or agent.session is not None:
        return None
    if run.retry_at is None:
        return None
    return NextStart(at=run.retry_at, why="retry" if run.failures else "pace")


def waits_for(team: Team, agent: Agent) -> tuple[str, ...]:
    """The agents that this one waits for; none while it runs or is paused."""
    ours = agent.authority is Authority.MUSTER and agent.session is None
    if not ours or agent.run.desired is RunMode.PAUSE:
        return ()
    return missing_dependencies(team, agent)
