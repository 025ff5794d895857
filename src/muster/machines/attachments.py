"""Files that belong to messages: their names, digests, kinds, and their place in the home. Pure.

The content of a file lies in the home under its digest, so the same content lies there once, and a
name that somebody chose never becomes a path. Browsers must not run a file: it is served with one
of a few media types that are shown as they are, or as plain bytes.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from muster import limits
from muster.errors import Invalid
from muster.images import image_type_of
from muster.machines.vocabulary import AttachedFile

FILES_FOLDER: Final = "files"
"""The folder in the home."""

ANY_BYTES: Final = "application/octet-stream"

SAFE_TYPES: Final[Mapping[str, str]] = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".txt": "text/plain",
    ".log": "text/plain",
    ".md": "text/plain",
    ".csv": "text/plain",
    ".json": "text/plain",
    ".diff": "text/plain",
    ".patch": "text/plain",
}
"""Media types that a browser shows without running anything, by the end of the name. SVG, HTML and
PDF can have scripts, so they are plain bytes."""

IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Images that browsers show and models read."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_UNSAFE: Final = frozenset("/\\")


def check_digest(digest: str) -> None:
    """Refuse anything but a SHA-256 in hex: a digest becomes a path."""
    if not _DIGEST.fullmatch(digest):
        raise Invalid(what="the digest", why="must be the SHA-256 of the content, 64 hex digits")


def check_file_name(name: str) -> None:
    """Refuse a name that could escape a folder, hide its end, or break a header."""
    if not 1 <= len(name.encode(errors="surrogatepass")) <= limits.FILE_NAME_BYTES_MAX:
        why = f"must have 1 to {limits.FILE_NAME_BYTES_MAX} bytes"
        raise Invalid(what="the file name", why=why)
    if not name.isprintable() or _UNSAFE & set(name) or name.strip(" .") == "" or name[0] == " ":
        why = "may not have slashes, control characters or only dots, nor begin with a space"
        raise Invalid(what=f"the file name {name!r}", why=why)


def media_type_of(name: str, content: bytes) -> str:
    """The media type under which a file with this name and content is served.

    An image is what its content says it is, whatever its name; one that is broken is plain bytes.
    """
    if is_image_name(name):
        return image_type_of(content) or ANY_BYTES
    return _type_by_name(name)


def is_image_name(name: str) -> bool:
    """Whether a file is an image by its name."""
    return _type_by_name(name) in IMAGE_TYPES


def is_broken_image(file: AttachedFile) -> bool:
    """Whether a file has the name of an image, and no content that can be shown as one."""
    return is_image_name(file.name) and file.media_type not in IMAGE_TYPES


def _type_by_name(name: str) -> str:
    _, dot, end = name.rpartition(".")
    return SAFE_TYPES.get(f"{dot}{end}".lower(), ANY_BYTES)


def stored_path(digest: str) -> str:
    """Where the content lies in the home."""
    return f"{FILES_FOLDER}/{digest[:2]}/{digest[2:]}"


def check_files(files: Sequence[AttachedFile]) -> None:
    """Refuse files that a message cannot have."""
    if not files:  # as nearly every message
        return
    if len(files) > limits.MESSAGE_FILES_MAX:
        why = f"may have {limits.MESSAGE_FILES_MAX} files at most"
        raise Invalid(what="a message", why=why)
    if len({each.digest for each in files}) != len(files):
        raise Invalid(what="a message", why="may have a file once only")
    for each in files:
        check_digest(each.digest)
        check_file_name(each.name)
