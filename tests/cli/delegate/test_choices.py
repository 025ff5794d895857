"""`muster choices`: what people chose is listed, weighs in, is explained, and is forgotten."""

import json
from pathlib import Path

import pytest

from tests.cli.delegate.test_delegation import Desk
from tests.delegation.stage import EITHER, PYTHON
from tests.live import live


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, "import os; print('I am ' + os.environ['MUSTER_AGENT'])")


def test_a_choice_is_listed_explained_kept_for_the_next_session_and_forgotten(desk: Desk) -> None:
    desk.good("agent-state-machine")
    assert "No choices are remembered" in desk.good("choices", "list")
    desk.good("ask", "--to", "docs-writer", PYTHON)
    head, row = desk.good("choices", "list").splitlines()
    assert head.split() == ["CHOICE", "AGENT", "ROUTER", "REQUEST"]
    assert row.split(maxsplit=3) == ["1", "docs-writer", "python-engineer", PYTHON]
    assert "I am docs-writer" in desk.good("ask", PYTHON)
    told = desk.good("route", PYTHON)
    assert told == f'[MAIN -> DOCS_WRITER]  Remembered: chosen for "{PYTHON}"\n'
    desk.good("agent-state-machine", "--session", "end")
    desk.good("agent-state-machine")
    assert json.loads(desk.good("choices", "list", "--json"))["choices"][0]["text"] == PYTHON
    desk.good("choices", "forget", "1")
    assert "I am python-engineer" in desk.good("ask", PYTHON)


def test_choices_are_added_and_forgotten_all_at_once(desk: Desk) -> None:
    desk.good("agent-state-machine")
    desk.good("choices", "add", "python-engineer", EITHER)
    desk.good("choices", "add", "MAIN", PYTHON)
    similar = desk.good("route", "Write another Python guide")
    assert f'chosen for "{EITHER}"' in similar
    wrong = desk.muster("choices", "add", "nobody", EITHER)
    assert (wrong.returncode, "nobody" in wrong.stderr) == (3, True)
    assert desk.muster("choices", "forget").returncode == 2
    assert "No choices are remembered" in desk.good("choices", "forget", "--all")


def test_a_server_lists_and_changes_the_choices_of_its_session(desk: Desk) -> None:
    with live(desk.home, HOME=str(desk.base / "nobody")):
        desk.good("agent-state-machine")
        desk.good("choices", "add", "docs-writer", EITHER)
        assert EITHER in desk.good("choices", "list")
        assert "I am docs-writer" in desk.good("ask", EITHER)
        assert "No choices" in desk.good("choices", "forget", "1")
        desk.good("choices", "add", "docs-writer", EITHER)
        assert "No choices" in desk.good("choices", "forget", "--all")
