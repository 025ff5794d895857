"""A channel's messages as one document: Markdown for people, JSON for programs. Pure text.

Messages are hostile text: in Markdown each one is in a code fence that is longer than any fence
inside it, and names are escaped. So no message can pass as the message of another speaker.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from muster.machines.ids import ChannelId
from muster.views.answers.messages import MessageKind, MessageView
from muster.views.quotes import shortened

_MARKUP: Final = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&:])")
_FENCES: Final = re.compile(r"`+")
_ACTED_ON: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Controls of a terminal but for tab and line feed, line separators, embedded and overridden
directions, which can show a text as another one, and lone surrogates, which no file can have."""

FENCE_MIN: Final = 3


class ExportFormat(StrEnum):
    """The formats of an export."""

    MARKDOWN = "markdown"
    JSON = "json"


MEDIA_TYPES: Final = {
    ExportFormat.MARKDOWN: "text/markdown; charset=utf-8",
    ExportFormat.JSON: "application/json",
}


class ExportWriter:
    """Writes messages one page after another."""

    def __init__(self, channel: ChannelId, form: ExportFormat) -> None:
        """Write the messages of this channel."""
        self._channel = channel
        self._form = form
        self._count = 0

    def begin(self) -> str:
        """The start of the document."""
        if self._form is ExportFormat.JSON:
            return f'{{"channel":{_json(self._channel)},"messages":['
        return f"# Messages of {escaped(self._channel)}\n"

    def write(self, messages: Sequence[MessageView]) -> str:
        """Some messages."""
        return "".join(self._written(messages))

    def _written(self, messages: Sequence[MessageView]) -> Iterator[str]:
        for message in messages:
            if self._form is ExportFormat.JSON:
                yield ("," if self._count else "") + "\n" + _json(message)
            else:
                yield "\n" + markdown_of(message)
            self._count += 1

    def end(self) -> str:
        """The end of the document."""
        return "\n]}\n" if self._form is ExportFormat.JSON else ""


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def markdown_of(message: MessageView) -> str:
    """A message as Markdown: a heading with speaker, time and number, then the text as it is."""
    kind = "" if message.kind is MessageKind.PERSON else f" ({message.kind})"
    lines = [
        f"## {escaped(message.speaker)}{kind}, {message.ts:%Y-%m-%d %H:%M:%S} UTC, "
        f"message {message.seq}",
        "",
    ]
    if message.quoted is not None:
        quoted = message.quoted
        text = escaped(shortened(quoted.text, 80))
        lines += [f"In reply to message {quoted.seq} by {escaped(quoted.speaker)}: {text}", ""]
    fence = "`" * max(FENCE_MIN, 1 + max(map(len, _FENCES.findall(message.text)), default=0))
    lines += [f"{fence}text", _lines(message.text), fence]
    lines += [""] if message.files else []
    lines += [
        f"- file {escaped(each.name)}, {each.size} bytes, {each.digest}" for each in message.files
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """A text in one line, with nothing that Markdown or a terminal would act on."""
    line = (
        text
        if text.isprintable()
        else _ACTED_ON.sub(" ", text).replace("\n", " ").replace("\t", " ")
    )
    return _MARKUP.sub(r"\\\1", line)


def _lines(text: str) -> str:
    """A text with one kind of line end, and without other control characters.

    Characters that join letters and emoji, marks of direction and tags are part of the text.
    """
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    return _ACTED_ON.sub("\ufffd", unified)
