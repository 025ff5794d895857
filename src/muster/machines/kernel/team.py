"""The four machines together: `decide(team, command, now, actor)`, or a refusal with its rule.

Pure. `decide` carries out one command and, through `couplings.py`, the commands that follow from it
in the other machines, until none is left; all events are appended in one transaction. `fold.py`
computes the state after them.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import msgspec

from muster.errors import Impossible, Refused
from muster.limits import COUPLING_STEPS_MAX
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.access import tokens, users
from muster.machines.approvals import decide as approvals
from muster.machines.breaker import going_on
from muster.machines.commands import Command
from muster.machines.delegation import choices, index
from muster.machines.delegation import decide as delegation
from muster.machines.events import Event, Fact
from muster.machines.identity import decide as identity
from muster.machines.identity import hands, membership, memory, retiring, wakes, waking
from muster.machines.ids import MUSTER, SessionId
from muster.machines.kernel.couplings import follow
from muster.machines.kernel.fold import evolve
from muster.machines.keys import check_key
from muster.machines.needs import decide as needs
from muster.machines.nodes import decide as nodes
from muster.machines.run_control import decide as run_control
from muster.machines.run_control import ending, schedule, shutdown, state_files, watching
from muster.machines.state import Team
from muster.machines.teams import importing, regaining
from muster.machines.turns import channels, granting, messages, unanswered, usage
from muster.machines.turns import decide as turns
from muster.machines.workspaces import decide as workspaces


class CommandDecision(msgspec.Struct, frozen=True, gc=False):
    """The events of a command, and the state after them."""

    team: Team
    events: tuple[Event, ...]


def report_clock_jump(team: Team, command: c.ReportClockJump, now: datetime) -> Iterable[Fact]:
    jump = e.ClockJumped(
        seconds=command.seconds,
        shift_seconds=command.shift_seconds,
        suspended_seconds=command.suspended_seconds,
    )
    return (jump,)


def log_warning(team: Team, command: c.LogWarning, now: datetime) -> Iterable[Fact]:
    return (e.WarningLogged(text=command.text, seat=command.seat, channel=command.channel),)


def record_settings(team: Team, command: c.RecordSettings, now: datetime) -> Iterable[Fact]:
    return (e.SettingsApplied(changes=command.changes, waiting=command.waiting),)


def reject_settings(team: Team, command: c.RejectSettings, now: datetime) -> Iterable[Fact]:
    return (e.SettingsRejected(line=command.line, what=command.what, remedy=command.remedy),)


# Each value takes a command of its key's type; hence Any.
DECIDERS: dict[type[Command], Callable[[Team, Any, datetime], Iterable[Fact]]] = {
    c.StartMuster: nodes.start_muster,
    c.StopMuster: shutdown.stop_muster,
    c.CheckShutdown: shutdown.check_shutdown,
    c.EndMuster: shutdown.end_muster,
    c.LoseNode: nodes.lose_node,
    c.ReturnNode: nodes.return_node,
    c.MoveAgent: nodes.move_agent,
    c.ReportDisk: nodes.report_disk,
    c.ReportClockJump: report_clock_jump,
    c.RecordRestore: tokens.record_restore,
    c.LogWarning: log_warning,
    c.RecordSettings: record_settings,
    c.RejectSettings: reject_settings,
    c.SummonAgents: identity.summon_agents,
    c.EnrollAgent: identity.enroll_agent,
    c.ConfigureAgent: identity.configure_agent,
    c.RegisterAgent: identity.register_agent,
    c.ReportStatus: identity.report_status,
    c.RejectMarker: identity.reject_marker,
    c.ConnectAgent: identity.connect_agent,
    c.DisconnectAgent: identity.disconnect_agent,
    c.WakeAgents: waking.wake_agents,
    c.SleepAgents: waking.sleep_agents,
    c.DisableAgent: identity.disable_agent,
    c.EnableAgent: identity.enable_agent,
    c.RetireAgent: retiring.retire_agent,
    c.Remember: memory.remember,
    c.EditNote: memory.edit_note,
    c.ForgetNote: memory.forget_note,
    c.EditSoul: memory.edit_soul,
    c.AdoptSession: hands.adopt_session,
    c.ReportHand: hands.report_hand,
    c.KeepHand: hands.keep_hand,
    c.RecordWake: wakes.record_wake,
    c.AnswerWakeCheck: wakes.answer_wake_check,
    c.EndWakeCheck: wakes.end_wake_check,
    c.RenameAgent: membership.rename_agent,
    c.ExchangeNames: membership.exchange_names,
    c.RegainName: regaining.regain_name,
    c.DismissAgent: membership.dismiss_agent,
    c.RestoreAgent: membership.restore_agent,
    c.Awaken: identity.awaken,
    c.Doze: identity.doze,
    c.CheckAgent: identity.check_agent,
    c.ImportTeam: importing.import_team,
    c.SetDesired: run_control.set_desired,
    c.RestartAgent: run_control.restart_agent,
    c.AutostartAgent: run_control.autostart_agent,
    c.CheckSchedule: schedule.check_schedule,
    c.StartSession: run_control.start_session,
    c.StopSession: run_control.stop_session,
    c.ReportSpending: run_control.report_spending,
    c.InterruptWork: run_control.interrupt_work,
    c.ReportSessionStarted: run_control.report_session_started,
    c.ReportSessionEnded: ending.report_session_ended,
    c.ReportOutput: run_control.report_output,
    c.ReportResult: run_control.report_result,
    c.ReportActivity: run_control.report_activity,
    c.ReportPlan: run_control.report_plan,
    c.ReportTaken: run_control.report_taken,
    c.ReportUsage: usage.report_usage,
    c.CheckSession: watching.check_session,
    c.ReportCurrent: run_control.report_current,
    c.ReportStateFile: state_files.report_state_file,
    c.RequestApproval: approvals.request_approval,
    c.AnswerApproval: approvals.answer_approval,
    c.WithdrawApprovals: approvals.withdraw_approvals,
    c.CheckApprovals: approvals.check_approvals,
    c.CreateChannel: channels.create_channel,
    c.ConfigureChannel: channels.configure_channel,
    c.ArchiveChannel: channels.archive_channel,
    c.OrderRing: channels.order_ring,
    c.ConfigureMember: channels.configure_member,
    c.RaiseHand: channels.raise_hand,
    c.AddMember: channels.add_member,
    c.RemoveMember: channels.remove_member,
    c.Arrive: channels.arrive,
    c.Depart: channels.depart,
    c.PostMessage: turns.post_message,
    c.Speak: turns.speak,
    c.TellHuman: messages.tell_human,
    c.RouteMessage: messages.route_message,
    c.SendMessage: messages.send_message,
    c.MarkRead: messages.mark_read,
    c.DeliverMessages: messages.deliver_messages,
    c.ReturnMessages: unanswered.return_messages,
    c.RetryMessages: unanswered.retry_messages,
    c.IssueToken: tokens.issue_token,
    c.RevokeToken: tokens.revoke_token,
    c.RotateToken: tokens.rotate_token,
    c.SetUser: users.set_user,
    c.RemoveUser: users.remove_user,
    c.CompleteTurn: turns.complete_turn,
    c.WaitTurn: turns.wait_turn,
    c.ResumeTurn: turns.resume_turn,
    c.EndForgottenTurn: turns.end_forgotten_turn,
    c.AwaitApproval: turns.await_approval,
    c.OverrideTurn: turns.override_turn,
    c.RenewTurn: turns.renew_turn,
    c.ReportWorkStopped: turns.report_work_stopped,
    c.CheckChannel: turns.check_channel,
    c.OfferTurn: granting.offer_turn,
    c.StartDelegation: delegation.start_delegation,
    c.AddDescriptions: delegation.add_descriptions,
    c.RememberChoice: choices.remember_choice,
    c.ForgetChoice: choices.forget_choice,
    c.EndDelegation: delegation.end_delegation,
    c.OpenConversation: delegation.open_conversation,
    c.RecordRoute: delegation.record_route,
    c.DenyPermission: delegation.deny_permission,
    c.RecordDialogue: delegation.record_dialogue,
    c.RecordFile: delegation.record_file,
    c.LogConversation: index.log_conversation,
    c.Delegate: delegation.delegate,
    c.HandOff: delegation.hand_off,
    c.RecordProgress: delegation.record_progress,
    c.FinishTask: delegation.finish_task,
    c.CloseConversation: delegation.close_conversation,
    c.CancelConversation: delegation.cancel_conversation,
    c.SettleNeed: needs.settle_need,
    c.ReopenNeed: needs.reopen_need,
    c.AllowMore: going_on.allow_more,
    c.SeeMessages: needs.see_messages,
    c.PlanWorkspace: workspaces.plan_workspace,
    c.ReportWorkspaceMade: workspaces.report_workspace_made,
    c.ReportWorkspaceChanges: workspaces.report_workspace_changes,
    c.HandWorkspace: workspaces.hand_workspace,
    c.BeginWorkspaceStep: workspaces.begin_workspace_step,
    c.ReportWorkspaceStep: workspaces.report_workspace_step,
    c.ReportWorkspaceRemoved: workspaces.report_workspace_removed,
}

# Permissions of actors. Couplings send as muster, which is not checked.
ACTOR_RULES: dict[type[Command], Callable[[Team, Any, str], None]] = {
    c.CompleteTurn: turns.check_told,
    c.Speak: turns.check_told,
    c.WaitTurn: turns.check_told,
    c.ResumeTurn: turns.check_resume,
    c.OverrideTurn: turns.check_override,
    c.AddMember: channels.check_join,
    c.RemoveMember: channels.check_leave,
    c.ArchiveChannel: channels.check_archive,
    c.AnswerApproval: approvals.check_answer,
    c.RetryMessages: unanswered.check_retry,
    c.InterruptWork: run_control.check_interrupt,
    c.MoveAgent: nodes.check_move,
    c.KeepHand: hands.check_keep,
    c.RetireAgent: retiring.check_retire,
    c.Remember: memory.check_own,
    c.ForgetNote: memory.check_own,
    c.EditNote: memory.check_edit_note,
    c.EditSoul: memory.check_edit_soul,
    c.RenameAgent: membership.check_rename,
    c.ExchangeNames: membership.check_exchanging,
    c.DismissAgent: membership.check_dismiss,
    c.RestoreAgent: membership.check_restore,
    c.OpenConversation: delegation.check_asks,
    c.CancelConversation: delegation.check_cancels,
    c.RememberChoice: choices.check_chooses,
    c.ForgetChoice: choices.check_chooses,
    c.SettleNeed: needs.check_settles,
    c.ReopenNeed: needs.check_settles,
    c.AllowMore: needs.check_settles,
    c.SeeMessages: needs.check_settles,
    c.BeginWorkspaceStep: workspaces.check_step,
    c.HandWorkspace: workspaces.check_hand,
    c.SummonAgents: shutdown.check_may_start,
    c.WakeAgents: shutdown.check_may_start,
}


def decide(
    team: Team,
    command: Command,
    now: datetime,
    *,
    actor: str,
    life: SessionId,
    cause: int | None = None,
    key: str | None = None,
) -> CommandDecision:
    """Carry out a command and its consequences, or raise the refusal with its rule.

    `life` is the server session that decides; its events name it. A `key` that the actor has used
    before raises `Repeated` before any other rule: a retry is not stale because the first try ended
    the turn.
    """
    if key is not None:
        check_key(team, actor, key)
    _check_actor_and_seat(team, command, actor)
    if type(command) is c.StartMuster:  # its events belong to the new session
        life = command.server_session
    events: list[Event] = []
    queue: list[tuple[Command, str, int | None]] = [(command, actor, cause)]
    for each, sender, caused_by in queue:  # couplings append to it meanwhile
        try:
            facts = tuple(DECIDERS[type(each)](team, each, now))
        except Refused:
            if each is command:
                raise
            continue  # the refusal of a coupled command is ignored: see couplings.py
        for fact in facts:
            event = Event(team.seq + 1, now, life, sender, caused_by, fact, key)
            key = None  # it is on the first event alone
            team = evolve(team, event)
            events.append(event)
            for then in follow(team, event):
                queue.append((then, MUSTER, event.seq))  # noqa: PERF401  # mostly none follow
        if len(queue) > COUPLING_STEPS_MAX:
            raise Impossible(
                what=f"{type(command).__name__} leads to over {COUPLING_STEPS_MAX} commands"
            )
    return CommandDecision(team, tuple(events))


def _check_actor_and_seat(team: Team, command: Command, actor: str) -> None:
    """The rules for commands from outside. Couplings are not checked: they follow from one."""
    rule = ACTOR_RULES.get(type(command))
    if rule is not None:
        rule(team, command, actor)
    seat = getattr(command, "seat", None)
    if seat is not None and type(command) not in (c.RestoreAgent, c.EnrollAgent):
        retiring.check_not_retired(team, seat)


def refusal(
    team: Team,
    command: Command,
    refused: Refused,
    now: datetime,
    *,
    actor: str,
    life: SessionId,
    cause: int | None = None,
) -> CommandDecision:
    """Record a command that was refused."""
    fact = e.CommandRefused(
        command=type(command).__name__,
        code=refused.code,
        reason=str(refused),
        seat=getattr(command, "seat", None),
        channel=getattr(command, "channel", None),
        epoch=getattr(command, "epoch", None),
    )
    event = Event(team.seq + 1, now, life, actor, cause, fact)
    return CommandDecision(evolve(team, event), (event,))
