"""Simulates one team on several machines from a random seed, with every fault between two steps.

    python -m tests.simulation.several --seed 1 --steps 20000

Each machine has a fold of its own that lags behind, decides on it, and decides again if another
one was first, as the store does. Machines crash, freeze, are cut off, and have clocks that differ
by hours and run at different rates. Their leases follow the rule of the design: a renewal sent at
t0 holds until t0 + L(1 - r) - m on the machine's own clock, others give up a beat that they saw
first at s after s + L(1 + r) on theirs, and killing takes up to m. After every step no seat may
have two processes, and at the end every agent that is to run has one.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec

from muster.errors import Refused
from muster.machines import commands as c
from muster.machines.commands import Command
from muster.machines.events import Event
from muster.machines.ids import NodeId, SeatId, SessionId
from muster.machines.kernel import deadlines
from muster.machines.kernel.fold import fold
from muster.machines.kernel.invariants import violations
from muster.machines.kernel.team import decide
from muster.machines.policies import RunPolicy
from muster.machines.state import Team
from muster.machines.vocabulary import Authority, Outcome, RunMode, Urgency
from muster.sessions.orders import Abandon, Kill, Order, Reclaim, Spawn, Stop, orders

_START = datetime(2026, 1, 1, tzinfo=UTC)
LEASE, DRIFT, MARGIN = 60.0, 0.02, 5.0
AGENTS = 6


class Violation(AssertionError):
    """A promise is broken."""


class Process(msgspec.Struct):
    """A process of a session; `deadline` is that of its lease, on the true clock."""

    session: SessionId
    seat: SeatId
    moves: bool
    told: bool = False


class Machine:
    """A machine and its muster; `team` is as much of the log as it has taken in."""

    def __init__(self, name: str, rate: float, skew: timedelta) -> None:
        self.name = NodeId(name)
        self.rate, self.skew = rate, skew
        self.team, self.life, self.cursor = Team(), SessionId(""), 0
        self.is_up = self.is_frozen = self.is_cut = False
        self.until = 0.0
        """The end of its lease, on its own clock."""

        self.killed_at: float | None = None
        """When its warden has killed, on the true clock, after its lease was over."""

        self.seen: dict[str, tuple[tuple[SessionId, int], float]] = {}
        self.verdicts: list[c.LoseNode] = []
        """The nodes that it has found silent; the commands may be long on their way."""

        self.processes: dict[SessionId, Process] = {}

    @property
    def acts(self) -> bool:
        return self.is_up and not self.is_frozen


class Several:
    """One log, the leases beside it, and the machines."""

    def __init__(self, seed: int, machines: int = 3) -> None:
        self.seed, self.step = seed, 0
        self.chance = random.Random(seed)  # nothing secret here
        self.time = 0.0
        self.log: list[Event] = []
        self.leases: dict[str, tuple[SessionId, int]] = {}
        self.counts: Counter[str] = Counter()
        self.lives = 0
        self.machines = [
            Machine(
                f"m{number}",
                self.chance.uniform(1 - DRIFT / 2, 1 + DRIFT / 2),
                timedelta(hours=self.chance.randint(-2, 2)),
            )
            for number in range(machines)
        ]
        for machine in self.machines:
            self.start(machine)
        self._enrol()

    def _enrol(self) -> None:
        for number in range(AGENTS):
            home = self.machines[number % len(self.machines)]
            enrol = c.EnrollAgent(name=f"a{number}", authority=Authority.MUSTER, long_lived=True)
            self.send(home, enrol)
            seat = home.team.names[f"a{number}"]
            belongs = c.ConfigureAgent(
                seat=seat,
                authority=Authority.MUSTER,
                long_lived=True,
                policy=RunPolicy(moves=number % 3 > 0),
                node=None if number == AGENTS - 1 else home.name,
            )
            self.send(home, belongs)
            self.send(home, c.SetDesired(seat=seat, desired=RunMode.CONTINUOUS, set_by="Ann"))

    # ── the log ───────────────────────────────────────────────────────────────────────────────────

    def catch_up(self, machine: Machine) -> None:
        machine.team = fold(machine.team, self.log[machine.team.seq :])

    def send(self, machine: Machine, command: Command, actor: str = "muster") -> bool:
        """Decide on what the machine knows; again, if another one was first. Whether it counted."""
        if machine.is_cut or not machine.acts:
            return False
        while True:
            now = _START + timedelta(seconds=self.time) + machine.skew
            is_newest = machine.team.seq == len(self.log)
            try:
                decision = decide(machine.team, command, now, actor=actor, life=machine.life)
            except Refused as refused:
                if is_newest:
                    self.counts[f"refused: {refused.code}"] += 1
                    return False
            else:
                if is_newest:
                    self.log.extend(decision.events)
                    machine.team = decision.team
                    self.counts[type(command).__name__] += 1
                    self._check()
                    return True
            self.counts["decided again"] += 1
            self.catch_up(machine)

    def _check(self) -> None:
        team = max((each.team for each in self.machines), key=lambda each: each.seq)
        for problem in violations(team):
            self._fail(problem)
        own = Counter(each.seats[0] for each in team.sessions.values() if each.task is None)
        if any(count > 1 for count in own.values()):
            self._fail("a seat has two live sessions in the log")

    def check_processes(self) -> None:
        """No seat has two processes, whatever the log says."""
        seats = Counter(p.seat for each in self.machines for p in each.processes.values())
        for seat, count in seats.items():
            if count > 1:
                self._fail(f"seat {seat} has {count} processes at once")

    def _fail(self, problem: str) -> None:
        again = f"python -m tests.simulation.several --seed {self.seed} --steps {self.step}"
        raise Violation(f"{problem}\n  at step {self.step}; repeat it with: {again}")

    # ── machines ──────────────────────────────────────────────────────────────────────────────────

    def clock(self, machine: Machine) -> float:
        return self.time * machine.rate

    def start(self, machine: Machine) -> None:
        """Start muster: its home's lock proves that its former life is over, and it sweeps."""
        if machine.is_up or machine.is_cut:
            return
        self.lives += 1
        machine.is_up, machine.is_frozen = True, False
        machine.processes.clear()
        machine.life, machine.seen = SessionId(f"life{self.lives}"), {}
        machine.verdicts = []
        machine.team, machine.cursor = fold(Team(), self.log), len(self.log)
        self.leases[machine.name] = (machine.life, 0)
        self._extend(machine)
        started = c.StartMuster(
            server_session=machine.life, muster_version="simulated", node=machine.name
        )
        self.send(machine, started)

    def _extend(self, machine: Machine) -> None:
        machine.until = self.clock(machine) + LEASE * (1 - DRIFT) - MARGIN
        machine.killed_at = None

    def holds(self, machine: Machine) -> bool:
        return self.clock(machine) < machine.until

    def crash(self, machine: Machine) -> None:
        """Kill -9: the warden sees the pipe close, and kills all."""
        machine.is_up = False
        machine.processes.clear()

    def beat(self, machine: Machine) -> None:
        """Renew the lease. One that was over counts again when `ReturnNode` was answered."""
        if machine.is_cut or not machine.acts:
            machine.seen = {} if machine.is_cut else machine.seen
            return
        life, beat = self.leases[machine.name]
        if life != machine.life:
            self._fail(f"{machine.name} lost its name")
        was_over = not self.holds(machine)
        self.leases[machine.name] = (life, beat + 1)
        self.catch_up(machine)
        node = machine.team.nodes.get(machine.name)
        if was_over or (node is not None and node.away is not None):
            self._kill_movers(machine)  # the sweep of the last term, before the next begins
            if not self.send(machine, c.ReturnNode(node=machine.name, life=machine.life)):
                return
        self._extend(machine)

    def look(self, machine: Machine) -> None:
        """Watch the leases of the others, and give up those that do not beat."""
        if machine.is_cut or not machine.acts:
            return
        now = self.clock(machine)
        for name, row in self.leases.items():
            seen = machine.seen.get(name)
            if seen is None or seen[0] != row:
                machine.seen[name] = (row, now)
            elif name != machine.name and now >= seen[1] + LEASE * (1 + DRIFT):
                self._give_up(machine, NodeId(name), row[0])

    def _give_up(self, machine: Machine, name: NodeId, life: SessionId) -> None:
        """Find a node silent in the term that the machine knows of."""
        node = machine.team.nodes.get(name)
        if node is not None and node.life == life:
            machine.verdicts.append(c.LoseNode(node=name, life=life, term=node.term))

    def pronounce(self, machine: Machine) -> None:
        """Send what was found before, perhaps long ago."""
        machine.verdicts = [each for each in machine.verdicts if not self.send(machine, each)]

    def pass_time(self) -> None:
        """Time passes in small steps. A warden kills within the margin after its deadline."""
        for _ in range(self.chance.choice((1, 5, 30))):
            self.time += 1.0
            for machine in self.machines:
                self._guard(machine)
            self.check_processes()
        machine = self.chance.choice(self.machines)
        if machine.acts and not machine.is_cut:
            self.catch_up(machine)
            now = _START + timedelta(seconds=self.time) + machine.skew
            for due in [each for each in deadlines.every(machine.team) if each.at <= now]:
                self.send(machine, due.command)

    def _guard(self, machine: Machine) -> None:
        if self.holds(machine):
            return
        if machine.killed_at is None:
            machine.killed_at = self.time + self.chance.uniform(0, MARGIN - 1)
        if self.time >= machine.killed_at:
            self._kill_movers(machine)

    def _kill_movers(self, machine: Machine) -> None:
        machine.processes = {
            name: each for name, each in machine.processes.items() if not each.moves
        }

    # ── the reactor of a machine ──────────────────────────────────────────────────────────────────

    def react(self, machine: Machine) -> None:
        """Take in the log, and carry out some of the orders in it."""
        if not machine.acts:
            return
        if not machine.is_cut and self.chance.random() < 0.7:
            self.catch_up(machine)
        for _ in range(self.chance.randint(1, 30)):
            if machine.cursor < machine.team.seq and machine.acts:
                event = self.log[machine.cursor]
                for order in orders(event, machine.team, machine.life):
                    self._obey(machine, order)
                machine.cursor += self.chance.random() < 0.97  # otherwise it sees it again

    def _obey(self, machine: Machine, order: Order) -> None:
        process = machine.processes.get(order.session)
        match order:
            case Spawn():
                self._spawn(machine, order)
            case Stop(urgency=Urgency.NOW) | Kill() | Stop():
                machine.processes.pop(order.session, None)
                outcome = Outcome.CUT_OFF if process is None else Outcome.COMPLETED
                self._tell_end(machine, order.session, outcome)
            case Abandon():
                machine.processes.pop(order.session, None)
            case Reclaim():
                self._tell_end(machine, order.session, Outcome.LOST)
            case _:
                self._fail(f"nobody knows the order {order}")

    def _spawn(self, machine: Machine, order: Spawn) -> None:
        """The runtime asks in the last moment whether the lease holds."""
        if order.session in machine.processes:
            return
        moves = machine.team.agents[order.seat].run.policy.moves
        if moves and not self.holds(machine):
            self._tell_end(machine, order.session, Outcome.LOST)
            return
        machine.processes[order.session] = Process(order.session, order.seat, moves)
        self.counts["processes"] += 1
        self.check_processes()

    def _tell_end(self, machine: Machine, session: SessionId, outcome: Outcome) -> None:
        self.send(machine, c.ReportSessionEnded(session=session, outcome=outcome))

    def hear(self, machine: Machine) -> None:
        """Processes come up, end, or are found killed by the warden."""
        if not machine.acts or machine.is_cut:
            return
        self.catch_up(machine)
        for session in sorted(machine.team.sessions):
            live = machine.team.sessions[session]
            process = machine.processes.get(session)
            if live.boot != machine.life:
                continue
            if process is None and live.pid is not None:
                self._tell_end(machine, session, Outcome.LOST)
            elif process is not None and not process.told:
                process.told = self.send(machine, c.ReportSessionStarted(session=session, pid=1))
            elif process is not None and self.chance.random() < 0.05:
                del machine.processes[session]
                self._tell_end(machine, session, Outcome.COMPLETED)

    # ── random actions ────────────────────────────────────────────────────────────────────────────

    def play(self, steps: int) -> None:
        """Simulate that many steps, then heal everything and let it settle."""
        deeds: dict[Callable[[Machine], None], int] = {
            self.react: 30,
            self.hear: 15,
            self.beat: 14,
            self.look: 10,
            self.pronounce: 2,
            lambda _: self.pass_time(): 10,
            self._wish: 4,
            self._move: 2,
            self._cut: 2,
            self._freeze: 2,
            self._crash_or_start: 2,
            self._stop: 1,
        }
        weighted = [deed for deed, weight in deeds.items() for _ in range(weight)]
        for _ in range(steps):
            self.step += 1
            self.chance.choice(weighted)(self.chance.choice(self.machines))
        self.settle()

    def _wish(self, machine: Machine) -> None:
        seat = SeatId(self.chance.choice(sorted(machine.team.agents)))
        mode = self.chance.choice((RunMode.CONTINUOUS, RunMode.CONTINUOUS, RunMode.PAUSE))
        self.send(machine, c.SetDesired(seat=seat, desired=mode, set_by="Ann"), "person:Ann")

    def _move(self, machine: Machine) -> None:
        seat = SeatId(self.chance.choice(sorted(machine.team.agents)))
        to = self.chance.choice(self.machines).name
        self.send(machine, c.MoveAgent(seat=seat, node=to), "person:Ann")

    def _cut(self, machine: Machine) -> None:
        machine.is_cut = not machine.is_cut
        self.counts["cuts"] += machine.is_cut

    def _freeze(self, machine: Machine) -> None:
        """A frozen machine's warden still kills: it is a process of its own."""
        machine.is_frozen = not machine.is_frozen
        self.counts["freezes"] += machine.is_frozen

    def _crash_or_start(self, machine: Machine) -> None:
        if machine.is_up:
            self.crash(machine)
            self.counts["crashes"] += 1
        else:
            self.start(machine)

    def _stop(self, machine: Machine) -> None:
        """Stop in order: the sessions end, then the node leaves."""
        if not machine.acts or machine.is_cut:
            return
        self.send(machine, c.StopMuster(reason="simulated", node=machine.name, life=machine.life))
        for session in sorted(machine.processes):
            del machine.processes[session]
            self._tell_end(machine, session, Outcome.CUT_OFF)
        for session in sorted(machine.team.sessions):
            if machine.team.sessions[session].boot == machine.life:
                self._tell_end(machine, session, Outcome.CUT_OFF)
        self.send(machine, c.EndMuster(reason="simulated", node=machine.name, life=machine.life))
        machine.is_up = False
        self.counts["stops"] += 1

    def settle(self) -> None:
        """Heal everything; then every agent that is to run has one process, and no other has."""
        for machine in self.machines:
            machine.is_cut = machine.is_frozen = False
            self.start(machine)
        for _ in range(300):
            self.time += 2.0
            for machine in self.machines:
                self._guard(machine)
                self.beat(machine)
                self.look(machine)
                self.pronounce(machine)
                self.react(machine)
                self.hear(machine)
            self.check_processes()
        team = fold(Team(), self.log)
        if any(each.team != team for each in self.machines if each.team.seq == team.seq):
            self._fail("two machines fold the same log to different states")
        wanted = {s for s, agent in team.agents.items() if agent.run.desired is not RunMode.PAUSE}
        missing = wanted - {each.seats[0] for each in team.sessions.values()}
        waiting = {s for s in missing if team.agents[s].run.retry_at is not None}
        if missing - waiting:
            self._fail(f"seats {sorted(missing - waiting)} do not run when all is well")


def main(arguments: list[str] | None = None) -> int:
    """Simulate one random seed, and print the result."""
    parser = argparse.ArgumentParser(prog="tests.simulation.several", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20_000)
    options = parser.parse_args(arguments)
    several = Several(options.seed)
    try:
        several.play(options.steps)
    except Violation as violation:
        print(f"violation: {violation}", file=sys.stderr)
        return 1
    n = several.counts
    print(
        f"seed {options.seed}: {options.steps} steps, {len(several.log)} events,"
        f" {n['processes']} processes, {n['LoseNode']} losses, {n['ReturnNode']} returns,"
        f" {n['crashes']} crashes, {n['cuts']} cuts, {n['freezes']} freezes,"
        f" {n['decided again']} decided again, 0 violations"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
