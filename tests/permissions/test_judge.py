"""The judge of tool calls: what MAIN may do, what agents may do, and what a refusal says."""

import os
import subprocess
import sys
from pathlib import Path
from time import process_time

import pytest

from muster.permissions.judge import Verdict, calling_states, judge, judge_states
from muster.permissions.policy import (
    AGENT_PERMISSIONS,
    DEFAULT,
    MAIN_PERMISSIONS,
    Permissions,
    Policy,
)
from tests.permissions.verdicts import ALLOWED, DENIED
from tests.waits import WAIT_SECONDS

REFUSALS = [(command, rule) for rule, commands in DENIED.items() for command in commands]


def bash(command: object, cwd: Path, policy: Policy = DEFAULT) -> Verdict:
    return judge("MAIN", "Bash", {"command": command}, cwd=str(cwd), policy=policy)


def write(path: object, cwd: Path, content: str = "text\n") -> Verdict:
    return judge("MAIN", "Write", {"file_path": path, "content": content}, cwd=str(cwd))


def edit(path: str, cwd: Path, old: str, new: str) -> Verdict:
    given = {"file_path": path, "old_string": old, "new_string": new}
    return judge("MAIN", "Edit", given, cwd=str(cwd))


# ── command lines ─────────────────────────────────────────────────────────────────────────────────


def test_the_table_has_every_command_once_and_enough_of_them() -> None:
    commands = [*ALLOWED, *(command for command, _ in REFUSALS)]
    assert len(commands) == len(set(commands))
    assert len(commands) >= 250


def test_main_may_run_commands_that_only_read_or_write_documents(tmp_path: Path) -> None:
    verdicts = {command: bash(command, tmp_path) for command in ALLOWED}
    wrong = {
        command: verdict.reason
        for command, verdict in verdicts.items()
        if not verdict.allowed or verdict.rule != "main.bash.allowed"
    }
    assert wrong == {}


def test_main_may_not_run_other_commands_and_the_denial_names_the_rule(tmp_path: Path) -> None:
    verdicts = {command: (rule, bash(command, tmp_path)) for command, rule in REFUSALS}
    wrong = {
        command: (verdict.decision, verdict.rule, verdict.reason)
        for command, (rule, verdict) in verdicts.items()
        if (verdict.decision, verdict.rule) != ("deny", rule) or not verdict.reason
    }
    assert wrong == {}


def test_a_redirection_is_judged_by_the_file_that_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "notes.md").symlink_to("run.py")
    assert bash("echo x > notes.md", tmp_path).rule == "main.bash.redirect-write"
    assert not bash("cp a.md notes.md", tmp_path).allowed
    assert not bash("sed -i s/a/b/ notes.md", tmp_path).allowed


def test_a_folder_that_a_command_changes_to_counts(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    assert bash("cd docs && echo x > notes.md", tmp_path).allowed
    (tmp_path / "docs" / "notes.md").symlink_to(tmp_path / "run.py")
    assert not bash("cd docs && echo x > notes.md", tmp_path).allowed
    assert not bash("cd docs; cd ..; cd docs; echo x > notes.md", tmp_path).allowed
    assert not bash("while true; do cd ..; echo x > notes.md; done", tmp_path).allowed


def test_a_file_whose_name_looks_like_an_option_makes_a_pattern_unsafe(tmp_path: Path) -> None:
    assert bash("sort *.txt", tmp_path).allowed
    (tmp_path / "-orun.py.txt").touch()
    assert bash("sort *.txt", tmp_path).rule == "main.bash.unknown-value"
    assert bash("sort -- *.txt", tmp_path).allowed
    assert bash("sort ./*.txt", tmp_path).allowed
    assert bash("cat *.txt", tmp_path).allowed


def test_a_copy_of_something_executable_is_executable(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("echo\n")
    assert bash("cp tool notes.md", tmp_path).allowed
    tool.chmod(0o755)
    assert not bash("cp tool notes.md", tmp_path).allowed


# ── files ─────────────────────────────────────────────────────────────────────────────────────────

DOCUMENTS = (
    *("notes.md", "a/b/plan.txt", "run.log", "data.json", "table.csv", "README", "LICENSE"),
    *("report.rst", "events.jsonl", "picture.svg", "some thing.md", "UPPER.MD", "x.unknown"),
    *("a/../notes.md", "config.json", ".claude/agent-state-machine/1/conv_001/outputs/plan.md"),
)
PROGRAMS = {
    "*.py": ("run.py", "RUN.PY", "a/../run.py", "notes.md.py"),
    "*.js": ("a.js",),
    "*.ts": ("a.ts",),
    "*.sh": ("a.sh",),
    "*.go": ("a.go",),
    "*.rs": ("a.rs",),
    "*.c": ("a.c",),
    "*.cpp": ("a.cpp",),
    "*.java": ("A.java",),
    "package.json": ("package.json", "web/package.json"),
    "requirements.txt": ("requirements.txt",),
    "Dockerfile": ("Dockerfile",),
    "Makefile": ("Makefile", "makefile"),
    "any executable file": (
        *("a.rb", "a.tsx", "a.html", "a.ipynb", "a.yaml", "pyproject.toml", ".env", ".bashrc"),
        *(".git/config", ".git/hooks/pre-commit", "CMakeLists.txt", "permissions.json"),
        *(".claude/settings.json", "requirements-dev.txt", "Dockerfile.dev", "/etc/crontab"),
        *("tsconfig.json", "Jenkinsfile", "a.so", "a.sql", ".mcp.json", "bin/notes.md"),
        *(".git", ".gitignore", ".lesskey", ".docker/config.json", "evil/config"),
        # what would switch the policy itself off, or has others run something
        *(".claude/agent-state-machine/sessions", ".muster/following/notes.json"),
        *(".claude/commands/deploy.md", ".claude/skills/x/SKILL.md", "config/settings.json"),
        *(".claude-plugin/plugin.json", "hooks/hooks.json"),
    ),
}


@pytest.mark.parametrize("path", DOCUMENTS)
def test_main_may_write_documents(path: str, tmp_path: Path) -> None:
    assert write(path, tmp_path).allowed
    assert write(str(tmp_path / path), tmp_path).allowed
    assert edit(path, tmp_path, "", "text").allowed


@pytest.mark.parametrize(
    ("path", "pattern"), [(path, pattern) for pattern, paths in PROGRAMS.items() for path in paths]
)
def test_main_may_not_write_programs_and_is_told_the_pattern(
    path: str, pattern: str, tmp_path: Path
) -> None:
    for verdict in (write(path, tmp_path), edit(path, tmp_path, "a", "b")):
        assert verdict.decision == "deny"
        assert verdict.rule in ("main.write.cannot-write", "main.edit.cannot-write")
        assert f"(matches `cannot_write: {pattern}" in verdict.reason


def test_a_link_is_judged_by_its_own_name_and_by_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "notes.md").symlink_to("run.py")
    (tmp_path / "deep").symlink_to(tmp_path)
    (tmp_path / "plan.py").symlink_to("plan.md")
    (tmp_path / "fine.md").symlink_to("real.md")
    assert write("notes.md", tmp_path).rule == "main.write.cannot-write"
    assert not write("deep/notes.md", tmp_path).allowed
    assert not write("plan.py", tmp_path).allowed
    assert write("fine.md", tmp_path).allowed


def test_links_that_lead_in_a_circle_are_denied_or_harmless(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("b.md")
    (tmp_path / "b.md").symlink_to("a.md")
    assert write("a.md", tmp_path).decision in ("allow", "deny")


def test_a_text_that_begins_like_a_program_is_denied_whatever_its_name(tmp_path: Path) -> None:
    assert write("notes.md", tmp_path, "#!/bin/sh\necho").rule == "main.write.shebang"
    assert write("tool", tmp_path, "#!/usr/bin/env python").rule == "main.write.shebang"
    assert write("notes.md", tmp_path, "# Title\n#!/bin/sh\n").allowed


def test_a_file_with_the_execute_bit_is_denied_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("text")
    assert write("notes.md", tmp_path).allowed
    path.chmod(0o744)
    assert write("notes.md", tmp_path).rule == "main.write.execute-bit"
    assert edit("notes.md", tmp_path, "a", "b").rule == "main.edit.execute-bit"
    assert bash("echo x >> notes.md", tmp_path).rule == "main.bash.redirect-write"


def test_a_file_that_begins_like_a_program_may_not_be_changed(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    assert write("tool", tmp_path).rule == "main.write.shebang"
    assert bash("echo x >> tool", tmp_path).rule == "main.bash.redirect-write"


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ("title", "#!/bin/sh", False),
        ("", "#!/bin/sh\n", False),
        ("title\n", "", False),  # what comes second begins like a program
        ("words", "#!/bin/sh", True),
        ("title", "heading", True),
    ],
)
def test_an_edit_is_judged_by_how_the_file_would_begin(
    old: str, new: str, allowed: bool, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("title\n#! some words\n")
    assert edit("notes.md", tmp_path, old, new).allowed is allowed


def test_several_edits_are_judged_together(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("title\n")
    edits = [
        {"old_string": "title", "new_string": "X!"},
        {"old_string": "X", "new_string": "#"},
    ]
    given = {"file_path": "notes.md", "edits": edits}
    assert judge("MAIN", "MultiEdit", given, cwd=str(tmp_path)).rule == "main.multiedit.shebang"
    given["edits"] = edits[:1]
    assert judge("MAIN", "MultiEdit", given, cwd=str(tmp_path)).allowed
    given["file_path"] = "run.py"
    assert not judge("MAIN", "MultiEdit", given, cwd=str(tmp_path)).allowed


# ── tools ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "tool", ["Read", "Glob", "Grep", "WebSearch", "WebFetch", "TodoWrite", "Task", "Agent"]
)
def test_main_may_look_plan_and_delegate(tool: str) -> None:
    assert judge("MAIN", tool, {"file_path": "run.py"}).allowed


@pytest.mark.parametrize(
    "tool", ["Skill", "Deploy", "mcp__db__query", "bash", "WRITE", " Read", "*", "read"]
)
def test_a_tool_that_is_not_known_is_denied_in_main(tool: str) -> None:
    assert judge("MAIN", tool, {}).rule == "main.tool.unknown"


def test_notebooks_are_blocked_in_main() -> None:
    verdict = judge("MAIN", "NotebookEdit", {"notebook_path": "a.ipynb"})
    assert verdict.rule == "main.tool.blocked"
    assert "cannot_use: NotebookEdit" in verdict.reason


@pytest.mark.parametrize(
    ("state", "tool", "given", "cwd"),
    [
        (None, "Read", {}, None),
        ("", "Read", {}, None),
        ("MAIN", None, {}, None),
        ("MAIN", 5, {}, None),
        ("MAIN", "Read", None, None),
        ("MAIN", "Read", [], None),
        ("MAIN", "Read", {}, 7),
        ("MAIN", "Bash", {}, None),
        ("MAIN", "Bash", {"command": None}, None),
        ("MAIN", "Bash", {"command": ["ls"]}, None),
        ("MAIN", "Write", {"content": "x"}, None),
        ("MAIN", "Write", {"file_path": "a.md"}, None),
        ("MAIN", "Write", {"file_path": 1, "content": "x"}, None),
        ("MAIN", "Edit", {"file_path": "a.md", "old_string": 1, "new_string": ""}, None),
        ("MAIN", "MultiEdit", {"file_path": "a.md"}, None),
        ("MAIN", "MultiEdit", {"file_path": "a.md", "edits": ["x"]}, None),
    ],
)
def test_an_invalid_call_is_denied(state: object, tool: object, given: object, cwd: object) -> None:
    verdict = judge(state, tool, given, cwd=cwd)
    assert verdict.decision == "deny"
    assert verdict.rule.endswith(".input")


@pytest.mark.parametrize("path", ["", "a\0.md", "~/notes.md", "-o.md", "x" * 5000 + ".md"])
def test_a_path_that_is_not_literal_is_denied(path: str, tmp_path: Path) -> None:
    assert write(path, tmp_path).rule == "main.write.path"


def test_main_is_main_in_any_case() -> None:
    assert judge("main", "Bash", {"command": "python x"}).rule == "main.bash.run"


# ── agents ────────────────────────────────────────────────────────────────────────────────────────


def test_an_agent_may_do_everything_unless_the_policy_says_otherwise() -> None:
    for tool, given in (
        ("Bash", {"command": "python x.py | sh"}),
        ("Write", {"file_path": "run.py", "content": "#!/bin/sh"}),
        ("NotebookEdit", {}),
        ("Deploy", {}),
    ):
        assert judge("engineer", tool, given).rule == "agent.unlimited"


def test_the_policy_can_restrict_agents_and_one_of_them_more() -> None:
    agent = Permissions(
        can_use=("*",),
        cannot_use=("WebFetch",),
        can_write=("*",),
        cannot_write=("*.env",),
        can_execute=("*",),
        cannot_execute=("git push", "change"),
    )
    policy = Policy(agent=agent, agents={"reviewer": MAIN_PERMISSIONS})

    def rule(state: str, tool: str, **given: str) -> str:
        return judge(state, tool, given, policy=policy).rule

    assert rule("engineer", "WebFetch") == "agent.tool.blocked"
    assert rule("engineer", "Bash", command="FOO=1 pytest -x && make") == "agent.bash.allowed"
    assert rule("engineer", "Bash", command="git -C . push") == "agent.bash.change"
    assert rule("engineer", "Bash", command="rm x") == "agent.bash.change"
    assert rule("engineer", "Bash", command="$X push") == "agent.bash.unknown-command"
    assert rule("engineer", "Bash", command="echo x > a.env") == "agent.bash.redirect-write"
    assert rule("engineer", "Write", file_path="a.py", content="") == "agent.write.allowed"
    assert rule("reviewer", "Bash", command="pytest") == "agent.bash.run"
    assert rule("reviewer", "Write", file_path="a.py", content="") == "agent.write.cannot-write"


def test_main_can_be_allowed_more_by_name() -> None:
    looser = Permissions(
        can_use=(*MAIN_PERMISSIONS.can_use, "mcp__docs__*"),
        can_write=MAIN_PERMISSIONS.can_write,
        cannot_write=MAIN_PERMISSIONS.cannot_write,
        can_execute=(*MAIN_PERMISSIONS.can_execute, "pytest", "git fetch"),
    )
    policy = Policy(main=looser)
    for command, allowed in (
        ("pytest -q", True),
        ("git fetch", True),
        ("git push", False),
        ("python x", False),
    ):
        assert judge("MAIN", "Bash", {"command": command}, policy=policy).allowed is allowed
    assert judge("MAIN", "mcp__docs__read", {}, policy=policy).allowed
    assert not judge("MAIN", "mcp__db__read", {}, policy=policy).allowed


def test_the_default_permissions_of_an_agent_allow_everything() -> None:
    assert AGENT_PERMISSIONS.can_write == ("*",)
    assert AGENT_PERMISSIONS.can_execute == ("*",)


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────


def test_a_denial_says_what_was_wanted_and_the_remedy_names_an_agent_for_it() -> None:
    verdict = judge("MAIN", "Write", {"file_path": "/srv/run.py", "content": ""})
    assert verdict.need == "write run.py"
    assert verdict.reason == "MAIN may not write /srv/run.py (matches `cannot_write: *.py`)."
    assert verdict.with_remedy("engineer") == f"{verdict.reason} Delegate it to engineer."
    assert verdict.as_dict("engineer")["delegateTo"] == "engineer"


def test_without_an_agent_the_remedy_suggests_one_to_create() -> None:
    verdict = judge("MAIN", "Bash", {"command": "make"})
    assert verdict.as_dict()["delegateTo"] is None
    assert "suggest one to create" in verdict.with_remedy()


def test_an_allowed_call_names_no_agent_to_delegate_to() -> None:
    verdict = judge("MAIN", "Read", {})
    assert verdict.with_remedy("engineer") == verdict.reason
    assert verdict.as_dict("engineer") == {
        "decision": "allow",
        "rule": "main.read.allowed",
        "reason": "MAIN may do this (matches `can_use: Read`).",
        "delegateTo": None,
    }


@pytest.mark.parametrize(
    ("agent", "subagents", "states"),
    [
        (None, [], ["MAIN"]),
        (None, ["writer"], ["writer"]),
        ("Ada", [], ["Ada"]),
        ("Ada", ["writer"], ["Ada", "writer"]),
    ],
)
def test_a_subagent_of_an_agent_may_not_do_more_than_that_agent(
    agent: str | None, subagents: list[str], states: list[str]
) -> None:
    assert list(calling_states(agent, subagents)) == states


def test_a_call_for_several_states_is_denied_by_the_first_that_may_not() -> None:
    read_only = Permissions(can_use=("Read",), can_write=(), can_execute=())
    policy = Policy(agents={"Ada": read_only})
    given = {"file_path": "/srv/a.md", "content": ""}
    denied = judge_states(("Ada", "writer"), "Write", given, policy=policy)
    assert not denied.allowed
    assert denied.reason.startswith("Ada may not")
    assert judge_states(("Bob", "writer"), "Write", given, policy=policy).allowed
    assert not judge_states((None,), "Write", given, policy=policy).allowed


# ── cost ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_judge_loads_next_to_nothing() -> None:
    program = (
        "import os, sys; before = set(sys.modules); from muster.permissions.judge import judge;"
        "judge('MAIN', 'Bash', {'command': 'ls | sed -n 1p > notes.md'});"
        "print(*sorted(name for name in set(sys.modules) - before if 'muster' not in name))"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={"PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert ran.stdout.split() == ["__future__"]


@pytest.mark.parametrize(
    ("command", "network", "sockets"),
    [
        ("ls -la", False, False),
        ("curl -s https://example.org", True, False),
        ("pip list && npm ls", True, False),
        ("docker ps", True, True),
        ("curl -s https://example.org | head; systemctl status x", True, True),
        ("git ls-remote origin", True, True),
        ("git log -1", False, False),
    ],
)
def test_a_line_gets_a_network_and_daemons_only_if_its_programs_need_them(
    command: str, network: bool, sockets: bool
) -> None:
    grants = judge("MAIN", "Bash", {"command": command}, cwd="/").grants
    assert grants is not None
    assert (grants.network, grants.sockets) == (network, sockets)


@pytest.mark.parametrize("field", ["file_path", "cwd"])
def test_a_path_that_no_kernel_takes_is_denied_at_once(field: str) -> None:
    long = "/" + "a/" * 400_000
    given = {"file_path": long if field == "file_path" else "a.md", "content": "x"}
    began = process_time()
    verdict = judge("MAIN", "Write", given, cwd=long if field == "cwd" else "/")
    assert not verdict.allowed
    assert process_time() - began < 1  # it takes the square of the length: minutes
