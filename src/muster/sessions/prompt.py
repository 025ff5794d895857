"""The prompts of a session: the first one, and for a long-lived program all later ones.

Turns and messages come from the inbox, as for an agent that polls it, so both see the same. A
delivery is recorded after the program has started or has accepted the prompt, not before: a message
that did not reach the program is delivered again. A delivery in the middle of a turn is recorded
when the turn is over, unless the program confirms prompts: it may have ended the turn before it
read the message, and then gets another turn, with the message marked as told before.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from muster.engine.dispatcher import Dispatcher
from muster.engine.ports import PromptImage, SessionHandle
from muster.errors import MusterError
from muster.inbox.errands import Known, Wanted, is_stopping
from muster.inbox.inbox import Inbox
from muster.machines.backoff import pause_s
from muster.machines.commands import Command, DeliverMessages, RecordWake, ReportTaken
from muster.machines.documents import HandedOver, Handover
from muster.machines.ids import LEAD_SEAT, MUSTER, ChannelId, SeatId, SessionId
from muster.machines.state import Agent, Status, Team, TurnState
from muster.machines.turns.order import RING
from muster.machines.turns.speech import FRAME, one_line
from muster.machines.turns.table import held_turns, is_own
from muster.machines.vocabulary import Awaits, RunMode, Taken
from muster.sessions.images import images_of
from muster.sessions.prompt_state import PromptState, still_held
from muster.sessions.prompt_templates import BIRTH, HOST, LEAD, WAKE, PromptTemplates
from muster.store.base import EventStore
from muster.views.access import ShowEvent, show_all
from muster.views.answers.messages import Do, Next
from muster.views.memory.wake_payload import as_xml, handed_over, has_memory, wake_payload
from muster.views.prompt_lines import prompt_line

NEW_MESSAGES = "You have new messages:"

HOW_TO_END: Final = "with the tool turn_complete if you have it, or else with a line TURN_COMPLETE."

NOBODY: Final = "nobody"
"""The answer of a selector that ends a conversation."""

Turns = frozenset[tuple[ChannelId, int]]
"""Turns by channel and epoch."""

Reports = Callable[[Mapping[ChannelId, int]], Awaitable[None]]
"""Records that a program was told of turns: their epochs by channel."""

CHOSEN: Final = "You chose this name yourself, and wrote the soul below when you did. "
RENAMED: Final = "You were called {names} before. "
WROTE: Final = "You wrote the soul below when you were born. "
EDITED: Final = "The soul below was written or edited by a person. "
"""What an agent is told of its name and its soul when it wakes."""

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

    images: tuple[PromptImage, ...] = ()
    turns: Mapping[ChannelId, int] = {}


class WakeMemory(msgspec.Struct, frozen=True):
    """The letters of a first prompt, and the sizes of what a waking agent is given in them."""

    parts: Sequence[str]
    handed: HandedOver | None = None
    """None at a birth, and where there is nothing to give and nothing to ask."""


NOTHING_TO_TELL = InitialPrompt("", ())


class Prompter:
    """Sends turns and messages to sessions as prompts."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        store: EventStore,
        inbox: Inbox,
        templates: PromptTemplates,
        *,
        hosts: Callable[[], bool] = lambda: False,
        checks: Callable[[Agent], bool] = lambda agent: False,
        handover: Callable[[Agent], Handover] = lambda agent: Handover.ALL,
        home: Path | None = None,
    ) -> None:
        """Read souls and transcripts from the store, turns and messages from the inbox, and
        images from the home."""
        self._home = home
        self.hosts = hosts
        """Tells whether agents of the lead run in sessions of their own."""

        self.checks = checks
        """Tells whether an agent is asked who it is when it wakes."""

        self.handover = handover
        """Tells how much of what was said an agent is given when it wakes."""

        self._templates = templates
        self._dispatcher = dispatcher
        self._store = store
        self._inbox = inbox
        self._states: dict[SeatId, PromptState] = {}
        """The prompt state of the last session of each seat."""

    async def opening(self, agent: Agent, mode: RunMode, told: PromptState) -> InitialPrompt:
        """The first prompt of a session of this agent."""
        memory = await self._memory(agent, show_all)
        parts = [identity_line(self._dispatcher.team, agent), *memory.parts]
        asked = memory.handed is not None and self.checks(agent)
        if asked:
            parts.append(wake_question(agent))
        if mode is RunMode.RUN_CLEANUP:
            parts.append(CLEANUP)
        deliveries: list[DeliverMessages] = []
        items = await self._first_items(agent.seat, told, deliveries)
        records: list[Command] = [*deliveries]
        if memory.handed is not None and agent.session is not None:
            record = RecordWake(
                seat=agent.seat, session=agent.session, handed=memory.handed, asked=asked
            )
            records.insert(0, record)
        parts.extend(map(prompt_for, items))
        text = "\n\n".join(parts) + "\n"
        turns = _turns(items)
        told.send(text, turns, human_text_of(items), upto=_direct_upto(deliveries))
        self._states[agent.seat] = told
        waits = mode is RunMode.CONTINUOUS and agent.run.long_lived
        idle = waits and not items and agent.status is not Status.HATCHING
        return InitialPrompt(text, records, idle, await images_of(self._home, items), turns)

    def human_text_in(self, seat: SeatId, prompt: str) -> str:
        """The text of humans in an input that consists of prompts of muster."""
        state = self._states.get(seat)
        return "" if state is None else state.human_text_in(prompt)

    async def memory(self, agent: Agent, show: ShowEvent = show_all) -> Sequence[str]:
        """The templates for the agent: birth, or else waking with its soul and transcript.

        `show` leaves out what a person or agent that looks at them may not read.
        """
        return (await self._memory(agent, show)).parts

    async def _memory(self, agent: Agent, show: ShowEvent) -> WakeMemory:
        team = self._dispatcher.team
        handed: HandedOver | None = None
        words = {"name": agent.id, "human": team.human, "seat": agent.seat, "color": agent.color}
        words["wishes"] = wishes_of(agent)
        words["origin"] = origin_of(agent)
        parts: list[str] = []
        if agent.seat == LEAD_SEAT:
            parts.append(self._templates.write(HOST if self.hosts() else LEAD, **words))
        if agent.status is Status.HATCHING:
            parts.append(self._templates.write(BIRTH, **words))
        else:
            payload = await wake_payload(
                self._store, team, agent, show, handover=self.handover(agent)
            )
            if has_memory(payload):
                parts.append(self._templates.write(WAKE, payload=as_xml(payload), **words))
                handed = handed_over(payload)
            elif self.checks(agent):
                handed = HandedOver()
        return WakeMemory(parts, handed)

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

    async def report_taken(
        self, seat: SeatId, session: SessionId, turns: Mapping[ChannelId, int]
    ) -> None:
        """Record that a program was told of turns, where the program itself does not say so."""
        # Compared without an await before the report: a turn that was granted since is not told.
        channels = still_held(self._dispatcher.head, seat, turns)
        if channels:
            text = ", ".join(f"turn {turns[each]} in {each}" for each in channels)
            taken = ReportTaken(session=session, how=Taken.STARTED, text=text, channels=channels)
            await self.hand_over([taken])

    async def keep_telling(
        self, seat: SeatId, session: SessionHandle, told: PromptState, reports: Reports | None
    ) -> None:
        """Send a long-lived program its turns and messages, until it accepts no more prompts.

        `reports` records the turns of each prompt that was accepted; a program that confirms
        prompts has none.

        Every round waits: for a commit that concerns the seat, or after a delivery that could not
        be recorded, for a backoff. The answer of the inbox alone never starts another round: a
        disabled agent gets STOP at once, every time, and the loop would never yield.
        """
        failures, waits = 0, Turns()
        while not self._inbox.closed:
            # Subscribe before asking, so that no commit between asking and waiting is missed.
            news = self._inbox.news(seat)
            while ended := told.take_ended(self._dispatcher.team, seat):
                await self.hand_over(ended)  # without a record, the message is told as new
            # The message that ends a wait is found in the round after the wait, or in the same.
            before, waits = waits, _waits_for_person(self._dispatcher.team, seat)
            deliveries: list[DeliverMessages] = []
            found = await self._ask(seat, told, deliveries)
            if found is None:
                await news.wait()
                continue
            text = typed_command(found)
            if not session.is_command(text):
                text = prompt_for(found, goes_on=told.resumes(found.channel, found.epoch))
            turns, words = _turns([found]), human_text_of([found])
            upto = _direct_upto(deliveries)
            images = await images_of(self._home, [found])
            prompt = told.send(text, turns, words, about=found.channel, upto=upto)
            if not await session.send_prompt(text, images, turns):
                told.withdraw(prompt)
                return
            async with told.recording:
                if reports is not None:
                    deliveries = _without_handed(found, told, deliveries, before | waits)
                    await reports(turns)
                failures = 0 if await self.hand_over(deliveries) else failures + 1
            if failures:
                await asyncio.sleep(pause_s(failures))

    async def withdraw_turn(self, seat: SeatId, channel: ChannelId, session: SessionHandle) -> bool:
        """Take back the prompt of a turn that was lost while it waited behind other work.

        False if there is none, or the program has begun it: then its work is to be interrupted.
        """
        told = self._states.get(seat)
        lost = told and told.lost_turn(self._dispatcher.head, seat, channel)
        if told is None or lost is None or not await session.withdraw_prompt(lost.text):
            return False
        told.withdraw(lost)
        return True

    async def _first_items(
        self, seat: SeatId, told: PromptState, deliveries: list[DeliverMessages]
    ) -> Sequence[Next]:
        """Every turn of the agent, and the first batch of messages; later prompts have the rest."""
        found: list[Next] = []
        while (each := await self._ask(seat, told, deliveries)) is not None:
            found.append(each)
            if each.do is Do.MESSAGE:
                break
        return found

    async def _ask(
        self, seat: SeatId, told: PromptState, deliveries: list[DeliverMessages]
    ) -> Next | None:
        """The next turn or message to send, if there is one; updates the prompt state."""
        known = self._still_running(seat, told)
        handed = (*told.handed.values(), *deliveries)
        # A program answers where it has the turn: words of another channel wait until it is over.
        wanted = Wanted(known=known, outside=not told.turns)
        pending = await self._inbox.pending(seat, wanted, handed)
        if is_stopping(self._dispatcher.head, self._dispatcher.head.agent(seat)):
            return None  # a person interrupted it meanwhile; the prompt comes when it has stopped
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
        told.note_words(found)
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


def wishes_of(agent: Agent) -> str:
    """The wishes for a new agent, where its seat was prepared with a name or a role."""
    name = f"You are asked to take the name {agent.asked_name}. " if agent.asked_name else ""
    return name + (f"Your role in the team: {one_line(agent.role)}" if agent.role else "")


def origin_of(agent: Agent) -> str:
    """The origin of its name and its soul, as an agent that wakes is told."""
    is_own = bool(agent.soul) and not agent.enrolled
    is_edited, names = agent.soul_edited_at is not None, agent.earlier_names
    if is_own and not names and not is_edited:
        return CHOSEN
    renamed = RENAMED.format(names=", ".join(names)) if names else ""
    return renamed + (EDITED if is_edited else WROTE if is_own else "")


def wake_question(agent: Agent) -> str:
    """The request to an agent that wakes to say who it is."""
    soul = ', "soul": "the first line of your soul"' if agent.soul else ""
    return (
        "Before anything else, show that you know who you are: print one line of its own, outside "
        f"of any code block, with your name{' and the first line of your soul' if soul else ''}:"
        f'\n\n[AGENT_AWAKE] {{"name": "..."{soul}}}'
    )


def resumed(found: Next) -> Next:
    """A resumed turn: not announced again, only with its new messages."""
    new = tuple(each for each in found.messages if not each.again)
    return replace(found, do=Do.MESSAGE if new else Do.NOTHING, messages=new)


def identity_line(team: Team, agent: Agent) -> str:
    """The first line of a session's first prompt."""
    return (
        f"You are {agent.id}, in seat {agent.seat} of a team that works for {team.human}. "
        f"muster runs this session and reads what you print. {FRAME}"
    )


def prompt_for(found: Next, *, goes_on: bool = False) -> str:
    """The prompt text for a turn or for messages; with `goes_on`, after an interruption of it."""
    lines: list[str] = []
    if found.choosing:
        lines.extend(_choice(found))
    elif found.do is Do.TURN:
        lines.append(
            f"It is your turn in the channel {found.channel} ({_number(found)}). Say what you "
            f"have to say, and end your turn: {HOW_TO_END}"
        )
    elif goes_on:
        lines.append(
            f"A person has interrupted your work in the channel {found.channel}. What you had said "
            "is posted, and it is still your turn. Go on with this in mind:"
        )
    elif found.channel is not None:
        lines.append(f"New in the channel {found.channel}:")
    else:
        lines.append(NEW_MESSAGES)
    lines.extend(prompt_line(each) for each in found.messages)
    return "\n".join(lines)


def typed_command(found: Next) -> str:
    """The text that a person sends an agent directly and alone, if it begins as a command does."""
    said = found.messages[0] if len(found.messages) == 1 and found.channel is None else None
    return said.text.strip() if said is not None and said.by_human and said.text[0] == "/" else ""


def _number(found: Next) -> str:
    """The number of a turn, and the reason of its grant if the ring did not decide."""
    why = "" if found.reason in (None, RING) else f", {found.reason}"
    return f"turn {found.epoch}{why}"


def _choice(found: Next) -> Iterator[str]:
    """The request to a channel's selector."""
    yield (
        f"You choose who speaks next in the channel {found.channel} (turn {found.epoch}). Answer "
        f"with one name alone, or with {NOBODY} to end the conversation. What you say is not "
        f"posted. Then end your turn: {HOW_TO_END}"
    )
    yield "The members are:"
    for each in found.candidates:
        about = one_line(each.description)
        yield f"- {each.name}: {about}" if about else f"- {each.name}"
    if found.messages:
        yield "New messages:"


def human_text_of(items: Sequence[Next]) -> str:
    """The text of direct messages in these items, without channel messages."""
    alone = (each for each in items if each.channel is None)
    words = (message for each in alone for message in each.messages)
    return "\n".join(message.text for message in words if message.by_human)


def _waits_for_person(team: Team, seat: SeatId) -> Turns:
    """The turns of a seat that wait for a person's answer because the agent asked for that."""
    return Turns(
        (name, team.channels[name].epoch)
        for name, turn in held_turns(team, team.agents[seat])
        if turn.wait is not None and is_own(turn.wait) and turn.wait.awaits is Awaits.PERSON
    )


def _without_handed(
    found: Next, told: PromptState, deliveries: list[DeliverMessages], waits: Turns
) -> list[DeliverMessages]:
    """The deliveries to record now; those of messages in the middle of a turn are kept.

    A program whose turn waits for a person reads the answer before it goes on, unless an earlier
    message is before it.
    """
    if found.do is not Do.MESSAGE or found.channel is None or found.epoch is None:
        return deliveries
    turn = (found.channel, found.epoch)
    if turn in waits and turn not in told.handed:
        return deliveries
    for each in deliveries:
        if each.channel == found.channel:
            told.handed[turn] = each
    return [each for each in deliveries if each.channel != found.channel]


def _direct_upto(deliveries: Sequence[DeliverMessages]) -> int:
    """The seq of the last direct message among these deliveries; 0 if there is none."""
    return max((each.upto for each in deliveries if each.channel is None), default=0)


def _turns(items: Sequence[Next]) -> dict[ChannelId, int]:
    """The epochs of the turns that these items announce, by channel."""
    turns = (each for each in items if each.do is Do.TURN)
    return {each.channel: each.epoch for each in turns if each.channel and each.epoch is not None}
