"""The record of a wake in words, the same for the log, the command line and the page."""

from typing import Final

from muster.machines.documents import HandedOver, WakeCheck
from muster.machines.state import Wake

CHECKED: Final = {
    WakeCheck.ASKED: "was asked who it is, and has not answered yet",
    WakeCheck.MATCHED: "knew its name and its soul",
    WakeCheck.DIFFERED: "gave another name or another soul than its own",
    WakeCheck.NO_ANSWER: "was asked who it is, and did not answer",
}
"""The outcome of a wake check, as the end of a sentence about the agent."""


def handed_over(handed: HandedOver) -> str:
    """The parts that an agent was given: `soul 1,204 characters, 2 notes, 12 of 40 messages`."""
    soul = f"soul {handed.soul_chars:,} characters" if handed.soul_chars else "no soul"
    parts = [soul, _notes(handed), _messages(handed), _sessions(handed)]
    return ", ".join(filter(None, parts))


def _notes(handed: HandedOver) -> str:
    if not handed.notes:
        return ""
    return "1 note" if handed.notes == 1 else f"{handed.notes} notes"


def _messages(handed: HandedOver) -> str:
    every = handed.messages + handed.omitted
    if not every:
        return "no messages"
    word = "message" if every == 1 else "messages"
    left = f" ({handed.omitted_chars:,} characters left out)" if handed.omitted_chars else ""
    return f"{handed.messages} of {every} {word}{left}"


def _sessions(handed: HandedOver) -> str:
    every = handed.sessions + handed.sessions_omitted
    if not every:
        return ""
    kept = f"{handed.sessions} of {every}" if handed.sessions_omitted else str(every)
    return f"a digest of {kept} earlier session{'' if every == 1 else 's'}"


def wake_line(wake: Wake) -> str:
    """The record of a wake in one line."""
    if wake.check is None:
        return handed_over(wake.handed)
    said = f" ({wake.said})" if wake.said else ""
    return f"{handed_over(wake.handed)}; it {CHECKED[wake.check]}{said}"
