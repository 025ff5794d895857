"""The controls of an agent: the buttons that every interface shows beside its badge."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from muster.machines.run_control.live import own_session
from muster.machines.state import Agent, Phase, Team
from muster.machines.vocabulary import Authority, RunMode, Urgency
from muster.views.answers.agents import BadgeWord, Control, ControlAct
from muster.views.run.running import waits_for

STOP: Final = Control(label="Stop Agent", color="red", desired=RunMode.PAUSE)
STOP_NOW: Final = Control(label="Stop now", color="red", desired=RunMode.PAUSE, now=True)
START: Final = Control(label="Start Agent", color="orange", desired=RunMode.CONTINUOUS)
ONCE: Final = Control(label="Run Single Session", color="", desired=RunMode.RUN_ONCE)
CLEANUP: Final = Control(label="Run Cleanup Session", color="", desired=RunMode.RUN_CLEANUP)
WAKE: Final = Control(label="Wake", color="orange", desired=RunMode.CONTINUOUS, act=ControlAct.WAKE)
SLEEP: Final = Control(label="Sleep", color="red", desired=RunMode.PAUSE, act=ControlAct.SLEEP)
SUMMON: Final = Control(
    label="Summon again", color="orange", desired=RunMode.CONTINUOUS, act=ControlAct.SUMMON
)
RETRY: Final = Control(
    label="Try again", color="orange", desired=RunMode.CONTINUOUS, act=ControlAct.RETRY
)
KEEP: Final = Control(
    label="Keep its seat", color="", desired=RunMode.CONTINUOUS, act=ControlAct.KEEP
)
RUN_NOW: Final = Control(label="Run now", color="orange", desired=RunMode.CONTINUOUS, now=True)


class Controls(NamedTuple):
    """The controls of an agent."""

    main: tuple[Control, ...] = ()
    more: tuple[Control, ...] = ()
    """For a menu or a page with room."""


def controls_of(team: Team, agent: Agent, word: BadgeWord) -> Controls:
    """The controls of an agent that is neither disabled nor retired, beside this word."""
    match agent.authority:
        case Authority.LEAD:
            return Controls((SLEEP if word is BadgeWord.ALIVE else WAKE,))
        case Authority.SELF:
            if agent.hand is not None:
                return Controls() if agent.hand.kept else Controls((), (KEEP,))
            if agent.run.desired is RunMode.PAUSE:
                return Controls((START,))
            return Controls((STOP,)) if word is BadgeWord.CONNECTED else Controls()
        case Authority.MUSTER | Authority.FILE:
            return _run_controls(team, agent, word)


def _run_controls(team: Team, agent: Agent, word: BadgeWord) -> Controls:
    """Start and stop. Stop is there whenever `desired` is not pause; main controls come first."""
    run = agent.run
    again = () if agent.unanswered is None or team.shutdown is not None else (RETRY,)
    if run.desired is not RunMode.PAUSE:
        early = _early(team, agent, word)
        return Controls((STOP, *again, *early), tuple(_restarts(team, agent)))
    if word is BadgeWord.IDLE:
        return Controls((START, *again), () if run.on_call else (ONCE, CLEANUP))
    if word is BadgeWord.UNKNOWN and agent.authority is Authority.FILE:
        return Controls((START,))
    # A loop that follows a file cannot be stopped now: it reads its file between sessions.
    stop = STOP if agent.authority is Authority.FILE else STOP_NOW
    return Controls((stop,), (START,))


def _early(team: Team, agent: Agent, word: BadgeWord) -> Iterator[Control]:
    """The control that starts the next session before its time, where there is one to wait for."""
    run = agent.run
    is_waiting = word is BadgeWord.IDLE and agent.authority is Authority.MUSTER
    if not is_waiting or team.shutdown is not None or waits_for(team, agent):
        return
    if run.retry_at is not None:
        yield Control(label="Try now", color="orange", desired=run.desired)
    elif run.rests_between_runs and agent.session is None:
        yield RUN_NOW


def _restarts(team: Team, agent: Agent) -> Iterator[Control]:
    """Restarts of an agent that has a session of its own: after its work, or now."""
    session = own_session(team, agent)
    if agent.authority is not Authority.MUSTER or session is None or team.shutdown is not None:
        return
    if session.phase is Phase.RUNNING:
        if agent.run.long_lived:  # another program would end
            yield Control(
                label="Interrupt its work",
                color="",
                desired=agent.run.desired,
                act=ControlAct.INTERRUPT,
            )
        yield _restart("Restart after its work", agent)
    if session.phase is not Phase.STARTING and session.urgency is not Urgency.NOW:
        yield _restart("Restart now", agent, now=True)


def _restart(label: str, agent: Agent, *, now: bool = False) -> Control:
    desired = agent.run.desired
    return Control(label=label, color="", desired=desired, now=now, act=ControlAct.RESTART)
