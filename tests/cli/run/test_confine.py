"""`muster confine`: the installed program confines a command by a policy file."""

import json
from pathlib import Path

from tests.homes import muster


def test_a_command_runs_confined_with_its_exit_code(tmp_path: Path) -> None:
    out, policy = tmp_path / "out", tmp_path / "policy.json"
    out.mkdir()
    policy.write_text(json.dumps({"write": [str(out)]}))
    line = f"echo in > {out}/a; echo x > {tmp_path}/evil.py; ls -l /proc/self/fd; exit 7"
    ran = muster("confine", "--policy", str(policy), "--", "bash", "-c", line)
    assert ran.returncode == 7
    assert "evil.py: Permission denied" in ran.stderr
    assert (out / "a").read_text() == "in\n"
    assert not (tmp_path / "evil.py").exists()
    assert "memfd:plan" not in ran.stdout


def test_a_policy_that_is_wrong_runs_nothing(tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    for text, why in (('{"write": ["out"]}', "absolute paths"), ("{", "not JSON")):
        policy.write_text(text)
        ran = muster("confine", "--policy", str(policy), "--", "touch", str(tmp_path / "x"))
        assert ran.returncode != 0
        assert why in ran.stderr
    policy.write_text('{"write": ["/nowhere/at/all"]}')
    ran = muster("confine", "--policy", str(policy), "--", "touch", str(tmp_path / "x"))
    assert ran.returncode == 4
    assert "cannot be confined" in ran.stderr
    assert not (tmp_path / "x").exists()
    assert muster("confine", "--policy", str(tmp_path / "gone"), "--", "ls").returncode != 0
