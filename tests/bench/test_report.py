"""The document of the figures: each command replaces only its own section."""

from pathlib import Path

import pytest

from bench import report
from bench.lines import Bound, Goal, Line

LINE = Line(what="ours", against="theirs", goal=Goal(Bound.AT_LEAST, 2), figures=[3.0])


def test_a_run_replaces_its_own_section_and_leaves_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = tmp_path / "performance.md"
    monkeypatch.setattr(report, "DOCUMENT", document)
    report.publish("One", report.section("One", "the first", [LINE], "here"))
    report.publish("Two", report.section("Two", "the second", [LINE], "here"))
    report.publish("One", report.section("One", "the first again", [LINE], "here"))
    text = document.read_text(encoding="utf-8")
    assert "the first again" in text
    assert "the first\n" not in text
    assert "the second" in text
    assert text.count("| ours | theirs | **3x** | at least 2x | pass |") == 2


def test_the_environment_of_a_run_names_no_machine_and_no_path(tmp_path: Path) -> None:
    about = report.circumstances(tmp_path)
    assert "SQLite" in about
    assert "/" not in about
