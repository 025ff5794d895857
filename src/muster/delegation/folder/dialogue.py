"""What stands in a conversation's `dialogue.md`: one section for each thing that happened.

Whatever people and agents say is quoted line by line, so that no line of theirs can pass for one of
ours, and has no control characters, so that it can be shown on a terminal.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from muster.machines import events as e
from muster.machines.delegation.reasons import reason_of
from muster.machines.vocabulary import Ranked, Remark

_TITLES: Final = {
    Remark.THINKING: "{who} thinks",
    Remark.TASK: "{who} sets a task",
    Remark.OUTPUT: "{who} works",
    Remark.REPORT: "{who} reports",
    Remark.ANSWER: "{who} answers",
    Remark.NOTE: "Noted",
}


def stamp(moment: datetime) -> str:
    """A moment as the seed writes it, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


def opened(fact: e.ConversationStart, at: datetime) -> str:
    """The head of a dialogue, and what the human said."""
    said = _section(at, f"{fact.speaker_name} says", _quoted(fact.text))
    return f"# Conversation: {fact.conversation}\n{said}"


def routed(fact: e.Routed, at: datetime) -> str:
    """Why the conversation goes where it goes, with the scores."""
    lines = [
        f"It is for {fact.to}. {_plain(fact.reason)} "
        f"(rule `{fact.rule}`, router `{fact.router}`, confidence {fact.confidence:.2f}, "
        f"margin {fact.margin:.2f})"
    ]
    if fact.candidates:
        lines += ["", *_scores(fact.candidates)]
    return _section(at, "MAIN thinks", lines)


def _scores(candidates: Sequence[Ranked]) -> Iterator[str]:
    yield "| agent | score | words |"
    yield "|---|---|---|"
    for each in candidates:
        words = ", ".join(_plain(word).replace("|", "/") for word in each.words)
        yield f"| {each.agent} | {each.score:.2f} | {words} |"


def denied(fact: e.PermissionDenied, at: datetime) -> str:
    """What the state may not do, and who could."""
    lines = _quoted(fact.reason)
    if fact.suggestion:
        lines += ["", f"An agent could be created for it: `{fact.suggestion}`."]
    return _section(at, f"{fact.state} may not (`{fact.rule}`)", lines)


def remarked(fact: e.DialogueRecorded, at: datetime) -> str:
    """Something that was thought, said or done."""
    return _section(at, _TITLES[fact.kind].format(who=fact.speaker), _quoted(fact.text))


def moved(fact: e.StateTransition, at: datetime) -> str:
    """A change of the state."""
    return _section(at, f"[{fact.source} → {fact.target}]", [_plain(reason_of(fact))])


def filed(fact: e.FileRecorded, at: datetime) -> str:
    """A file that came or changed."""
    where = "" if not fact.outside else ", outside of the outputs"
    if fact.outside and fact.named:
        where += " as the request named it"
    line = f"`{_plain(fact.path)}` ({fact.size} bytes, sha256 `{fact.sha256}`{where})"
    return _section(at, f"{fact.state} {fact.change} a file", [line])


def closed(fact: e.ConversationEnd, at: datetime) -> str:
    """The end of a dialogue."""
    return _section(at, f"Closed: {fact.outcome}", _quoted(fact.summary))


def _section(at: datetime, title: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return f"\n## {stamp(at)} {title}\n" + (f"\n{body}\n" if body else "")


def _quoted(text: str) -> list[str]:
    return [f"> {_plain(line)}".rstrip() for line in text.rstrip().split("\n")]


def _plain(text: str) -> str:
    """A line without anything that a terminal could act on."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char.isspace() else "�" for char in text)
