"""Paused means paused: real agents are started, paused in every way, and tempted to start.

    python -m tests.stress.paused --trials 10000 --seed 7

A trial is one agent in one round. The agents are started; each is paused through the API or through
its state file (in place or by rename), while muster runs or while it is down. Then messages, posts,
turns, disabling and enabling, restarts and kill -9 of muster try to start it. Each program records
the time at which the kernel started it: later than the pause is a violation.

Every round has its own random numbers, from the seed and its number. A run that fails or that
Ctrl-C ends prints the command that goes on with its last round.
"""

import argparse
import itertools
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final, NamedTuple

import httpx
import msgspec

from tests.homes import environment
from tests.live import NO_TLS
from tests.stress.soak_agent import pause

HANG_SECONDS: Final = 3600.0
"""A wait that takes longer is a hang: no machine is as busy as that."""

SLOW_SECONDS: Final = 30.0
"""A wait that takes longer says what for, again and again."""

EDIT_SECONDS: Final = 5.0
"""After this time without effect, a person would look into the file and edit it again."""

TICK_SECONDS: Final = 1 / os.sysconf("SC_CLK_TCK")
"""The kernel's start times are this exact."""

STORM_SECONDS: Final = 0.4
"""How long every round tempts paused agents; the shortest retries are due within a second."""

BEGIN: Final = 'read -r stat < /proc/$$/stat; echo "${stat##*) }" >> "$0"; '
KINDS: Final = {
    "quick": "exit 0",  # the next session is due within a second
    "fails": "exit 1",  # a retry is due
    "works": "sleep 0.3",
    "stays": "exec sleep 600",
    "reads": "while read -r line; do :; done",  # long-lived: prompts come in
}
"""The programs, by the name of their kind. `$0` is the book in which each records its start."""

WAYS: Final = ("api", "api_now", "in_place", "rename", "down_in_place", "down_rename")
TROUBLES: Final = ("none", "none", "restart", "kill")

Json = Any  # any JSON value


class Started(AssertionError):
    """A paused agent was started, or a pause was lost."""


class Score(msgspec.Struct):
    """The figures of a run."""

    trials: int = 0
    rounds: int = 0
    starts: int = 0
    """Programs that ran, all of them while they were to."""

    overtaken: int = 0
    """Starts that a pause in a file undid, which had been written before and was read after."""

    edited_again: int = 0
    """Edits in place that were lost in the race with muster's own write, and made again."""

    requests: int = 0
    """Requests that tempted paused agents."""

    restarts: int = 0
    kills: int = 0
    ways: Counter[str] = msgspec.field(default_factory=Counter[str])


class Trial(NamedTuple):
    """One agent in one round."""

    agent: str
    way: str


class Pausing:
    """A team, its server, and the rounds."""

    def __init__(self, folder: Path, seed: int, agents: int, first_round: int = 0) -> None:
        self._folder = folder
        self._home = folder / "home"
        self._seed = seed
        self._chance = random.Random(seed)
        self._server: subprocess.Popen[str] | None = None
        self._opened = ExitStack()
        self._http = self._opened.enter_context(httpx.Client(verify=NO_TLS))
        self.score = Score(rounds=first_round, trials=first_round * agents)
        kinds = list(KINDS)
        self._agents = [f"{kinds[number % len(kinds)]}-{number}" for number in range(agents)]
        self._write_settings()

    def _write_settings(self) -> None:
        self._home.mkdir()
        tables = [f"[agents.{name}]\n{self._table(name)}\n" for name in self._agents]
        rules = "interrupt_seconds = 0.05\nterminate_seconds = 0.5\nrestart_seconds = 0.1\n"
        settings = [table + rules for table in tables]
        (self._home / "muster.toml").write_text("\n".join(settings))

    def _table(self, name: str) -> str:
        kind = name.partition("-")[0]
        command = ["/bin/sh", "-c", BEGIN + KINDS[kind], str(self._book(name))]
        lives = "long_lived = true" if kind == "reads" else "loop = true"
        return f"command = {json.dumps(command)}\n{lives}"

    def _book(self, name: str) -> Path:
        return self._folder / f"{name}.book"

    def run(self, trials: int, tell: Callable[[Score], None]) -> Score:
        """Run rounds until there were so many trials."""
        try:
            self._up()
            self._create_channel()
            while self.score.trials < trials:
                self._round(min(trials - self.score.trials, len(self._agents)))
                tell(self.score)
        finally:
            self._down(kill=False)
            self._opened.close()
        return self.score

    # ── one round ─────────────────────────────────────────────────────────────────────────────────

    def _round(self, trials: int) -> None:
        self._chance = random.Random(f"{self._seed}, round {self.score.rounds}")
        chosen = self._chance.sample(self._agents, trials)
        self._start(chosen)
        plan = [Trial(name, self._chance.choice(WAYS)) for name in chosen]
        paused = self._pause(plan)
        trouble = self._chance.choice(TROUBLES)
        self._tempt([trial.agent for trial in plan], trouble)
        for trial in plan:
            self._check(trial, paused[trial.agent], trouble)
            self.score.ways[trial.way] += 1
        self.score.trials += trials
        self.score.rounds += 1
        self._settle()

    def _start(self, names: Sequence[str]) -> None:
        """Start agents, and wait for some of the programs: a pause may also hit a start."""
        before = {name: len(self._starts(name)) for name in names}
        for name in names:
            mode = self._chance.choice(["continuous", "continuous", "run_once", "run_cleanup"])
            self._call("PUT", f"/api/agents/{name}/run", {"desired": mode})
        for name in names:
            if self._chance.random() < 0.5:
                self._until_started(name, before[name])

    def _until_started(self, name: str, before: int) -> None:
        """Wait for a program. An edit of the round before may be read late, and pause it again."""

        polls = itertools.count(1)

        def is_up_or_paused() -> bool:
            if len(self._starts(name)) > before:
                return True
            if next(polls) % 100:  # requests take CPU time from the start that they wait for
                return False
            if (run := self._run_state(name))["desired"] == "pause" and run["setBy"] == "file":
                self.score.overtaken += 1
                return True
            return False

        try:
            self._until(is_up_or_paused, f"{name} starts")
        except TimeoutError as late:
            raise TimeoutError(f"{late}: {json.dumps(self._run_state(name))}") from None

    def _pause(self, plan: Sequence[Trial]) -> dict[str, float]:
        """Pause each agent in its way. Returns the times from which nothing may start."""
        paused: dict[str, float] = {}
        for trial in plan:
            if trial.way.startswith("api"):
                body = {"desired": "pause", "now": trial.way == "api_now"}
                self._call("PUT", f"/api/agents/{trial.agent}/run", body)
                paused[trial.agent] = _uptime()
            elif not trial.way.startswith("down"):
                self._edit(trial)
        for trial in plan:
            if trial.way in ("in_place", "rename"):
                self._until_taken_up(trial)
                paused[trial.agent] = _uptime()
        down = [trial for trial in plan if trial.way.startswith("down")]
        if down:
            self._down(kill=self._chance.random() < 0.5)
            for trial in down:
                self._edit(trial)
                paused[trial.agent] = _uptime()
            self._up()
        return paused

    def _until_taken_up(self, trial: Trial) -> None:
        """Wait for a pause in a file. A write in place may be lost: then it is made again."""
        edited = time.monotonic()

        def is_paused() -> bool:
            nonlocal edited
            if self._is_paused(trial.agent):
                return True
            if time.monotonic() - edited > EDIT_SECONDS and not self._file_says_pause(trial.agent):
                edited = time.monotonic()
                self.score.edited_again += 1
                self._edit(trial)
            return False

        self._until(is_paused, f"{trial} is taken up")

    def _edit(self, trial: Trial) -> None:
        """Write a pause into a state file as a person does: nothing else changes."""
        path = self._state_file(trial.agent)
        content = json.dumps(json.loads(path.read_bytes()) | {"desired_state": "pause"}, indent=2)
        if trial.way.endswith("rename"):
            aside = path.with_name("person.tmp")
            aside.write_text(content)
            aside.replace(path)
        else:
            path.write_text(content)

    def _tempt(self, names: Sequence[str], trouble: str) -> None:
        """Ask for work in every way that is not a start, while muster may be restarted."""
        until = time.monotonic() + STORM_SECONDS
        storms = [
            Thread(target=self._storm, args=(names, self._chance.random(), until)) for _ in range(2)
        ]
        for each in storms:
            each.start()
        if trouble != "none":
            pause(self._chance.random() * STORM_SECONDS)
            self._down(kill=trouble == "kill")
            self._up()
        for each in storms:
            each.join()
        pause(STORM_SECONDS * self._chance.random())

    def _storm(self, names: Sequence[str], seed: float, until: float) -> None:
        chance = random.Random(seed)
        while time.monotonic() < until:
            name = chance.choice(names)
            method, path, body = chance.choice(_TEMPTATIONS)
            with suppress(httpx.TransportError):  # muster may be down
                self._http.request(method, path.format(name=name), json=_filled(body, name))
                self.score.requests += 1

    def _check(self, trial: Trial, paused: float, trouble: str) -> None:
        """No start after the pause, and the pause is still there: in muster and in the file."""
        late = [at - paused for at in self._starts(trial.agent) if at > paused + TICK_SECONDS]
        where = f"round {self.score.rounds}, {trial}, then {trouble}"
        if late:
            raise Started(f"{where}: started {late[0]:.3f} s after its pause")
        if not self._is_paused(trial.agent):
            raise Started(f"{where}: the desired state is no longer pause")
        self._until(lambda: self._file_says_pause(trial.agent), f"{where}: the file says pause")
        self.score.starts += len(self._starts(trial.agent))
        self._book(trial.agent).unlink(missing_ok=True)

    def _settle(self) -> None:
        """End what still runs, so that the next round starts from pause."""
        for name in self._agents:
            self._call("POST", f"/api/agents/{name}/enable", {})
            self._call("PUT", f"/api/agents/{name}/run", {"desired": "pause", "now": True})
        self._until(self._all_ended, "everything ends")
        for name in self._agents:
            self._book(name).unlink(missing_ok=True)

    # ── looking ───────────────────────────────────────────────────────────────────────────────────

    def _starts(self, name: str) -> list[float]:
        """The start times of an agent's programs, in seconds after the machine was booted."""
        try:
            lines = self._book(name).read_text().splitlines()
        except FileNotFoundError:
            return []
        return [int(line.split()[19]) * TICK_SECONDS for line in lines]

    def _is_paused(self, name: str) -> bool:
        return self._run_state(name)["desired"] == "pause"

    def _run_state(self, name: str) -> Json:
        return self._call("GET", f"/api/agents/{name}/run")

    def _file_says_pause(self, name: str) -> bool:
        return json.loads(self._state_file(name).read_bytes())["desired_state"] == "pause"

    def _all_ended(self) -> bool:
        agents = self._call("GET", "/api/agents")["agents"]
        return all(each["current"] == "pause" for each in agents)

    def _state_file(self, name: str) -> Path:
        return self._home / "agents" / name / "agent_state.json"

    def _until(self, condition: Callable[[], object], what: str) -> None:
        began = told = time.monotonic()
        while not condition():
            now = time.monotonic()
            if now - began > HANG_SECONDS:
                raise TimeoutError(f"round {self.score.rounds}: it hangs: {what}")
            if now - told > SLOW_SECONDS:
                told = now
                print(f"round {self.score.rounds}, since {now - began:.0f} s: {what}", flush=True)
            pause(0.01)

    # ── the server ────────────────────────────────────────────────────────────────────────────────

    def _up(self) -> None:
        command = [sys.executable, "-m", "muster", "up", "--home", str(self._home), "--port", "0"]
        with (self._folder / "server.log").open("a") as log:
            self._server = subprocess.Popen(
                command, env=environment({}), stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._server.stdout is not None
        found = re.search(r"http://[^\s/]+", self._server.stdout.readline())
        assert found, f"muster did not start: {(self._folder / 'server.log').read_text()[-2000:]}"
        token = (self._home / "operator.token").read_text().strip()
        headers = {"authorization": f"Bearer {token}"}
        client = httpx.Client(
            base_url=found[0], headers=headers, timeout=HANG_SECONDS, verify=NO_TLS
        )
        self._http = self._opened.enter_context(client)  # the storms may still use the last one

    def _down(self, *, kill: bool) -> None:
        server, self._server = self._server, None
        if server is None:
            return
        if kill:
            server.kill()
            self.score.kills += 1
        else:
            server.terminate()
            self.score.restarts += 1
        server.communicate(timeout=HANG_SECONDS)

    def _create_channel(self) -> None:
        self._call("POST", "/api/channels", {"channel": "room", "members": self._agents})

    def _call(self, method: str, path: str, body: Json = None) -> Json:
        try:
            answer = self._http.request(method, path, json=body)
        except httpx.TransportError:  # a kept connection that the server had just closed
            answer = self._http.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json()


_TEMPTATIONS: Final[Sequence[tuple[str, str, Json]]] = (
    ("POST", "/api/send", {"message": "work", "targetAgent": "{name}"}),
    ("POST", "/api/send", {"message": "work, all of you", "channel": "room"}),
    ("POST", "/api/send", {"message": "work now", "channel": "room", "mode": "parallel"}),
    ("POST", "/api/channels/room/turn/override", {"to": "ACTIVE", "agent": "{name}"}),
    ("POST", "/api/agents/{name}/restart", {}),
    ("POST", "/api/agents/{name}/disable", {}),
    ("POST", "/api/agents/{name}/enable", {}),
)
"""Requests that may be refused or not, and that never may start a paused agent."""


def _filled(body: Json, name: str) -> Json:
    return {key: value.replace("{name}", name) for key, value in body.items()}


def _uptime() -> float:
    """The clock of the kernel's start times."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def paused(
    folder: Path,
    *,
    trials: int,
    seed: int,
    agents: int = 40,
    first_round: int = 0,
    tell: Callable[[Score], None] = lambda score: None,
) -> Score:
    """Run so many trials in a folder, those of the rounds before the first one included.

    Raises `Started` if a paused agent was started.
    """
    return Pausing(folder, seed, agents, first_round).run(trials, tell)


def main(args: Sequence[str]) -> None:
    """Run the trials of the command line, with the progress on the terminal."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress.paused")
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--agents", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first-round", type=int, default=0, help="go on with this round")
    chosen = parser.parse_args(args)
    began, done = time.monotonic(), chosen.first_round

    def tell(score: Score) -> None:
        nonlocal done
        done, seconds = score.rounds, time.monotonic() - began
        line = f"{score.trials} of {chosen.trials} trials in {seconds:.0f} s, no start while paused"
        print(line, end="\r" if sys.stdout.isatty() else "\n", flush=True)

    try:
        with tempfile.TemporaryDirectory() as folder:
            score = paused(Path(folder), **vars(chosen), tell=tell)
    except (Exception, KeyboardInterrupt) as error:
        options = vars(chosen) | {"first_round": done}
        words = " ".join(f"--{key.replace('_', '-')} {value}" for key, value in options.items())
        print(f"\nto go on: python -m tests.stress.paused {words}", file=sys.stderr)
        if isinstance(error, KeyboardInterrupt):
            sys.exit(130)
        raise
    print(f"\nnothing started while it was paused: {score}; {_cpu_seconds():.0f} s of CPU time")


def _cpu_seconds() -> float:
    """The CPU time of this process, the servers and their programs, which have all ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    main(sys.argv[1:])
