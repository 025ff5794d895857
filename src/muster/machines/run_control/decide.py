"""Run control: should it run. People write `desired`, reports write `current`.

Every start of a session passes one gate (`start_session`, with its rules in `gate.py`), which
checks `desired` at that moment: a paused agent never runs. What follows the end of a session is in
`ending.py`, its deadlines are in `watching.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from muster.errors import (
    Dismissed,
    Invalid,
    NoNode,
    NotAtWork,
    OnCall,
    RunByMuster,
    RunElsewhere,
    StaleGeneration,
    WaitsFor,
)
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines import spending
from muster.machines.actors import refuse_agent, refuse_by_hand
from muster.machines.breaker.burn import over_rate
from muster.machines.events import Fact
from muster.machines.identity.wake_orders import is_being_woken, packed, wake_requested
from muster.machines.ids import (
    MUSTER,
    STATE_FILE_EDIT,
    ConversationId,
    SeatId,
    SessionId,
    author_text,
)
from muster.machines.policies import RUN_NOW, SESSION_LIMIT
from muster.machines.run_control.gate import (
    closed_gate,
    closed_to_tasks,
    missing_dependencies,
    require_not_stopping,
    session_limit_reached,
    stopped_by_a_person,
    unreadable_file,
)
from muster.machines.run_control.live import (
    between_sessions,
    live_session,
    own_session,
    sessions_of,
    stop_all,
    stop_one,
)
from muster.machines.run_control.modes import (
    ONE_SHOTS,
    PAUSE,
    RUN_CLEANUP,
    RUN_ONCE,
    desire,
    move,
)
from muster.machines.run_control.placement import node_for
from muster.machines.state import Agent, Phase, Session, Status, Team
from muster.machines.turns.messages import message_to_lead
from muster.machines.turns.speech import indented
from muster.machines.vocabulary import (
    RUNAWAY,
    Authority,
    RunMode,
    Urgency,
)


def set_desired(team: Team, command: c.SetDesired, now: datetime) -> Iterator[Fact]:
    if command.now and command.desired in ONE_SHOTS:
        raise Invalid(what="now", why="goes with pause and continuous: one-shots start at once")
    agent = team.agent(command.seat)
    refuse_by_hand(agent, "start or stop")
    run = agent.run
    if agent.dismissed_until is not None and command.desired is not PAUSE:
        raise Dismissed(name=agent.id)
    if command.desired is not PAUSE and (unreadable := unreadable_file(agent)):
        raise unreadable
    is_ours = agent.authority is Authority.MUSTER
    if is_ours and command.desired is not PAUSE and not command.can_wait:
        require_not_stopping(team)
    if command.if_generation is not None and command.if_generation != run.generation:
        raise StaleGeneration(name=agent.id, generation=run.generation, given=command.if_generation)
    # A repeated start during a retry backoff means: try now.
    again = run.retry_at is not None or (command.now and run.rests_between_runs)
    if command.desired is not run.desired or again or _is_own_pause(agent, command):
        yield from _wish(team, agent, command.desired, command, now)
        if agent.authority is Authority.LEAD and not _is_wake(agent, command):
            yield message_to_lead(team, start_or_stop_message(agent, command))
    if _is_wake(agent, command) and not is_being_woken(agent, now):
        yield from _wake_by_lead(team, agent, command, now)
    if command.desired is PAUSE:
        again = run.desired is PAUSE
        urgency = Urgency.NOW if command.now or again else Urgency.GRACEFUL
        yield from stop_all(team, agent, urgency, f"stopped by {author_text(command.set_by)}")


def _wish(
    team: Team,
    agent: Agent,
    desired: RunMode,
    command: c.SetDesired | c.RestartAgent,
    now: datetime,
) -> Iterator[Fact]:
    """Set `desired` as a person asks. An agent that does not start now is no longer running."""
    is_now = command.now and desired is not PAUSE
    yield desire(agent, desired, "person", command.set_by, command.note, now=is_now)
    changed = replace(agent, run=replace(agent.run, desired=desired, retry_at=None))
    trigger = RUN_NOW if is_now else "desired"
    if between_sessions(agent) and closed_gate(team, changed, now, trigger=trigger) is not None:
        yield move(agent, "session_ended", PAUSE)


def _is_own_pause(agent: Agent, command: c.SetDesired) -> bool:
    """Whether a person pauses an agent that muster has paused: what would end that pause, such as
    autostart or a state file that can be read again, must not end the person's."""
    run = agent.run
    if command.set_by == MUSTER or not run.desired is command.desired is PAUSE:
        return False
    by_muster = run.set_because != "person" or run.set_by == MUSTER
    return by_muster and run.set_at is not None and agent.authority is not Authority.LEAD


def _is_wake(agent: Agent, command: c.SetDesired) -> bool:
    """Whether a start is the waking of an agent that its lead runs."""
    asleep = agent.authority is Authority.LEAD and agent.status is Status.SLEEPING
    return asleep and command.desired is not PAUSE and bool(command.memory)


def _wake_by_lead(team: Team, agent: Agent, command: c.SetDesired, now: datetime) -> Iterator[Fact]:
    """Ask the lead to wake an agent that it runs, with the agent's memory."""
    yield wake_requested([agent], now)
    if command.handed is not None:
        yield e.WakeRecorded(seat=agent.seat, handed=command.handed)
    for message in packed([command.memory, *_mode_lines(command)]):
        yield message_to_lead(team, message)


def start_or_stop_message(agent: Agent, command: c.SetDesired) -> str:
    """The message that asks the lead to start or stop an agent that it runs."""
    word = "STOP" if command.desired is PAUSE else "START"
    lines = [f"[{word} AGENT: {agent.id}]" + (f" {indented(command.note)}" if command.note else "")]
    return "\n".join((*lines, *_mode_lines(command)))


def _mode_lines(command: c.SetDesired) -> Sequence[str]:
    """The line about a one-shot, which differs for a lead from a start only in its end."""
    return [_ONE_SHOT_LINES[command.desired]] if command.desired in _ONE_SHOT_LINES else []


_ONE_SHOT_LINES: Final[Mapping[RunMode, str]] = {
    RUN_ONCE: "Run it for one piece of work, then end it.",
    RUN_CLEANUP: "Run it once to tidy up (refactor, remove dead code, improve tests), then end it.",
}


def restart_agent(team: Team, command: c.RestartAgent, now: datetime) -> Iterator[Fact]:
    """One command, so that a stop by another person meanwhile is never lost between two."""
    agent = team.agent(command.seat)
    if agent.authority is not Authority.MUSTER:
        raise RunElsewhere(name=agent.id, authority=agent.authority)
    if refused := stopped_by_a_person(agent):
        raise refused
    if agent.run.on_call:
        raise OnCall(name=agent.id)
    require_not_stopping(team)
    session = own_session(team, agent)
    if session is None:  # there is nothing to end: try to start now
        yield from _wish(team, agent, agent.run.desired, command, now)
        return
    urgency = Urgency.NOW if command.now else Urgency.GRACEFUL
    note = f": {command.note}" if command.note else ""
    yield from stop_one(session, urgency, f"restarted by {command.set_by}{note}", restart=True)


def autostart_agent(team: Team, command: c.AutostartAgent, now: datetime) -> Iterator[Fact]:
    agent = team.agent(command.seat)
    run = agent.run
    if not run.policy.autostart or run.is_held or run.desired is not PAUSE:
        return
    if unreadable := unreadable_file(agent):
        raise unreadable
    yield desire(agent, RunMode.CONTINUOUS, "autostart", MUSTER, "autostart")


def stop_session(team: Team, command: c.StopSession, now: datetime) -> Iterator[Fact]:
    agent = team.agents[command.seat]
    if between_sessions(agent) and command.task is None:
        yield move(agent, "session_ended", PAUSE)
    for session in sessions_of(team, agent):
        if command.task in (None, session.task):
            yield from stop_one(session, Urgency.NOW, command.reason)


def start_session(team: Team, command: c.StartSession, now: datetime) -> Iterator[Fact]:
    """The gate. No other code requests a session."""
    agent = team.agent(command.seat)
    of_task = command.task is not None
    if of_task:
        refused = closed_to_tasks(team, agent, now)
    else:
        refused = closed_gate(team, agent, now, trigger=command.trigger)
    run = agent.run
    if isinstance(refused, WaitsFor | NoNode) and _is_due(agent, refused) and not of_task:
        if run.retry_at is not None:
            yield e.StartDeferred(seat=agent.seat, names=missing_dependencies(team, agent))
        if between_sessions(agent):
            yield move(agent, "session_ended", PAUSE)
        return
    if refused is not None:
        raise refused
    if reached := session_limit_reached(agent, now):
        yield desire(agent, PAUSE, SESSION_LIMIT, MUSTER, reached)
        if between_sessions(agent):
            yield move(agent, "session_ended", PAUSE)
        return
    node = node_for(team, agent, near=_life_of(team, command.task))
    assert node is not None  # or the gate would have refused
    yield e.SessionRequested(
        seat=agent.seat,
        session=SessionId(f"{node.life}-{team.seq + 1}"),
        node=node.name,
        mode=RUN_ONCE if of_task or run.follows_schedule else run.desired,
        generation=run.generation,
        trigger=command.trigger,
        task=command.task,
        until=command.until,
    )


def _is_due(agent: Agent, refused: WaitsFor | NoNode) -> bool:
    """Whether a start has come that nothing repeats by itself: a retry, or the next session."""
    return agent.run.retry_at is not None or (
        isinstance(refused, NoNode) and between_sessions(agent)
    )


def _life_of(team: Team, task: ConversationId | None) -> SessionId | None:
    """The server session in which the conversation of a task was opened, if it is still open."""
    conversation = None if task is None else team.delegation.conversations.get(task)
    return None if conversation is None else conversation.life


def report_session_started(
    team: Team, command: c.ReportSessionStarted, now: datetime
) -> Iterator[Fact]:
    session = live_session(team, command.session)
    if session.pid is not None or session.phase is Phase.RUNNING:
        return  # a repeated report
    agent = team.agents[session.seats[0]]
    yield e.SessionStart(
        session=session.id,
        seats=session.seats,
        mode=session.mode,
        generation=session.generation,
        pid=command.pid,
        started=command.started,
        limits=command.limits,
        confinement=command.confinement,
        interruptible=command.interruptible,
        confirms_prompts=command.confirms_prompts,
    )
    shown = session.task is None or agent.run.on_call
    if shown and agent.run.current is not session.mode:
        yield move(agent, "session_started", session.mode, session=session.id)


def report_output(team: Team, command: c.ReportOutput, now: datetime) -> Sequence[Fact]:
    session = live_session(team, command.session)
    output = e.AgentOutput(
        seat=session.seats[0],
        session=session.id,
        stream=command.stream,
        text=command.text,
        omitted=command.omitted,
    )
    return (output,)


def report_result(team: Team, command: c.ReportResult, now: datetime) -> Iterator[Fact]:
    """Record a result. It ends a task session, and a long-lived one-shot with no work left."""
    spending.require_plausible(command.usage)
    session = live_session(team, command.session)
    agent = team.agents[session.seats[0]]
    led = agent.conversation if command.channel is None and session.task is None else None
    yield e.SessionResult(
        seat=agent.seat,
        session=session.id,
        ok=command.ok,
        text=command.text,
        usage=command.usage,
        channel=command.channel,
        conversation=led or session.task,
        model=command.model,
    )
    after = spending.finished(team, session, command.usage, now, led)
    stop = _limit_reached(after, agent.seat, after.sessions[session.id], led, now)
    if stop is not None:
        yield from pause_for(team, agent, *stop)
        return
    if session.task is not None:
        if command.answers:
            yield from stop_one(session, Urgency.GRACEFUL, "its task is done")
        return
    busy = team.busy_in(agent) or agent.has_unread
    if session.mode in ONE_SHOTS and agent.run.long_lived and not busy:
        yield from stop_all(team, agent, Urgency.GRACEFUL)


def report_spending(team: Team, command: c.ReportSpending, now: datetime) -> Iterator[Fact]:
    """Count what the present work has used so far. At a limit it is interrupted."""
    spending.require_plausible(command.usage)
    session = live_session(team, command.session)
    agent = team.agents[session.seats[0]]
    if command.usage == session.spending:
        return
    yield e.WorkSpending(seat=agent.seat, session=session.id, usage=command.usage)
    after = spending.spent(team, session, command.usage, now)
    stop = _limit_reached(after, agent.seat, after.sessions[session.id], None, now)
    if stop is None or session.urgency is not None:
        return
    if session.interruptible:
        yield from pause_for(team, agent, *stop)
        yield e.WorkInterrupted(seat=agent.seat, session=session.id)
    else:  # only its end keeps it from spending more
        yield from pause_for(team, agent, *stop, urgency=Urgency.NOW)


def _limit_reached(
    after: Team, seat: SeatId, session: Session, led: ConversationId | None, now: datetime
) -> tuple[str, str] | None:
    """The reason why an agent is paused, with its last usage charged, and the trigger."""
    agent = after.agents[seat]
    if agent.run.more_work > 1:  # a person allowed some more
        return None
    reached = (
        spending.budget_limit_reached(agent, session)
        or spending.lead_limit_reached(agent, led, after.delegation.allowance)
        or spending.day_limit_reached(after, agent, now)
    )
    if reached:
        return reached, "budget"
    runaway = over_rate(agent.burn, agent.run.budget.cost_usd_per_minute)
    return (runaway, RUNAWAY) if runaway else None


def pause_for(
    team: Team,
    agent: Agent,
    reached: str,
    trigger: str = "budget",
    *,
    urgency: Urgency = Urgency.GRACEFUL,
) -> Iterator[Fact]:
    """Pause an agent at a limit: no further turn, and its session stops."""
    if agent.run.desired is not PAUSE:
        yield desire(agent, PAUSE, trigger, MUSTER, reached)
    yield from stop_all(team, agent, urgency, reached)


def interrupt_work(team: Team, command: c.InterruptWork, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    session = own_session(team, agent)
    if session is None or session.phase is Phase.STARTING:
        raise NotAtWork(name=agent.id)
    return (e.WorkInterrupted(seat=agent.seat, session=session.id),)


def check_interrupt(team: Team, command: c.InterruptWork, actor: str) -> None:
    """Only people interrupt agents."""
    refuse_agent(actor, "interrupt an agent")


def report_activity(team: Team, command: c.ReportActivity, now: datetime) -> Sequence[Fact]:
    session = live_session(team, command.session)
    activity = e.AgentActivity(
        seat=session.seats[0],
        session=session.id,
        kind=command.kind,
        name=command.name,
        text=command.text,
        ref=command.ref,
        by=command.by,
    )
    return (activity,)


def report_plan(team: Team, command: c.ReportPlan, now: datetime) -> Sequence[Fact]:
    session = live_session(team, command.session)
    return (e.AgentPlan(seat=session.seats[0], session=session.id, steps=command.steps),)


def report_taken(team: Team, command: c.ReportTaken, now: datetime) -> Sequence[Fact]:
    session = live_session(team, command.session)
    taken = e.PromptTaken(
        seat=session.seats[0],
        session=session.id,
        how=command.how,
        text=command.text,
        channels=command.channels,
    )
    return (taken,)


def paused_by_file(team: Team, seat: SeatId, trouble: str) -> Iterator[Fact]:
    """Apply the pause that a state file requested while muster was not running, or muster's own
    where the file cannot be used."""
    agent = team.agent(seat)
    if agent.run.desired is not PAUSE:
        edit = (STATE_FILE_EDIT, "written while muster was not running")
        set_by, note = (MUSTER, trouble) if trouble else edit
        yield desire(agent, PAUSE, "person", set_by, note)
        if between_sessions(agent):  # its next session was about to start when muster went down
            yield move(agent, "session_ended", PAUSE)


def report_current(team: Team, command: c.ReportCurrent, now: datetime) -> Sequence[Fact]:
    agent = team.agent(command.seat)
    if agent.authority is Authority.MUSTER:
        raise RunByMuster(name=agent.id)
    if command.current is agent.run.current:
        return ()
    return (move(agent, "reported", command.current, reason=command.reason),)
