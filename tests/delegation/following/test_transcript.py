"""Transcripts of a program: its thoughts, texts and tool calls, bounded and never trusted."""

import json
import os
from pathlib import Path

import pytest

from muster.delegation.following import transcript
from muster.delegation.following.transcript import TranscriptStep, read_steps
from muster.limits import STEPS_MAX
from muster.machines.vocabulary import Remark


def written(path: Path, *lines: object) -> str:
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    return str(path)


def said(*parts: object) -> object:
    return {"type": "assistant", "message": {"content": list(parts)}}


def asked(content: object) -> object:
    return {"type": "user", "message": {"content": content}}


CALL = {"type": "tool_use", "name": "Read", "input": {"file_path": "a"}}


def test_thoughts_texts_and_calls_are_told_in_order(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm"}
    path = written(tmp_path / "t", said(thought, {"type": "text", "text": "I look."}, CALL))
    steps = read_steps(path)
    assert [step.kind for step in steps] == [Remark.THINKING, Remark.OUTPUT, Remark.TOOL]
    assert steps[1].text == "I look."
    assert steps[2].text.startswith("Read\n")
    assert '"file_path": "a"' in steps[2].text


def test_only_the_steps_since_the_last_input_count_for_main(tmp_path: Path) -> None:
    path = written(
        tmp_path / "t",
        asked("first"),
        said({"type": "text", "text": "one"}),
        asked([{"type": "text", "text": "second"}]),
        said(CALL),
        asked([{"type": "tool_result", "content": "x"}]),
        asked("<task-notification>"),
        {"type": "user", "isMeta": True, "message": {"content": "meta"}},
        said({"type": "text", "text": "two"}),
    )
    kinds = [step.kind for step in read_steps(path, since_input=True)]
    assert kinds == [Remark.TOOL, Remark.OUTPUT]


def test_a_long_transcript_is_cut_and_says_so(tmp_path: Path) -> None:
    path = written(tmp_path / "t", *[said(CALL)] * (STEPS_MAX + 7))
    steps = read_steps(path)
    assert len(steps) == STEPS_MAX + 1
    assert steps[-1] == TranscriptStep(Remark.NOTE, "7 more steps are not recorded here.")
    long = written(tmp_path / "l", said({"type": "text", "text": "x" * 10_000}))
    assert len(read_steps(long)[0].text) == transcript.STEP_CHARS


@pytest.mark.parametrize("name", ["", "missing", "a\0b", "fifo", "folder"])
def test_a_path_that_is_no_file_gives_no_steps(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    assert read_steps(str(tmp_path / name) if name else "") == []


def test_lines_that_are_not_understood_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(
        b'nonsense\n[]\n{"type": "assistant"}\n{"type": "assistant", "message": {"content": [1]}}\n'
        b'{"type": "assistant", "message": {"content": "text"}}\n{"type": 7}\n\xff\n'
        + json.dumps(said({"type": "text", "text": "\ud800"})).encode()
    )
    assert read_steps(str(path)) == [TranscriptStep(Remark.OUTPUT, "?")]
