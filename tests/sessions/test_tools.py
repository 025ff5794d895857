"""muster's own tools: the session is the caller, and answers are texts for a model."""

import asyncio
from pathlib import Path

import pytest

from muster.engine import ports
from muster.engine.ports import MusterToolCall, Permission, Reply
from muster.limits import MESSAGE_BYTES_MAX
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import LEAD_SEAT, SeatId
from muster.machines.state import TurnState
from muster.machines.vocabulary import (
    Activity,
    InterruptMode,
    Outcome,
    RunMode,
    Taken,
    TurnConfig,
    Usage,
)
from muster.sessions.prompt_state import PROMPTS_MAX, PromptState
from muster.sessions.tools import TOOLS
from muster.testing.runtime import ScriptedSession
from muster.views.memory.transcripts import as_line, last_life_here
from tests.builders import ADA, BEN, DESIGN, eventually, run, settled, with_agents, with_channel
from tests.sessions.test_intake import Stage, staged

FAILED = ports.Exit(outcome=Outcome.FAILED, code=1, reason="out of paper")


async def with_turn(stage: Stage, *others: SeatId) -> ScriptedSession:
    """Start a session of Ada, who has the turn in a channel; other members come after her."""
    await stage.enrol(long_lived=True)
    session = await stage.start()
    await with_agents(stage.muster.dispatcher, *("Ben", "Cee")[: len(others)])
    await with_channel(stage.muster.dispatcher, [ADA, *others], config=TurnConfig())
    await settled()
    return session


async def use(session: ScriptedSession, tool: str, **arguments: object) -> Reply:
    reply = await session.listener.on_tool_call(MusterToolCall(tool=tool, arguments=arguments))
    await settled()
    return reply


def test_every_tool_has_a_schema_of_its_arguments() -> None:
    assert [tool.name for tool in TOOLS] == [
        "turn_complete",
        "turn_pass",
        "turn_wait",
        "send_message",
        "raise_hand",
        "report_status",
        "who",
        "remember",
        "forget",
        "handoff",
    ]
    for tool in TOOLS:
        assert tool.description
        assert (tool.schema["type"], tool.schema["additionalProperties"]) == ("object", False)


def test_turn_complete_posts_its_message_and_ends_the_turn() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage, BEN)
            reply = await use(session, "turn_complete", message="it is blue")
            assert reply.ok
            assert "design" in reply.text
            assert await stage.said() == [("Ada", "design", "it is blue")]
            assert (stage.state(ADA), stage.state(BEN)) == (TurnState.QUEUED, TurnState.ACTIVE)
            await stage.say(session, ports.Result(text="I have ended my turn."))
            assert await stage.said() == [("Ada", "design", "it is blue")]  # that was for nobody

    run(story())


def test_turn_pass_ends_the_turn_without_a_message() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage, BEN)
            assert (await use(session, "turn_pass", reason="nothing new")).ok
            assert await stage.said() == []
            assert stage.state(BEN) is TurnState.ACTIVE

    run(story())


def test_turn_wait_keeps_the_turn_and_any_other_tool_resumes_it() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage, BEN)
            assert (await use(session, "turn_wait", reason="the build", seconds=60)).ok
            assert stage.state(ADA) is TurnState.WAITING
            assert (await use(session, "send_message", text="built")).ok
            assert stage.state(ADA) is TurnState.ACTIVE
            assert await stage.said() == [("Ada", "design", "built")]

    run(story())


def test_no_tool_resumes_a_turn_that_a_human_holds() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            interrupt = TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT)
            await with_channel(stage.muster.dispatcher, [ADA], config=interrupt)
            post = c.PostMessage(channel=DESIGN, text="stop a moment", speaker_name="Marcus")
            await stage.send(post)
            for tool, given in (
                ("turn_complete", {}),
                ("turn_pass", {}),
                ("turn_wait", {"reason": "tea"}),
                ("send_message", {"text": "but"}),
            ):
                reply = await use(session, tool, **given)
                assert reply.ok
                assert "is paused" in reply.text
                assert stage.state(ADA) is TurnState.WAITING

    run(story())


def test_without_a_turn_there_is_nothing_to_end_pass_or_wait_with() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            for tool, given in (
                ("turn_complete", {}),
                ("turn_pass", {}),
                ("turn_wait", {"reason": "tea"}),
                ("handoff", {"to": "Ben", "reason": "help"}),
            ):
                assert "no turn" in (await use(session, tool, **given)).text

    run(story())


def test_a_message_without_a_turn_is_for_the_human_and_is_not_said_twice() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            await stage.send(c.SendMessage(text="well?", speaker_name="Marcus", seat=ADA))
            reply = await use(session, "send_message", text="42")
            assert reply == Reply(True, "Marcus was told.")
            await stage.say(session, ports.Result(text="I have told him."))
            assert await stage.said() == [("Ada", None, "42")]

    run(story())


def test_no_argument_lets_a_session_act_as_another_agent() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage, BEN)
            reply = await use(session, "turn_complete", message="hi", seat=BEN, agent="Ben")
            assert not reply.ok
            assert "called wrongly" in reply.text
            assert stage.state(ADA) is TurnState.ACTIVE
            await stage.send(c.CompleteTurn(channel=DESIGN, seat=ADA))
            reply = await use(session, "turn_complete", message="hi", channel="design")
            assert not reply.ok  # it is Ben's turn now
            assert "turn" in reply.text
            assert stage.state(BEN) is TurnState.ACTIVE

    run(story())


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("turn_complete", {"message": 3}),
        ("turn_wait", {}),
        ("turn_wait", {"reason": "tea", "seconds": "long"}),
        ("send_message", {"text": ""}),
        ("send_message", {"text": "hi", "channel": "nowhere"}),
        ("report_status", {"agents": [{"gridPosition": "four"}]}),
        ("handoff", {"to": "Ben"}),
        ("dance", {}),
    ],
)
def test_a_refused_call_is_answered_with_the_reason(tool: str, given: dict[str, object]) -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            reply = await use(session, tool, **given)
            assert not reply.ok
            assert reply.text
            assert stage.state(ADA) is TurnState.ACTIVE

    run(story())


def test_a_status_renews_the_turn_and_a_leads_report_counts() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            before = stage.muster.team.channels[DESIGN].turn
            stage.clock.advance(30)
            await settled()
            assert (await use(session, "report_status", note="half done")).ok
            after = stage.muster.team.channels[DESIGN].turn
            assert before is not None
            assert after is not None
            assert after.until > before.until
            reply = await use(session, "report_status", agents=[])
            assert not reply.ok
            assert "the lead has authority" in reply.text
            await stage.enrol("Leo", long_lived=True, seat=LEAD_SEAT)
            lead = await stage.start(LEAD_SEAT)
            assert (await use(lead, "report_status", agents=[{"gridPosition": 0}])).text == "Noted."
            assert await stage.facts(e.AgentStatus)

    run(story())


def test_who_lists_the_team_and_whose_turn_it_is() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage, BEN)
            lines = (await use(session, "who")).text.splitlines()
            assert lines[0] == "You work for Marcus."
            assert lines[1] == "- Ada (you), seat 9: alive, ACTIVE, has the turn in design"
            assert lines[2].startswith("- Ben, seat 10: ")

    run(story())


def test_handoff_ends_the_turn_by_asking_another_member() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage, BEN)
            reply = await use(session, "handoff", to="Zoe", reason="the tests")
            assert "Ben" in reply.text
            assert stage.state(ADA) is TurnState.ACTIVE
            assert (await use(session, "handoff", to="ben", reason="the tests")).ok
            assert await stage.said() == [("Ada", "design", "@Ben the tests")]
            assert stage.state(BEN) is TurnState.ACTIVE

    run(story())


def test_handoff_hands_over_the_conversation_that_an_agent_works_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            mode = e.DelegationMode.INTERACTIVE
            start = c.StartDelegation(mode=mode, path=str(tmp_path / "p"), agents=("ada", "bob"))
            await stage.send(start)
            await stage.send(
                c.OpenConversation(text="do it", speaker_name="Marcus", keeper="k", seat=ADA)
            )
            assert "You are MAIN" in (await use(session, "handoff", to="bob", reason="help")).text
            conversation = stage.muster.team.agents[ADA].conversation
            assert conversation is not None
            await stage.send(c.Delegate(conversation=conversation, to="ada", trigger="fits"))
            assert (await use(session, "handoff", to="bob", reason="help")).ok
            assert stage.muster.team.delegation.conversations[conversation].state == "bob"

    run(story())


# ── results, activities, approvals ────────────────────────────────────────────────────────────────


def test_a_result_ends_a_forgotten_turn_with_a_warning_and_its_cost() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage, BEN)
            used = Usage(cost_usd=0.25, output_tokens=7)
            await stage.say(session, ports.Result(text="blue", usage=used))
            assert await stage.said() == [("Ada", "design", "blue")]
            assert stage.state(BEN) is TurnState.ACTIVE
            warnings = await stage.facts(e.WarningLogged)
            assert "without TURN_COMPLETE" in str(warnings)
            assert stage.muster.team.channels[DESIGN].used == used
            assert stage.muster.team.agents[ADA].used == used

    run(story())


def test_a_result_of_other_work_ends_no_turn_but_its_cost_counts() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage, BEN)
            beside = ports.Result(text="a helper is done", usage=Usage(cost_usd=1), answers=False)
            await stage.say(session, beside)
            assert stage.state(ADA) is TurnState.ACTIVE
            assert await stage.said() == []
            assert stage.muster.team.agents[ADA].used.cost_usd == 1

    run(story())


def test_a_failed_result_ends_the_turn_with_its_reason_and_posts_nothing() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage, BEN)
            await stage.say(session, ports.Result(ok=False, text="the model is overloaded"))
            assert await stage.said() == []
            assert stage.state(BEN) is TurnState.ACTIVE
            ended = [
                fact
                for fact in await stage.facts(e.StateTransition)
                if isinstance(fact, e.StateTransition) and fact.trigger == "TURN_COMPLETE"
            ]
            assert ended[0].reason == "the model is overloaded"

    run(story())


def test_the_activity_of_a_session_is_recorded_and_renews_its_turn() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            stage.runtime.confirms_prompts = True
            session = await with_turn(stage)
            before = stage.muster.team.channels[DESIGN].turn
            stage.clock.advance(30)
            await settled()
            did = ports.SessionActivity(
                kind=Activity.TOOL_CALL, name="Bash", text="ls", ref="t1", by="scout"
            )
            await stage.say(session, did, ports.PromptAccepted(how=Taken.INJECTED, text="faster"))
            (activity,) = await stage.facts(e.AgentActivity)
            assert isinstance(activity, e.AgentActivity)
            assert (activity.name, activity.text, activity.by) == ("Bash", "ls", "scout")
            assert len(await stage.facts(e.PromptTaken)) == 1
            after = stage.muster.team.channels[DESIGN].turn
            assert before is not None
            assert after is not None
            assert after.until > before.until

    run(story())


def test_a_turn_announced_during_other_work_does_not_end_with_that_work() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            stage.runtime.confirms_prompts = True
            await stage.enrol(long_lived=True)
            session = await stage.start()
            opening = session.launch.prompt
            await stage.say(session, ports.PromptAccepted(how=Taken.STARTED, text=opening))
            await with_agents(stage.muster.dispatcher, "Ben")
            await with_channel(stage.muster.dispatcher, [ADA, BEN], config=TurnConfig())
            await settled()
            (told,) = session.told
            first, second = Usage(cost_usd=1), Usage(cost_usd=2)
            await stage.say(session, ports.Result(text="Ready.", usage=first))
            assert stage.state(ADA) is TurnState.ACTIVE  # it does not know of its turn yet
            await stage.say(session, ports.PromptAccepted(how=Taken.QUEUED, text=told))
            await stage.say(session, ports.Result(text="blue", usage=second))
            assert stage.state(BEN) is TurnState.ACTIVE
            assert await stage.said() == [("Ada", None, "Ready."), ("Ada", "design", "blue")]
            assert stage.muster.team.channels[DESIGN].used == second

    run(story())


def test_a_long_lived_program_without_work_starts_idle() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            assert (await stage.start()).launch.idle
            await stage.enrol("Ben", long_lived=True)
            await stage.send(c.SendMessage(text="hello", speaker_name="Marcus", seat=BEN))
            assert not (await stage.start(BEN)).launch.idle
            await stage.enrol("Cee", long_lived=True)
            assert not (await stage.start(SeatId(11), RunMode.RUN_ONCE)).launch.idle

    run(story())


def test_the_number_of_kept_prompts_is_bounded() -> None:
    told = PromptState()
    for number in range(PROMPTS_MAX + 1):
        told.send(f"prompt {number}", {DESIGN: number})
    assert told.accept("prompt 0", Taken.STARTED) == {}
    assert told.accept(f"prompt {PROMPTS_MAX}", Taken.STARTED) == {DESIGN: PROMPTS_MAX}
    assert len(told.pending) == PROMPTS_MAX - 1


def test_a_prompt_that_was_sent_twice_is_accepted_once_each() -> None:
    told = PromptState()
    first, second = told.send("go on", {DESIGN: 1}), told.send("go on", {})
    assert (first.id, second.id) == (1, 2)
    assert told.accept("go on", Taken.STARTED) == {DESIGN: 1}
    assert told.pending == {second.id}
    assert told.accept("go on", Taken.STARTED) == {}
    assert told.pending == set()


def test_the_text_of_humans_is_found_in_an_input_that_joins_prompts() -> None:
    told = PromptState()
    told.send("You are Ada.\n", {})
    told.send("You have new messages:\n[Marcus]: hi", {}, words="hi")
    told.send("You have new messages:\n[Marcus]: hi there", {}, words="hi there")
    assert told.human_text_in("You have new messages:\n[Marcus]: hi there") == "hi there"
    assert told.human_text_in("You are Ada.\n\nYou have new messages:\n[Marcus]: hi\n") == "hi"
    assert told.human_text_in("You have new messages:\n[Eve]: obey") == ""


def test_a_person_is_asked_and_the_agent_waits_for_the_answer() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            wanted = Permission(tool="Bash", detail="rm -r build", seconds=60)
            asked = asyncio.ensure_future(session.listener.on_permission_request(wanted))
            await eventually(lambda: stage.muster.team.agents[ADA].approvals)
            assert stage.state(ADA) is TurnState.WAITING
            (approval,) = stage.muster.team.agents[ADA].approvals
            await stage.send(c.AnswerApproval(approval=approval.id, allow=True, note="go"))
            assert await asked == ports.PermissionAnswer(True, "A person allowed it: go", note="go")
            assert stage.state(ADA) is TurnState.ACTIVE
            await _unanswered(stage, session)

    async def _unanswered(stage: Stage, session: ScriptedSession) -> None:
        for default, said in ((True, "as declared"), (False, "not allowed")):
            wanted = Permission(tool="Bash", detail="ls", seconds=30, default=default)
            asked = asyncio.ensure_future(session.listener.on_permission_request(wanted))
            await eventually(lambda: stage.muster.team.agents[ADA].approvals)
            stage.clock.advance(31)
            await settled()
            verdict = await asked
            assert verdict.allowed is default
            assert said in verdict.reason

    run(story())


def test_a_denial_has_its_note_and_an_ended_session_is_denied() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage)
            asked = asyncio.ensure_future(
                session.listener.on_permission_request(Permission(tool="Bash", detail="ls"))
            )
            await eventually(lambda: stage.muster.team.agents[ADA].approvals)
            (approval,) = stage.muster.team.agents[ADA].approvals
            await stage.send(c.AnswerApproval(approval=approval.id, allow=False))
            assert await asked == ports.PermissionAnswer(False, "A person did not allow it.")
            asked = asyncio.ensure_future(
                session.listener.on_permission_request(Permission(tool="Bash", detail="ls"))
            )
            await eventually(lambda: stage.muster.team.agents[ADA].approvals)
            session.exit(FAILED)
            await settled()
            assert not (await asked).allowed
            late = await session.listener.on_permission_request(
                Permission(tool="Bash", detail="ls")
            )
            assert not late.allowed

    run(story())


# ── messages to one agent ─────────────────────────────────────────────────────────────────────────


def test_a_message_to_another_agent_reaches_its_session_under_the_sender_s_name() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            await stage.enrol("Ben", long_lived=True)
            ada, ben = await stage.start(), await stage.start(BEN)
            reply = await use(ada, "send_message", text="are you there?", to="@ben")
            assert reply == Reply(True, "Sent to Ben. An answer comes as a message.")
            assert ben.told[-1].endswith("[Ada]: are you there?")
            assert await stage.said() == []  # the human was told nothing
            transcript = await last_life_here(
                stage.muster.store, stage.muster.team, stage.muster.team.agents[BEN]
            )
            assert [as_line(each, "Marcus") for each in transcript] == ["[Ada]: are you there?"]

    run(story())


def test_a_message_to_the_human_by_name_is_told_to_the_human() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            ada = await stage.start()
            assert (await use(ada, "send_message", text="done", to="marcus")).ok
            assert await stage.said() == [("Ada", None, "done")]

    run(story())


def test_a_message_to_nobody_says_who_there_is_and_one_to_a_sleeper_that_it_waits() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            await stage.enrol("Ben", long_lived=True)
            ada = await stage.start()
            assert "There is: Ada, Ben." in (await use(ada, "send_message", text="x", to="Cy")).text
            told = await use(ada, "send_message", text="x", to="Ben")
            assert "Ben is sleeping and gets it later." in told.text

    run(story())


@pytest.mark.parametrize("kind", [ports.TurnDone, ports.Result])
def test_an_answer_that_is_too_long_is_cut_and_ends_the_turn_whatever_runtime_gives_it(
    kind: type[ports.TurnDone | ports.Result],
) -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            session = await with_turn(stage, BEN)
            await stage.say(session, kind(text="b" * (MESSAGE_BYTES_MAX + 9)))
            await eventually(lambda: stage.state(BEN) is TurnState.ACTIVE)
            assert [len(text) for _, _, text in await stage.said()] == [MESSAGE_BYTES_MAX]
            warning, *_ = await stage.facts(e.WarningLogged)
            assert isinstance(warning, e.WarningLogged)
            assert "was cut to 1,048,576 bytes" in warning.text

    run(story())
