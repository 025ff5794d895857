"""Maps that keep their past: `put` and `drop` give a new map and leave the old one as it was.

The state of a team is shared by the writer (which may have to go back to what was committed), by
readers and by whoever takes a snapshot; so nobody ever changes a map, and each of them has its own
version. A small map is an ordinary dict, copied when something is put into it: as fast to read as
can be. A large one is dealt into buckets, of which a change copies one. Iteration order is
unspecified; sort where order matters.
"""

from collections.abc import Iterator, Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

_SMALL_MAX = 128  # keys up to which copying the whole dict is cheaper than looking through buckets
_BUCKET_AIM = 24  # entries per bucket after dealing; 16 to 48 measured alike up to 10,000 keys
_BUCKET_MAX = 96  # entries in one bucket that make the map deal anew


def put(mapping: Mapping[K, V], key: K, value: V) -> Mapping[K, V]:
    """The map in which `key` maps to `value`."""
    if isinstance(mapping, dict):
        changed = {**mapping, key: value}
        return changed if len(changed) <= _SMALL_MAX else _dealt(changed)
    assert isinstance(mapping, Buckets)
    return mapping.put(key, value)


def drop(mapping: Mapping[K, V], key: K) -> Mapping[K, V]:
    """The map that lacks `key`; the same map where it was never there."""
    if key not in mapping:
        return mapping
    if isinstance(mapping, dict):
        return {each: value for each, value in mapping.items() if each != key}
    assert isinstance(mapping, Buckets)
    return mapping.drop(key)


class Buckets(Mapping[K, V]):
    """A large map: dicts of a few dozen entries each."""

    __slots__ = ("_buckets",)

    def __init__(self, buckets: list[dict[K, V]]) -> None:
        self._buckets = buckets

    def __getitem__(self, key: K) -> V:
        buckets = self._buckets
        return buckets[hash(key) % len(buckets)][key]

    def __contains__(self, key: object) -> bool:
        buckets = self._buckets
        return key in buckets[hash(key) % len(buckets)]

    def __iter__(self) -> Iterator[K]:
        for bucket in self._buckets:
            yield from bucket

    def __len__(self) -> int:
        return sum(map(len, self._buckets))

    def __repr__(self) -> str:
        return repr(dict(self))

    def put(self, key: K, value: V) -> Mapping[K, V]:
        """See `put`."""
        index = hash(key) % len(self._buckets)
        bucket = {**self._buckets[index], key: value}
        changed = self._with(index, bucket)
        return changed if len(bucket) <= _BUCKET_MAX else _dealt(dict(changed))

    def drop(self, key: K) -> Mapping[K, V]:
        """See `drop`; the key is there."""
        index = hash(key) % len(self._buckets)
        bucket = self._buckets[index].copy()
        del bucket[key]
        return self._with(index, bucket)

    def _with(self, index: int, bucket: dict[K, V]) -> "Buckets[K, V]":
        buckets = self._buckets.copy()
        buckets[index] = bucket
        return Buckets(buckets)


def _dealt(entries: dict[K, V]) -> Buckets[K, V]:
    count = len(entries) // _BUCKET_AIM
    buckets: list[dict[K, V]] = [{} for _ in range(count)]
    for key, value in entries.items():
        buckets[hash(key) % count][key] = value
    return Buckets(buckets)
