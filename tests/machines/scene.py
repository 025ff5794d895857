"""A team on a manual clock: tests send commands and query the state."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pytest

from muster.errors import Refused
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.events import Event, Fact
from muster.machines.ids import ChannelId, NodeId, SeatId, SessionId, name_key
from muster.machines.kernel import deadlines
from muster.machines.kernel.fold import fold
from muster.machines.kernel.invariants import violations
from muster.machines.kernel.team import decide
from muster.machines.state import Agent, Channel, Session, Team, TurnState
from muster.machines.vocabulary import Authority, Machine, RunMode, Taken

START = datetime(2026, 2, 4, 21, 0, tzinfo=UTC)
REVIEWS = ChannelId("reviews")


class Scene:
    """Carries out commands, checks every invariant after each, and remembers the log."""

    def __init__(self, human: str = "Marcus") -> None:
        self.team = Team()
        self.now = START
        self.log: list[Event] = []
        self.boots = 0
        self.life = SessionId("")
        self.human = human
        self.boot()

    def boot(self) -> list[Event]:
        self.boots += 1
        self.life = SessionId(f"boot{self.boots}")
        start = c.StartMuster(server_session=self.life, muster_version="0", human=self.human)
        return self.do(start)

    def join(
        self, node: NodeId, *, labels: tuple[str, ...] = (), room: int | None = None
    ) -> list[Event]:
        """Start muster on another machine, which decides every command from now on."""
        self.boots += 1
        self.life = SessionId(f"boot{self.boots}")
        return self.do(
            c.StartMuster(
                server_session=self.life,
                muster_version="0",
                human=self.human,
                node=node,
                labels=labels,
                room=room,
            )
        )

    def do(
        self, command: Command, actor: str = "person:Marcus", key: str | None = None
    ) -> list[Event]:
        """Carry out a command and return its events."""
        return self.do_all([command], actor, key)

    def do_all(
        self, commands: Iterable[Command], actor: str = "person:Marcus", key: str | None = None
    ) -> list[Event]:
        """Carry out commands, check the state after the last one, and return all events.

        For very many commands: a check compares whole teams, so its time grows with the team.
        """
        before, events = self.team, list[Event]()
        for command in commands:
            decision = decide(self.team, command, self.now, actor=actor, life=self.life, key=key)
            self.team = decision.team
            events.extend(decision.events)
        self.log.extend(events)
        assert fold(before, events) == self.team
        assert list(violations(self.team)) == []
        return events

    def refuse(
        self,
        command: Command,
        code: str,
        actor: str = "person:Marcus",
        key: str | None = None,
    ) -> Refused:
        """Assert that a command is refused with this code and changes nothing."""
        before = self.team
        with pytest.raises(Refused) as caught:
            self.do(command, actor, key)
        assert caught.value.code == code, caught.value
        assert self.team == before
        return caught.value

    def later(self, seconds: float) -> list[Event]:
        """Advance the clock and send the commands that are due, in order."""
        end = self.now + timedelta(seconds=seconds)
        events: list[Event] = []
        while due := [each for each in deadlines.every(self.team) if each.at <= end]:
            nearest = min(due, key=lambda each: each.at)
            self.now = max(self.now, nearest.at)
            events.extend(self.do(nearest.command, actor="muster"))
        self.now = end
        return events

    # ── asking ────────────────────────────────────────────────────────────────────────────────────

    def seat(self, name: str) -> SeatId:
        return self.team.names[name_key(name)]

    def agent(self, name: str) -> Agent:
        return self.team.agents[self.seat(name)]

    def session(self, name: str) -> Session:
        session = self.agent(name).session
        assert session is not None
        return self.team.sessions[session]

    def channel(self, name: ChannelId = REVIEWS) -> Channel:
        return self.team.channels[name]

    def state(self, name: str, channel: ChannelId = REVIEWS) -> TurnState:
        """The state of a member in a channel, or the overall state of a non-member."""
        agent = self.agent(name)
        if channel in agent.channels:
            return self.team.channels[channel].state_of(agent.seat)
        return self.team.turn_state(agent)

    def own_state(self, name: str) -> TurnState:
        return self.team.turn_state(self.agent(name))

    def holder(self, channel: ChannelId = REVIEWS) -> str | None:
        turn = self.team.channels[channel].turn
        return None if turn is None else self.team.agents[turn.holder].name

    # ── setting a scene ───────────────────────────────────────────────────────────────────────────

    def connected(self, *names: str, max_turns: int = 1) -> None:
        """Agents that connect on their own."""
        for name in names:
            self.do(c.EnrollAgent(name=name, authority=Authority.SELF, max_turns=max_turns))
            self.do(c.ConnectAgent(seat=self.seat(name)))

    def running(
        self,
        *names: str,
        mode: RunMode = RunMode.CONTINUOUS,
        unasked: bool = True,
        interruptible: bool = False,
        confirms_prompts: bool = False,
    ) -> None:
        """Agents that muster runs, with their processes up; they have turns without news, too."""
        muster = Authority.MUSTER
        for name in names:
            self.do(c.EnrollAgent(name=name, authority=muster, long_lived=True, unasked=unasked))
            self.do(c.SetDesired(seat=self.seat(name), desired=mode, set_by="Marcus"))
            self.up(name, interruptible=interruptible, confirms_prompts=confirms_prompts)

    def up(
        self, name: str, *, interruptible: bool = False, confirms_prompts: bool = False
    ) -> list[Event]:
        started = c.ReportSessionStarted(
            session=self.session(name).id,
            pid=4711,
            interruptible=interruptible,
            confirms_prompts=confirms_prompts,
        )
        return self.do(started)

    def ends(
        self,
        name: str,
        outcome: e.Outcome = e.Outcome.COMPLETED,
        *,
        code: int | None = None,
        reason: str = "",
    ) -> list[Event]:
        session = self.session(name).id
        return self.do(
            c.ReportSessionEnded(session=session, outcome=outcome, code=code, reason=reason)
        )

    def channel_of(
        self, *names: str, channel: ChannelId = REVIEWS, config: e.TurnConfig | None = None
    ) -> None:
        """A channel with these members, in this order."""
        self.do(c.CreateChannel(channel=channel, config=config or e.TurnConfig()))
        for name in names:
            self.do(c.AddMember(channel=channel, seat=self.seat(name)))

    def told(self, name: str, *channels: ChannelId) -> list[Event]:
        """The program of an agent that muster runs has accepted the prompt with its turns."""
        session = self.session(name).id
        return self.do(
            c.ReportTaken(
                session=session,
                how=Taken.STARTED,
                text="your turn",
                channels=channels or (REVIEWS,),
            )
        )

    def complete(self, name: str, channel: ChannelId = REVIEWS) -> list[Event]:
        return self.do(c.CompleteTurn(channel=channel, seat=self.seat(name)))

    def says(self, name: str, text: str = "word", channel: ChannelId = REVIEWS) -> list[Event]:
        return self.do(c.Speak(channel=channel, seat=self.seat(name), text=text))

    def ends_with(
        self, name: str, text: str = "word", to: str | None = None, channel: ChannelId = REVIEWS
    ) -> list[Event]:
        """A member says something and completes its turn, perhaps with a handoff."""
        heir = None if to is None else self.seat(to)
        said = c.Speak(channel=channel, seat=self.seat(name), text=text, complete=True, to=heir)
        return self.do(said, f"agent:{name}")

    def handed(self, name: str, channel: ChannelId = REVIEWS) -> list[Event]:
        """A member is handed everything that was said."""
        upto = self.channel(channel).last_message
        return self.do(c.DeliverMessages(seat=self.seat(name), upto=upto, channel=channel))

    def posts(self, text: str = "hello", channel: ChannelId = REVIEWS) -> list[Event]:
        return self.do(c.PostMessage(channel=channel, text=text, speaker_name="Marcus"))

    def want(self, name: str, desired: RunMode, *, now: bool = False) -> list[Event]:
        command = c.SetDesired(seat=self.seat(name), desired=desired, set_by="Marcus", now=now)
        return self.do(command)


F = TypeVar("F", bound=Fact)


def facts(events: list[Event], kind: type[F]) -> list[F]:
    """The facts of one kind among events."""
    return [event.fact for event in events if isinstance(event.fact, kind)]


def moves(events: list[Event], machine: Machine = Machine.TURNS) -> list[tuple[str, str, str, str]]:
    """The transitions of one machine among events: who, from, to, trigger."""
    return [
        (fact.agent_id, fact.source, fact.target, fact.trigger)
        for fact in facts(events, e.StateTransition)
        if fact.machine is machine
    ]
