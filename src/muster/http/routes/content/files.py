"""Files that belong to messages, over HTTP: uploaded before the message, read by its readers.

A file is somebody else's content on our origin. A browser is told to download it, to believe its
media type, and to run nothing of it.
"""

from typing import Final
from urllib.parse import quote

from starlette.responses import Response

from muster import limits
from muster.http.attaching import folder_of, named_file
from muster.http.nodes.elsewhere import file_nodes
from muster.http.parsing import read_body
from muster.http.routing import EVERYBODY, SPEAKERS, ApiCall, route
from muster.http.types import Query
from muster.machines.attachments import (
    ANY_BYTES,
    SAFE_TYPES,
    check_digest,
    check_file_name,
)
from muster.machines.vocabulary import AttachedFile

CONTENT_HEADERS: Final = {
    "cache-control": "private, no-store",
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}

_SERVED: Final = frozenset(SAFE_TYPES.values())


class UploadQuery(Query, frozen=True, kw_only=True):
    """The name of a file."""

    name: str


@route("POST", "/api/files", may=SPEAKERS, status=201, takes=ANY_BYTES)
async def upload_file(call: ApiCall, query: UploadQuery) -> AttachedFile:
    """Upload a file, for a message to name by its digest. A day later an unused one is removed.

    A caller may have a limited number of files that no message names.
    """
    check_file_name(query.name)
    content = await read_body(call.request, limits.FILE_BYTES_MAX)
    return await folder_of(call).keep(content, name=query.name, by=call.caller.actor)


@route("GET", "/api/files/{digest}", may=EVERYBODY, of_node=file_nodes)
async def download_file(call: ApiCall, digest: str) -> Response:
    """The content of a file, for callers that may read a message that has it."""
    check_digest(digest)
    file = await named_file(call, digest)
    content = await folder_of(call).read(digest)
    kind = file.media_type if file.media_type in _SERVED else ANY_BYTES
    plain = "".join(char if char.isascii() and char.isalnum() else "_" for char in file.name)
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(file.name, safe='')}"
    headers = CONTENT_HEADERS | {"content-disposition": disposition}
    media_type = f"{kind}; charset=utf-8" if kind == "text/plain" else kind
    return Response(content, headers=headers, media_type=media_type)
