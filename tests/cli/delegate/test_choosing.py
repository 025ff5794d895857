"""`muster ask` for an ambiguous request: a question at a terminal, and an error without one."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.cli.delegate.test_delegation import Desk
from tests.delegation.stage import EITHER
from tests.homes import MUSTER_SCRIPT, environment
from tests.waits import WAIT_SECONDS


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path, "import os; print('I am ' + os.environ['MUSTER_AGENT'])")
    desk.good("agent-state-machine")
    return desk


def pressed(desk: Desk, key: bytes) -> tuple[str, int]:
    """The output on a terminal where this key answers the question, and the exit code."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [MUSTER_SCRIPT, "ask", EITHER],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=desk.base,
        env=environment({"HOME": str(desk.base / "nobody")}),
    ) as process:
        os.close(theirs)
        seen = _until(ours, b"cancels.")
        os.write(ours, key)
        seen += _until(ours, None)
        code = process.wait(WAIT_SECONDS)
    os.close(ours)
    return seen.decode().replace("\r\n", "\n"), code


def _until(terminal: int, wanted: bytes | None) -> bytes:
    """Read a terminal until it shows something, or until the process has ended."""
    seen = b""
    try:
        while wanted is None or wanted not in seen:
            data = os.read(terminal, 65536)
            if not data:
                break
            seen += data
    except OSError:  # Linux reports the end of a terminal as an error
        pass
    return seen


def test_at_a_terminal_one_key_chooses_the_agent(desk: Desk) -> None:
    seen, code = pressed(desk, b"2")
    assert code == 0
    [question, first, second, prompt] = seen.splitlines()[:4]
    assert question in ("docs-writer or python-engineer?", "python-engineer or docs-writer?")
    assert first.startswith("  1  ")
    assert "Matched: " in first
    assert "Matched: " in second
    assert prompt == "Press 1 to 2; any other key cancels."
    assert f"I am {second.split()[1]}" in seen


@pytest.mark.parametrize("key", [b"\n", b"3", b"\x04"])
def test_any_other_key_cancels_and_nothing_is_done(desk: Desk, key: bytes) -> None:
    seen, code = pressed(desk, key)
    assert code == 1
    assert seen.endswith("No agent was chosen, so nothing was done.\n")


def test_without_a_terminal_the_agents_are_named_and_how_to_choose_one(desk: Desk) -> None:
    ran = desk.muster("ask", EITHER)
    assert ran.returncode == 3
    assert "docs-writer (Matched: " in ran.stderr
    assert "python-engineer (Matched: " in ran.stderr
    assert "`--to AGENT`" in ran.stderr
    assert "I am docs-writer" in desk.good("ask", "--to", "docs-writer", EITHER)


def test_where_no_agent_matches_the_closest_are_named_and_not_the_first_of_the_alphabet(
    desk: Desk,
) -> None:
    ran = desk.muster("ask", "--json", "which giraffe likes to query zebras with an elephant")
    view = json.loads(ran.stdout)
    assert (ran.returncode, view["route"]["rule"]) == (1, "no-match")
    assert "The closest: sql-tuner (Matched: " in view["answer"]
    assert "docs-writer" not in view["answer"]


def test_a_selector_chooses_and_the_lines_say_so(desk: Desk) -> None:
    settings = desk.home / "muster.toml"
    answers = "import os; me = os.environ['MUSTER_AGENT']; "
    answers += "print('docs-writer' if me == 'chooser' else 'I am ' + me)"
    desk.run_by(answers)
    settings.write_text(settings.read_text() + 'selector = "chooser"\n')
    head, asked, chose, given, done, answer = desk.good("ask", EITHER).splitlines()
    assert head == "[State: MAIN] [Conv: 001]"
    assert asked == "[MAIN → CHOOSER]  # the router is unsure, and it chooses"
    assert chose == "[CHOOSER → MAIN]  # Task completed"
    assert given.startswith("[MAIN → DOCS_WRITER]  # chooser chose it (docs-writer); the router: ")
    assert (done, answer) == ("[DOCS_WRITER → MAIN]  # Task completed", "I am docs-writer")
