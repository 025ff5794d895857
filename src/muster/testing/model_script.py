"""The script of a scripted model: a list of rules, the first match answers.

    [{"match": "hello", "reply": ["Hi."]},
     {"match": "go", "agent": "main", "times": 1,
      "reply": [{"type": "tool", "name": "Write", "input": {"file_path": "a", "content": "b"}}]}]

A reply is a sequence of parts. Texts and tool calls are the content; the other parts control the
transfer: a pause, a slow stream, a broken one, an error status. A rule that also matches the result
of its own reply would loop for ever: limit it with `times` or `agent`.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any, Final, Literal

import msgspec

from muster.errors import Refused

Json = Any  # any JSON value


class BadScript(Refused):
    """Invalid script: {detail}. A script is a list of rules, each with a `reply`."""


class Tool(msgspec.Struct, frozen=True, tag="tool"):
    """The model calls a tool."""

    name: str
    input: dict[str, Json] = {}


class Usage(msgspec.Struct, frozen=True, tag="usage"):
    """The token usage of the whole reply, wherever the part is in it."""

    input_tokens: int = 10
    output_tokens: int = 5
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


class Status(msgspec.Struct, frozen=True, tag="status"):
    """An error status: 401, 429, 500, 529. Without `body` the default error document is sent."""

    code: int
    body: str = ""
    retry_after: float | None = None


class Cut(msgspec.Struct, frozen=True, tag="cut"):
    """The connection breaks here, in the middle of the stream, after at least one event."""


class Refusal(msgspec.Struct, frozen=True, tag="refusal"):
    """The model refuses to go on, wherever the part is in the reply."""


class OutOfTokens(msgspec.Struct, frozen=True, tag="out_of_tokens"):
    """The reply ends because it is as long as the request allows, wherever the part is in it."""


class Silence(msgspec.Struct, frozen=True, tag="silence"):
    """A pause. As the first part, it delays the headers too."""

    seconds: float


class Slow(msgspec.Struct, frozen=True, tag="slow"):
    """From here on texts are streamed word by word, with a pause before each."""

    delay_s: float


class Hold(msgspec.Struct, frozen=True, tag="hold", eq=False):
    """A pause until the test calls `release`, or the server is closed."""

    reached: Event = msgspec.field(default_factory=Event)
    """Set when a request reaches this part."""

    released: Event = msgspec.field(default_factory=Event)

    def release(self) -> None:
        """Resume every request that waits here, now or later."""
        self.released.set()


Part = str | Tool | Usage | Status | Cut | Refusal | OutOfTokens | Silence | Slow | Hold


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which requests are answered, and how. The match is on the newest input: texts of the user and
    results of tools since the model's last message, without system reminders."""

    reply: str | Sequence[Part]
    match: str = ""
    """A substring of the text."""

    pattern: str = ""
    """A regular expression to search for in the text."""

    agent: Literal["any", "main", "sub"] = "any"
    session: str = ""
    """Only requests of the session with this id."""

    times: int | None = None
    """How often the rule answers; without limit by default."""

    def __post_init__(self) -> None:
        """Validate the rule."""
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise BadScript(detail=f"{self.pattern!r} is no regular expression: {error}") from error
        if not self.parts():
            raise BadScript(detail="a reply needs at least one part")
        if self.times is not None and self.times < 1:
            raise BadScript(detail=f"`times` must be at least 1, not {self.times}")
        ends = [n for n, part in enumerate(self.parts()) if isinstance(part, Status | Cut)]
        if ends and ends[0] != len(self.parts()) - 1:
            raise BadScript(detail="no part can follow a status or a cut")
        said = any(isinstance(part, str | Tool) for part in self.parts())
        if said and isinstance(self.parts()[-1], Status):
            raise BadScript(detail="a reply with a status can have no text and no tool")

    def parts(self) -> Sequence[Part]:
        """The parts of the reply, in order; a plain string is one part."""
        return [self.reply] if isinstance(self.reply, str) else self.reply

    def fits(self, *, text: str, agent: str, session: str) -> bool:
        """Whether the rule matches a request. An empty agent id is MAIN."""
        return (
            self.match in text
            and (not self.pattern or re.search(self.pattern, text) is not None)
            and self.agent in ("any", "sub" if agent else "main")
            and self.session in ("", session)
        )


def read_script(path: Path) -> list[Rule]:
    """Read the rules from a file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Rule])
    except OSError as error:
        raise BadScript(detail=f"{path}: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise BadScript(detail=f"{path}: {error}") from error


# ── the newest input of the model ─────────────────────────────────────────────────────────────────

_REMINDER: Final = ("<system-reminder>", "</system-reminder>")


def newest(messages: Json) -> str:
    """Texts of the user and of tools since the model's last message, without reminders."""
    said: list[str] = []
    for message in reversed(messages):
        if message["role"] == "assistant":
            break
        if message["role"] == "user":
            said[:0] = [without_reminders(text).strip() for text in _texts(message["content"])]
    return "\n".join(text for text in said if text)


def without_reminders(text: str) -> str:
    """A text without system reminders. One without a closing tag stays."""
    opening, closing = _REMINDER
    first, *rest = text.split(opening)
    kept = [first]
    for passage in rest:
        _, closed, after = passage.partition(closing)
        kept.append(after if closed else opening + passage)
    return "".join(kept)


def _texts(content: Json) -> list[str]:
    """The texts of a message or a tool result: a plain string, or those of its blocks."""
    if isinstance(content, str):
        return [content]
    found: list[str] = []
    for block in content:
        if block["type"] == "text":
            found.append(str(block["text"]))
        elif block["type"] == "tool_result":
            found += _texts(block.get("content", ""))
    return found
