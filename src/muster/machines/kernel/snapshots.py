"""The folded state as bytes, so that a restart need not fold the whole log again.

A snapshot is only a saving: one of another version is ignored, and the whole log is folded.
"""

from collections.abc import Mapping
from typing import Final, cast

import msgspec

from muster.machines.maps import Buckets
from muster.machines.state import Team

VERSION: Final = 5
"""Grows when the records of the state change their shape or meaning."""


def _encode_map(value: object) -> dict[object, object]:
    """The one thing in a state that msgspec does not know: a large map."""
    assert isinstance(value, Buckets)
    return dict(cast("Mapping[object, object]", value))


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_encode_map)
_DECODER = msgspec.msgpack.Decoder(Team)


def encode(team: Team) -> bytes:
    """A team as bytes."""
    return _ENCODER.encode(team)


def decode(data: bytes) -> Team:
    """A team from bytes."""
    return _DECODER.decode(data)
