"""Snapshots: the folded state as bytes, so that a restart need not fold the whole log again.

A snapshot is only a cache: a snapshot of another version is ignored, and the whole log is folded.
"""

from collections.abc import Mapping
from typing import Final, cast

import msgspec

from muster.machines.maps import Buckets
from muster.machines.state import Team

VERSION: Final = 56
"""Increase it when the records of the state change their shape or meaning."""


def _encode_map(value: object) -> dict[object, object]:
    """Encode a large map, the only type in a state that msgspec does not know."""
    assert isinstance(value, Buckets)
    return dict(cast("Mapping[object, object]", value))


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_encode_map)
_DECODER = msgspec.msgpack.Decoder(Team)


def encode(team: Team) -> bytes:
    """Encode a team."""
    return _ENCODER.encode(team)


def decode(data: bytes) -> Team:
    """Decode a team."""
    return _DECODER.decode(data)
