"""Text inside XML: whatever agents wrote, the document stays well-formed and of bounded size.

XML cannot hold most control characters, so they are shown as their symbols (ESC as U+241B). Text is
escaped with entities; text that consists mostly of markup goes into CDATA sections where that is
shorter. A line of a soul that begins with a speaker in brackets would look like a message, so that
bracket is escaped, too. So no text needs more than 3.3 times its own size: the worst case mixes `&`
(five bytes as an entity, one in CDATA) with `]]>` (six bytes as entities, fifteen in CDATA), or
with lines such as `[a]` (eight bytes for four, twenty in CDATA).
"""

import re
from typing import Final
from xml.sax.saxutils import escape, quoteattr

_INVALID: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SYMBOLS: Final = 0x2400
"""The first of the symbols for control characters."""

_REPLACEMENT: Final = "\ufffd"
_ENTITIES_MAX: Final = 2
"""From this factor of growth on, CDATA may be shorter."""

_BRACKET: Final = "\0"
_SPEAKER: Final = re.compile(
    r"(?:^|(?<=[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]))([ \t]*)\[(?=[^\[\]&<>\n\r]+\])"
)
"""The beginning of a line that could pass for a message's."""


def xml_text(text: str) -> str:
    """Text as the content of an element."""
    return _content(valid(text))


def xml_words(text: str) -> str:
    """Words of one agent as the content of an element: no line of them looks like a message."""
    # `valid` leaves no NUL in a text, so a NUL can stand for the bracket until all is escaped.
    return _content(_SPEAKER.sub(rf"\1{_BRACKET}", valid(text)))


def _content(plain: str) -> str:
    escaped = escape(plain, {"\r": "&#13;"})  # a parser would turn it into a line feed
    escaped = escaped.replace(_BRACKET, "&#91;")
    if len(escaped) <= _ENTITIES_MAX * len(plain):
        return escaped
    sections = "<![CDATA[" + plain.replace("]]>", "]]]]><![CDATA[>") + "]]>"
    return min(escaped, sections.replace(_BRACKET, "]]>&#91;<![CDATA["), key=len)


def xml_attributes(attributes: tuple[tuple[str, str], ...]) -> str:
    """Attributes of an element, quoted."""
    return " ".join(f"{name}={quoteattr(valid(value))}" for name, value in attributes)


def valid(text: str) -> str:
    """Text with symbols in place of the characters that XML cannot hold."""
    return _INVALID.sub(_symbol, text)


def _symbol(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(_SYMBOLS + code) if code < 0x20 else _REPLACEMENT
