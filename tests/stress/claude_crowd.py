"""Real Claude Codes at once: how soon all are up, what muster takes, and that no message is lost
while each of them is killed.

    python -m tests.stress.claude_crowd --agents 8 --kills 2

Every agent has a Claude Code of its own, with a configuration of its own and a scripted model. In
each round every agent gets a message and its program gets a SIGKILL: at once in the first round, in
the others when its model was asked. Each message must be answered all the same.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from muster.home import operator_token
from muster.testing.claude_sandbox import Box, boxed
from muster.testing.model import Rule, ScriptedModel
from tests.acceptance.claude.teams import start, table, variables
from tests.acceptance.test_whole_life import Team
from tests.live import Server
from tests.waits import WAIT_SECONDS, until

REQUESTS_MAX = 10_000


class Crowd(NamedTuple):
    """The result of a run."""

    agents: int
    kills: int
    up_s: float
    """From the wish until the last agent was up."""

    pss_mb: float
    """Memory of muster alone, with all agents up."""

    lost: tuple[str, ...]
    """Messages that were never answered."""

    def __str__(self) -> str:
        lost = ", ".join(self.lost) or "none"
        return (
            f"{self.agents} agents up after {self.up_s:.1f} s, muster {self.pss_mb:.0f} MB PSS; "
            f"each killed {self.kills} times, lost messages: {lost}; load {os.getloadavg()[0]:.1f}"
        )


def play(agents: int, kills: int) -> Crowd:
    """Run a crowd of Claude Codes, and kill each of them so often."""
    names = [f"A{number}" for number in range(agents)]
    rules = [_rule(name, number) for number in reversed(range(kills)) for name in names]
    with (
        ScriptedModel(rules, limit=REQUESTS_MAX) as model,
        boxed(model.url) as box,
        _muster(box, model, names) as (team, pid),
    ):
        begin = monotonic()
        start(team, *names)
        up_s, pss_mb = monotonic() - begin, _pss_mb(pid)
        lost: list[str] = []
        for number in range(kills):
            for name in names:
                _ask_and_kill(team, model, name, number)
            lost += _unanswered(team, names, number)
    return Crowd(agents, kills, up_s, pss_mb, tuple(lost))


def _rule(name: str, number: int) -> Rule:
    return Rule(match=f"task {name}-{number}", reply=f"done {name}-{number}")


def _ask_and_kill(team: Team, model: ScriptedModel, name: str, number: int) -> None:
    until(lambda: team.get(f"/api/agents/{name}/run")["session"])
    pid = team.pid(name)
    task = f"task {name}-{number}"
    team.post("/api/send", {"message": task, "targetAgent": name})
    if number:
        until(lambda: any(task in call.text for call in model.calls()))
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _unanswered(team: Team, names: Sequence[str], number: int) -> list[str]:
    """The messages of a round that were not answered in time.

    The next round waits for it: muster hands a message over twice, and then asks a person.
    """

    def missing() -> list[str]:
        return [each for each in names if (each, f"done {each}-{number}") not in team.thread(each)]

    with suppress(AssertionError):
        until(lambda: not missing())
    return [f"{each}-{number}" for each in missing()]


@contextmanager
def _muster(box: Box, model: ScriptedModel, names: Sequence[str]) -> Generator[tuple[Team, int]]:
    """A muster in a process of its own, whose memory is shared with no other."""
    home = box.work / ".muster"
    home.mkdir(mode=0o700)
    settings = [table(name, variables(box, model, name), restart_seconds=0.1) for name in names]
    (home / "muster.toml").write_text("\n".join(settings), encoding="utf-8")
    line = [sys.executable, "-m", "muster", "up", "--home", str(home), "--port", "0"]
    with subprocess.Popen(
        [*line, "--no-browser"], env=box.environ(), stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://[^/\s]+", process.stdout.readline())
            assert found, "muster did not start"
            token = operator_token.find(home)
            assert token is not None
            team = Team(Server(process, found[0], token))
            yield team, process.pid
            team.close()
        finally:
            process.terminate()
            process.wait(WAIT_SECONDS)


def _pss_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) / 1000 if found else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a crowd, and print what came of it."""
    parser = argparse.ArgumentParser(description="Claude Codes at once, each killed.")
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--kills", type=int, default=2)
    given = parser.parse_args(arguments)
    crowd = play(given.agents, given.kills)
    print(crowd)
    return 1 if crowd.lost else 0


if __name__ == "__main__":
    sys.exit(main())
