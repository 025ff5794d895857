"""The daemon that a hook leaves behind where no server runs: real processes, and kill -9."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest

from muster.claude_plugin.hooks.calls import HookAnswer, HookCall
from muster.claude_plugin.hooks.daemon import home_to_serve
from muster.claude_plugin.hooks.server import FILE, is_answered
from tests.claude_plugin.clients import Desk, call_of, hook, served
from tests.homes import muster
from tests.live import a_scene, live
from tests.waits import LIFE_SECONDS, WAIT_SECONDS, until

PROMPTS = ("first", "second", "third")


class Program:
    """A program that runs hooks in a session of a project, as Claude Code does."""

    def __init__(self, project: Path, home: Path | None = None) -> None:
        """`home` has the log of the session, if that is not its own."""
        self.project = project
        self.own = home or project / "session" / ".muster"
        self.process = subprocess.Popen(["sleep", str(LIFE_SECONDS)])
        self.pid = str(self.process.pid)

    def hook(self, event: str, **given: str) -> subprocess.CompletedProcess[bytes]:
        """Run a hook that may start the command line."""
        return self._hook(event, given, sys.executable)

    def quick(self, event: str, **given: str) -> str:
        """Run a hook that only a process which runs already can answer."""
        ran = self._hook(event, given, "/nowhere")
        assert (ran.returncode, ran.stderr) == (0, b"")
        return ran.stdout.decode()

    def _hook(
        self, event: str, given: dict[str, str], python: str
    ) -> subprocess.CompletedProcess[bytes]:
        data = {"session_id": "s", "cwd": str(self.project), **given}
        environ = {"CLAUDE_PID": self.pid, "MUSTER_PYTHON": python}
        return hook(event, data, project=self.project, **environ)

    def served_pid(self) -> int:
        """The pid of the daemon, once it answers."""
        until(lambda: is_answered(self.own))
        return self.daemons()[-1]

    def daemons(self) -> list[int]:
        """The processes that a hook of this program left behind."""
        mark = f"CLAUDE_PID={self.pid}".encode()
        numbers = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
        return [pid for pid in numbers if _has(pid, mark)]

    def end(self) -> None:
        self.process.kill()
        self.process.wait(WAIT_SECONDS)


def _has(pid: int, mark: bytes) -> bool:
    try:
        return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


@pytest.fixture
def program(tmp_path: Path) -> Generator[Program]:
    begun = muster("agent-state-machine", "--path", "session", cwd=tmp_path)
    assert begun.returncode == 0, begun.stderr
    program = Program(tmp_path)
    try:
        yield program
    finally:
        program.end()
        until(lambda: not program.daemons())


def prompts(project: Path) -> list[str]:
    """The inputs on record, in order."""
    said = sorted((project / "session/conversations").glob("conv_*/dialogue.md"))
    words = [each.read_text().split() for each in said]
    return [next(word for word in PROMPTS if word in each) for each in words]


def test_the_first_hook_leaves_a_daemon_that_records_and_denies_until_the_program_ends(
    program: Program,
) -> None:
    assert "[Conv: 001]" in program.hook("UserPromptSubmit", prompt="first").stdout.decode()
    program.served_pid()
    assert "[Conv: 002]" in program.quick("UserPromptSubmit", prompt="second")
    call = call_of("Write", {"file_path": "foo.py", "content": "x"}, program.project)
    told = json.loads(program.quick("PreToolUse", **call))
    assert told["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert prompts(program.project) == ["first", "second"]
    program.end()
    until(lambda: not program.daemons())
    assert not (program.own / FILE).exists()


def test_a_daemon_that_is_killed_loses_nothing_and_the_next_hook_leaves_another(
    program: Program,
) -> None:
    program.hook("UserPromptSubmit", prompt="first")
    os.kill(program.served_pid(), signal.SIGKILL)
    assert "[Conv: 002]" in program.hook("UserPromptSubmit", prompt="second").stdout.decode()
    program.served_pid()
    assert "[Conv: 003]" in program.quick("UserPromptSubmit", prompt="third")
    assert prompts(program.project) == ["first", "second", "third"]


def test_a_daemon_gives_way_to_a_server_in_the_sessions_home(program: Program) -> None:
    program.hook("UserPromptSubmit", prompt="first")
    program.served_pid()
    with served(program.own, Desk(HookAnswer(0, "a server"))):
        assert program.quick("UserPromptSubmit", prompt="second") == "a server"
        until(lambda: not program.daemons())
        assert program.quick("Stop") == "a server"  # the daemon has not removed its socket


def test_a_log_that_a_daemon_knows_is_open_to_every_other_command(program: Program) -> None:
    program.hook("UserPromptSubmit", prompt="first")
    program.served_pid()
    ended = muster("agent-state-machine", "--session", "end", cwd=program.project)
    assert ended.returncode == 0, ended.stderr
    assert program.quick("UserPromptSubmit", prompt="second") == ""
    assert prompts(program.project) == ["first"]


def test_a_daemon_ends_in_order_on_sigterm(program: Program) -> None:
    program.hook("UserPromptSubmit", prompt="first")
    os.kill(program.served_pid(), signal.SIGTERM)
    until(lambda: not program.daemons())
    assert not (program.own / FILE).exists()


def test_no_daemon_is_left_for_a_program_of_muster_or_one_that_is_unknown(program: Program) -> None:
    asked = HookCall(event="Stop", project=program.project, pid=program.process.pid)
    home = program.project / ".muster"
    assert home_to_serve(asked, home) == program.own
    assert home_to_serve(msgspec.structs.replace(asked, pid=0), home) is None
    assert home_to_serve(msgspec.structs.replace(asked, token="t"), home) is None
    with served(program.own, Desk()):
        assert home_to_serve(asked, home) is None


@pytest.fixture
def bereft(tmp_path: Path) -> Generator[Program]:
    """A program in a project whose server was killed while a session was open in the team."""
    home = tmp_path / ".muster"
    with live(home, HOME=str(tmp_path / "nobody")) as server, a_scene(server) as scene:
        scene.post("/api/delegation", {"path": "session"})
        server.process.kill()
        server.process.wait(WAIT_SECONDS)
    program = Program(tmp_path, home)
    try:
        yield program
    finally:
        program.end()
        until(lambda: not program.daemons())


def test_the_session_of_a_team_is_in_force_and_recorded_after_its_server_was_killed(
    bereft: Program,
) -> None:
    call = call_of("Write", {"file_path": "foo.py", "content": "x"}, bereft.project)
    denied = json.loads(bereft.hook("PreToolUse", **call).stdout)
    assert denied["hookSpecificOutput"]["permissionDecision"] == "deny"
    os.kill(bereft.served_pid(), signal.SIGKILL)
    assert "[Conv: 001]" in bereft.hook("UserPromptSubmit", prompt="first").stdout.decode()
    bereft.served_pid()
    assert "[Conv: 002]" in bereft.quick("UserPromptSubmit", prompt="second")
    told = json.loads(bereft.quick("PreToolUse", **call))
    assert told["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert prompts(bereft.project) == ["first", "second"]
    resumed = muster("agent-state-machine", cwd=bereft.project)
    assert "Agent State Machine Resumed" in resumed.stdout, resumed.stderr
    assert "No muster runs" in muster("ask", "third", cwd=bereft.project).stderr
    ended = muster("agent-state-machine", "--session", "end", cwd=bereft.project)
    assert ended.stdout.startswith("Session ended: "), ended.stderr
    assert bereft.quick("UserPromptSubmit", prompt="third") == ""
    assert bereft.quick("PreToolUse", **call) == ""
    again = muster("agent-state-machine", "--session", "end", cwd=bereft.project)
    assert "No state machine session is open here" in again.stderr


def test_the_next_server_continues_the_session_of_its_team_and_replaces_the_daemon(
    bereft: Program,
) -> None:
    bereft.hook("UserPromptSubmit", prompt="first")
    bereft.served_pid()
    with live(bereft.own, HOME=str(bereft.project / "nobody")) as server, a_scene(server) as scene:
        until(lambda: not bereft.daemons())
        assert scene.get("/api/delegation")["open"]
        [shown] = scene.get("/api/conversations")["conversations"]
        assert shown["text"] == "first"
        assert "[Conv: 002]" in bereft.quick("UserPromptSubmit", prompt="second")
