"""Programs of every maker, and muster itself, killed in each phase of a turn.

    python -m tests.stress.makers_killed                      # all phases: half an hour
    python -m tests.stress.makers_killed --phases tool --victims muster --agents Codex Gemini

All agents are real programs with scripted models. In each round every agent gets a message; when
its work has come to the phase, its program gets a SIGKILL, or muster does. Then each message must
be answered exactly once by agents that have come back by themselves, no process of a session that
has ended may be left, and muster may have logged neither a bug nor the loss of a conversation.
"""

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from muster.runtimes.process import processes
from tests.acceptance.makers.team import ADAPTED, REAL, MakersTeam, makers_team
from tests.live import Json
from tests.waits import until

AGENTS = (*REAL, *ADAPTED, "Graph", "Shell")
THREADS = ("Graph",)
"""Agents that are no processes of their own: they die with muster alone."""

VICTIMS = ("program", "muster")
COMPLAINTS = ("Traceback", "a task of", "Background task", "cannot resume")

SHELL = r"""#!/usr/bin/env python3
# Reads prompts as JSON lines. It does what it is asked to once for a word, as the models do.
import json, os, re, subprocess, sys

ACT = re.compile(r"do: (\w+) (\S+)")

def say(**line):
    print(json.dumps(line), flush=True)

def read():
    return json.loads(sys.stdin.readline() or sys.exit())

def is_first(word):
    try:
        os.mkdir(os.path.join(os.environ["FLAGS"], os.path.basename(word)))
        return True
    except FileExistsError:
        return False

def hang():
    subprocess.run(["sleep", "1800"])

while True:
    prompt = read()
    for channel, epoch in prompt.get("turns", {}).items():
        verb, word = (ACT.findall(prompt["text"]) or [("say", "nothing")])[-1]
        if verb in ("hang", "stream", "tail", "touch") and is_first(word):
            if verb == "stream":
                say(type="partial", text="shell begins", channel=channel, epoch=epoch)
            if verb == "tail":
                say(type="tool_call", id="c", name="Bash", input={"command": f"tail -f {word}"})
                subprocess.run(["tail", "-f", word])
            if verb == "touch":
                say(type="approval_request", id="a", tool="Write", detail=word)
                read()
            hang()
        text = f"shell is back from {word} in turn {epoch}"
        say(type="turn_complete", text=text, channel=channel, epoch=epoch)
"""


class Round(NamedTuple):
    """One phase in which every agent is killed, or muster."""

    phase: str
    victim: str
    team: MakersTeam
    names: Sequence[str]

    def word(self, name: str) -> str:
        """What the agent is to come back from: the file of its tool, too."""
        return str(self.team.work / f"{self.phase}-{self.victim}-{name}")

    def ask(self, verb: str) -> None:
        """Post each agent its task."""
        for name in self.names:
            self.team.post(f"to-{name}", f"do: {verb} {self.word(name)}")

    def maker(self, name: str) -> str:
        return ADAPTED.get(name, name).lower().removesuffix("-acp")

    def answers(self, name: str) -> list[Json]:
        said = self.team.said(f"to-{name}")
        back = f"is back from {self.word(name)}"
        return [m for m in said if m["speaker"] == name and back in m["text"]]

    def hung(self, name: str) -> bool:
        """Whether the work of an agent has come to where it hangs."""
        if name == "Shell":
            return (self.team.work.parent / "flags" / Path(self.word(name)).name).exists()
        return self.team.model.hangs(self.maker(name), self.word(name)).is_set()


# ── phases ────────────────────────────────────────────────────────────────────────────────────────


def starting(round_: Round) -> None:
    """The agents have a message, and their programs have just been started."""
    desire(round_.team, round_.names, "pause")
    round_.team.until(lambda: not [n for n in round_.names if round_.team.session(n)])
    round_.ask("back")
    desire(round_.team, round_.names, "continuous")
    for name in {*round_.names} - {*THREADS}:
        round_.team.until(lambda name=name: first_process(round_.team, name))


def prompted(round_: Round) -> None:
    """Each model was asked, and has said nothing."""
    round_.ask("hang")
    await_all(round_, round_.hung)


def tool(round_: Round) -> None:
    """A command of each agent runs."""
    for name in round_.names:
        Path(round_.word(name)).touch()
    round_.ask("tail")

    def runs(name: str) -> bool:
        for each in round_.team.operator.get("/api/approvals")["approvals"]:
            round_.team.operator.post(f"/api/approvals/{each['id']}", {"allow": True})
        return name in THREADS or bool(commands_with(round_.word(name)))

    await_all(round_, runs)


def approval(round_: Round) -> None:
    """A request of each agent waits for a person."""
    round_.ask("touch")

    def waits(name: str) -> bool:
        approvals = round_.team.operator.get("/api/approvals")["approvals"]
        return name in THREADS or name in [each["agent"] for each in approvals]

    await_all(round_, waits)


def streamed(round_: Round) -> None:
    """Each model has said the beginning of its answer."""
    round_.ask("stream")
    await_all(round_, round_.hung)


def answered(round_: Round) -> None:
    """Each turn is just completed."""
    round_.ask("back")
    await_all(round_, lambda name: bool(round_.answers(name)))


def stopping(round_: Round) -> None:
    """Each agent was told to stop while it works."""
    prompted(round_)
    desire(round_.team, round_.names, "pause")


def idle(round_: Round) -> None:
    """No agent has anything to do."""


PHASES: Mapping[str, Callable[[Round], None]] = {
    each.__name__: each
    for each in (starting, prompted, tool, approval, streamed, answered, stopping, idle)
}


# ── a round ───────────────────────────────────────────────────────────────────────────────────────


def play(
    folder: Path, phases: Collection[str], victims: Collection[str], names: Sequence[str]
) -> list[str]:
    """Play all rounds; what went wrong, in words."""
    wrong: list[str] = []
    adapters = [name for name in names if name in ADAPTED]
    with makers_team(folder, adapters=adapters, script=SHELL) as up:
        team = up()
        for name in names:
            team.open(f"to-{name}", name)
        for victim in victims:
            for phase in phases:
                began = monotonic()
                team.start(names)
                affected = [n for n in names if victim == "muster" or n not in THREADS]
                round_ = Round(phase, victim, team, affected)
                seen = len(team.logged()) if victim == "program" else 0
                PHASES[phase](round_)
                lives = [life for name in names if (life := team.session(name))]
                spawned = {each["session"] for each in team.events("session_requested")}
                team = kill(round_, up, lives)
                round_ = round_._replace(team=team)
                found = come_back(round_, spawned)
                found += complaints(team, seen)
                wrong += found
                took = monotonic() - began
                print(f"{phase}, {victim} killed: {found or 'well'} after {took:.0f} s", flush=True)
    return wrong


def kill(round_: Round, up: Callable[[], MakersTeam], lives: Sequence[Json]) -> MakersTeam:
    """Kill every program of the round, or muster, which is started again."""
    if round_.victim == "muster":
        round_.team.server.process.kill()
        return up()
    ours = {round_.team.operator.get(f"/api/agents/{name}")["seat"] for name in round_.names}
    pids = [life["pid"] for life in lives if ours & {*life["seats"]}]
    if round_.phase == "starting":
        pids = [first_process(round_.team, name) for name in round_.names]
    for pid in filter(None, pids):
        with suppress(ProcessLookupError):  # it has ended by itself
            os.kill(pid, signal.SIGKILL)
    return round_.team


def come_back(round_: Round, spawned: Collection[str]) -> list[str]:
    """See every message answered once, and nothing left of earlier sessions."""
    team, names = round_.team, round_.names
    if round_.phase == "stopping":  # the others come back by themselves
        desire(team, names, "continuous")
    if round_.phase == "idle":
        round_.ask("back")
    wrong: list[str] = []
    for name in names:
        try:
            team.until(lambda name=name: round_.answers(name))
            path = f"/api/channels/to-{name}"
            team.until(lambda path=path: team.operator.get(path)["holder"] is None)
        except AssertionError as error:
            wrong.append(f"{round_.phase}, {round_.victim} killed: {name} does not answer: {error}")
    counts = {name: len(round_.answers(name)) for name in names}
    wrong += [
        f"{round_.phase}, {round_.victim} killed: {name} answers {count} times"
        for name, count in counts.items()
        if count > 1
    ]
    open_requests = team.operator.get("/api/approvals")["approvals"]
    wrong += [f"{round_.phase}: {each['agent']} still asks" for each in open_requests]
    living = {life["session"] for name in AGENTS if (life := session_of(team, name))}
    for session in {*spawned} - living:
        try:
            until(lambda session=session: not processes.members(session, None))
        except AssertionError:
            wrong.append(f"{round_.phase}, {round_.victim} killed: processes of {session} are left")
    for name in names:
        if commands_with(round_.word(name)):
            wrong.append(f"{round_.phase}, {round_.victim} killed: the command of {name} is left")
    return wrong


def complaints(team: MakersTeam, seen: int) -> list[str]:
    """What muster has logged since that nobody should read after a kill."""
    logged = team.logged()[seen:]
    return [line for line in logged.splitlines() if line.startswith(COMPLAINTS)]


def session_of(team: MakersTeam, name: str) -> Json:
    known = {each["name"] for each in team.operator.get("/api/agents")["agents"]}
    return team.session(name) if name in known else None


def desire(team: MakersTeam, names: Collection[str], mode: str) -> None:
    for name in names:
        team.operator.asked("PUT", f"/api/agents/{name}/run", 200, json={"desired": mode})


def await_all(round_: Round, condition: Callable[[str], bool]) -> None:
    """Wait until something is so of every agent of the round."""
    missing = {*round_.names}

    def all_are() -> bool:
        missing.difference_update([name for name in missing if condition(name)])
        return not missing

    until(all_are, lambda: f"{round_.phase}: {missing}; {round_.team.story()}")


def first_process(team: MakersTeam, name: str) -> int | None:
    """The first process of the newest session of an agent, which may not be up yet."""
    seat = team.operator.get(f"/api/agents/{name}")["seat"]
    ours = [e for e in team.events("session_requested") if e["seat"] == seat]
    pids = [each.pid for each in processes.members(ours[-1]["session"], None)] if ours else []
    return min(pids, default=None)


def commands_with(word: str) -> list[int]:
    """The processes that follow a file: neither a shell nor a sandbox around one."""
    found: list[int] = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            program, *arguments = (each / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if program.endswith(b"tail") and word.encode() in arguments:
            found.append(int(each.name))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--phases", nargs="+", choices=PHASES, default=list(PHASES))
    parser.add_argument("--victims", nargs="+", choices=VICTIMS, default=list(VICTIMS))
    parser.add_argument("--agents", nargs="+", choices=AGENTS, default=list(AGENTS))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="killed-") as folder:
        wrong = play(Path(folder), given.phases, given.victims, given.agents)
    print("\n".join(wrong) or "every message was answered once, and no process is left")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
