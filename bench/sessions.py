"""Idle sessions of every runtime: the CPU time that muster spends on one, and the program's own.

muster's share is measured with scripted programs, which do nothing while they wait: many sessions
of a runtime against the same team without any. The real programs of the makers, where `make agents`
has installed them, are looked at beside that: whatever they spend while idle is their own.
"""

import json
import statistics
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Final

from bench.idle import cpu_share
from bench.lines import Bound, Goal, Line
from bench.supervised import Up, pause, until, up
from muster.client import requests
from muster.testing.claude_sandbox import boxed
from tests.acceptance.makers.model import MakersModel
from tests.acceptance.makers.programs import settings_of
from tests.acceptance.makers.team import table
from tests.runtimes import conformance

SESSIONS: Final = 20
SETTLE_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 2.0
MAKERS: Final = ("claude", "codex", "gemini", "opencode", "qwen")
_PROGRAMS: Final = Path(conformance.__path__[0])
_NOBODY: Final = "async def work(turn):\n    return None\n"


def measure(folder: Path, rounds: int) -> list[Line]:
    """Measure the line of idle sessions, by the runtime that costs most."""
    found = {name: shares(folder / name, name, rounds) for name in _settings(folder)}
    worst = max(found, key=lambda name: statistics.median(found[name]))
    ours = ", ".join(f"{name} {statistics.median(each):.4f}" for name, each in found.items())
    own = ", ".join(f"{name} {share:.2f}" for name, share in own_shares(folder / "real").items())
    return [
        Line(
            what=f"an idle session, of {SESSIONS} of one runtime: muster's own share",
            against="one core (CPU time)",
            goal=Goal(Bound.AT_MOST, 0.05, "%"),
            figures=found[worst],
            aside=f"% of muster: {ours}; % of the real programs themselves: {own}",
        )
    ]


def _settings(folder: Path) -> Mapping[str, str]:
    """The table of an agent of each runtime, without its first line."""
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "command": f'command = {_argv("line_agent")}\nlong_lived = true\nspeaks = "lines"\n',
        "acp": f'runtime = "acp"\ncommand = {_argv("acp_agent")}\n',
        "claude": f'runtime = "claude"\nclaude.program = "{_script(folder, "claude_agent")}"\n',
        "codex": f'runtime = "codex"\ncodex.program = "{_script(folder, "codex_agent")}"\n',
        "python": 'runtime = "python"\ntarget = "nobody:work"\n',
    }


def _argv(name: str) -> str:
    return json.dumps([sys.executable, "-S", "-E", str(_PROGRAMS / f"{name}.py")])


def _script(folder: Path, name: str) -> Path:
    path = folder / name
    line = f'"{sys.executable}" -S -E "{_PROGRAMS / name}.py"'
    path.write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
    path.chmod(0o700)
    return path


def shares(folder: Path, runtime: str, rounds: int) -> list[float]:
    """Percent of a core for one session, in each round."""
    rest = _settings(folder)[runtime]
    (folder / "nobody.py").write_text(_NOBODY, encoding="utf-8")
    names = [f"agent-{number}" for number in range(SESSIONS)]
    with up(folder, "".join(f"[agents.{name}]\n{rest}" for name in names)) as team:
        pause(SETTLE_SECONDS)
        without = [cpu_share(team.pid, LOOK_SECONDS) for _ in range(rounds)]
        _start(team, names)
        pause(SETTLE_SECONDS)
        busy = [cpu_share(team.pid, LOOK_SECONDS) for _ in range(rounds)]
    less = statistics.median(without)
    return [max(0.0, each - less) / SESSIONS for each in busy]


def _start(team: Up, names: list[str]) -> None:
    for name in names:
        team.client.run(name, "continuous")
    for name in names:
        until(partial(_runs, team, name), f"{name} does not run")


def _runs(team: Up, name: str) -> bool:
    found = team.client.ask(requests.run_state(name))
    return found.current == "continuous" and found.session is not None


# ── the programs themselves ───────────────────────────────────────────────────────────────────────


def own_shares(folder: Path) -> Mapping[str, float]:
    """Percent of a core that the real program of each maker spends while it waits for work."""
    with ExitStack() as ends:
        model = ends.enter_context(MakersModel())
        box = ends.enter_context(boxed(model.url))
        agents = {each: settings_of(each, model.url, box.root / each) for each in MAKERS[1:]}
        agents["claude"] = settings_of("claude", model.url, box.root / "home")
        tables = [table(name, each) for name, each in agents.items()]
        team = ends.enter_context(up(folder, "\n".join(tables)))
        _start(team, list(agents))
        pause(SETTLE_SECONDS)
        return {name: _own_share(team, name) for name in agents}


def _own_share(team: Up, name: str) -> float:
    """Percent of a core of a session's process and all below it."""
    session = team.client.ask(requests.run_state(name)).session
    assert session is not None
    assert session.pid is not None
    pids = (session.pid, *descendants(session.pid))
    return sum(cpu_share(each, LOOK_SECONDS / len(pids)) for each in pids)


def descendants(pid: int) -> Iterator[int]:
    for each in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            parent = (
                each.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
            )
            if int(parent) == pid:
                child = int(each.parent.name)
                yield child
                yield from descendants(child)
