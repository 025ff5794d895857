"""A soak test: a real muster and real agents for minutes, while people meddle and all get killed.

    python -m tests.stress.soak --agents 50 --channels 10 --seconds 120 --seed 1

A `muster up` process serves a home of its own. Agents and a human (`soak_agent.py`) are processes
that talk to it over HTTP; every fifth agent uses the Python client (`soak_client.py`). At random
moments one of them, or muster itself, gets a SIGKILL and is started again, some too late to keep
their places. A person interrupts turns, takes them away, chooses who speaks next, removes agents
and adds them again, and retires some. Then posting stops, every agent reads the rest, and the log
is compared with the journals of all processes (`soak_check.py`). A random seed repeats these acts,
but not the scheduling of the machine.
"""

import argparse
import heapq
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import Final, NamedTuple

from muster.machines.vocabulary import InterruptMode
from tests.stress import soak_agent
from tests.stress.soak_agent import Api, Json, pause
from tests.stress.soak_check import Verdict, check

TURN_SECONDS: Final = 2.0
SILENCE_SECONDS: Final = 3.0
"""Short timeouts, so that many agents time out and come back in two minutes."""

AGENT_LIFE_SECONDS: Final = 30.0
MUSTER_LIFE_SECONDS: Final = 10.0
"""Mean lifetime of a process."""

MEDDLE_SECONDS: Final = 0.5
"""Mean time between two acts of a person: turns taken away or given, and removals."""

RETIRE_SECONDS: Final = 30.0
RETIRED_MAX: Final = 0.1
"""Mean time between two retirements, and the fraction of agents that are retired at most."""

CLIENTS: Final = 5
"""Every fifth agent uses the Python client, which takes the most memory and time to start."""

ROOT: Final = Path(__file__).parents[2]

LATE: Final = 0.25
"""Fraction of killed agents that come back too late to keep their places."""

QUIET_SECONDS: Final = 600.0
"""Timeout until every agent has read everything, on a busy machine."""

START_SECONDS: Final = 120.0
"""Timeout of muster's start and stop, on a busy machine."""

MODES: Final = [str(mode) for mode in InterruptMode]

SETTINGS: Final = f"presence.heartbeat_timeout_seconds = {SILENCE_SECONDS}\n"


class Plan(NamedTuple):
    """Size and duration of a soak."""

    agents: int
    channels: int
    seconds: float
    seed: int
    agent_life_s: float = AGENT_LIFE_SECONDS
    muster_life_s: float = MUSTER_LIFE_SECONDS
    meddle_s: float = MEDDLE_SECONDS
    retire_s: float = RETIRE_SECONDS
    messages_min: int = 0
    """On a busy machine, it lasts until so many messages and some of each act are done."""


class Soak:
    """One muster, its agents and a human, in a folder of their own."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan = plan
        self.home = folder / "home"
        self.killed: Counter[str] = Counter()
        self.meddled: Counter[str] = Counter()
        self.retired: set[str] = set()
        self._folder = folder
        self._chance = random.Random(plan.seed)
        self._channels = [f"channel-{number}" for number in range(plan.channels)]
        self._names = [f"agent-{number}" for number in range(plan.agents)]
        self._tokens: dict[str, str] = {}
        self._lives: Counter[str] = Counter()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._over = 0.0
        self._api: Api | None = None

    def run(self) -> Verdict:
        """Run the soak, let it settle, and check the result."""
        try:
            self._set_up()
            self._play()
            wrong = [*self._come_to_rest(), *self._gone()]
            self._muster.terminate()
            code = self._muster.wait(START_SECONDS)
        finally:
            self._clear_up()
        verdict = check(self.home, {name: self._journal(name) for name in self._everybody})
        verdict.wrong += wrong
        if code != 0:
            verdict.wrong.append(f"muster ended with {code}")
        return verdict

    def _clear_up(self) -> None:
        for process in self._running.values():
            process.kill()
            process.communicate()
        if self._api is not None:
            self._api.close()

    # ── setup ─────────────────────────────────────────────────────────────────────────────────────

    def _set_up(self) -> None:
        self.home.mkdir()
        (self.home / "muster.toml").write_text(SETTINGS, encoding="utf-8")
        self._start_muster()
        operator = (self.home / "operator.token").read_text(encoding="ascii").strip()
        self._api = Api(self.home, operator)
        self._tokens["human"] = operator
        for number, channel in enumerate(self._channels):
            self._ask("POST", "/api/channels", {"channel": channel, "config": _config(number)})
        for name in self._names:
            made = self._ask("POST", "/api/agents", {"name": name})
            self._tokens[name] = made["token"]["secret"]
        for name in self._everybody:
            self._start(name)

    @property
    def _everybody(self) -> list[str]:
        return [*self._names, "human"]

    @property
    def _muster(self) -> subprocess.Popen[bytes]:
        return self._running["muster"]

    def _ask(self, method: str, path: str, body: Json = None) -> Json:
        assert self._api is not None
        status, answer = self._api.ask(method, path, body)
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {answer}")
        return answer

    def _try(self, method: str, path: str, body: Json) -> bool:
        """Send a request that may be refused by now; return whether it succeeded."""
        assert self._api is not None
        return self._api.ask(method, path, body)[0] < 300

    def _start_muster(self) -> None:
        command = [sys.executable, "-m", "muster", "up", "--home", str(self.home), "--port", "0"]
        plain = {name: each for name, each in os.environ.items() if not name.startswith("MUSTER")}
        with (self._folder / "muster.log").open("ab") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=plain)
        self._running["muster"] = process
        bound = Timer(START_SECONDS, process.kill)
        bound.start()
        assert process.stdout is not None
        up = process.stdout.readline()
        bound.cancel()
        if not up:
            raise RuntimeError((self._folder / "muster.log").read_text(encoding="utf-8"))

    def _start(self, name: str) -> None:
        self._lives[name] += 1
        self._journal(name).touch()  # on a busy machine it may be killed before it writes a line
        part = {
            "name": name,
            "human": name == "human",
            "life": self._lives[name],
            "home": str(self.home),
            "token": self._tokens[name],
            "journal": str(self._journal(name)),
            "quiet": str(self._folder / "quiet"),
            "retired": str(self._retirement(name)),
            "channels": self._channels_of(name),
            "seed": self._chance.random(),
        }
        # -I and -S: nothing of this environment, and nothing but the standard library
        command = [sys.executable, "-I", "-S", soak_agent.__file__, json.dumps(part)]
        if self._uses_client(name):
            command = [sys.executable, "-m", "tests.stress.soak_client", json.dumps(part)]
        plain = {name: each for name, each in os.environ.items() if not name.startswith("MUSTER")}
        self._running[name] = subprocess.Popen(command, cwd=ROOT, env=plain)

    def _uses_client(self, name: str) -> bool:
        return name != "human" and self._names.index(name) % CLIENTS == CLIENTS - 1

    def _retirement(self, name: str) -> Path:
        return self._folder / f"{name}.retired"

    def _channels_of(self, name: str) -> list[str]:
        if name == "human":
            return self._channels
        return [self._channels[self._names.index(name) % len(self._channels)]]

    def _journal(self, name: str) -> Path:
        return self._folder / f"{name}.journal"

    # ── load ──────────────────────────────────────────────────────────────────────────────────────

    def _play(self) -> None:
        """Kill and restart processes until the time is over; all are back at the end."""
        self._over = monotonic() + self.plan.seconds
        self._in(self._chance.expovariate(1 / self._agent_pause_s), self._kill_one)
        self._in(self._chance.expovariate(1 / self.plan.muster_life_s), self._kill_muster)
        self._in(self._chance.expovariate(1 / self.plan.meddle_s), self._meddle)
        self._in(self._chance.expovariate(1 / self.plan.retire_s), self._retire_one)
        while self._due:
            moment, _, act = heapq.heappop(self._due)
            again = act in (self._kill_one, self._kill_muster, self._meddle, self._retire_one)
            if again and self._is_over(moment):
                continue
            pause(max(0.0, moment - monotonic()))
            act()
        pause(max(0.0, self._over - monotonic()))

    def _is_over(self, moment: float) -> bool:
        """Whether an act that is due then is left out, because enough was done before."""
        if moment <= self._over:
            return False
        pause(max(0.0, self._over - monotonic()))
        return self._has_enough or moment > self._over + QUIET_SECONDS

    @property
    def _has_enough(self) -> bool:
        if not self.plan.messages_min:
            return True
        meddled, killed = self.meddled, self.killed
        acts = (killed["musters"], killed["agents"], meddled["take"], meddled["remove"])
        journals = [self._journal(name).read_text(encoding="utf-8") for name in self._everybody]
        said = sum(each.count('"said"') for each in journals)
        return all(acts) and said >= self.plan.messages_min

    @property
    def _agent_pause_s(self) -> float:
        return self.plan.agent_life_s / self.plan.agents

    def _in(self, seconds: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._due, (monotonic() + seconds, next(self._numbers), act))

    def _kill_one(self) -> None:
        everybody = [*self._present, "human"]
        alive = [name for name in everybody if name in self._running]
        if alive:
            name = self._chance.choice(alive)
            self._kill(name)
            late = SILENCE_SECONDS + 1 if self._chance.random() < LATE else 0
            self._in(late + self._chance.random(), lambda: self._start_again(name))
        self._in(self._chance.expovariate(1 / self._agent_pause_s), self._kill_one)

    def _start_again(self, name: str) -> None:
        if name not in self.retired:
            self._start(name)

    def _kill_muster(self) -> None:
        self._kill("muster")
        killed = monotonic()
        self._start_muster()
        self._over += monotonic() - killed  # a slow start takes nothing from the play
        self._in(self._chance.expovariate(1 / self.plan.muster_life_s), self._kill_muster)

    def _kill(self, name: str) -> None:
        process = self._running.pop(name)
        process.kill()
        process.communicate()
        self.killed["musters" if name == "muster" else "agents"] += 1

    # ── what people do ────────────────────────────────────────────────────────────────────────────

    def _meddle(self) -> None:
        """Interrupt or take a turn, choose who speaks next, or remove an agent for a while."""
        name = self._chance.choice(self._present)
        (channel,) = self._channels_of(name)
        path = f"/api/channels/{channel}"
        act = self._chance.choice(["take", "choose", "interrupt", "remove"])
        if act == "take":
            done = self._try("POST", f"{path}/turn/override", {"to": "QUEUED"})
        elif act == "choose":
            done = self._try("POST", f"{path}/turn/override", {"to": "ACTIVE", "agent": name})
        elif act == "interrupt":
            done = self._try("PATCH", path, {"humanInterruptMode": self._chance.choice(MODES)})
        else:
            done = self._try("DELETE", f"{path}/members/{name}", None)
            if done:
                self._in(3 * self._chance.random(), lambda: self._add_again(channel, name))
        self.meddled[act] += done
        self._in(self._chance.expovariate(1 / self.plan.meddle_s), self._meddle)

    def _add_again(self, channel: str, name: str) -> None:
        """Undo a removal; only a person can. An agent that is away is asked for later."""
        if name in self.retired:
            return
        assert self._api is not None
        path = f"/api/channels/{channel}/members"
        status, answer = self._api.ask("POST", path, {"agent": name})
        if status >= 300 and answer["code"] != "already_a_member":
            self._in(0.5, lambda: self._add_again(channel, name))

    def _retire_one(self) -> None:
        """Retire an agent for good. Its program is to end by itself, without an error."""
        if len(self.retired) < RETIRED_MAX * self.plan.agents:
            name = self._chance.choice(self._present)
            self._retirement(name).touch()
            if self._try("DELETE", f"/api/agents/{name}", None):
                self.retired.add(name)
            else:
                self._retirement(name).unlink()
        self._in(self._chance.expovariate(1 / self.plan.retire_s), self._retire_one)

    @property
    def _present(self) -> list[str]:
        return [name for name in self._names if name not in self.retired]

    # ── the end ───────────────────────────────────────────────────────────────────────────────────

    def _come_to_rest(self) -> Iterable[str]:
        """Stop posting, and wait until every agent has read everything."""
        (self._folder / "quiet").touch()
        end = monotonic() + QUIET_SECONDS
        while monotonic() < end:
            channels = [self._ask("GET", f"/api/channels/{name}") for name in self._channels]
            if all(map(self._is_at_rest, channels)):
                return ()
            for channel in channels:
                self._wake_reader(channel)
            pause(0.5)
        return ("not everybody came back, read everything and came to rest",)

    def _wake_reader(self, channel: Json) -> None:
        """Give the turn to an agent that came back to a resting channel, so that it reads."""
        behind = [member["agent"] for member in channel["members"] if member["unread"]]
        if channel["resting"] and behind:
            body = {"agent": behind[0], "to": "ACTIVE"}
            self._try("POST", f"/api/channels/{channel['channel']}/turn/override", body)

    def _gone(self) -> Iterable[str]:
        """The processes that ended without a kill; only the human and retired agents may."""
        for name in self._names:
            process = self._running.get(name)
            if process is None:
                continue  # it was killed before it was retired
            if name in self.retired:
                if process.wait(START_SECONDS) != 0:
                    yield f"{name} was retired, and ended with {process.returncode}"
            elif process.poll() is not None:
                yield f"{name} ended by itself, with {process.returncode}"

    def _is_at_rest(self, channel: Json) -> bool:
        members = [name for name in self._present if channel["channel"] in self._channels_of(name)]
        read = all(member["unread"] == 0 for member in channel["members"])
        return channel["resting"] and read and sorted(channel["ring"]) == sorted(members)


def _config(number: int) -> Json:
    """The rules of a channel: short timeouts, and each interrupt mode in some channel."""
    return {
        "defaultTimeoutSeconds": TURN_SECONDS,
        "interruptHoldSeconds": 0.2,
        "restAfterIdleRounds": 2,
        "humanInterruptMode": MODES[number % len(MODES)],
        "turnsPerMessage": 0,
        "alikeInARow": 0,
    }


def told(plan: Plan, soak: Soak, verdict: Verdict) -> str:
    """The figures as text."""
    killed, meddled = soak.killed, soak.meddled
    f = {name: f"{value:,}" for name, value in verdict.figures.items()}
    return (
        f"seed {plan.seed}: {plan.agents} agents in {plan.channels} channels for"
        f" {plan.seconds:g} s; killed {killed['agents']} agents and {killed['musters']} musters\n"
        f"{meddled['take']} turns taken away, {meddled['choose']} speakers chosen,"
        f" {meddled['remove']} agents removed and added again, {len(soak.retired)} retired\n"
        f"{f['events']} events; {f['turns']} turns, at least {f['fewest turns of an agent']} for"
        f" each agent, none of whom waited for more than {f['longest wait']}\n"
        f"{f['messages']} messages, {f['acknowledged']} acknowledged ({f['repeated']} again when"
        f" sent again), {f['refused']} refused, {f['killed before they were answered']} never"
        f" answered to anybody\n"
        f"{f['handed over']} handed over as new, {f['answers that got lost']} answers lost,"
        f" {f['told again']} told again\n"
        f"{len(verdict.wrong)} violations"
    )


def main(arguments: list[str] | None = None) -> int:
    """Run one soak, and print the result."""
    parser = argparse.ArgumentParser(prog="tests.stress.soak", description=__doc__)
    parser.add_argument("--agents", type=int, default=50)
    parser.add_argument("--channels", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--agent-life", type=float, default=AGENT_LIFE_SECONDS, help="on average")
    parser.add_argument("--muster-life", type=float, default=MUSTER_LIFE_SECONDS, help="likewise")
    parser.add_argument("--meddle", type=float, default=MEDDLE_SECONDS, help="seconds, likewise")
    parser.add_argument("--retire", type=float, default=RETIRE_SECONDS, help="seconds, likewise")
    parser.add_argument("--keep", type=Path, help="an empty folder to leave everything in")
    given = parser.parse_args(arguments)
    plan = Plan(
        given.agents,
        given.channels,
        given.seconds,
        given.seed,
        given.agent_life,
        given.muster_life,
        given.meddle,
        given.retire,
    )
    with tempfile.TemporaryDirectory(prefix="muster-soak-") as name:
        folder = given.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        soak = Soak(plan, folder)
        verdict = soak.run()
    print(told(plan, soak, verdict))
    for wrong in verdict.wrong[:20]:
        print(f"violation: {wrong}", file=sys.stderr)
    return 1 if verdict.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
