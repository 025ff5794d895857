"""Markdown over HTTP: what agents write, as HTML that a page can show without trusting it."""

import asyncio
from typing import Annotated, Final

import msgspec

from muster.http.routes.channels import Body
from muster.http.routing import EVERYBODY, Call, Route
from muster.views.agents import View
from muster.views.markdown import render

TEXTS_MAX: Final = 256
"""How many texts are rendered at once: as many as a page of messages has."""


class Texts(Body, frozen=True, kw_only=True):
    """What somebody wrote."""

    texts: Annotated[tuple[str, ...], msgspec.Meta(max_length=TEXTS_MAX)]


class Rendered(View, frozen=True, kw_only=True):
    """The same texts in the same order, as HTML without scripts, styles, images or handlers."""

    html: tuple[str, ...]


async def render_texts(call: Call) -> Rendered:
    """Render texts beside the loop: a long one must not hold up anybody."""
    texts: Texts = call.body
    return Rendered(html=await asyncio.to_thread(_all, texts.texts))


def _all(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(render(text) for text in texts)


ROUTES: Final = (
    Route(
        method="POST",
        path="/api/markdown",
        handler=render_texts,
        may=EVERYBODY,
        summary="Markdown as safe HTML: for messages, souls and whatever else agents write.",
        body=Texts,
        answer=Rendered,
    ),
)
