"""Turns: may it speak. One member of a channel at a time holds the turn.

A free turn is granted in `granting.py`, and everything that may free a turn or a member leads
there; here only a person gives one away. `order.py` decides who is next, `ends.py` when a
conversation is over. That at most one agent is ACTIVE in a channel needs no check: a channel has
room for one turn.
Surprising:

- WAITING holds the turn. No other member speaks meanwhile, and the turn's timeout is suspended.
- A turn taken from a session that muster runs leaves a *drain* behind: the turn is not granted
  again until that work has stopped.
- A member that went to sleep in order keeps its place, and is granted the turn if it may be woken.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from muster import limits
from muster.errors import CannotSpeak, ChannelIsArchived, Invalid, TurnNotBegun
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.actors import refuse_agent
from muster.machines.attachments import check_files
from muster.machines.events import Fact
from muster.machines.ids import SeatId, is_agent
from muster.machines.state import Channel, HeldTurn, Team, Wait
from muster.machines.turns.ends import rest
from muster.machines.turns.messages import check_reply, check_text, is_blank
from muster.machines.turns.order import (
    chosen_speaker,
    claim_of,
    ends_conversation,
    hand_over,
    mentions,
)
from muster.machines.turns.privacy import is_insider
from muster.machines.turns.table import (
    ACTIVE,
    HELD,
    QUEUED,
    TURN_COMPLETE,
    WAITING,
    Membership,
    check_epoch,
    check_seconds,
    grant,
    halt_work,
    is_own,
    member,
    move,
    not_your_turn,
    open_channel,
    reachable,
    require_turn,
    resume,
    rouse_idle,
    seconds,
    stop_work,
    timeout_of,
    unreachable_because,
)
from muster.machines.vocabulary import Awaits, Claim, InterruptMode, Limit, SpeakerOrder


def post_message(team: Team, command: c.PostMessage, now: datetime) -> Iterator[Fact]:
    channel = open_channel(team, command.channel)
    check_text(command.text)
    check_reply(channel, command.reply_to)
    check_files(command.files)
    turn, mode = channel.turn, command.mode or channel.config.human_interrupt_mode
    answers = turn is not None and turn.wait is not None and _awaits_person(turn.wait)
    if answers and mode is not InterruptMode.PARALLEL:
        mode = InterruptMode.INJECT  # the agent waits for this message: it gets it now
    recipients = _immediate_recipients(channel, mode)
    yield e.UserMessage(
        text=command.text,
        speaker_name=command.speaker_name,
        target_agent=None,
        channel=channel.id,
        mode=mode,
        deliver_to=recipients,
        reply_to=command.reply_to,
        files=command.files,
    )
    # The speaker that is handed the message now needs no further turn for it.
    told = turn.holder if turn is not None and turn.holder in recipients else None
    speaker = command.speaker_name
    yield from mentions(team, channel, command.text, Claim.PERSON, speaker, but=told)
    if channel.resting:
        yield e.ChannelRoused(channel=channel.id)
    if turn is None:
        yield from rouse_idle(team, channel, "message_posted", now)
    elif answers:
        holder = Membership(team, channel, team.agents[turn.holder], now)
        yield resume(holder, turn, "wait_resolved", reason="a person answered")
    elif mode is InterruptMode.INTERRUPT:
        yield from _hold(team, channel, turn, now)


def _awaits_person(wait: Wait) -> bool:
    return is_own(wait) and wait.awaits is Awaits.PERSON


def _immediate_recipients(channel: Channel, mode: InterruptMode) -> tuple[SeatId, ...]:
    """The seats that get a human's message now. The others get it with their next turn."""
    if mode is InterruptMode.PARALLEL:
        return channel.ring
    turn = channel.turn
    if turn is None or mode is InterruptMode.QUEUE:
        return ()
    listening = turn.wait is None or turn.wait.by_human or _awaits_person(turn.wait)
    return (turn.holder,) if listening else ()


def _hold(team: Team, channel: Channel, turn: HeldTurn, now: datetime) -> Iterator[Fact]:
    """Pause the turn for a human; every further message extends the hold."""
    until = now + seconds(channel.config.interrupt_hold_seconds)
    if turn.wait is None:
        membership = Membership(team, channel, team.agents[turn.holder], now)
        yield move(membership, ACTIVE, "human_interrupt", until=until, reason="human_interrupt")
        yield from halt_work(membership)
    elif turn.wait.by_human:
        yield e.TurnRenewed(channel=channel.id, epoch=channel.epoch, until=until)


def speak(team: Team, command: c.Speak, now: datetime) -> Iterator[Fact]:
    membership = require_turn(team, command.channel, command.seat, command.epoch, "speak", now)
    if command.complete and is_blank(command.text) and not command.files:
        yield from _complete(membership, command.to)
        return
    check_text(command.text)
    check_reply(membership.channel, command.reply_to)
    check_files(command.files)
    if is_choosing(membership):
        yield from _choose(membership, command.text, command.to)
        return
    if command.to is not None and not command.complete:
        raise Invalid(what="to", why="hands the turn over, so the message must complete the turn")
    handoff = hand_over(membership, command.to) if command.to is not None else None
    message = _message(membership, command.text)
    yield replace(message, reply_to=command.reply_to, files=command.files)
    yield from _mentions_by_speaker(membership, command.text)
    if handoff is not None:
        yield handoff
    if command.complete:
        yield move(membership, ACTIVE, TURN_COMPLETE, epoch=membership.channel.epoch)


def _mentions_by_speaker(membership: Membership, text: str) -> Iterator[Fact]:
    if membership.channel.config.speaker_order is not SpeakerOrder.MENTION:
        return
    agent = membership.agent
    yield from mentions(
        membership.team, membership.channel, text, Claim.MENTION, agent.id, but=agent.seat
    )


def is_choosing(membership: Membership) -> bool:
    """Whether the turn is the selector's: what it says is an answer, and no message."""
    turn = membership.channel.turn
    return turn is not None and turn.choosing


def _choose(
    membership: Membership, text: str, to: SeatId | None = None, reason: str | None = None
) -> Iterator[Fact]:
    """End the selector's turn with its answer. Without a name in it, the ring decides."""
    channel, selector = membership.channel, membership.agent
    chosen = chosen_speaker(membership, text, to)
    if text or to is not None:
        yield e.SpeakerChosen(
            channel=channel.id,
            seat=selector.seat,
            chosen=chosen,
            text=text[: limits.REASON_CHARS_MAX],
        )
    yield move(membership, ACTIVE, TURN_COMPLETE, epoch=channel.epoch, reason=reason)
    if chosen is None and ends_conversation(text):
        yield from rest(channel, Limit.SELECTOR, f"{selector.id} chose nobody")


def _message(membership: Membership, text: str) -> e.AgentMessage:
    return e.AgentMessage(
        agent_name=membership.agent.id,
        content=(e.Text(text=text),),
        seat=membership.agent.seat,
        channel=membership.channel.id,
        epoch=membership.channel.epoch,
    )


def complete_turn(team: Team, command: c.CompleteTurn, now: datetime) -> Sequence[Fact]:
    membership = require_turn(team, command.channel, command.seat, command.epoch, "complete", now)
    return _complete(membership, command.to, command.reason)


def _complete(
    membership: Membership, to: SeatId | None, reason: str | None = None
) -> Sequence[Fact]:
    """End a turn without a message."""
    if is_choosing(membership):
        return tuple(_choose(membership, "", to, reason))
    epoch = membership.channel.epoch
    end = move(membership, ACTIVE, TURN_COMPLETE, epoch=epoch, reason=reason)
    return (end,) if to is None else (hand_over(membership, to), end)


def wait_turn(team: Team, command: c.WaitTurn, now: datetime) -> Sequence[Fact]:
    membership = require_turn(team, command.channel, command.seat, command.epoch, "wait", now)
    timeout = command.timeout_seconds
    if timeout is None:
        timeout = membership.channel.config.wait_timeout_seconds
    check_seconds("timeout_seconds", timeout)
    # An agent does not hold the turn for longer than the channel lets it wait or speak.
    rules = membership.channel.config
    longest = max(rules.wait_timeout_seconds, rules.max_turn_seconds)
    until = now + seconds(min(timeout, longest))
    epoch = membership.channel.epoch
    trigger = "wait_requested" if command.awaits is Awaits.PERSON else "dependency_awaited"
    return (move(membership, ACTIVE, trigger, epoch=epoch, until=until, reason=command.reason),)


def resume_turn(team: Team, command: c.ResumeTurn, now: datetime) -> Sequence[Fact]:
    membership = member(team, command.channel, command.seat, now)
    check_epoch(membership.channel, command.epoch)
    turn = membership.channel.turn
    wait = turn.wait if turn is not None and turn.holder == command.seat else None
    if command.if_own and (wait is None or not is_own(wait)):
        return ()
    if turn is None or wait is None:
        raise not_your_turn(membership, "resume")
    trigger = "human_release" if wait.by_human else "wait_resolved"
    return (resume(membership, turn, trigger),)


def check_told(team: Team, command: c.CompleteTurn | c.Speak | c.WaitTurn, actor: str) -> None:
    """Refuse an act of an agent on a turn that its program has not begun, unless it names it.

    A prompt waits while its program works on an earlier one. An act without a number of a turn
    belongs to that earlier work, and must not end the turn that the program does not know of yet.
    """
    channel = team.channels.get(command.channel)
    turn = None if channel is None else channel.turn
    if turn is None or turn.taken or turn.holder != command.seat or command.epoch is not None:
        return
    agent = team.agents[command.seat]
    session = None if agent.session is None else team.sessions.get(agent.session)
    if session is not None and session.confirms_prompts and is_agent(actor):
        raise TurnNotBegun(name=agent.id, channel=command.channel)


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
    """Only people override turns."""
    refuse_agent(actor, "override a turn")


def end_forgotten_turn(team: Team, command: c.EndForgottenTurn, now: datetime) -> Iterator[Fact]:
    membership = require_turn(team, command.channel, command.seat, command.epoch, "complete", now)
    if is_choosing(membership):
        yield from _choose(membership, command.text if command.ok else "")
        return
    yield _forgotten(membership)
    epoch, reason = membership.channel.epoch, None
    if not command.ok:
        said = "" if _knows_more(membership) else command.text[: limits.REASON_CHARS_MAX]
        reason = said or "its work failed"
    elif not is_blank(command.text):
        check_text(command.text)
        yield _message(membership, command.text)
        yield from _mentions_by_speaker(membership, command.text)
    yield move(membership, ACTIVE, TURN_COMPLETE, epoch=epoch, reason=reason)


def _knows_more(membership: Membership) -> bool:
    """Whether the holder's program was told what some readers of the channel may not know."""
    team, channel = membership.team, membership.channel
    return channel.id not in team.private and is_insider(team, membership.agent.seat)


def await_approval(team: Team, command: c.AwaitApproval, now: datetime) -> Sequence[Fact]:
    """Suspend the turn's timeout while its holder has an open request for approval."""
    channel, agent = team.channel(command.channel), team.agent(command.seat)
    turn = channel.turn
    if turn is None or turn.holder != agent.seat:
        return ()
    membership = Membership(team, channel, agent, now)
    if turn.wait is None and agent.approvals:
        first = agent.approvals[0]
        return (
            move(
                membership,
                ACTIVE,
                "approval_requested",
                epoch=channel.epoch,
                until=first.until,
                reason=f"approval {first.id}: {first.tool}",
            ),
        )
    if turn.wait is not None and turn.wait.approval and not agent.approvals:
        return (resume(membership, turn, "approval_answered"),)
    return ()


def override_turn(team: Team, command: c.OverrideTurn, now: datetime) -> Iterator[Fact]:
    membership = member(team, command.channel, command.seat, now)
    channel, state = membership.channel, membership.channel.state_of(command.seat)
    if command.to not in (ACTIVE, QUEUED):
        raise Invalid(what="to", why="must be ACTIVE or QUEUED")
    if state is command.to:
        if state is QUEUED and claim_of(channel, command.seat) is not None:
            yield e.TurnClaimDropped(channel=channel.id, seat=command.seat)
        return
    if command.to is QUEUED:
        if state in HELD and claim_of(channel, command.seat) is not None:
            yield e.TurnClaimDropped(channel=channel.id, seat=command.seat)
        yield move(membership, state, "human_override", want=QUEUED, epoch=channel.epoch)
        if state in HELD:
            yield from stop_work(membership)
    elif state is WAITING and channel.turn is not None:
        yield resume(membership, channel.turn, "human_override")
    else:
        yield from _grant_by_override(membership)


def _grant_by_override(membership: Membership) -> Iterator[Fact]:
    """Grant a free turn to the agent that a human chose, or else the next one."""
    channel, agent = membership.channel, membership.agent
    if channel.archived:
        raise ChannelIsArchived(channel=channel.id)
    if not reachable(membership.team, agent):
        raise CannotSpeak(name=agent.id, why=unreachable_because(membership.team, agent))
    by = membership.team.human
    if channel.turn is not None or channel.drain is not None or not membership.team.is_free(agent):
        yield e.TurnClaimed(channel=channel.id, seat=agent.seat, claim=Claim.PERSON, by=by)
        return
    if channel.resting:
        yield e.ChannelRoused(channel=channel.id)
    yield from rouse_idle(membership.team, channel, "human_override", membership.now)
    yield grant(membership, "human_override", f"chosen by {by}")


def renew_turn(team: Team, command: c.RenewTurn, now: datetime) -> Sequence[Fact]:
    membership = require_turn(team, command.channel, command.seat, command.epoch, "work", now)
    channel, turn = membership.channel, membership.channel.turn
    assert turn is not None
    timeout = timeout_of(channel, command.seat)
    until = min(now + timeout, turn.cap)
    worth_logging = until - turn.until >= timeout * limits.RENEW_FRACTION
    if turn.silent_at is not None and not command.heartbeat:
        silence = seconds(channel.config.auto_detect_silence_seconds)
        worth_logging |= now + silence - turn.silent_at >= silence * limits.RENEW_FRACTION
    if not worth_logging:
        return ()
    return (
        e.TurnRenewed(
            channel=channel.id, epoch=channel.epoch, until=until, heartbeat=command.heartbeat
        ),
    )


def report_work_stopped(team: Team, command: c.ReportWorkStopped, now: datetime) -> Sequence[Fact]:
    channel = team.channel(command.channel)
    drain, turn = channel.drain, channel.turn
    lost = drain is not None and drain.seat == command.seat
    held = turn is not None and turn.holder == command.seat and turn.stopping
    if not lost and not held:
        return ()
    return (e.WorkStopped(channel=command.channel, seat=command.seat),)


def check_channel(team: Team, command: c.CheckChannel, now: datetime) -> Iterator[Fact]:
    channel = team.channel(command.channel)
    if channel.drain is not None:
        if channel.drain.until <= now:
            yield from _drain_due(team, channel, now)
    elif channel.turn is not None:
        membership = Membership(team, channel, team.agents[channel.turn.holder], now)
        yield from _turn_due(membership, channel.turn)


def _turn_due(membership: Membership, turn: HeldTurn) -> Iterator[Fact]:
    """End what is due in a turn: its wait, a human's hold, the silence after a post, or itself."""
    now = membership.now
    if turn.wait is not None:
        if turn.wait.until > now or turn.wait.approval:
            return
        if turn.wait.by_human:
            yield resume(membership, turn, "human_release")
        else:
            yield move(membership, WAITING, "wait_timeout", epoch=membership.channel.epoch)
            yield from stop_work(membership)
    elif turn.until <= now or turn.cap <= now:
        yield from _timed_out(membership, turn)
    elif turn.silent_at is not None and turn.silent_at <= now:
        yield _forgotten(membership)
        yield move(membership, ACTIVE, "silence", epoch=membership.channel.epoch)


def _timed_out(membership: Membership, turn: HeldTurn) -> Iterator[Fact]:
    channel, agent = membership.channel, membership.agent
    reason = "cap" if turn.cap <= membership.now else None
    if turn.posted:
        yield _forgotten(membership)
    if channel.config.announce_timeouts:
        yield e.Announcement(channel=channel.id, text=f"⏱️ {agent.id} turn timed out")
    yield move(membership, ACTIVE, "timeout", epoch=channel.epoch, reason=reason)
    yield from stop_work(membership)


def _forgotten(membership: Membership) -> Fact:
    text = "Agent completed response without TURN_COMPLETE"
    return e.WarningLogged(text=text, seat=membership.agent.seat, channel=membership.channel.id)


def _drain_due(team: Team, channel: Channel, now: datetime) -> Iterator[Fact]:
    """Interrupted work did not stop: kill its session; if that fails, warn and go on."""
    drain = channel.drain
    assert drain is not None
    agent = team.agents[drain.seat]
    if not drain.killing and agent.session is not None:
        until = now + seconds(limits.KILL_SECONDS)
        yield e.KillRequested(
            seat=agent.seat, session=agent.session, channel=channel.id, until=until
        )
        return
    text = f"the work of {agent.id} did not stop in time; the turn is granted anyway"
    yield e.WarningLogged(text=text, seat=agent.seat, channel=channel.id)
    yield e.WorkStopped(channel=channel.id, seat=agent.seat)
