"""Parsing of muster's prompts by the scripts of the demo."""

import json
import os

import pytest

from muster.demo.answers import answer, named
from muster.demo.cast import ALL, CREW, LEAD
from muster.demo.delegate import document, slug
from muster.demo.hearing import Kind, Message, PromptItem, PromptReader, parse_prompt
from muster.machines.ids import LEAD_SEAT, ChannelId
from muster.machines.state import TurnState
from muster.sessions.prompt import prompt_for
from muster.views.answers.messages import Do, Next


def told(do: Do, channel: str | None = None, epoch: int | None = None) -> str:
    """The prompt of muster for a task."""
    place = None if channel is None else ChannelId(channel)
    found = Next(do=do, agent="Wren", state=TurnState.ACTIVE, channel=place, epoch=epoch)
    return prompt_for(found)


def test_a_turn_news_and_a_direct_message_are_told_apart() -> None:
    prompt = "\n\n".join(
        (
            "You are Wren, in seat 0.",
            told(Do.TURN, "the workshop", 7) + "\n[Grace]: one\nand two\n[Juno] (told before): no",
            told(Do.MESSAGE, "approvals") + "\n[Grace]: yes",
            told(Do.MESSAGE) + "\n[Grace]: hello",
        )
    )
    said = (Message("Grace", "one\nand two", again=False), Message("Juno", "no", again=True))
    assert parse_prompt(prompt) == [
        PromptItem(Kind.TURN, "the workshop", said),
        PromptItem(Kind.NEWS, "approvals", (Message("Grace", "yes", again=False),)),
        PromptItem(Kind.DIRECT, "", (Message("Grace", "hello", again=False),)),
    ]


def test_a_turn_that_was_claimed_is_a_turn() -> None:
    claimed = Next(
        do=Do.TURN,
        agent="Wren",
        state=TurnState.ACTIVE,
        channel=ChannelId("workshop"),
        epoch=7,
        reason="mentioned by Juno",
    )
    assert parse_prompt(prompt_for(claimed)) == [PromptItem(Kind.TURN, "workshop", ())]


def test_a_transcript_contains_no_tasks() -> None:
    memory = f"<agent>\n<transcript>\n{told(Do.TURN, 'old', 1)}\n</transcript>\n</agent>\n"
    assert parse_prompt(memory) == []
    assert parse_prompt(memory + told(Do.TURN, "new", 2)) == [PromptItem(Kind.TURN, "new", ())]


def test_prompts_are_read_one_by_one_with_a_timeout() -> None:
    reading, writing = os.pipe()
    stdin = PromptReader(reading)
    assert stdin.read(0) is None
    lines = "".join(json.dumps({"type": "prompt", "text": text}) + "\n" for text in ("a\nb", "ü"))
    os.write(writing, lines.encode())
    assert (stdin.read(), stdin.read(0)) == ("a\nb", "ü")
    os.close(writing)
    assert stdin.read(0) is None
    with pytest.raises(EOFError):
        stdin.read()
    os.close(reading)


def test_a_named_agent_answers_and_says_that_it_has_no_model() -> None:
    assert named("hugo, what about Wren?") == {"Hugo", "Wren"}
    assert named("nothing") == set()
    assert "No model is behind" in LEAD.lines[0]
    for words in ("Who are you?", "Hello " * 100):
        assert "model" in answer(CREW[0], words)
    assert len(answer(CREW[0], "Hello " * 100)) < 400


def test_every_character_has_a_seat_and_a_name_and_the_crew_has_souls() -> None:
    assert sorted(each.seat for each in ALL) == list(range(9))
    assert len({each.name for each in ALL}) == 9
    assert LEAD.seat == LEAD_SEAT
    assert len({each.soul for each in CREW if each.name in each.soul}) == 8


def test_a_file_is_named_after_its_task_and_says_that_no_model_wrote_it() -> None:
    assert slug("Please write a plan for the launch of ../../etc/passwd") == "plan-launch-etc"
    assert slug("???") == "task"
    text = document(CREW[0], "Plan it\nsoon")
    assert text.startswith("# Plan it\n")
    assert "No model has read the task" in text
    assert text.endswith("Plan it\nsoon\n")
