"""`muster permit`: verdicts at the command line, one or many, and the policy file."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from muster.permissions.policy import DEFAULT, load
from tests.builders import run
from tests.claude_plugin.playing import Claude, Project
from tests.homes import MUSTER_SCRIPT, environment, muster
from tests.waits import WAIT_SECONDS


def permit(home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return muster("permit", "--home", str(home), *args)


def ask(home: Path, command: str, *args: str) -> subprocess.CompletedProcess[str]:
    given = json.dumps({"command": command})
    return permit(home, "--state", "MAIN", "--tool", "Bash", "--input", given, *args)


def batch(home: Path, lines: bytes, *args: str) -> list[dict[str, str | None]]:
    ran = subprocess.run(
        [MUSTER_SCRIPT, "permit", "--home", str(home), "--batch", *args],
        input=lines,
        env=environment({}),
        capture_output=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_what_is_allowed_has_code_0_and_what_is_not_code_3_with_the_rule(tmp_path: Path) -> None:
    allowed = ask(tmp_path, "git status")
    assert (allowed.returncode, allowed.stderr) == (0, "")
    assert allowed.stdout.startswith("allow  main.bash.allowed\n")
    denied = ask(tmp_path, "cat x > y.py", "--delegate", "engineer")
    assert (denied.returncode, denied.stderr) == (3, "")
    assert denied.stdout.startswith("deny  main.bash.redirect-write\n")
    assert "cannot_write: *.py" in denied.stdout
    assert "Delegate it to engineer.\n" in denied.stdout
    assert denied.stdout.endswith(f"Policy: default, there is no {tmp_path}/permissions.json\n")


def test_a_verdict_can_be_had_as_json(tmp_path: Path) -> None:
    verdict = json.loads(ask(tmp_path, "make", "--json").stdout)
    assert list(verdict) == ["decision", "rule", "reason", "delegateTo", "policy"]
    assert (verdict["decision"], verdict["rule"]) == ("deny", "main.bash.build")
    assert verdict["delegateTo"] is None


def test_the_folder_of_the_call_counts(tmp_path: Path) -> None:
    (tmp_path / "notes.md").symlink_to("run.py")
    assert ask(tmp_path, "echo > notes.md").returncode == 0
    assert ask(tmp_path, "echo > notes.md", "--cwd", str(tmp_path)).returncode == 3


def test_many_calls_are_answered_in_order_and_what_is_no_call_is_denied(tmp_path: Path) -> None:
    calls = [
        b'{"state": "MAIN", "tool": "Read", "input": {}}',
        b"not json",
        b'{"state": "MAIN", "tool": "Bash", "input": {"command": "rm x"}}',
        b"[1, 2]",
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"state": "MAIN", "tool": "Bash", "input": {"command": "ls"}, "cwd": 5}',
        b'{"state": "engineer", "tool": "Bash", "input": {"command": "rm x"}}',
        b'{"tool": "Read", "input": {}}',
        b'{"state": "MAIN", "tool": "Grep", "input": {"pattern": "\xc3\xa9"}}',
    ]
    answers = batch(tmp_path, b"\n".join(calls))
    assert [answer["decision"] for answer in answers] == [
        *("allow", "deny", "deny", "deny", "deny", "deny", "deny", "deny", "allow", "deny", "allow")
    ]
    fields = ["decision", "rule", "reason", "delegateTo", "policy"]
    assert all(list(answer) == fields for answer in answers)
    assert answers[2]["rule"] == "main.bash.change"


def test_a_program_can_keep_it_running_and_ask_one_call_after_the_other(tmp_path: Path) -> None:
    with subprocess.Popen(
        [MUSTER_SCRIPT, "permit", "--home", str(tmp_path), "--batch"],
        env=environment({}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for tool, decision in (("Read", "allow"), ("Deploy", "deny"), ("Grep", "allow")):
            process.stdin.write(json.dumps({"state": "MAIN", "tool": tool, "input": {}}) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["decision"] == decision
        process.stdin.close()
        assert process.wait(WAIT_SECONDS) == 0


def test_the_policy_is_written_once_edited_and_used(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert permit(home, "--init").returncode == 0
    path = home / "permissions.json"
    assert load(path).as_dict() == DEFAULT.as_dict()
    again = permit(home, "--init")
    assert again.returncode == 3
    assert "was not changed" in again.stderr
    policy = json.loads(path.read_text())
    policy["MAIN_PERMISSIONS"]["cannot_execute"] = ["run", "exec", "eval", "compile"]
    policy["MAIN_PERMISSIONS"]["can_execute"].append("make")
    path.write_text(json.dumps(policy))
    assert ask(home, "make docs").returncode == 0
    assert ask(tmp_path, "make docs").returncode == 3
    assert ask(tmp_path, "make docs", "--policy", str(path)).returncode == 0


def test_a_policy_that_cannot_be_read_is_named_and_nothing_is_judged(tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    path.write_text('{"MAIN_PERMISSIONS": {"can_write": "*"}}')
    wrong = ask(tmp_path, "ls")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert f"{path}: line 1: MAIN_PERMISSIONS.can_write must be a list" in wrong.stderr
    missing = ask(tmp_path, "ls", "--policy", str(tmp_path / "other.json"))
    assert missing.returncode == 2
    assert "muster permit --init" in missing.stderr


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--state", "MAIN"],
        ["--state", "MAIN", "--tool", "Bash", "--input", "{"],
    ],
)
def test_a_call_that_is_not_complete_is_explained(args: list[str], tmp_path: Path) -> None:
    ran = permit(tmp_path, *args)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "--input" in ran.stderr


CALLS: list[tuple[str, dict[str, object]]] = [
    ("Bash", {"command": "git status"}),
    ("Bash", {"command": "make docs"}),
    ("Write", {"file_path": "notes.md", "content": ""}),
    ("Write", {"file_path": "app.py", "content": ""}),
    ("Deploy", {}),
]


@pytest.mark.parametrize(
    ("session", "home"),
    [
        ({"MAIN_PERMISSIONS": {"can_use": ["Read"]}}, {}),
        ({}, {"MAIN_PERMISSIONS": {"can_use": ["*"], "cannot_write": [], "can_write": ["*"]}}),
        ({"MAIN_PERMISSIONS": {"can_use": ["*"], "cannot_write": []}}, {}),
        (None, {"MAIN_PERMISSIONS": {"can_use": ["Read"]}}),
    ],
    ids=["a strict session", "a lax home", "a lax session", "a session without a file"],
)
def test_permit_says_what_the_hook_enforces(
    tmp_path: Path, session: dict[str, object] | None, home: dict[str, object]
) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        project.home.mkdir(exist_ok=True)
        (project.home / "permissions.json").write_text(json.dumps(home))
        policy = project.root / "permissions.json"
        policy.unlink(missing_ok=True)
        if session is not None:
            policy.write_text(json.dumps(session))
        claude = Claude(project)
        for tool, given in CALLS:
            enforced = "deny" if await claude.tool(tool, given) else "allow"
            asked = ["--tool", tool, "--input", json.dumps(given), "--cwd", str(project.folder)]
            ran = await asyncio.to_thread(
                muster,
                *("permit", "--home", str(project.home), "--state", "MAIN", "--json", *asked),
                cwd=project.folder,
            )
            verdict = json.loads(ran.stdout)
            assert verdict["decision"] == enforced, (tool, given)
            named = str(policy) if session is not None else f"default, there is no {policy}"
            assert verdict["policy"] == named

    run(play())


def test_permit_judges_nothing_by_a_broken_policy_and_the_hook_denies_everything(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        project = Project(tmp_path)
        await project.start()
        policy = project.root / "permissions.json"
        policy.write_text("{\n  nonsense")
        answer = await Claude(project).answer("PreToolUse", tool_name="Read", tool_input={})
        assert answer.code == 2
        assert f"{policy}: line 2" in answer.text
        ran = await asyncio.to_thread(
            muster,
            "permit",
            "--state",
            "MAIN",
            "--tool",
            "Read",
            "--input",
            "{}",
            cwd=project.folder,
        )
        assert ran.returncode == 2
        assert f"{policy}: line 2" in ran.stderr

    run(play())
