"""What needs a person: when it is listed, in which order, and when it goes."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from muster import limits
from muster.limits import LOOKERS_MAX
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import HERE, ConversationId, NodeId, SessionId
from muster.machines.kernel.fold import evolve
from muster.machines.needs.fold import messages_seen
from muster.machines.needs.needs import Need, all_needs, changes_at, open_needs
from muster.machines.state import LowDisk, Node, Team
from muster.machines.vocabulary import (
    Authority,
    Budget,
    DelegationMode,
    InterruptMode,
    NeedKind,
    Outcome,
    RunMode,
    TurnConfig,
)
from muster.views.needs import view_needs
from tests.machines.scene import REVIEWS, Scene, facts

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def needs(scene: Scene) -> list[Need]:
    return open_needs(scene.team, scene.now)


def kinds(scene: Scene) -> list[NeedKind]:
    return [each.kind for each in needs(scene)]


def only(scene: Scene) -> Need:
    [need] = needs(scene)
    return need


def tell(scene: Scene, name: str, text: str = "done") -> None:
    scene.do(c.TellHuman(seat=scene.seat(name), text=text), f"agent:{name}")


def write(scene: Scene, name: str) -> None:
    scene.do(c.SendMessage(text="please", speaker_name="Marcus", seat=scene.seat(name)))


# ── agents that wait ──────────────────────────────────────────────────────────────────────────────


def test_a_team_that_works_needs_nobody() -> None:
    scene = Scene()
    scene.running("Ada", "Bo")
    scene.channel_of("Ada", "Bo")
    assert needs(scene) == []
    assert changes_at(scene.team, scene.now) is None


def test_an_approval_is_listed_until_it_is_answered() -> None:
    scene = Scene()
    scene.running("Ada")
    request = c.RequestApproval(
        session=scene.session("Ada").id, tool="Bash", detail="rm", seconds=60
    )
    asked = facts(scene.do(request), e.ApprovalRequested)[0].approval
    need = only(scene)
    assert (need.kind, need.approval, need.seat) == (NeedKind.APPROVAL, asked, scene.seat("Ada"))
    assert need.until == scene.now + timedelta(seconds=60)
    scene.do(c.AnswerApproval(approval=asked, allow=True, note=""))
    assert needs(scene) == []


def test_a_question_in_a_turn_and_an_interruption_are_listed_while_the_turn_waits() -> None:
    scene = Scene()
    scene.connected("Ada", "Bo")
    scene.channel_of("Ada", "Bo", config=TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT))
    scene.do(c.WaitTurn(channel=REVIEWS, seat=scene.seat("Ada"), reason="Blue or green?"))
    need = only(scene)
    assert (need.kind, need.why, need.channel) == (NeedKind.QUESTION, "Blue or green?", REVIEWS)
    scene.refuse(c.SettleNeed(key=need.key), "invalid")
    scene.do(c.ResumeTurn(channel=REVIEWS, seat=scene.seat("Ada")))
    scene.posts("stop")
    assert kinds(scene) == [NeedKind.HELD]


# ── failures and limits ───────────────────────────────────────────────────────────────────────────


def test_a_single_failure_is_tried_again_without_a_person_and_a_second_one_needs_one() -> None:
    scene = Scene()
    scene.running("Ada")
    scene.ends("Ada", Outcome.FAILED, code=3, reason="boom")
    assert needs(scene) == []
    scene.later(3600)
    scene.up("Ada")
    scene.ends("Ada", Outcome.FAILED, code=3, reason="boom")
    need = only(scene)
    assert need.kind is NeedKind.FAILING
    assert "boom" in need.why
    scene.want("Ada", RunMode.PAUSE)  # a person stopped it, and knows
    assert needs(scene) == []


def test_a_message_that_two_sessions_left_unanswered_is_listed_with_the_cause() -> None:
    scene = Scene()
    scene.running("Ada")
    for _ in range(2):
        scene.later(3600)
        if scene.session("Ada").pid is None:
            scene.up("Ada")
        if not scene.agent("Ada").last_message:
            write(scene, "Ada")
        upto = scene.agent("Ada").last_message
        scene.do(c.DeliverMessages(seat=scene.seat("Ada"), upto=upto))
        scene.ends("Ada", Outcome.FAILED, reason="no key")
    need = only(scene)
    assert (need.kind, need.why) == (NeedKind.UNANSWERED, "no key")
    scene.do(c.RetryMessages(seat=scene.seat("Ada")))
    assert NeedKind.UNANSWERED not in kinds(scene)


def test_a_disabled_agent_needs_nobody() -> None:
    scene = Scene()
    scene.running("Ada", mode=RunMode.RUN_ONCE)
    scene.ends("Ada", Outcome.FAILED, code=3)
    assert kinds(scene) == [NeedKind.FAILED]
    scene.do(c.DisableAgent(seat=scene.seat("Ada")))
    assert needs(scene) == []
    scene.do(c.EnableAgent(seat=scene.seat("Ada")))
    assert kinds(scene) == [NeedKind.FAILED]


def test_a_failed_single_run_is_listed_until_it_is_done_and_the_next_failure_is_listed_again() -> (
    None
):
    scene = Scene()
    scene.running("Ada", mode=RunMode.RUN_ONCE)
    scene.ends("Ada", Outcome.FAILED, code=3)
    need = only(scene)
    assert need.kind is NeedKind.FAILED
    scene.do(c.SettleNeed(key=need.key))
    assert needs(scene) == []
    scene.want("Ada", RunMode.RUN_ONCE)
    scene.up("Ada")
    scene.ends("Ada", Outcome.FAILED, code=3)
    assert only(scene).key != need.key


def test_a_reached_budget_is_listed_with_its_note() -> None:
    scene = Scene()
    budget = Budget(sessions_per_hour=1)
    scene.do(c.EnrollAgent(name="Ada", authority=Authority.MUSTER))
    scene.do(c.ConfigureAgent(seat=scene.seat("Ada"), authority=Authority.MUSTER, budget=budget))
    scene.want("Ada", RunMode.CONTINUOUS)
    scene.up("Ada")
    scene.ends("Ada")
    scene.later(5)
    need = only(scene)
    assert need.kind is NeedKind.LIMIT
    assert "1 session in an hour" in need.why


def test_a_conversation_that_ended_at_a_limit_is_listed_until_it_goes_on() -> None:
    scene = Scene()
    scene.connected("Ada", "Bo")
    scene.channel_of("Ada", "Bo", config=TurnConfig(turns_per_message=2))
    scene.ends_with("Ada")
    scene.ends_with("Bo")
    need = only(scene)
    assert (need.kind, need.channel, need.seat) == (NeedKind.LIMIT, REVIEWS, None)
    scene.posts("go on")
    assert needs(scene) == []


def test_an_archived_channel_and_a_retired_agent_need_nobody() -> None:
    scene = Scene()
    scene.connected("Ada", "Bo")
    scene.channel_of("Ada", "Bo", config=TurnConfig(turns_per_message=1))
    scene.ends_with("Ada", "@Marcus look")
    assert kinds(scene) == [NeedKind.LIMIT, NeedKind.MESSAGE]
    scene.do(c.ArchiveChannel(channel=REVIEWS))
    write(scene, "Bo")
    tell(scene, "Bo")
    assert kinds(scene) == [NeedKind.MESSAGE]
    scene.do(c.RetireAgent(seat=scene.seat("Bo")))
    assert needs(scene) == []


def test_an_agent_that_does_not_do_what_is_wanted_is_stuck_after_a_while() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Ada", authority=Authority.MUSTER))
    scene.want("Ada", RunMode.CONTINUOUS)
    assert needs(scene) == []
    at = scene.now + timedelta(seconds=limits.STUCK_SECONDS)
    assert changes_at(scene.team, scene.now) == at
    scene.now = at
    assert kinds(scene) == [NeedKind.STUCK]
    assert changes_at(scene.team, scene.now) is None


def test_an_agent_that_connects_by_itself_is_not_stuck_while_it_is_away() -> None:
    scene = Scene()
    scene.do(c.EnrollAgent(name="Ada", authority=Authority.SELF))
    scene.want("Ada", RunMode.CONTINUOUS)
    scene.later(3600)
    assert needs(scene) == []
    assert changes_at(scene.team, scene.now) is None


def test_a_report_that_is_contradicted_is_listed_until_there_is_newer_evidence() -> None:
    scene = Scene()
    scene.connected("Ada")
    seat = scene.seat("Ada")
    conflict = e.Conflict(seat=seat, reported="sleeping", evidence="it is connected")
    team = scene.team
    event = Event(team.seq + 1, scene.now, scene.life, "muster", None, conflict)
    scene.team = evolve(team, event)
    need = only(scene)
    assert (need.kind, need.why) == (
        NeedKind.CONFLICT,
        "reported sleeping, but it is connected",
    )
    agent = scene.team.agents[seat]
    assert agent.evidence is not None
    newer = replace(agent, evidence=replace(agent.evidence, seq=scene.team.seq + 1))
    scene.team = replace(scene.team, agents={seat: newer})
    assert needs(scene) == []


def test_a_request_that_failed_is_listed_until_it_is_done() -> None:
    scene = Scene()
    scene.do(c.StartDelegation(mode=DelegationMode.ORCHESTRATOR, path="here", agents=("ada",)))
    scene.do(c.OpenConversation(text="write a script", speaker_name="Marcus"))
    name = ConversationId("conv_001")
    scene.do(c.CloseConversation(conversation=name, summary="nobody can do that", failed=True))
    need = only(scene)
    assert (need.kind, need.conversation) == (NeedKind.REQUEST, name)
    assert need.why == "nobody can do that"
    scene.do(c.EndDelegation())
    assert kinds(scene) == [NeedKind.REQUEST]
    scene.do(c.SettleNeed(key=need.key))
    assert needs(scene) == []


def test_the_reason_of_a_failed_request_is_not_cut_within_a_sentence() -> None:
    scene = Scene()
    scene.do(c.StartDelegation(mode=DelegationMode.ORCHESTRATOR, path="here", agents=("ada",)))
    scene.do(c.OpenConversation(text="write a script", speaker_name="Marcus"))
    closest = f"No agent matched. The closest: {'ada (it writes), ' * 11}bo."
    told = f"{closest} `--to AGENT` gives it to an agent all the same, or so."
    name = ConversationId("conv_001")
    scene.do(c.CloseConversation(conversation=name, summary=told, failed=True))
    assert only(scene).why == told[: limits.NEED_CHARS_MAX] != told
    (need,) = view_needs(scene.team, scene.now).needs
    assert need.why == closest


def test_only_the_newest_failed_requests_are_kept() -> None:
    scene = Scene()
    scene.do(c.StartDelegation(mode=DelegationMode.ORCHESTRATOR, path="here", agents=("ada",)))
    for number in range(1, limits.FAILED_REQUESTS_MAX + 2):
        scene.do(c.OpenConversation(text="write", speaker_name="Marcus"))
        name = ConversationId(f"conv_{number:03}")
        scene.do(c.CloseConversation(conversation=name, summary="no", failed=True))
    kept = scene.team.delegation.failed
    assert (len(kept), kept[0].conversation) == (limits.FAILED_REQUESTS_MAX, "conv_002")


# ── what agents say to a person ───────────────────────────────────────────────────────────────────


def test_all_unseen_messages_of_an_agent_are_listed_as_one_need_whoever_began() -> None:
    scene = Scene()
    scene.running("Ada")
    tell(scene, "Ada", "unasked")
    first = only(scene)
    assert (first.kind, first.why, first.count) == (NeedKind.MESSAGE, "unasked", 1)
    write(scene, "Ada")  # a person who writes has read
    assert needs(scene) == []
    tell(scene, "Ada", "an answer")
    at = scene.now
    scene.later(60)
    tell(scene, "Ada", "and more")
    need = only(scene)
    assert (need.why, need.count, need.since) == ("an answer\nand more", 2, at)
    assert (need.seat, need.channel) == (scene.seat("Ada"), None)


def test_an_agent_that_writes_without_end_is_one_need_of_bounded_size() -> None:
    scene = Scene()
    scene.running("Ada")
    for number in range(limits.WORDS_TO_PERSON_MAX + 5):
        tell(scene, "Ada", f"line {number}")
    assert only(scene).count == limits.WORDS_TO_PERSON_MAX
    assert only(scene).why.endswith("line 24")


def test_a_message_that_names_the_person_is_listed_wherever_it_is_said() -> None:
    scene = Scene()
    scene.connected("Ada", "Bo")
    scene.channel_of("Ada", "Bo")
    scene.ends_with("Ada", "mail@Marcuson.example is no mention, and Marcus none either")
    assert needs(scene) == []
    scene.ends_with("Bo", "@marcus: please merge")
    tell(scene, "Ada", "I asked @Marcus")
    first, second = needs(scene)
    assert (first.channel, second.channel) == (REVIEWS, None)
    scene.posts("merged")
    assert only(scene).key == second.key


def test_messages_are_seen_up_to_a_place_that_only_moves_forward() -> None:
    scene = Scene()
    scene.connected("Ada")
    scene.channel_of("Ada")
    seat = scene.seat("Ada")
    tell(scene, "Ada", "@Marcus one")
    scene.says("Ada", "@Marcus two")
    assert kinds(scene) == [NeedKind.MESSAGE] * 2
    assert facts(scene.do(c.SeeMessages(upto=10**6, seat=seat)), e.MessagesSeen)
    assert scene.agent("Ada").seen == scene.agent("Ada").spoke
    assert scene.do(c.SeeMessages(upto=1, seat=seat)) == []
    assert facts(scene.do(c.SeeMessages(upto=10**6, channel=REVIEWS)), e.MessagesSeen)
    assert needs(scene) == []
    scene.refuse(c.SeeMessages(upto=1, seat=seat, channel=REVIEWS), "invalid")


def test_each_person_has_looked_at_the_team_up_to_a_place_that_only_moves_forward() -> None:
    scene = Scene()
    scene.connected("Ada")
    last = scene.team.seq
    assert facts(scene.do(c.SeeMessages(upto=10**6)), e.MessagesSeen) == [e.MessagesSeen(upto=last)]
    scene.do(c.SeeMessages(upto=1))
    assert list(scene.team.looked.values()) == [last]


def test_who_looked_longest_ago_is_forgotten_where_too_many_have_looked() -> None:
    team = Team(looked={f"person:{number}": 1 for number in range(LOOKERS_MAX)})
    event = Event(5, NOW, SessionId("boot-1"), "person:Marcus", None, e.MessagesSeen(upto=4))
    after = messages_seen(team, event, e.MessagesSeen(upto=4)).looked
    assert len(after) == LOOKERS_MAX
    assert "person:0" not in after
    assert list(after.items())[-1] == ("person:Marcus", 4)


def test_a_message_that_is_done_was_seen() -> None:
    scene = Scene()
    scene.connected("Ada")
    scene.channel_of("Ada")
    tell(scene, "Ada", "@Marcus one")
    scene.says("Ada", "@Marcus two")
    listed = needs(scene)
    for need in listed:
        assert facts(scene.do(c.SettleNeed(key=need.key)), e.MessagesSeen)
    assert needs(scene) == []
    for need in listed:  # undone
        scene.do(c.ReopenNeed(key=need.key))
    assert needs(scene) == listed
    assert scene.do(c.ReopenNeed(key=listed[0].key)) == []


# ── put aside ─────────────────────────────────────────────────────────────────────────────────────


def failed(scene: Scene, name: str = "Ada") -> Need:
    scene.running(name, mode=RunMode.RUN_ONCE)
    scene.ends(name, Outcome.FAILED)
    return next(each for each in needs(scene) if each.seat == scene.seat(name))


def test_what_is_put_off_comes_back_and_can_be_reopened_before() -> None:
    scene = Scene()
    need = failed(scene)
    scene.do(c.SettleNeed(key=need.key, seconds=600))
    assert needs(scene) == []
    assert changes_at(scene.team, scene.now) == scene.now + timedelta(seconds=600)
    scene.later(600)
    assert only(scene) == need
    scene.do(c.SettleNeed(key=need.key, seconds=600))
    scene.do(c.ReopenNeed(key=need.key))
    assert only(scene) == need
    assert scene.do(c.ReopenNeed(key=need.key)) == []


@pytest.mark.parametrize("seconds", [0, 59, limits.SNOOZE_SECONDS_MAX + 1, float("nan")])
def test_the_time_is_bounded(seconds: float) -> None:
    scene = Scene()
    need = failed(scene)
    scene.refuse(c.SettleNeed(key=need.key, seconds=seconds), "invalid")


def test_only_what_is_listed_can_be_put_aside_and_only_by_people() -> None:
    scene = Scene()
    need = failed(scene)
    for unknown in (c.SettleNeed(key="failed:9:1"), c.ReopenNeed(key="failed:9:1")):
        scene.refuse(unknown, "not_found")
    for command in (
        c.SettleNeed(key=need.key),
        c.ReopenNeed(key=need.key),
        c.SeeMessages(upto=1, seat=scene.seat("Ada")),
    ):
        scene.refuse(command, "forbidden", "agent:Ada")


def test_the_oldest_of_what_was_put_aside_is_forgotten() -> None:
    scene = Scene()
    team = scene.team
    for number in range(limits.NEEDS_SETTLED_MAX + 1):
        settled = e.NeedSettled(need=f"failed:9:{number}")
        team = evolve(team, Event(team.seq + 1, scene.now, scene.life, "person:M", None, settled))
    assert len(team.settled) == limits.NEEDS_SETTLED_MAX
    assert team.settled[0].key == "failed:9:1"


def test_the_most_urgent_comes_first_and_of_a_kind_the_oldest() -> None:
    scene = Scene()
    failed(scene, "Ada")
    scene.later(10)
    failed(scene, "Bo")
    scene.running("Cy")
    scene.do(
        c.RequestApproval(session=scene.session("Cy").id, tool="Bash", detail="rm", seconds=60)
    )
    assert [scene.team.agents[each.seat].name for each in needs(scene) if each.seat] == [
        "Cy",
        "Ada",
        "Bo",
    ]


def test_a_disk_that_is_nearly_full_needs_a_person_until_its_machine_is_away() -> None:
    low = LowDisk(seq=7, since=NOW, free_bytes=20 * 2**20)
    here = Node(name=HERE, life=SessionId("a"), since=1, disk_low=low)
    box = Node(name=NodeId("box"), life=SessionId("b"), since=2, disk_low=low)
    lost = replace(box, name=NodeId("lost"), away=NOW)
    team = Team(nodes={each.name: each for each in (here, box, lost)})
    told = [(need.key, need.why) for need in all_needs(team, NOW) if need.kind is NeedKind.DISK]
    assert sorted(told) == [
        ("disk:box:7", "20 MiB are left on box; large messages are refused"),
        (f"disk:{HERE}:7", "20 MiB are left; large messages are refused"),
    ]
