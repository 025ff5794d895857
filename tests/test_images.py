"""Images: whole files of four kinds are recognised, and broken ones are no images."""

import struct
from base64 import b64decode
from zlib import compress, crc32

import pytest

from muster.images import image_type_of
from muster.limits import IMAGE_SIDE_MAX


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc32(kind + data))


def png(width: int = 1, height: int = 1, *, without: bytes = b"") -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = {b"IHDR": head, b"IDAT": compress(b"\0\xff\0\0"), b"IEND": b""}
    chunks = (chunk(kind, data) for kind, data in parts.items() if kind != without)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def jpeg(width: int = 1, height: int = 1, *, end: bytes = b"\xff\xd9") -> bytes:
    """Segments with a fill byte and a marker without a length before the pixels."""
    about = b"\xff\xe0" + struct.pack(">H", 4) + b"ok"
    size = b"\xff\xff\xc0" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\1\x11\0"
    return b"\xff\xd8" + about + b"\xff\x01" + size + b"\xff\xda\0\x08\1\1\0\0\x3f\0" + b"ab" + end


def gif(width: int = 1, height: int = 1, *, frames: int = 1, mark: bytes = b"GIF89a") -> bytes:
    head = mark + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6)
    extension = b"\x21\xf9\x04\0\0\0\0\0"
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\2\2\x44\1\0"
    return head + extension + frame * frames + b"\x3b"


def webp(kind: bytes, data: bytes) -> bytes:
    parts = kind + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(parts) + 4) + b"WEBP" + parts


LOSSY = webp(b"VP8 ", b"\x30\1\0\x9d\x01\x2a" + struct.pack("<HH", 4, 2) + b"pixels")
LOSSLESS = webp(b"VP8L", b"\x2f" + struct.pack("<I", 3 | 1 << 14) + b"pixels")
EXTENDED = webp(b"VP8X", bytes(4) + b"\3\0\0" + b"\1\0\0")

REAL_GIF = b64decode("R0lGODlhAQABAIAAAAUEBAAAACwAAAAAAQABAAACAkQBADs=")
REAL_WEBP = b64decode("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (png(), "image/png"),
        (png(IMAGE_SIDE_MAX, 1), "image/png"),
        (jpeg(), "image/jpeg"),
        (gif(), "image/gif"),
        (gif(frames=3, mark=b"GIF87a"), "image/gif"),
        (REAL_GIF, "image/gif"),
        (LOSSY, "image/webp"),
        (LOSSLESS, "image/webp"),
        (EXTENDED, "image/webp"),
        (REAL_WEBP, "image/webp"),
    ],
)
def test_a_whole_image_is_known_by_its_content(content: bytes, media_type: str) -> None:
    assert image_type_of(content) == media_type


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<script>",
        png()[:8],
        png()[:-1],
        png(0, 1),
        png(65535, 65535),
        png(1, IMAGE_SIDE_MAX + 1),
        png(without=b"IDAT"),
        png(without=b"IHDR"),
        png(without=b"IEND"),
        png().replace(b"IHDR\0\0\0\1", b"IHDR\0\0\0\2"),  # against its checksum
        b"\xff\xd8\xff",
        jpeg()[:-2],
        jpeg(end=b""),
        jpeg(0, 1),
        jpeg().replace(b"\xff\xff\xc0", b"\xff\xff\xc4"),  # no size
        jpeg().replace(b"\xff\xe0", b"\xfe\xe0"),
        b"GIF89a and then a text that goes on for a while",
        gif()[:-1],
        gif(frames=0),
        b"RIFF\0\0\0\0WAVEfmt ",
        LOSSY[:-1],
        webp(b"VP8L", b""),
        webp(b"ANIM", bytes(16)),
    ],
)
def test_a_broken_image_is_none(content: bytes) -> None:
    assert image_type_of(content) == ""


def test_every_part_that_is_cut_off_breaks_an_image() -> None:
    for whole in (png(), jpeg(), gif(), LOSSY, LOSSLESS, EXTENDED):
        assert not any(image_type_of(whole[:end]) for end in range(len(whole)))
