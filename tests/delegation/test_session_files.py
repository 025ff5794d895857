"""The documented example session, replayed with a real program, file by file."""

import asyncio
import json
from pathlib import Path

import pytest

from muster.machines.vocabulary import DelegationMode
from muster.permissions.policy import AGENT_PERMISSIONS, MAIN_PERMISSIONS
from tests.delegation.stage import AGENTS, PYTHON, Stage

INPUTS = (
    "Hello, what can you help with?",
    PYTHON,
    "Thanks!",
    "Can you explain what you just did?",
)
NINE = "2026-01-01T09:0{}:00"

MAIN_MAY = MAIN_PERMISSIONS.as_dict()
AGENTS_MAY = AGENT_PERMISSIONS.as_dict()


async def play(base: Path) -> Stage:
    """Play the session, one input a minute."""
    stage = Stage(base)
    await stage.start(DelegationMode.ORCHESTRATOR)
    for text in INPUTS:
        stage.clock.advance(60)
        await stage.ask(text)
    stage.clock.advance(60)
    await stage.end()
    return stage


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """The session after its end."""
    return asyncio.run(play(tmp_path_factory.mktemp("example")))


def lines(stage: Stage, path: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in stage.read(path).splitlines()]


def workspace(stage: Stage, number: int) -> str:
    return f"{stage.root}/conversations/conv_{number:03d}/outputs/"


def test_the_folder_has_the_documented_files_and_nothing_else(stage: Stage) -> None:
    dialogues = {f"conversations/conv_00{number}/dialogue.md" for number in range(1, 5)}
    assert set(stage.files()) == dialogues | {
        "state.jsonl",
        "agent-list.txt",
        "AGENT_DIRECTORY.md",
        "conversations/messages.jsonl",
    }
    for number in range(1, 5):
        outputs = Path(workspace(stage, number))
        written = ["hello_world.py"] if number == 2 else []
        assert [each.name for each in outputs.iterdir()] == written
    assert (Path(workspace(stage, 2)) / "hello_world.py").read_text() == (
        "print('Hello, World!')\n"
    )
    assert asyncio.run(stage.is_up_to_date())


def test_state_jsonl_has_the_documented_entries_and_fields(stage: Stage) -> None:
    root = str(stage.root)

    def talk(kind: str, number: int, **more: object) -> dict[str, object]:
        return {
            "timestamp": NINE.format(number),
            "type": kind,
            "state": "MAIN",
            "conversation_id": f"conv_00{number}",
            **more,
            "workspace": workspace(stage, number),
            "permissions": MAIN_MAY,
        }

    entries = lines(stage, "state.jsonl")
    summaries = [each.pop("summary") for each in entries if "summary" in each]
    assert len(summaries) == 4
    assert entries == [
        {
            "timestamp": NINE.format(0),
            "type": "session_init",
            "state": "MAIN",
            "parameters": {"mode": "orchestrator", "path": root},
            "agent_descriptions": f"{root}/AGENT_DIRECTORY.md",
            "agent_list": f"{root}/agent-list.txt",
            "permissions": MAIN_MAY,
        },
        talk("conversation_start", 1),
        talk("conversation_end", 1, outcome="answered"),
        talk("conversation_start", 2),
        {
            "timestamp": NINE.format(2),
            "type": "transition",
            "state": "python-engineer",
            "trigger": 'Matched: "Python" + "script" + "Write"',
            "previous": "MAIN",
            "conversation_id": "conv_002",
            "workspace": workspace(stage, 2),
            "permissions": AGENTS_MAY,
        },
        {
            "timestamp": NINE.format(2),
            "type": "transition",
            "state": "MAIN",
            "trigger": "task completed",
            "previous": "python-engineer",
            "conversation_id": "conv_002",
            "workspace": workspace(stage, 2),
            "permissions": MAIN_MAY,
        },
        talk("conversation_end", 2, outcome="answered"),
        talk("conversation_start", 3),
        talk("conversation_end", 3, outcome="answered"),
        talk("conversation_start", 4),
        talk("conversation_end", 4, outcome="answered"),
        {
            "timestamp": NINE.format(5),
            "type": "session_end",
            "state": "MAIN",
            "reason": "ended",
        },
    ]


def test_the_index_has_a_line_for_each_conversation(stage: Stage) -> None:
    entries = lines(stage, "conversations/messages.jsonl")
    assert [list(each) for each in entries] == 4 * [
        ["conversation_id", "timestamp", "summary", "files_created", "agents_used"]
    ]
    assert [each["conversation_id"] for each in entries] == [
        f"conv_00{number}" for number in range(1, 5)
    ]
    assert entries[1] == {
        "conversation_id": "conv_002",
        "timestamp": NINE.format(2),
        "summary": f"{PYTHON}: I wrote hello_world.py.",
        "files_created": [
            {
                "path": f"{workspace(stage, 2)}hello_world.py",
                "summary": "created by python-engineer, 23 bytes",
            }
        ],
        "agents_used": ["python-engineer"],
    }
    assert [each["agents_used"] for each in entries] == [[], ["python-engineer"], [], []]


def test_a_dialogue_has_a_section_for_every_event_in_order(stage: Stage) -> None:
    text = stage.read("conversations/conv_002/dialogue.md")
    titles = [line for line in text.splitlines() if line.startswith("#")]
    at = NINE.format(2)
    assert titles == [
        "# Conversation: conv_002",
        f"## {at} Marcus says",
        f"## {at} MAIN thinks",
        f"## {at} MAIN sets a task",
        f"## {at} [MAIN → python-engineer]",
        f"## {at} python-engineer reports",
        f"## {at} python-engineer created a file",
        f"## {at} [python-engineer → MAIN]",
        f"## {at} MAIN answers",
        f"## {at} Closed: answered",
    ]
    assert f"> {PYTHON}\n" in text
    assert "| python-engineer |" in text
    assert f"> - Every file that you make goes into {workspace(stage, 2)}, where" in text
    assert "> You are careful.\n" in text


def test_main_answers_its_own_requests_in_one_line(stage: Stage) -> None:
    views = list(asyncio.run(stage.conversations.views()).values())
    assert [view.text for view in views] == list(INPUTS)
    answers = [view.answer for view in views]
    assert "3 agents are there: docs-writer, python-engineer, sql-tuner." in answers[0]
    assert answers[1] == "I wrote hello_world.py."
    assert answers[2] == "You're welcome!"
    assert answers[3] == f"The last conversation: conv_002, {PYTHON}: I wrote hello_world.py."


def test_the_agents_are_listed_and_described(stage: Stage) -> None:
    assert stage.read("agent-list.txt").split() == sorted(AGENTS)
    directory = stage.read("AGENT_DIRECTORY.md")
    assert all(f"> {description}" in directory for description in AGENTS.values())


def test_a_replay_of_the_session_differs_only_in_its_path(stage: Stage, tmp_path: Path) -> None:
    again = asyncio.run(play(tmp_path))
    here, there = str(stage.base).encode(), str(tmp_path).encode()
    assert {path: data.replace(there, here) for path, data in again.files().items()} == {
        path: data.replace(there, here) for path, data in stage.files().items()
    }
