"""Turns: may it speak. One member of a channel at a time holds the turn.

Only one place grants (`offer_turn`), and everything that may free a turn or a member leads there.
That at most one agent is ACTIVE in a channel needs no check: a channel has room for one turn.
Surprising:

- WAITING holds the turn. Nobody else speaks meanwhile, and the turn's clock stands.
- A turn taken from a session that muster runs leaves a *drain* behind: nobody is granted the turn
  until that work has stopped.
- A member that sleeps in order keeps its place, and is granted the turn if it may be woken for it.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from muster import limits
from muster.errors import Invalid, NotPresent, TurnTaken
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.actors import refuse_agent
from muster.machines.events import Fact
from muster.machines.ids import SeatId
from muster.machines.run_control.decide import pause_for
from muster.machines.spending import dried_up
from muster.machines.state import Channel, HeldTurn, Team
from muster.machines.turns.messages import check_key, check_text
from muster.machines.turns.table import (
    ACTIVE,
    HELD,
    IDLE,
    QUEUED,
    TURN_COMPLETE,
    WAITING,
    Standing,
    alone,
    check_epoch,
    check_seconds,
    grant,
    is_own,
    member,
    move,
    not_your_turn,
    reachable,
    require_turn,
    resume,
    rouse_idle,
    seconds,
    stop_work,
    timeout_of,
)
from muster.machines.vocabulary import InterruptMode


def post_message(team: Team, command: c.PostMessage, now: datetime) -> Iterator[Fact]:
    channel = team.channel(command.channel)
    check_text(command.text)
    check_key(channel.keys, command.key)
    turn, mode = channel.turn, channel.config.human_interrupt_mode
    yield e.UserMessage(
        text=command.text,
        speaker_name=command.speaker_name,
        target_agent=None,
        channel=channel.id,
        mode=mode,
        deliver_to=_handed_at_once(channel, mode),
        key=command.key,
    )
    if channel.resting:
        yield e.ChannelRoused(channel=channel.id)
    if turn is None:
        yield from rouse_idle(team, channel, "message_posted", now)
    elif mode is InterruptMode.INTERRUPT:
        yield from _hold(team, channel, turn, now)


def _handed_at_once(channel: Channel, mode: InterruptMode) -> tuple[SeatId, ...]:
    """Who gets a human's message now. Everybody else finds it unread with their next turn."""
    if mode is InterruptMode.PARALLEL:
        return channel.ring
    turn = channel.turn
    if turn is None or mode is InterruptMode.QUEUE:
        return ()
    listening = turn.wait is None or turn.wait.by_human
    return (turn.holder,) if listening else ()


def _hold(team: Team, channel: Channel, turn: HeldTurn, now: datetime) -> Iterator[Fact]:
    """A human speaks first: the turn stands still, and every word of theirs holds it longer."""
    until = now + seconds(channel.config.interrupt_hold_seconds)
    if turn.wait is None:
        standing = Standing(team, channel, team.agents[turn.holder], now)
        yield move(standing, ACTIVE, "human_interrupt", until=until, reason="human_interrupt")
    elif turn.wait.by_human:
        yield e.TurnRenewed(channel=channel.id, epoch=channel.epoch, until=until)


def speak(team: Team, command: c.Speak, now: datetime) -> Iterator[Fact]:
    if command.key is not None:  # said again after its turn is over, it is still the same
        check_key(team.channel(command.channel).keys, command.key)
    standing = require_turn(team, command.channel, command.seat, command.epoch, "speak", now)
    check_text(command.text)
    yield _message(standing, command.text, command.key)
    if command.complete:
        yield move(standing, ACTIVE, TURN_COMPLETE, epoch=standing.channel.epoch)


def _message(standing: Standing, text: str, key: str | None = None) -> Fact:
    return e.AgentMessage(
        agent_name=standing.agent.id,
        content=(e.Text(text=text),),
        seat=standing.agent.seat,
        channel=standing.channel.id,
        epoch=standing.channel.epoch,
        key=key,
    )


def complete_turn(team: Team, command: c.CompleteTurn, now: datetime) -> Sequence[Fact]:
    standing = require_turn(team, command.channel, command.seat, command.epoch, "complete", now)
    epoch = standing.channel.epoch
    return (move(standing, ACTIVE, TURN_COMPLETE, epoch=epoch, reason=command.reason),)


def wait_turn(team: Team, command: c.WaitTurn, now: datetime) -> Sequence[Fact]:
    standing = require_turn(team, command.channel, command.seat, command.epoch, "wait", now)
    timeout = command.timeout_seconds
    if timeout is None:
        timeout = standing.channel.config.wait_timeout_seconds
    check_seconds("timeout_seconds", timeout)
    until = now + seconds(timeout)
    epoch = standing.channel.epoch
    return (
        move(standing, ACTIVE, "wait_requested", epoch=epoch, until=until, reason=command.reason),
    )


def resume_turn(team: Team, command: c.ResumeTurn, now: datetime) -> Sequence[Fact]:
    standing = member(team, command.channel, command.seat, now)
    check_epoch(standing.channel, command.epoch)
    turn = standing.channel.turn
    wait = turn.wait if turn is not None and turn.holder == command.seat else None
    if command.if_own and (wait is None or not is_own(wait)):
        return ()
    if turn is None or wait is None:
        raise not_your_turn(standing, "resume")
    trigger = "human_release" if wait.by_human else "wait_resolved"
    return (resume(standing, turn, trigger),)


def check_resume(team: Team, command: c.ResumeTurn, actor: str) -> None:
    """Only a human lifts a human's hold, and only an answer ends the wait for an approval."""
    turn = team.channel(command.channel).turn
    wait = turn.wait if turn is not None else None
    if command.if_own or wait is None or is_own(wait):
        return
    if wait.by_human:
        remedy = "It goes on when the human has finished."
        refuse_agent(actor, "resume what a human interrupted", remedy)
    else:
        remedy = "It goes on when a person has answered."
        refuse_agent(actor, "resume a turn that waits for approval", remedy)


def check_override(team: Team, command: c.OverrideTurn, actor: str) -> None:
    """Only people give a turn to an agent or take it away."""
    refuse_agent(actor, "override a turn")


def end_forgotten_turn(team: Team, command: c.EndForgottenTurn, now: datetime) -> Iterator[Fact]:
    standing = require_turn(team, command.channel, command.seat, command.epoch, "complete", now)
    yield _forgotten(standing)
    epoch, reason = standing.channel.epoch, None
    if not command.ok:
        reason = command.text[: limits.REASON_CHARS_MAX] or "its work failed"
    elif command.text:
        check_text(command.text)
        yield _message(standing, command.text)
    yield move(standing, ACTIVE, TURN_COMPLETE, epoch=epoch, reason=reason)


def await_approval(team: Team, command: c.AwaitApproval, now: datetime) -> Sequence[Fact]:
    """The clock of a turn stands as long as a person is asked on its behalf."""
    channel, agent = team.channel(command.channel), team.agent(command.seat)
    turn = channel.turn
    if turn is None or turn.holder != agent.seat:
        return ()
    standing = Standing(team, channel, agent, now)
    if turn.wait is None and agent.approvals:
        first = agent.approvals[0]
        return (
            move(
                standing,
                ACTIVE,
                "approval_requested",
                epoch=channel.epoch,
                until=first.until,
                reason=f"approval {first.id}: {first.tool}",
            ),
        )
    if turn.wait is not None and turn.wait.approval and not agent.approvals:
        return (resume(standing, turn, "approval_answered"),)
    return ()


def override_turn(team: Team, command: c.OverrideTurn, now: datetime) -> Iterator[Fact]:
    standing = member(team, command.channel, command.seat, now)
    channel, state = standing.channel, standing.channel.state_of(command.seat)
    if command.to not in (ACTIVE, QUEUED):
        raise Invalid(what="to", why="must be ACTIVE or QUEUED")
    if state is command.to:
        return
    if command.to is QUEUED:
        yield move(standing, state, "human_override", want=QUEUED, epoch=channel.epoch)
        if state in HELD:
            yield from stop_work(standing)
    elif state is WAITING and channel.turn is not None:
        yield resume(standing, channel.turn, "human_override")
    else:
        yield from _give(standing)


def _give(standing: Standing) -> Iterator[Fact]:
    """A human gives a vacant turn to the one they want."""
    channel, agent = standing.channel, standing.agent
    taken = channel.turn.holder if channel.turn else channel.drain and channel.drain.seat
    if taken is not None:
        holder = standing.team.agents[taken].id
        raise TurnTaken(channel=channel.id, name=agent.id, holder=holder)
    if not reachable(agent) or not agent.free:
        raise NotPresent(name=agent.id)
    if channel.resting:
        yield e.ChannelRoused(channel=channel.id)
    yield from rouse_idle(standing.team, channel, "human_override", standing.now)
    yield grant(standing, "human_override")


def renew_turn(team: Team, command: c.RenewTurn, now: datetime) -> Sequence[Fact]:
    standing = require_turn(team, command.channel, command.seat, command.epoch, "work", now)
    channel, turn = standing.channel, standing.channel.turn
    assert turn is not None
    timeout = timeout_of(channel, command.seat)
    until = min(now + timeout, turn.cap)
    if until - turn.until < timeout * limits.RENEW_FRACTION:
        return ()
    return (e.TurnRenewed(channel=channel.id, epoch=channel.epoch, until=until),)


def report_work_stopped(team: Team, command: c.ReportWorkStopped, now: datetime) -> Sequence[Fact]:
    drain = team.channel(command.channel).drain
    if drain is None or drain.seat != command.seat:
        return ()
    return (e.WorkStopped(channel=command.channel, seat=command.seat),)


def check_channel(team: Team, command: c.CheckChannel, now: datetime) -> Iterator[Fact]:
    channel = team.channel(command.channel)
    if channel.drain is not None:
        if channel.drain.until <= now:
            yield from _drain_over(team, channel, now)
    elif channel.turn is not None:
        standing = Standing(team, channel, team.agents[channel.turn.holder], now)
        yield from _turn_over(standing, channel.turn)


def _turn_over(standing: Standing, turn: HeldTurn) -> Iterator[Fact]:
    """What of a turn is over by now: the wait, the hold, the silence, or its time."""
    now = standing.now
    if turn.wait is not None:
        if turn.wait.until > now or turn.wait.approval:
            return
        if turn.wait.by_human:
            yield resume(standing, turn, "human_release")
        else:
            yield move(standing, WAITING, "wait_timeout", epoch=standing.channel.epoch)
            yield from stop_work(standing)
    elif turn.until <= now or turn.cap <= now:
        yield from _timed_out(standing, turn)
    elif turn.silent_at is not None and turn.silent_at <= now:
        yield _forgotten(standing)
        yield move(standing, ACTIVE, "silence", epoch=standing.channel.epoch)


def _timed_out(standing: Standing, turn: HeldTurn) -> Iterator[Fact]:
    channel, agent = standing.channel, standing.agent
    reason = "cap" if turn.cap <= standing.now else None
    if turn.posted:
        yield _forgotten(standing)
    if channel.config.announce_timeouts:
        yield e.Announcement(channel=channel.id, text=f"⏱️ {agent.id} turn timed out")
    yield move(standing, ACTIVE, "timeout", epoch=channel.epoch, reason=reason)
    yield from stop_work(standing)


def _forgotten(standing: Standing) -> Fact:
    text = "Agent completed response without TURN_COMPLETE"
    return e.WarningLogged(text=text, seat=standing.agent.seat, channel=standing.channel.id)


def _drain_over(team: Team, channel: Channel, now: datetime) -> Iterator[Fact]:
    """Work that was to stop has not: kill its session; where even that fails, go on and say so."""
    drain = channel.drain
    assert drain is not None
    agent = team.agents[drain.seat]
    if not drain.killing and agent.session is not None:
        until = now + seconds(limits.KILL_SECONDS)
        yield e.KillRequested(
            seat=agent.seat, session=agent.session, channel=channel.id, until=until
        )
        return
    text = f"the work of {agent.id} could not be seen to stop; the turn goes on without it"
    yield e.WarningLogged(text=text, seat=agent.seat, channel=channel.id)
    yield e.WorkStopped(channel=channel.id, seat=agent.seat)


def offer_turn(team: Team, command: c.OfferTurn, now: datetime) -> Sequence[Fact]:
    channel = team.channels[command.channel]
    if channel.turn or channel.drain or channel.resting:
        return ()
    if channel.idle is not None:
        idle = Standing(team, channel, team.agents[channel.idle], now)
        return () if alone(idle) else (move(idle, IDLE, "member_joined"),)
    if channel.silent_turns >= channel.config.rest_after_idle_rounds and _is_tired(team, channel):
        rounds = channel.config.rest_after_idle_rounds
        return (e.ChannelRested(channel=channel.id, idle_rounds=rounds),)
    agents, ring, size = team.agents, channel.ring, len(channel.ring)
    if reached := dried_up(channel):
        return tuple(_pause_all(team, channel, reached))
    for step in range(1, size + 1):
        agent = agents[ring[(channel.cursor + step) % size]]
        if agent.free and reachable(agent):
            return (grant(Standing(team, channel, agent, now), "turn_granted"),)
    return ()


def _pause_all(team: Team, channel: Channel, reached: str) -> Iterator[Fact]:
    """A channel has used up what it may: whoever could be granted a turn in it is paused."""
    for seat in channel.ring:
        agent = team.agents[seat]
        if agent.free and reachable(agent):
            yield from pause_for(team, agent, reached)


def _is_tired(team: Team, channel: Channel) -> bool:
    """Whether so many whole rounds passed in silence that the channel rests."""
    awake = sum(reachable(team.agents[seat]) for seat in channel.ring)
    return 0 < awake * channel.config.rest_after_idle_rounds <= channel.silent_turns
