"""`muster watch`: a channel live in the terminal; in a pipe, one line for each event.

The stream of events has the messages and signals changes; the state of the channel and its deadline
are requested again after each change, so that the view cannot drift.
"""

import os
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from queue import Empty, Queue
from shutil import get_terminal_size
from threading import Thread
from typing import Final, Literal

import click
import msgspec

from muster.cli.acting import ends_in, unread_count, what_goes_on, why
from muster.cli.options import home_option
from muster.cli.render import Look, Tone, clean, columns, fit, paint
from muster.cli.terminal import look
from muster.client import requests
from muster.client.sync import Client
from muster.errors import MusterError, Unavailable
from muster.views.answers.channels import ChannelState, MemberView

KEPT: Final = 200
"""Lines to keep: more than any terminal shows."""

WAITING: Final = 1000
"""Size of the event queue; a full queue pauses the stream."""

TICK_SECONDS: Final = 1.0

_MESSAGES: Final = ("user_message", "agent_message", "announcement")
_TONES: Final = {"ACTIVE": Tone.GOOD, "WAITING": Tone.ODD, "QUEUED": Tone.PLAIN}


class Block(msgspec.Struct, frozen=True):
    """A part of what an agent said."""

    text: str = ""


class Happening(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The fields of an event that are shown."""

    type: str
    ts: datetime
    text: str = ""
    speaker_name: str = ""
    agent_name: str = ""
    content: tuple[Block, ...] = ()
    machine: str = ""
    agent_id: str = ""
    source: str = msgspec.field(name="from", default="")
    target: str = msgspec.field(name="to", default="")
    trigger: str = ""

    @property
    def line(self) -> str | None:
        """The event as a line, or None."""
        said = self._said()
        return f"{self.ts.astimezone():%H:%M:%S}  {clean(said)}" if said else None

    @property
    def is_message(self) -> bool:
        """Whether the event is a message."""
        return self.type in _MESSAGES

    def _said(self) -> str | None:
        match self.type:
            case "user_message":
                return f"{self.speaker_name}: {self.text}"
            case "agent_message":
                return f"{self.agent_name}: {' '.join(block.text for block in self.content)}"
            case "announcement":
                return f"· {self.text}"
            case "state_transition" if self.machine == "turns":
                return f"  {self.agent_id}: {self.source} → {self.target} ({self.trigger})"
            case _:
                return None


@click.command()
@home_option
@click.option(
    "--last", type=click.IntRange(0, KEPT), default=20, help="Show the last N messages first [20]."
)
@click.argument("channel")
def watch(home: Path, last: int, channel: str) -> None:
    """Watch a channel live: ring, turn and messages.

    In a terminal it shows the members in turn order, the holder of the turn and its deadline, and
    the messages below. Into a pipe it prints a line for each message and each change. Ctrl-C ends
    it.
    """
    with Client(home=home) as client:
        state = client.channel(channel)
        page = client.ask(requests.log(limit=max(1, last), channel=channel, types=_MESSAGES))
        events = page.events[-last:] if last else ()
        happened = [msgspec.json.decode(each, type=Happening) for each in events]
        news = _follow(client, channel, page.after)
        try:
            if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
                _draw(client, state, happened, news)
            else:
                _print(happened, news)
        except KeyboardInterrupt:
            return


News = Queue[Happening | MusterError]


def _follow(client: Client, channel: str, after: int) -> News:
    """Events of a channel, queued by a daemon thread."""
    news: News = Queue(WAITING)

    def read() -> None:
        try:
            for event in client.events(after=after, channel=channel):
                if event.type != "cursor_unknown":
                    news.put(msgspec.json.decode(event.data, type=Happening))
        except MusterError as error:
            news.put(error)

    Thread(target=read, name=f"watch {channel}", daemon=True).start()
    return news


def _taken(happening: Happening | MusterError) -> Happening:
    if isinstance(happening, MusterError):
        raise happening
    return happening


def _print(happened: Iterable[Happening], news: News) -> None:
    """One line for each event, for a pipe."""

    def all_of_it() -> Iterator[Happening]:
        yield from happened
        while True:
            yield _taken(news.get())

    for each in all_of_it():
        if each.line is not None:
            sys.stdout.write(f"{each.line}\n")
            sys.stdout.flush()


# ── in a terminal ─────────────────────────────────────────────────────────────────────────────────


def _draw(client: Client, state: ChannelState, happened: Sequence[Happening], news: News) -> None:
    """Redraw the channel every second and at every event."""
    lines = deque((each.line or "" for each in happened), KEPT)
    lost = False
    with _screen():
        while True:
            height = get_terminal_size().lines
            shown = view(state, lines, look(), height, lost=lost)
            sys.stdout.write("\x1b[H\x1b[J" + "\n".join(shown))
            sys.stdout.flush()
            for each in _some(news):
                if each.is_message and each.line:
                    lines.append(each.line)
            try:
                state, lost = client.ask(requests.channel(state.channel), patience_s=0.0), False
            except Unavailable:
                lost = True


def _some(news: News) -> Iterator[Happening]:
    """All queued events, after at most a second."""
    try:
        yield _taken(news.get(timeout=TICK_SECONDS))
        while True:
            yield _taken(news.get_nowait())
    except Empty:
        return


@contextmanager
def _screen() -> Generator[None]:
    """The alternate screen, without a cursor; restored at the end."""
    sys.stdout.write("\x1b[?1049h\x1b[?25l")
    try:
        yield
    finally:
        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()


def view(
    state: ChannelState, lines: Sequence[str], look: Look, height: int, *, lost: bool = False
) -> list[str]:
    """The channel as lines that fit the terminal: state above, messages below."""
    head = [*_head(state, look, lost), *(_member(state, each, look) for each in state.members), ""]
    width = look.width or 80
    room = max(0, height - len(head) - 1)
    return [*head, *(fit(line, width) for line in list(lines)[len(lines) - room :] if room)]


def _head(state: ChannelState, look: Look, lost: bool) -> Iterator[str]:
    turn = f", turn {state.epoch}" if state.epoch else ""
    ends = f", ends in {ends_in(state)}" if state.timeout_at else ""
    told = fit(clean(f": {what_goes_on(state)}{turn}{ends}{why(state)}"), _room(state, look))
    yield paint(state.channel, Tone.STRONG, look) + told
    if lost:
        yield paint("The server does not answer. This is the last known state.", Tone.BAD, look)


def _room(state: ChannelState, look: Look) -> int:
    """Columns beside the channel's name."""
    return max(0, (look.width or 1000) - columns(clean(state.channel)))


def _member(state: ChannelState, member: MemberView, look: Look) -> str:
    holds = member.agent == state.holder
    mark: Literal["▶", "·", " "] = "▶" if holds else "·" if member.agent == state.next else " "
    away = "" if member.present else ", away"
    unread = f", {unread_count(member)} unread" if member.unread else ""
    tone = _TONES.get(member.state, Tone.DIM) if member.present else Tone.DIM
    text = f" {mark} {clean(member.agent)}  {member.state}{away}{unread}"
    return paint(fit(text, look.width or 80), tone, look)
