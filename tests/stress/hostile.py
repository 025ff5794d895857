"""Hostile inputs of every kind, and how long `/api/health` takes meanwhile.

    python -m tests.stress.hostile --seconds 30

A real server gets each kind of hostile input for some seconds, and then all of them at once, from
processes of their own. All the while its health is asked for. The goal is a 99th percentile below
250 ms, and the same process at the end, which still accepts a message and stops in order.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from tests.asking import asker
from tests.live import Server, live
from tests.stress.hostile_inputs import KINDS
from tests.stress.soak_agent import pause

GOAL_SECONDS: Final = 0.25
PAUSE_SECONDS: Final = 0.01
HEALTH_SECONDS: Final = 60.0

PRINTS: Final = r"""
import itertools, json
for number in itertools.count():
    line = {"type": "result", "ok": True, "text": "x" * (number % 5000)}
    usage = {"inputTokens": 10**23 if number % 2 else -5, "costUsd": 1e308}
    print(json.dumps(line | {"usage": usage}), flush=True)
    print('[AGENT_STATUS] {"agents": [' + '"a",' * 900 + '"b"]}', flush=True)
    print("[" * 20000, flush=True)
    asked = {"type": "approval_request", "id": f"r{number}", "tool": "Bash", "detail": "x"}
    print(json.dumps(asked | {"input": {"command": "`a` " * 15000}}), flush=True)
"""


class Latency(NamedTuple):
    """The times that health took, in seconds, in order of size."""

    times: Sequence[float]

    @property
    def p50(self) -> float:
        """The median."""
        return self.times[len(self.times) // 2]

    @property
    def p99(self) -> float:
        """The time that one in a hundred takes longer than."""
        return self.times[int(len(self.times) * 0.99)]

    def __str__(self) -> str:
        shown = (self.p50, self.p99, self.times[-1])
        told = " ".join(f"{each * 1000:8.1f}" for each in shown)
        return f"{told} ms (p50 p99 max of {len(self.times)})"


def measured(server: Server, attackers: Sequence[subprocess.Popen[bytes]]) -> Latency:
    """Ask for the health of a server until its attackers are done."""
    at, times = urlsplit(server.url), list[float]()
    while any(each.poll() is None for each in attackers) or not times:
        connection = HTTPConnection(at.hostname or "", at.port, timeout=HEALTH_SECONDS)
        begun = monotonic()
        connection.request("GET", "/api/health")
        assert connection.getresponse().read()
        times.append(monotonic() - begun)
        connection.close()
        pause(PAUSE_SECONDS)
    return Latency(sorted(times))


def attacked(
    server: Server, home: Path, tokens: tuple[str, str], kinds: Sequence[str], seconds: float
) -> Latency:
    """The health of a server while these kinds of input come in."""
    with ExitStack() as open_processes:
        attackers: list[subprocess.Popen[bytes]] = []
        for kind in kinds:
            module = [sys.executable, "-m", "tests.stress.hostile_inputs", kind, server.url]
            attacker = subprocess.Popen([*module, *tokens, str(home), str(seconds)])
            open_processes.enter_context(attacker)
            open_processes.callback(attacker.kill)
            attackers.append(attacker)
        return measured(server, attackers)


def settings(home: Path) -> str:
    """A team with an agent of files, one that prints, and one that talks by its token."""
    program = home.parent / "prints.py"
    program.write_text(PRINTS)
    return f"""
[agents.filer]
runtime = "file"
[agents.printer]
command = ["{sys.executable}", "{program}"]
long_lived = true
"""


def hostile(home: Path, seconds: float, phases: Sequence[Sequence[str]]) -> dict[str, Latency]:
    """Attack a new server with the kinds of each phase, one phase after the other."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "muster.toml").write_text(settings(home))
    found: dict[str, Latency] = {}
    with live(home) as server, asker(server, server.token) as operator:
        operator.post("/api/agents", {"name": "Ada"}, 201)
        agent = operator.post("/api/tokens", {"role": "agent", "agent": "Ada"}, 201)["secret"]
        viewer = operator.post("/api/tokens", {"role": "viewer"}, 201)["secret"]
        for kinds in phases:
            if "printing" in kinds:
                wish = {"desired": "continuous"}
                operator.asked("PUT", "/api/agents/printer/run", 200, json=wish)
            label = kinds[0] if len(kinds) == 1 else "all"
            found[label] = attacked(server, home, (viewer, agent), kinds, seconds)
            print(f"{label:14} {found[label]}", flush=True)
            assert server.process.poll() is None, "the server has ended"
        sent = operator.post("/api/agents/Ada/messages", {"message": "still there?"}, 201)
        assert sent["seq"] > 0
    assert server.process.poll() == 0
    return found


def main() -> None:
    """Attack a server, and print how its health was."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=30.0, help="for each kind")
    options.add_argument("--kind", action="append", choices=sorted(KINDS))
    options.add_argument("--together", action="store_true", help="all at once, and nothing else")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kinds = given.kind or list(KINDS)
        alone = [] if given.together else [["nothing"], *([each] for each in kinds)]
        phases = [*alone, kinds]
        found = hostile(Path(folder) / "home", given.seconds, phases)
    worst = max(each.p99 for each in found.values())
    load = os.getloadavg()[0]
    print(f"worst p99 {worst * 1000:.0f} ms, goal {GOAL_SECONDS * 1000:.0f} ms, load {load:.1f}")
    sys.exit(worst > GOAL_SECONDS)


if __name__ == "__main__":
    main()
