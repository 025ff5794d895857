import sys

import pytest

from muster.cli.progress import ProgressLine


def test_progress_is_one_line_on_a_terminal_and_is_removed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    with ProgressLine() as line:
        line.show("packing", 0.5)
        line.show("packing", 0.51)  # too soon to be shown

    shown = capsys.readouterr().err
    assert "packing  50%" in shown
    assert "51" not in shown
    assert shown.endswith("\r\x1b[K")


def test_progress_is_not_shown_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine() as line:
        line.show("packing", 0.5)

    assert capsys.readouterr().err == ""
