"""The story of the demo: each bug is real, and its correction mends it."""

import subprocess
import sys
from pathlib import Path

import pytest

from muster.demo.answers import answer
from muster.demo.cast import ALL, LEAD
from muster.demo.story import (
    BUGS,
    FIXER,
    REVIEWER,
    TESTER,
    Bug,
    bug_in,
    bug_number,
    call_for_review,
    line_of,
    report,
    request,
)


def holds(bug: Bug, content: str, folder: Path) -> bool:
    """Whether the check of a bug passes with this content of its file."""
    (folder / bug.file).write_text(content)
    run = [sys.executable, "-B", "-c", bug.check]
    return subprocess.run(run, cwd=folder, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.file)
def test_the_check_of_a_bug_fails_before_its_correction_and_passes_after(
    bug: Bug, tmp_path: Path
) -> None:
    assert not holds(bug, bug.wrong, tmp_path)
    assert holds(bug, bug.right, tmp_path)


def test_every_message_of_a_chapter_is_about_its_bug_and_meets_an_answer() -> None:
    for bug in BUGS:
        assert {bug_in(text) for text in (report(bug), request(bug), call_for_review(bug))} == {bug}
    said = {each.name: line_of(each, report(BUGS[0])) for each in ALL}
    assert {name for name, line in said.items() if line} == {LEAD.name, REVIEWER, TESTER}
    assert answer(LEAD, report(BUGS[1])).startswith(FIXER)
    assert line_of(LEAD, "Good morning") is None


def test_the_story_begins_again_after_its_last_bug() -> None:
    assert bug_number(len(BUGS)) == BUGS[0]
