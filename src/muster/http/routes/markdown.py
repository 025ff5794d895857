"""Markdown over HTTP: text of agents as HTML that a page can show without trusting it."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Final

import msgspec

from muster.http.routing import EVERYBODY, ApiCall, route
from muster.http.types import StrictBody
from muster.views.answers import View
from muster.views.markdown import as_it_is, render

TEXTS_MAX: Final = 256
"""Texts in one request: as many as a page of messages has."""

RENDER_SECONDS: Final = 0.5
"""CPU time for the texts of one request: a hundred times what a page of messages takes. The texts
that are left then are shown without rendering."""


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
    # in a thread: a long text must not block the loop; a request that waits for one is given up
    # when its caller disconnects
    work = asyncio.to_thread(lambda: tuple(rendered(body)))
    return Rendered(html=await call.unless_ended(work))


def rendered(body: MarkdownBody, spent_s: Callable[[], float] = time.thread_time) -> Iterator[str]:
    """The texts as HTML. The bound is CPU time: on a busy machine a thread may wait for longer, and
    a page keeps what it got."""
    end = spent_s() + RENDER_SECONDS
    for text in body.texts:
        yield render(text, breaks=body.breaks) if spent_s() < end else as_it_is(text)
