"""The images of messages, read for the prompts that have those messages."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from muster.engine.ports import PromptImage
from muster.images import image_type_of
from muster.limits import IMAGE_BYTES_MAX, PROMPT_IMAGES_BYTES_MAX
from muster.machines.attachments import IMAGE_TYPES, stored_path
from muster.machines.vocabulary import AttachedFile
from muster.regular_files import read_regular
from muster.views.answers.messages import Next


async def images_of(home: Path | None, items: Sequence[Next]) -> tuple[PromptImage, ...]:
    """The images of these messages, in their order and as far as a prompt has room for them.

    The text of the prompt names all files, so an image that is too large can still be opened.
    """
    files = [file for each in items for message in each.messages for file in message.files]
    wanted = list(_fitting(files))
    if home is None or not wanted:
        return ()
    return await asyncio.to_thread(_read, home, wanted)


def _fitting(files: Iterable[AttachedFile]) -> Iterator[AttachedFile]:
    total = 0
    for file in files:
        if file.media_type in IMAGE_TYPES and file.size <= IMAGE_BYTES_MAX:
            total += file.size
            if total <= PROMPT_IMAGES_BYTES_MAX:
                yield file


def _read(home: Path, files: Sequence[AttachedFile]) -> tuple[PromptImage, ...]:
    contents = [_content(home / stored_path(file.digest)) for file in files]
    return tuple(PromptImage(kind, each) for each in contents if (kind := image_type_of(each)))


def _content(path: Path) -> bytes:
    try:
        return read_regular(path, bytes_max=IMAGE_BYTES_MAX, follow_links=False)
    except OSError:  # the prompt names a file that is gone: its agent sees that
        return b""
