"""References of a message: the message that it answers, and uploaded files, looked up."""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from muster import limits
from muster.attachments import AttachmentFolder
from muster.errors import Invalid, NotFound
from muster.http.routing import ApiCall
from muster.machines.attachments import check_digest
from muster.machines.events import AgentMessage, UserMessage
from muster.machines.ids import ChannelId
from muster.machines.vocabulary import AttachedFile
from muster.store.base import SEQ_END, MessageSearch
from muster.store.codec import decode
from muster.views.content.messages import CHANNEL_TYPES

Digests = Annotated[tuple[str, ...], msgspec.Meta(max_length=limits.MESSAGE_FILES_MAX)]
"""The digests of attached files."""

_FILE: Final = "file"


async def answered(call: ApiCall, channel: ChannelId, reply_to: int | None) -> int | None:
    """The message that a reply answers, if it is a message of the channel."""
    if reply_to is None:
        return None
    found = await call.muster.feed.at(reply_to)
    if found is None or found.type not in CHANNEL_TYPES or found.channel != channel:
        raise NotFound(kind="message in this channel", name=str(reply_to))
    return reply_to


async def attached(call: ApiCall, digests: Sequence[str]) -> tuple[AttachedFile, ...]:
    """The files with these digests, if the caller uploaded them or may read them."""
    return tuple([await _attachable(call, each) for each in digests])


async def _attachable(call: ApiCall, digest: str) -> AttachedFile:
    check_digest(digest)
    uploaded = await folder_of(call).uploaded(digest, by=call.caller.actor)
    return uploaded or await named_file(call, digest)


def folder_of(call: ApiCall) -> AttachmentFolder:
    """The folder of the team's files."""
    if call.muster.files is None:
        raise Invalid(what="files", why="need a team with a home on disk")
    return call.muster.files


async def named_file(call: ApiCall, digest: str) -> AttachedFile:
    """A file as a message names it that the caller may read; else there is no such file."""
    search = MessageSearch(file=digest, hidden=call.access.hidden)
    before: int | None = SEQ_END
    while before is not None:
        found, before = await call.muster.store.search(search, before=before, limit=1)
        for message in found:
            fact = decode(message.data).fact
            assert isinstance(fact, UserMessage | AgentMessage)
            return next(each for each in fact.files if each.digest == digest)
    raise NotFound(kind=_FILE, name=digest)
