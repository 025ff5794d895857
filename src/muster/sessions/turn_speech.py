"""The speech of one session in its turns: posted at once, or kept while the turn is paused.

A program goes on working while a person holds its turn, or while an approval is open. What it says
then is kept and posted when the turn resumes, and a turn that it ends then ends at that moment. If
the turn is lost instead, the words are put on record with the reason, and are never posted in a
later turn.

A program that has lost its turn is interrupted, and may go on to speak until its work has stopped
(`Drain`). Those are words of the lost turn, which may be in a private channel: they are put on
record in that channel, and nowhere else.

The lines that a program prints in a turn wait here, too, until it ends the turn.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from msgspec.structs import replace

from muster.engine.dispatcher import Commit, Dispatcher
from muster.engine.tasks import TaskOwner
from muster.errors import TooMuchKept
from muster.limits import HELD_ACTS_MAX, HELD_BYTES_MAX, MESSAGE_BYTES_MAX
from muster.machines.commands import (
    Command,
    CompleteTurn,
    EndForgottenTurn,
    LogWarning,
    ResumeTurn,
    Speak,
    WaitTurn,
)
from muster.machines.events import StateTransition, WorkStopped
from muster.machines.ids import ChannelId, SeatId, SessionId
from muster.machines.state import Agent, HeldTurn, Team
from muster.machines.turns.table import (
    HELD,
    LOST_BECAUSE,
    SESSION_ENDED,
    TURN_COMPLETE,
    WAITING,
    held_turns,
    is_own,
)
from muster.machines.vocabulary import Machine, Urgency
from muster.sessions.prompt_state import PromptState

TurnAct = Speak | CompleteTurn | EndForgottenTurn | WaitTurn | ResumeTurn
"""A command of the holder about its turn."""

Send = Callable[[Command], Awaitable[object]]

ENDED: Final = (TURN_COMPLETE, "silence")
"""The transitions in which a turn comes to its usual end."""

LOST: Final = "it had lost the turn by then"
OVER: Final = "the turn that they are for is over"

FULL: Final = f"no more than {HELD_ACTS_MAX} acts with {HELD_BYTES_MAX:,} bytes wait for a turn"


class TurnWords(msgspec.Struct):
    """The words of one turn that are not posted yet."""

    channel: ChannelId
    epoch: int
    printed: list[str] = msgspec.field(default_factory=list[str])
    chars: int = 0
    acts: list[TurnAct] = msgspec.field(default_factory=list[TurnAct])
    """Acts that wait for the turn to resume; only the last one may end the turn."""

    def take_printed(self) -> str:
        """The printed lines, which count as posted from now on."""
        text, self.printed, self.chars = "\n".join(self.printed), [], 0
        return text.strip()

    def keep(self, act: TurnAct) -> None:
        """Keep an act. The turn ends once, with the last one."""
        last = self.acts.pop() if self.acts else None
        self.acts += [act] if last is None else merged(last, act)

    def has_room(self, act: TurnAct) -> bool:
        """Whether an act can be kept. The end of the turn can in any case: there is only one."""
        text = words_of(act)
        if not text and ends_turn(act):
            return True
        kept = sum(_bytes(words_of(each)) for each in self.acts)
        return len(self.acts) < HELD_ACTS_MAX and kept + _bytes(text) <= HELD_BYTES_MAX

    @property
    def unposted(self) -> str:
        """All words as one text."""
        texts = [text for each in self.acts if (text := words_of(each))]
        return "\n".join([*texts, "\n".join(self.printed)]).strip()


class TurnSpeech:
    """Posts what one session says in its turns, or keeps it while a turn is paused."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        session: SessionId,
        seat: SeatId,
        told: PromptState,
        send: Send,
    ) -> None:
        """Send kept acts and records with `send`, which handles refusals."""
        self._dispatcher = dispatcher
        self._session = session
        self._seat = seat
        self._told = told
        self._send = send
        self._words: dict[ChannelId, TurnWords] = {}
        self._lock = asyncio.Lock()
        """Keeps acts in order: kept ones go out before the next."""

        self._tasks = TaskOwner(f"the speech of session {session}")
        self._records: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        """Set by every commit while words wait."""

        self._watching = False

    @property
    def _head(self) -> Team:
        return self._dispatcher.head

    @property
    def _agent(self) -> Agent:
        return self._head.agents[self._seat]

    # ── whose turn it is ──────────────────────────────────────────────────────────────────────────

    def current(self, *, begun: bool = False) -> ChannelId | None:
        """The channel of the turn that the program works on, a paused one last.

        A turn whose prompt waits behind other work does not count. A turn that it has just lost
        counts until its work has stopped: before all others if it was the last one that it began;
        with `begun`, only then.
        """
        known = [
            (3 if turn.wait is not None else 1, channel)
            for channel, turn in held_turns(self._head, self._agent)
            if (turn.taken or not self._told.confirms) and self._knows(channel)
        ]
        last = self._told.channel
        known += [
            (0 if channel == last else 2, channel)
            for channel in self._agent.draining
            if self._has_lost(channel) and (channel == last or not begun)
        ]
        return min(known, key=lambda each: each[0])[1] if known else None

    def _has_lost(self, channel: ChannelId) -> bool:
        """Whether the program has lost the turn in a channel and has not stopped its work yet."""
        found = self._head.channels.get(channel)
        return found is not None and found.drain is not None and found.drain.seat == self._seat

    def _knows(self, channel: ChannelId) -> bool:
        """Whether the program was told of the turn, and not of an earlier one alone."""
        epoch = self._told.turns.get(channel)
        return self._told.asks if epoch is None else epoch == self._head.channels[channel].epoch

    def _turn(self, channel: ChannelId, epoch: int | None) -> HeldTurn | None:
        """The turn of this session's seat in a channel, if it is the one with that epoch."""
        found = self._head.channels.get(channel)
        if found is None or (epoch is not None and found.epoch != epoch):
            return None
        return found.turn if found.turn is not None and found.turn.holder == self._seat else None

    def is_at_work_on(self, channel: ChannelId, epoch: int) -> bool:
        """Whether the turn of this number is the seat's, or has just been lost."""
        return self._turn(channel, epoch) is not None or self._has_lost(channel)

    # ── speaking ──────────────────────────────────────────────────────────────────────────────────

    def print(self, channel: ChannelId, text: str) -> None:
        """Keep printed lines until the turn ends, up to the length of a message."""
        words = self._of(channel)
        before, words.chars = words.chars, words.chars + len(text)
        if words.chars * 4 <= MESSAGE_BYTES_MAX:
            words.printed.append(text)
        elif before * 4 <= MESSAGE_BYTES_MAX:
            self._record_cut(channel)

    def take_printed(self, channel: ChannelId) -> str:
        """The printed lines of the turn in a channel, which the caller posts."""
        words = self._words.get(channel)
        text = "" if words is None else words.take_printed()
        self._forget_empty(channel)
        return text

    async def act(self, act: TurnAct, send: Send, *, records: bool = False) -> bool:
        """Carry out an act, or keep it while the turn is paused; tell whether it was carried out.

        `send` may raise a refusal. A wait that the agent requested itself ends with its next act.
        With `records`, the words of a turn that was just lost are put on record.
        """
        async with self._lock:
            await self._post_kept(act.channel)
            if await self._carry_out(act, send, records=records):
                return True
            if isinstance(act, ResumeTurn) and not self._keeps_wait(act.channel):
                await send(act)  # refused: it would end a pause that is not the agent's
                return True
            self._keep(act, records=records)
            return False

    def _keep(self, act: TurnAct, *, records: bool) -> None:
        """Keep an act for the turn's resumption. Without room it is refused; with `records` its
        words are put on record, and an end of the turn is kept without them.
        """
        words = self._of(act.channel)
        if words.has_room(act):
            words.keep(act)
            return
        if not records:
            raise TooMuchKept(
                name=self._agent.id, channel=act.channel, acts=HELD_ACTS_MAX, bytes=HELD_BYTES_MAX
            )
        self._record(act.channel, words_of(act) or type(act).__name__, FULL)
        if ends_turn(act):
            to = None if isinstance(act, EndForgottenTurn) else getattr(act, "to", None)
            words.keep(CompleteTurn(channel=act.channel, seat=act.seat, epoch=act.epoch, to=to))

    def _keeps_wait(self, channel: ChannelId) -> bool:
        """Whether a wait of the agent itself is kept, which it may end."""
        words = self._words.get(channel)
        return words is not None and any(isinstance(each, WaitTurn) for each in words.acts)

    async def _carry_out(self, act: TurnAct, send: Send, *, records: bool = True) -> bool:
        """Carry out an act; False if the turn is paused by another than the agent."""
        # Checked and sent without an await in between: a pause cannot come between.
        turn = self._turn(act.channel, act.epoch)
        if turn is not None and turn.wait is not None:
            if not is_own(turn.wait):
                return False
            if not isinstance(act, ResumeTurn):
                await send(ResumeTurn(channel=act.channel, seat=self._seat, if_own=True))
        can_record = records and not isinstance(act, WaitTurn | ResumeTurn)
        if can_record and self._has_lost(act.channel):
            self._record(act.channel, words_of(act), LOST)
            return True
        if can_record and self._is_late(act):  # it is refused, and the refusal has no words
            self._record(act.channel, words_of(act), OVER)
        await send(act)
        return True

    def _is_late(self, act: TurnAct) -> bool:
        """Whether an act is for an earlier turn that the program was told of."""
        epoch = act.epoch
        is_known = epoch is not None and self._told.was_told(act.channel, epoch)
        return is_known and self._turn(act.channel, epoch) is None

    def has_ended(self, channel: ChannelId) -> bool:
        """Whether the program itself has ended a paused turn, which ends when it resumes."""
        words = self._words.get(channel)
        last = words.acts[-1] if words is not None and words.acts else None
        return last is not None and ends_turn(last) and not isinstance(last, EndForgottenTurn)

    def is_halted(self, channel: ChannelId) -> bool:
        """Whether the work on the turn in a channel is interrupted, and goes on later."""
        turn = self._turn(channel, self._told.turns.get(channel))
        return turn is not None and turn.stopping

    async def finish(self, *, orderly: bool) -> None:
        """The session has ended: post what can be posted, and put the rest on record.

        After an orderly end the words of a turn that a person holds wait for the person. The turn
        is the agent's until the end of its session is reported.
        """
        while orderly and self._may_wait() and any(map(self._is_held_by_person, self._words)):
            self._news.clear()
            await self._news.wait()
        async with self._lock:
            for channel in list(self._words):
                await self._post_kept(channel)
                words = self._words.get(channel)
                if words is not None and self._can_post(words):
                    await self._post_printed(words)
            for words in list(self._words.values()):
                self._lose(words, SESSION_ENDED)
        if self._watching:
            self._dispatcher.unwatch(self._on_commit)
        if self._records:
            await asyncio.wait(self._records)

    def _may_wait(self) -> bool:
        """Whether the end of the session may be reported later: nobody wants it now."""
        session = self._head.sessions.get(self._session)
        is_wanted = session is None or session.urgency is Urgency.NOW
        return not is_wanted and self._head.shutdown is None

    async def _post_printed(self, words: TurnWords) -> None:
        """Post the printed lines of a session that has ended; its end then ends the turn."""
        text = words.take_printed()
        self._forget_empty(words.channel)
        if text:
            channel, epoch = words.channel, words.epoch
            await self._carry_out(
                Speak(channel=channel, seat=self._seat, text=text, epoch=epoch), self._send
            )

    # ── kept words ────────────────────────────────────────────────────────────────────────────────

    def _of(self, channel: ChannelId) -> TurnWords:
        if not self._watching:
            self._watching = True
            self._dispatcher.watch(self._on_commit)
        epoch = self._told.turns.get(channel, self._head.channels[channel].epoch)
        return self._words.setdefault(channel, TurnWords(channel, epoch))

    def _is_paused(self, channel: ChannelId) -> bool:
        words = self._words[channel]
        turn = self._turn(channel, words.epoch)
        return turn is not None and turn.wait is not None and not is_own(turn.wait)

    def _can_post(self, words: TurnWords) -> bool:
        turn = self._turn(words.channel, words.epoch)
        return turn is not None and not self._is_paused(words.channel)

    def _is_held_by_person(self, channel: ChannelId) -> bool:
        turn = self._turn(channel, self._words[channel].epoch)
        return turn is not None and turn.wait is not None and turn.wait.by_human

    async def _post_kept(self, channel: ChannelId) -> None:
        """Carry out the kept acts of a turn that has resumed, as if they were done now.

        A wait among them ends with the next act. If the turn is paused again, the rest is kept.
        """
        words = self._words.get(channel)
        while words is not None and words.acts and not self._is_paused(channel):
            # Removed first: words that are being posted are not lost if the turn ends with them.
            await self._carry_out(words.acts.pop(0), self._send)
            words = self._words.get(channel)
        self._forget_empty(channel)

    def _forget_empty(self, channel: ChannelId) -> None:
        words = self._words.get(channel)
        if words is not None and not words.acts and not words.printed:
            del self._words[channel]

    def _on_commit(self, commit: Commit) -> None:
        """Notice turns that resume or are lost."""
        if not self._words:
            return
        for event in commit.events:
            fact = event.fact
            if isinstance(fact, StateTransition | WorkStopped) and fact.seat == self._seat:
                words = self._words.get(fact.channel or ChannelId(""))
                if words is not None:
                    self._note(words, fact)
        self._news.set()

    def _note(self, words: TurnWords, fact: StateTransition | WorkStopped) -> None:
        if isinstance(fact, WorkStopped):
            if self._turn(words.channel, words.epoch) is None:  # else a person holds it, no more
                self._lose(words, LOST)
        elif fact.machine is not Machine.TURNS:
            return
        elif fact.target in HELD:
            if fact.source == WAITING:
                self._tasks.start(self._resume(words.channel))
        elif words.acts or fact.trigger not in ENDED:
            self._lose(words, LOST_BECAUSE.get(fact.trigger, f"the turn is over ({fact.trigger})"))
        else:  # the holder ended its turn in another way, so these were no words for the channel
            del self._words[words.channel]

    async def _resume(self, channel: ChannelId) -> None:
        async with self._lock:
            await self._post_kept(channel)

    def _lose(self, words: TurnWords, reason: str) -> None:
        """Put words on record that cannot be posted any more."""
        del self._words[words.channel]
        self._record(words.channel, words.unposted, reason)

    def _record(self, channel: ChannelId, text: str, reason: str) -> None:
        if text:
            what = f"the words of {self._agent.id} in {channel!r} were not posted"
            self._warn(channel, f"{what}, because {reason}: {text}")

    def _record_cut(self, channel: ChannelId) -> None:
        what = (
            f"{self._agent.id} has printed more in its turn in {channel!r} than a message may have"
        )
        self._warn(channel, f"{what}: the rest is not posted, and is in its output.log")

    def _warn(self, channel: ChannelId, text: str) -> None:
        warning = LogWarning(text=text, seat=self._seat, channel=channel)
        task = self._tasks.start(self._put_on_record(warning))
        self._records.add(task)
        task.add_done_callback(self._records.discard)

    async def _put_on_record(self, warning: LogWarning) -> None:
        await self._send(warning)


def merged(first: TurnAct, act: TurnAct) -> list[TurnAct]:
    """Two acts in order, of which only the second may end the turn."""
    if not ends_turn(first):
        return [first, act]
    if isinstance(act, WaitTurn | ResumeTurn):
        return [first]
    if isinstance(act, Speak) and not act.complete:
        to = None if isinstance(first, EndForgottenTurn) else getattr(first, "to", None)
        act = replace(act, complete=True, to=to)
    if isinstance(first, Speak):
        return [replace(first, complete=False, to=None), act]
    if isinstance(first, EndForgottenTurn) and first.ok and first.text:
        said = Speak(channel=first.channel, seat=first.seat, text=first.text, epoch=first.epoch)
        return [said, act]
    return [act]


def ends_turn(act: TurnAct) -> bool:
    """Whether an act ends the turn."""
    return isinstance(act, CompleteTurn | EndForgottenTurn) or (
        isinstance(act, Speak) and act.complete
    )


def _bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def words_of(act: TurnAct) -> str:
    """The words that an act would post."""
    if isinstance(act, EndForgottenTurn):
        return act.text if act.ok else ""
    return act.text if isinstance(act, Speak) else ""
