"""`plugin/client.py` as a real process: with a muster, without one, and with trouble."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from muster.claude_plugin.hooks import answers, calls
from muster.claude_plugin.hooks.calls import HookAnswer
from muster.claude_plugin.hooks.places import SESSIONS_FILE
from muster.claude_plugin.hooks.port import LOCALHOST, PORT_FILE, Handshake, proof, published
from muster.claude_plugin.plugin import client
from muster.confine.launching import python_launcher
from muster.confine.policy import ConfinePolicy
from muster.delegation import team_session
from tests.claude_plugin.clients import (
    HOOK,
    OBSERVERS,
    Desk,
    call_of,
    denial,
    hook,
    run,
    served,
    short,
)
from tests.confine.launchers import written
from tests.homes import muster

EVENTS = ("PreToolUse", *OBSERVERS)


def test_the_client_and_the_server_use_the_same_names() -> None:
    """The client imports nothing, so it has a copy of each."""
    assert client.POLICY == calls.POLICY_EVENT
    assert client.RECORDED_TOOLS == calls.STARTER_TOOLS
    assert client.DENY == calls.DENIED
    assert os.fsencode(SESSIONS_FILE) == client.SESSIONS_FILE
    assert f"/{team_session.FILE}".encode() == client.TEAM_SESSION_FILE
    failed = answers.failed(calls.POLICY_EVENT, "it is broken")
    assert failed.text == client.denial("it is broken")
    assert client.CONFINED == answers.CONFINED


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    folder.mkdir()
    return folder


@contextmanager
def strange_muster(home: Path, reply: bytes) -> Generator[None]:
    """A server in a home that sends this to every client, and closes the connection."""
    home.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener:
        bind(listener, home)
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(reply)

        thread = Thread(target=serve)
        thread.start()
        yield
        thread.join()


def bind(listener: socket.socket, home: Path) -> None:
    """Make a socket that of a home."""
    with short(home / "hooks.sock") as path:
        listener.bind(path)


# ── with a muster ─────────────────────────────────────────────────────────────────────────────────


def test_an_answer_is_printed_and_a_denial_is_a_decision_and_no_hook_error(project: Path) -> None:
    with served(project / ".muster", Desk(HookAnswer(0, '{"a": "ü"}'))):
        ran = hook("UserPromptSubmit", {"prompt": "hi"}, project=project)
    assert (ran.returncode, ran.stdout.decode(), ran.stderr) == (0, '{"a": "ü"}', b"")
    with served(project / ".muster", Desk(HookAnswer(2, "No: ü."))):
        ran = hook("PreToolUse", {}, project=project)
    assert denial(ran) == "No: ü."


def test_muster_is_told_the_event_the_project_the_token_the_pid_and_the_input(
    project: Path,
) -> None:
    data = json.dumps({"prompt": "x" * 3_000_000}).encode()
    environ = {"MUSTER_TOKEN": 'a"b\\c', "CLAUDE_PID": "4711"}
    with served(project / ".muster", Desk()) as desk:
        assert hook("Stop", data, project=project, **environ).returncode == 0
    (call,) = desk.calls
    assert (call.event, call.project, call.token, call.pid) == ("Stop", project, 'a"b\\c', 4711)
    assert call.data == data


@pytest.mark.parametrize(
    "name", [b'q"uote', b"back\\slash", b"new\nline", "ü→😀".encode(), b"not utf-8 \xff"]
)
def test_a_project_may_have_any_name(name: bytes, tmp_path: Path) -> None:
    project = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    project.mkdir()
    with served(project / ".muster", Desk()) as desk:
        assert hook("Stop", {}, project=project).returncode == 0
    assert [call.project for call in desk.calls] == [project]


def test_a_home_may_have_a_path_that_is_too_long_for_a_socket(tmp_path: Path) -> None:
    project = tmp_path.joinpath(*(["a-very-long-name-of-a-folder"] * 8))
    project.mkdir(parents=True)
    with served(project / ".muster", Desk(HookAnswer(0, "heard"))):
        assert hook("Stop", {}, project=project).stdout == b"heard"


def confined(folder: Path, event: str) -> list[str]:
    """The arguments of a Python that runs the client confined, as below a confined Claude Code."""
    plan = written(folder, ConfinePolicy(network=True))
    _, *launcher = python_launcher()
    return [*launcher[2:], str(plan), "--", sys.executable, "-I", "-S", str(HOOK), event]


def test_a_confined_hook_reaches_muster_by_its_port(project: Path, tmp_path: Path) -> None:
    line = confined(tmp_path, "PreToolUse")
    with served(project / ".muster", Desk(HookAnswer(0, "heard"))) as desk:
        ran = run(line, {}, project, {"MUSTER_TOKEN": "abc"})
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"heard", b"")
    assert [call.token for call in desk.calls] == ["abc"]
    assert not (project / ".muster" / PORT_FILE).exists()
    ran = run(line, {}, project, {"MUSTER_TOKEN": "abc"})
    assert "does not run any more" in denial(ran)


def test_an_isolated_hook_that_sees_no_socket_reaches_muster_by_its_port(project: Path) -> None:
    with served(project / ".muster", Desk(HookAnswer(0, "heard"))) as desk:
        (project / ".muster" / "hooks.sock").unlink()
        ran = hook("PreToolUse", {}, project=project, MUSTER_TOKEN="abc")
    assert (ran.returncode, ran.stdout) == (0, b"heard")
    assert [call.token for call in desk.calls] == ["abc"]


def test_the_port_answers_nobody_without_its_secret_and_a_token(project: Path) -> None:
    """Without a token it would count as a hook of a person's own session."""
    nonce = b"0" * 32
    plain = b'{"event": "PreToolUse", "project": "/", "length": 0}\n'
    with_token = plain.replace(b"}", b', "token": "abc"}')
    with served(project / ".muster", Desk(HookAnswer(0, "heard"))) as desk:
        file = project / ".muster" / PORT_FILE
        assert file.stat().st_mode & 0o777 == 0o600
        port, secret = file.read_text().split()
        for known, header, answer in (
            ("another", with_token, b"2muster cannot"),
            (secret, plain, b"2muster cannot"),
            (secret, with_token, b"0heard"),
        ):
            with socket.create_connection((LOCALHOST, int(port))) as connection:
                connection.sendall(nonce + b"\n")
                with connection.makefile("rwb") as stream:
                    offer = stream.readline()
                    theirs = offer.split()[0]
                    assert (offer == Handshake(known, nonce, theirs).offer) == (known == secret)
                    stream.write(proof(known, b"hook", nonce, theirs) + b"\n" + header)
                    stream.flush()
                    assert stream.read().startswith(answer)
            assert secret.encode() not in offer
    assert len(desk.calls) == 1


def test_the_port_refuses_a_hook_that_does_not_begin_with_a_nonce(project: Path) -> None:
    with served(project / ".muster", Desk()) as desk:
        port, _ = (project / ".muster" / PORT_FILE).read_text().split()
        with socket.create_connection((LOCALHOST, int(port))) as connection:
            connection.sendall(b'{"event": "PreToolUse"}\n')
            said = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert b"of another version of muster" in said
    assert not desk.calls


@contextmanager
def impostor(home: Path, *, locked: bool, secret: str = "") -> Generator[list[bytes]]:
    """A program that listens on the port of a killed server and allows all; yields what it heard.

    With `locked` the file looks as if the server still ran. With the secret it offers a proof.
    """
    home.mkdir(parents=True, exist_ok=True)
    heard: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        with suppress(OSError):  # the listener is shut down
            while True:
                connection, _ = listener.accept()
                with connection:
                    heard.append(connection.recv(1 << 16))
                    guessed = Handshake(secret or "a guess", heard[-1].strip()).offer
                    connection.sendall(guessed if heard[-1] else b"0")
                    heard.append(connection.recv(1 << 16))
                    connection.sendall(b"0")

    with socket.create_server((LOCALHOST, 0)) as listener:
        port = listener.getsockname()[1]
        thread = Thread(target=serve, args=(listener,))
        thread.start()
        try:
            if locked:
                with published(home, port, "the-secret"):
                    yield heard
            else:
                (home / PORT_FILE).write_text(f"{port} the-secret\n")
                yield heard
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(
    ("locked", "secret"),
    [(True, ""), (False, "the-secret")],
    ids=["another account", "a confined program that can read the secret"],
)
def test_a_confined_hook_does_not_believe_another_program_on_the_port(
    locked: bool, secret: str, project: Path, tmp_path: Path
) -> None:
    root = opened(project)
    line = confined(tmp_path, "PreToolUse")
    call = call_of("Write", {"file_path": "x.py", "content": "PLAN"}, project)
    with impostor(root / ".muster", locked=locked, secret=secret) as heard:
        ran = run(line, call, project, {"MUSTER_PYTHON": sys.executable})
        assert ran.returncode == 0
        assert b'"deny"' in ran.stdout, ran
    told = b"".join(heard)
    assert b"PLAN" not in told
    assert b"secret" not in told
    with impostor(project / ".muster", locked=locked, secret=secret) as heard:
        ran = run(line, call, project, {"MUSTER_TOKEN": "my-token"})
    assert "does not run any more" in denial(ran)
    assert b"my-token" not in b"".join(heard)


def test_a_home_that_is_named_wins_and_without_a_project_the_folder_counts(project: Path) -> None:
    elsewhere = project / "elsewhere"
    with served(elsewhere, Desk(HookAnswer(0, "there"))):
        ran = hook("Stop", {}, project=project, MUSTER_HOME=str(elsewhere))
        assert ran.stdout == b"there"
    with served(project / ".muster", Desk(HookAnswer(0, "here"))):
        ran = hook("Stop", {}, project=project, CLAUDE_PROJECT_DIR="")
        assert ran.stdout == b"here"


def test_with_a_muster_the_client_imports_next_to_nothing(project: Path) -> None:
    def imported(program: Path) -> set[bytes]:
        ran = run(["-X", "importtime", str(program), "Stop"], {}, project, {})
        return {line.rpartition(b"|")[2].strip() for line in ran.stderr.splitlines()}

    bare = project / "bare.py"
    bare.write_text("")
    with served(project / ".muster", Desk()):
        assert imported(HOOK) - imported(bare) == {b"_socket", b"client"}


# ── trouble with a muster ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reply", [b"", b"what?", b"1 is no code", b"\x00"])
def test_an_invalid_answer_denies_a_tool_call_and_no_other_hook_fails(
    reply: bytes, project: Path
) -> None:
    with strange_muster(project / ".muster", reply):
        denied = hook("PreToolUse", {}, project=project)
    assert "so it is denied: muster went away before it answered" in denial(denied)
    (project / ".muster" / "hooks.sock").unlink()
    (project / ".muster").rmdir()
    with strange_muster(project / ".muster", reply):
        ran = hook("Stop", {}, project=project)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


@pytest.mark.parametrize("event", ["PreToolUse", "Stop"])
def test_a_server_that_hangs_causes_a_timeout(event: str, project: Path, tmp_path: Path) -> None:
    impatient = tmp_path / "hook.py"
    impatient.write_bytes(HOOK.read_bytes())
    text = HOOK.with_name("client.py").read_text(encoding="utf-8")
    assert text.count("ANSWER_SECONDS = 20") == 1
    assert text.count("RECORD_SECONDS = 5") == 1  # what only observes is in nobody's way for long
    changed = text.replace("ANSWER_SECONDS = 20", "ANSWER_SECONDS = 1")
    changed = changed.replace("RECORD_SECONDS = 5", "RECORD_SECONDS = 1")
    impatient.with_name("client.py").write_text(changed, encoding="utf-8")
    (project / ".muster").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:  # takes connections, and never answers
        bind(listener, project / ".muster")
        listener.listen()
        ran = run([str(impatient), event], {}, project, {})
    if event == "Stop":
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    else:
        assert "muster has not answered for 1 seconds" in denial(ran)


def test_a_denial_that_cannot_be_printed_is_the_exit_code_that_denies(project: Path) -> None:
    opened(project)
    line = [sys.executable, "-I", "-S", str(HOOK), "PreToolUse"]
    environ = {"CLAUDE_PROJECT_DIR": str(project), "MUSTER_PYTHON": "/nowhere"}
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(line, input=b"{", env=environ, stdout=full, check=False)
    assert ran.returncode == 2


@pytest.mark.parametrize("event", EVENTS)
def test_a_stale_socket_counts_as_no_server(event: str, project: Path) -> None:
    (project / ".muster").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        bind(listener, project / ".muster")
    ran = hook(event, {}, project=project, MUSTER_PYTHON="/nowhere")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


# ── without a muster ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def recorder(tmp_path: Path) -> Path:
    """A fake Python of muster: records its arguments, and answers."""
    program = tmp_path / "recorder"
    program.write_text(
        f"#!/bin/sh\nfor each; do echo \"$each\"; done > '{tmp_path}/called'\n"
        f"cat > '{tmp_path}/stdin'\necho the slow way >&2\nexit 2\n"
    )
    program.chmod(0o755)
    return program


def opened(project: Path, policy: str | None = None) -> Path:
    """An open session of a project, as far as the client looks at it."""
    root = project / "a session"
    (root / ".muster").mkdir(parents=True)
    (root / ".muster" / "team.db").touch()
    (root / "state.jsonl").touch()
    known = project / ".claude" / "agent-state-machine"
    known.mkdir(parents=True)
    (known / "sessions").write_text(f"{project}/an older one\n{root}\n")
    if policy is not None:
        (root / "permissions.json").write_text(policy)
    return root


@pytest.mark.parametrize("event", EVENTS)
def test_without_a_muster_a_session_and_a_team_every_hook_passes_at_once(
    event: str, project: Path
) -> None:
    ran = hook(event, b"not even JSON", project=project, MUSTER_PYTHON="/nowhere")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_a_session_whose_log_is_gone_denies_and_says_how_to_close_it(project: Path) -> None:
    root = opened(project)
    (root / ".muster" / "team.db").unlink()
    call = call_of("Write", {"file_path": "x.py", "content": ""}, project)
    ran = hook("PreToolUse", call, project=project, MUSTER_PYTHON="/nowhere")
    assert "`--session end` closes it" in denial(ran)
    ran = hook("Stop", {}, project=project, MUSTER_PYTHON="/nowhere")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("tool", "given"),
    [("Bash", {"command": "cd src"}), ("Read", {"file_path": "x.py"})],
)
def test_in_a_session_main_may_what_its_policy_allows_without_the_slow_way(
    tool: str, given: dict[str, str], project: Path
) -> None:
    opened(project)
    call = call_of(tool, given, project)
    ran = hook("PreToolUse", call, project=project, MUSTER_PYTHON="/nowhere")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Write", {"file_path": "foo.py", "content": "x"}),
        ("Bash", {"command": "cat > foo.py"}),
        ("Agent", {"prompt": "do it", "subagent_type": "engineer"}),
        ("Task", {"prompt": "do it", "subagent_type": "engineer"}),
    ],
)
def test_a_denial_and_a_task_go_the_slow_way_with_the_very_same_input(
    tool: str, given: dict[str, str], project: Path, recorder: Path
) -> None:
    opened(project)
    call = call_of(tool, given, project)
    ran = hook("PreToolUse", call, project=project, MUSTER_PYTHON=str(recorder))
    assert (ran.returncode, ran.stderr) == (2, b"the slow way\n")
    called = (recorder.parent / "called").read_text().splitlines()
    home = f"{project}/.muster"
    assert called == ["-P", "-m", "muster", "--home", home, "claude-hook", "PreToolUse"]
    assert json.loads((recorder.parent / "stdin").read_bytes()) == call


def test_a_judged_line_of_main_is_allowed_with_a_line_that_confines_it(project: Path) -> None:
    root = opened(project)
    given = {"command": "git status | head", "description": "look"}
    call = call_of("Bash", given, project)
    ran = hook("PreToolUse", call, project=project, MUSTER_PYTHON="/nowhere")
    told = json.loads(ran.stdout)["hookSpecificOutput"]
    assert (ran.returncode, told["permissionDecision"]) == (0, "allow")
    assert told["updatedInput"]["description"] == "look"
    line = told["updatedInput"]["command"]
    assert f"'{root}/.muster/confine/main.plan'" in line
    assert line.endswith(":$PATH; git status | head'")


def test_a_subagent_may_what_main_may_not(project: Path) -> None:
    opened(project)
    given = {"file_path": "foo.py", "content": "x"}
    call = call_of("Write", given, project, agent_id="a1", agent_type="engineer")
    ran = hook("PreToolUse", call, project=project, MUSTER_PYTHON="/nowhere")
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_the_policy_file_of_the_session_counts_and_a_broken_one_denies_with_the_reason(
    project: Path,
) -> None:
    root = opened(project, '{"MAIN_PERMISSIONS": {"can_use": ["Write"], "cannot_write": []}}')
    call = call_of("Write", {"file_path": "notes.txt", "content": "x"}, project)
    assert hook("PreToolUse", call, project=project, MUSTER_PYTHON="/nowhere").returncode == 0
    (root / "permissions.json").write_text("{")
    ran = hook("PreToolUse", call, project=project, MUSTER_PYTHON="/nowhere")
    assert "line 1: " in denial(ran)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"tool_name": 1}', b"\xff"])
def test_in_a_session_an_input_that_is_not_understood_is_denied(data: bytes, project: Path) -> None:
    opened(project)
    ran = hook("PreToolUse", data, project=project, MUSTER_PYTHON="/nowhere")
    assert denial(ran)


@pytest.mark.parametrize("event", OBSERVERS)
def test_in_a_session_what_is_observed_goes_the_slow_way(
    event: str, project: Path, recorder: Path
) -> None:
    opened(project)
    hook(event, {"a": 1}, project=project, MUSTER_PYTHON=str(recorder))
    assert (recorder.parent / "called").read_text().splitlines()[-1] == event
    assert (recorder.parent / "stdin").read_bytes() == b'{"a": 1}'


def test_in_a_team_without_a_session_only_the_start_goes_the_slow_way(
    project: Path, recorder: Path
) -> None:
    """Nothing else is recorded without a server: a prompt would cost most of a second."""
    (project / ".muster").mkdir()
    (project / ".muster" / "team.db").touch()
    for event in EVENTS:
        hook(event, {}, project=project, MUSTER_PYTHON=str(recorder))
        called = recorder.parent / "called"
        assert called.exists() == (event == "SessionStart")
        called.unlink(missing_ok=True)


def opened_in_team(project: Path) -> Path:
    """The home of a team with an open session, as far as the client looks at it."""
    home = project / ".muster"
    home.mkdir(exist_ok=True)
    (home / "team.db").touch()
    (project / "a session").mkdir()
    (home / team_session.FILE).write_text(f"{project}/a session")
    return home


def test_the_session_of_a_team_without_a_server_is_judged_and_recorded(
    project: Path, recorder: Path
) -> None:
    home = opened_in_team(project)
    read, write = ({"file_path": "x.py"}, {"file_path": "x.py", "content": ""})
    ran = hook("PreToolUse", call_of("Read", read, project), project=project)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    call = call_of("Write", write, project)
    ran = hook("PreToolUse", call, project=project, MUSTER_PYTHON=str(recorder))
    assert (ran.returncode, ran.stderr) == (2, b"the slow way\n")
    for event in OBSERVERS:
        hook(event, {}, project=project, MUSTER_PYTHON=str(recorder))
        assert (recorder.parent / "called").read_text().splitlines()[-1] == event
    (project / "a session").rename(project / "elsewhere")
    ran = hook("PreToolUse", call, project=project, MUSTER_PYTHON="/nowhere")
    assert "If the project was moved, `muster agent-state-machine` goes on" in denial(ran)
    (project / "elsewhere").rename(project / "a session")
    (home / "team.db").unlink()
    ran = hook("PreToolUse", call, project=project, MUSTER_PYTHON="/nowhere")
    assert "`--session end` closes it" in denial(ran)


def test_a_server_that_is_killed_before_it_answers_is_followed_by_the_slow_way(
    project: Path, recorder: Path
) -> None:
    with strange_muster(project / ".muster", b""):
        opened_in_team(project)
        hook("UserPromptSubmit", {"a": 1}, project=project, MUSTER_PYTHON=str(recorder))
    assert (recorder.parent / "stdin").read_bytes() == b'{"a": 1}'


def test_a_daemon_that_ends_before_it_answers_is_followed_by_the_slow_way(
    project: Path, recorder: Path
) -> None:
    root = opened(project)
    (root / ".muster" / "team.db").unlink()
    (root / ".muster").rmdir()
    with strange_muster(root / ".muster", b""):
        (root / ".muster" / "team.db").touch()
        hook("UserPromptSubmit", {"a": 1}, project=project, MUSTER_PYTHON=str(recorder))
    assert (recorder.parent / "stdin").read_bytes() == b'{"a": 1}'


def test_a_slow_way_that_cannot_be_gone_denies_a_tool_and_is_in_nobody_elses_way(
    project: Path,
) -> None:
    opened(project)
    call = call_of("Bash", {"command": "make"}, project)
    ran = hook("PreToolUse", call, project=project, MUSTER_PYTHON="/nowhere")
    assert "so it is denied" in denial(ran)
    ran = hook("Stop", {}, project=project, MUSTER_PYTHON="/nowhere")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_a_session_of_a_muster_that_is_gone_may_nothing(project: Path) -> None:
    environ = {"MUSTER_TOKEN": "t", "MUSTER_PYTHON": "/nowhere"}
    ran = hook("PreToolUse", call_of("Read", {}, project), project=project, **environ)
    assert "does not run any more" in denial(ran)
    for event in OBSERVERS:
        ran = hook(event, {}, project=project, **environ)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_a_module_of_the_project_is_never_imported_as_muster(project: Path) -> None:
    opened(project)
    for name in ("muster", "json", "posix", "_socket"):
        (project / name).mkdir()
        (project / name / "__init__.py").write_text("raise SystemExit(0)")
    call = call_of("Write", {"file_path": "foo.py", "content": "x"}, project)
    ran = hook("PreToolUse", call, project=project, PYTHONPATH=str(project))
    assert denial(ran)


def test_a_muster_that_runs_in_the_sessions_own_folder_is_asked(project: Path) -> None:
    root = opened(project)
    with served(root / ".muster", Desk(HookAnswer(2, "the session's own"))):
        ran = hook("PreToolUse", call_of("Read", {}, project), project=project)
    assert denial(ran) == "the session's own"


# ── the slow way ──────────────────────────────────────────────────────────────────────────────────


def test_the_slow_way_denies_by_the_same_policy_and_puts_it_on_record(project: Path) -> None:
    begun = muster("agent-state-machine", "--path", "session", cwd=project)
    assert begun.returncode == 0, begun.stderr
    who = {"MUSTER_PYTHON": sys.executable}
    prompt = {"session_id": "s", "cwd": str(project), "prompt": "write foo"}
    opened = hook("UserPromptSubmit", prompt, project=project, **who)
    assert "[State: MAIN] [Conv: 001]" in opened.stdout.decode()
    call = call_of("Write", {"file_path": "foo.py", "content": "x"}, project)
    ran = hook("PreToolUse", call, project=project, **who)
    told = json.loads(ran.stdout)["hookSpecificOutput"]
    assert (ran.returncode, told["permissionDecision"]) == (0, "deny")
    dialogue = (project / "session/conversations/conv_001/dialogue.md").read_text()
    assert "foo.py" in dialogue
    assert (
        hook("Stop", {"session_id": "s", "cwd": str(project)}, project=project, **who).stdout == b""
    )
    assert "conv_001" in (project / "session/conversations/messages.jsonl").read_text()


def test_the_slow_way_with_trouble_denies_a_tool_and_is_in_nobody_elses_way(project: Path) -> None:
    opened(project)
    (project / ".muster").mkdir()
    (project / ".muster" / "muster.toml").write_text("this is not TOML")
    call = call_of("Write", {"file_path": "foo.py", "content": "x"}, project)
    ran = hook("PreToolUse", call, project=project, MUSTER_PYTHON=sys.executable)
    assert "so it is denied" in denial(ran)
    ran = hook("Stop", {}, project=project, MUSTER_PYTHON=sys.executable)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
