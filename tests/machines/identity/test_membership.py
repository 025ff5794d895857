"""Renaming agents, dismissing those that the settings no longer name, and bringing them back."""

import pytest

from muster.limits import DISMISSAL_SECONDS, FORMER_NAMES_MAX
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import LEAD_SEAT, SeatId
from muster.machines.kernel.sentences import sentence
from muster.machines.policies import RunPolicy
from muster.machines.state import Status
from muster.machines.vocabulary import Authority, DelegationMode, Outcome, RunMode, Urgency
from tests.machines.scene import REVIEWS, Scene, facts
from tests.machines.turns.test_turns import trio


def rename(scene: Scene, name: str, to: str) -> list[e.Event]:
    return scene.do(c.RenameAgent(seat=scene.seat(name), name=to))


def dismiss(scene: Scene, name: str) -> list[e.Event]:
    return scene.do(c.DismissAgent(seat=scene.seat(name)), actor="muster")


# ── renaming ──────────────────────────────────────────────────────────────────────────────────────


def test_a_renamed_agent_keeps_its_seat_its_turn_its_channels_and_its_folder() -> None:
    scene = trio()
    before, turns = scene.agent("pm"), scene.team.busy_in(scene.agent("pm"))
    events = rename(scene, "pm", "Ada")
    after = scene.agent("Ada")
    assert (after.seat, after.channels) == (before.seat, before.channels)
    assert scene.team.busy_in(after) == turns != ()
    assert scene.seat("pm") == after.seat  # its program runs, and knows no other name
    assert (after.folder_name, after.former_names) == ("pm", ("pm",))
    assert sentence(events[0], scene.team) == "pm is now called Ada (by Marcus)"


def test_a_name_that_was_given_up_is_free_and_its_new_owner_has_another_folder() -> None:
    scene = trio()
    rename(scene, "pm", "Ada")
    scene.do(c.DisconnectAgent(seat=scene.seat("Ada"), reason="done"))
    scene.connected("pm")
    assert scene.agent("Ada").folder_name == "pm"
    assert scene.agent("pm").folder_name == f"pm~{scene.seat('pm')}"


def test_the_folder_of_a_retired_agent_is_not_given_to_another() -> None:
    scene = trio()
    scene.do(c.RetireAgent(seat=scene.seat("pm")))
    scene.connected("pm")
    assert scene.agent("pm").folder_name == f"pm~{scene.seat('pm')}"


def test_an_agent_that_gets_its_old_name_back_has_its_plain_folder() -> None:
    scene = trio()
    rename(scene, "pm", "Ada")
    rename(scene, "Ada", "pm")
    assert (scene.agent("pm").folder, scene.agent("pm").folder_name) == ("", "pm")


def test_only_the_case_of_a_name_may_change() -> None:
    scene = trio()
    rename(scene, "pm", "PM")
    assert scene.agent("pm").name == "PM"
    assert rename(scene, "pm", "PM") == []


def test_former_names_are_bounded() -> None:
    scene = trio()
    for number in range(FORMER_NAMES_MAX + 2):
        name = scene.team.agents[SeatId(9)].id
        rename(scene, name, f"pm{number}")
    assert len(scene.team.agents[SeatId(9)].former_names) == FORMER_NAMES_MAX


def test_a_channel_s_selector_is_followed_by_its_new_name() -> None:
    scene = Scene()
    scene.connected("pm", "dev")
    config = e.TurnConfig(selector="PM")
    scene.channel_of("pm", "dev", config=config)
    scene.do(c.CreateChannel(channel=e.ChannelId("other")))
    rename(scene, "pm", "Ada")
    assert scene.channel().config.selector == "Ada"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("dev", "name_taken"),
        ("DEV", "name_taken"),
        ("-", "invalid"),
        ("--help", "invalid"),
        ("Marcus", "name_reserved"),
        ("MAIN", "name_reserved"),
        ("../up", "invalid"),
        ("", "invalid"),
        ("a\nb", "invalid"),
    ],
)
def test_a_name_that_is_taken_reserved_or_hostile_is_refused(name: str, code: str) -> None:
    scene = trio()
    scene.refuse(c.RenameAgent(seat=scene.seat("pm"), name=name), code)


def test_agents_rename_dismiss_and_restore_nobody() -> None:
    scene = trio()
    seat = scene.seat("pm")
    scene.refuse(c.RenameAgent(seat=seat, name="Ada"), "forbidden", actor="agent:dev")
    scene.refuse(c.DismissAgent(seat=seat), "forbidden", actor="agent:dev")
    scene.refuse(c.RestoreAgent(seat=seat), "forbidden", actor="agent:dev")


def test_an_agent_that_hatches_has_no_name_to_change() -> None:
    scene = Scene()
    place = e.Placeholder(grid_position=SeatId(0), color="#c9b1e8", gender="woman")
    scene.do(c.SummonAgents(placeholders=(place,), authority=Authority.LEAD))
    scene.refuse(c.RenameAgent(seat=SeatId(0), name="Ada"), "wrong_state")


def test_an_agent_is_not_renamed_while_it_works_on_a_task() -> None:
    scene = Scene()
    scene.running("ada")
    start = c.StartDelegation(mode=DelegationMode.INTERACTIVE, path="p", agents=("ada", "bob"))
    scene.do(start)
    for name in ("ada", "bob"):
        scene.do(c.OpenConversation(text="do it", speaker_name="Marcus"))
        conversation = max(scene.team.delegation.conversations)
        scene.do(c.Delegate(conversation=conversation, to=name, trigger="it fits"))
    scene.refuse(c.RenameAgent(seat=scene.seat("ada"), name="Eve"), "cannot_rename")
    refused = scene.refuse(c.RenameAgent(seat=scene.seat("bob"), name="Eve"), "cannot_rename")
    assert "agent file" in str(refused)  # bob has only a description


# ── dismissal ─────────────────────────────────────────────────────────────────────────────────────


def test_a_dismissed_agent_without_a_session_is_retired_at_once() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Ada", authority=Authority.MUSTER))
    seat = scene.seat("Ada")
    events = dismiss(scene, "Ada")
    assert scene.team.agents[seat].retired
    assert "ada" not in scene.team.names
    assert sentence(events[0], scene.team) == "Ada leaves the team: removed from the settings"


def test_a_dismissed_agent_may_finish_its_session_and_is_retired_when_that_ends() -> None:
    scene = Scene()
    scene.running("Ada")
    seat = scene.seat("Ada")
    session = scene.session("Ada").id
    [asked] = facts(dismiss(scene, "Ada"), e.StopRequested)
    assert asked.urgency is Urgency.GRACEFUL
    assert dismiss(scene, "Ada") == []
    assert not scene.team.agents[seat].retired
    scene.ends("Ada")
    agent = scene.team.agents[seat]
    assert (agent.retired, agent.status, agent.run.desired) == (
        True,
        Status.SLEEPING,
        RunMode.PAUSE,
    )
    assert session not in scene.team.sessions


def test_a_dismissed_agent_that_does_not_end_in_time_is_stopped_now() -> None:
    scene = Scene()
    scene.running("Ada")
    dismiss(scene, "Ada")
    assert facts(scene.later(DISMISSAL_SECONDS - 1), e.StopRequested) == []
    [asked] = facts(scene.later(2), e.StopRequested)
    assert asked.urgency is Urgency.NOW
    assert scene.later(3600) == []  # once
    assert scene.do(c.CheckAgent(seat=scene.seat("Ada"))) == []


def test_a_check_that_comes_early_changes_nothing() -> None:
    scene = Scene()
    scene.running("Ada")
    dismiss(scene, "Ada")
    assert scene.do(c.CheckAgent(seat=scene.seat("Ada"))) == []


def test_nothing_starts_a_dismissed_agent() -> None:
    scene = Scene()
    scene.running("Ada")
    dismiss(scene, "Ada")
    seat = scene.seat("Ada")
    wish = c.SetDesired(seat=seat, desired=RunMode.CONTINUOUS, set_by="Marcus")
    refused = scene.refuse(wish, "dismissed")
    assert "muster agent add" in str(refused)
    scene.refuse(c.StartSession(seat=seat, trigger="test"), "dismissed")
    stop = c.SetDesired(seat=seat, desired=RunMode.PAUSE, set_by="Marcus", now=True)
    assert facts(scene.do(stop), e.StopRequested)


def test_an_agent_between_two_sessions_is_dismissed_at_once() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Ada", authority=Authority.MUSTER))
    scene.want("Ada", RunMode.CONTINUOUS)
    scene.up("Ada")
    scene.ends("Ada")
    seat = scene.seat("Ada")
    dismiss(scene, "Ada")
    agent = scene.team.agents[seat]
    assert (agent.retired, agent.run.current) == (True, RunMode.PAUSE)


def test_a_paused_agent_whose_session_still_ends_is_not_stopped_harder() -> None:
    scene = Scene()
    scene.running("Ada")
    scene.want("Ada", RunMode.PAUSE)
    assert facts(dismiss(scene, "Ada"), e.StopRequested) == []


def test_a_task_is_finished_before_its_agent_is_retired() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="ada", authority=Authority.MUSTER))
    seat = scene.seat("ada")
    scene.want("ada", RunMode.RUN_ONCE)
    scene.do(c.StartDelegation(mode=DelegationMode.INTERACTIVE, path="p", agents=("ada",)))
    scene.do(c.OpenConversation(text="do it", speaker_name="Marcus"))
    [conversation] = scene.team.delegation.conversations
    scene.do(c.Delegate(conversation=conversation, to="ada", trigger="it fits"))
    [task] = scene.team.agents[seat].tasks
    dismiss(scene, "ada")
    scene.ends("ada")
    assert not scene.team.agents[seat].retired
    scene.do(c.ReportSessionEnded(session=task, outcome=Outcome.COMPLETED))
    assert scene.team.agents[seat].retired


def test_a_session_that_an_earlier_muster_lost_ends_the_dismissal() -> None:
    scene = Scene()
    scene.running("Ada")
    seat, session = scene.seat("Ada"), scene.session("Ada").id
    scene.boot()
    dismiss(scene, "Ada")
    scene.do(c.ReportSessionEnded(session=session, outcome=Outcome.LOST))
    assert scene.team.agents[seat].retired


def test_an_agent_that_obeys_its_file_is_dismissed_too() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Ada", authority=Authority.FILE))
    seat = scene.seat("Ada")
    scene.do(c.ConnectAgent(seat=seat))
    scene.want("Ada", RunMode.CONTINUOUS)
    dismiss(scene, "Ada")
    agent = scene.team.agents[seat]
    assert (agent.retired, agent.status, agent.run.desired) == (
        True,
        Status.SLEEPING,
        RunMode.PAUSE,
    )


def test_an_agent_that_the_settings_never_named_is_not_dismissed_or_restored() -> None:
    scene = trio()
    scene.refuse(c.DismissAgent(seat=scene.seat("pm")), "cannot_retire")
    scene.refuse(c.RestoreAgent(seat=scene.seat("pm")), "wrong_state")


def test_a_dismissed_lead_leads_no_more() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Julian", authority=Authority.MUSTER, seat=LEAD_SEAT))
    assert scene.team.lead is not None
    dismiss(scene, "Julian")
    assert scene.team.lead is None


# ── back again ────────────────────────────────────────────────────────────────────────────────────


def test_an_agent_that_is_named_again_comes_back_to_its_seat_paused() -> None:
    scene = Scene()
    scene.running("Ada")
    seat = scene.seat("Ada")
    dismiss(scene, "Ada")
    scene.ends("Ada")
    refused = scene.refuse(c.RestoreAgent(seat=seat), "wrong_state")
    assert "muster agent add" in str(refused)  # the settings say who is there, not a person
    events = scene.do(c.RestoreAgent(seat=seat), actor="muster")
    assert scene.seat("Ada") == seat
    assert scene.agent("Ada").run.desired is RunMode.PAUSE
    assert sentence(events[0], scene.team) == f"Ada is back in seat {seat}"
    scene.want("Ada", RunMode.CONTINUOUS)
    assert scene.agent("Ada").session is not None
    assert scene.do(c.RestoreAgent(seat=seat), actor="muster") == []
    assert "it is sleeping" in str(scene.refuse(c.RestoreAgent(seat=seat), "wrong_state"))


def test_an_agent_that_is_named_again_has_no_failure_and_may_start_with_muster() -> None:
    """Issue 15: it showed the failure and the pause of its former life."""
    scene = Scene()
    scene.running("Ada")
    seat = scene.seat("Ada")
    scene.ends("Ada", Outcome.FAILED)
    assert scene.agent("Ada").run.last_failure is not None
    dismiss(scene, "Ada")
    scene.do(c.RestoreAgent(seat=seat), actor="muster")
    run = scene.agent("Ada").run
    assert (run.last_failure, run.failures, run.set_at) == (None, 0, None)
    policy = RunPolicy(autostart=True)
    scene.do(c.ConfigureAgent(seat=seat, authority=Authority.MUSTER, policy=policy))
    scene.do(c.AutostartAgent(seat=seat), actor="muster")
    assert scene.agent("Ada").session is not None


def test_an_agent_that_is_named_again_in_time_is_not_retired() -> None:
    scene = Scene()
    scene.running("Ada")
    seat = scene.seat("Ada")
    dismiss(scene, "Ada")
    [stop] = facts(scene.do(c.RestoreAgent(seat=seat), actor="muster"), e.StopRequested)
    assert (stop.urgency, stop.reason) == (Urgency.NOW, "it was removed, and added again")
    scene.want("Ada", RunMode.CONTINUOUS)
    [started] = facts(scene.ends("Ada"), e.SessionRequested)
    assert started.seat == seat
    assert not scene.team.agents[seat].retired


def test_an_agent_whose_name_has_a_new_owner_does_not_come_back() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Ada", authority=Authority.MUSTER))
    seat = scene.seat("Ada")
    dismiss(scene, "Ada")
    scene.connected("Ada")
    scene.refuse(c.RestoreAgent(seat=seat), "name_taken", actor="muster")


def test_a_dismissed_agent_leaves_its_channels() -> None:
    scene = Scene()
    scene.running("Ada", "Bob")
    scene.channel_of("Ada", "Bob")
    seat = scene.seat("Ada")
    dismiss(scene, "Ada")
    scene.ends("Ada")
    assert seat not in scene.channel(REVIEWS).ring


# ── settings on record ────────────────────────────────────────────────────────────────────────────


def test_applied_and_rejected_settings_are_on_record() -> None:
    scene = Scene()
    [applied] = scene.do(c.RecordSettings(changes=("agents.Ada added",), waiting=("server.port",)))
    assert sentence(applied, scene.team) == (
        "settings are in force: agents.Ada added; after a restart of muster: server.port"
        " (by Marcus)"
    )
    [same] = scene.do(c.RecordSettings(), actor="muster")
    assert sentence(same, scene.team) == "settings are in force: as before"
    rejected = c.RejectSettings(line=3, what="agents.Ada has no command", remedy="Write one.")
    [mistake] = scene.do(rejected, actor="muster")
    assert "line 3" in sentence(mistake, scene.team)
