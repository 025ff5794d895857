"""Markdown over HTTP: text of agents as HTML that a page can show without trusting it."""

import asyncio
from typing import Annotated, Final

import msgspec

from muster.http.routing import EVERYBODY, ApiCall, route
from muster.http.types import StrictBody
from muster.views.answers import View
from muster.views.markdown import render

TEXTS_MAX: Final = 256
"""Texts in one request: as many as a page of messages has."""


class MarkdownBody(StrictBody, frozen=True, kw_only=True):
    """Texts to render."""

    texts: Annotated[tuple[str, ...], msgspec.Meta(max_length=TEXTS_MAX)]
    breaks: bool = False
    """Whether a line break in a paragraph stays one, as in a chat; in a document it is a space."""


class Rendered(View, frozen=True, kw_only=True):
    """The same texts in the same order, as HTML without scripts, styles, images or handlers."""

    html: tuple[str, ...]


@route("POST", "/api/markdown", may=EVERYBODY)
async def render_texts(call: ApiCall, body: MarkdownBody) -> Rendered:
    """Render Markdown as safe HTML: for messages, souls and other text of agents."""
    # in a thread: a long text must not block the loop
    return Rendered(html=await asyncio.to_thread(_all, body))


def _all(body: MarkdownBody) -> tuple[str, ...]:
    return tuple(render(text, breaks=body.breaks) for text in body.texts)
