"""A short run of kills in the phases of a turn; by hand it has all makers and all phases."""

from pathlib import Path

from tests.stress.makers_killed import play


def test_a_message_is_answered_once_whatever_is_killed_in_whichever_phase(tmp_path: Path) -> None:
    phases = ("tool", "approval", "streamed")
    assert play(tmp_path, phases, ("program", "muster"), ("Codex", "Shell")) == []
