"""Simulates a team from a random seed: people, agents, processes and a muster that crashes.

    python -m tests.simulation.world --seed 1 --steps 100000

Everything that can go wrong between two steps eventually does: muster is killed after a commit and
before its reaction, or after the reaction and before its cursor is saved; orders are seen twice;
processes die, hang and report late; agents post out of turn and with old epochs. After every step
the state and the log are checked; a violation prints the random seed, the step, and the command
that reproduces it.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from muster.errors import Refused
from muster.machines import commands as c
from muster.machines.commands import Command
from muster.machines.events import Event
from muster.machines.ids import ConversationId, SeatId, SessionId
from muster.machines.kernel import deadlines, snapshots
from muster.machines.kernel.fold import fold
from muster.machines.kernel.invariants import violations
from muster.machines.kernel.team import decide
from muster.machines.state import Status, Team
from muster.machines.vocabulary import Authority, Outcome, RunMode, Urgency
from muster.sessions.orders import Abandon, Interrupt, Kill, Order, Reclaim, Spawn, Stop, orders
from tests.simulation.checkers import LogChecker, forgotten_turns, granted_in_vain
from tests.simulation.crowd import Crowd

_START = datetime(2026, 1, 1, tzinfo=UTC)
_REMEMBERED = 5_000  # events after which the simulated muster takes a snapshot


class Violation(AssertionError):
    """A promise is broken."""


class Process(msgspec.Struct):
    """A simulated process; it survives a crash of muster."""

    session: SessionId
    seat: SeatId
    task: ConversationId | None = None
    told: bool = False
    """Whether muster knows that the process is up."""

    ending: Outcome | None = None
    """The exit, if it has ended."""


class World:
    """One team, its simulated machine, and one muster at a time."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)  # nothing secret here
        self.now = _START
        self.step = 0
        # State that survives a crash of muster: the log, the cursors, and the processes.
        self.log: list[Event] = []
        self.snapshot = Team()
        self.cursor = 0
        self.processes: dict[SessionId, Process] = {}
        # State that does not.
        self.team = Team()
        self.checker = LogChecker()
        self.timers: dict[deadlines.Key, deadlines.Deadline | None] = {}
        self.counts: Counter[str] = Counter()
        self._deeds = self._weighted()
        self.boot()
        for command in Crowd(self.chance).cast():
            self.send(command)

    # ── playing ───────────────────────────────────────────────────────────────────────────────────

    def play(self, steps: int) -> None:
        """Simulate that many steps, then let everything settle."""
        for _ in range(steps):
            self.step += 1
            self.chance.choice(self._deeds)()
        if self.team.shutdown is not None:
            self.boot()
        self.settle()

    def settle(self) -> None:
        """Let all work finish; then every current state must equal the desired one."""
        for _ in range(1000):
            while self.cursor < len(self.log):
                self.react()
            waiting = [process for process in self.processes.values() if not process.told]
            ended = [p for p in self.processes.values() if p.told and p.ending is not None]
            for process in waiting:
                self._report_up(process)
            for process in ended:
                self._report_end(process)
            if not waiting and not ended and self.cursor == len(self.log):
                break
        else:
            self._fail("the world does not come to rest")
        for agent in self.team.agents.values():
            run = agent.run
            idle = agent.authority is not Authority.MUSTER or agent.disabled
            if idle or run.retry_at is not None or agent.status is Status.EXPIRED:
                continue
            if run.on_call and (run.desired is not RunMode.PAUSE or agent.tasks):
                continue  # it waits for a task, or may finish one first
            session = self.team.sessions.get(agent.session) if agent.session else None
            older = session is not None and session.generation != run.generation
            if run.current is not run.desired and not older:  # a session may finish first
                self._fail(f"{agent.id} is {run.current} when all is quiet, not {run.desired}")

    def send(self, command: Command, actor: str = "muster", key: str | None = None) -> None:
        """Send a command to muster; check that a refusal changes nothing."""
        before = self.team
        try:
            decision = decide(self.team, command, self.now, actor=actor, life=self.life, key=key)
        except Refused as refused:
            self.counts[f"refused: {refused.code}"] += 1
            if self.team is not before:
                self._fail(f"{refused.code} changed something")
            return
        self.counts[type(command).__name__] += 1
        self.log.extend(decision.events)
        self.team = decision.team
        for event in decision.events:
            for problem in self.checker.read(event):
                self._fail(problem)
            for due in deadlines.touched(event, self.team):
                self.timers[due] = deadlines.of(self.team, due)
        for problem in granted_in_vain(self.team, decision.events):
            self._fail(problem)
        if decision.events:
            self._check_state()
        if self.team.seq - self.snapshot.seq > _REMEMBERED:
            self.snapshot = snapshots.decode(snapshots.encode(self.team))

    def _check_state(self) -> None:
        for problem in violations(self.team):
            self._fail(problem)
        kept = {deadline for deadline in self.timers.values() if deadline is not None}
        if kept != set(deadlines.every(self.team)):
            self._fail("a deadline moved that no event told of")
        for seat, soul in self.checker.souls.items():
            if self.team.agents[seat].soul != soul:
                self._fail(f"the first soul of seat {seat} did not stay")
        for problem in forgotten_turns(self.team, self.now):
            self._fail(problem)

    def _fail(self, problem: str) -> None:
        again = f"python -m tests.simulation.world --seed {self.seed} --steps {self.step}"
        raise Violation(f"{problem}\n  at step {self.step}; repeat it with: {again}")

    # ── muster ────────────────────────────────────────────────────────────────────────────────────

    def boot(self) -> None:
        """Start muster on the existing log."""
        self.team = fold(self.snapshot, self.log[self.snapshot.seq :])
        self.life = SessionId(f"boot{len(self.log)}")
        self.send(c.StartMuster(server_session=self.life, muster_version="simulated"))

    def stop(self) -> None:
        """Drain or stop muster; one that is stopping ends and starts again."""
        if self.team.shutdown is None:
            seconds = self.chance.choice((0.0, 30.0))
            self.send(c.StopMuster(reason="simulated", drain_seconds=seconds))
        else:
            self.send(c.EndMuster(reason="simulated"))
            self.boot()
            self.counts["stop of muster"] += 1

    def crash(self) -> None:
        """Kill muster. Committed events survive; its memory is lost."""
        if self.chance.random() < 0.01 and fold(Team(), self.log) != self.team:
            self._fail("the state is not what the log adds up to")
        self.boot()
        self.counts["crash of muster"] += 1

    def react(self) -> None:
        """Let the reactor handle some of its pending events."""
        for _ in range(self.chance.randint(1, 20)):
            if self.cursor < len(self.log):
                self._react_to(self.log[self.cursor])

    def _react_to(self, event: Event) -> None:
        """React to an event. Sometimes muster crashes then, or the cursor is not saved."""
        for order in orders(event, self.team, self.life):
            self._obey(order)
            if self.chance.random() < 0.02:
                self.crash()
                return
        if self.chance.random() < 0.98:
            self.cursor += 1  # otherwise it sees the event again

    def tick(self) -> None:
        """Let time pass, sometimes beyond a deadline, and fire the deadlines that are due."""
        self.now += timedelta(seconds=self.chance.choice((0.1, 1, 5, 30, 61, 301)))
        if self.chance.random() < 0.01:
            self._jump(self.chance.choice((-3600.0, 3600.0)))
        due = [each for each in deadlines.every(self.team) if each.at <= self.now]
        for deadline in sorted(due, key=lambda each: (each.at, str(each.key))):
            self.send(deadline.command)

    def _jump(self, seconds: float) -> None:
        """Set the clock. Every deadline keeps the time that it has left."""
        before = {each.key: each.at - self.now for each in deadlines.every(self.team)}
        self.now += timedelta(seconds=seconds)
        self.send(c.ReportClockJump(seconds=seconds, shift_seconds=seconds))
        if before != {each.key: each.at - self.now for each in deadlines.every(self.team)}:
            self._fail("a deadline moved when the clock was set")
        self.counts["jump of the clock"] += 1

    # ── the machine ───────────────────────────────────────────────────────────────────────────────

    def _obey(self, order: Order) -> None:
        process = self.processes.get(order.session)
        match order:
            case Spawn():
                self._spawn(order)
            case Stop(urgency=Urgency.NOW) | Kill():
                self._end(order, process, Outcome.CRASHED)
            case Stop():
                if process is None or self.chance.random() < 0.5:
                    self._end(order, process, Outcome.COMPLETED)
            case Interrupt(channel=channel, seat=seat):
                if channel is not None and self.chance.random() < 0.7:
                    self.send(c.ReportWorkStopped(channel=channel, seat=seat))
            case Abandon():
                if process is not None:
                    self._fail(f"{order.session} ended in the log, but its process goes on")
            case Reclaim():
                self.processes.pop(order.session, None)
                self._tell_end(order.session, Outcome.LOST)
            case _:
                self._fail(f"nobody knows the order {order}")

    def _spawn(self, order: Spawn) -> None:
        if order.session in self.processes:
            return
        for process in self.processes.values():
            both = process.task is None and order.task is None
            if both and process.seat == order.seat and process.ending is None:
                self._fail(f"seat {order.seat} has two processes")
        if self.chance.random() < 0.1:
            self._tell_end(order.session, Outcome.CRASHED)  # it never came up
        else:
            self.processes[order.session] = Process(
                session=order.session, seat=order.seat, task=order.task
            )

    def _end(self, order: Order, process: Process | None, outcome: Outcome) -> None:
        if process is None:
            self._tell_end(order.session, outcome)
        elif process.ending is None:
            process.ending = outcome

    def _report_up(self, process: Process) -> None:
        process.told = True
        self.send(c.ReportSessionStarted(session=process.session, pid=len(self.log)))

    def _report_end(self, process: Process) -> None:
        assert process.ending is not None
        del self.processes[process.session]
        self._tell_end(process.session, process.ending)

    def _tell_end(self, session: SessionId, outcome: Outcome) -> None:
        self.send(c.ReportSessionEnded(session=session, outcome=outcome))

    def hear_of_process(self) -> None:
        """A process comes up, ends, or its end is reported."""
        if not self.processes:
            return
        process = self.chance.choice(list(self.processes.values()))
        if not process.told:
            self._report_up(process)
        elif process.ending is not None:
            self._report_end(process)
        elif self.chance.random() < 0.5:
            endings = (Outcome.COMPLETED, Outcome.COMPLETED, Outcome.FAILED, Outcome.CRASHED)
            process.ending = self.chance.choice(endings)

    # ── random actions ────────────────────────────────────────────────────────────────────────────

    def _weighted(self) -> list[Callable[[], None]]:
        crowd = Crowd(self.chance)
        weights: dict[Callable[[], None], int] = {
            self.react: 30,
            self._by(crowd.speak, "agent:somebody"): 26,
            self.hear_of_process: 15,
            self._by(crowd.come_and_go): 10,
            self._by(crowd.ask): 6,
            self._by(crowd.direct, "person:Ann"): 8,
            self._by(crowd.wish): 8,
            self.tick: 8,
            self._by(crowd.belong, "person:Ann"): 6,
            self._by(crowd.join, "agent:somebody"): 3,
            self._by(crowd.arrange, "person:Ann"): 3,
            self._by(crowd.lead): 4,
            self._by(crowd.delegate): 4,
            self.stop: 1,
            self.crash: 1,
        }
        return [deed for deed, weight in weights.items() for _ in range(weight)]

    def _by(
        self, deed: Callable[[Team], Iterator[Command]], actor: str = "muster"
    ) -> Callable[[], None]:
        """An action that sends the command of a callback to muster."""

        def happen() -> None:
            for command in deed(self.team):
                has_key = self.chance.random() < 0.03
                self.send(command, actor, f"k{self.chance.randrange(1000)}" if has_key else None)

        return happen


def main(arguments: list[str] | None = None) -> int:
    """Simulate one random seed, and print the result."""
    parser = argparse.ArgumentParser(prog="tests.simulation.world", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=100_000)
    options = parser.parse_args(arguments)
    world = World(options.seed)
    try:
        world.play(options.steps)
    except Violation as violation:
        print(f"violation: {violation}", file=sys.stderr)
        return 1
    done = sum(count for what, count in world.counts.items() if not what.startswith("refused"))
    refused = world.counts.total() - done
    crashes = world.counts["crash of muster"]
    print(
        f"seed {options.seed}: {options.steps} steps, {done - crashes} commands carried out,"
        f" {refused} refused, {len(world.log)} events, {crashes} crashes of muster, 0 violations"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
