"""`AsyncClient`: a team's server for a program on an event loop."""

import asyncio
import math
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Self

from muster.client import requests
from muster.client.async_transport import Connections
from muster.client.frames import FrameReader, ServerEvent
from muster.client.request import Ask, T, locate
from muster.client.requests import Presence, Registered, Said
from muster.client.retry import (
    PATIENCE_SECONDS,
    POLL_SECONDS,
    SILENT_SECONDS,
    Patience,
)
from muster.client.turn import Told, next_ask
from muster.engine.tasks import background
from muster.errors import AlreadyAMember, Closed, MusterError, Refused, Unavailable
from muster.inbox.inbox import Do, Next
from muster.machines.state import TurnState
from muster.views.agents import AgentList, AgentView, Called, OutputPage, RunView
from muster.views.approvals import ApprovalList, Settled
from muster.views.channels import ChannelState, MessagePage, MessageView
from muster.views.costs import CostsView
from muster.views.messages import ThreadPage, WakePreview


class AsyncClient:
    """A team's server, for a program on an event loop."""

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
        self._present: set[str] = set()
        self._stack = AsyncExitStack()
        self._beats: asyncio.TaskGroup | None = None

    async def __aenter__(self) -> Self:
        """Be ready to give signs of life; nothing is asked yet."""
        self._beats = await self._stack.enter_async_context(background())
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Leave as the agents that took turns, and let go of the connections."""
        await self.close()

    async def close(self) -> None:
        """Leave as the agents that took turns, and let go of the connections."""
        while self._present:
            with suppress(MusterError):
                await self.ask(requests.disconnect(self._present.pop()), patience_s=0.0)
        await self._stack.aclose()
        await self._forget()

    async def ask(self, ask: Ask[T], *, patience_s: float | None = None) -> T:
        """Ask anything that `muster.client.requests` has."""
        patience = Patience(self._patience_s if patience_s is None else patience_s)
        while True:
            try:
                answer = await self._reach().ask(ask)
            except Unavailable as error:
                await self._forget()
                if not self._answered:
                    raise
                await asyncio.sleep(patience.pause_s(error))
            else:
                self._answered = True
                return answer

    def _reach(self) -> Connections:
        if self._connections is None:
            self._connections = Connections(locate(*self._given, os.environ))
        return self._connections

    async def _forget(self) -> None:
        """Look for the server anew next time: one that was started again may be elsewhere."""
        connections, self._connections = self._connections, None
        if connections is not None:
            await connections.close()

    async def register(self, name: str, *, max_turns: int | None = None) -> Registered:
        """Give an agent a seat and a token; that is the operator's to do."""
        return await self.ask(requests.register(name, max_turns=max_turns))

    async def agent(self, name: str) -> AgentView:
        """How an agent is."""
        return await self.ask(requests.agent(name))

    async def agents(self) -> AgentList:
        """Who is in the team, and which button it shows."""
        return await self.ask(requests.agents())

    async def summon(self) -> Called:
        """Prepare eight places around the lead, in which agents are born."""
        return await self.ask(requests.summon())

    async def wake(self, *names: str) -> Called:
        """Wake these, or all who sleep."""
        return await self.ask(requests.wake(names))

    async def sleep(self, *names: str) -> Called:
        """Put these to sleep, or all who are awake."""
        return await self.ask(requests.sleep(names))

    async def wake_payload(self, name: str) -> WakePreview:
        """What an agent would be told if it woke now."""
        return await self.ask(requests.wake_payload(name))

    async def thread(
        self, name: str, *, after: int | None = None, limit: int | None = None
    ) -> ThreadPage:
        """What an agent said, and what was said to it: after a place in the log, or the newest."""
        return await self.ask(requests.thread(name, after=after, limit=limit))

    async def tell(self, name: str, message: str) -> Said:
        """Say something to the human, as an agent."""
        return await self.ask(requests.tell(name, message))

    async def connect(self, name: str) -> Presence:
        """Say that an agent is here."""
        return await self.ask(requests.connect(name))

    async def heartbeat(
        self, name: str, *, working: bool = False, current: str | None = None
    ) -> Presence:
        """Say that an agent is still here, and what it is doing."""
        return await self.ask(requests.heartbeat(name, working=working, current=current))

    async def disconnect(self, name: str, reason: str | None = None) -> Presence:
        """Say that an agent leaves."""
        return await self.ask(requests.disconnect(name, reason))

    async def run(
        self,
        name: str,
        desired: str,
        *,
        now: bool = False,
        note: str | None = None,
        if_generation: int | None = None,
    ) -> RunView:
        """Want something of an agent: `continuous`, `pause`, `run_once` or `run_cleanup`."""
        return await self.ask(
            requests.run(name, desired, now=now, note=note, if_generation=if_generation)
        )

    async def output(
        self, name: str, *, after: int | None = None, limit: int | None = None
    ) -> OutputPage:
        """What an agent's sessions printed: after a place in the log (-1: all), or the newest."""
        return await self.ask(requests.output(name, after=after, limit=limit))

    async def approvals(self) -> ApprovalList:
        """What agents want to do and may not unless a person allows it."""
        return await self.ask(requests.approvals())

    async def approve(self, approval: str, *, note: str | None = None) -> Settled:
        """Allow what an agent asks for; that is the operator's to do."""
        return await self.ask(requests.answer(approval, allow=True, note=note))

    async def deny(self, approval: str, *, note: str | None = None) -> Settled:
        """Deny what an agent asks for; that is the operator's to do."""
        return await self.ask(requests.answer(approval, allow=False, note=note))

    async def costs(self) -> CostsView:
        """What the team has used up, and who of it."""
        return await self.ask(requests.costs())

    async def create_channel(
        self, name: str, config: Mapping[str, object] | None = None
    ) -> ChannelState:
        """Open a channel. Members join it one by one, in the order of their turns."""
        return await self.ask(requests.create_channel(name, config))

    async def channel(self, name: str) -> ChannelState:
        """A channel: its ring, holder, epoch, deadline and members."""
        return await self.ask(requests.channel(name))

    async def add_member(self, channel: str, agent: str) -> ChannelState:
        """Give an agent a place at the end of a channel's ring."""
        return await self.ask(requests.add_member(channel, agent))

    async def post(self, channel: str, message: str) -> Said:
        """Say something in a channel."""
        return await self.ask(requests.post(channel, message))

    async def messages(self, channel: str, *, after: int = 0) -> MessagePage:
        """Messages of a channel, with their delivery to each member."""
        return await self.ask(requests.messages(channel, after=after))

    async def send(
        self, message: str, *, to: str | None = None, channel: str | None = None
    ) -> Said:
        """Say something to an agent, to a channel, or to the lead."""
        return await self.ask(requests.send(message, to=to, channel=channel))

    async def next(
        self, name: str, *, wait_s: float = POLL_SECONDS, known: Mapping[str, int] | None = None
    ) -> Next:
        """What an agent is to do now."""
        return await self.ask(next_ask(name, wait_s, known or {}))

    async def turns(self, name: str, *, join: Sequence[str] = ()) -> AsyncIterator["AsyncTurn"]:
        """Every turn of an agent, when it comes, until it is told to stop: paused or disabled.

        It takes a place in the channels to `join`, and takes it anew where it was lost. While the
        body works on a turn, heartbeats renew it. A turn that the body leaves open ends when the
        body asks for the next one.
        """
        rhythm_s = (await self.connect(name)).heartbeat_seconds
        self._present.add(name)
        await self._join(name, join)
        heard: list[MessageView] = []
        while True:
            told = await self.ask(next_ask(name, POLL_SECONDS, {}), patience_s=math.inf)
            if told.do is Do.STOP:
                return
            if told.state is TurnState.IDLE:
                await self._join(name, join)
            if told.do is Do.MESSAGE:
                heard += told.messages
            if told.do is Do.TURN:
                turn = AsyncTurn(self, told, heard)
                heard = []
                async with self._beating(name, rhythm_s):
                    yield turn
                with suppress(Refused):
                    await turn.finish()

    async def _join(self, name: str, channels: Sequence[str]) -> None:
        for channel in channels:
            with suppress(AlreadyAMember):
                await self.add_member(channel, name)

    @asynccontextmanager
    async def _beating(self, name: str, rhythm_s: float) -> AsyncGenerator[None]:
        """Give signs of work as long as the body runs."""

        async def beat() -> None:
            while True:
                await asyncio.sleep(rhythm_s)
                with suppress(MusterError):
                    await self.ask(requests.heartbeat(name, working=True), patience_s=0.0)

        if self._beats is None:
            raise RuntimeError("use the client with `async with`, which gives signs of life")
        task = self._beats.create_task(beat())
        try:
            yield
        finally:
            task.cancel()

    async def events(
        self,
        *,
        after: int | None = None,
        types: Sequence[str] = (),
        agent: str | None = None,
        channel: str | None = None,
    ) -> AsyncIterator[ServerEvent]:
        """Every event after a place in the log (-1: all; none: only new ones), as it happens."""
        frames, patience = FrameReader(after), Patience(self._patience_s)
        while True:
            ask = requests.events(after=frames.cursor, types=types, agent=agent, channel=channel)
            try:
                async for data in self._reach().stream(ask, SILENT_SECONDS):
                    self._answered, patience = True, Patience(self._patience_s)
                    for event in frames.push(data):
                        yield event
                raise Closed  # a stream ends only when muster does
            except Unavailable as error:
                await self._forget()
                if not self._answered:
                    raise
                await asyncio.sleep(patience.pause_s(error))
            frames = FrameReader(frames.cursor)


class AsyncTurn(Told):
    """The right to speak in a channel, for a program on an event loop."""

    def __init__(self, client: AsyncClient, told: Next, heard: Sequence[MessageView] = ()) -> None:
        """Take the turn that was told of."""
        super().__init__(told, heard)
        self._client = client

    async def post(self, message: str) -> Said:
        """Say something and keep the turn."""
        ask = requests.post(self.channel, message, agent=self.agent, epoch=self.epoch)
        return await self._client.ask(ask)

    async def complete(self, message: str | None = None) -> Said:
        """End the turn, with last words or without."""
        ask = requests.complete(self.channel, message, agent=self.agent, epoch=self.epoch)
        return await self._end(ask)

    async def pass_on(self, reason: str | None = None) -> Said:
        """End the turn without a word."""
        return await self._end(
            requests.pass_turn(self.channel, reason, agent=self.agent, epoch=self.epoch)
        )

    async def wait(self, reason: str, timeout_seconds: float | None = None) -> Said:
        """Pause the turn and keep it."""
        return await self._client.ask(
            requests.wait_turn(
                self.channel,
                reason,
                agent=self.agent,
                epoch=self.epoch,
                timeout_seconds=timeout_seconds,
            )
        )

    async def resume(self) -> Said:
        """Go on after `wait`."""
        return await self._client.ask(
            requests.resume_turn(self.channel, agent=self.agent, epoch=self.epoch)
        )

    async def finish(self) -> None:
        """End the turn, unless that was done."""
        if not self.over:
            await self.complete()

    async def _end(self, ask: Ask[Said]) -> Said:
        self.over = True
        return await self._client.ask(ask)
