"""Images by their content: the media type of a whole PNG, JPEG, GIF or WebP file. Pure.

The structure of a file is read, and no pixel: a file that was cut off, or that only begins like an
image, is none. A browser would show it as a broken picture, and a model would be told of nothing.
"""

import struct
from collections.abc import Callable
from typing import Final
from zlib import crc32

from muster.limits import IMAGE_SIDE_MAX

Size = tuple[int, int]
"""Width and height in pixels."""

_PNG: Final = b"\x89PNG\r\n\x1a\n"

_JPEG_SIZES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE: Final = frozenset({0x01, 0xFF, *range(0xD0, 0xD8)})
_JPEG_SCAN: Final = 0xDA
"""Markers with the size, markers without a length (and fill bytes), and the start of the pixels."""

_GIF_TABLE: Final = 0x80
_GIF_FRAME, _GIF_EXTENSION, _GIF_END = 0x2C, 0x21, 0x3B


class _BrokenError(Exception):
    """The content is cut off, or is no image of its kind."""


def image_type_of(content: bytes) -> str:
    """The media type of an image; empty for any other content, and for one that cannot be used."""
    for mark, media_type, measure in _KINDS:
        if content.startswith(mark):
            try:
                size = measure(content)
            except (_BrokenError, IndexError, struct.error):
                return ""
            return media_type if min(size) >= 1 and max(size) <= IMAGE_SIDE_MAX else ""
    return ""


def _png(content: bytes) -> Size:
    """Every chunk has a checksum; the size is in the first one, and the last one ends the file."""
    size: Size | None = None
    at, has_pixels = len(_PNG), False
    while True:
        length, kind = struct.unpack_from(">I4s", content, at)
        end = at + 8 + length
        (told,) = struct.unpack_from(">I", content, end)
        if crc32(content[at + 4 : end]) != told:
            raise _BrokenError
        if kind == b"IHDR":
            size = struct.unpack_from(">II", content, at + 8)
        has_pixels = has_pixels or kind == b"IDAT"
        if kind == b"IEND":
            if size is None or not has_pixels:
                raise _BrokenError
            return size
        at = end + 4


def _jpeg(content: bytes) -> Size:
    """Segments up to the pixels, which end with a marker of their own."""
    size: Size | None = None
    at = 2
    while True:
        if content[at] != 0xFF:
            raise _BrokenError
        marker = content[at + 1]
        at += 1 if marker == 0xFF else 2
        if marker in _JPEG_BARE:
            continue
        if marker == _JPEG_SCAN:
            if size is None or content.find(b"\xff\xd9", at) < 0:
                raise _BrokenError
            return size
        if marker in _JPEG_SIZES:
            height, width = struct.unpack_from(">HH", content, at + 3)
            size = (width, height)
        (length,) = struct.unpack_from(">H", content, at)
        at += length


def _gif(content: bytes) -> Size:
    """Blocks up to the end; one of them at least is a picture."""
    size: Size = struct.unpack_from("<HH", content, 6)
    at, has_frame = 13 + _table_bytes(content[10]), False
    while content[at] != _GIF_END:
        if content[at] == _GIF_FRAME:
            has_frame = True
            at += 11 + _table_bytes(content[at + 9])
        elif content[at] == _GIF_EXTENSION:
            at += 2
        else:
            raise _BrokenError
        while length := content[at]:
            at += 1 + length
        at += 1
    if not has_frame:
        raise _BrokenError
    return size


def _table_bytes(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & _GIF_TABLE else 0


def _webp(content: bytes) -> Size:
    """A container of one length; its first chunk says of which kind the image is."""
    length, form, kind = struct.unpack_from("<I4s4s", content, 4)
    if form != b"WEBP" or length + 8 > len(content):
        raise _BrokenError
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", content, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", content, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        wide, high = content[24:27], content[27:30]
        return int.from_bytes(wide, "little") + 1, int.from_bytes(high, "little") + 1
    raise _BrokenError


_KINDS: Final[tuple[tuple[bytes, str, Callable[[bytes], Size]], ...]] = (
    (_PNG, "image/png", _png),
    (b"\xff\xd8\xff", "image/jpeg", _jpeg),
    (b"GIF87a", "image/gif", _gif),
    (b"GIF89a", "image/gif", _gif),
    (b"RIFF", "image/webp", _webp),
)
