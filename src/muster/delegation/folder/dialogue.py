"""The text of a conversation's `dialogue.md`: one section for each event.

All text of people and agents is quoted line by line, so that it cannot forge a section of muster,
and stripped of control characters, so that a terminal can show it safely.
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
    Remark.TOOL: "{who} calls a tool",
    Remark.OUTPUT: "{who} works",
    Remark.REPORT: "{who} reports",
    Remark.ANSWER: "{who} answers",
    Remark.NOTE: "Noted",
}


def stamp(moment: datetime) -> str:
    """A time in UTC, to the second, as all files of the folder write it."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


def opened(fact: e.ConversationStart, at: datetime) -> str:
    """The heading of a dialogue, and the human's request."""
    said = _section(at, f"{fact.speaker_name} says", _quoted(fact.text))
    return f"# Conversation: {fact.conversation}\n{said}"


def routed(fact: e.Routed, at: datetime) -> str:
    """The routing decision: agent, reason and scores."""
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
    """A denied permission, and an agent to create for it."""
    lines = _quoted(fact.reason)
    if fact.suggestion:
        lines += ["", f"An agent could be created for it: `{fact.suggestion}`."]
    return _section(at, f"{fact.state} may not (`{fact.rule}`)", lines)


def remarked(fact: e.DialogueRecorded, at: datetime) -> str:
    """A remark of an agent, of MAIN or of muster."""
    return _section(at, _TITLES[fact.kind].format(who=fact.speaker), _quoted(fact.text))


def moved(fact: e.StateTransition, at: datetime) -> str:
    """A transition to another state."""
    return _section(at, f"[{fact.source} → {fact.target}]", [_plain(reason_of(fact))])


def filed(fact: e.FileRecorded, at: datetime) -> str:
    """A file that was created, changed or deleted."""
    where = "" if not fact.outside else ", outside of the outputs"
    if fact.outside and fact.named:
        where += " as the request named it"
    line = f"`{_plain(fact.path)}` ({fact.size} bytes, sha256 `{fact.sha256}`{where})"
    return _section(at, f"{fact.state} {fact.change} a file", [line])


def closed(fact: e.ConversationEnd, at: datetime) -> str:
    """The end of the conversation: outcome and summary."""
    return _section(at, f"Closed: {fact.outcome}", _quoted(fact.summary))


def _section(at: datetime, title: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return f"\n## {stamp(at)} {title}\n" + (f"\n{body}\n" if body else "")


def _quoted(text: str) -> list[str]:
    return [f"> {_plain(line)}".rstrip() for line in text.rstrip().split("\n")]


def _plain(text: str) -> str:
    """A line without control characters."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char.isspace() else "�" for char in text)
