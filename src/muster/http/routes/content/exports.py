"""A channel's messages as one document, streamed page by page."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from starlette.responses import StreamingResponse

from muster.http.routing import EVERYBODY, ApiCall, route
from muster.http.types import Query
from muster.machines.ids import ChannelId
from muster.views.content.exporting import MEDIA_TYPES, ExportFormat, ExportWriter
from muster.views.content.messages import read_page

PAGE: Final = 200
PAGE_BYTES: Final = 256 * 1024
"""Messages of one page, and their bytes: between two pages other requests have their turn."""


class ExportQuery(Query, frozen=True, kw_only=True):
    """The format of the document."""

    format: ExportFormat = ExportFormat.MARKDOWN


@route("GET", "/api/channels/{channel}/export", may=EVERYBODY)
async def export_channel(
    call: ApiCall, channel: ChannelId, query: ExportQuery
) -> StreamingResponse:
    """Every message of a channel, oldest first, as Markdown or JSON."""
    channel = call.team.channel(channel).id
    headers = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
    end = "md" if query.format is ExportFormat.MARKDOWN else "json"
    headers["content-disposition"] = f'attachment; filename="messages.{end}"'
    parts = _parts(call, channel, query.format)
    return StreamingResponse(parts, headers=headers, media_type=MEDIA_TYPES[query.format])


async def _parts(call: ApiCall, channel: ChannelId, form: ExportFormat) -> AsyncIterator[str]:
    writer = ExportWriter(channel, form)
    yield writer.begin()
    after: int | None = 0
    last = call.muster.feed.last_seq  # a channel in which agents talk has no end otherwise
    while after is not None:
        team = call.team
        found = await read_page(
            call.muster.store,
            team,
            team.channel(channel),
            after=after,
            before=last + 1,
            limit=PAGE,
            bytes_max=PAGE_BYTES,
        )
        yield await asyncio.to_thread(writer.write, found.messages)
        after = found.next_after
    yield writer.end()
