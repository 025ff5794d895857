"""The sandbox: it contains its processes and files, and leaves none behind."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from muster.testing import claude_sandbox
from muster.testing.claude_sandbox import (
    MARK,
    NoClaude,
    PathTooLong,
    ProcessesLeft,
    boxed,
    claude_binary,
    sandbox,
    scrubbed,
    short_root,
)
from tests.waits import WAIT_SECONDS

URL = "http://127.0.0.1:9"
SLEEPER = "import time; print('up', flush=True); input()"


def sleeper(env: dict[str, str]) -> subprocess.Popen[str]:
    """A process that waits for a line that never comes."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEPER],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def test_keys_and_variables_of_another_session_are_removed_from_the_environment() -> None:
    keys = ("ANTHROPIC_API_KEY", "AWS_PROFILE", "CLAUDECODE", "CLAUDE_CODE_X", "GOOGLE_X", "VERTEX")
    mixed: dict[str, str] = dict.fromkeys((*keys, "MUSTER_HOME", MARK, "PATH", "LANG"), "x")
    assert scrubbed(mixed) == {"PATH": "x", "LANG": "x"}


def test_every_folder_of_claude_code_is_created_below_the_root() -> None:
    with boxed(URL) as box:
        for name in ("HOME", "XDG_RUNTIME_DIR", "TMPDIR", "CLAUDE_CODE_TMPDIR"):
            assert Path(box.env[name]).is_dir()
        paths = [value for value in box.env.values() if value.startswith("/")]
        assert all(Path(path).is_relative_to(box.root) for path in paths)
        assert box.environ()["ANTHROPIC_BASE_URL"] == URL
        assert box.work.is_dir()
    assert not box.root.exists()


def test_a_root_too_long_for_a_socket_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PathTooLong, match="at most 60 bytes"):
        sandbox(tmp_path / ("deep" * 20), URL)


def test_a_short_root_is_found_although_the_temporary_folder_has_a_long_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("deep" * 20)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    root = short_root()
    root.rmdir()
    assert not root.is_relative_to(deep)
    assert not list(deep.iterdir())


def test_a_process_that_survives_is_killed_and_named() -> None:
    started: list[subprocess.Popen[str]] = []
    with pytest.raises(ProcessesLeft, match="input"), boxed(URL, gone_s=0) as box:
        started.append(sleeper(box.env))
    with started[0] as process:
        assert process.wait(WAIT_SECONDS) == -9


def test_a_process_may_end_within_the_grace_period() -> None:
    with boxed(URL) as box:
        process = sleeper(box.env)
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.close()
    with process:
        assert process.wait(WAIT_SECONDS) == 0


def test_a_process_of_another_sandbox_is_left_alone() -> None:
    with boxed(URL) as other, sleeper(other.env) as process:
        with boxed(URL, gone_s=0):
            pass
        assert process.poll() is None


def test_without_the_package_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert claude_binary().name == "claude"
    monkeypatch.setattr(claude_sandbox, "find_spec", lambda _: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(NoClaude, match="pip install"):
        claude_binary()
