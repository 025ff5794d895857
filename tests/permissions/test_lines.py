"""A table of command lines with the verdict that each must get in MAIN, in both directions.

A newline in a line is written as ␤. The hostile lines were all found to do harm in a real bash, or
are variations of such; `tests/confine/test_canary.py` runs them under confinement.
"""

from pathlib import Path
from typing import Final

from muster.permissions.judge import judge

TABLE: Final = Path(__file__).with_name("lines.tsv")


def lines() -> list[tuple[str, str]]:
    """Every line with its verdict."""
    rows = (row.split("\t", 1) for row in TABLE.read_text().splitlines())
    return [(command.replace("␤", "\n"), verdict) for verdict, command in rows]


def test_the_table_has_lines_of_both_kinds_and_each_once() -> None:
    commands = [command for command, _ in lines()]
    assert len(commands) == len(set(commands))
    assert {verdict for _, verdict in lines()} == {"allow", "deny"}
    assert len(commands) >= 450


def test_a_line_gets_its_verdict(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "notes.txt").write_text("alpha\n")
    given = {
        command: judge("MAIN", "Bash", {"command": command}, cwd=str(tmp_path))
        for command, _ in lines()
    }
    wrong = [
        (command, given[command].reason)
        for command, verdict in lines()
        if given[command].decision != verdict
    ]
    assert wrong == []
