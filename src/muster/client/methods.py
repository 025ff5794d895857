"""Every method of both clients, written once: `sync_or_async` makes of it what each needs.

Within these methods only `_ask` and other plain coroutines are awaited; a decorated method would
block in one client and be awaited in the other.
"""

import math
import os
from abc import abstractmethod
from collections.abc import (
    AsyncGenerator,
    Coroutine,
    Mapping,
    Sequence,
)
from contextlib import aclosing, suppress
from pathlib import Path
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

from msgspec.structs import replace

from muster.client import requests
from muster.client.requests import ApiRequest, new_key
from muster.client.retry import PATIENCE_SECONDS, POLL_SECONDS, SILENT_SECONDS, RetryBudget
from muster.client.sync_or_async import sync_or_async, sync_or_async_iterator
from muster.client.transport import ConnectionPool, FrameReader, ServerEvent, Transport, locate
from muster.errors import AlreadyAMember, Closed, MusterError, Refused, Unavailable
from muster.machines.vocabulary import AttachedFile, TurnState
from muster.views.answers import Recorded
from muster.views.answers.agents import (
    AgentList,
    AgentView,
    ApprovalList,
    Called,
    CostsView,
    OutputPage,
    PresenceView,
    RegisteredAgent,
    RunView,
    Settled,
)
from muster.views.answers.channels import ChannelState
from muster.views.answers.messages import (
    Do,
    MessagePage,
    MessageView,
    Next,
    SearchPage,
    ThreadPage,
    TurnEnded,
    WakePreview,
)

T = TypeVar("T")

# ── the client ────────────────────────────────────────────────────────────────────────────────────

TurnT = TypeVar("TurnT", bound="TurnMethods")


class ClientMethods(Generic[TurnT]):
    """A team's server: requests with retries, an agent's turns, and the stream of events."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        home: Path | None = None,
        patience_s: float = PATIENCE_SECONDS,
    ) -> None:
        """Use the server at `url`, or the one that runs in the home. Nothing is sent yet."""
        self._given = (url, token, home)
        self._patience_s = patience_s
        self._answered = False
        self._transport = self._new_transport()
        self._pool: ConnectionPool | None = None
        self._pool_lock = Lock()
        self._present: set[str] = set()

    @abstractmethod
    def _new_transport(self) -> Transport:
        """The way in which this client connects and waits."""

    @abstractmethod
    def _new_turn(self, told: Next, heard: Sequence[MessageView]) -> TurnT:
        """A turn of this client's kind."""

    # ── requests ──────────────────────────────────────────────────────────────────────────────────

    async def _ask(self, request: ApiRequest[T], *, patience_s: float | None = None) -> T:
        """Send a request. A server that has answered before is retried for a while."""
        budget = RetryBudget(self._patience_s if patience_s is None else patience_s)
        if request.key is None and request.method != "GET":
            request = replace(request, key=new_key())
        while True:
            try:
                answer = await self._reach().ask(request)
            except Unavailable as error:
                await self._retry_after(error, budget)
            else:
                self._answered = True
                return answer

    async def _retry_after(self, error: Unavailable, budget: RetryBudget) -> None:
        await self._forget()
        if not self._answered:
            raise error
        await self._transport.sleep(budget.pause_s(error))

    def _reach(self) -> ConnectionPool:
        with self._pool_lock:
            if self._pool is None:
                self._pool = ConnectionPool(locate(*self._given, os.environ), self._transport)
            return self._pool

    async def _forget(self) -> None:
        """Locate the server anew next time: after a restart it may have another address."""
        with self._pool_lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    @sync_or_async
    async def close(self) -> None:
        """Disconnect the agents that took turns, and close the connections."""
        while self._present:
            with suppress(MusterError):
                await self._ask(requests.disconnect(self._present.pop()), patience_s=0.0)
        await self._transport.close()
        await self._forget()

    # ── agents ────────────────────────────────────────────────────────────────────────────────────

    @sync_or_async
    async def register(self, name: str, *, max_turns: int | None = None) -> RegisteredAgent:
        """Give an agent a seat and a token. Operators only."""
        return await self._ask(requests.register(name, max_turns=max_turns))

    @sync_or_async
    async def agent(self, name: str) -> AgentView:
        """An agent's state."""
        return await self._ask(requests.agent(name))

    @sync_or_async
    async def agents(self) -> AgentList:
        """Every agent of the team, and the button that the team shows."""
        return await self._ask(requests.agents())

    @sync_or_async
    async def summon(self) -> Called:
        """Prepare eight seats around the lead, in which agents are born."""
        return await self._ask(requests.summon())

    @sync_or_async
    async def wake(self, *names: str) -> Called:
        """Wake these agents, or all that sleep."""
        return await self._ask(requests.wake(names))

    @sync_or_async
    async def sleep(self, *names: str) -> Called:
        """Put these agents to sleep, or all that are awake."""
        return await self._ask(requests.sleep(names))

    @sync_or_async
    async def wake_payload(self, name: str) -> WakePreview:
        """The memory that an agent would be given if it woke now."""
        return await self._ask(requests.wake_payload(name))

    @sync_or_async
    async def thread(
        self, name: str, *, after: int | None = None, limit: int | None = None
    ) -> ThreadPage:
        """Messages by an agent and to it alone: after a place in the log, or the newest."""
        return await self._ask(requests.thread(name, after=after, limit=limit))

    @sync_or_async
    async def tell(self, name: str, message: str) -> Recorded:
        """Send a message to the human, as an agent."""
        return await self._ask(requests.tell(name, message))

    @sync_or_async
    async def connect(self, name: str) -> PresenceView:
        """Connect an agent."""
        return await self._ask(requests.connect(name))

    @sync_or_async
    async def heartbeat(
        self, name: str, *, working: bool = False, current: str | None = None
    ) -> PresenceView:
        """Send a heartbeat of an agent, and what it is doing."""
        return await self._ask(requests.heartbeat(name, working=working, current=current))

    @sync_or_async
    async def disconnect(self, name: str, reason: str | None = None) -> PresenceView:
        """Disconnect an agent."""
        return await self._ask(requests.disconnect(name, reason))

    @sync_or_async
    async def run(
        self,
        name: str,
        desired: str,
        *,
        now: bool = False,
        note: str | None = None,
        if_generation: int | None = None,
    ) -> RunView:
        """Set the desired state: `continuous`, `pause`, `run_once` or `run_cleanup`."""
        return await self._ask(
            requests.run(name, desired, now=now, note=note, if_generation=if_generation)
        )

    @sync_or_async
    async def output(
        self, name: str, *, after: int | None = None, limit: int | None = None
    ) -> OutputPage:
        """Output of an agent's sessions: after a place in the log (-1: all), or the newest."""
        return await self._ask(requests.output(name, after=after, limit=limit))

    @sync_or_async
    async def approvals(self) -> ApprovalList:
        """Open requests for approval."""
        return await self._ask(requests.approvals())

    @sync_or_async
    async def approve(self, approval: str, *, note: str | None = None) -> Settled:
        """Approve a request. Operators only."""
        return await self._ask(requests.answer(approval, allow=True, note=note))

    @sync_or_async
    async def deny(self, approval: str, *, note: str | None = None) -> Settled:
        """Deny a request. Operators only."""
        return await self._ask(requests.answer(approval, allow=False, note=note))

    @sync_or_async
    async def costs(self) -> CostsView:
        """Usage of the team: in all, and by agent, session, channel and conversation."""
        return await self._ask(requests.costs())

    # ── channels ──────────────────────────────────────────────────────────────────────────────────

    @sync_or_async
    async def create_channel(
        self, name: str, config: Mapping[str, object] | None = None
    ) -> ChannelState:
        """Open a channel. Members join it one by one, in the order of their turns."""
        return await self._ask(requests.create_channel(name, config))

    @sync_or_async
    async def channel(self, name: str) -> ChannelState:
        """A channel: its ring, holder, epoch, deadline and members."""
        return await self._ask(requests.channel(name))

    @sync_or_async
    async def add_member(self, channel: str, agent: str) -> ChannelState:
        """Give an agent a place at the end of a channel's ring."""
        return await self._ask(requests.add_member(channel, agent))

    @sync_or_async
    async def post(
        self,
        channel: str,
        message: str,
        *,
        reply_to: int | None = None,
        files: Sequence[str] = (),
    ) -> Recorded:
        """Post a message in a channel; `files` are digests of uploaded files."""
        return await self._ask(requests.post(channel, message, reply_to=reply_to, files=files))

    @sync_or_async
    async def messages(
        self,
        channel: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> MessagePage:
        """Messages of a channel, with their delivery to each member."""
        return await self._ask(
            requests.messages(
                channel, after=after, before=before, limit=limit, newest_first=newest_first
            )
        )

    @sync_or_async
    async def search(
        self,
        words: str,
        *,
        channel: str | None = None,
        agent: str | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> SearchPage:
        """Messages that have all of these words, newest first."""
        return await self._ask(
            requests.search(words, channel=channel, agent=agent, before=before, limit=limit)
        )

    @sync_or_async
    async def upload_file(self, name: str, content: bytes) -> AttachedFile:
        """Upload a file; a message names it by its digest."""
        return await self._ask(requests.upload_file(name, content))

    @sync_or_async
    async def send(
        self,
        message: str,
        *,
        to: str | None = None,
        channel: str | None = None,
        reply_to: int | None = None,
        files: Sequence[str] = (),
    ) -> Recorded:
        """Send a message to an agent, to a channel, or to the lead."""
        return await self._ask(
            requests.send(message, to=to, channel=channel, reply_to=reply_to, files=files)
        )

    @sync_or_async
    async def next(
        self, name: str, *, wait_s: float = POLL_SECONDS, known: Mapping[str, int] | None = None
    ) -> Next:
        """The next thing for an agent to do."""
        return await self._ask(requests.next_step(name, wait_s, known))

    # ── turns and events ──────────────────────────────────────────────────────────────────────────

    @sync_or_async_iterator
    async def turns(self, name: str, *, join: Sequence[str] = ()) -> AsyncGenerator[TurnT]:
        """Every turn of an agent, when it comes, until the agent is paused or disabled.

        The agent joins the channels in `join`, and joins again where it lost its place. While the
        body works on a turn, heartbeats renew it. A turn that the body leaves open ends when the
        body asks for the next one.
        """
        heartbeat_s = (await self._ask(requests.connect(name))).heartbeat_seconds
        self._present.add(name)
        await self._join(name, join)
        heard: list[MessageView] = []
        while True:
            told = await self._ask(requests.next_step(name, POLL_SECONDS), patience_s=math.inf)
            if told.do is Do.STOP:
                return
            if told.state is TurnState.IDLE:
                await self._join(name, join)
            if told.do is Do.MESSAGE:
                heard += told.messages
            if told.do is Do.TURN:
                turn = self._new_turn(told, heard)
                heard = []
                with self._transport.repeat(heartbeat_s, lambda: self._beat(name)):
                    yield turn
                if not turn.over:
                    with suppress(Refused):
                        await self._ask(turn.completion())

    async def _join(self, name: str, channels: Sequence[str]) -> None:
        for channel in channels:
            with suppress(AlreadyAMember):
                await self._ask(requests.add_member(channel, name))

    async def _beat(self, name: str) -> None:
        """Send a heartbeat; one that is lost is followed by the next."""
        with suppress(MusterError):
            await self._ask(requests.heartbeat(name, working=True), patience_s=0.0)

    @sync_or_async_iterator
    async def events(
        self,
        *,
        after: int | None = None,
        types: Sequence[str] = (),
        agent: str | None = None,
        channel: str | None = None,
    ) -> AsyncGenerator[ServerEvent]:
        """Every event after a place in the log (-1: all; none: only new ones), as it happens."""
        frames, budget = FrameReader(after), RetryBudget(self._patience_s)
        while True:
            request = requests.events(
                after=frames.cursor, types=types, agent=agent, channel=channel
            )
            try:
                async with aclosing(self._reach().stream(request, SILENT_SECONDS)) as parts:
                    async for data in parts:
                        self._answered, budget = True, RetryBudget(self._patience_s)
                        for event in frames.push(data):
                            yield event
                raise Closed  # a stream ends only when the server does
            except Unavailable as error:
                await self._retry_after(error, budget)
            frames = FrameReader(frames.cursor)


# ── a turn ────────────────────────────────────────────────────────────────────────────────────────


class Ask(Protocol):
    """The coroutine by which a client sends a request."""

    # Any: what a coroutine sends and yields, which is its driver's affair.
    def __call__(self, request: ApiRequest[T]) -> Coroutine[Any, Any, T]:
        """Send a request; the answer."""
        ...


class TurnMethods:
    """A turn that an agent holds: the messages it came with, and the ways to end it."""

    def __init__(self, ask: Ask, told: Next, heard: Sequence[MessageView] = ()) -> None:
        """Take the turn; `heard` are messages to the agent since its last turn."""
        assert told.channel is not None  # there is no turn without a channel
        assert told.epoch is not None
        self._ask = ask
        self.agent = told.agent
        self.channel: str = told.channel
        self.epoch = told.epoch
        self.timeout_at = told.timeout_at
        """When the turn times out; the client's heartbeats move that."""

        self.messages = (*heard, *told.messages)
        """Messages that the agent has not seen yet: of this channel, and to itself alone."""

        self.over = False
        """Whether the agent has ended it."""

    @sync_or_async
    async def post(self, message: str) -> Recorded:
        """Post a message and keep the turn."""
        return await self._ask(
            requests.post(self.channel, message, agent=self.agent, epoch=self.epoch)
        )

    @sync_or_async
    async def complete(self, message: str | None = None) -> Recorded:
        """End the turn, with a last message or without."""
        return await self._ask(self.completion(message))

    @sync_or_async
    async def pass_on(self, reason: str | None = None) -> Recorded:
        """End the turn without a message."""
        self.over = True
        return await self._ask(
            requests.pass_turn(self.channel, reason, agent=self.agent, epoch=self.epoch)
        )

    @sync_or_async
    async def wait(self, reason: str, timeout_seconds: float | None = None) -> Recorded:
        """Pause the turn and keep it."""
        return await self._ask(
            requests.wait_turn(
                self.channel,
                reason,
                agent=self.agent,
                epoch=self.epoch,
                timeout_seconds=timeout_seconds,
            )
        )

    @sync_or_async
    async def resume(self) -> Recorded:
        """Go on after `wait`."""
        return await self._ask(
            requests.resume_turn(self.channel, agent=self.agent, epoch=self.epoch)
        )

    @sync_or_async
    async def finish(self) -> None:
        """End the turn, unless that was done."""
        if not self.over:
            await self._ask(self.completion())

    def completion(self, message: str | None = None) -> ApiRequest[TurnEnded]:
        """The request that ends the turn."""
        self.over = True
        return requests.complete(self.channel, message, agent=self.agent, epoch=self.epoch)
