"""The folded state as bytes, so that a restart need not fold the whole log again.

A snapshot is only a saving: one of another version is ignored, and the whole log is folded.
"""

from typing import Any, Final, cast, get_args, get_origin

import msgspec

from muster.machines.pmap import PMap, pmap
from muster.machines.state import Team

VERSION: Final = 1
"""Grows when the records of the state change their shape or meaning."""


def _encode_map(value: object) -> dict[object, object]:
    """Msgspec knows everything in a state but large maps, which are no dicts."""
    assert isinstance(value, PMap)
    return dict(cast("PMap[object, object]", value))


def _decode_map(kind: type, value: object) -> PMap[object, object]:
    assert get_origin(kind) is PMap
    plain: Any = dict[get_args(kind)]  # pyright: ignore[reportInvalidTypeArguments]  # at run time
    return pmap(msgspec.convert(value, plain, strict=False, dec_hook=_decode_map))


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_encode_map)
_DECODER = msgspec.msgpack.Decoder(Team, dec_hook=_decode_map)


def encode(team: Team) -> bytes:
    """A team as bytes."""
    return _ENCODER.encode(team)


def decode(data: bytes) -> Team:
    """A team from bytes."""
    return _DECODER.decode(data)
