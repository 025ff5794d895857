"""A completed turn in memory, against bare steps of two state machine packages.

Ours is a whole `decide`: check the rules, take the turn, grant it to the next member, create two
complete events and the state after them. Theirs is one trigger of a machine with the same states
and no callbacks.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle, islice
from time import perf_counter
from typing import Any, Final

from statemachine import State, StateMachine
from transitions import Machine

from bench.lines import Bound, Goal, Line, rate, ratios
from bench.rounds import in_turns
from bench.teams import LIFE, channel_id, founded
from muster.machines.commands import Command, CompleteTurn
from muster.machines.ids import agent_actor
from muster.machines.kernel.team import decide
from muster.machines.state import Team
from muster.testing.clock import EPOCH

_STEPS: Final = 400
_SLOW_STEPS: Final = 40
_CHANNEL: Final = channel_id(0)


def measure(rounds: int) -> list[Line]:
    """Measure the two lines of the kernel."""
    sides = {"muster": ours(), "transitions": transitions(), "statemachine": statemachine()}
    took = in_turns(sides, rounds)
    what = "complete a turn in memory: 2 events, state evolved"
    each = rate([1 / seconds for seconds in took["muster"]])
    return [
        Line(
            what=what,
            against="one bare trigger of `transitions` (time)",
            goal=Goal(Bound.AT_MOST, 2),
            figures=ratios(took["muster"], took["transitions"]),
            aside=f"{each} against {rate([1 / s for s in took['transitions']])}",
        ),
        Line(
            what=what,
            against="one `send` of python-statemachine (speed)",
            goal=Goal(Bound.AT_LEAST, 15),
            figures=ratios(took["statemachine"], took["muster"]),
            aside=f"{each} against {rate([1 / s for s in took['statemachine']])}",
        ),
    ]


def ours() -> Callable[[], float]:
    """Seconds to complete a turn, in a channel of three."""
    start = founded(1, 3, EPOCH)
    actor = agent_actor("Agent 9")
    commands = rehearsed(start, _STEPS)

    def run() -> float:
        team, now = start, EPOCH
        begin = perf_counter()
        for command in commands:
            team = decide(team, command, now, actor=actor, life=LIFE).team
        return (perf_counter() - begin) / _STEPS

    return run


def rehearsed(team: Team, steps: int) -> Sequence[Command]:
    """The commands that complete that many turns, one holder after the other."""
    commands: list[Command] = []
    for _ in range(steps):
        channel = team.channels[_CHANNEL]
        assert channel.turn is not None
        seat, epoch = channel.turn.holder, channel.epoch
        commands.append(CompleteTurn(channel=_CHANNEL, seat=seat, epoch=epoch))
        team = decide(team, commands[-1], EPOCH, actor="", life=LIFE).team
    assert team.channels[_CHANNEL].turn is not None
    return commands


_STATES: Final = ("OFFLINE", "IDLE", "QUEUED", "ACTIVE", "WAITING")


def transitions() -> Callable[[], float]:
    """Seconds for a trigger of the `transitions` package."""
    machine = Machine(states=list(_STATES), initial="ACTIVE", auto_transitions=False)
    machine.add_transition("turn_complete", "ACTIVE", "QUEUED")
    machine.add_transition("turn_granted", "QUEUED", "ACTIVE")
    # The package makes a method of every trigger, which a type checker cannot see.
    complete: Callable[[], bool] = machine.turn_complete  # pyright: ignore
    grant: Callable[[], bool] = machine.turn_granted  # pyright: ignore
    return timed((complete, grant), _STEPS)


class _TurnMachine(StateMachine):
    offline = State()
    idle = State()
    queued = State()
    active = State(initial=True)
    waiting = State()

    turn_complete = active.to(queued)
    turn_granted = queued.to(active)
    connection = offline.to(idle) | idle.to(offline) | idle.to(queued)
    wait = active.to(waiting) | waiting.to(idle)


def statemachine() -> Callable[[], float]:
    """Seconds for a `send` of python-statemachine."""
    machine = _TurnMachine()
    # The package leaves the parameters of `send` untyped.
    send: Callable[[str], Any] = machine.send  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    steps = (partial(send, "turn_complete"), partial(send, "turn_granted"))
    return timed(steps, _SLOW_STEPS)


def timed(steps: Sequence[Callable[[], object]], count: int) -> Callable[[], float]:
    """Seconds per step, cycling through the steps."""
    course = list(islice(cycle(steps), count))

    def run() -> float:
        begin = perf_counter()
        for step in course:
            step()
        return (perf_counter() - begin) / count

    return run
