"""One of the demo team, as a program of its own: `python -m muster.demo.agent`.

It is what any agent is that lives on: muster hands it prompts as JSON lines on stdin, and it
answers with JSON lines on stdout. There is no model in it: it looks for a few patterns, and says
what stands in `cast.py` and `answers.py`.

Variables change its pace for tests: `DEMO_PACE` is a factor, `DEMO_CRASH_TURN` the turn in which
the one that crashes does so, `DEMO_CRASH_SECONDS` how long it lives otherwise.
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
from muster.demo.hearing import Errand, Kind, Message, Stdin, errands

THINK_SECONDS: Final = 3.0
"""Before it says something: long enough to see who has the turn."""

PASS_SECONDS: Final = 0.6
"""Before it passes in silence."""

HATCH_SECONDS: Final = 2.0
"""Between two births: time to open the page and to see them."""

CRASH_SECONDS: Final = 150.0
"""How long the one lives that crashes."""

REST_SECONDS: Final = 60.0
"""After a crash it lives this long and ends in order, so that its failures are forgotten."""

WAIT_SECONDS: Final = 6 * 3600.0
"""How long somebody waits for a person before it asks again."""

CRASHED: Final = "crashed"
"""The file in its own folder by which it knows that it crashed."""


class CrashError(Exception):
    """A crash on purpose."""


class _Rest(Exception):
    """It has lived long enough."""


class Actor:
    """One life of one of them."""

    def __init__(self, character: Character, stdin: Stdin) -> None:
        """Play this character."""
        self._me = character
        self._stdin = stdin
        self._pace = float(os.environ.get("DEMO_PACE", "1"))
        self._one_shot = os.environ.get("MUSTER_MODE") in ("run_once", "run_cleanup")
        self._lines = deque(character.lines)
        self._later: deque[Errand] = deque()
        self._turns = 0
        self._holding = ""
        """The channel in which it has the turn."""

        self._asked = 0
        """How many of its questions it has asked."""

        self._waiting = False

    def play(self) -> None:
        """Live until there is no more to come."""
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
                tell(type="interrupted")

    def _go_on(self) -> None:
        if self._later:
            self._meet(self._later.popleft())
            return
        if self._one_shot:
            tell(type="result")  # all is done; muster lets it end, or has more
        self._later.extend(errands(self._stdin.read() or ""))

    # ── beginning ─────────────────────────────────────────────────────────────────────────────────

    def _begin(self) -> None:
        """Be born, or wake up."""
        opening = self._stdin.read() or ""
        self._later.extend(errands(opening))
        if self._me in CREW and os.environ.get("MUSTER_AGENT") != self._me.name:
            self._think(HATCH_SECONDS * (CREW.index(self._me) + 2))
            register(self._me)
        elif "<transcript>" in opening:  # it has said its lines in another life
            self._lines.clear()
            if self._me == LEAD:
                tell(type="say", text=AWAKE)
        if self._me.crashes:
            self._arm(Path(os.environ["MUSTER_HOME"], "agents", self._me.name, CRASHED))

    def _arm(self, crashed: Path) -> None:
        """Crash in a while; or, if it has just crashed, rest in a while."""
        if crashed.exists():
            crashed.unlink()
            self._lines = deque([back_again(self._me)])
            at_alarm(_rest, REST_SECONDS)
        else:
            crashed.parent.mkdir(parents=True, exist_ok=True)

            def crash(number: int, frame: FrameType | None) -> NoReturn:
                crashed.touch()
                raise CrashError("on purpose: this one crashes now and then")

            at_alarm(crash, float(os.environ.get("DEMO_CRASH_SECONDS", CRASH_SECONDS)))

    # ── what there is to do ───────────────────────────────────────────────────────────────────────

    def _meet(self, errand: Errand) -> None:
        words = _last_words(errand.messages)
        if errand.kind is Kind.TURN:
            self._take_turn(errand)
        elif self._waiting and words is not None:
            self._thank(errand, words)
        elif errand.kind is Kind.LETTER and words is not None:
            self._think(PASS_SECONDS)
            tell(type="say", text=answer(self._me, words.text))

    def _take_turn(self, errand: Errand) -> None:
        self._holding = errand.channel
        self._turns += 1
        if self._me.crashes and os.environ.get("DEMO_CRASH_TURN") == str(self._turns):
            signal.raise_signal(signal.SIGALRM)
        if self._me.questions:
            self._ask(errand)
            return
        words = self._words(errand.messages)
        show(f"turn {self._turns} in {errand.channel}: {'thinking' if words else 'nothing to say'}")
        heard = self._think(THINK_SECONDS if words else PASS_SECONDS)
        said = self._words(heard) if _last_words(heard) else ""
        self._holding = ""
        tell(type="turn_complete", channel=errand.channel, text=said or words or None)

    def _words(self, messages: tuple[Message, ...]) -> str:
        """What it says now: an answer to a person where that is its to give, else its next line."""
        words = _last_words(messages)
        if words is not None and not words.again:
            meant = named(words.text)
            after = messages[messages.index(words) + 1 :]
            if self._me.name in meant or not (meant or after):
                return answer(self._me, words.text)
        return self._lines.popleft() if self._lines else ""

    def _think(self, seconds: float) -> tuple[Message, ...]:
        """Let some time pass; what a person says in the channel meanwhile is heard."""
        heard: list[Message] = []
        while (prompt := self._stdin.read(seconds * self._pace)) is not None:
            for errand in errands(prompt):
                if errand.kind is Kind.NEWS and errand.channel == self._holding:
                    heard.extend(errand.messages)
                else:
                    self._later.append(errand)
        return tuple(heard)

    # ── waiting for a person ──────────────────────────────────────────────────────────────────────

    def _ask(self, errand: Errand) -> None:
        """Ask its next question and wait; in silence if nobody wants one."""
        self._think(PASS_SECONDS)
        if self._asked and _last_words(errand.messages) is None:
            self._holding = ""
            tell(type="turn_complete", channel=errand.channel)
            return
        question = self._me.questions[self._asked % len(self._me.questions)]
        self._asked += 1
        show(f"turn {self._turns} in {errand.channel}: waiting for a person")
        tell(type="say", channel=errand.channel, text=f"{question} I wait for a person's answer.")
        tell(
            type="turn_wait",
            channel=errand.channel,
            reason=f"A person has to answer: {question}",
            seconds=WAIT_SECONDS,
        )
        self._waiting = True

    def _thank(self, errand: Errand, words: Message) -> None:
        """Somebody answered: say so, and let the others go on."""
        channel, self._holding, self._waiting = self._holding, "", False
        if errand.kind is Kind.LETTER:
            tell(type="say", text="Thank you. That was what I waited for.")
        tell(type="turn_resume", channel=channel)
        text = f"{words.speaker} has answered: “{quoted(words.text)}”. Thank you, then we go on."
        tell(type="turn_complete", channel=channel, text=text)


def _last_words(messages: tuple[Message, ...]) -> Message | None:
    """The last thing that a person said; whoever is not of the team is one."""
    people = [message for message in messages if message.speaker not in NAMES]
    return people[-1] if people else None


# ── how it speaks ─────────────────────────────────────────────────────────────────────────────────


def tell(**said: object) -> None:
    """Tell muster something: a JSON object on a line of its own."""
    show(json.dumps({name: value for name, value in said.items() if value is not None}))


def show(line: str) -> None:
    """Print a line at once and whole."""
    os.write(1, f"{line}\n".encode())


def register(character: Character) -> None:
    """Say who it is: that is its birth."""
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
    """Have something happen later, whatever is going on then."""
    signal.signal(signal.SIGALRM, act)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _rest(number: int, frame: FrameType | None) -> NoReturn:
    raise _Rest


def main() -> None:
    """Play whoever sits in this seat."""
    try:
        Actor(in_seat(int(os.environ["MUSTER_SEAT"])), Stdin()).play()
    except KeyboardInterrupt:  # it was stopped before it had begun
        return


if __name__ == "__main__":
    main()
