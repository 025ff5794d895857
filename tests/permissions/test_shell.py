"""The parser of command lines: it is never deceived, and its running time is bounded."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.permissions.judge import Verdict, judge
from muster.permissions.shell.grammar import COMMAND_CHARS_MAX, parse
from muster.permissions.shell.words import NotUnderstood
from tests.permissions.verdicts import ALLOWED, DENIED

CPU_SECONDS = 5.0
"""Of this process alone, so that other work on the machine does not count."""
"""For the longest command there can be, on a machine that is busy: it takes a tenth of that."""

PIECES = (
    *("ls", "cat", "echo", "python", "x", "y.py", "notes.md", "-o", "-i", "-c", "sh", "sed", "awk"),
    *("sort", "find", "xargs", "git", "log", "env", "eval", "read", "test", "cd", "printf", "time"),
    *("if", "then", "else", "fi", "for", "in", "do", "done", "case", "esac", "while", "function"),
    *(" ", "\t", "\n", ";", "&", "|", "&&", "||", ";;", "(", ")", "((", "))", "{", "}", "[[", "]]"),
    *("'", '"', "\\", "`", "$", "$(", "${", "$((", "$'", ":-", "<", ">", ">>", ">|", "&>", ">&"),
    *("<<", "<<EOF", "\nEOF\n", "<<<", "<(", ">(", "2>&1", "*", "?", "[", "]", "{a,b}", "~", "#"),
    *("!", "=", "x=1", "PATH=.", "$x", "\0", "\r", "\u00a0", "é", "\ud800"),
)

commands = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join),
)


def bash(command: str) -> Verdict:
    return judge("MAIN", "Bash", {"command": command}, cwd="/")


@given(commands)
@settings(max_examples=400, deadline=None)
def test_every_text_gets_a_verdict_within_the_time_limit(command: str) -> None:
    begun = time.process_time()
    verdict = bash(command)
    assert verdict.decision in ("allow", "deny")
    assert verdict.rule != "main.broken", verdict.reason
    assert time.process_time() - begun < CPU_SECONDS


SAMPLES = st.one_of(
    st.sampled_from([command for command in ALLOWED if "\n" not in command]),
    st.sampled_from([command for group in DENIED.values() for command in group]),
    commands,
)
JOINTS = st.sampled_from(["; ", " && ", " || ", " | ", " & ", "\n"])


@given(st.lists(SAMPLES, min_size=2, max_size=4), JOINTS)
@settings(max_examples=400, deadline=None)
def test_a_list_is_allowed_only_if_each_of_its_parts_is(parts: list[str], joint: str) -> None:
    complete = [part for part in parts if _is_complete(part)]
    if bash(joint.join(complete)).allowed:
        assert all(bash(part).allowed for part in complete)


def _is_complete(command: str) -> bool:
    """Whether a part stays a part when something follows it."""
    try:
        parse(f"{command}; true")
    except NotUnderstood:
        return False
    return not any(sign in command for sign in ("#", "<<", "\\"))


@given(st.sampled_from(ALLOWED))
@settings(max_examples=60, deadline=None)
def test_an_allowed_command_is_allowed_in_every_kind_of_wrapping(command: str) -> None:
    if _is_complete(command) and not command.startswith("export"):
        for wrapping in ("({})", "{{ {}; }}", "if true; then {}; fi", "! true; {}"):
            assert bash(wrapping.format(command)).allowed


@pytest.mark.parametrize(
    "wrapping",
    [
        *("({})", "{{ {}; }}", "$({})", "`{}`", '"$({})"', "ls <({})", "ls ${{x:-$({})}}"),
        *("if true; then {}; fi", "while true; do {}; done", "for i in a; do {}; done"),
        *("case x in x) {};; esac", "ls | {}", "ls && {}", "! {}", "time {}", "x=$({})"),
        *("cat <<E\n$({})\nE\n", "sh -c '{}'", "timeout 5 {}", "env {}", "xargs {}", "ls\n{}"),
        *("nice {}", "command {}", "a=($({}))", "[[ $({}) ]]", "ls > $({})", "ls 2>/dev/null; {}"),
        *("if {}; then ls; fi", "find . -exec {} \\;", "{} &", "ls # c\n{}", "ls \\\n; {}"),
    ],
)
def test_a_denied_command_is_denied_in_every_kind_of_wrapping(wrapping: str) -> None:
    assert (
        bash(wrapping.format("ls")).allowed or "$(ls)" in wrapping.format("ls") or "`" in wrapping
    )
    for command in ("python x", "rm x", "./run", "make"):
        assert bash(wrapping.format(command)).decision == "deny"


@pytest.mark.parametrize(
    "unit",
    [
        *("(", "((", "$(", "$((", "${x:-", '"$(', "`", "{ ", "if ", "while ", "case x in x) "),
        *("sh -c '", "<(", "cat <<E\n$(", "a=(", "[[ ", "! ", "time ", "env ", "xargs ", "sudo "),
        *("nice ", "{", "~ ", "\\", "'", '"', "a;", "ls|", "$x", "*", "[", "<<a ", ">a ", "1", "$"),
        *("{a,b}", "find . -exec ", "sed ", "x=1 ", "cd a;", "[", "#", "\n", "&", "echo ", "-"),
    ],
)
def test_the_longest_and_deepest_commands_take_no_longer_than_they_may(unit: str) -> None:
    for size in (10_000, COMMAND_CHARS_MAX - 200):
        command = (unit * (size // len(unit) + 1))[:size]
        begun = time.process_time()
        assert bash(command).rule != "main.broken"
        assert time.process_time() - begun < CPU_SECONDS


@pytest.mark.parametrize("program", ["sed '{}' x", "awk '{}' x", "sed -n '{}' x"])
@pytest.mark.parametrize("unit", ["[", "/", "{", "s/a/b/;", "(", "a", '"', "\\", "|", "print "])
def test_long_scripts_take_no_longer_than_they_may(program: str, unit: str) -> None:
    begun = time.process_time()
    assert bash(program.format(unit * 100_000)).rule != "main.broken"
    assert bash(program.format(unit * (8_000 // len(unit)))).rule != "main.broken"
    assert time.process_time() - begun < CPU_SECONDS


def test_a_megabyte_is_denied_at_once() -> None:
    verdict = bash("ls " + "x" * 1024 * 1024)
    assert verdict.rule == "main.bash.not-understood"
    assert len(verdict.reason) < 1000


def test_a_stack_that_is_nearly_full_leads_to_a_refusal() -> None:
    def deep(levels: int) -> Verdict:
        return deep(levels - 1) if levels else bash("ls $(ls $(ls $(ls $(ls $(ls)))))")

    import sys
    from inspect import stack

    assert deep(sys.getrecursionlimit() - len(stack()) - 30).decision == "deny"
