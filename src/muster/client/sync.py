"""`Client`: a team's server for a program that waits for each answer."""

import math
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Self

from muster.client import requests
from muster.client.frames import FrameReader, ServerEvent
from muster.client.request import Ask, T, locate
from muster.client.requests import Presence, Registered, Said
from muster.client.retry import (
    PATIENCE_SECONDS,
    POLL_SECONDS,
    SILENT_SECONDS,
    Patience,
)
from muster.client.transport import Connections
from muster.client.turn import Told, next_ask
from muster.errors import AlreadyAMember, Closed, MusterError, Refused, Unavailable
from muster.inbox.inbox import Do, Next
from muster.machines.state import TurnState
from muster.views.agents import AgentList, AgentView, Called, OutputPage, RunView
from muster.views.approvals import ApprovalList, Settled
from muster.views.channels import ChannelState, MessagePage, MessageView
from muster.views.costs import CostsView
from muster.views.messages import ThreadPage, WakePreview


class Client:
    """A team's server, for a program that waits for each answer. Threads may share one."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        home: Path | None = None,
        patience_s: float = PATIENCE_SECONDS,
    ) -> None:
        """Mean the server at `url`, or the one that runs in the home."""
        self._given = (url, token, home)
        self._patience_s = patience_s
        self._answered = False
        self._connections: Connections | None = None
        self._looking = Lock()
        self._present: set[str] = set()

    def __enter__(self) -> Self:
        """Nothing is asked yet."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Leave as the agents that took turns, and let go of the connections."""
        self.close()

    def close(self) -> None:
        """Leave as the agents that took turns, and let go of the connections."""
        while self._present:
            with suppress(MusterError):
                self.ask(requests.disconnect(self._present.pop()), patience_s=0.0)
        self._forget()

    def ask(self, ask: Ask[T], *, patience_s: float | None = None) -> T:
        """Ask anything that `muster.client.requests` has."""
        patience = Patience(self._patience_s if patience_s is None else patience_s)
        while True:
            try:
                answer = self._reach().ask(ask)
            except Unavailable as error:
                self._forget()
                if not self._answered:
                    raise
                Event().wait(patience.pause_s(error))
            else:
                self._answered = True
                return answer

    def _reach(self) -> Connections:
        with self._looking:
            if self._connections is None:
                self._connections = Connections(locate(*self._given, os.environ))
            return self._connections

    def _forget(self) -> None:
        """Look for the server anew next time: one that was started again may be elsewhere."""
        with self._looking:
            connections, self._connections = self._connections, None
        if connections is not None:
            connections.close()

    def register(self, name: str, *, max_turns: int | None = None) -> Registered:
        """Give an agent a seat and a token; that is the operator's to do."""
        return self.ask(requests.register(name, max_turns=max_turns))

    def agent(self, name: str) -> AgentView:
        """How an agent is."""
        return self.ask(requests.agent(name))

    def agents(self) -> AgentList:
        """Who is in the team, and which button it shows."""
        return self.ask(requests.agents())

    def summon(self) -> Called:
        """Prepare eight places around the lead, in which agents are born."""
        return self.ask(requests.summon())

    def wake(self, *names: str) -> Called:
        """Wake these, or all who sleep."""
        return self.ask(requests.wake(names))

    def sleep(self, *names: str) -> Called:
        """Put these to sleep, or all who are awake."""
        return self.ask(requests.sleep(names))

    def wake_payload(self, name: str) -> WakePreview:
        """What an agent would be told if it woke now."""
        return self.ask(requests.wake_payload(name))

    def thread(
        self, name: str, *, after: int | None = None, limit: int | None = None
    ) -> ThreadPage:
        """What an agent said, and what was said to it: after a place in the log, or the newest."""
        return self.ask(requests.thread(name, after=after, limit=limit))

    def tell(self, name: str, message: str) -> Said:
        """Say something to the human, as an agent."""
        return self.ask(requests.tell(name, message))

    def connect(self, name: str) -> Presence:
        """Say that an agent is here."""
        return self.ask(requests.connect(name))

    def heartbeat(
        self, name: str, *, working: bool = False, current: str | None = None
    ) -> Presence:
        """Say that an agent is still here, and what it is doing."""
        return self.ask(requests.heartbeat(name, working=working, current=current))

    def disconnect(self, name: str, reason: str | None = None) -> Presence:
        """Say that an agent leaves."""
        return self.ask(requests.disconnect(name, reason))

    def run(
        self,
        name: str,
        desired: str,
        *,
        now: bool = False,
        note: str | None = None,
        if_generation: int | None = None,
    ) -> RunView:
        """Want something of an agent: `continuous`, `pause`, `run_once` or `run_cleanup`."""
        return self.ask(
            requests.run(name, desired, now=now, note=note, if_generation=if_generation)
        )

    def output(
        self, name: str, *, after: int | None = None, limit: int | None = None
    ) -> OutputPage:
        """What an agent's sessions printed: after a place in the log (-1: all), or the newest."""
        return self.ask(requests.output(name, after=after, limit=limit))

    def approvals(self) -> ApprovalList:
        """What agents want to do and may not unless a person allows it."""
        return self.ask(requests.approvals())

    def approve(self, approval: str, *, note: str | None = None) -> Settled:
        """Allow what an agent asks for; that is the operator's to do."""
        return self.ask(requests.answer(approval, allow=True, note=note))

    def deny(self, approval: str, *, note: str | None = None) -> Settled:
        """Deny what an agent asks for; that is the operator's to do."""
        return self.ask(requests.answer(approval, allow=False, note=note))

    def costs(self) -> CostsView:
        """What the team has used up, and who of it."""
        return self.ask(requests.costs())

    def create_channel(self, name: str, config: Mapping[str, object] | None = None) -> ChannelState:
        """Open a channel. Members join it one by one, in the order of their turns."""
        return self.ask(requests.create_channel(name, config))

    def channel(self, name: str) -> ChannelState:
        """A channel: its ring, holder, epoch, deadline and members."""
        return self.ask(requests.channel(name))

    def add_member(self, channel: str, agent: str) -> ChannelState:
        """Give an agent a place at the end of a channel's ring."""
        return self.ask(requests.add_member(channel, agent))

    def post(self, channel: str, message: str) -> Said:
        """Say something in a channel."""
        return self.ask(requests.post(channel, message))

    def messages(self, channel: str, *, after: int = 0) -> MessagePage:
        """Messages of a channel, with their delivery to each member."""
        return self.ask(requests.messages(channel, after=after))

    def send(self, message: str, *, to: str | None = None, channel: str | None = None) -> Said:
        """Say something to an agent, to a channel, or to the lead."""
        return self.ask(requests.send(message, to=to, channel=channel))

    def next(
        self, name: str, *, wait_s: float = POLL_SECONDS, known: Mapping[str, int] | None = None
    ) -> Next:
        """What an agent is to do now."""
        return self.ask(next_ask(name, wait_s, known or {}))

    def turns(self, name: str, *, join: Sequence[str] = ()) -> Iterator["Turn"]:
        """Every turn of an agent, when it comes, until it is told to stop: paused or disabled.

        It takes a place in the channels to `join`, and takes it anew where it was lost. While the
        body works on a turn, heartbeats renew it. A turn that the body leaves open ends when the
        body asks for the next one.
        """
        rhythm_s = self.connect(name).heartbeat_seconds
        self._present.add(name)
        self._join(name, join)
        heard: list[MessageView] = []
        while True:
            told = self.ask(next_ask(name, POLL_SECONDS, {}), patience_s=math.inf)
            if told.do is Do.STOP:
                return
            if told.state is TurnState.IDLE:
                self._join(name, join)
            if told.do is Do.MESSAGE:
                heard += told.messages
            if told.do is Do.TURN:
                turn = Turn(self, told, heard)
                heard = []
                with self._beating(name, rhythm_s):
                    yield turn
                with suppress(Refused):
                    turn.finish()

    def _join(self, name: str, channels: Sequence[str]) -> None:
        for channel in channels:
            with suppress(AlreadyAMember):
                self.add_member(channel, name)

    @contextmanager
    def _beating(self, name: str, rhythm_s: float) -> Generator[None]:
        """Give signs of work as long as the body runs."""
        over = Event()

        def beat() -> None:
            while not over.wait(rhythm_s):
                with suppress(MusterError):
                    self.ask(requests.heartbeat(name, working=True), patience_s=0.0)

        Thread(target=beat, name=f"heartbeat of {name}", daemon=True).start()
        try:
            yield
        finally:
            over.set()

    def events(
        self,
        *,
        after: int | None = None,
        types: Sequence[str] = (),
        agent: str | None = None,
        channel: str | None = None,
    ) -> Iterator[ServerEvent]:
        """Every event after a place in the log (-1: all; none: only new ones), as it happens."""
        frames, patience = FrameReader(after), Patience(self._patience_s)
        while True:
            ask = requests.events(after=frames.cursor, types=types, agent=agent, channel=channel)
            try:
                for data in self._reach().stream(ask, SILENT_SECONDS):
                    self._answered, patience = True, Patience(self._patience_s)
                    yield from frames.push(data)
                raise Closed  # a stream ends only when muster does
            except Unavailable as error:
                self._forget()
                if not self._answered:
                    raise
                Event().wait(patience.pause_s(error))
            frames = FrameReader(frames.cursor)


class Turn(Told):
    """The right to speak in a channel, for a program that waits."""

    def __init__(self, client: Client, told: Next, heard: Sequence[MessageView] = ()) -> None:
        """Take the turn that was told of."""
        super().__init__(told, heard)
        self._client = client

    def post(self, message: str) -> Said:
        """Say something and keep the turn."""
        ask = requests.post(self.channel, message, agent=self.agent, epoch=self.epoch)
        return self._client.ask(ask)

    def complete(self, message: str | None = None) -> Said:
        """End the turn, with last words or without."""
        ask = requests.complete(self.channel, message, agent=self.agent, epoch=self.epoch)
        return self._end(ask)

    def pass_on(self, reason: str | None = None) -> Said:
        """End the turn without a word."""
        return self._end(
            requests.pass_turn(self.channel, reason, agent=self.agent, epoch=self.epoch)
        )

    def wait(self, reason: str, timeout_seconds: float | None = None) -> Said:
        """Pause the turn and keep it."""
        return self._client.ask(
            requests.wait_turn(
                self.channel,
                reason,
                agent=self.agent,
                epoch=self.epoch,
                timeout_seconds=timeout_seconds,
            )
        )

    def resume(self) -> Said:
        """Go on after `wait`."""
        return self._client.ask(
            requests.resume_turn(self.channel, agent=self.agent, epoch=self.epoch)
        )

    def finish(self) -> None:
        """End the turn, unless that was done."""
        if not self.over:
            self.complete()

    def _end(self, ask: Ask[Said]) -> Said:
        self.over = True
        return self._client.ask(ask)
