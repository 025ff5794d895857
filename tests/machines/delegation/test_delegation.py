"""Delegation: conversations by description, in three modes."""

import msgspec
import pytest

from muster.errors import ConversationClosed, Forbidden, Invalid, NotFound
from muster.limits import (
    CHOICE_CHARS_MAX,
    CHOICES_KEPT_MAX,
    DIALOGUE_CHARS_MAX,
    HANDOVERS_MAX,
    NESTED_ASKS_MAX,
)
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.delegation.reasons import reason_of
from muster.machines.ids import ConversationId, agent_actor
from muster.machines.kernel.team import decide
from muster.machines.state import MAIN, QUEUE
from muster.machines.vocabulary import DelegationMode, FileChange, Machine, Ranked, Remark
from tests.machines.scene import Scene, facts, moves

ORCHESTRATOR, INTERACTIVE, RESPONSE = DelegationMode
ONE = ConversationId("conv_001")
TWO = ConversationId("conv_002")


def session(mode: DelegationMode = ORCHESTRATOR, keeper: str = "") -> Scene:
    scene = Scene()
    scene.do(c.StartDelegation(mode=mode, path="here", agents=("ada", "bob", "cyd")))
    scene.do(c.OpenConversation(text="write a script", speaker_name="Marcus", keeper=keeper))
    return scene


def delegate(to: str = "ada", conversation: ConversationId = ONE) -> c.Delegate:
    return c.Delegate(conversation=conversation, to=to, trigger="write + script")


def hand_off(scene: Scene, to: str) -> list[e.Event]:
    epoch = scene.team.delegation.conversations[ONE].epoch
    return scene.do(c.HandOff(conversation=ONE, epoch=epoch, to=to, reason="needs help"))


def state(scene: Scene) -> str:
    return scene.team.delegation.conversations[ONE].state


def test_agents_are_added_to_an_open_session_and_only_new_ones() -> None:
    scene = Scene()
    scene.refuse(c.AddDescriptions(agents=("poet",)), "no_delegation")
    scene.do(c.StartDelegation(mode=DelegationMode.ORCHESTRATOR, path="/s", agents=("writer",)))
    scene.do(c.AddDescriptions(agents=("poet",)))
    assert scene.team.delegation.agents == ("poet", "writer")
    scene.refuse(c.AddDescriptions(agents=("poet", "painter")), "invalid")
    scene.refuse(c.AddDescriptions(agents=()), "invalid")
    scene.refuse(c.AddDescriptions(agents=("MAIN",)), "invalid")


def test_a_session_that_goes_on_from_another_log_numbers_on() -> None:
    scene = session()
    scene.do(c.EndDelegation())
    start = c.StartDelegation(mode=ORCHESTRATOR, path="/s", agents=("ada",), continues="/old")
    for opened, number in ((0, 2), (5, 6), (3, 7)):
        scene.do(msgspec.structs.replace(start, opened=opened))
        scene.do(c.OpenConversation(text="write", speaker_name="Marcus"))
        assert list(scene.team.delegation.conversations) == [f"conv_{number:03}"]
        scene.do(c.EndDelegation())


# ── choices of people ─────────────────────────────────────────────────────────────────────────────


def test_a_choice_is_remembered_with_a_number_and_survives_the_session() -> None:
    scene = session()
    scene.do(c.RememberChoice(text="tune it", to="ada", guess=MAIN))
    scene.do(c.RememberChoice(text="x" * (CHOICE_CHARS_MAX + 1), to=MAIN))
    scene.do(c.EndDelegation())
    first, second = scene.team.delegation.choices
    assert (first.number, first.text, first.agent, first.guess) == (1, "tune it", "ada", MAIN)
    assert (second.number, len(second.text)) == (2, CHOICE_CHARS_MAX)
    scene.refuse(c.RememberChoice(text="tune it", to="ada"), "no_delegation")


def test_a_choice_for_the_same_request_replaces_the_earlier_one() -> None:
    scene = session()
    scene.do(c.RememberChoice(text="Tune it!", to="ada"))
    scene.do(c.RememberChoice(text="tune  it", to="bob"))
    [choice] = scene.team.delegation.choices
    assert (choice.number, choice.agent) == (2, "bob")


def test_the_oldest_choice_goes_when_there_are_too_many() -> None:
    scene = session()
    scene.do_all(
        [c.RememberChoice(text=f"task {n}", to="ada") for n in range(CHOICES_KEPT_MAX + 1)]
    )
    kept = scene.team.delegation.choices
    assert (len(kept), kept[0].text) == (CHOICES_KEPT_MAX, "task 1")


def test_a_choice_is_forgotten_by_its_number_and_all_at_once() -> None:
    scene = session()
    scene.do_all([c.RememberChoice(text=f"task {n}", to="ada") for n in range(3)])
    scene.refuse(c.ForgetChoice(number=9), "not_found")
    scene.do(c.ForgetChoice(number=2))
    assert [each.number for each in scene.team.delegation.choices] == [1, 3]
    scene.do(c.ForgetChoice())
    assert scene.team.delegation.choices == ()
    assert scene.do(c.ForgetChoice()) == []
    scene.do(c.RememberChoice(text="again", to="ada"))
    assert scene.team.delegation.choices[0].number == 4


def test_only_people_choose_and_only_agents_of_the_session_are_chosen() -> None:
    scene = session()
    scene.refuse(c.RememberChoice(text="tune it", to="eve"), "not_found")
    ada = agent_actor("ada")
    for command in (c.RememberChoice(text="tune it", to="ada"), c.ForgetChoice()):
        with pytest.raises(Forbidden):
            decide(scene.team, command, scene.now, actor=ada, life=scene.life)


# ── bounds ────────────────────────────────────────────────────────────────────────────────────────


def test_requests_are_nested_only_so_deep() -> None:
    scene = session()
    nested = c.OpenConversation(text="help", speaker_name="ada", depth=NESTED_ASKS_MAX)
    [start] = facts(scene.do(nested), e.ConversationStart)
    assert scene.team.delegation.conversations[start.conversation].depth == NESTED_ASKS_MAX
    deeper = msgspec.structs.replace(nested, depth=NESTED_ASKS_MAX + 1)
    scene.refuse(deeper, "nested_too_deep")


def test_an_agent_asks_in_its_own_name_and_deeper_than_what_it_works_on() -> None:
    scene = session()
    scene.do(delegate())
    ada = agent_actor("ada")
    asked = c.OpenConversation(text="help", speaker_name="ada", depth=1)
    [start] = facts(scene.do(asked, actor=ada), e.ConversationStart)
    scene.do(delegate("bob", start.conversation))
    for wrong in (
        msgspec.structs.replace(asked, depth=0),
        msgspec.structs.replace(asked, speaker_name="Marcus"),
        msgspec.structs.replace(asked, keeper="a program"),
    ):
        with pytest.raises(Forbidden, match="'ada' may not"):
            decide(scene.team, wrong, scene.now, actor=ada, life=scene.life)
    again = msgspec.structs.replace(asked, speaker_name="bob")
    with pytest.raises(Forbidden, match=r"'bob' may not ask at depth 1\. Your requests begin at 2"):
        decide(scene.team, again, scene.now, actor=agent_actor("bob"), life=scene.life)
    with pytest.raises(Invalid, match="may have letters"):
        decide(scene.team, asked, scene.now, actor=agent_actor("ada\nMarcus"), life=scene.life)


def test_a_full_dialogue_is_cut_where_it_says_so_and_keeps_reports_and_answers() -> None:
    scene = session()

    def record(kind: Remark, text: str) -> list[str]:
        remark = c.RecordDialogue(conversation=ONE, speaker="ada", kind=kind, text=text)
        return [fact.text for fact in facts(scene.do(remark), e.DialogueRecorded)]

    half = "x" * (DIALOGUE_CHARS_MAX // 2)
    assert record(Remark.THINKING, half) == [half]
    assert record(Remark.THINKING, half[:-10]) == [half[:-10]]
    [cut] = record(Remark.OUTPUT, "0123456789 and more")
    assert cut.startswith("0123456789\n\n[The dialogue is cut here")
    assert record(Remark.THINKING, "more") == []
    assert record(Remark.REPORT, "done") == ["done"]
    assert record(Remark.ANSWER, "done") == ["done"]


def test_in_orchestrator_mode_a_task_goes_to_an_agent_and_back_to_main() -> None:
    scene = session()
    events = scene.do(delegate())
    assert moves(events, Machine.DELEGATION) == [("ada", MAIN, "ada", "delegated")]
    fact = facts(events, e.StateTransition)[0]
    assert (fact.epoch, fact.reason) == (1, "write + script")
    events = scene.do(c.FinishTask(conversation=ONE, epoch=1, report="It is done."))
    assert moves(events, Machine.DELEGATION) == [("ada", "ada", MAIN, "task_completed")]
    [answer] = facts(events, e.DialogueRecorded)
    assert (answer.speaker, answer.kind, answer.text) == (MAIN, Remark.ANSWER, "It is done.")
    [end] = facts(events, e.ConversationEnd)
    assert (end.summary, end.outcome) == ("write a script: It is done.", "answered")
    assert ONE not in scene.team.delegation.conversations


def test_a_conversation_that_another_program_leads_is_left_for_it_to_close() -> None:
    scene = session(keeper="claude:s:1@2")
    events = [*scene.do(delegate()), *scene.do(c.FinishTask(conversation=ONE, epoch=1))]
    assert not facts(events, e.SessionRequested)
    assert not facts(events, e.ConversationEnd)
    scene.do(c.CloseConversation(conversation=ONE, summary="a script was written"))


def test_every_input_is_a_conversation_with_a_number_of_its_own() -> None:
    scene = session()
    scene.do_all([c.OpenConversation(text="next", speaker_name="Marcus")] * 1001)
    assert "conv_1002" in scene.team.delegation.conversations
    scene.do(c.EndDelegation())
    scene.do(c.StartDelegation(mode=ORCHESTRATOR, path="here", agents=("ada",)))
    [start] = facts(
        scene.do(c.OpenConversation(text="on", speaker_name="Marcus")), e.ConversationStart
    )
    assert start.conversation == "conv_1003"  # a folder is never used twice


def test_an_agent_that_fails_gives_the_conversation_back() -> None:
    scene = session()
    scene.do(delegate())
    events = scene.do(c.FinishTask(conversation=ONE, epoch=1, failed=True))
    assert moves(events, Machine.DELEGATION) == [("ada", "ada", MAIN, "agent_failed")]


def test_a_request_that_is_cancelled_ends_wherever_it_is() -> None:
    scene = session()
    scene.do(delegate())
    events = scene.do(c.CancelConversation(conversation=ONE))
    assert moves(events, Machine.DELEGATION) == [("ada", "ada", MAIN, "cancelled")]
    [end] = facts(events, e.ConversationEnd)
    assert (end.outcome, end.summary) == ("ended", "It was cancelled.")
    scene.refuse(c.CancelConversation(conversation=ONE), "conversation_closed")
    scene.do(c.OpenConversation(text="another", speaker_name="Marcus"))
    events = scene.do(c.CancelConversation(conversation=TWO))
    assert moves(events, Machine.DELEGATION) == []
    assert facts(events, e.ConversationEnd)


def test_only_a_person_cancels_and_not_what_another_program_leads() -> None:
    scene = session()
    scene.refuse(c.CancelConversation(conversation=ONE), "forbidden", "agent:ada")
    led = session(keeper="claude:s:1@2")
    led.refuse(c.CancelConversation(conversation=ONE), "invalid")


def test_only_the_agent_that_was_handed_it_last_may_go_on() -> None:
    scene = session(keeper="claude:s:1@2")
    scene.do(delegate())
    scene.do(c.FinishTask(conversation=ONE, epoch=1))
    scene.refuse(c.FinishTask(conversation=ONE, epoch=1), "stale_epoch")
    scene.do(delegate("bob"))
    scene.refuse(c.FinishTask(conversation=ONE, epoch=1), "stale_epoch")
    scene.refuse(delegate("cyd"), "already_claimed")
    scene.refuse(c.CloseConversation(conversation=ONE, summary="no"), "already_claimed")


def test_only_in_interactive_mode_may_an_agent_hand_over() -> None:
    scene = session()
    scene.do(delegate())
    command = c.HandOff(conversation=ONE, epoch=1, to="bob", reason="help")
    scene.refuse(command, "wrong_mode")


def test_in_interactive_mode_a_chain_of_agents_leads_back_to_main() -> None:
    scene = session(INTERACTIVE)
    scene.do(delegate())
    assert moves(hand_off(scene, "bob"), Machine.DELEGATION) == [
        ("ada", "ada", "bob", "handed_over")
    ]
    hand_off(scene, "cyd")
    events = hand_off(scene, MAIN)
    assert moves(events, Machine.DELEGATION) == [("cyd", "cyd", MAIN, "handed_back")]


def test_a_chain_that_comes_back_without_progress_is_stopped_with_a_warning() -> None:
    scene = session(INTERACTIVE)
    scene.do(delegate())
    hand_off(scene, "bob")
    events = hand_off(scene, "ada")
    assert moves(events, Machine.DELEGATION) == [("bob", "bob", MAIN, "handed_over")]
    assert "without progress" in facts(events, e.WarningLogged)[0].text


def test_a_chain_that_makes_progress_for_ever_is_stopped_with_the_reason() -> None:
    scene = session(INTERACTIVE)
    scene.do(delegate())
    for number in range(HANDOVERS_MAX - 1):
        scene.do(c.RecordProgress(conversation=ONE, what=f"log line {number}"))
        hand_off(scene, ("bob", "ada")[number % 2])
    scene.do(c.RecordProgress(conversation=ONE, what="one more"))
    events = hand_off(scene, "cyd")
    [ended] = facts(events, e.ConversationEnd)
    assert ended.outcome == "failed"
    [answer] = facts(events, e.DialogueRecorded)
    why = f"before cyd: a conversation may be handed over {HANDOVERS_MAX} times"
    assert why in answer.text
    [move] = facts(events, e.StateTransition)
    assert (move.target, why in (move.reason or "")) == (MAIN, True)


def test_the_reason_of_a_hand_over_is_kept_for_the_next_agent() -> None:
    scene = session(INTERACTIVE)
    scene.do(delegate())
    command = c.HandOff(conversation=ONE, epoch=1, to="bob", reason="the tests are yours")
    scene.do(command)
    reports = scene.team.delegation.conversations[ONE].reports
    assert reports == ("ada hands over to bob: the tests are yours",)


def test_a_chain_that_comes_back_with_progress_goes_on() -> None:
    scene = session(INTERACTIVE)
    scene.do(delegate())
    hand_off(scene, "bob")
    scene.do(c.RecordProgress(conversation=ONE, what="outputs/a.py"))
    hand_off(scene, "ada")
    assert state(scene) == "ada"
    hand_off(scene, "bob")
    assert state(scene) == "bob"
    [end] = facts(hand_off(scene, "ada"), e.ConversationEnd)
    assert end.outcome == "failed"


def test_in_response_mode_a_message_waits_in_a_queue_and_is_claimed_exactly_once() -> None:
    scene = session(RESPONSE)
    assert state(scene) == QUEUE
    scene.do(delegate("bob"))
    scene.refuse(delegate("ada"), "already_claimed")
    events = scene.do(c.FinishTask(conversation=ONE, epoch=1, summary="42"))
    assert moves(events, Machine.DELEGATION) == [("bob", "bob", QUEUE, "task_completed")]
    [end] = facts(events, e.ConversationEnd)
    assert (end.summary, end.outcome) == ("42", "answered")


def test_in_response_mode_a_failure_goes_back_to_the_queue_as_the_result() -> None:
    scene = session(RESPONSE)
    scene.do(delegate("bob"))
    [end] = facts(scene.do(c.FinishTask(conversation=ONE, epoch=1, failed=True)), e.ConversationEnd)
    assert end.outcome == "failed"


@pytest.mark.parametrize("mode", list(DelegationMode))
def test_ending_the_session_closes_what_is_open(mode: DelegationMode) -> None:
    scene = session(mode)
    scene.do(c.OpenConversation(text="two", speaker_name="Marcus"))
    scene.do(delegate())
    events = scene.do(c.EndDelegation())
    assert [end.outcome for end in facts(events, e.ConversationEnd)] == ["ended", "ended"]
    assert moves(events, Machine.DELEGATION)[0][3] == "session_closed"
    scene.refuse(c.EndDelegation(), "no_delegation")


def test_the_path_of_a_closed_session_is_known_without_reading_the_log() -> None:
    scene = session()
    path = scene.team.delegation.path
    scene.do(c.EndDelegation())
    assert (scene.team.delegation.path, scene.team.delegation.last_path) == ("", path)


def test_invalid_delegation_commands_are_refused() -> None:
    scene = session()
    scene.refuse(delegate("nobody"), "not_found")
    scene.refuse(delegate(conversation=ConversationId("conv_999")), "conversation_closed")
    scene.refuse(c.OpenConversation(text="", speaker_name="Marcus"), "invalid")
    start = c.StartDelegation(mode=ORCHESTRATOR, path="p", agents=())
    scene.refuse(start, "delegation_open")
    empty = Scene()
    empty.refuse(c.OpenConversation(text="x", speaker_name="Marcus"), "no_delegation")
    for name, code in (("MAIN", "invalid"), ("a/b", "invalid"), ("..", "name_reserved")):
        command = c.StartDelegation(mode=ORCHESTRATOR, path="p", agents=(name,))
        empty.refuse(command, code)


# ── recording ─────────────────────────────────────────────────────────────────────────────────────


def route(to: str, conversation: ConversationId = ONE) -> c.RecordRoute:
    return c.RecordRoute(
        conversation=conversation,
        to=to,
        confidence=0.9,
        rule="score",
        reason="fits",
        router="lexical",
        candidates=(Ranked(agent="ada", score=2.0, words=("script",)),),
    )


def test_a_route_is_recorded_with_its_scores_and_kept_in_the_state() -> None:
    scene = session()
    [routed] = facts(scene.do(route("ada")), e.Routed)
    assert routed.candidates[0].words == ("script",)
    assert scene.team.delegation.conversations[ONE].routed == "ada"
    scene.do(route(MAIN))
    assert scene.team.delegation.conversations[ONE].routed == MAIN
    with pytest.raises(NotFound):
        scene.do(route("nobody"))
    with pytest.raises(ConversationClosed):
        scene.do(route("ada", ConversationId("conv_999")))


def test_a_file_is_progress_so_a_chain_that_brings_one_may_come_back() -> None:
    scene = session(INTERACTIVE)
    scene.do(delegate())
    hand_off(scene, "bob")
    file = c.RecordFile(
        conversation=ONE, path="a.md", change=FileChange.CREATED, size=1, sha256="ab"
    )
    [recorded] = facts(scene.do(file), e.FileRecorded)
    assert recorded.state == "bob"
    hand_off(scene, "ada")
    assert state(scene) == "ada"


def test_a_denial_names_the_state_that_the_conversation_is_in() -> None:
    scene = session()
    deny = c.DenyPermission(conversation=ONE, rule="main.write", reason="no", suggestion="poet")
    [denied] = facts(scene.do(deny), e.PermissionDenied)
    assert (denied.state, denied.suggestion) == (MAIN, "poet")


def test_a_dialogue_entry_must_not_be_empty_and_needs_an_open_conversation() -> None:
    scene = session()
    remark = c.RecordDialogue(conversation=ONE, speaker="ada", kind=Remark.REPORT, text="done")
    [said] = facts(scene.do(remark), e.DialogueRecorded)
    assert (said.speaker, said.text) == ("ada", "done")
    with pytest.raises(Invalid):
        scene.do(msgspec.structs.replace(remark, text=""))
    scene.do(c.CloseConversation(conversation=ONE, summary="nothing", failed=True))
    with pytest.raises(ConversationClosed):
        scene.do(remark)


def test_a_conversation_can_be_closed_as_failed() -> None:
    scene = session()
    closing = c.CloseConversation(conversation=ONE, summary="nobody", failed=True)
    [end] = facts(scene.do(closing), e.ConversationEnd)
    assert end.outcome == "failed"


def test_a_line_of_another_program_is_logged_with_and_without_an_open_session() -> None:
    scene = Scene()
    entry = '{"conversation_id": "conv_900"}'
    [logged] = facts(scene.do(c.LogConversation(entry=entry)), e.ConversationLogged)
    assert logged.entry == entry


@pytest.mark.parametrize(
    "entry",
    [
        "a line",
        "{}",
        '{"conversation_id": 7}',
        '{"conversation_id": "conv_001"}',  # muster's own
        '{"conversation_id": "conv_0001"}',
        '{"conversation_id": "../../x"}',
        '{"conversation_id": "conv_900\\n"}',
        '{"conversation_id": "conv_99999999999999999999"}',
        '{"conversation_id": "conv_00\u0661"}',
    ],
)
def test_a_line_of_another_program_is_about_a_conversation_of_its_own(entry: str) -> None:
    session().refuse(c.LogConversation(entry=entry), "invalid")


@pytest.mark.parametrize(
    ("trigger", "reason", "words"),
    [
        ("delegated", "write + script", "write + script"),
        ("delegated", None, "its description matches"),
        ("agent_failed", "exit code 3", "agent failed: exit code 3"),
        ("task_completed", "done", "task completed"),
    ],
)
def test_the_reason_of_a_move_is_said_in_words(
    trigger: str, reason: str | None, words: str
) -> None:
    moved = e.StateTransition(
        machine=Machine.DELEGATION,
        agent_id="conv_001",
        source=MAIN,
        target="ada",
        trigger=trigger,
        reason=reason,
    )
    assert reason_of(moved) == words


# ── several agents at once ────────────────────────────────────────────────────────────────────────


def beside(to: str) -> c.Delegate:
    return c.Delegate(conversation=ONE, to=to, trigger="", beside=True)


def finished(scene: Scene, agent: str = "", *, failed: bool = False) -> list[e.Event]:
    epoch = scene.team.delegation.conversations[ONE].epoch
    return scene.do(c.FinishTask(conversation=ONE, epoch=epoch, agent=agent, failed=failed))


def working(scene: Scene) -> list[str]:
    conversation = scene.team.delegation.conversations[ONE]
    return [*conversation.beside, conversation.state]


def test_a_program_that_leads_runs_several_agents_on_one_conversation() -> None:
    scene = session(keeper="claude:1")
    scene.do(beside("ada"))
    scene.do(beside("bob"))
    [joined] = moves(scene.do(beside("ada")), Machine.DELEGATION)
    assert joined[1:] == ("bob", "ada", "joined")
    assert working(scene) == ["ada", "bob", "ada"]
    [left] = moves(finished(scene, "bob"), Machine.DELEGATION)
    assert left[1:] == ("bob", "ada", "left")
    assert working(scene) == ["ada", "ada"]
    scene.refuse(c.FinishTask(conversation=ONE, epoch=4, agent="bob"), "not_found")
    finished(scene)
    assert working(scene) == ["ada"]
    finished(scene, failed=True)
    assert working(scene) == [MAIN]


def test_the_agent_that_came_last_may_leave_first() -> None:
    scene = session(keeper="claude:1")
    scene.do(beside("ada"))
    scene.do(beside("bob"))
    [left] = moves(finished(scene, "bob"), Machine.DELEGATION)
    assert left[1:] == ("bob", "ada", "left")
    assert working(scene) == ["ada"]


def test_a_hand_over_leaves_the_others_at_work_and_the_end_of_the_session_nobody() -> None:
    scene = session(INTERACTIVE, keeper="claude:1")
    scene.do(beside("ada"))
    scene.do(beside("bob"))
    hand_off(scene, "cyd")
    assert working(scene) == ["ada", "cyd"]
    scene.do(c.EndDelegation())
    assert not scene.team.delegation.conversations


def test_only_a_program_that_leads_runs_several_agents() -> None:
    scene = session()
    scene.do(delegate())
    scene.refuse(beside("bob"), "already_claimed")


def test_a_file_belongs_to_the_agent_that_made_it_beside_others() -> None:
    scene = session(keeper="claude:1")
    scene.do(beside("ada"))
    scene.do(beside("bob"))
    file = c.RecordFile(
        conversation=ONE, path="a.md", change=FileChange.CREATED, size=1, sha256="ab", agent="ada"
    )
    assert facts(scene.do(file), e.FileRecorded)[0].state == "ada"
    other = msgspec.structs.replace(file, agent="somebody")
    assert facts(scene.do(other), e.FileRecorded)[0].state == "bob"
