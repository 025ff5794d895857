"""The session's own files: writes that are answered without the user, and those that are not."""

from pathlib import Path

import pytest

from muster.confine.session import confinement
from muster.delegation.own_files import is_own


@pytest.fixture
def root(tmp_path: Path) -> Path:
    outputs = tmp_path / "session/conversations/conv_001/outputs"
    outputs.mkdir(parents=True)
    (outputs / "away").symlink_to(tmp_path)
    return tmp_path / "session"


IN = "conversations/conv_001/outputs"


@pytest.mark.parametrize(
    ("path", "main", "agent"),
    [
        (f"{IN}/hello.py", True, True),
        (f"{IN}/a/b/c.md", True, True),
        ("conversations/conv_001/dialogue.md", False, True),
        ("conversations/messages.jsonl", False, False),
        ("conversations/conv_001/outputs", False, False),
        ("state.jsonl", False, False),
        (f"{IN}/../../../state.jsonl", False, False),
        (f"{IN}/away/x.py", False, False),
        ("/etc/passwd", False, False),
        ("a\0b", False, False),
    ],
)
def test_a_write_is_own_only_in_the_outputs_and_for_agents_in_their_dialogue(
    path: str, main: bool, agent: bool, root: Path
) -> None:
    given: dict[str, object] = {"file_path": path}
    assert is_own(root, "Write", given, root, by_agent=False) is main
    assert is_own(root, "Edit", given, root, by_agent=True) is agent
    notebook: dict[str, object] = {"notebook_path": path}
    assert is_own(root, "NotebookEdit", notebook, root, by_agent=True) is agent


@pytest.mark.parametrize(
    ("line", "own"),
    [
        (f"echo x > {IN}/a.py", True),
        (f"cat > {IN}/a.py <<'E'\nprint(1)\nE", True),
        (f"mkdir -p {IN}/sub && touch {IN}/sub/a", True),
        (f"python3 x.py > {IN}/a", False),
        ("echo x > a.py", False),
        (f"echo x > {IN}/a.py; echo y > b.py", False),
        (f"echo x > {IN}/$NAME", False),
        (f"rm {IN}/a", False),
        ("echo 'unclosed", False),
    ],
)
def test_a_line_of_an_agent_is_own_if_it_reads_and_writes_only_there(
    line: str, own: bool, root: Path
) -> None:
    assert is_own(root, "Bash", {"command": line}, root, by_agent=True) is own
    assert not is_own(root, "Bash", {"command": line}, root, by_agent=False)


def test_a_line_of_main_is_own_if_it_runs_confined(root: Path) -> None:
    confined = confinement(str(root))
    assert confined is not None
    line = confined.wrapped("ls", files=[], folders=[], network=False)
    assert is_own(root, "Bash", {"command": line}, root, by_agent=False)
    assert not is_own(root, "Bash", {"command": f"true; {line}"}, root, by_agent=False)
    assert not is_own(root, "Bash", {"command": 7}, root, by_agent=False)
    assert not is_own(root, "Read", {"file_path": "x"}, root, by_agent=True)
