"""Turns the reports of a session into commands: the only way from a program's output to the team.

An intake belongs to one session and acts for its seat alone: a program cannot impersonate another
agent. If a state machine refuses a command, the refusal is recorded with its reason.

Where a program's output counts as its agent's speech (`Runtime.is_output_speech`), the text printed
during a turn is posted when the turn or the session ends. `turn_speech.py` keeps speech while a
turn is paused.
"""

import logging
from typing import Final

import msgspec
from msgspec.structs import replace

from muster.engine import ports
from muster.engine.dispatcher import Dispatcher
from muster.engine.fitting import fitted
from muster.engine.partials import Partials
from muster.errors import NotFound, Refused
from muster.limits import MESSAGE_BYTES_MAX, NOTE_CHARS_MAX
from muster.machines import commands as c
from muster.machines.ids import LEAD_SEAT, ChannelId, SeatId, SessionId
from muster.machines.spending import implausible
from muster.machines.state import Agent
from muster.machines.turns.order import NO_HANDOFF
from muster.machines.turns.table import active_turns
from muster.machines.vocabulary import NOTHING_USED, Outcome
from muster.sessions.approvals import Approvals
from muster.sessions.markers import Markers
from muster.sessions.prompt_state import PromptState, still_held
from muster.sessions.reports import SessionCommands
from muster.sessions.signs import SignOfWork, work_report
from muster.sessions.tools import Toolbox, member_named, only_channel
from muster.sessions.turn_speech import TurnAct, TurnSpeech, ends_turn

log = logging.getLogger(__name__)

ATTEMPTS: Final = 2
"""How often a command is tried before it is set aside."""

SHOWN_CHARS: Final = 200
"""How much of a message that was cut a warning shows: enough to find it."""


class Intake:
    """Handles the reports of one session."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        clock: ports.Clock,
        *,
        session: SessionId,
        seat: SeatId,
        is_output_speech: bool,
        told: PromptState,
        approvals: Approvals,
        partials: Partials | None = None,
        hosts: bool = False,
    ) -> None:
        """Act for this seat until the session ends; `hosts` as in `markers.py`."""
        commands = SessionCommands(dispatcher, clock, session=session, seat=seat)
        self._send, self._reject, self._fail = commands.send, commands.reject, commands.fail
        self._hosts = hosts
        self._approvals = approvals
        self._partials = partials
        self._speech = TurnSpeech(
            dispatcher, session=session, seat=seat, told=told, send=self._send
        )
        self._toolbox = Toolbox(
            dispatcher, session=session, seat=seat, told=told, speech=self._speech
        )
        self._dispatcher = dispatcher
        self._clock = clock
        self._session = session
        self._seat = seat
        self._is_output_speech = is_output_speech
        self._told = told
        self._printed: list[str] = []
        self._printed_chars = 0

    @property
    def _agent(self) -> Agent:
        return self._dispatcher.team.agents[self._seat]

    async def on_report(self, report: ports.SessionReport) -> None:
        """Handle one report of the session. Log a failure, so that later reports are handled."""
        async with self._told.recording:
            pass  # only a wait: the prompter never waits for a report that is being handled
        try:
            said = fitted(report)
            if isinstance(said, ports.AgentText | ports.TurnDone | ports.Result) and said.cut:
                await self._warn_of_cut(said)
            await self._take_in(said)
        except Exception as error:
            await self._fail(type(report).__name__, error)

    async def _take_in(self, report: ports.SessionReport) -> None:
        match report:
            case ports.Output():
                await self._print(report)
            case ports.TurnReport():
                await self._take_in_turn(report, self._turn(report.channel, report.epoch))
            case ports.Result():
                await self._result(report)
            case ports.HandRaised():
                await self._raise_hand(report)
            case (
                ports.Working()
                | ports.SessionActivity()
                | ports.SessionPlan()
                | ports.PromptAccepted()
                | ports.Spending()
            ):
                await self._see(report)
            case ports.Marker(name=name, body=body):
                await self._mark(name, body)
            case ports.BadLine(line=line, reason=reason):
                await self._reject(line, reason)
            case _:
                raise TypeError(report)

    async def _take_in_turn(self, said: ports.TurnReport, channel: ChannelId | None) -> None:
        """Handle something about a turn: that of this channel, if there is one."""
        match said:
            case ports.PartialText():
                self._show(said)
            case ports.TurnReport(epoch=int(epoch)) if channel is None:
                # a number means a turn, so these are no words for the human
                await self._reject(type(said).__name__, f"it was told of no turn {epoch}")
            case ports.AgentText(text=text, epoch=epoch):
                await self._say(text, channel, epoch)
            case ports.TurnDone():
                await self._done(channel, said)
            case ports.TurnWaits() | ports.TurnResumes():
                await self._wait(said, channel)
            case _:
                raise TypeError(said)

    async def on_tool_call(self, call: ports.MusterToolCall) -> ports.Reply:
        """Execute a call of one of muster's tools."""
        return await self._toolbox.call(call)

    async def on_permission_request(self, request: ports.Permission) -> ports.PermissionAnswer:
        """Ask a person for permission; the agent is WAITING until the answer."""
        return await self._approvals.ask(self._session, self._seat, request)

    async def finish(self, end: ports.Exit) -> None:
        """Post the output that is still buffered when the session ends, or put it on record."""
        try:
            await self._speech.finish(orderly=end.outcome is Outcome.COMPLETED)
            await self._tell_printed(is_answer=self._has_succeeded(end))
        except Exception as error:
            await self._fail("its last output", error)

    def _has_succeeded(self, end: ports.Exit) -> bool:
        codes = self._agent.run.policy.success_codes
        return end.outcome is Outcome.COMPLETED or end.code in codes

    # ── speaking ──────────────────────────────────────────────────────────────────────────────────

    async def _print(self, output: ports.Output) -> None:
        await self._send(
            c.ReportOutput(
                session=self._session,
                stream=output.stream,
                text=output.text,
                omitted=output.omitted,
            )
        )
        if not self._is_output_speech or output.stream != "stdout":
            return
        channel = self._turn(None)
        if channel is not None:
            self._speech.print(channel, output.text)
        elif self._told.by_human:
            self._printed_chars += len(output.text)
            if self._printed_chars * 4 <= MESSAGE_BYTES_MAX:
                self._printed.append(output.text)

    async def _tell_printed(self, *, is_answer: bool = True) -> None:
        """Send the human the text that was printed outside of a turn.

        The words of a program that fails answer nothing: they may be a banner that it printed
        before it read its prompt, or half an answer. The message is handed over again.
        """
        text, self._printed, self._printed_chars = "\n".join(self._printed).strip(), [], 0
        if text and is_answer:
            await self._say(text, None)
        elif text:
            await self._send(c.TellHuman(seat=self._seat, text=text, answers_upto=0))

    def _show(self, partial: ports.PartialText) -> None:
        """Show text that the agent writes in its turn; outside of a turn nobody sees it."""
        turn = self._speech.current(begun=self._told.confirms)
        is_named = partial.channel is not None or partial.epoch is not None
        channel = self._turn(partial.channel, partial.epoch) if is_named else turn
        if self._partials is not None and channel is not None:
            epoch = self._epoch(channel, partial.epoch)
            try:
                self._partials.put(channel, self._seat, partial.text, epoch)
            except Refused as refused:  # the turn is paused, for example
                extra = {"action": "partial_refused", "seat": self._seat}
                log.debug("%s", refused, extra=extra)

    async def _say(self, text: str, channel: ChannelId | None, epoch: int | None = None) -> None:
        """Post in a channel where the agent has the turn, or else to the human."""
        if channel is None:
            self._told.by_human = False
            upto = self._told.answers_upto
            await self._send(c.TellHuman(seat=self._seat, text=text, answers_upto=upto))
        else:
            epoch = self._epoch(channel, epoch)
            await self._act(c.Speak(channel=channel, seat=self._seat, text=text, epoch=epoch))

    async def _done(self, channel: ChannelId | None, done: ports.TurnDone) -> None:
        """Post the text, or the printed one, and end the turn; without one, tell the human."""
        if channel is None and done.text:
            return await self._say(done.text, None)
        await self._tell_printed()
        if channel is None:
            return None
        seat, epoch = self._seat, self._epoch(channel, done.epoch)
        last = done.text or ""
        if not last and not self._is_late(channel, done.epoch):
            last = self._speech.take_printed(channel)
        next_seat = None if done.to is None else await self._next_speaker(channel, done.to)
        if last:
            end = c.Speak(
                channel=channel, seat=seat, text=last, epoch=epoch, complete=True, to=next_seat
            )
        else:
            end = c.CompleteTurn(channel=channel, seat=seat, epoch=epoch, to=next_seat)
        await self._act(end)

    async def _warn_of_cut(self, said: ports.AgentText | ports.TurnDone | ports.Result) -> None:
        """Log in the channel that a message was too long; one for another channel is refused."""
        named = None if isinstance(said, ports.Result) else said.channel
        channel = self._turn(named)
        if channel is None or channel in self._dispatcher.team.busy_in(self._agent):
            what = f"a message of {self._agent.id} was cut to {MESSAGE_BYTES_MAX:,} bytes"
            text = f"{what}: {(said.text or '')[:SHOWN_CHARS]}..."
            await self._send(c.LogWarning(text=text, seat=self._seat, channel=channel))

    async def _next_speaker(self, channel: ChannelId, name: str) -> SeatId | None:
        """The seat of the member that is handed the turn; a wrong name is put on record."""
        seat = member_named(self._dispatcher.team, channel, name)
        if seat is None:
            why = f"{NO_HANDOFF}: {name!r} is no member of {channel!r}"
            await self._reject(f"TURN_COMPLETE @{name}", why)
        return seat

    async def _raise_hand(self, said: ports.HandRaised) -> None:
        channel = said.channel or only_channel(self._agent)
        if channel is None:
            await self._reject("raise_hand", "it must name one of its channels")
        else:
            hand = c.RaiseHand(channel=ChannelId(channel), seat=self._seat, raised=said.raised)
            await self._send(hand)

    async def _act(self, act: TurnAct) -> None:
        """Carry out an act on a turn now, or when the paused turn resumes."""
        if await self._speech.act(act, self._send, records=True) and ends_turn(act):
            self._told.end(act.channel, act.epoch)

    async def _result(self, result: ports.Result) -> None:
        """Handle a result: end the turn that the work was for, if the agent did not end it."""
        worked_in = self._told.channel
        if result.epoch is not None:
            result = await self._without_late_words(result, result.epoch)
        if result.answers:
            # the result of other work does not end a turn that was announced during that work
            channel = self._speech.current(begun=self._told.confirms)
            if result.epoch is not None:
                channel = self._turn(None, result.epoch)
            if channel is not None:
                await self._end_forgotten_turn(channel, result)
            elif worked_in is None and not self._told.answered:
                await self._done(None, ports.TurnDone(text=result.text or None))
            is_read = self._told.taken_upto > self._agent.read  # an answer need not be words
            if is_read and not (result.interrupted and self._is_stopping):
                await self._send(c.MarkRead(seat=self._seat, upto=self._told.taken_upto))
        elif result.unasked and result.ok and worked_in is None:
            await self._tell_unasked(result.text)
        self._told.answered = False  # what comes now is other work
        await self._report(result, worked_in)

    async def _without_late_words(self, result: ports.Result, epoch: int) -> ports.Result:
        """A result that names the turn that it is for: refused as its end if that turn is over.

        The piece of work and its usage count in any case.
        """
        channel = self._turn(None, epoch)
        if channel is None:
            await self._reject("result", f"it was told of no turn {epoch}")
        elif self._is_late(channel, epoch):
            seat, ok, text = self._seat, result.ok, result.text
            end = c.EndForgottenTurn(channel=channel, seat=seat, epoch=epoch, ok=ok, text=text)
            await self._act(end)
        else:
            return result
        return replace(result, answers=False, text="")

    @property
    def _is_stopping(self) -> bool:
        """Whether the session was asked to end: work that is cut off then has answered nothing."""
        session = self._dispatcher.team.sessions.get(self._session)
        return session is not None and session.urgency is not None

    async def _tell_unasked(self, text: str) -> None:
        """Tell the human what came of work that the program began itself, outside of any turn."""
        if text and self._speech.current() is None and not self._told.answered:
            await self._say(text, None)

    async def _report(self, result: ports.Result, worked_in: ChannelId | None = None) -> None:
        """Record a result and its usage."""
        usage = result.usage
        if why := implausible(usage):  # the result counts in any case
            await self._reject("result", f"its usage is ignored: {why}")
            usage = NOTHING_USED
        report = c.ReportResult(
            session=self._session,
            ok=result.ok,
            text=result.text or ("interrupted" if result.interrupted else ""),
            usage=usage,
            channel=worked_in,
            answers=result.answers,
            model=result.model[:NOTE_CHARS_MAX],
        )
        await self._send(report)

    async def _end_forgotten_turn(self, channel: ChannelId, result: ports.Result) -> None:
        """End a turn whose work is done and that the agent did not end."""
        if self._speech.has_ended(channel):
            return None  # it is paused, and ends when it resumes
        if result.interrupted and self._speech.is_halted(channel):
            return await self._pause(channel, result.text)
        if result.ok and self._told.has_unread(channel):
            # The program works on those messages next: that belongs to this turn, and ends it.
            return await self._say(result.text, channel) if result.text else None
        printed = self._speech.take_printed(channel)
        ended = c.EndForgottenTurn(
            channel=channel,
            seat=self._seat,
            epoch=self._told.epoch_of(channel),
            ok=result.ok,
            text=result.text or (printed if result.ok else ""),
        )
        if result.interrupted:  # its words are kept, and are not the reason of the end
            if words := result.text or printed:
                await self._say(words, channel)
            ended = replace(ended, text="interrupted")
        await self._act(ended)

    async def _pause(self, channel: ChannelId, text: str) -> None:
        """Keep the words of work that a person interrupted; the turn goes on at the release."""
        words = text or self._speech.take_printed(channel)
        self._told.interrupted = (channel, self._dispatcher.head.channels[channel].epoch)
        if words:
            await self._say(words, channel)

    async def _see(self, said: SignOfWork) -> None:
        """Handle a sign of activity: renew the turn, or record the activity."""
        if isinstance(said, ports.Working):
            for channel in list(active_turns(self._dispatcher.team, self._agent)):
                await self._send(c.RenewTurn(channel=channel, seat=self._seat))
        elif isinstance(said, ports.PromptAccepted):
            await self._take(said)
        elif isinstance(said, ports.Spending):
            if not implausible(said.usage):  # else the result tells
                await self._send(c.ReportSpending(session=self._session, usage=said.usage))
        else:
            await self._send(work_report(self._session, said))

    async def _take(self, took: ports.PromptAccepted) -> None:
        turns = self._told.accept(took.text, took.how)
        # Compared without an await before the report: a later turn is not taken with this prompt.
        channels = still_held(self._dispatcher.head, self._seat, turns)
        taken = c.ReportTaken(
            session=self._session, how=took.how, text=took.text, channels=channels
        )
        await self._send(taken)

    async def _wait(
        self, said: ports.TurnWaits | ports.TurnResumes, channel: ChannelId | None
    ) -> None:
        if channel is None:
            await self._reject(type(said).__name__, "it has no turn that could wait")
        elif isinstance(said, ports.TurnResumes):
            epoch = self._epoch(channel, said.epoch)
            await self._act(c.ResumeTurn(channel=channel, seat=self._seat, epoch=epoch))
        else:
            wait = c.WaitTurn(
                channel=channel,
                seat=self._seat,
                reason=said.reason,
                epoch=self._epoch(channel, said.epoch),
                timeout_seconds=said.seconds,
                awaits=said.awaits,
            )
            await self._act(wait)

    def _turn(self, named: str | None, epoch: int | None = None) -> ChannelId | None:
        """The channel that is named, or else that of the turn with this number, or else that of
        the turn that the program works on.
        """
        if named is not None:
            return ChannelId(named)
        told = None if epoch is None else self._told.channel_of(epoch)
        return self._speech.current() if told is None else told

    def _epoch(self, channel: ChannelId, named: int | None) -> int | None:
        """The number that the program names, or else that of the turn that it has begun."""
        return self._told.epoch_of(channel) if named is None else named

    def _is_late(self, channel: ChannelId, epoch: int | None) -> bool:
        """Whether the program itself names a turn that is not its turn any more."""
        return epoch is not None and not self._speech.is_at_work_on(channel, epoch)

    # ── markers ───────────────────────────────────────────────────────────────────────────────────

    async def _mark(self, name: str, body: str) -> None:
        upto = self._told.orders_upto(self._agent.read)
        markers = Markers(self._seat, self._session, self._hosts, upto)
        try:
            command = markers.command(name, body, self._dispatcher.team)
        except (msgspec.DecodeError, ValueError, RecursionError) as malformed:
            await self._reject(f"[{name}]", f"is malformed: {malformed}")
        except NotFound as unknown:
            await self._reject(f"[{name}]", str(unknown))
        else:
            await self._send(command, marker=f"[{name}]")
            if isinstance(command, c.TellHuman) and self._seat == LEAD_SEAT:
                about = self._dispatcher.team.agents[command.seat]
                upto = self._told.pass_on(about, self._agent.read)
                await self._send(c.MarkRead(seat=self._seat, upto=upto))
