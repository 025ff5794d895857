"""A whole team under random commands (Hypothesis)."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from muster.errors import Refused
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.events import Event
from muster.machines.ids import GRID_SEATS, LEAD_SEAT, ChannelId, SeatId, SessionId
from muster.machines.kernel import deadlines, snapshots
from muster.machines.kernel.fold import fold
from muster.machines.kernel.invariants import violations
from muster.machines.kernel.team import decide
from muster.machines.state import Team, TurnState
from muster.machines.vocabulary import (
    Authority,
    InterruptMode,
    Outcome,
    RunMode,
)
from tests.machines.identity.test_identity import places, register, status
from tests.machines.scene import START
from tests.simulation.checkers import LogChecker

channels = st.sampled_from([ChannelId("a"), ChannelId("b")])
seats = st.sampled_from([LEAD_SEAT, *(SeatId(seat) for seat in (0, 1, 9, 10, 11, 12))])
epochs = st.none() | st.integers(0, 5)


class WholeTeam(RuleBasedStateMachine):
    """Two agents that connect, two that muster runs, a lead with its grid, two channels."""

    @initialize(modes=st.lists(st.sampled_from(list(InterruptMode)), min_size=2, max_size=2))
    def set_up(self, modes: list[InterruptMode]) -> None:
        self.now, self.team, self.log = START, Team(), list[Event]()
        self.checker = LogChecker()
        self.boots = 0
        self.restart()
        self.send(c.EnrollAgent(name="Julian", authority=Authority.MUSTER, seat=LEAD_SEAT))
        for name, authority in (
            ("pm", Authority.SELF),
            ("dev", Authority.SELF),
            ("Lyra", Authority.MUSTER),
            ("Kael", Authority.MUSTER),
        ):
            self.send(c.EnrollAgent(name=name, authority=authority))
        for name, mode in zip("ab", modes, strict=True):
            config = e.TurnConfig(human_interrupt_mode=mode, auto_detect_turn_end=name == "a")
            self.send(c.CreateChannel(channel=ChannelId(name), config=config))

    def send(self, command: Command) -> None:
        before = self.team
        try:
            decision = decide(before, command, self.now, actor="person:Marcus", life=self.life)
        except Refused:
            return
        for event in decision.events:
            assert list(self.checker.read(event)) == []
        self.log.extend(decision.events)
        self.team = decision.team
        assert fold(before, decision.events) == self.team

    @rule()
    def restart(self) -> None:
        self.boots += 1
        self.life = SessionId(f"boot{self.boots}")
        self.send(c.StartMuster(server_session=self.life, muster_version="0", human="Marcus"))

    @rule(seconds=st.sampled_from([0.5, 11.0, 61.0, 301.0]))
    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        for deadline in list(deadlines.every(self.team)):
            if deadline.at <= self.now:
                self.send(deadline.command)

    @rule(seat=seats, present=st.booleans())
    def come_or_go(self, seat: SeatId, present: bool) -> None:
        self.send(
            c.ConnectAgent(seat=seat)
            if present
            else c.DisconnectAgent(seat=seat, reason="heartbeat")
        )

    @rule(seat=seats, channel=channels, join=st.booleans())
    def join_or_leave(self, seat: SeatId, channel: ChannelId, join: bool) -> None:
        kind = c.AddMember if join else c.RemoveMember
        self.send(kind(channel=channel, seat=seat))

    @rule(channel=channels, seat=seats, epoch=epochs, done=st.booleans())
    def speak(self, channel: ChannelId, seat: SeatId, epoch: int | None, done: bool) -> None:
        self.send(c.Speak(channel=channel, seat=seat, text="word", epoch=epoch, complete=done))

    @rule(channel=channels, act=st.sampled_from(["complete", "wait", "resume", "renew"]))
    def hold(self, channel: ChannelId, act: str) -> None:
        turn = self.team.channels[channel].turn
        if turn is None:
            return
        commands: dict[str, Command] = {
            "complete": c.CompleteTurn(channel=channel, seat=turn.holder),
            "wait": c.WaitTurn(channel=channel, seat=turn.holder, reason="tea"),
            "resume": c.ResumeTurn(channel=channel, seat=turn.holder),
            "renew": c.RenewTurn(channel=channel, seat=turn.holder),
        }
        self.send(commands[act])

    @rule(channel=channels)
    def post(self, channel: ChannelId) -> None:
        self.send(c.PostMessage(channel=channel, text="hello", speaker_name="Marcus"))

    @rule(channel=channels, seat=seats, to=st.sampled_from([TurnState.ACTIVE, TurnState.QUEUED]))
    def override(self, channel: ChannelId, seat: SeatId, to: TurnState) -> None:
        self.send(c.OverrideTurn(channel=channel, seat=seat, to=to))

    @rule(seat=seats, desired=st.sampled_from(list(RunMode)), now=st.booleans())
    def want(self, seat: SeatId, desired: RunMode, now: bool) -> None:
        self.send(c.SetDesired(seat=seat, desired=desired, set_by="Marcus", now=now))

    @rule(data=st.data(), outcome=st.none() | st.sampled_from(list(Outcome)))
    def hear_of_a_process(self, data: st.DataObject, outcome: Outcome | None) -> None:
        if not self.team.sessions:
            return
        session = data.draw(st.sampled_from(sorted(self.team.sessions)))
        self.send(
            c.ReportSessionStarted(session=session)
            if outcome is None
            else c.ReportSessionEnded(session=session, outcome=outcome)
        )

    @rule(seat=seats, able=st.booleans())
    def disable_or_enable(self, seat: SeatId, able: bool) -> None:
        self.send(c.EnableAgent(seat=seat) if able else c.DisableAgent(seat=seat))

    @rule(channel=channels, seat=seats)
    def stop_work(self, channel: ChannelId, seat: SeatId) -> None:
        self.send(c.ReportWorkStopped(channel=channel, seat=seat))

    @rule(authority=st.sampled_from([Authority.LEAD, Authority.MUSTER]))
    def summon(self, authority: Authority) -> None:
        self.send(c.SummonAgents(placeholders=places(*GRID_SEATS[:2]), authority=authority))

    @rule(seat=st.sampled_from(GRID_SEATS[:2]), own=st.booleans())
    def register(self, seat: SeatId, own: bool) -> None:
        speaker = self.team.agents.get(seat if own else LEAD_SEAT)
        session = speaker.session if speaker else None
        self.send(register(seat=seat, name=f"n{seat}", session=session))

    @rule(listed=st.sets(seats))
    def report(self, listed: set[SeatId]) -> None:
        self.send(status(*sorted(listed), session=self.team.agents[LEAD_SEAT].session))

    @rule(wake=st.booleans())
    def wake_or_sleep(self, wake: bool) -> None:
        self.send(c.WakeAgents() if wake else c.SleepAgents())

    @invariant()
    def nothing_is_wrong(self) -> None:
        if hasattr(self, "team"):
            assert list(violations(self.team)) == []

    def teardown(self) -> None:
        if hasattr(self, "team"):
            assert fold(Team(), self.log) == self.team
            assert snapshots.decode(snapshots.encode(self.team)) == self.team


TestWholeTeam = pytest.mark.exhaustive(WholeTeam.TestCase)
TestWholeTeam.settings = settings(
    max_examples=100,
    stateful_step_count=60,
    deadline=None,
    derandomize=True,  # a failure in CI is reproducible
    suppress_health_check=[HealthCheck.too_slow],
)
