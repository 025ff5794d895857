"""The fold of the log: `evolve(team, event) -> team`. Pure; rebuilding a state needs only this."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from muster.errors import Impossible
from muster.machines import events as e
from muster.machines import spending
from muster.machines.access import fold as access_fold
from muster.machines.approvals import fold as approval_fold
from muster.machines.breaker import fold as breaker_fold
from muster.machines.delegation import fold as delegation_fold
from muster.machines.events import Event, Fact, StateTransition
from muster.machines.identity import fold as identity_fold
from muster.machines.identity import hand_fold
from muster.machines.ids import name_key
from muster.machines.kernel import clock
from muster.machines.keys import remember_key
from muster.machines.needs import fold as needs_fold
from muster.machines.nodes import fold as node_fold
from muster.machines.run_control import fold as run_fold
from muster.machines.state import Channel, Team
from muster.machines.teams import fold as teams_fold
from muster.machines.turns import fold as turn_fold
from muster.machines.turns import message_fold, unanswered_fold
from muster.machines.vocabulary import Machine, SpeakerOrder
from muster.machines.workspaces import fold as workspace_fold


def _unchanged(team: Team, event: Event, fact: Fact) -> Team:
    """The fold of a fact that changes no state; people and reactors read it."""
    return team


def _disabled(team: Team, event: Event, fact: e.AgentDisabled) -> Team:
    after = identity_fold.agent_disabled(team, event, fact)
    return turn_fold.forget_places(after, event, fact.seat)


def _retired(team: Team, event: Event, fact: e.AgentRetired) -> Team:
    after = identity_fold.agent_retired(team, event, fact)
    name = team.agents[fact.seat].id
    return turn_fold.forget_places(_without_selector(after, event, name), event, fact.seat)


def _without_selector(team: Team, event: Event, name: str) -> Team:
    """The channels whose selector was retired speak in the order of the ring: its name is free, and
    another agent that takes it must not inherit the office.
    """
    for channel in _selected_by(team, name):
        config = replace(channel.config, selector="", speaker_order=SpeakerOrder.RING)
        team = turn_fold.with_channel(team, event, replace(channel, config=config))
    return team


def _renamed(team: Team, event: Event, fact: e.AgentRenamed) -> Team:
    after = identity_fold.agent_renamed(team, event, fact)
    if team.agents[fact.seat].retired:  # it selects nowhere, and its name may be another agent's
        return after
    return _with_selector(after, event, fact.previous, fact.name)


def _with_selector(team: Team, event: Event, previous: str, name: str) -> Team:
    """The channels whose selector was renamed know it by its new name."""
    for channel in _selected_by(team, previous):
        config = replace(channel.config, selector=name)
        team = turn_fold.with_channel(team, event, replace(channel, config=config))
    return team


def _selected_by(team: Team, name: str) -> Sequence[Channel]:
    """The channels that have this name as their selector's."""
    key = name_key(name)
    return [
        each
        for each in team.channels.values()
        if each.config.selector and name_key(each.config.selector) == key
    ]


# Signs of work that another machine folds: they end a silence, too.


def _session_result(team: Team, event: Event, fact: e.SessionResult) -> Team:
    after = spending.session_result(team, event, fact)
    return run_fold.sign_of_work(after, fact.seat, event.ts)


def _prompt_taken(team: Team, event: Event, fact: e.PromptTaken) -> Team:
    return run_fold.sign_of_work(turn_fold.prompt_taken(team, event, fact), fact.seat, event.ts)


def _agent_message(team: Team, event: Event, fact: e.AgentMessage) -> Team:
    return run_fold.sign_of_work(message_fold.agent_message(team, event, fact), fact.seat, event.ts)


def _turn_renewed(team: Team, event: Event, fact: e.TurnRenewed) -> Team:
    after, turn = turn_fold.turn_renewed(team, event, fact), team.channels[fact.channel].turn
    return after if turn is None else run_fold.sign_of_work(after, turn.holder, event.ts)


TRANSITIONS: dict[Machine, Callable[[Team, Event, StateTransition], Team]] = {
    Machine.IDENTITY: identity_fold.transition,
    Machine.RUN: run_fold.transition,
    Machine.TURNS: turn_fold.transition,
    Machine.DELEGATION: delegation_fold.transition,
}


# Each value takes a fact of its key's type; hence Any.
EVOLVERS: dict[type[Fact], Callable[[Team, Event, Any], Team]] = {
    e.MusterStarted: node_fold.muster_started,
    e.MusterStopping: node_fold.muster_stopping,
    e.MusterStopped: node_fold.muster_stopped,
    e.NodeLost: node_fold.node_lost,
    e.NodeReturned: node_fold.node_returned,
    e.AgentMoved: node_fold.agent_moved,
    e.DiskReported: node_fold.disk_reported,
    e.ClockJumped: clock.clock_jumped,
    e.LogRestored: access_fold.log_restored,
    e.CommandRefused: _unchanged,
    e.WarningLogged: _unchanged,
    e.WorkInterrupted: turn_fold.work_interrupted,
    e.SettingsApplied: _unchanged,
    e.SettingsRejected: _unchanged,
    e.AgentsSummoned: identity_fold.agents_summoned,
    e.AgentEnrolled: identity_fold.agent_enrolled,
    e.AgentRegistered: identity_fold.agent_registered,
    e.AgentHosted: identity_fold.agent_hosted,
    e.SessionAdopted: hand_fold.session_adopted,
    e.HandReported: hand_fold.hand_reported,
    e.HandKept: hand_fold.hand_kept,
    e.NoteRemembered: identity_fold.note_remembered,
    e.NoteEdited: identity_fold.note_edited,
    e.NoteForgotten: identity_fold.note_forgotten,
    e.SoulEdited: identity_fold.soul_edited,
    e.WakeRecorded: identity_fold.wake_recorded,
    e.WakeChecked: identity_fold.wake_checked,
    e.AgentStatus: identity_fold.agent_status,
    e.AgentConfirmed: identity_fold.agent_confirmed,
    e.EvidenceExpired: identity_fold.evidence_expired,
    e.WakeRequested: identity_fold.wake_requested,
    e.SleepRequested: _unchanged,
    e.AgentDisabled: _disabled,
    e.AgentEnabled: identity_fold.agent_enabled,
    e.AgentRetired: _retired,
    e.AgentRenamed: _renamed,
    e.AgentDismissed: identity_fold.agent_dismissed,
    e.AgentRestored: identity_fold.agent_restored,
    e.MarkerRejected: _unchanged,
    e.Conflict: needs_fold.conflict,
    e.DocumentsImported: teams_fold.documents_imported,
    e.MessageImported: teams_fold.message_imported,
    e.DesiredSet: run_fold.desired_set,
    e.AgentConfigured: run_fold.agent_configured,
    e.AgentOutput: run_fold.seen_at_work,
    e.SessionResult: _session_result,
    e.WorkSpending: spending.work_spending,
    e.UsageReported: spending.usage_reported,
    e.AgentActivity: run_fold.seen_at_work,
    e.AgentPlan: run_fold.seen_at_work,
    e.PromptTaken: _prompt_taken,
    e.ApprovalRequested: approval_fold.approval_requested,
    e.ApprovalAnswered: approval_fold.approval_answered,
    e.SessionRequested: run_fold.session_requested,
    e.SessionStart: run_fold.session_start,
    e.SessionEnd: run_fold.session_end,
    e.StopRequested: run_fold.stop_requested,
    e.InterruptRequested: turn_fold.interrupt_requested,
    e.KillRequested: turn_fold.kill_requested,
    e.RetryScheduled: run_fold.retry_scheduled,
    e.StartDeferred: run_fold.start_deferred,
    e.StateFileReported: run_fold.state_file_reported,
    e.RunPlanned: run_fold.run_planned,
    e.ScheduledRunDue: run_fold.scheduled_run_due,
    e.SilenceNoticed: run_fold.silence_noticed,
    e.ChannelCreated: turn_fold.channel_created,
    e.ChannelConfigured: turn_fold.channel_configured,
    e.MemberJoined: turn_fold.member_joined,
    e.MemberLeft: turn_fold.member_left,
    e.TurnRenewed: _turn_renewed,
    e.WorkStopped: turn_fold.work_stopped,
    e.ChannelRested: turn_fold.channel_rested,
    e.ChannelRoused: turn_fold.channel_roused,
    e.Announcement: message_fold.announcement,
    e.ChannelArchived: turn_fold.channel_archived,
    e.ChannelRestored: turn_fold.channel_restored,
    e.RingOrdered: turn_fold.ring_ordered,
    e.MemberConfigured: turn_fold.member_configured,
    e.TurnClaimed: turn_fold.turn_claimed,
    e.TurnClaimDropped: turn_fold.turn_claim_dropped,
    e.SpeakerChosen: turn_fold.speaker_chosen,
    e.TurnsPassed: turn_fold.turns_passed,
    e.UserMessage: message_fold.user_message,
    e.AgentMessage: _agent_message,
    e.MessagesRead: message_fold.messages_read,
    e.MessagesReturned: unanswered_fold.messages_returned,
    e.MessagesUnanswered: unanswered_fold.messages_unanswered,
    e.MessagesDelivered: message_fold.messages_delivered,
    e.MessageRouted: message_fold.message_routed,
    e.TokenIssued: access_fold.token_issued,
    e.TokenRevoked: access_fold.token_revoked,
    e.TokenRotated: access_fold.token_rotated,
    e.UserSet: access_fold.user_set,
    e.UserRemoved: access_fold.user_removed,
    e.DelegationStarted: delegation_fold.delegation_started,
    e.DescriptionsAdded: delegation_fold.descriptions_added,
    e.ChoiceRemembered: delegation_fold.choice_remembered,
    e.ChoiceForgotten: delegation_fold.choice_forgotten,
    e.DelegationEnded: delegation_fold.delegation_ended,
    e.ConversationStart: delegation_fold.conversation_start,
    e.Routed: delegation_fold.routed,
    e.PermissionDenied: _unchanged,
    e.DialogueRecorded: delegation_fold.dialogue_recorded,
    e.FileRecorded: delegation_fold.progress_recorded,
    e.ConversationLogged: _unchanged,
    e.UsageRecorded: delegation_fold.usage_recorded,
    e.ProgressRecorded: delegation_fold.progress_recorded,
    e.ConversationEnd: delegation_fold.conversation_end,
    e.NeedSettled: needs_fold.need_settled,
    e.NeedReopened: needs_fold.need_reopened,
    e.MoreAllowed: breaker_fold.more_allowed,
    e.MessagesSeen: needs_fold.messages_seen,
    e.WorkspacePlanned: workspace_fold.workspace_planned,
    e.WorkspaceMade: workspace_fold.workspace_made,
    e.WorkspaceChanged: workspace_fold.workspace_changed,
    e.WorkspaceHanded: workspace_fold.workspace_handed,
    e.WorkspaceStepBegun: workspace_fold.workspace_step_begun,
    e.WorkspaceMerged: workspace_fold.workspace_merged,
    e.WorkspaceRebased: workspace_fold.workspace_rebased,
    e.WorkspaceConflict: workspace_fold.workspace_conflict,
    e.WorkspaceStepFailed: workspace_fold.workspace_step_failed,
    e.WorkspaceRemoved: workspace_fold.workspace_removed,
}


def evolve(team: Team, event: Event) -> Team:
    """The state after one event. Each event is applied exactly once, in order."""
    if event.seq != team.seq + 1:
        raise Impossible(what=f"event {event.seq} cannot follow event {team.seq}")
    fact = event.fact
    if type(fact) is StateTransition:
        after = TRANSITIONS[fact.machine](team, event, fact)
    else:
        after = EVOLVERS[type(fact)](team, event, fact)
    if event.key is not None:
        after = remember_key(after, event.actor, event.key, event.seq)
    return after if after.seq == event.seq else replace(after, seq=event.seq)


def fold(team: Team, events: Iterable[Event]) -> Team:
    """The state after many events."""
    for event in events:
        team = evolve(team, event)
    return team
