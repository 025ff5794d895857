"""The program of an agent with a script: `python -m muster.runtimes.scripted LINE...`.

It says its lines, one in each turn, and begins again after the last; an empty line passes the turn.
There is no model: it looks for the words with which muster hands over a turn, or asks a selector
for a name. In a single session (`muster once`, a schedule) it raises its hand, says its first line,
and is done; if news in a channel started the session, it passes.
"""

import json
import os
import re
import select
import sys
from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Final

THINK_SECONDS: Final = 0.5
"""Pause before a line: long enough to see who has the turn."""

HAND_SECONDS: Final = 30.0
"""How long a single session waits for its turn: another member may have it."""

READ_BYTES: Final = 64 * 1024

TURN: Final = re.compile(
    r"^(?:It is your turn|You choose who speaks next) in the channel (.+) \(turn \d+", re.MULTILINE
)
"""The line that hands over a turn, and its channel."""

MEMORY_ENDS: Final = "</agent>\n"
"""The end of the soul and the transcript, in which nothing is new."""


class _Prompts:
    """The prompts on stdin, one JSON object in each line."""

    def __init__(self) -> None:
        self._rest = b""

    def read(self, seconds: float | None = None) -> str | None:
        """The next prompt; None after the timeout, and at the end of stdin."""
        while b"\n" not in self._rest:
            if not select.select([0], [], [], seconds)[0]:
                return None
            data = os.read(0, READ_BYTES)
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return str(json.loads(line)["text"])


def channels_in(prompt: str) -> list[str]:
    """The channels in which a prompt hands over the turn."""
    return TURN.findall(prompt.rpartition(MEMORY_ENDS)[2])


def play(lines: Sequence[str], *, once: bool) -> None:
    """Say the lines until stdin ends; with `once`, one of them."""
    prompts, script = _Prompts(), cycle(lines)
    if once:
        _play_once(prompts, next(script))
        return
    while (prompt := prompts.read()) is not None:
        _answer(prompt, script)


def _play_once(prompts: _Prompts, line: str) -> None:
    for channel in channels_in(opening := prompts.read() or ""):
        _say(channel, "")
    if not channels_in(opening):
        _emit(type="raise_hand")
        for channel in channels_in(prompts.read(HAND_SECONDS) or ""):
            _say(channel, line)
    _emit(type="result")
    while prompts.read() is not None:
        _emit(type="result")


def _answer(prompt: str, script: Iterator[str]) -> None:
    for channel in channels_in(prompt):
        try:
            _say(channel, next(script))
        except KeyboardInterrupt:  # the turn was taken away
            _emit(type="interrupted")


def _say(channel: str, line: str) -> None:
    select.select([], [], [], THINK_SECONDS)
    words = {"text": line} if line else {}
    _emit(type="turn_complete", channel=channel, **words)


def _emit(**said: str) -> None:
    os.write(1, f"{json.dumps(said)}\n".encode())


def main() -> None:
    """Play the script of the command line."""
    once = os.environ.get("MUSTER_MODE") in ("run_once", "run_cleanup")
    lines = [line for line in sys.argv[1:] if line != "--cleanup-session"]
    try:
        play(lines, once=once)
    except KeyboardInterrupt:  # stopped between two turns
        return


if __name__ == "__main__":
    main()
