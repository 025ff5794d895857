"""What a scripted model says, and to whom: rules, first match first.

    [{"match": "hello", "reply": ["Hi."]},
     {"match": "go", "agent": "main", "times": 1,
      "reply": [{"type": "tool", "name": "Write", "input": {"file_path": "a", "content": "b"}}]}]

A reply is a sequence of parts. Texts and tool calls are what the model says; the other parts are
what happens on the way: a pause, a slow stream, a cut one, a refusal. A rule that also matches what
comes of it would go on for ever: `times` and `agent` are there for that.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any, Final, Literal

import msgspec

from muster.errors import Refused

Json = Any  # whatever JSON holds


class BadScript(Refused):
    """The script cannot be played: {detail}. It is a list of rules, each with a `reply`."""


class Tool(msgspec.Struct, frozen=True, tag="tool"):
    """The model calls a tool."""

    name: str
    input: dict[str, Json] = {}


class Usage(msgspec.Struct, frozen=True, tag="usage"):
    """What the reply is said to have cost; wherever it stands in the reply, it is of the whole."""

    input_tokens: int = 10
    output_tokens: int = 5
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


class Status(msgspec.Struct, frozen=True, tag="status"):
    """The request is refused: 401, 429, 500, 529. Without a body it gets the usual one."""

    code: int
    body: str = ""
    retry_after: float | None = None


class Cut(msgspec.Struct, frozen=True, tag="cut"):
    """The connection breaks here, in the middle of the stream: one event at least has been sent."""


class Silence(msgspec.Struct, frozen=True, tag="silence"):
    """Nothing is sent for a while. Where it comes first, not even a header is."""

    seconds: float


class Slow(msgspec.Struct, frozen=True, tag="slow"):
    """From here on texts come word by word, with a pause before each."""

    delay_s: float


class Hold(msgspec.Struct, frozen=True, tag="hold", eq=False):
    """Nothing is sent until the test says so, or the server is closed."""

    reached: Event = msgspec.field(default_factory=Event)
    """Set when a request waits here."""

    released: Event = msgspec.field(default_factory=Event)

    def release(self) -> None:
        """Let every request go on that waits here, now or later."""
        self.released.set()


Part = str | Tool | Usage | Status | Cut | Silence | Slow | Hold


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is answered, and what. The newest thing that the model was told decides: what a person
    or a tool said since the model last spoke, without the system's reminders."""

    reply: str | Sequence[Part]
    match: str = ""
    """It is in the text."""

    pattern: str = ""
    """A regular expression that is found in the text."""

    agent: Literal["any", "main", "sub"] = "any"
    session: str = ""
    """Only this session of the program, by its id."""

    times: int | None = None
    """How often; without it, always."""

    def __post_init__(self) -> None:
        """Find what cannot be played before anybody asks."""
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise BadScript(detail=f"{self.pattern!r} is no pattern: {error}") from error
        if not self.parts():
            raise BadScript(detail="a reply has a part at least")
        if self.times is not None and self.times < 1:
            raise BadScript(detail=f"a rule for {self.times} times")
        ends = [n for n, part in enumerate(self.parts()) if isinstance(part, Status | Cut)]
        if ends and ends[0] != len(self.parts()) - 1:
            raise BadScript(detail="nothing can follow a status or a cut")
        said = any(isinstance(part, str | Tool) for part in self.parts())
        if said and isinstance(self.parts()[-1], Status):
            raise BadScript(detail="a request that is refused gets no text and calls no tool")

    def parts(self) -> Sequence[Part]:
        """What is played, in order; a text alone is one part."""
        return [self.reply] if isinstance(self.reply, str) else self.reply

    def fits(self, *, text: str, agent: str, session: str) -> bool:
        """Whether it is for such a request. No agent id means that MAIN asks."""
        return (
            self.match in text
            and (not self.pattern or re.search(self.pattern, text) is not None)
            and self.agent in ("any", "sub" if agent else "main")
            and self.session in ("", session)
        )


def read_script(path: Path) -> list[Rule]:
    """The rules in a file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Rule])
    except OSError as error:
        raise BadScript(detail=f"{path}: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise BadScript(detail=f"{path}: {error}") from error


# ── what the model was told ───────────────────────────────────────────────────────────────────────

_REMINDER: Final = ("<system-reminder>", "</system-reminder>")


def newest(messages: Json) -> str:
    """What people and tools said since the model last spoke, without reminders."""
    said: list[str] = []
    for message in reversed(messages):
        if message["role"] == "assistant":
            break
        if message["role"] == "user":
            said[:0] = [without_reminders(text).strip() for text in _texts(message["content"])]
    return "\n".join(text for text in said if text)


def without_reminders(text: str) -> str:
    """A text without the passages that the program added to it. One without an end stays."""
    opening, closing = _REMINDER
    first, *rest = text.split(opening)
    kept = [first]
    for passage in rest:
        _, closed, after = passage.partition(closing)
        kept.append(after if closed else opening + passage)
    return "".join(kept)


def _texts(content: Json) -> list[str]:
    """The texts of a message or of a tool's result: one as it is, or those of its blocks."""
    if isinstance(content, str):
        return [content]
    found: list[str] = []
    for block in content:
        if block["type"] == "text":
            found.append(str(block["text"]))
        elif block["type"] == "tool_result":
            found += _texts(block.get("content", ""))
    return found
