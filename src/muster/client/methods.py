"""Every method of both clients, written once: `sync_or_async` makes of it what each needs.

Within these methods only `_ask` and other plain coroutines are awaited; a decorated method would
block in one client and be awaited in the other. The methods of a turn are in
`turn.py`.
"""

import math
from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from inspect import isawaitable
from typing import TYPE_CHECKING, Generic, TypeVar

from muster.client import requests
from muster.client.sending import (
    ABSENT_SECONDS,
    POLL_SECONDS,
    SILENT_SECONDS,
    RequestSender,
    RetryBudget,
    sync_or_async,
    sync_or_async_iterator,
)
from muster.client.transport import FrameReader, ServerEvent
from muster.client.turn import NOTHING_NEW, HeardMessages, JoinedChannels, TurnMethods
from muster.client.watching import GONE
from muster.errors import Closed, Disabled, NotFound, Refused, Retired, Unavailable
from muster.machines.vocabulary import AttachedFile, TurnState
from muster.views.answers import Recorded
from muster.views.answers.agents import (
    AgentList,
    AgentView,
    ApprovalList,
    Called,
    OutputPage,
    PresenceView,
    RegisteredAgent,
    RunView,
    Settled,
)
from muster.views.answers.channels import ChannelList, ChannelState, TurnOverridden
from muster.views.answers.messages import (
    Do,
    MessagePage,
    MessageView,
    Next,
    SearchPage,
    ThreadPage,
    WakePreview,
)

if TYPE_CHECKING:
    from muster.views.answers.costs import CostsView

TurnT = TypeVar("TurnT", bound=TurnMethods)


class ChannelMethods(RequestSender):
    """Channels: their rules, members, order and messages."""

    @sync_or_async
    async def create_channel(
        self, name: str, config: Mapping[str, object] | None = None, members: Sequence[str] = ()
    ) -> ChannelState:
        """Create a channel with its members, in the order of their turns; all or nothing."""
        return await self._ask(requests.create_channel(name, config, members))

    @sync_or_async
    async def channel(self, name: str) -> ChannelState:
        """A channel: its ring, holder, epoch, deadline and members."""
        return await self._ask(requests.channel(name))

    @sync_or_async
    async def channels(self, *, archived: bool = False) -> ChannelList:
        """Every channel; with `archived` those too that were archived."""
        return await self._ask(requests.channels(archived=archived))

    @sync_or_async
    async def configure_channel(self, name: str, config: Mapping[str, object]) -> ChannelState:
        """Change some rules of a channel, by their names in JSON (`defaultTimeoutSeconds`)."""
        return await self._ask(requests.configure_channel(name, config))

    @sync_or_async
    async def archive(self, channel: str) -> ChannelState:
        """Archive a channel: no turn is granted in it until it is restored."""
        return await self._ask(requests.archive_channel(channel))

    @sync_or_async
    async def restore(self, channel: str) -> ChannelState:
        """Bring an archived channel back."""
        return await self._ask(requests.restore_channel(channel))

    # ── members ───────────────────────────────────────────────────────────────────────────────────

    @sync_or_async
    async def add_member(
        self, channel: str, agent: str, timeout_seconds: float | None = None
    ) -> ChannelState:
        """Give an agent a place at the end of a channel's ring."""
        return await self._ask(requests.add_member(channel, agent, timeout_seconds))

    @sync_or_async
    async def remove_member(self, channel: str, agent: str) -> ChannelState:
        """Take an agent's place in a channel away. Only a person can add it again."""
        return await self._ask(requests.remove_member(channel, agent))

    @sync_or_async
    async def order(self, channel: str, agents: Sequence[str]) -> ChannelState:
        """Set the order in which the members of a channel take turns."""
        return await self._ask(requests.order_ring(channel, agents))

    @sync_or_async
    async def set_timeout(
        self, channel: str, agent: str, timeout_seconds: float | None
    ) -> ChannelState:
        """Set the turn timeout of a member; None is the channel's default."""
        return await self._ask(requests.configure_member(channel, agent, timeout_seconds))

    @sync_or_async
    async def raise_hand(self, channel: str, agent: str, *, raised: bool = True) -> ChannelState:
        """Raise the hand of a member, which speaks before the ring's next; or lower it."""
        return await self._ask(requests.raise_hand(channel, agent, raised=raised))

    @sync_or_async
    async def next_speaker(self, channel: str, agent: str) -> TurnOverridden:
        """Let a member speak next: now if no member has the turn, else after this turn."""
        return await self._ask(requests.override_turn(channel, TurnState.ACTIVE, agent=agent))

    @sync_or_async
    async def take_turn_away(self, channel: str, agent: str | None = None) -> TurnOverridden:
        """Take the turn away from its holder; the next member is granted it."""
        return await self._ask(requests.override_turn(channel, TurnState.QUEUED, agent=agent))

    # ── messages ──────────────────────────────────────────────────────────────────────────────────

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
    async def export(self, channel: str, form: str = "markdown") -> str:
        """All messages of a channel, as `markdown` or `json`."""
        return (await self._ask(requests.export(channel, form))).decode()


class ClientMethods(ChannelMethods, Generic[TurnT]):
    """A team's server: requests with retries, an agent's turns, and the stream of events."""

    @abstractmethod
    def _new_turn(self, told: Next, heard: Sequence[MessageView]) -> TurnT:
        """A turn of this client's kind."""

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
    async def summon(self, *seats: int) -> Called:
        """Prepare the seats around the lead, or these free ones, in which agents are born."""
        return await self._ask(requests.summon(seats))

    @sync_or_async
    async def wake(self, *names: str, spares_stopped: bool = False) -> Called:
        """Wake these agents, or all that sleep.

        With `spares_stopped`, an agent that is not named stays stopped if a person or a limit has
        stopped it.
        """
        return await self._ask(requests.wake(names, spares_stopped=spares_stopped))

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
    async def approve(
        self, approval: str, *, note: str | None = None, scope: str | None = None
    ) -> Settled:
        """Approve a request: `once`, for the `session`, or `always`. Operators only."""
        return await self._ask(requests.answer(approval, allow=True, note=note, scope=scope))

    @sync_or_async
    async def deny(self, approval: str, *, note: str | None = None) -> Settled:
        """Deny a request. Operators only."""
        return await self._ask(requests.answer(approval, allow=False, note=note))

    @sync_or_async
    async def costs(self) -> "CostsView":
        """Usage of the team: in all, and by agent, session, channel and conversation."""
        from muster.client.costs import costs  # late, as agents need it seldom

        return await self._ask(costs())

    # ── turns ─────────────────────────────────────────────────────────────────────────────────────

    @sync_or_async
    async def next(
        self, name: str, *, wait_s: float = POLL_SECONDS, known: Mapping[str, int] | None = None
    ) -> Next:
        """The next thing for an agent to do."""
        return await self._ask(requests.next_step(name, wait_s, known))

    @sync_or_async_iterator
    async def turns(
        self, name: str, *, join: Sequence[str] = (), unasked: bool = False
    ) -> AsyncGenerator[TurnT]:
        """Every turn of an agent, when it comes, until the agent is paused, disabled or retired.

        The agent joins the channels in `join`, and joins again where it lost its place, unless a
        person removed it. A channel that does not exist (yet), or not for this agent, is tried
        again every few seconds. A turn in which there is nothing new for the agent is passed
        for it, but with `unasked`. While the body works on a turn, heartbeats renew it. A turn that
        the body leaves open ends when the body asks for the next one.
        """
        async with aclosing(self._turns(name, join, unasked=unasked)) as turns:
            async for turn in turns:
                yield turn

    @sync_or_async
    async def serve(
        self,
        name: str,
        handler: Callable[[TurnT], Awaitable[object] | None],
        *,
        join: Sequence[str] = (),
        unasked: bool = False,
    ) -> None:
        """Call a function with every turn of an agent, as `turns` yields it.

        On an event loop the function is a coroutine function, which is cancelled when its turn is
        lost; in a program that waits it may call `turn.check()`.
        """
        async with aclosing(self._turns(name, join, unasked=unasked)) as turns:
            async for turn in turns:
                await _handle(turn, handler)

    async def _turns(
        self, name: str, join: Sequence[str], *, unasked: bool
    ) -> AsyncGenerator[TurnT]:
        try:
            heartbeat_s = (await self._ask(requests.connect(name))).heartbeat_seconds
        except (Disabled, Retired):
            return
        self._present.add(name)
        places = JoinedChannels(join)
        await self._join(name, places)
        heard = HeardMessages()
        while True:
            told = await self._next(name, ABSENT_SECONDS if places.absent else POLL_SECONDS)
            if told.do is Do.STOP:
                return
            if places.absent or told.state is TurnState.IDLE:
                await self._join(name, places)
            if told.do is Do.MESSAGE:
                heard.keep(told.messages)
            if told.do is Do.TURN:
                turn = self._new_turn(told, heard.take(told.channel))
                places.joined(turn.channel)
                if unasked or turn.asks_for_something:
                    with self._transport.beside(turn.watch(heartbeat_s)):
                        yield turn
                    await turn.end_if_open()
                    heard.keep(turn.kept)
                else:
                    await turn.end_if_open(NOTHING_NEW)
                    heard.keep(turn.messages)  # notices of muster, for the next turn there

    async def _next(self, name: str, wait_s: float) -> Next:
        """The next thing to do; an agent that exists no longer is to stop."""
        try:
            # Messages of a channel come with the turn there, and not in between.
            step = requests.next_step(name, wait_s, outside=False)
            return await self._ask(step, patience_s=math.inf)
        except GONE as gone:
            self._present.discard(name)
            state = TurnState.OFFLINE
            return Next(do=Do.STOP, agent=name, state=state, reason=str(gone))

    async def _join(self, name: str, places: JoinedChannels) -> None:
        for channel in places.missing:
            try:
                await self._ask(requests.add_member(channel, name))
                places.absent.discard(channel)
            except NotFound:
                places.absent.add(channel)
            except Refused:
                places.refused(channel)

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


async def _handle(turn: TurnT, handler: Callable[[TurnT], Awaitable[object] | None]) -> None:
    turn.enter()
    try:
        working = handler(turn)
        if isawaitable(working):
            await working
    except BaseException as error:
        if not turn.leave(type(error)):
            raise
    else:
        turn.leave(None)
