"""The events and the files of a conversation, over HTTP.

A file is never served as such: the answer is JSON with its text or picture, and only for a file
that the log records and that lies inside the outputs or the project. File contents and names come
from agents and are not trusted.
"""

import asyncio
import os
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from muster.delegation.folder.private_files import check_links, check_place
from muster.delegation.folder.workspace import outputs_of
from muster.errors import NotFound
from muster.http.nodes.elsewhere import session_node
from muster.http.routing import EVERYBODY, ApiCall, route
from muster.images import image_type_of
from muster.machines.events import Event
from muster.machines.ids import ConversationId
from muster.machines.vocabulary import FileChange, Role
from muster.regular_files import open_regular
from muster.store.codec import encode
from muster.views.answers import View
from muster.views.answers.conversations import FileView
from muster.views.conversations import views_of

DIALOGUE_EVENTS_MAX: Final = 1000
"""How many events of a conversation are shown, the newest ones; the log has all of them."""

CheckPlace = Callable[[Path, Path, str], None]
"""Refuses a file by its real path, the folder that it must lie in, and its recorded path."""

TEXT_BYTES_MAX: Final = 64 * 1024
"""The longest part of a text file that is shown."""

PICTURE_BYTES_MAX: Final = 1024 * 1024
"""The largest picture that is shown."""


# ── the dialogue ──────────────────────────────────────────────────────────────────────────────────


class DialogueView(View, frozen=True, kw_only=True):
    """The events of a conversation, as the log records them."""

    conversation: ConversationId
    events: tuple[msgspec.Raw, ...]
    """The events in order: remarks, decisions, denials and files."""

    omitted: int = 0
    """How many older events were left out."""


@route("GET", "/api/conversations/{conversation}/dialogue", may=EVERYBODY)
async def show_dialogue(call: ApiCall, conversation: str) -> DialogueView:
    """Show all events of a conversation: remarks, decisions, denials and files."""
    conversation = ConversationId(conversation)
    events = await _events(call, conversation)
    shown = events[-DIALOGUE_EVENTS_MAX:]
    return DialogueView(
        conversation=conversation,
        events=tuple(msgspec.Raw(encode(event)) for event in shown),
        omitted=len(events) - len(shown),
    )


async def _events(call: ApiCall, conversation: ConversationId) -> Sequence[Event]:
    history, _ = await _history(call, conversation)
    found = [each for each in history if getattr(each.fact, "conversation", None) == conversation]
    if not found:
        raise NotFound(kind="conversation", name=conversation)
    return found


async def _history(call: ApiCall, conversation: ConversationId) -> tuple[Sequence[Event], Path]:
    """The events of the folder of a conversation's session, and that folder.

    The session is the open one, or the last one, or the one that goes on in it.
    """
    conversations = call.muster.requests.conversations
    earlier = await conversations.earlier(conversation)
    if earlier is not None:
        return earlier.events, earlier.root
    log_provider = conversations.log_provider
    async with log_provider.access() as session_log:
        root = log_provider.folder(session_log.team).root
        return await session_log.history(session_log.root), root


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


class FileQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A file of a conversation."""

    path: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    """The path as the conversation records it."""


class LookView(View, frozen=True, kw_only=True):
    """The current content of a file, as text or as a picture."""

    path: str
    kind: Literal["text", "picture", "other"]
    size: int
    text: str = ""
    cut: bool = False
    """Whether the text was truncated."""

    picture: str = ""
    """The picture as a `data:` URL."""

    changed: bool = False
    """Whether the file was changed since the conversation recorded it."""


@route("GET", "/api/conversations/{conversation}/file", may=EVERYBODY, of_node=session_node)
async def look_at_file(call: ApiCall, conversation: str, query: FileQuery) -> LookView:
    """Show a file that a conversation has made: its text or a picture."""
    conversation = ConversationId(conversation)
    history, root = await _history(call, conversation)
    view = views_of(history).get(conversation)
    made = {file.path: file for file in view.files} if view else {}
    file = made.get(query.path)
    if file is None or file.change is FileChange.DELETED:
        raise NotFound(kind="file", name=query.path)
    folder = call.muster.requests.project if file.outside else root / outputs_of(conversation)
    check = partial(check_place, home=_home(call), is_operator=call.caller.role is Role.OPERATOR)
    return await asyncio.to_thread(_look, folder, file, check)


def _home(call: ApiCall) -> Path | None:
    settings = call.muster.settings.path
    return None if settings is None else settings.parent


def _look(folder: Path, file: FileView, check: CheckPlace) -> LookView:
    content, size = _read(folder, file.path, check)
    whole = len(content) == size
    changed = size != file.size or (whole and sha256(content).hexdigest() != file.sha256)
    seen = LookView(path=file.path, kind="other", size=size, changed=changed)
    kind = image_type_of(content) if whole else ""
    if kind:
        picture = f"data:{kind};base64,{b64encode(content).decode()}"
        return msgspec.structs.replace(seen, kind="picture", picture=picture)
    text = _text(content[:TEXT_BYTES_MAX])
    if text is None:
        return seen
    return msgspec.structs.replace(seen, kind="text", text=text, cut=size > TEXT_BYTES_MAX)


def _read(folder: Path, path: str, check: CheckPlace) -> tuple[bytes, int]:
    """The beginning of a file in a folder, and its size; private files are refused."""
    try:
        real, top = (folder / path).resolve(strict=True), folder.resolve()
        check(real, top, path)
        opened = open_regular(real, follow_links=False)
        with os.fdopen(opened, "rb") as stream:
            found = os.fstat(opened)
            check_links(found, path)
            return stream.read(PICTURE_BYTES_MAX), found.st_size
    except (OSError, ValueError, RuntimeError) as gone:
        raise NotFound(kind="file", name=path) from gone


def _text(content: bytes) -> str | None:
    """The content as text, if it is UTF-8; a character that was cut in two is left out."""
    if b"\0" in content:
        return None
    for cut in range(4):
        try:
            return content[: len(content) - cut].decode()
        except UnicodeDecodeError:
            continue
    return None
