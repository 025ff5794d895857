"""One agent on one task: what its program says, and how it ends."""

import sys
from pathlib import Path

import pytest

from muster.delegation.folder import footprints
from muster.delegation.task_runner import Task, Work, carry_out
from muster.machines.ids import SessionId
from muster.runtimes.command import CommandRuntime
from muster.settings.agents import AgentSettings
from tests.builders import run
from tests.waits import LIFE_SECONDS


def work(base: Path, code: str, *, long_lived: bool = False, seconds: float = LIFE_SECONDS) -> Work:
    """What comes of a program that is given a task."""
    done: list[Work] = []
    outputs = base / "outputs"
    outputs.mkdir()
    settings = AgentSettings(
        command=(sys.executable, "-c", code), cwd=str(outputs), long_lived=long_lived
    )

    async def play() -> None:
        task = Task(
            session=SessionId(f"test-{base.name}"),
            agent="ada",
            prompt="do it",
            outputs=outputs,
            environment={},
            text="do it",
            project=base,
            spared=(outputs,),
        )
        done.append(await carry_out(CommandRuntime(settings, base), task, seconds=seconds))

    run(play())
    return done[0]


def test_what_it_prints_is_its_report_and_its_complaints_are_kept_apart(tmp_path: Path) -> None:
    done = work(tmp_path, "import sys; print('fine'); print('hot', file=sys.stderr)")
    assert (done.failed, done.report, done.complained) == (False, "fine", "hot")


def test_a_result_says_it_more_exactly(tmp_path: Path) -> None:
    code = """print("chatter"); print('{"type": "result", "text": "the answer"}')"""
    done = work(tmp_path, code)
    assert (done.printed, done.report) == ("chatter", "the answer")


def test_a_result_that_is_not_ok_is_a_failure(tmp_path: Path) -> None:
    done = work(tmp_path, """print('{"type": "result", "ok": false, "text": "no paper"}')""")
    assert (done.failed, done.reason) == (True, "no paper")


def test_a_program_that_lives_on_is_let_go_when_it_is_done(tmp_path: Path) -> None:
    code = """
import sys
for line in sys.stdin:
    print('{"type": "result", "text": "done"}', flush=True)
"""
    done = work(tmp_path, code, long_lived=True)
    assert (done.failed, done.report) == (False, "done")


def test_lines_for_a_channel_are_what_it_says_here(tmp_path: Path) -> None:
    code = """
print('{"type": "working"}')
print('{"type": "say", "text": "first"}')
print('{"type": "turn_complete", "text": "last"}')
"""
    assert work(tmp_path, code).report == "first\nlast"


def test_of_several_hand_overs_the_last_counts_and_a_failure_hands_over_nothing(
    tmp_path: Path,
) -> None:
    code = "print('[HANDOFF bob] one'); print(' [HANDOFF eve] no'); print('[HANDOFF cyd] two')"
    done = work(tmp_path, code)
    assert (done.hand_to, done.hand_why) == ("cyd", "two")
    assert done.report == "[HANDOFF eve] no"
    (tmp_path / "again").mkdir()
    assert work(tmp_path / "again", f"{code}; raise SystemExit(1)").hand_to == ""


def test_a_project_that_is_too_large_to_look_through_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(footprints, "FILES_MAX", 2)
    for name in "abc":
        (tmp_path / name).touch()
    assert work(tmp_path, "open('x', 'w').close()").notes == (
        f"{tmp_path} has too many files to see what else was written.",
    )


def test_a_file_whose_name_is_no_text_can_be_told(tmp_path: Path) -> None:
    done = work(tmp_path, "open(b'\\xff.txt', 'w').close()")
    assert [each.found.path for each in done.files] == ["�.txt"]


def test_a_usage_that_cannot_be_true_is_ignored_and_noted(tmp_path: Path) -> None:
    code = """print('{"type": "result", "text": "x", "usage": {"inputTokens": %d}}' % (10**23))"""
    done = work(tmp_path, code)
    assert (done.report, done.usage.tokens) == ("x", 0)
    ignored = "A usage that it reported is ignored: inputTokens must be 0 to 1000000000000."
    assert done.notes == (ignored,)
