"""Idempotency keys: a command that is sent again with its key is carried out once.

The key is in the envelope of the command's event, and the team remembers recent keys by actor. A
command that changes nothing leaves no key: sent again, it is decided again.

A key may have a digest of its request (`with_digest`). The digest does not tell keys apart: it says
whether a key that was used before came with the same request.
"""

from typing import Final

from msgspec.structs import replace

from muster import limits
from muster.errors import Invalid, Repeated
from muster.machines.maps import put
from muster.machines.state import RecentKeys, Team

_DIGEST: Final = "\n"
"""Before the digest. A header, where keys come from, has no line end."""


def with_digest(key: str, digest: str) -> str:
    """A key with the digest of its request."""
    return f"{key}{_DIGEST}{digest}"


def split_key(key: str) -> tuple[str, str]:
    """A key and its digest, which is empty where it has none."""
    text, _, digest = key.partition(_DIGEST)
    return text, digest


def is_same_request(key: str, other: str) -> bool:
    """Whether a key came with the same request, as far as both have a digest."""
    digests = {split_key(key)[1], split_key(other)[1]} - {""}
    return len(digests) < 2


def seq_of_key(team: Team, actor: str, key: str) -> int | None:
    """The seq of the event that this actor's key belongs to; none for a new key."""
    if not 1 <= len(split_key(key)[0]) <= limits.KEY_CHARS_MAX:
        raise Invalid(what="the key", why=f"must have 1 to {limits.KEY_CHARS_MAX} characters")
    name = _name(actor, key)
    found = team.keys.newer.get(name)
    return team.keys.older.get(name) if found is None else found


def check_key(team: Team, actor: str, key: str) -> None:
    """Refuse a command whose key was used before."""
    seq = seq_of_key(team, actor, key)
    if seq is not None:
        raise Repeated(seq=seq)


def remember_key(team: Team, actor: str, key: str, seq: int) -> Team:
    """Remember a key. A full generation becomes the older one, and that one is forgotten."""
    keys, name = team.keys, _name(actor, key)
    if keys.count >= limits.KEYS_MAX:
        recent = RecentKeys(newer={name: seq}, older=keys.newer, count=1)
    else:
        newer = put(keys.newer, name, seq)
        recent = RecentKeys(newer=newer, older=keys.older, count=keys.count + 1)
    return replace(team, keys=recent)


def _name(actor: str, key: str) -> str:
    return f"{actor}\n{split_key(key)[0]}"  # an actor's name has no line end
