"""Every fact as one English sentence, for `muster log`, `muster why` and the dashboard."""

from collections.abc import Callable, Iterator
from typing import Any

from muster.machines import events as e
from muster.machines.events import Event, Fact
from muster.machines.identity.wake_words import CHECKED, handed_over
from muster.machines.ids import HERE, MUSTER, NodeId, SeatId, author_text, document_id
from muster.machines.state import Team
from muster.machines.turns.table import HELD, QUEUED
from muster.machines.vocabulary import (
    NOTHING_USED,
    Activity,
    Answered,
    ApprovalScope,
    Authority,
    ChangeCount,
    Claim,
    DeliveryWay,
    Machine,
    PlanState,
    Scope,
    Taken,
    Usage,
)

_CUT = "…"
_TEXT_CHARS = 80  # of a message; the full text is in the log
_LOOKED_CHARS = (
    10 * _TEXT_CHARS
)  # cut first: a message may be a megabyte, a page a thousand of them


def sentence(event: Event, team: Team, *, whole: bool = False) -> str:
    """An event as a sentence, with the agents' current names.

    Texts of agents and people are cut to a line, unless the `whole` of them is asked for.
    """
    said = _SENTENCES[type(event.fact)](event.fact, team) + _by(event)
    return _restored(said, event.fact) if whole and _CUT in said else said


def _scope(scope: Scope | None, team: Team) -> str:
    """The scope of a member in words; nothing for the whole team."""
    if scope is None:
        return ""
    agents = (team.agents[seat].id for seat in scope.agents if seat in team.agents)
    named = ", ".join((*agents, *(f"#{name}" for name in scope.channels)))
    return f" for {named or 'nothing'}"


def _restored(said: str, fact: Fact) -> str:
    """The sentence with its texts in full length."""
    for text in _texts(fact):
        clipped = _clip(text)
        if clipped.endswith(_CUT):
            said = said.replace(clipped, " ".join(text.split()), 1)
    return said


def _texts(fact: Fact) -> Iterator[str]:
    if isinstance(fact, e.AgentMessage):
        yield " ".join(block.text for block in fact.content)
    if isinstance(fact, e.MessageImported):
        yield fact.message.text
    for name in fact.__struct_fields__:
        value: object = getattr(fact, name)
        if isinstance(value, str):
            yield value


def _by(event: Event) -> str:
    """The actor in brackets, unless it is muster itself."""
    kind, _, name = event.actor.partition(":")
    return "" if kind == MUSTER else f" (by {author_text(name or kind)})"


def _who(team: Team, seat: SeatId | None) -> str:
    if seat is None:
        return "an unknown agent"
    agent = team.agents.get(seat)
    return agent.id if agent else document_id(seat)


def _list(team: Team, seats: tuple[SeatId, ...]) -> str:
    return ", ".join(_who(team, seat) for seat in seats) or "no agent"


def _clip(text: str) -> str:
    line = " ".join(text[:_LOOKED_CHARS].split())
    is_whole = len(line) <= _TEXT_CHARS and len(text) <= _LOOKED_CHARS
    return line if is_whole else line[: _TEXT_CHARS - 1] + _CUT


def _change_count(count: ChangeCount) -> str:
    files = "1 file" if count.files == 1 else f"{count.files} files"
    return f"{files}, +{count.insertions} -{count.deletions}"


_TAKEN_AWAY = "a human took the turn away"

_TRIGGERS = {
    # identity
    "summoned": "a seat was prepared for it",
    "registered": "it chose its name and wrote its soul",
    "born": "its lead registered it, and muster starts it",
    "hatching_timeout": "it did not register within five minutes",
    "birth_failed": "its session ended without a name",
    "enrolled": "it was given a seat",
    "woken": "its process is up",
    "reported_alive": "its lead reported it",
    "connected": "it connected",
    "session_end": "its process exited",
    "not_reported": "its lead no longer reported it",
    "disconnected": "it disconnected",
    "heartbeat_lost": "its heartbeat timed out",
    # run control
    "session_started": "a session started",
    "session_ended": "its session ended",
    "reported": "it was reported so",
    "budget": "a limit of its budget was reached",
    "session_limit": "a limit of its sessions was reached",
    "runaway": "it spent too fast",
    "restart_policy": "its settings ask for no other session",
    "autostart": "its settings say that it starts with muster",
    # turns
    "agent_starts": "it started",
    "agent_stops": "it stopped in order",
    "agent_disconnects": "it disconnected",
    "agent_crashes": "it crashed",
    "assigned_to_channel": "it joined the channel",
    "removed_from_channel": "it was removed from the channel",
    "place_kept": "it is back in its place",
    "member_joined": "it is no longer alone",
    "message_posted": "a message was posted",
    "turn_granted": "it was granted the turn",
    "turn_claimed": "it is to speak before the ring's next",
    "selector_asked": "it is asked who speaks next",
    "TURN_COMPLETE": "it completed its turn",
    "timeout": "its turn timed out",
    "wait_requested": "it asked to wait",
    "dependency_awaited": "it waits for something else",
    "wait_resolved": "its wait is over",
    "wait_timeout": "its wait timed out",
    "silence": "it was silent after a post",
    "human_interrupt": "a human interrupted",
    "human_release": "the human released the turn",
    "human_override": "a human overrode the turn",
    "approval_requested": "it needs approval",
    "approval_answered": "its request for approval was answered",
    # delegation
    "delegated": "its description matched",
    "joined": "another agent was started beside it",
    "left": "an agent was done, and others still work on it",
    "task_completed": "the task was completed",
    "agent_failed": "the agent failed",
    "handed_over": "it was handed over",
    "handed_back": "it was handed back",
    "session_closed": "the session was closed",
    "cancelled": "it was cancelled",
}


def _transition(fact: e.StateTransition, team: Team) -> str:
    subject = fact.conversation if fact.machine is Machine.DELEGATION else fact.agent_id
    where = f" in {fact.channel}" if fact.channel else ""
    turn = f" (turn {fact.epoch})" if fact.channel and fact.epoch is not None else ""
    if fact.machine is Machine.RUN and fact.reason in _TRIGGERS:
        why, reason = _TRIGGERS[fact.reason], ""  # a mode that follows from a change of identity
    else:
        is_taken = (
            fact.trigger == "human_override" and fact.source in HELD and fact.target == QUEUED
        )
        why = _TAKEN_AWAY if is_taken else _TRIGGERS.get(fact.trigger, fact.trigger)
        reason = f": {_clip(fact.reason)}" if fact.reason else ""
    return f"{subject} went from {fact.source} to {fact.target}{where}{turn}, because {why}{reason}"


def _refused(fact: e.CommandRefused, team: Team) -> str:
    return f"refused {fact.command} ({fact.code}): {fact.reason}"


def _desired(fact: e.DesiredSet, team: Team) -> str:
    note = f": {_clip(fact.note)}" if fact.note else ""
    who = _who(team, fact.seat)
    return f"the desired mode of {who} went from {fact.previous} to {fact.desired}{note}"


def _ended(fact: e.SessionEnd, team: Team) -> str:
    code = "" if fact.code is None else f" with code {fact.code}"
    reason = f": {_clip(fact.reason)}" if fact.reason else ""
    return f"session {fact.session} of {_list(team, fact.seats)} {fact.outcome}{code}{reason}"


def _stop(fact: e.StopRequested, team: Team) -> str:
    then = ", then start again" if fact.restart else ""
    reason = f": {fact.reason}" if fact.reason else ""
    return f"{_who(team, fact.seat)} was asked to stop ({fact.urgency}{then}){reason}"


def _because(reason: str) -> str:
    return f": {_clip(reason)}" if reason else ""


def _said(fact: e.UserMessage, team: Team) -> str:
    where = f" in {fact.channel}" if fact.channel else f" to {fact.target_agent or 'the lead'}"
    return f"{fact.speaker_name} said{where}: {_clip(fact.text)}"


def _agent_said(fact: e.AgentMessage, team: Team) -> str:
    where = f" in {fact.channel}" if fact.channel else ""
    text = " ".join(block.text for block in fact.content)
    return f"{fact.agent_name} said{where}: {_clip(text)}"


def _retried(fact: e.RetryScheduled, team: Team) -> str:
    who, at = _who(team, fact.seat), f"{fact.until:%H:%M:%S}"
    if not fact.failures:
        return f"the session of {who} was very short; the next one starts at {at}"
    return f"{who} {failed_in_a_row(fact.failures)} and is retried at {at}"


def failed_in_a_row(failures: int) -> str:
    """How often sessions failed, for people."""
    return "failed once" if failures == 1 else f"failed {failures} times in a row"


def _jumped(fact: e.ClockJumped, team: Team) -> str:
    way = "ahead" if fact.seconds > 0 else "back"
    slept = f" ({fact.suspended_seconds:.0f} s suspended)" if fact.suspended_seconds else ""
    return f"the clock jumped {way} by {abs(fact.seconds):.0f} s{slept}; durations go on"


def _imported(fact: e.DocumentsImported, team: Team) -> str:
    changed = _list(team, tuple(each.grid_position for each in fact.documents))
    lost = f"; {len(fact.lost)} documents discarded" if fact.lost else ""
    held = f"; {_list(team, fact.held)} unchanged, because live here" if fact.held else ""
    return f"imported {fact.messages} messages and the documents of {changed}{lost}{held}"


def used(usage: Usage) -> str:
    """A usage for people: cost and tokens."""
    return f"{dollars(usage.cost_usd)}, {usage.tokens} tokens"


def dollars(cost_usd: float) -> str:
    """An amount of money; small amounts have more decimals."""
    return f"${cost_usd:.2f}" if cost_usd >= 1 else f"${cost_usd:.4f}"


def _usage_reported(fact: e.UsageReported, team: Team) -> str:
    where = f" for its turn in {fact.channel}" if fact.channel is not None else ""
    return f"{_who(team, fact.seat)} reported its usage{where}: {used(fact.usage)}"


def _result(fact: e.SessionResult, team: Team) -> str:
    text = f": {_clip(fact.text)}" if fact.text else ""
    where = f" in {fact.channel}" if fact.channel else ""
    cost = "" if fact.usage == NOTHING_USED else f" ({used(fact.usage)}{where})"
    did = "finished" if fact.ok else "failed at"
    return f"{_who(team, fact.seat)} {did} its work{text}{cost}"


_ACTIVITIES = {
    Activity.TOOL_CALL: "{who} calls {name}",
    Activity.TOOL_DONE: "{who} is done with {name}",
    Activity.TOOL_FAILED: "{name} failed for {who}",
    Activity.HELPER_STARTED: "{who} started its helper {name}",
    Activity.HELPER_DONE: "the helper {name} of {who} is done",
    Activity.SILENT: "the model of {who} is silent",
    Activity.ASKED_AGAIN: "the request of {who} to its model failed and is retried",
    Activity.COMPACTED: "{who} compacted its context",
}

_TAKEN = {
    Taken.STARTED: "started on the prompt",
    Taken.INJECTED: "accepted a prompt in the middle of its work",
    Taken.QUEUED: "queued a prompt after its work",
}


def _acts(fact: e.AgentActivity, team: Team) -> str:
    text = _ACTIVITIES[fact.kind].format(who=_doer(team, fact.seat, fact.by), name=_clip(fact.name))
    return f"{text}: {_clip(fact.text)}" if fact.text else text


def _plans(fact: e.AgentPlan, team: Team) -> str:
    done = sum(step.state is PlanState.DONE for step in fact.steps)
    now = next((step.text for step in fact.steps if step.state is PlanState.ACTIVE), "")
    at = f": {_clip(now)}" if now else ""
    return f"{_who(team, fact.seat)} has done {done} of {len(fact.steps)} steps of its plan{at}"


def _doer(team: Team, seat: SeatId, helper: str) -> str:
    """The agent of a session, or its helper (a subagent)."""
    who = _who(team, seat)
    return f"{_clip(helper)}, a helper of {who}," if helper else who


def _asks(fact: e.ApprovalRequested, team: Team) -> str:
    asked = (
        f"{_doer(team, fact.seat, fact.by)} needs approval {fact.approval} for {_clip(fact.tool)}"
    )
    detail = f": {_clip(fact.detail)}" if fact.detail else ""
    default = "allowed" if fact.default else "denied"
    return f"{asked}{detail} (else {default} at {fact.until:%H:%M:%S})"


def _answer(fact: e.ApprovalAnswered, team: Team) -> str:
    which = f"approval {fact.approval} of {_who(team, fact.seat)}"
    verdict = "allowed" if fact.allow else "denied"
    if fact.how is Answered.SESSION_END:
        agent = team.agents.get(fact.seat)
        is_own = agent is not None and agent.authority is Authority.SELF
        return f"{which} was withdrawn: {'it has left' if is_own else 'its session has ended'}"
    if fact.how is Answered.DEADLINE:
        return f"{which} timed out and was {verdict} by default"
    reach = _REACH[fact.scope]
    return f"{which} was {verdict}{reach}{f': {_clip(fact.note)}' if fact.note else ''}"


_REACH = {
    ApprovalScope.ONCE: "",
    ApprovalScope.SESSION: " for the rest of its session",
    ApprovalScope.ALWAYS: " for good",
}


def _why_it_rests(fact: e.ChannelRested) -> str:
    return _clip(fact.reason) if fact.reason else f"{fact.idle_rounds} silent rounds"


_WAYS = {
    DeliveryWay.TEAMMATE_INBOX: "through its own inbox inside Claude Code",
    DeliveryWay.LEAD: "through its lead",
}

_CLAIMS = {
    Claim.PERSON: "{by} chose {who} as the next speaker in {channel}",
    Claim.HANDOFF: "{by} handed the turn in {channel} to {who}",
    Claim.MENTION: "{by} mentioned {who} in {channel}",
    Claim.SELECTOR: "{by} chose {who} as the next speaker in {channel}",
    Claim.HAND: "{who} raised its hand in {channel}",
}


def _claims(fact: e.TurnClaimed, team: Team) -> str:
    return _CLAIMS[fact.claim].format(
        by=_clip(fact.by), who=_who(team, fact.seat), channel=fact.channel
    )


def _chose(fact: e.SpeakerChosen, team: Team) -> str:
    chosen = "no member" if fact.chosen is None else _who(team, fact.chosen)
    return f"{_who(team, fact.seat)} chose {chosen} in {fact.channel}: {_clip(fact.text)}"


def _changes(fact: e.SettingsApplied) -> str:
    waiting = f"; after a restart of muster: {', '.join(fact.waiting)}" if fact.waiting else ""
    return _clip(", ".join(fact.changes) or "as before") + waiting


def _on(node: NodeId) -> str:
    """The machine of an event, where the team has several."""
    return "" if node == HERE else f" on {node}"


def _stopping(fact: e.MusterStopping, team: Team) -> str:
    if fact.until is None:
        return f"muster is stopping now{_on(fact.node)}: {_clip(fact.reason)}"
    return (
        f"muster is stopping{_on(fact.node)}: {_clip(fact.reason)}; sessions may finish until "
        f"{fact.until:%H:%M:%S} UTC"
    )


# Each value takes a fact of its key's type; hence Any.
_SENTENCES: dict[type[Fact], Callable[[Any, Team], str]] = {
    e.StateTransition: _transition,
    e.MusterStarted: lambda f, t: f"muster {f.muster_version} started{_on(f.node)}",
    e.MusterStopping: _stopping,
    e.MusterStopped: lambda f, t: f"muster stopped{_on(f.node)}: {f.reason}",
    e.NodeLost: lambda f, t: (
        f"node {f.node} did not renew its lease: its agents that may move start elsewhere"
    ),
    e.NodeReturned: lambda f, t: f"node {f.node} is back",
    e.AgentMoved: lambda f, t: (
        f"{_who(t, f.seat)} belongs to node {f.node}"
        + ("; its session on a node that is away counts as ended" if f.anyway else "")
    ),
    e.DiskReported: lambda f, t: (
        f"the disk of the home{_on(f.node)} "
        + (f"is nearly full: {f.free_bytes:,} bytes left" if f.is_low else "has room again")
    ),
    e.ClockJumped: _jumped,
    e.LogRestored: lambda f, t: (
        f"the log was restored from a backup of {f.made_at:%Y-%m-%d %H:%M} UTC,"
        f" made at event {f.backup_seq}; all tokens ended"
    ),
    e.CommandRefused: _refused,
    e.WarningLogged: lambda f, t: f"warning: {_clip(f.text)}",
    e.SettingsApplied: lambda f, t: f"settings are in force: {_changes(f)}",
    e.SettingsRejected: lambda f, t: (
        f"the settings have a mistake in line {f.line}, and the earlier ones stay: {_clip(f.what)}"
    ),
    e.AgentsSummoned: lambda f, t: f"{len(f.placeholders)} seats were prepared for new agents",
    e.AgentEnrolled: lambda f, t: f"{f.agent.name} took seat {f.agent.grid_position}",
    e.AgentRegistered: lambda f, t: f"{f.agent.name} registered in seat {f.agent.grid_position}",
    e.NoteRemembered: lambda f, t: f"{_who(t, f.seat)} will remember: {_clip(f.text)}",
    e.NoteEdited: lambda f, t: f"note {f.note} of {_who(t, f.seat)} now says: {_clip(f.text)}",
    e.NoteForgotten: lambda f, t: f"note {f.note} of {_who(t, f.seat)} was deleted",
    e.WakeRecorded: lambda f, t: f"{_who(t, f.seat)} was given {handed_over(f.handed)}",
    e.WakeChecked: lambda f, t: f"{_who(t, f.seat)} {CHECKED[f.outcome]}",
    e.SoulEdited: lambda f, t: f"the soul of {_who(t, f.seat)} was edited{_because(f.reason)}",
    e.SessionAdopted: lambda f, t: f"{_who(t, f.seat)} is run by hand in {f.folder}",
    e.HandReported: lambda f, t: f"{_who(t, f.seat)} is {f.state}{f.about and f': {f.about}'}",
    e.HandKept: lambda f, t: f"{_who(t, f.seat)} keeps its seat",
    e.AgentHosted: lambda f, t: f"{_who(t, f.seat)} gets a session of its own",
    e.AgentStatus: lambda f, t: (
        f"the lead reported {len(f.agents)} agents: {_list(t, f.confirmed)}"
    ),
    e.AgentConfirmed: lambda f, t: f"{_who(t, f.seat)} was confirmed by {f.evidence}",
    e.EvidenceExpired: lambda f, t: (
        f"{_who(t, f.seat)} gave no sign of life for {f.seconds:g} s: it is unknown whether it runs"
    ),
    e.WakeRequested: lambda f, t: f"asked to wake {_list(t, f.seats)}",
    e.SleepRequested: lambda f, t: f"asked to put {_list(t, f.seats)} to sleep",
    e.AgentDisabled: lambda f, t: f"{_who(t, f.seat)} was disabled",
    e.AgentRenamed: lambda f, t: f"{f.previous} is now called {f.name}",
    e.AgentDismissed: lambda f, t: f"{_who(t, f.seat)} leaves the team: {_clip(f.reason)}",
    e.AgentRestored: lambda f, t: f"{_who(t, f.seat)} is back in seat {f.seat}",
    e.AgentRetired: lambda f, t: f"{_who(t, f.seat)} was retired, and its name is free",
    e.UsageReported: _usage_reported,
    e.AgentEnabled: lambda f, t: f"{_who(t, f.seat)} was enabled",
    e.MarkerRejected: lambda f, t: f"a {f.marker} of {_who(t, f.seat)} was rejected: {f.reason}",
    e.Conflict: lambda f, t: f"{_who(t, f.seat)} was reported {f.reported}, but {f.evidence}",
    e.DocumentsImported: _imported,
    e.MessageImported: lambda f, t: (
        f"{f.message.speaker_name} said on another machine: {_clip(f.message.text)}"
    ),
    e.DesiredSet: _desired,
    e.AgentConfigured: lambda f, t: (
        f"{_who(t, f.seat)} is run by {f.authority}, as the settings say"
    ),
    e.AgentOutput: lambda f, t: f"{_who(t, f.seat)} printed: {_clip(f.text)}",
    e.SessionResult: _result,
    e.WorkSpending: lambda f, t: f"the work of {_who(t, f.seat)} has used {used(f.usage)} so far",
    e.AgentActivity: _acts,
    e.AgentPlan: _plans,
    e.PromptTaken: lambda f, t: f"{_who(t, f.seat)} {_TAKEN[f.how]}: {_clip(f.text)}",
    e.ApprovalRequested: _asks,
    e.ApprovalAnswered: _answer,
    e.SessionRequested: lambda f, t: (
        f"session {f.session} of {_who(t, f.seat)} was requested"
        f" ({f.mode}, by {f.task or f.trigger})"
    ),
    e.SessionStart: lambda f, t: f"session {f.session} of {_list(t, f.seats)} started ({f.mode})",
    e.SessionEnd: _ended,
    e.StopRequested: _stop,
    e.InterruptRequested: lambda f, t: f"the work of {_who(t, f.seat)} was interrupted",
    e.KillRequested: lambda f, t: f"the session of {_who(t, f.seat)} did not stop and is killed",
    e.RetryScheduled: _retried,
    e.RunPlanned: lambda f, t: f"the next run of {_who(t, f.seat)} is at {f.at:%Y-%m-%d %H:%M:%S}",
    e.ScheduledRunDue: lambda f, t: (
        f"the run of {_who(t, f.seat)} at {f.at:%Y-%m-%d %H:%M:%S} is due"
    ),
    e.WorkInterrupted: lambda f, t: f"the work of {_who(t, f.seat)} was interrupted",
    e.SilenceNoticed: lambda f, t: (
        f"{_who(t, f.seat)} showed no sign of work for {f.seconds:g} s ({f.action})"
    ),
    e.StateFileReported: lambda f, t: (
        f"the state file of {_who(t, f.seat)} "
        + (f"is in trouble: {f.problem}" if f.problem else "is in order")
    ),
    e.StartDeferred: lambda f, t: (
        f"{_who(t, f.seat)} waits for "
        + (f"{', '.join(f.names)} to run" if f.names else "a machine that may run it")
    ),
    e.ChannelCreated: lambda f, t: f"channel {f.channel} was opened",
    e.ChannelConfigured: lambda f, t: f"the rules of channel {f.channel} changed",
    e.MemberJoined: lambda f, t: (
        f"{_who(t, f.seat)} joined {f.channel}"
        + (", at the place that it had lost" if f.place is not None else "")
    ),
    e.MemberLeft: lambda f, t: f"{_who(t, f.seat)} left {f.channel}: {f.reason}",
    e.TurnRenewed: lambda f, t: f"turn {f.epoch} in {f.channel} was extended to {f.until:%H:%M:%S}",
    e.WorkStopped: lambda f, t: f"the work of {_who(t, f.seat)} in {f.channel} has stopped",
    e.ChannelRested: lambda f, t: f"{f.channel} rests: {_why_it_rests(f)} ({f.limit})",
    e.ChannelArchived: lambda f, t: f"{f.channel} was archived",
    e.ChannelRestored: lambda f, t: f"{f.channel} was brought back",
    e.RingOrdered: lambda f, t: f"the order in {f.channel} is now {_list(t, f.seats)}",
    e.MemberConfigured: lambda f, t: (
        f"the turn timeout of {_who(t, f.seat)} in {f.channel} changed"
    ),
    e.TurnClaimed: _claims,
    e.TurnClaimDropped: lambda f, t: f"{_who(t, f.seat)} no longer asks to speak in {f.channel}",
    e.SpeakerChosen: _chose,
    e.TurnsPassed: lambda f, t: (
        f"{_list(t, f.seats)} passed in {f.channel}, because there is nothing new ({f.reason})"
    ),
    e.ChannelRoused: lambda f, t: f"{f.channel} is awake again",
    e.Announcement: lambda f, t: f"notice in {f.channel}: {f.text}",
    e.UserMessage: _said,
    e.AgentMessage: _agent_said,
    e.MessagesReturned: lambda f, t: (
        f"the unanswered messages of {_who(t, f.seat)} are handed over again" + _because(f.reason)
    ),
    e.MessagesUnanswered: lambda f, t: (
        f"{_who(t, f.seat)} has left its messages unanswered twice" + _because(f.reason)
    ),
    e.MessagesRead: lambda f, t: f"{_who(t, f.seat)} has acted on its messages",
    e.MessageRouted: lambda f, t: f"message {f.message} went to {_who(t, f.seat)} {_WAYS[f.way]}",
    e.MessagesDelivered: lambda f, t: (
        f"{_who(t, f.seat)} received its messages{f' in {f.channel}' if f.channel else ''}"
    ),
    e.TokenIssued: lambda f, t: f"a token {f.token_id} was issued ({f.role}{_scope(f.scope, t)})",
    e.TokenRevoked: lambda f, t: f"the token {f.token_id} was revoked",
    e.TokenRotated: lambda f, t: f"the token {f.token_id} got a new secret",
    e.UserSet: lambda f, t: f"{f.name} is a user ({f.role}{_scope(f.scope, t)})",
    e.UserRemoved: lambda f, t: f"{f.name} is no longer a user",
    e.DelegationStarted: lambda f, t: (
        f"a state machine session opened in {f.mode} mode with {len(f.agents)} agents"
    ),
    e.DescriptionsAdded: lambda f, t: (
        f"the state machine session has new agents: {', '.join(f.agents)}"
    ),
    e.DelegationEnded: lambda f, t: f"the state machine session was closed: {f.reason}",
    e.ConversationStart: lambda f, t: f"{f.speaker_name} opened {f.conversation}: {_clip(f.text)}",
    e.Routed: lambda f, t: f"{f.conversation} was routed to {f.to}: {_clip(f.reason)}",
    e.ChoiceRemembered: lambda f, t: f"{f.to} was chosen for requests like: {_clip(f.text)}",
    e.ChoiceForgotten: lambda f, t: (
        "all remembered choices were forgotten"
        if f.number is None
        else f"the remembered choice {f.number} was forgotten"
    ),
    e.PermissionDenied: lambda f, t: (
        f"{f.state} lacks a permission for {f.conversation} ({f.rule}): {_clip(f.reason)}"
    ),
    e.DialogueRecorded: lambda f, t: f"{f.speaker} in {f.conversation} ({f.kind}): {_clip(f.text)}",
    e.FileRecorded: lambda f, t: (
        f"{f.state} {f.change} {_clip(f.path)} in {f.conversation} ({f.size} bytes)"
    ),
    e.ConversationLogged: lambda f, t: "another program added a line to the index of conversations",
    e.UsageRecorded: lambda f, t: f"{_clip(f.agent_name)} used {used(f.usage)} in {f.conversation}",
    e.ProgressRecorded: lambda f, t: f"progress in {f.conversation}: {_clip(f.what)}",
    e.NeedSettled: lambda f, t: (
        f"{_clip(f.need)} was put off until {f.until:%Y-%m-%d %H:%M} UTC"
        if f.until
        else f"{_clip(f.need)} was put aside as done"
    ),
    e.NeedReopened: lambda f, t: f"{_clip(f.need)} needs a person again",
    e.MoreAllowed: lambda f, t: (
        f"{_who(t, f.seat) if f.channel is None else f'#{f.channel}'} may go on for {f.turns} turns"
    ),
    e.MessagesSeen: lambda f, t: (
        "a person has looked at the team"
        if f.channel is None and f.seat is None
        else f"a person has seen what was said"
        f" {f'in {f.channel}' if f.channel else f'by {_who(t, f.seat)}'}"
    ),
    e.ConversationEnd: lambda f, t: (
        f"{f.conversation} {'' if f.outcome == 'failed' else 'was '}{f.outcome}: {_clip(f.summary)}"
    ),
    e.WorkspacePlanned: lambda f, t: f"a worktree for {f.workspace} is made on {f.branch}",
    e.WorkspaceMade: lambda f, t: f"the worktree of {f.workspace} is there",
    e.WorkspaceChanged: lambda f, t: f"{f.workspace} changes {_change_count(f.changes)}",
    e.WorkspaceHanded: lambda f, t: f"{f.conversation} goes on in the worktree of {f.workspace}",
    e.WorkspaceStepBegun: lambda f, t: (
        f"{f.step} of {f.workspace} began{f' ({_clip(f.branch)})' if f.branch else ''}"
    ),
    e.WorkspaceMerged: lambda f, t: (
        f"{f.workspace} was merged into {_clip(f.branch)}: {_change_count(f.changes)}"
    ),
    e.WorkspaceRebased: lambda f, t: f"{f.workspace} was rebased onto {_clip(f.branch)}",
    e.WorkspaceConflict: lambda f, t: (
        f"{f.step} of {f.workspace} has conflicts in {_clip(', '.join(f.files))}"
    ),
    e.WorkspaceStepFailed: lambda f, t: f"{f.step} of {f.workspace} failed: {_clip(f.reason)}",
    e.WorkspaceRemoved: lambda f, t: (
        f"the worktree of {f.workspace} was removed: {_clip(f.reason)}"
    ),
}
