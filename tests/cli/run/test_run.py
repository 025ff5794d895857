"""`muster run`: one program under one state file, with real processes and no server."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.homes import MUSTER_SCRIPT, environment, muster
from tests.stress.run_cycles import programs, storm
from tests.stress.state_file_race import race
from tests.waits import WAIT_SECONDS, until

PROGRAM = """
import os, signal, sys, time

folder = sys.argv[1]
if "--stubborn" in sys.argv:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(os.path.join(folder, "book"), "a") as book:
    book.write(f"begin {os.environ['MUSTER_MODE']} {' '.join(sys.argv[2:])}".strip() + "\\n")
print("the prompt is", sys.stdin.read() or "empty", flush=True)
while not os.path.exists(os.path.join(folder, "finish")):
    time.sleep(0.01)
with open(os.path.join(folder, "book"), "a") as book:
    book.write("end\\n")
print("done", file=sys.stderr)
"""


class Stage:
    """A folder with a state file, a runner, and a program that ends when it is told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "agent_state.json"
        self.runners: list[subprocess.Popen[str]] = []

    def start(
        self, *options: str, program: tuple[str, ...] = (), arguments: tuple[str, ...] = ()
    ) -> subprocess.Popen[str]:
        """Start a runner, and wait until it obeys the file."""
        command = program or (sys.executable, "-S", "-c", PROGRAM, str(self.folder), *arguments)
        times = ("--interrupt-seconds", "0.3", "--terminate-seconds", "0.3")
        with (self.folder / "out").open("w") as out, (self.folder / "err").open("w") as err:
            runner = subprocess.Popen(
                [
                    *(MUSTER_SCRIPT, "run", "--state-file", str(self.path)),
                    *(*times, *options, "--", *command),
                ],
                env=environment({}),
                stdout=out,
                stderr=err,
                text=True,
            )
        self.runners.append(runner)
        self.until(lambda: "follows" in self.said())
        return runner

    def said(self) -> str:
        return (self.folder / "err").read_text()

    def printed(self) -> str:
        return (self.folder / "out").read_text()

    def book(self) -> list[str]:
        book = self.folder / "book"
        return book.read_text().splitlines() if book.exists() else []

    def fields(self) -> dict[str, Any]:  # any JSON value
        try:
            return json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}

    def states(self) -> tuple[object, object]:
        fields = self.fields()
        return fields.get("desired_state"), fields.get("current_state")

    def wish(self, desired: str) -> None:
        """Write what Mission Control writes when a user presses a button."""
        fields = self.fields() | {"desired_state": desired, "setBy": "human", "note": "a button"}
        aside = self.folder / "person.tmp"
        aside.write_text(json.dumps(fields))
        aside.replace(self.path)

    def finish(self) -> None:
        """Let programs come to their end from now on."""
        (self.folder / "finish").touch()

    def hold(self) -> None:
        """Let programs go on for ever from now on."""
        (self.folder / "finish").unlink(missing_ok=True)

    def until(self, condition: Callable[[], object]) -> None:
        until(condition, lambda: f"{self.fields()} {self.book()} {self.said()}")

    def until_states(self, desired: str, current: str) -> None:
        self.until(lambda: self.states() == (desired, current))

    def close(self) -> None:
        for runner in self.runners:
            runner.kill()
            runner.wait(WAIT_SECONDS)
        for pid in programs(self.path):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.close()


# ── the four workflows ────────────────────────────────────────────────────────────────────────────


def test_continuous_runs_one_session_after_another_until_something_else_is_wished(
    stage: Stage,
) -> None:
    stage.start()
    stage.until_states("pause", "pause")
    stage.finish()
    stage.wish("continuous")
    stage.until_states("continuous", "continuous")
    stage.until(lambda: stage.book().count("end") >= 2)
    assert stage.states() == ("continuous", "continuous")
    stage.wish("pause")
    stage.until_states("pause", "pause")
    assert stage.book().count("begin continuous") == stage.book().count("end")


def test_pause_lets_the_session_finish_and_then_waits_for_another_wish(stage: Stage) -> None:
    stage.start()
    stage.wish("continuous")
    stage.until(lambda: stage.book() == ["begin continuous"])
    stage.until_states("continuous", "continuous")
    stage.wish("pause")
    stage.until(lambda: "an edit of its state file set pause" in stage.said())
    assert stage.states() == ("pause", "continuous")
    assert stage.book() == ["begin continuous"]
    stage.finish()
    stage.until_states("pause", "pause")
    assert stage.book() == ["begin continuous", "end"]
    stage.wish("run_once")
    stage.until(lambda: stage.book()[2:] == ["begin run_once", "end"])
    stage.until_states("pause", "pause")


@pytest.mark.parametrize(
    ("mode", "begins"),
    [("run_once", "begin run_once"), ("run_cleanup", "begin run_cleanup --cleanup-session")],
)
def test_a_one_shot_is_exactly_one_session_and_then_pause_is_written_twice(
    stage: Stage, mode: str, begins: str
) -> None:
    stage.start()
    stage.wish(mode)
    stage.until_states(mode, mode)
    stage.until(lambda: stage.book() == [begins])
    stage.finish()
    stage.until_states("pause", "pause")
    assert stage.book() == [begins, "end"]
    assert (stage.fields()["setBy"], stage.fields()["note"]) == ("human", "a button")


def test_a_wish_that_was_there_before_the_runner_is_obeyed(stage: Stage) -> None:
    stage.wish("run_once")
    stage.finish()
    stage.start()
    stage.until_states("pause", "pause")
    assert stage.book() == ["begin run_once", "end"]


# ── its ends ──────────────────────────────────────────────────────────────────────────────────────


def test_the_first_ctrl_c_lets_the_session_finish_and_keeps_what_is_wished(stage: Stage) -> None:
    runner = stage.start()
    stage.wish("continuous")
    stage.until_states("continuous", "continuous")
    runner.send_signal(signal.SIGINT)
    stage.until(lambda: "lets the session finish" in stage.said())
    assert "end" not in stage.book()
    stage.finish()
    assert runner.wait(WAIT_SECONDS) == 0
    assert stage.book() == ["begin continuous", "end"]
    assert stage.states() == ("continuous", "pause")


@pytest.mark.parametrize("stubborn", [False, True])
def test_the_second_ctrl_c_ends_the_session_now(stage: Stage, stubborn: bool) -> None:
    runner = stage.start(arguments=("--stubborn",) if stubborn else ())
    stage.wish("continuous")
    stage.until(lambda: len(stage.book()) == 1)
    stage.until_states("continuous", "continuous")
    runner.send_signal(signal.SIGINT)
    stage.until(lambda: "lets the session finish" in stage.said())
    runner.send_signal(signal.SIGINT)
    assert runner.wait(WAIT_SECONDS) == 0
    assert stage.states() == ("continuous", "pause")
    assert "end" not in stage.book()
    assert programs(stage.path) == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_ends_the_session_now_and_one_that_rests_at_once(
    stage: Stage, how: signal.Signals
) -> None:
    runner = stage.start()
    stage.wish("continuous")
    stage.until_states("continuous", "continuous")
    runner.send_signal(how)
    assert runner.wait(WAIT_SECONDS) == 0
    assert stage.states() == ("continuous", "pause")
    stage.wish("pause")
    runner = stage.start()
    stage.until_states("pause", "pause")
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(WAIT_SECONDS) == 0
    assert programs(stage.path) == []


def test_a_one_shot_that_the_runner_cut_off_is_still_wanted(stage: Stage) -> None:
    runner = stage.start()
    stage.wish("run_once")
    stage.until_states("run_once", "run_once")
    stage.until(stage.book)
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(WAIT_SECONDS) == 0
    assert stage.states() == ("run_once", "pause")
    assert "run_once is still wanted" in stage.said()
    stage.finish()
    stage.start()
    stage.until_states("pause", "pause")
    assert stage.book() == ["begin run_once", "begin run_once", "end"]


def test_what_a_killed_runner_left_is_ended_by_the_next(stage: Stage) -> None:
    runner = stage.start()
    stage.wish("continuous")
    stage.until_states("continuous", "continuous")
    (left,) = programs(stage.path)
    runner.kill()
    runner.wait(WAIT_SECONDS)
    assert programs(stage.path) == [left]
    stage.start()
    stage.until(lambda: f"ended what it left running: process {left}" in stage.said())
    stage.until(lambda: stage.book() == ["begin continuous"] * 2)
    assert left not in programs(stage.path)
    assert stage.states()[0] == "continuous"


# ── what can be wrong ─────────────────────────────────────────────────────────────────────────────


def test_a_file_has_one_runner_at_a_time(stage: Stage) -> None:
    runner = stage.start()
    second = muster("run", "--state-file", str(stage.path), "--", "true")
    assert second.returncode == 3
    assert f"process {runner.pid}" in second.stderr


def test_a_folder_that_is_not_there_is_a_mistake_in_the_call(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "agent_state.json"
    ran = muster("run", "--state-file", str(path), "--", "true")
    assert ran.returncode == 2
    assert "is not a folder" in ran.stderr
    assert not path.parent.exists()


def test_a_program_that_is_not_there_is_said_in_the_file_and_tried_again_later(
    stage: Stage,
) -> None:
    stage.start(program=("no-such-program",))
    stage.wish("run_once")
    stage.until(lambda: "no-such-program" in stage.fields().get("note", ""))
    stage.until_states("pause", "pause")
    stage.wish("continuous")
    stage.until(lambda: "failed once; the next session starts at" in stage.said())
    stage.until_states("continuous", "pause")


def test_a_program_that_ends_at_once_is_not_run_in_a_busy_loop(stage: Stage) -> None:
    stage.start(program=("true",))
    stage.wish("continuous")
    stage.until(lambda: stage.said().count("session completed") == 2)
    assert "ended at once" in stage.said()


def test_a_removed_file_means_pause_as_a_missing_one_does(stage: Stage) -> None:
    stage.start()
    stage.wish("continuous")
    stage.until_states("continuous", "continuous")
    stage.path.unlink()
    stage.finish()
    stage.until_states("pause", "pause")
    assert stage.book() == ["begin continuous", "end"]


# ── what it hands on ──────────────────────────────────────────────────────────────────────────────


def test_the_program_has_the_prompt_and_muster_s_own_outputs(stage: Stage) -> None:
    prompt = stage.folder / "prompt.md"
    prompt.write_text("be kind")
    stage.finish()
    stage.wish("run_once")
    stage.start("--prompt", str(prompt))
    stage.until_states("pause", "pause")
    assert stage.printed() == "the prompt is be kind\n"
    assert "\ndone\n" in stage.said()


# ── storms ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.exhaustive
def test_no_wish_of_a_person_who_renames_is_ever_lost(tmp_path: Path) -> None:
    score = race(tmp_path, seconds=4.0, seed=4, rewritten=10)
    assert score.wishes > score.rewritten >= 10
    assert score.looks > 0


@pytest.mark.exhaustive
def test_kills_leave_nobody_behind_start_nothing_twice_and_the_file_is_right(
    tmp_path: Path,
) -> None:
    score = storm(tmp_path, cycles=8, seed=3)
    assert score.cycles == 8
    assert score.sessions > 0
    assert score.runners_killed > 0
