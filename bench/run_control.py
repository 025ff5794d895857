"""Starting and stopping: the time from a wish, in a file or over HTTP, to its effect."""

import statistics
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Final

from bench.lines import Bound, Goal, Line, ratios
from bench.processes import environment
from bench.rounds import in_turns
from bench.supervised import Bell, StateFile, Up, milliseconds, obeying, p99, pause, up
from muster.settings.model import SETTINGS_FILE

STARTS: Final = 5
"""Starts per round, on each side."""

_REST_SECONDS: Final = 0.02
"""Pause between two starts, as between two button presses."""

_GOAL: Final = Goal(Bound.AT_MOST, 3)
_QUICK: Final = Goal(Bound.AT_MOST, 100, "ms")


def ringing(bell: Bell) -> list[str]:
    """A program that first writes to a named pipe."""
    return ["sh", "-c", 'echo > "$0"', str(bell.path)]


# ── desired state in a file ───────────────────────────────────────────────────────────────────────


def measure_starts(folder: Path, rounds: int, starts: int = STARTS) -> list[Line]:
    """Measure the time from renaming a state file into place until the program runs."""
    folder.mkdir(parents=True)
    bell = Bell(folder / "bell")
    program = ringing(bell)
    settings = f'[agents.ringer]\nprompt = "none"\ncommand = {program}\n'
    alone = StateFile(folder / "agent_state.json")
    with obeying(alone.path, program), up(folder / "team", settings) as team:
        member = StateFile(team.home / "agents" / "ringer" / "agent_state.json")
        sides = {
            "bare": lambda: [bare(program, bell) for _ in range(starts)],
            "file": lambda: [wished(alone, bell) for _ in range(starts)],
            "team": lambda: [wished(member, bell) for _ in range(starts)],
        }
        found = in_turns(sides, rounds)
    bell.close()
    return [_typical_line(found), *_late_lines(found)]


def bare(program: list[str], bell: Bell) -> float:
    """The time from a bare spawn until the program runs."""
    begin = monotonic()
    with subprocess.Popen(
        program, start_new_session=True, stdin=subprocess.DEVNULL, env=environment()
    ):
        took = bell.wait() - begin
    pause(_REST_SECONDS)
    return took


def wished(file: StateFile, bell: Bell) -> float:
    """The time from a desired state in a file until the program runs."""
    file.until("pause", "pause")
    pause(_REST_SECONDS)
    begin = file.wish("run_once")
    took = bell.wait() - begin
    file.until("pause", "pause")
    return took


_WHAT: Final = "`agent_state.json` replaced by another process, until the program runs"


def _typical_line(found: Mapping[str, list[list[float]]]) -> Line:
    medians = {side: [statistics.median(each) for each in some] for side, some in found.items()}
    file, team, spawn = (statistics.median(medians[side]) for side in ("file", "team", "bare"))
    return Line(
        what=f"`muster run`: {_WHAT} (p50)",
        against="the bare spawn of that program (p50)",
        goal=_GOAL,
        figures=ratios(medians["file"], medians["bare"]),
        aside=f"{milliseconds(file)} against {milliseconds(spawn)}; "
        f"{milliseconds(team)} in a team, where the wish is on disk before",
    )


def _late_lines(found: Mapping[str, list[list[float]]]) -> Iterator[Line]:
    for side, who in (("file", "`muster run`"), ("team", "an agent of `muster up`")):
        samples = [each for some in found[side] for each in some]
        yield Line(
            what=f"{who}: {_WHAT} (p99)",
            against="nothing",
            goal=_QUICK,
            figures=[1000 * p99(samples)],
            aside=f"{len(samples)} starts",
        )


# ── desired state over HTTP ───────────────────────────────────────────────────────────────────────

_STOPPED: Final = """
[agents.stays]
prompt = "none"
command = ["sleep", "600"]

[agents.fails]
prompt = "none"
command = ["false"]
"""


def measure_stops(folder: Path, rounds: int) -> list[Line]:
    """Measure the time from a stop until `current` is `pause`."""
    with up(folder, _STOPPED) as team:
        sides = {"resting": _resting(team), "obeying": _obeying(team)}
        found = in_turns(sides, rounds)
    whats = {
        "resting": "stop of an agent that rests after a failure, until current says pause (p99)",
        "obeying": "stop `--now` of a program that obeys SIGINT, until current says pause (p99)",
    }
    return [
        Line(
            what=what,
            against="nothing",
            goal=_QUICK,
            figures=[1000 * p99(found[side])],
            aside=f"{len(found[side])} stops, p50 {milliseconds(statistics.median(found[side]))}",
        )
        for side, what in whats.items()
    ]


def _resting(team: Up) -> Callable[[], float]:
    """Stop an agent during its backoff."""
    ends = team.client.events(after=-1, types=["session_end"], agent="fails")

    def stop() -> float:
        team.client.run("fails", "continuous")
        next(ends)
        begin = monotonic()
        run = team.client.run("fails", "pause")
        took = monotonic() - begin
        if (run.current, run.session) != ("pause", None):
            raise RuntimeError(f"it did not rest: {run}")
        return took

    return stop


def _obeying(team: Up) -> Callable[[], float]:
    """Stop a program that exits at SIGINT."""
    moves = team.client.events(after=-1, types=["state_transition"], agent="stays")

    def moved(to: str) -> None:
        wanted = f'"to":"{to}"'.encode()
        next(each for each in moves if b'"machine":"run"' in each.data and wanted in each.data)

    def stop() -> float:
        team.client.run("stays", "continuous")
        moved("continuous")
        begin = monotonic()
        team.client.run("stays", "pause", now=True)
        moved("pause")
        return monotonic() - begin

    return stop


# ── agents in the settings ────────────────────────────────────────────────────────────────────────

_SOON: Final = Goal(Bound.AT_MOST, 500, "ms")


def measure_settings(folder: Path, rounds: int) -> list[Line]:
    """Measure the time from saving a changed `muster.toml` until the new agent's program runs."""
    folder.mkdir(parents=True)
    bell = Bell(folder / "bell")
    table = f'prompt = "none"\nautostart = true\nrestart = "never"\ncommand = {ringing(bell)}\n'
    with up(folder / "team", "") as team:
        samples = [_added(team, bell, table, number) for number in range(rounds)]
    bell.close()
    return [
        Line(
            what="a changed `muster.toml` saved, until the program of its new agent runs (p99)",
            against="nothing",
            goal=_SOON,
            figures=[1000 * p99(samples)],
            aside=f"{len(samples)} agents, p50 {milliseconds(statistics.median(samples))}; "
            "100 ms of it is the wait until the file is quiet",
        )
    ]


def _added(team: Up, bell: Bell, table: str, number: int) -> float:
    """Save the file as an editor does: aside, then renamed."""
    path = team.home / SETTINGS_FILE
    aside = path.with_suffix(".new")
    aside.write_text(f"{path.read_text()}[agents.ringer{number}]\n{table}", encoding="utf-8")
    pause(_REST_SECONDS)
    begin = monotonic()
    aside.replace(path)
    return bell.wait() - begin
