"""What a session is told: at its start, and, where its program lives on, whenever there is more.

What there is to do comes from the inbox, as for an agent that asks by itself, so nothing is told in
two ways. A message counts as handed over when the program has it: the delivery is put on record
after the program is up, or has taken it, and not before.
"""

import asyncio
import logging
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import SessionHandle
from muster.errors import MusterError
from muster.inbox.errands import Known
from muster.inbox.inbox import Inbox
from muster.machines.backoff import pause_s
from muster.machines.commands import Command
from muster.machines.ids import LEAD_SEAT, MUSTER, ChannelId, SeatId
from muster.machines.state import Agent, Status, Team, TurnState
from muster.machines.vocabulary import RunMode
from muster.sessions.prompt_state import PromptState
from muster.sessions.prompt_templates import BIRTH, LEAD, WAKE, Letters
from muster.store.base import EventStore
from muster.views.answers.messages import Do, HandedMessage, Next
from muster.views.wake_payload import as_xml, wake_payload

NEW_MESSAGES = "You have new messages:"

CLEANUP = (
    "This is a cleanup session: tidy up. Refactor, remove dead code, improve the tests. "
    "Begin nothing new."
)

log = logging.getLogger(__name__)


class InitialPrompt(msgspec.Struct, frozen=True):
    """The first thing that a session is told, and what is handed over with it."""

    text: str
    deliveries: Sequence[Command]
    idle: bool = False
    """Whether there is nothing to do yet for a program that lives on."""


NOTHING_TO_TELL = InitialPrompt("", ())


class Prompter:
    """Tells sessions what there is for them to do."""

    def __init__(
        self, dispatcher: Dispatcher, store: EventStore, inbox: Inbox, letters: Letters
    ) -> None:
        """Read in the store, ask the inbox, and put on record what was handed over."""
        self._letters = letters
        self._dispatcher = dispatcher
        self._store = store
        self._inbox = inbox
        self._states: dict[SeatId, PromptState] = {}
        """The prompts of the last session of each seat."""

    async def opening(self, agent: Agent, mode: RunMode, told: PromptState) -> InitialPrompt:
        """What a session of this agent is told at its start."""
        parts = [who_it_is(self._dispatcher.team, agent), *await self.memory(agent)]
        if mode is RunMode.RUN_CLEANUP:
            parts.append(CLEANUP)
        deliveries: list[Command] = []
        errands = await self._at_once(agent.seat, told, deliveries)
        parts.extend(map(errand, errands))
        text = "\n\n".join(parts) + "\n"
        told.send(text, _turns(errands), words_of(errands))
        self._states[agent.seat] = told
        waits = mode is RunMode.CONTINUOUS and agent.run.long_lived
        idle = waits and not errands and agent.status is not Status.HATCHING
        return InitialPrompt(text, deliveries, idle)

    def words_in(self, seat: SeatId, prompt: str) -> str:
        """What humans say to the agent in a seat, in an input that its session was given."""
        state = self._states.get(seat)
        return "" if state is None else state.words_in(prompt)

    async def memory(self, agent: Agent) -> Sequence[str]:
        """What an agent is given of itself: nothing yet at its birth, soul and transcript later."""
        team = self._dispatcher.team
        words = {"name": agent.id, "human": team.human, "seat": agent.seat, "color": agent.color}
        parts: list[str] = []
        if agent.seat == LEAD_SEAT:
            parts.append(self._letters.write(LEAD, **words))
        if agent.status is Status.HATCHING:
            parts.append(self._letters.write(BIRTH, **words))
        else:
            payload = await wake_payload(self._store, team, agent)
            if payload.has_soul or payload.has_transcript:
                parts.append(self._letters.write(WAKE, payload=as_xml(payload), **words))
        return parts

    async def hand_over(self, deliveries: Sequence[Command]) -> bool:
        """Put on record that a session has what it was told; without that it is told again."""
        recorded = True
        for delivery in deliveries:
            try:
                await self._dispatcher.send(delivery, actor=MUSTER)
            except MusterError as error:
                log.info("%s", error, extra={"action": "delivery_refused"})
                recorded = False
        return recorded

    async def keep_telling(self, seat: SeatId, session: SessionHandle, told: PromptState) -> None:
        """Tell a long-lived program whatever comes, until it takes nothing any more.

        Every round waits: for a commit that concerns the seat, or after a delivery that could not
        be recorded, for a backoff. The answer of the inbox alone never starts another round: a
        disabled agent gets STOP at once, every time, and the loop would never yield.
        """
        failures = 0
        while not self._inbox.closed:
            # Before the question, so that no commit between the question and the wait is missed.
            news = self._inbox.news(seat)
            deliveries: list[Command] = []
            found = await self._ask(seat, told, deliveries)
            if found is None:
                await news.wait()
                continue
            text = errand(found)
            told.send(text, _turns([found]), words_of([found]))
            if not await session.send_prompt(text):
                return
            failures = 0 if await self.hand_over(deliveries) else failures + 1
            if failures:
                await asyncio.sleep(pause_s(failures))

    async def _at_once(
        self, seat: SeatId, told: PromptState, deliveries: list[Command]
    ) -> Sequence[Next]:
        """Every turn that it has, and the first messages beside: more when it has those."""
        found: list[Next] = []
        while (each := await self._ask(seat, told, deliveries)) is not None:
            found.append(each)
            if each.do is Do.MESSAGE:
                break
        return found

    async def _ask(self, seat: SeatId, told: PromptState, deliveries: list[Command]) -> Next | None:
        """The next thing to tell, if there is one, noted as told."""
        pending = await self._inbox.pending(seat, self._still_running(seat, told))
        deliveries.extend(pending.deliveries)
        found = pending.next
        if found is None:
            return None
        if found.do is Do.TURN and told.turns.get(found.channel or ChannelId("")) == found.epoch:
            found = resumed(found)  # it stood still meanwhile
        if found.do not in (Do.TURN, Do.MESSAGE):
            return None
        if found.channel is not None and found.epoch is not None:
            told.turns[found.channel] = found.epoch
        told.by_human = told.by_human or found.channel is None
        return found

    def _still_running(self, seat: SeatId, told: PromptState) -> Known:
        """The turns that it was told of and has; one that is over it need not be told of again."""
        running: dict[ChannelId, int] = {}
        for name, epoch in list(told.turns.items()):
            channel = self._dispatcher.team.channels.get(name)
            state = channel.state_of(seat) if channel and channel.epoch == epoch else None
            if state is TurnState.ACTIVE:
                running[name] = epoch
            elif state is not TurnState.WAITING:
                del told.turns[name]
        return running


def resumed(found: Next) -> Next:
    """A turn that goes on: nothing to tell, but what was said meanwhile."""
    new = tuple(each for each in found.messages if not each.again)
    return replace(found, do=Do.MESSAGE if new else Do.NOTHING, messages=new)


def who_it_is(team: Team, agent: Agent) -> str:
    """The first lines of every prompt."""
    return (
        f"You are {agent.id}, in seat {agent.seat} of a team that works for {team.human}. "
        "muster runs this session and reads what you print."
    )


def errand(found: Next) -> str:
    """What there is to do, in words."""
    lines: list[str] = []
    if found.do is Do.TURN:
        lines.append(
            f"It is your turn in the channel {found.channel} (turn {found.epoch}). Say what you "
            "have to say, and end your turn: with the tool turn_complete if you have it, or else "
            "with a line TURN_COMPLETE."
        )
    elif found.channel is not None:
        lines.append(f"New in the channel {found.channel}:")
    else:
        lines.append(NEW_MESSAGES)
    lines.extend(_line(each) for each in found.messages)
    return "\n".join(lines)


def words_of(errands: Sequence[Next]) -> str:
    """What humans say in these to the agent alone."""
    alone = (each for each in errands if each.channel is None)
    return "\n".join(message.text for each in alone for message in each.messages)


def _turns(errands: Sequence[Next]) -> tuple[ChannelId, ...]:
    """Where these give it the turn."""
    return tuple(each.channel for each in errands if each.do is Do.TURN and each.channel)


def _line(message: HandedMessage) -> str:
    again = " (told before)" if message.again else ""
    return f"[{message.speaker}]{again}: {message.text}"
