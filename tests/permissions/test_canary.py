"""A real bash runs the commands that MAIN may run: they must start no program that is not allowed.

Command lines are generated from fragments with a random seed. Many contain a canary: an unknown
program that leaves a trace when it runs. Every line that the judge allows is executed.
"""

import random
import subprocess
from pathlib import Path

import pytest

from muster.permissions.judge import judge
from tests.waits import WAIT_SECONDS

LINES = 400

PIECES = (
    *("ls", "cat", "echo", "canary", "a.txt", "notes.md", "x.py", "$(", ")", "`", "'", '"', "\\"),
    *("\n", ";", "&", "|", "&&", "||", ">", ">>", "<", "<<", "<<<", "<<E\n", "\nE\n", "{", "}"),
    *("(", "((", "))", "[[", "]]", "[", "]", "$x", "${x:-", "$((", "#", "if", "then", "fi", "for"),
    *("in", "do", "done", "case", "esac", ";;", "while", "!", "x=", "$'", "\\x63", "-c", "sh"),
    *("bash", "eval", "xargs", "-exec", "\\;", "sed", "-n", "1p", "1e canary", "awk", "sort", "-o"),
    *("tee", "a=(", "*", "{a,b}", "~", "=", "<(", ">(", "&>", ">&", "<&", "2>&1", "printf", "-v"),
    *("read", "test", "-eq", "time", "command", "env", "cd", "$", "$@", "${x[", "]}", "export"),
    *("x='a[$(canary)]'", "PATH=.", "'canary'", "`canary`", "$(canary)", "'$(canary)'", "f()"),
    *("\\$(canary)", '"\\$(canary)"', "function", "coproc", ":", "set", "--", "declare", "unset"),
)
SHAPES = (
    *("%", "ls %", "echo % | cat", "cat % > notes.md", "x=%; echo $x", 'echo "%"', "echo '%'"),
    *("for i in %; do echo $i; done", "if %; then echo; fi", "echo `%`", "echo $(%)", "[[ % ]]"),
    *("[ % ]", "case % in a) ls;; esac", "cat <<E\n%\nE", "cat <<'E'\n%\nE", "echo ${x:-%}"),
    *("echo $((%))", "sed -n '%' a.txt", "awk '%' a.txt", "sort % a.txt", "find . %", "((%))"),
    *("echo a.txt | xargs %", "printf %", "{ %; }", "(%)", "sh -c '%'", 'bash -c "%"', "test %"),
    *("read % < a.txt", "env %", "timeout 1 %", "x='a[$(canary)]'; %", "x=canary; %", "ls >& %"),
)


def line(chance: random.Random) -> str:
    pieces = chance.choices(PIECES, k=chance.randint(1, 6))
    inner = "".join(piece + chance.choice(("", " ", " ")) for piece in pieces)
    return chance.choice(SHAPES).replace("%", inner)


@pytest.mark.parametrize("seed", range(4))
def test_a_command_that_main_may_run_starts_no_other_program(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    programs, folder, trace = tmp_path / "programs", tmp_path / "folder", tmp_path / "trace"
    programs.mkdir()
    folder.mkdir()
    canary = programs / "canary"
    canary.write_text(f"#!/bin/sh\necho > {trace}\n")
    canary.chmod(0o755)
    ran = 0
    for command in (line(chance) for _ in range(LINES)):
        (folder / "a.txt").write_text("1\n2\nfoo\n")
        if judge("MAIN", "Bash", {"command": command}, cwd=str(folder)).allowed:
            ran += 1
            carry_out(command, folder, programs)
            assert not trace.exists(), command
            assert not list(folder.rglob("*.py")), command
    assert ran > LINES // 10


def carry_out(command: str, folder: Path, programs: Path) -> None:
    subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=WAIT_SECONDS,
        check=False,
    )


def test_the_canary_sings_when_it_is_let(tmp_path: Path) -> None:
    canary, trace = tmp_path / "canary", tmp_path / "trace"
    canary.write_text(f"#!/bin/sh\necho > {trace}\n")
    canary.chmod(0o755)
    carry_out("x='a[$(canary)]'; echo $((x))", tmp_path, tmp_path)
    assert trace.exists()
