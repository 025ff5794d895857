"""Hostile text as safe HTML: Markdown without raw HTML, images or active links.

An image would tell a foreign server that the page was opened, and could leak data in its URL; it
becomes a link. Links are limited to web pages and mail addresses.
"""

import re
from collections.abc import Iterator, MutableMapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from muster.worker.limits import TimeIsUp

if TYPE_CHECKING:  # loaded by the first text that is rendered
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token
    from markdown_it.utils import OptionsDict

RENDERED_CHARS_MAX: Final = 32 * 1024
"""A longer text is shown without rendering: it is not prose, and parsing it would be slow."""

BRACKETS_MAX: Final = 1000
"""A text with more opening brackets is shown without rendering: each of them may begin a link, and
looking for its end takes the length of the text."""

SCHEMES: Final = frozenset({"http", "https", "mailto"})


def render(text: str, *, breaks: bool = False) -> str:
    """A text as HTML. With `breaks`, as in a chat, a line break in a paragraph stays one."""
    text = text.encode(errors="replace").decode()
    if len(text) > RENDERED_CHARS_MAX or text.count("[") > BRACKETS_MAX:
        return as_it_is(text)
    return _parser(breaks).render(text)


def render_all(texts: Sequence[str], *, breaks: bool = False) -> tuple[str, ...]:
    """Texts as HTML; those that are left when the time is up, without rendering."""
    html: list[str] = []
    try:
        for text in texts:
            html.append(render(text, breaks=breaks))  # noqa: PERF401 - it may be cut off
    except TimeIsUp:
        pass
    return (*html, *map(as_it_is, texts[len(html) :]))


def as_it_is(text: str) -> str:
    """A text as HTML without rendering."""
    return f"<pre>{escape(text)}</pre>"


@cache
def _parser(breaks: bool) -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": breaks})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = _leads_outside  # pyright: ignore[reportAttributeAccessIssue] - its own way
    parser.core.ruler.push("bare_links", _link_bare)
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("td_open", _cell_open)
    parser.add_render_rule("th_open", _cell_open)
    return parser


# ── addresses in a text ───────────────────────────────────────────────────────────────────────────

_BARE: Final = re.compile(r"https?://[^\s<>\"'`|\\^{}]+", re.IGNORECASE)
_AFTER: Final = ".,;:!?*_~"
"""Marks that belong to the sentence around an address."""


def _link_bare(state: "StateCore") -> None:
    """Make links of addresses that stand in a text as they are."""
    for block in state.tokens:
        if block.type == "inline" and block.children:
            block.children = list(_linked(block.children))


def _linked(tokens: "Sequence[Token]") -> "Iterator[Token]":
    links = 0
    for token in tokens:
        links += token.nesting if token.type in ("link_open", "link_close") else 0
        if token.type == "text" and links == 0 and "://" in token.content:
            yield from _split(token)
        else:
            yield token


def _split(text: "Token") -> "Iterator[Token]":
    """A text as texts and links."""
    from markdown_it.token import Token

    def plain(content: str) -> Token:
        return Token("text", "", 0, content=content, level=text.level)

    at = 0
    for found in _BARE.finditer(text.content):
        address = _trimmed(found[0])
        if not _leads_outside(address) or address.endswith("//"):
            continue
        yield plain(text.content[at : found.start()])
        yield Token("link_open", "a", 1, attrs={"href": address}, level=text.level)
        yield plain(address)
        yield Token("link_close", "a", -1, level=text.level)
        at = found.start() + len(address)
    yield plain(text.content[at:])


def _trimmed(address: str) -> str:
    """An address without what follows it in the sentence: a full stop, the end of a bracket."""
    end = len(address)
    extra = sum(map(address.count, ")]")) - sum(map(address.count, "(["))
    while end and (address[end - 1] in _AFTER or (extra > 0 and address[end - 1] in ")]")):
        extra -= address[end - 1] in ")]"
        end -= 1
    return address[:end]


def _leads_outside(address: str) -> bool:
    try:
        return urlsplit(address.strip()).scheme.lower() in SCHEMES
    except ValueError:
        return False


Env = MutableMapping[str, Any]  # markdown-it's environment can hold anything


def _link_open(
    renderer: "RendererHTML",
    tokens: "Sequence[Token]",
    index: int,
    options: "OptionsDict",
    env: Env,
) -> str:
    token = tokens[index]
    if not token.attrGet("href"):
        token.attrs.pop("href", None)  # it would lead to the page itself
    token.attrSet("rel", "noopener noreferrer nofollow")
    token.attrSet("target", "_blank")
    return renderer.renderToken(tokens, index, options, env)


def _cell_open(
    renderer: "RendererHTML",
    tokens: "Sequence[Token]",
    index: int,
    options: "OptionsDict",
    env: Env,
) -> str:
    """Align a table cell by a class: the page's content security policy refuses styles."""
    token = tokens[index]
    side = str(token.attrs.pop("style", "")).partition("text-align:")[2]
    if side:
        token.attrSet("class", side)
    return renderer.renderToken(tokens, index, options, env)


def _image(
    renderer: "RendererHTML",
    tokens: "Sequence[Token]",
    index: int,
    options: "OptionsDict",
    env: Env,
) -> str:
    token = tokens[index]
    source = str(token.attrGet("src") or "")
    label = escape(f"image: {token.content or source}")
    if not source:
        return label
    rel = 'rel="noopener noreferrer nofollow" target="_blank"'
    return f'<a href="{escape(source)}" {rel}>{label}</a>'
