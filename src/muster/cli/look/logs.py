"""`muster logs`: output of an agent's sessions; `--follow` prints new output.

Past output is read from the log's file, with or without a server. New output comes from the
server's stream.
"""

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click
import msgspec

from muster.cli.options import home_option, json_option
from muster.cli.reading import need_agent, now
from muster.cli.render import Look, Tone, clean, file_size, json_line, paint
from muster.cli.terminal import look
from muster.engine.loading import load
from muster.errors import Invalid
from muster.machines.ids import HERE, SeatId, SessionId
from muster.machines.run_control.schedule import interval_s
from muster.machines.state import Agent
from muster.settings.agents import AGENTS
from muster.store.base import LogFilter, ReadableLog
from muster.store.opening import open_reader
from muster.views.answers.agents import OutputView
from muster.views.run.output import (
    ACTIVITY,
    OUTPUT,
    WORK,
    OutputFilter,
    view_output,
    view_work,
)
from muster.views.run.session_names import requests_of, session_among, session_seq

SHOWN: Final = 100
PAGE: Final = 64

OUTPUT_FILE: Final = "output.log"
"""The complete newest output, in the agent's folder in the home; rotated files are beside it."""


@click.command()
@home_option
@click.option("--follow", "-f", is_flag=True, help="Print new output until Ctrl-C.")
@click.option(
    "--lines",
    "-n",
    type=click.IntRange(0),
    metavar="N",
    help=f"Show the last N lines first [{SHOWN}, or all with --since].",
)
@click.option("--since", metavar="T", help="Only output since then: 10m, 2h or 2026-11-17T10:00.")
@click.option("--session", metavar="ID", help="Only output of this session: its id, or the number.")
@click.option("--stdout", "stream", flag_value="stdout", help="Only standard output.")
@click.option("--stderr", "stream", flag_value="stderr", help="Only standard error.")
@json_option("Print one JSON object for each piece of output.")
@click.argument("name", metavar="AGENT")
def logs(
    home: Path,
    follow: bool,
    lines: int | None,
    since: str | None,
    session: str | None,
    stream: str | None,
    as_json: bool,
    name: str,
) -> None:
    """Show the output of an agent's sessions. The tools that they use are among it.

    Only --follow needs a running server. Each line begins with its time; a ! after the time marks
    standard error. The log has only an excerpt of large outputs; the files beside it have all.
    """
    begin = None if since is None else _moment(since)
    if lines is None:
        lines = SHOWN if begin is None else sys.maxsize
    with open_reader(home) as reader:
        team = load(reader)
        agent = need_agent(team, name)
        known = None if session is None else _session(reader, agent, session)
        asked = OutputFilter(since=begin, session=known, stream=stream)
        found = _newest(reader, agent.seat, lines, team.seq, asked)
    shown = _Printer(_output_file(home, agent), as_json, look())
    shown.begin(found, lines)
    if follow:
        _follow(home, agent.id, team.seq, shown, asked)


def _output_file(home: Path, agent: Agent) -> str:
    """Where the complete output is: in the home, or on the disk of the node that it belongs to."""
    file = Path(AGENTS) / agent.folder_name / OUTPUT_FILE
    return str(home / file) if agent.node in (None, HERE) else f"{agent.node}:{file}"


def _moment(text: str) -> datetime:
    """The time that `--since` names: an interval before now, or a time, local without a zone."""
    try:
        return now() - timedelta(seconds=interval_s(text))
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        why = "must be such as 90s, 10m, 2h, 1d or 2026-11-17T10:00"
        raise Invalid(what=f"--since {text}", why=why) from None


def _session(reader: ReadableLog, agent: Agent, word: str) -> SessionId:
    """The session of the agent that a word names. Raises `NoSuchSession`."""
    before = session_seq(agent.id, word) - 1
    page = reader.read(after=max(before, 0), limit=1, where=requests_of(agent.seat))
    return session_among(agent.id, word, page)


def _newest(
    reader: ReadableLog, seat: SeatId, lines: int, last: int, asked: OutputFilter
) -> list[OutputView]:
    """The newest pieces of output that hold that many lines, in order."""
    where = LogFilter(types=frozenset({OUTPUT, ACTIVITY}), seat=seat)
    found: list[OutputView] = []
    count, limit = 0, PAGE
    while count < lines:
        # there is no reading backwards from a place: read more, and take what is further back
        page = reader.read(after=0, limit=limit, where=where, backwards=True)
        pieces = [_piece(each.type, each.data) for each in page if each.seq <= last]
        found = [each for each in pieces if asked.wants(each)]
        count = sum(_lines(each) for each in found)
        is_past = asked.since is not None and pieces and pieces[-1].ts < asked.since
        if len(page) < limit or is_past:
            break
        limit *= 4
    return _as_many(found, lines)


def _piece(kind: str, data: bytes) -> OutputView:
    return view_work(data) if kind == ACTIVITY else view_output(data)


def _as_many(newest_first: Sequence[OutputView], lines: int) -> list[OutputView]:
    """The newest pieces that have so many lines, in order; the first may have more."""
    kept: list[OutputView] = []
    for piece in newest_first:
        if lines <= 0:
            break
        kept.append(piece)
        lines -= _lines(piece)
    return kept[::-1]


def _lines(piece: OutputView) -> int:
    return piece.text.count("\n") + 1


def _follow(home: Path, agent: str, after: int, shown: "_Printer", asked: OutputFilter) -> None:
    """Print new output until Ctrl-C, which exits with 0."""
    from muster.client.sync import Client  # only --follow needs a connection

    try:
        with Client(home=home) as client:
            for event in client.events(after=after, types=(OUTPUT, ACTIVITY), agent=agent):
                if event.type not in (OUTPUT, ACTIVITY):
                    continue
                if asked.wants(piece := _piece(event.type, event.data)):
                    shown.show(piece)
    except KeyboardInterrupt:
        return


# ── as it is shown ────────────────────────────────────────────────────────────────────────────────


class _Printer:
    """Prints pieces of output, with a line where another session begins."""

    def __init__(self, file: str, as_json: bool, shown: Look) -> None:
        self._file = file
        self._as_json = as_json
        self._look = shown
        self._session: SessionId | None = None

    def begin(self, pieces: Sequence[OutputView], lines: int) -> None:
        """Print the newest output, cut to that many lines at its beginning."""
        over = sum(map(_lines, pieces)) - lines
        for number, piece in enumerate(pieces):
            self.show(piece, skip=max(0, over) if number == 0 else 0)

    def show(self, piece: OutputView, *, skip: int = 0) -> None:
        """Print a piece of output at once."""
        if self._as_json:
            sys.stdout.write(f"{json_line(msgspec.json.encode(piece))}\n")
        else:
            sys.stdout.writelines(f"{line}\n" for line in self._told(piece, skip))
        sys.stdout.flush()

    def _told(self, piece: OutputView, skip: int) -> Iterator[str]:
        if piece.session != self._session:
            self._session = piece.session
            yield paint(f"── session {piece.session}", Tone.DIM, self._look)
        if piece.omitted and not skip:
            left_out = f"… {file_size(piece.omitted)} left out, see {self._file}"
            yield paint(left_out, Tone.ODD, self._look)
        error = piece.stream == "stderr"
        at = paint(
            f"{piece.ts.astimezone():%H:%M:%S}{'!' if error else ' '} ", Tone.DIM, self._look
        )
        tone = Tone.BAD if error else Tone.DIM if piece.stream == WORK else Tone.PLAIN
        for line in piece.text.split("\n")[skip:]:
            yield at + paint(clean(line.expandtabs()), tone, self._look)
