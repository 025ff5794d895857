"""Delegation at the command line: real processes, real folders, and what a person sees."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from muster.cli.delegate.served import client_of
from muster.client import delegation
from muster.runtimes.process import processes
from tests.delegation.stage import AGENTS, DOCS, HELLO, PYTHON, agent_file, number_in
from tests.forkserver import ForkedProcess
from tests.homes import MUSTER_SCRIPT, environment, muster
from tests.live import live
from tests.waits import WAIT_SECONDS

Json = Any  # any JSON value

HEAD = ".claude/agent-state-machine"


class Desk:
    """A project with agents, and a person who works in it."""

    def __init__(self, base: Path, program: str = HELLO) -> None:
        self.base = base
        for name, description in AGENTS.items():
            agent_file(base / ".claude" / "agents", name, description)
        self.home = base / ".muster"
        self.home.mkdir()
        self.run_by(program)

    def run_by(self, program: str) -> None:
        """Have every agent run by this program."""
        command = json.dumps([sys.executable, "-c", program])
        text = f'[team]\nhuman = "Marcus"\n[delegation]\ncommand = {command}\n'
        (self.home / "muster.toml").write_text(text)

    def muster(self, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return muster(*args, cwd=self.base, stdin=stdin, HOME=str(self.base / "nobody"))

    def good(self, *args: str, stdin: str = "") -> str:
        ran = self.muster(*args, stdin=stdin)
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout

    def asked(self, *args: str) -> Json:
        return json.loads(self.good("ask", "--json", *args))

    @property
    def sessions(self) -> list[Path]:
        return sorted(each for each in (self.base / HEAD).iterdir() if each.is_dir())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# ── what a person sees ────────────────────────────────────────────────────────────────────────────


def test_the_start_of_a_session_prints_the_documented_lines(desk: Desk) -> None:
    shown = desk.good("agent-state-machine")
    [root] = desk.sessions
    assert shown.splitlines() == [
        "🚀 Agent State Machine Initialized",
        "",
        "[State: MAIN]",
        "",
        "Session Parameters:",
        "  Mode: orchestrator",
        f"  Path: {root}",
        "  Session: start",
        "",
        "Available Agents: 3 agents loaded",
        f"  ✓ State persistence: {root}/state.jsonl",
        f"  ✓ Agent descriptions: {root}/AGENT_DIRECTORY.md",
        f"  ✓ Conversations directory: {root}/conversations/",
        "",
        "Waiting for first user input to create conversation...",
        "",
        "MAIN State Permissions:",
        "  Can Write: *.md, *.txt, *.log, *.json, *.csv, non-executable files",
        "  Cannot Write: *.py, *.js, *.ts, *.sh, *.go, *.rs, *.c, *.cpp, *.java, package.json, "
        "requirements.txt, Dockerfile, Makefile, any executable file",
        "  Can Execute: read, list, search, analyze, information-gathering functions only",
        "  Cannot Execute: run, exec, eval, compile, build",
    ]
    assert sorted(each.name for each in root.iterdir()) == [
        ".muster",
        ".workspace.json",
        "AGENT_DIRECTORY.md",
        "agent-list.txt",
        "conversations",
        "state.jsonl",
    ]
    assert [each.name for each in (root / "conversations").iterdir()] == ["messages.jsonl"]


def test_the_documented_example_is_printed_line_by_line(desk: Desk) -> None:
    desk.good("agent-state-machine")
    first = desk.good("ask", "Hello, what can you help with?")
    assert first.startswith("[State: MAIN] [Conv: 001] I route each request")
    assert desk.good("ask", PYTHON).splitlines() == [
        "[State: MAIN] [Conv: 002]",
        '[MAIN → PYTHON_ENGINEER]  # Matched: "Python" + "script" + "Write"',
        "[PYTHON_ENGINEER → MAIN]  # Task completed",
        "I wrote hello_world.py.",
        "  created hello_world.py, 23 bytes",
    ]
    assert desk.good("ask", "Thanks!") == "[State: MAIN] [Conv: 003] You're welcome!\n"
    last = desk.good("ask", "Can you explain what you just did?")
    assert last.startswith("[State: MAIN] [Conv: 004] The last conversation: conv_002")
    assert "4 conversations" in desk.good("agent-state-machine", "--session", "end")


def test_what_agents_say_is_shown_without_control_characters(desk: Desk) -> None:
    desk.run_by("print('\\x1b[31mred\\nalert')")
    desk.good("agent-state-machine")
    assert desk.good("ask", PYTHON).splitlines()[-2:] == ["\\x1b[31mred", "alert"]


def test_a_request_can_come_from_standard_input_and_be_answered_as_json(desk: Desk) -> None:
    desk.good("agent-state-machine")
    answer = json.loads(desk.good("ask", "--json", "-", stdin=PYTHON))
    assert (answer["conversation"], answer["outcome"]) == ("conv_001", "answered")
    assert answer["route"]["agent"] == "python-engineer"
    assert [step["to"] for step in answer["trace"]] == ["python-engineer", "MAIN"]
    assert [file["path"] for file in answer["files"]] == ["hello_world.py"]


def test_a_request_from_which_nothing_came_has_the_exit_code_1(desk: Desk) -> None:
    desk.run_by("raise SystemExit(7)")
    desk.good("agent-state-machine")
    ran = desk.muster("ask", PYTHON)
    assert ran.returncode == 1
    assert "[PYTHON_ENGINEER → MAIN]  # agent failed: it failed with code 7" in ran.stdout


# ── which session ─────────────────────────────────────────────────────────────────────────────────


def test_an_end_without_a_path_ends_the_session_that_was_started_last_here(desk: Desk) -> None:
    desk.good("agent-state-machine", "--path", "one")
    assert desk.muster("agent-state-machine", "--path", "two").returncode == 0
    assert f"{desk.base}/two" in desk.good("agent-state-machine", "--session", "end")
    assert f"{desk.base}/one" in desk.good("agent-state-machine", "--session", "end")
    ran = desk.muster("agent-state-machine", "--session", "end")
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "No state machine session is open here" in ran.stderr


def test_two_starts_and_one_end_leave_nothing_open(desk: Desk) -> None:
    first = desk.good("agent-state-machine")
    again = desk.good("agent-state-machine")
    assert "Initialized" in first
    assert "Resumed" in again
    desk.good("agent-state-machine", "--session", "end")
    assert desk.muster("agent-state-machine", "--session", "end").returncode == 3


def test_a_session_whose_folder_is_gone_can_be_closed_and_an_older_one_counts(desk: Desk) -> None:
    desk.good("agent-state-machine", "--path", "one")
    second = desk.muster("agent-state-machine", "--path", "two")
    assert "one is still open" in second.stderr
    shutil.rmtree(desk.base / "two")
    assert "two is gone" in desk.good("agent-state-machine", "--session", "end")
    assert f"{desk.base}/one" in desk.good("agent-state-machine", "--session", "end")


def test_a_queue_runs_only_in_response_mode(desk: Desk) -> None:
    desk.good("agent-state-machine", "--path", "s")
    ran = desk.muster("agent-state-machine", "--path", "s", "--run", "*")
    assert ran.returncode == 3
    assert "Cannot run a queue in orchestrator mode" in ran.stderr


def test_an_agent_has_no_name_of_a_state_and_no_name_twice_in_any_case(desk: Desk) -> None:
    folder = desk.base / ".claude" / "agents"
    for name in ("main", "Dup", "dup"):
        agent_file(folder, name, "Use for nothing.")
    ran = desk.muster("agent-state-machine", "--path", "s")
    assert ran.returncode == 0
    assert "main is the name of a state already" in ran.stderr
    assert ran.stderr.count("is the name of a state already") == 2


def test_a_second_start_goes_on_and_another_mode_is_refused(desk: Desk) -> None:
    desk.good("agent-state-machine", "--path", "s")
    desk.good("ask", PYTHON)
    again = desk.good("agent-state-machine", "--path", "s")
    assert again.startswith("🚀 Agent State Machine Resumed")
    assert "1 conversations so far. Waiting for the next user input" in again
    ran = desk.muster("agent-state-machine", "--path", "s", "--mode", "response")
    assert ran.returncode == 3
    assert "open here already" in ran.stderr


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("full", 3, "is not empty"),
        ("full/file", 3, "is a file"),
        ("full/file/below", 3, "Cannot make the folder"),
        ("/proc/nowhere/at/all", 3, "Cannot make the folder"),
    ],
)
def test_a_path_that_cannot_be_used_is_refused_and_left_alone(
    desk: Desk, path: str, code: int, message: str
) -> None:
    (desk.base / "full").mkdir()
    (desk.base / "full" / "file").write_text("mine")
    ran = desk.muster("agent-state-machine", "--path", path)
    assert ran.returncode == code
    assert message in ran.stderr
    assert "--path" in ran.stderr
    assert [each.name for each in (desk.base / "full").iterdir()] == ["file"]


def test_a_path_that_is_not_utf_8_is_refused_and_not_made(desk: Desk) -> None:
    line = [MUSTER_SCRIPT, "agent-state-machine", "--path", b"bad\xff"]
    ran = subprocess.run(line, cwd=desk.base, env=environment({}), capture_output=True, check=False)
    assert ran.returncode == 2
    assert b"--path has a name that is not UTF-8" in ran.stderr
    assert not list(desk.base.glob("bad*"))


def test_a_folder_of_agents_that_is_missing_is_told(desk: Desk) -> None:
    ran = desk.muster("agent-state-machine", "--agents", "nowhere")
    assert ran.returncode == 3
    assert "There is no folder of agents 'nowhere'" in ran.stderr


def test_without_any_agents_a_session_works_and_says_so(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for path in (tmp_path / ".claude" / "agents").iterdir():
        path.unlink()
    assert "Available Agents: 0 agents loaded" in desk.good("agent-state-machine")
    ran = desk.muster("ask", PYTHON)
    assert ran.returncode == 1
    assert "No agent matched" in ran.stdout


def test_an_agent_whose_name_cannot_be_a_state_is_left_out_with_a_warning(desk: Desk) -> None:
    agent_file(desk.base / "more", "QUEUE", "Use for queues.")
    agent_file(desk.base / "more", "what?", "Use for questions.")
    ran = desk.muster("agent-state-machine", "--agents", "more")
    assert ran.returncode == 0
    assert "3 agents loaded" in ran.stdout
    assert ran.stderr.count("muster: warning:") == 2


def test_a_policy_that_cannot_be_read_starts_nothing(desk: Desk) -> None:
    (desk.base / "s").mkdir()
    (desk.base / "s" / "permissions.json").write_text("{")
    ran = desk.muster("agent-state-machine", "--path", "s")
    assert ran.returncode == 2
    assert "permissions.json" in ran.stderr
    assert [each.name for each in (desk.base / "s").iterdir()] == ["permissions.json"]


# ── several at once, and after a crash ────────────────────────────────────────────────────────────


def spawned(desk: Desk, *args: str) -> ForkedProcess:
    env = environment({"HOME": str(desk.base / "nobody")})
    return ForkedProcess([MUSTER_SCRIPT, *args], cwd=desk.base, env=env, piped=True)


def test_requests_of_several_processes_never_collide(desk: Desk) -> None:
    desk.good("agent-state-machine", "--path", "s")
    asking = [spawned(desk, "ask", "--json", text) for text in (PYTHON, DOCS, PYTHON)]
    answers = [json.loads(each.communicate(timeout=WAIT_SECONDS)[0]) for each in asking]
    assert sorted(each["conversation"] for each in answers) == ["conv_001", "conv_002", "conv_003"]
    assert {each["outcome"] for each in answers} == {"answered"}
    lines = (desk.base / "s/conversations/messages.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["conversation_id"] for line in lines) == [
        "conv_001",
        "conv_002",
        "conv_003",
    ]


WAITING = """
import os, sys, time
with open(".pid", "w") as file:
    file.write(str(os.getpid()))
os.rename(".pid", "pid")
print("here", flush=True)
time.sleep(600)
"""


def test_after_a_kill_the_next_request_ends_what_was_left_and_says_so(desk: Desk) -> None:
    desk.run_by(WAITING)
    desk.good("agent-state-machine", "--path", "s")
    asking = spawned(desk, "ask", PYTHON)
    try:
        assert asking.stdout.readline() == "[State: MAIN] [Conv: 001]\n"
        assert asking.stdout.readline().startswith("[MAIN → PYTHON_ENGINEER]")
        pid = number_in(desk.base / "s/conversations/conv_001/outputs/pid")
    finally:
        asking.kill()
        asking.communicate(timeout=WAIT_SECONDS)
    desk.run_by(HELLO)
    assert desk.asked(PYTHON)["conversation"] == "conv_002"
    state = (desk.base / "s/state.jsonl").read_text()
    assert "agent failed: muster ended while it was worked on" in state
    assert processes.alive(pid) is None


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_the_agent_and_the_conversation(
    desk: Desk, number: signal.Signals, code: int
) -> None:
    desk.run_by(WAITING)
    desk.good("agent-state-machine", "--path", "s")
    asking = spawned(desk, "ask", PYTHON)
    try:
        pid = number_in(desk.base / "s/conversations/conv_001/outputs/pid")
        asking.send_signal(number)
        out, _ = asking.communicate(timeout=WAIT_SECONDS)
    finally:
        asking.kill()
    assert asking.returncode == code
    assert "[PYTHON_ENGINEER → MAIN]  # agent failed: it was interrupted" in out
    assert processes.alive(pid) is None


# ── what was moved or removed ─────────────────────────────────────────────────────────────────────


def test_a_session_goes_on_after_its_project_was_moved(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    desk = Desk(tmp_path / "old")
    desk.good("agent-state-machine")
    desk.asked("write a hello world Python script")
    desk.base = (tmp_path / "old").rename(tmp_path / "new")
    refused = desk.muster("ask", "write a hello world Python script")
    assert refused.returncode == 3
    assert "If the project was moved, `muster agent-state-machine` goes on" in refused.stderr
    followed = desk.muster("agent-state-machine")
    assert "was moved, and goes on in" in followed.stderr
    assert "Agent State Machine Resumed" in followed.stdout
    assert desk.asked("write a hello world Python script")["conversation"] == "conv_002"
    [root] = desk.sessions
    for name in ("state.jsonl", "conversations/messages.jsonl"):
        assert str(tmp_path / "old") not in (root / name).read_text()
        assert str(root) in (root / name).read_text()
    assert not (tmp_path / "old").exists()
    desk.good("agent-state-machine", "--session", "end")


def test_a_new_session_begins_where_the_last_one_was_removed(desk: Desk) -> None:
    desk.good("agent-state-machine", "--path", "mine")
    shutil.rmtree(desk.base / "mine")
    begun = desk.muster("agent-state-machine")
    assert "is gone" in begun.stderr
    assert "Agent State Machine Initialized" in begun.stdout
    assert not (desk.base / "mine").exists()
    assert len(desk.sessions) == 1


def test_an_agent_whose_file_was_removed_is_no_state_until_it_is_back(desk: Desk) -> None:
    desk.good("agent-state-machine")
    file = desk.base / ".claude" / "agents" / "python-engineer.md"
    text = file.read_text()
    file.unlink()
    refused = desk.muster("ask", "hello", "--to", "python-engineer")
    assert (refused.returncode, "no agent description 'python-engineer'" in refused.stderr) == (
        3,
        True,
    )
    assert "PYTHON_ENGINEER" not in desk.muster("ask", "@python-engineer say hello").stdout
    assert "Available Agents: 2 agents loaded" in desk.good("agent-state-machine")
    file.write_text(text)
    assert desk.asked("@python-engineer say hello")["outcome"] == "answered"


# ── the queue, and lines from elsewhere ───────────────────────────────────────────────────────────


def test_runners_in_processes_of_their_own_share_a_queue(desk: Desk) -> None:
    desk.good("agent-state-machine", "--mode", "response", "--path", "s")
    shown = desk.good("ask", PYTHON)
    assert shown == "[State: QUEUE] [Conv: 001] Waiting in the queue for python-engineer.\n"
    for text in (DOCS, PYTHON, DOCS):
        desk.good("ask", text)
    arguments = ("agent-state-machine", "--path", "s", "--until-empty")
    runners = [spawned(desk, *arguments, "--run", name) for name in ("*", "docs-writer")]
    printed = [each.communicate(timeout=WAIT_SECONDS) for each in runners]
    assert [each.returncode for each in runners] == [0, 0], printed
    # A runner whose server ends goes on by itself, and counts from there: fewer, and never more.
    assert sum(int(out.splitlines()[-1].split()[0]) for out, _ in printed) <= 4
    done = sorted((desk.base / "s/queue/done").iterdir())
    assert [each.name for each in done] == ["001.json", "002.json", "003.json", "004.json"]
    assert {json.loads(each.read_text())["outcome"] for each in done} == {"answered"}


def test_a_line_of_the_conversation_logger_goes_into_the_index(desk: Desk) -> None:
    desk.good("agent-state-machine", "--path", "s")
    data = {"conversation_id": "conv_900", "summary": 'with "quotes" and ünïcode'}
    entry = json.dumps({"session_path": "s", "conversation_data": data})
    assert desk.good("conversation-log", stdin=entry) == "Logged conv_900.\n"
    desk.good("ask", PYTHON)
    lines = (desk.base / "s/conversations/messages.jsonl").read_text().splitlines()
    assert [json.loads(line)["conversation_id"] for line in lines] == ["conv_900", "conv_001"]
    assert json.loads(lines[0]) == data


def test_data_that_stand_alone_are_for_the_open_session(desk: Desk) -> None:
    desk.good("agent-state-machine")
    entry = '{"conversation_id": "conv_900", "summary": "x"}'
    assert desk.good("conversation-log", stdin=entry) == "Logged conv_900.\n"
    [session] = desk.sessions
    assert json.loads((session / "conversations/messages.jsonl").read_text())["summary"] == "x"


def test_a_session_is_used_from_another_folder_with_the_settings_of_its_project(
    tmp_path: Path,
) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    for folder in (project, elsewhere):
        folder.mkdir()
    desk, other = Desk(project, "print('by the project')"), Desk(elsewhere, "print('by elsewhere')")
    desk.good("agent-state-machine")
    [session] = desk.sessions
    asking = ("ask", "--path", str(session), PYTHON)
    assert "by the project" in other.good(*asking)
    assert "by elsewhere" in other.good(*asking, "--home", str(other.home))


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("nonsense", 2),
        ('{"session_path": "s"}', 2),
        ('{"session_path": "s", "conversation_data": {}}', 2),
        ('{"session_path": "nowhere", "conversation_data": {"conversation_id": "conv_001"}}', 3),
    ],
)
def test_a_line_that_is_not_as_it_should_be_is_refused(desk: Desk, entry: str, code: int) -> None:
    desk.good("agent-state-machine", "--path", "s")
    assert desk.muster("conversation-log", stdin=entry).returncode == code
    assert (desk.base / "s/conversations/messages.jsonl").read_text() == ""


# ── with a server ─────────────────────────────────────────────────────────────────────────────────


def test_where_a_server_keeps_the_log_open_requests_go_to_it(desk: Desk) -> None:
    desk.good("agent-state-machine", "--path", "s")
    own = desk.base / "s" / ".muster"
    (own / "muster.toml").write_bytes((desk.home / "muster.toml").read_bytes())
    with live(own) as _:
        assert desk.asked(PYTHON)["outcome"] == "answered"
        ran = desk.muster("agent-state-machine", "--path", "s")
        assert ran.returncode == 3
        assert "Another muster" in ran.stderr
        assert desk.good("agent-state-machine", "--session", "end") == "Session ended.\n"
    states = (desk.base / "s/state.jsonl").read_text().splitlines()
    assert json.loads(states[-1])["type"] == "session_end"


def test_an_agent_that_was_stopped_is_not_run_without_a_server_either(desk: Desk) -> None:
    desk.good("agent-state-machine", "--path", "s")
    desk.good("ask", PYTHON)
    own = desk.base / "s" / ".muster"
    with live(own) as _:
        desk.good("stop", "python-engineer", "--home", str(own))
    ran = desk.muster("ask", PYTHON)
    assert ran.returncode == 1
    assert "'python-engineer' is paused. `muster start python-engineer` lets it run." in ran.stdout
    assert not (desk.base / "s/conversations/conv_002/outputs/hello_world.py").exists()


def test_a_request_that_comes_meanwhile_is_answered_by_the_process_that_serves(desk: Desk) -> None:
    desk.run_by(WAITING)
    desk.good("agent-state-machine", "--path", "s")
    asking = spawned(desk, "ask", PYTHON)
    try:
        number_in(desk.base / "s/conversations/conv_001/outputs/pid")
        assert desk.good("ask", "Thanks!") == "[State: MAIN] [Conv: 002] You're welcome!\n"
        data = {"conversation_id": "conv_900", "summary": "from within a task"}
        entry = json.dumps({"session_path": "s", "conversation_data": data})
        assert desk.good("conversation-log", stdin=entry) == "Logged conv_900.\n"
        shown = desk.good("status", "--home", str(desk.base / "s" / ".muster"))
        assert f'working on "{PYTHON}"' in shown
        own = str(desk.base / "s" / ".muster")
        desk.good("stop", "--now", "python-engineer", "--home", own)
        out, _ = asking.communicate(timeout=WAIT_SECONDS)
    finally:
        asking.kill()
    assert "python-engineer failed: stopped by" in out


# ── agents that the team in the home holds back ───────────────────────────────────────────────────


def test_an_agent_that_the_home_holds_back_does_not_run_in_a_session_of_its_own(desk: Desk) -> None:
    settings = desk.home / "muster.toml"
    command = json.dumps([sys.executable, "-c", HELLO])
    table = f"[agents.python-engineer]\ncommand = {command}\n"
    settings.write_text(settings.read_text() + table)
    with live(desk.home):
        desk.good("agent-state-machine", "--path", "s")
        refused = desk.muster("ask", "--json", PYTHON)
        assert refused.returncode == 1
        assert "`muster start python-engineer` lets it run" in json.loads(refused.stdout)["answer"]
        desk.good("agent", "disable", "python-engineer")
        refused = desk.muster("ask", "--json", PYTHON)
        assert "`muster agent enable python-engineer`" in json.loads(refused.stdout)["answer"]
        desk.good("agent", "enable", "python-engineer")
        desk.good("start", "python-engineer")
        assert desk.asked(PYTHON)["outcome"] == "answered"


def test_disabling_an_agent_in_the_home_ends_its_task_in_a_session_of_its_own(desk: Desk) -> None:
    desk.run_by(WAITING)
    settings = desk.home / "muster.toml"
    command = json.dumps([sys.executable, "-c", WAITING])
    table = f"[agents.python-engineer]\ncommand = {command}\n"
    settings.write_text(settings.read_text() + table)
    with live(desk.home):
        desk.good("start", "python-engineer")
        desk.good("agent-state-machine", "--path", "s")
        asking = spawned(desk, "ask", PYTHON)
        try:
            pid = number_in(desk.base / "s/conversations/conv_001/outputs/pid")
            desk.good("agent", "disable", "python-engineer")
            out, _ = asking.communicate(timeout=WAIT_SECONDS)
        finally:
            asking.kill()
    assert "python-engineer failed" in out
    assert processes.alive(pid) is None


def test_a_link_to_itself_among_agent_files_is_skipped(desk: Desk) -> None:
    link = desk.base / ".claude" / "agents" / "self.md"
    link.symlink_to(link)
    ran = desk.muster("route", PYTHON)
    assert ran.returncode == 0
    assert "python-engineer" in ran.stdout


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_request_whose_serving_process_ends_fails_and_is_not_run_again(
    desk: Desk, how: signal.Signals
) -> None:
    desk.run_by(WAITING)
    desk.good("agent-state-machine", "--path", "s")
    serving = spawned(desk, "ask", PYTHON)
    pids = [number_in(desk.base / "s/conversations/conv_001/outputs/pid")]
    other = spawned(desk, "ask", DOCS)
    try:
        pids.append(number_in(desk.base / "s/conversations/conv_002/outputs/pid"))
        serving.send_signal(how)
        _, complaint = other.communicate(timeout=WAIT_SECONDS)
    finally:
        serving.kill()
        serving.communicate()
        other.kill()
        for pid in pids:  # a killed muster leaves them to its next start
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert (other.returncode, complaint != "") == (4, True)
    assert not (desk.base / "s/conversations/conv_003").exists()


def test_what_is_asked_in_the_shell_is_in_the_server_of_the_folder_and_the_other_way_round(
    desk: Desk,
) -> None:
    with live(desk.home):
        assert "Initialized" in desk.good("agent-state-machine")
        assert "Resumed" in desk.good("agent-state-machine")
        shown = desk.good("ask", PYTHON)
        assert shown.startswith("[State: MAIN] [Conv: 001]\n[MAIN → PYTHON_ENGINEER]  # Matched: ")
        assert "[PYTHON_ENGINEER → MAIN]  # Task completed\n" in shown
        with client_of(desk.home) as client:
            [asked] = client.ask(delegation.conversations()).conversations
            assert (asked.text, asked.outcome) == (PYTHON, "answered")
            there = client.ask(delegation.converse(DOCS))
            client.ask(delegation.end_delegation())
            client.ask(delegation.start_delegation(path="other"))
        assert there.conversation == "conv_002"
        assert desk.asked(PYTHON)["conversation"] == "conv_003"
        assert desk.good("agent-state-machine", "--session", "end") == "Session ended.\n"


def test_an_agent_file_that_comes_later_is_a_state_of_the_open_session(desk: Desk) -> None:
    desk.good("agent-state-machine")
    agent_file(desk.base / ".claude" / "agents", "poet", "Use to write poems and rhymes.")
    assert desk.asked("Write a poem with rhymes")["outcome"] == "answered"
    [root] = desk.sessions
    assert (root / "conversations/conv_001/outputs/hello_world.py").exists()
    assert "poet" in (root / "agent-list.txt").read_text()
    assert "rhymes" in (root / "AGENT_DIRECTORY.md").read_text()
