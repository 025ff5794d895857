"""Markdown over HTTP: text of agents as HTML that a page can show without trusting it."""

from functools import partial
from typing import Annotated, Final

import msgspec

from muster.http.routing import EVERYBODY, ApiCall, route
from muster.http.types import StrictBody
from muster.views.answers import View
from muster.views.markdown import as_it_is, render_all
from muster.worker.limits import TimeIsUp

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
    # beside the interpreter of the loop, because the author of a text chooses how long it takes;
    # a request that waits is given up when its caller disconnects
    rendering = partial(render_all, body.texts, breaks=body.breaks)
    work = call.muster.worker.run(rendering, seconds=RENDER_SECONDS, owner=call.caller.token)
    try:
        return Rendered(html=await call.unless_ended(work))
    except TimeIsUp:
        return Rendered(html=tuple(map(as_it_is, body.texts)))
