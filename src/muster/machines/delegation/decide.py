"""Delegation: who does the work. A conversation is one human input and all that follows from it.

Its state is MAIN (the lead, or muster where there is no lead) or the agent that works on it; in
response mode there is no MAIN, and the conversation waits in a QUEUE until an agent claims it.
Every hand-over has an epoch, like a turn: an agent that was presumed dead cannot finish another
agent's task. A chain that returns to an earlier state without progress goes back to MAIN.

Where muster leads a conversation, the agent works on it in a session of its seat, which
`couplings.py` requests. `Delegate` and `HandOff` check the gate of run control first: a paused or
disabled agent is refused with that rule, and the conversation stays where it is. The agent's report
is the answer and closes the conversation in the same transaction. A conversation with a keeper is
led by another program, which runs the agents and closes the conversation itself.

Where the router is unsure, a selector (`selection.py`) has the conversation first: its report names
the agent that gets it next, in the same transaction.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from muster.errors import (
    AlreadyClaimed,
    ConversationClosed,
    DelegationOpen,
    Invalid,
    NestedTooDeep,
    NoDelegation,
    NotFound,
    Refused,
    StaleEpoch,
    UsedUp,
    WrongMode,
)
from muster.limits import (
    DIALOGUE_CHARS_MAX,
    HANDOVERS_MAX,
    NESTED_ASKS_MAX,
)
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.actors import refuse_agent
from muster.machines.delegation.index import PREFIX
from muster.machines.delegation.selection import chosen_agent, not_selected, selected
from muster.machines.delegation.table import AGENT, TABLE, Step, going_in_circles
from muster.machines.events import Fact
from muster.machines.ids import ConversationId, agent_actor, is_agent
from muster.machines.names import check_plain
from muster.machines.run_control.gate import task_refusal
from muster.machines.spending import conversation_limit_reached
from muster.machines.state import MAIN, QUEUE, Conversation, Delegation, Selection, Team
from muster.machines.turns.messages import check_text
from muster.machines.vocabulary import DelegationMode, Machine, Remark

SUMMARY_CHARS: Final = 120

_CUT: Final = (
    f"[The dialogue is cut here, because it has reached {DIALOGUE_CHARS_MAX:,} characters. Only "
    "reports and answers follow.]"
)


# ── deciding ──────────────────────────────────────────────────────────────────────────────────────


def start_delegation(team: Team, command: c.StartDelegation, now: datetime) -> Sequence[Fact]:
    if team.delegation.mode is not None:
        raise DelegationOpen()
    _check_names(command.agents)
    return (e.DelegationStarted(**_fields(command)),)


def add_descriptions(team: Team, command: c.AddDescriptions, now: datetime) -> Sequence[Fact]:
    delegation = open_session(team)
    _check_names(command.agents)
    known = [name for name in command.agents if name in delegation.agents]
    if known or not command.agents:
        raise Invalid(what="the new agents", why=f"must be new: {', '.join(known) or 'none is'}")
    return (e.DescriptionsAdded(**_fields(command)),)


def _check_names(agents: Sequence[str]) -> None:
    for name in agents:
        check_plain("the agent", name)
        if name in (MAIN, QUEUE):
            raise Invalid(what=f"the agent {name!r}", why="has the name of a state")


def end_delegation(team: Team, command: c.EndDelegation, now: datetime) -> Iterator[Fact]:
    delegation = open_session(team)
    for conversation_id in sorted(delegation.conversations):
        conversation = delegation.conversations[conversation_id]
        if conversation.state != delegation.home_state:
            yield _move(delegation, conversation, "session_closed", delegation.home_state)
        yield e.ConversationEnd(conversation=conversation_id, summary="", outcome="ended")
    yield e.DelegationEnded(reason=command.reason)


def open_conversation(team: Team, command: c.OpenConversation, now: datetime) -> Sequence[Fact]:
    delegation = open_session(team)
    check_text(command.text)
    if command.depth > NESTED_ASKS_MAX:
        raise NestedTooDeep(depth=command.depth, most=NESTED_ASKS_MAX)
    start = e.ConversationStart(
        conversation=conversation_id(delegation.opened + 1),
        text=command.text,
        speaker_name=command.speaker_name,
        keeper=command.keeper,
        seat=command.seat,
        depth=command.depth,
    )
    return (start,)


def asking_depth(delegation: Delegation, agent: str) -> int:
    """The least depth of an agent's request: one more than of the requests that it works on."""
    works_on = (each for each in delegation.conversations.values() if each.is_worked_on_by(agent))
    return 1 + max((each.depth for each in works_on), default=0)


def check_asks(team: Team, command: c.OpenConversation, actor: str) -> None:
    """An agent asks in its own name, and not as shallow as a person."""
    if not is_agent(actor):
        return
    name = actor.removeprefix(agent_actor(""))
    check_plain("the agent", name)
    if command.keeper:
        refuse_agent(actor, "lead a request")
    if command.speaker_name != name:
        refuse_agent(actor, f"ask as {command.speaker_name!r}", "Ask in your own name.")
    least = asking_depth(team.delegation, name)
    if command.depth < least:
        refuse_agent(actor, f"ask at depth {command.depth}", f"Your requests begin at {least}.")


def conversation_id(number: int) -> ConversationId:
    """The id of a conversation: a number of at least three digits."""
    return ConversationId(f"{PREFIX}{number:03d}")


def record_route(team: Team, command: c.RecordRoute, now: datetime) -> Sequence[Fact]:
    delegation, _ = _conversation(team, command.conversation)
    if command.to != MAIN:
        require_agent(delegation, command.to)
    if command.selector:
        check_plain("the selector", command.selector)
        if not command.candidates:
            raise Invalid(what="the route", why="has no candidates for its selector")
    return (e.Routed(**_fields(command)),)


def deny_permission(team: Team, command: c.DenyPermission, now: datetime) -> Sequence[Fact]:
    _, conversation = _conversation(team, command.conversation)
    return (e.PermissionDenied(state=conversation.state, **_fields(command)),)


def record_dialogue(team: Team, command: c.RecordDialogue, now: datetime) -> Sequence[Fact]:
    """Record a remark. In a dialogue that is full, only reports and answers are recorded."""
    _, conversation = _conversation(team, command.conversation)
    check_text(command.text)
    left = DIALOGUE_CHARS_MAX - conversation.said
    recorded = e.DialogueRecorded(**_fields(command))
    if command.kind in (Remark.REPORT, Remark.ANSWER) or len(command.text) <= left:
        return (recorded,)
    if left <= 0:
        return ()
    return (replace(recorded, text=f"{command.text[:left]}\n\n{_CUT}"),)


def record_file(team: Team, command: c.RecordFile, now: datetime) -> Sequence[Fact]:
    _, conversation = _conversation(team, command.conversation)
    fields = _fields(command)
    agent = fields.pop("agent")
    state = agent if conversation.is_worked_on_by(agent) else conversation.state
    return (e.FileRecorded(state=state, **fields),)


# The values have the types of the command's fields, which the fact shares; hence Any.
def _fields(command: c.Command) -> dict[str, Any]:
    return {name: getattr(command, name) for name in command.__struct_fields__}


def delegate(team: Team, command: c.Delegate, now: datetime) -> Sequence[Fact]:
    delegation, conversation = _conversation(team, command.conversation)
    if conversation.selection is None or command.to != conversation.selection.selector:
        require_agent(delegation, command.to)
    at_home = conversation.state == delegation.home_state
    if not at_home and not (command.beside and conversation.keeper):
        raise AlreadyClaimed(conversation=conversation.id, state=conversation.state)
    _check_work(team, conversation, command.to, now)
    return (
        _move(
            delegation,
            conversation,
            "delegated" if at_home else "joined",
            command.to,
            reason=command.trigger,
            until=_deadline(now, command.seconds),
        ),
    )


def hand_off(team: Team, command: c.HandOff, now: datetime) -> Iterator[Fact]:
    delegation, conversation = _working(team, command.conversation, command.epoch)
    if delegation.mode is not DelegationMode.INTERACTIVE:
        raise WrongMode(act="hand over to another agent", mode=delegation.mode)
    answer = answer_of(conversation.state, command.report)
    if command.to == MAIN:
        yield _move(delegation, conversation, "handed_back", MAIN, reason=command.reason)
        yield from _close(conversation, answer, failed=False)
        return
    require_agent(delegation, command.to)
    _check_work(team, conversation, command.to, now)
    until = _deadline(now, command.seconds)
    move = _move(
        delegation, conversation, "handed_over", command.to, reason=command.reason, until=until
    )
    if move.target == command.to:
        yield move
        return
    why = _why_stopped(Step(delegation, conversation, command.to))
    yield e.WarningLogged(text=f"{conversation.id}: {why}")
    yield replace(move, until=None, reason=why)
    yield from _close(conversation, f"{answer}\n\n{why}", failed=True)


def _why_stopped(step: Step) -> str:
    """The reason why a chain of hand-overs is stopped, for the person and for the record."""
    if going_in_circles(step):
        return f"The chain was stopped: it came back to {step.to} without progress."
    most = f"a conversation may be handed over {HANDOVERS_MAX} times"
    return f"The chain was stopped before {step.to}: {most}."


def record_progress(team: Team, command: c.RecordProgress, now: datetime) -> Sequence[Fact]:
    _, conversation = _conversation(team, command.conversation)
    return (e.ProgressRecorded(conversation=conversation.id, what=command.what),)


def finish_task(team: Team, command: c.FinishTask, now: datetime) -> Iterator[Fact]:
    delegation, conversation = _working(team, command.conversation, command.epoch)
    trigger = "agent_failed" if command.failed else "task_completed"
    reason = command.summary if command.failed else command.summary or clipped(command.report)
    if conversation.beside:
        yield _leave(delegation, conversation, command.agent or conversation.state, reason)
        return
    yield _move(delegation, conversation, trigger, delegation.home_state, reason=reason or None)
    if delegation.mode is DelegationMode.RESPONSE:
        yield _end(conversation, reason, failed=command.failed)
        return
    failure = f"{conversation.state} failed: {command.summary}" if command.failed else ""
    if conversation.selection is not None:
        at_home = replace(conversation, state=MAIN, epoch=conversation.epoch + 1)
        yield from _select(team, at_home, conversation.selection, command, now)
        return
    answer = failure or answer_of(conversation.state, command.report)
    yield from _close(conversation, answer, failed=command.failed)


def _leave(
    delegation: Delegation, conversation: Conversation, agent: str, reason: str
) -> e.StateTransition:
    """The end of one agent's work on a conversation that others still work on."""
    if not conversation.is_worked_on_by(agent):
        raise NotFound(kind="agent at work", name=agent)
    to = conversation.state if agent != conversation.state else conversation.beside[-1]
    return replace(
        _move(delegation, conversation, "left", to, reason=reason or None),
        agent_id=agent,
        source=agent,
    )


def _select(
    team: Team,
    conversation: Conversation,
    selection: Selection,
    command: c.FinishTask,
    now: datetime,
) -> Iterator[Fact]:
    """Delegate to the agent that the selector chose; close if it chose none that may run."""
    agent = None if command.failed else chosen_agent(selection, command.report)
    if agent is None:
        why = command.summary if command.failed else command.report
        yield from _close(conversation, not_selected(selection, why), failed=True)
        return
    routed = selected(conversation.id, selection, agent, command.report)
    yield routed
    try:
        _check_work(team, conversation, agent, now)
    except Refused as refused:
        yield from _close(conversation, str(refused), failed=True)
        return
    until = _deadline(now, command.seconds)
    yield _move(
        team.delegation, conversation, "delegated", agent, reason=routed.reason, until=until
    )


def _close(conversation: Conversation, answer: str, *, failed: bool) -> Iterator[Fact]:
    """Answer and close a conversation that muster leads. A keeper closes its own."""
    if conversation.keeper:
        return
    yield e.DialogueRecorded(
        conversation=conversation.id, speaker=MAIN, kind=Remark.ANSWER, text=answer
    )
    yield _end(conversation, f"{clipped(conversation.text)}: {clipped(answer)}", failed=failed)


def _end(conversation: Conversation, summary: str, *, failed: bool) -> Fact:
    outcome = "failed" if failed else "answered"
    return e.ConversationEnd(conversation=conversation.id, summary=summary, outcome=outcome)


def answer_of(agent: str, report: str) -> str:
    """The answer to the human after an agent's work."""
    return report or f"{agent} finished without a report."


def clipped(text: str) -> str:
    """A text on one line, cut at `SUMMARY_CHARS`."""
    line = " ".join(text.split())
    return line if len(line) <= SUMMARY_CHARS else line[: SUMMARY_CHARS - 1] + "…"


def close_conversation(team: Team, command: c.CloseConversation, now: datetime) -> Sequence[Fact]:
    delegation, conversation = _conversation(team, command.conversation)
    if conversation.state != delegation.home_state:
        raise AlreadyClaimed(conversation=conversation.id, state=conversation.state)
    return (_end(conversation, command.summary, failed=command.failed),)


CANCELLED: Final = "It was cancelled."
"""The summary of a conversation that a person cancelled."""


def cancel_conversation(team: Team, command: c.CancelConversation, now: datetime) -> Iterator[Fact]:
    delegation, conversation = _conversation(team, command.conversation)
    if conversation.keeper:
        why = "is led by another program; interrupt it there"
        raise Invalid(what=conversation.id, why=why)
    if conversation.state != delegation.home_state:
        yield _move(delegation, conversation, "cancelled", delegation.home_state)
    yield e.ConversationEnd(conversation=conversation.id, summary=CANCELLED, outcome="ended")


def check_cancels(team: Team, command: c.CancelConversation, actor: str) -> None:
    """Only people take back what people asked for."""
    refuse_agent(actor, "cancel a request")


# ── guards and moves ──────────────────────────────────────────────────────────────────────────────


def in_order(delegation: Delegation) -> list[Conversation]:
    """The open conversations in the order of their numbers: conv_1000 after conv_999."""
    return sorted(delegation.conversations.values(), key=lambda each: (len(each.id), each.id))


def open_session(team: Team) -> Delegation:
    """The state machine session, which must be open."""
    if team.delegation.mode is None:
        raise NoDelegation()
    return team.delegation


def _conversation(team: Team, conversation_id: ConversationId) -> tuple[Delegation, Conversation]:
    delegation = open_session(team)
    conversation = delegation.conversations.get(conversation_id)
    if conversation is None:
        raise ConversationClosed(conversation=conversation_id)
    return delegation, conversation


def _working(
    team: Team, conversation_id: ConversationId, epoch: int
) -> tuple[Delegation, Conversation]:
    """The conversation, if the epoch is current: a stale agent must not continue it."""
    delegation, conversation = _conversation(team, conversation_id)
    if epoch != conversation.epoch or conversation.state == delegation.home_state:
        raise StaleEpoch(channel=conversation.id, given=epoch, epoch=conversation.epoch)
    return delegation, conversation


def _check_work(team: Team, conversation: Conversation, to: str, now: datetime) -> None:
    """Refuse if the conversation has reached its limit, or if the gate would refuse the agent."""
    if reached := conversation_limit_reached(conversation, team.delegation.allowance):
        raise UsedUp(reached=reached)
    refused = None if conversation.keeper else task_refusal(team, to, now)
    if refused is not None:
        raise refused


def _deadline(now: datetime, seconds: float | None) -> datetime | None:
    return None if seconds is None else now + timedelta(seconds=seconds)


def require_agent(delegation: Delegation, name: str) -> None:
    """Refuse an agent that has no description in the session."""
    if name not in delegation.agents:
        raise NotFound(kind="agent description", name=name)


def _move(
    delegation: Delegation,
    conversation: Conversation,
    trigger: str,
    to: str,
    reason: str | None = None,
    until: datetime | None = None,
) -> e.StateTransition:
    """The transition of a conversation, as the table defines it."""
    home = delegation.home_state
    at_home = conversation.state == home
    target = TABLE.target(
        home if at_home else AGENT,
        trigger,
        Step(delegation, conversation, to),
        to if to == home else None,
    )
    return e.StateTransition(
        machine=Machine.DELEGATION,
        agent_id=to if at_home else conversation.state,
        source=conversation.state,
        target=to if target == AGENT else target,
        trigger=trigger,
        conversation=conversation.id,
        epoch=conversation.epoch + 1,
        reason=reason,
        until=until,
    )
