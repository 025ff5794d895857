"""What Claude Code says, understood: its texts, its prompts, its faults, what it has used up."""

from pathlib import Path

import pytest

from muster.engine.ports import BadLine, Marker, Output, TurnDone
from muster.limits import OUTPUT_BURST_BYTES
from muster.machines.vocabulary import NOTHING_USED, Usage
from muster.runtimes.claude.faults import fault, refusal
from muster.runtimes.claude.memory import Memory, recall, remember
from muster.runtimes.claude.prompts import Prompts
from muster.runtimes.claude.protocol.messages import ResultMessage
from muster.runtimes.claude.reading import flat
from muster.runtimes.claude.usage import Counted, since, total
from muster.runtimes.claude.written import StreamedEvent, WrittenText, argument
from muster.runtimes.excerpts import excerpt
from muster.runtimes.process.pipes import OutputBudget
from muster.runtimes.prompted.speech import Prose, Spoken, spoken

# ── texts ─────────────────────────────────────────────────────────────────────────────────────────


def speak(text: str, before: str = "", begun: str = "") -> Spoken:
    return spoken(text, Prose(OutputBudget(0)), 0, before=before, begun=begun)


def output(text: str) -> Output:
    return Output(stream="stdout", text=text)


def test_a_text_is_told_around_what_is_meant_for_muster() -> None:
    told = speak('Hello.\n[AGENT_STATUS] {"agents":[]}\nBye.')
    marker = Marker(name="AGENT_STATUS", body='{"agents":[]}')
    assert told.said == [output("Hello."), marker, output("Bye.")]
    assert told.rest == "Hello.\nBye."


@pytest.mark.parametrize(
    "text",
    [
        "```\nTURN_COMPLETE\n```",
        "~~~~\n```\nTURN_COMPLETE\n~~~\nTURN_COMPLETE\n~~~~",
        "  TURN_COMPLETE",
        "> TURN_COMPLETE",
        "I end with TURN_COMPLETE",
        '{"type": "turn_complete"}',
        '{"type": "result", "text": "' + "x" * 70_000 + '"}',
        "```\n[AGENT_REGISTERED] {}",
    ],
)
def test_what_is_only_talked_about_means_nothing(text: str) -> None:
    told = speak(text)
    assert all(isinstance(each, Output | BadLine) for each in told.said)
    assert told.rest == text.strip()


def test_a_turn_ends_with_what_was_said_before_it() -> None:
    assert speak("My answer.\nTURN_COMPLETE\nThanks.").said == [
        output("My answer."),
        TurnDone(text="My answer."),
        output("Thanks."),
    ]
    assert speak("TURN_COMPLETE", before="My answer.").said == [TurnDone(text="My answer.")]
    assert speak("TURN_COMPLETE").said == [TurnDone()]
    twice = speak("One.\nTURN_COMPLETE\nTwo.\nTURN_COMPLETE", before="Old.")
    done = [each.text for each in twice.said if isinstance(each, TurnDone)]
    assert done == ["One.", "Two."]
    assert twice.after == ""


def test_a_turn_can_be_handed_over_with_its_end() -> None:
    assert TurnDone(text="Done.", to="Ben") in speak("Done.\nTURN_COMPLETE @Ben").said
    fenced = speak("```\nTURN_COMPLETE @Ben\n```")
    assert not [each for each in fenced.said if isinstance(each, TurnDone)]


def test_a_flood_is_left_out_but_what_is_meant_for_muster_is_not() -> None:
    prose = Prose(OutputBudget(0))
    spoken("x" * OUTPUT_BURST_BYTES, prose, 0)
    told = spoken("y" * 100_000 + "\nTURN_COMPLETE", prose, 0)
    [done] = told.said
    assert done == TurnDone(text="y" * 100_000)
    [tail] = prose.end()
    assert isinstance(tail, Output)
    assert tail.omitted > 90_000


def test_what_tools_give_back_is_text_whatever_it_was() -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "image"}, "b", 7]
    assert flat(blocks) == "a\n[image]\nb\n7"
    assert (flat(None), flat("a"), flat({"a": 1})) == ("", "a", '{"a":1}')
    assert excerpt("abcdef", 4) == "abc…"


# ── prompts ───────────────────────────────────────────────────────────────────────────────────────


def taken(prompts: Prompts, number: str) -> str:
    took = prompts.become(number, "started")
    assert took is not None
    return took.how.value


def test_a_prompt_is_started_injected_or_queued() -> None:
    prompts = Prompts()
    assert prompts.idle
    prompts.tell("1", "first")
    assert (prompts.idle, prompts.waiting, prompts.working) == (False, True, False)
    assert prompts.become("1", "queued") is None
    assert taken(prompts, "1") == "started"
    prompts.speak()
    prompts.tell("2", "second")
    prompts.tell("3", "third")
    prompts.tell("4", "fourth")
    assert taken(prompts, "2") == "injected"
    assert prompts.become("2", "completed") is None
    assert prompts.result(of_ours=False)
    assert prompts.become("1", "completed") is None
    assert [taken(prompts, each) for each in "34"] == ["queued", "queued"]
    prompts.speak()
    assert prompts.result(of_ours=False)
    prompts.tell("5", "fifth")
    assert taken(prompts, "5") == "started", "what is done but not told so yet is done"
    assert prompts.become("5", "cancelled") is None
    for each in "34":
        prompts.become(each, "completed")
    assert prompts.result(of_ours=False)
    assert prompts.idle


def test_work_that_nobody_asked_for_answers_only_a_prompt_that_came_into_it() -> None:
    prompts = Prompts()
    prompts.tell("1", "first")
    taken(prompts, "1")
    assert prompts.result(of_ours=True)
    prompts.become("1", "completed")
    prompts.speak()
    assert not prompts.result(of_ours=True)
    prompts.speak()
    prompts.tell("2", "second")
    assert taken(prompts, "2") == "injected"
    assert prompts.result(of_ours=False)
    prompts.running = True
    prompts.become("2", "completed")
    assert not prompts.idle, "a helper is still at work"


# ── faults ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("status", "text", "reason"),
    [
        (401, "", "the model server refuses the key (401)"),
        (503, "", "the model server fails (503), asked 3 times"),
        (None, "Unable to connect. Is the computer able to access the url?", "cannot be reached"),
        (None, "getaddrinfo ENOTFOUND nowhere", "there is no such host"),
        (None, "The response stopped arriving.", "fell silent in the middle"),
        (None, "something else", "does not work: something else"),
        (None, "Not logged in · Please run /login", "set ANTHROPIC_API_KEY"),
        (400, "API Error: 400 prompt is too long", ""),
    ],
)
def test_a_fault_is_named(status: int | None, text: str, reason: str) -> None:
    found = fault(status, text, 3)
    assert reason in found
    assert bool(found) == bool(reason)


def test_a_refused_key_is_tried_once_more_in_case_a_login_was_renewed() -> None:
    assert [refusal(401, attempts) for attempts in (1, 2)] == [
        "",
        "the model server refuses the key (401)",
    ]
    assert refusal(529, 9) == ""


# ── what was used up ──────────────────────────────────────────────────────────────────────────────


def counted(all_input: int, own_input: int, cost: float) -> ResultMessage:
    model = {
        "inputTokens": all_input,
        "outputTokens": 1,
        "cacheReadInputTokens": 2,
        "cacheCreationInputTokens": 3,
        "costUSD": cost,
    }
    return ResultMessage(
        subtype="success",
        session_id="c-1",
        total_cost_usd=cost,
        usage={"input_tokens": own_input, "output_tokens": None},
        model_usage={"m": model},
    )


def test_each_result_is_told_what_came_since_the_last() -> None:
    first, second = counted(100, 100, 0.1), counted(150, 10, 0.3)
    used, after = since(Counted(), first)
    assert (used, after.now) == (total(first), total(first))
    used, after = since(after, second)
    assert used == Usage(cost_usd=0.2, input_tokens=50)
    assert after == Counted(total(second), kept=NOTHING_USED)
    assert after.at_end() == Counted(total(second), kept=total(second))


def test_a_count_that_began_anew_counts_whole() -> None:
    before = Counted(total(counted(100, 100, 0.1)))
    again = counted(110, 110, 0.2)
    assert since(before, again) == (total(again), Counted(total(again)))


def test_after_a_life_that_was_cut_off_the_count_goes_on_from_the_last_kept_one() -> None:
    kept = total(counted(100, 100, 0.1))
    cut_off = Counted(total(counted(180, 80, 0.2)), kept=kept)
    used, after = since(cut_off, counted(130, 30, 0.15))
    assert used == Usage(cost_usd=0.05, input_tokens=30)
    assert after.kept == kept


# ── memory ────────────────────────────────────────────────────────────────────────────────────────


def test_a_conversation_is_remembered_whole(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "Ada"
    used = Usage(cost_usd=0.25, input_tokens=7)
    memory = Memory("0b5e-1", Counted(used, kept=Usage(input_tokens=3)))
    remember(folder, memory)
    assert recall(folder) == memory
    assert [each.name for each in folder.iterdir()] == ["claude-session"]
    assert (folder / "claude-session").stat().st_mode & 0o077 == 0
    remember(None, memory)
    assert recall(None) == Memory()


@pytest.mark.parametrize("content", [b"", b"\n", b"--x\n{", b"a/../b\n", b"\xff\n", b"x" * 5000])
def test_what_cannot_be_a_conversation_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "claude-session").write_bytes(content)
    assert recall(tmp_path) == Memory()


def test_a_folder_that_cannot_be_written_is_no_reason_to_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "Ada").write_text("a file")
    remember(tmp_path / "Ada", Memory("c-1"))
    assert "cannot be resumed" in caplog.text


# ── the text that a model is writing ──────────────────────────────────────────────────────────────


def starts(**block: object) -> StreamedEvent:
    return {"type": "content_block_start", "index": 0, "content_block": block}


def delta(**more: object) -> StreamedEvent:
    return {"type": "content_block_delta", "index": 0, "delta": more}


def test_text_grows_as_it_is_written_without_the_lines_for_muster() -> None:
    written = WrittenText()
    seen: list[str] = []
    for event in (
        {"type": "message_start"},
        starts(type="thinking"),
        delta(thinking="hm"),
        starts(type="text", text=""),
        delta(text="I "),
        delta(text="think\n"),
        delta(text="TURN_COMPLETE @Ben"),
        {"type": "content_block_stop"},
        starts(type="tool_use", name="Bash", input={}),
        delta(partial_json='{"message":"not for anybody"}'),
    ):
        written.take(event)
        seen.append(written.text)
    assert seen == ["", "", "", "", "I ", "I think\n", "I think", "I think", "", ""]


def test_the_words_in_the_arguments_of_a_tool_grow_as_they_are_written() -> None:
    written = WrittenText()
    written.take(starts(type="tool_use", name="mcp__muster__turn_complete", input={}))
    seen: list[str] = []
    for piece in (
        '{"channel": "design", "mess',
        'age": "Say \\',
        '"hi\\"\\u00',
        "e9 \\ud83d",
        '"}',
    ):
        written.take(delta(partial_json=piece))
        seen.append(written.text)
    assert seen == ["", "Say ", 'Say "hi"', 'Say "hi"é ', 'Say "hi"é ']


def test_arguments_that_are_no_json_have_no_words() -> None:
    assert argument('{"text": "\\x"}', "text") == ""
    assert argument('{"text": 3}', "text") == ""


def test_a_prompt_can_be_taken_back_while_it_waits() -> None:
    prompts = Prompts()
    prompts.tell("1", "first")
    taken(prompts, "1")
    prompts.tell("2", "second")
    assert prompts.waiting_number("first") is None, "it is worked on"
    assert prompts.waiting_number("second") == "2"
    assert prompts.is_waiting("2")
    prompts.become("2", "cancelled")
    assert prompts.is_cancelled("2")
    assert not prompts.is_waiting("2")


def test_the_end_of_a_text_belongs_to_its_beginning() -> None:
    told = speak("and the second.\nTURN_COMPLETE", begun="The first half, ")
    assert told.said[-1] == TurnDone(text="The first half, and the second.")
    assert told.rest == "The first half, and the second."
