"""The prompts of a session: the first one, and for a long-lived program all later ones.

Turns and messages come from the inbox, as for an agent that polls it, so both see the same. A
delivery is recorded after the program has started or has accepted the prompt, not before: a message
that did not reach the program is delivered again.
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
from muster.sessions.prompt_templates import BIRTH, LEAD, WAKE, PromptTemplates
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
    """The first prompt of a session, and the deliveries to record when it has started."""

    text: str
    deliveries: Sequence[Command]
    idle: bool = False
    """Whether a long-lived program has nothing to do yet."""


NOTHING_TO_TELL = InitialPrompt("", ())


class Prompter:
    """Sends turns and messages to sessions as prompts."""

    def __init__(
        self, dispatcher: Dispatcher, store: EventStore, inbox: Inbox, templates: PromptTemplates
    ) -> None:
        """Read souls and transcripts from the store, turns and messages from the inbox."""
        self._templates = templates
        self._dispatcher = dispatcher
        self._store = store
        self._inbox = inbox
        self._states: dict[SeatId, PromptState] = {}
        """The prompt state of the last session of each seat."""

    async def opening(self, agent: Agent, mode: RunMode, told: PromptState) -> InitialPrompt:
        """The first prompt of a session of this agent."""
        parts = [identity_line(self._dispatcher.team, agent), *await self.memory(agent)]
        if mode is RunMode.RUN_CLEANUP:
            parts.append(CLEANUP)
        deliveries: list[Command] = []
        items = await self._first_items(agent.seat, told, deliveries)
        parts.extend(map(prompt_for, items))
        text = "\n\n".join(parts) + "\n"
        told.send(text, _turns(items), human_text_of(items))
        self._states[agent.seat] = told
        waits = mode is RunMode.CONTINUOUS and agent.run.long_lived
        idle = waits and not items and agent.status is not Status.HATCHING
        return InitialPrompt(text, deliveries, idle)

    def human_text_in(self, seat: SeatId, prompt: str) -> str:
        """The text of humans in an input that consists of prompts of muster."""
        state = self._states.get(seat)
        return "" if state is None else state.human_text_in(prompt)

    async def memory(self, agent: Agent) -> Sequence[str]:
        """The templates for the agent: birth, or else waking with its soul and transcript."""
        team = self._dispatcher.team
        words = {"name": agent.id, "human": team.human, "seat": agent.seat, "color": agent.color}
        parts: list[str] = []
        if agent.seat == LEAD_SEAT:
            parts.append(self._templates.write(LEAD, **words))
        if agent.status is Status.HATCHING:
            parts.append(self._templates.write(BIRTH, **words))
        else:
            payload = await wake_payload(self._store, team, agent)
            if payload.has_soul or payload.has_transcript:
                parts.append(self._templates.write(WAKE, payload=as_xml(payload), **words))
        return parts

    async def hand_over(self, deliveries: Sequence[Command]) -> bool:
        """Record deliveries; a message without a recorded delivery is sent again."""
        recorded = True
        for delivery in deliveries:
            try:
                await self._dispatcher.send(delivery, actor=MUSTER)
            except MusterError as error:
                log.info("%s", error, extra={"action": "delivery_refused"})
                recorded = False
        return recorded

    async def keep_telling(self, seat: SeatId, session: SessionHandle, told: PromptState) -> None:
        """Send a long-lived program its turns and messages, until it accepts no more prompts.

        Every round waits: for a commit that concerns the seat, or after a delivery that could not
        be recorded, for a backoff. The answer of the inbox alone never starts another round: a
        disabled agent gets STOP at once, every time, and the loop would never yield.
        """
        failures = 0
        while not self._inbox.closed:
            # Subscribe before asking, so that no commit between asking and waiting is missed.
            news = self._inbox.news(seat)
            deliveries: list[Command] = []
            found = await self._ask(seat, told, deliveries)
            if found is None:
                await news.wait()
                continue
            text = prompt_for(found)
            told.send(text, _turns([found]), human_text_of([found]))
            if not await session.send_prompt(text):
                return
            failures = 0 if await self.hand_over(deliveries) else failures + 1
            if failures:
                await asyncio.sleep(pause_s(failures))

    async def _first_items(
        self, seat: SeatId, told: PromptState, deliveries: list[Command]
    ) -> Sequence[Next]:
        """Every turn of the agent, and the first batch of messages; later prompts have the rest."""
        found: list[Next] = []
        while (each := await self._ask(seat, told, deliveries)) is not None:
            found.append(each)
            if each.do is Do.MESSAGE:
                break
        return found

    async def _ask(self, seat: SeatId, told: PromptState, deliveries: list[Command]) -> Next | None:
        """The next turn or message to send, if there is one; updates the prompt state."""
        pending = await self._inbox.pending(seat, self._still_running(seat, told))
        deliveries.extend(pending.deliveries)
        found = pending.next
        if found is None:
            return None
        if found.do is Do.TURN and told.turns.get(found.channel or ChannelId("")) == found.epoch:
            found = resumed(found)  # the turn waited and goes on
        if found.do not in (Do.TURN, Do.MESSAGE):
            return None
        if found.channel is not None and found.epoch is not None:
            told.turns[found.channel] = found.epoch
        told.by_human = told.by_human or found.channel is None
        return found

    def _still_running(self, seat: SeatId, told: PromptState) -> Known:
        """The announced turns that are still active; ended ones are dropped from the state."""
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
    """A resumed turn: not announced again, only with its new messages."""
    new = tuple(each for each in found.messages if not each.again)
    return replace(found, do=Do.MESSAGE if new else Do.NOTHING, messages=new)


def identity_line(team: Team, agent: Agent) -> str:
    """The first line of a session's first prompt."""
    return (
        f"You are {agent.id}, in seat {agent.seat} of a team that works for {team.human}. "
        "muster runs this session and reads what you print."
    )


def prompt_for(found: Next) -> str:
    """The prompt text for a turn or for messages."""
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


def human_text_of(items: Sequence[Next]) -> str:
    """The text of direct messages in these items, without channel messages."""
    alone = (each for each in items if each.channel is None)
    return "\n".join(message.text for each in alone for message in each.messages)


def _turns(items: Sequence[Next]) -> tuple[ChannelId, ...]:
    """The channels in which these items give the turn."""
    return tuple(each.channel for each in items if each.do is Do.TURN and each.channel)


def _line(message: HandedMessage) -> str:
    again = " (told before)" if message.again else ""
    return f"[{message.speaker}]{again}: {message.text}"
