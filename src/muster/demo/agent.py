"""The program of a demo agent: `python -m muster.demo.agent`.

A demo agent is a long-lived agent like any other: muster sends prompts as JSON lines on stdin, and
the agent answers with JSON lines on stdout. There is no model: the program matches a few patterns
and says the lines of `cast.py` and `answers.py`.

Environment variables change the pace for tests: `DEMO_PACE` is a factor, `DEMO_CRASH_TURN` the turn
in which the crashing agent crashes, `DEMO_CRASH_SECONDS` its uptime before a crash otherwise.
"""

import json
import os
import signal
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from muster.demo.answers import answer, back_again, named, quoted
from muster.demo.cast import AWAKE, CREW, LEAD, NAMES, Character, in_seat
from muster.demo.hearing import Kind, Message, PromptItem, PromptReader, parse_prompt

THINK_SECONDS: Final = 3.0
"""Pause before a line: long enough to see who has the turn."""

PASS_SECONDS: Final = 0.6
"""Pause before passing the turn in silence."""

HATCH_SECONDS: Final = 2.0
"""Pause between two births: time to open the page and to see them."""

CRASH_SECONDS: Final = 150.0
"""Uptime of the crashing agent before a crash."""

REST_SECONDS: Final = 60.0
"""Uptime after a crash; then the agent exits cleanly, which resets its failure count."""

MUSTER: Final = "muster"
"""The speaker of notices."""

WAIT_SECONDS: Final = 6 * 3600.0
"""Timeout of a question to a person; then the agent asks again."""

CRASHED: Final = "crashed"
"""A marker file in the agent's folder: its last process crashed."""


class CrashError(Exception):
    """A deliberate crash."""


class _Rest(Exception):
    """Raised when the script has run long enough."""


class Actor:
    """One session of a demo agent."""

    def __init__(self, character: Character, stdin: PromptReader) -> None:
        """Play a character."""
        self._me = character
        self._stdin = stdin
        self._pace = float(os.environ.get("DEMO_PACE", "1"))
        self._one_shot = os.environ.get("MUSTER_MODE") in ("run_once", "run_cleanup")
        self._lines = deque(character.lines)
        self._later: deque[PromptItem] = deque()
        self._turns = 0
        self._holding = ""
        """The channel in which the agent has the turn."""

        self._asked = 0
        """Number of questions asked so far."""

        self._waiting = False

    def play(self) -> None:
        """Handle prompts until stdin closes."""
        self._begin()
        while True:
            try:
                self._go_on()
            except (EOFError, _Rest):
                return
            except KeyboardInterrupt:
                if not self._holding:
                    return
                self._holding, self._waiting = "", False
                emit(type="interrupted")

    def _go_on(self) -> None:
        if self._later:
            self._handle(self._later.popleft())
            return
        if self._one_shot:
            emit(type="result")  # done; muster closes stdin, or sends another prompt
        self._later.extend(parse_prompt(self._stdin.read() or ""))

    # ── beginning ─────────────────────────────────────────────────────────────────────────────────

    def _begin(self) -> None:
        """Register at the first start, or resume after a restart."""
        opening = self._stdin.read() or ""
        self._later.extend(parse_prompt(opening))
        if self._me in CREW and os.environ.get("MUSTER_AGENT") != self._me.name:
            self._think(HATCH_SECONDS * (CREW.index(self._me) + 2))
            register(self._me)
        elif "<transcript>" in opening:  # an earlier session has said the lines
            self._lines.clear()
            if self._me == LEAD:
                emit(type="say", text=AWAKE)
        if self._me.crashes:
            self._arm(Path(os.environ["MUSTER_FOLDER"], CRASHED))

    def _arm(self, crashed: Path) -> None:
        """Schedule a crash; or, after a crash, a clean exit."""
        if crashed.exists():
            crashed.unlink()
            self._lines = deque([back_again(self._me)])
            at_alarm(_rest, REST_SECONDS)
        else:
            crashed.parent.mkdir(parents=True, exist_ok=True)

            def crash(number: int, frame: FrameType | None) -> NoReturn:
                crashed.touch()
                raise CrashError("on purpose: this agent crashes now and then")

            at_alarm(crash, float(os.environ.get("DEMO_CRASH_SECONDS", CRASH_SECONDS)))

    # ── prompts ───────────────────────────────────────────────────────────────────────────────────

    def _handle(self, item: PromptItem) -> None:
        words = _last_words(item.messages)
        if item.kind is Kind.TURN:
            self._take_turn(item)
        elif self._waiting and words is not None:
            self._thank(item, words)
        elif item.kind is Kind.DIRECT and words is not None:
            self._think(PASS_SECONDS)
            emit(type="say", text=answer(self._me, words.text))

    def _take_turn(self, item: PromptItem) -> None:
        self._holding = item.channel
        self._turns += 1
        if self._me.crashes and os.environ.get("DEMO_CRASH_TURN") == str(self._turns):
            signal.raise_signal(signal.SIGALRM)
        if self._me.questions:
            self._ask(item)
            return
        words = self._words(item.messages)
        if words:
            show(f"turn {self._turns} in {item.channel}: thinking")
        heard = self._think(THINK_SECONDS if words else PASS_SECONDS)
        said = self._words(heard) if _last_words(heard) else ""
        self._holding = ""
        emit(type="turn_complete", channel=item.channel, text=said or words or None)

    def _words(self, messages: tuple[Message, ...]) -> str:
        """The next words: an answer to a person if the script has one, else its next line."""
        words = _last_words(messages)
        if words is not None and not words.again:
            meant = named(words.text)
            after = messages[messages.index(words) + 1 :]
            if self._me.name in meant or not (meant or after):
                return answer(self._me, words.text)
        return self._lines.popleft() if self._lines else ""

    def _think(self, seconds: float) -> tuple[Message, ...]:
        """Pause; return messages that arrive meanwhile in the channel of the turn."""
        heard: list[Message] = []
        while (prompt := self._stdin.read(seconds * self._pace)) is not None:
            for item in parse_prompt(prompt):
                if item.kind is Kind.NEWS and item.channel == self._holding:
                    heard.extend(item.messages)
                else:
                    self._later.append(item)
        return tuple(heard)

    # ── waiting for a person ──────────────────────────────────────────────────────────────────────

    def _ask(self, item: PromptItem) -> None:
        """Ask the next question and wait; pass in silence if no person spoke since the last."""
        self._think(PASS_SECONDS)
        if self._asked and _last_words(item.messages) is None:
            self._holding = ""
            emit(type="turn_complete", channel=item.channel)
            return
        question = self._me.questions[self._asked % len(self._me.questions)]
        self._asked += 1
        show(f"turn {self._turns} in {item.channel}: waiting for a person")
        emit(type="say", channel=item.channel, text=f"{question} I wait for a person's answer.")
        emit(
            type="turn_wait",
            channel=item.channel,
            reason=f"A person has to answer: {question}",
            seconds=WAIT_SECONDS,
        )
        self._waiting = True

    def _thank(self, item: PromptItem, words: Message) -> None:
        """Thank a person for the answer, and complete the turn."""
        channel, self._holding, self._waiting = self._holding, "", False
        if item.kind is Kind.DIRECT:  # a message in the channel resumes the turn by itself
            emit(type="turn_resume", channel=channel)
            emit(type="say", text="Thank you. That was what I waited for.")
        text = f"{words.speaker} has answered: “{quoted(words.text)}”. Thank you, then we go on."
        emit(type="turn_complete", channel=channel, text=text)


def _last_words(messages: tuple[Message, ...]) -> Message | None:
    """The last message of a person: neither of the team, nor a notice of muster."""
    people = [message for message in messages if message.speaker not in (*NAMES, MUSTER)]
    return people[-1] if people else None


# ── output ────────────────────────────────────────────────────────────────────────────────────────


def emit(**said: object) -> None:
    """Send a JSON object to muster, on a line of its own."""
    show(json.dumps({name: value for name, value in said.items() if value is not None}))


def show(line: str) -> None:
    """Write a line to stdout, unbuffered."""
    os.write(1, f"{line}\n".encode())


def register(character: Character) -> None:
    """Register the agent: its birth."""
    profile = {
        "name": character.name,
        "gridPosition": character.seat,
        "colorName": character.color_name,
        "gender": character.gender,
        "faceVariant": {"eyes": character.eyes, "mouth": character.mouth},
        "individuationArtifact": character.soul,
    }
    show(f"[AGENT_REGISTERED] {json.dumps(profile)}")


def at_alarm(act: Callable[[int, FrameType | None], object], seconds: float) -> None:
    """Call `act` after some seconds, by SIGALRM, whatever the program does then."""
    signal.signal(signal.SIGALRM, act)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _rest(number: int, frame: FrameType | None) -> NoReturn:
    raise _Rest


def main() -> None:
    """Play the character of this seat."""
    try:
        Actor(in_seat(int(os.environ["MUSTER_SEAT"])), PromptReader()).play()
    except KeyboardInterrupt:  # stopped before it started
        return


if __name__ == "__main__":
    main()
