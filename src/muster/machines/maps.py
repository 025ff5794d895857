"""Persistent (immutable) maps: `put` and `drop` return a new map and leave the old one unchanged.

The writer (which may roll back to the committed state), readers and snapshots share the state of a
team, so no map is ever changed in place. A small map is an ordinary dict that is copied on every
change: the fastest to read. A large map is split into hash buckets, and a change copies one bucket.
Iteration order is unspecified; sort where order matters.
"""

from collections.abc import Iterator, Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

_SMALL_MAX = 128  # keys up to which copying the whole dict is cheaper than looking through buckets
_BUCKET_AIM = 24  # entries per bucket after rehashing; 16 to 48 measured alike up to 10,000 keys
_BUCKET_MAX = 96  # entries in one bucket that trigger rehashing


def put(mapping: Mapping[K, V], key: K, value: V) -> Mapping[K, V]:
    """A map in which `key` maps to `value`."""
    if isinstance(mapping, dict):
        changed = {**mapping, key: value}
        return changed if len(changed) <= _SMALL_MAX else _rehashed(changed)
    assert isinstance(mapping, Buckets)
    return mapping.put(key, value)


def drop(mapping: Mapping[K, V], key: K) -> Mapping[K, V]:
    """A map without `key`; the same map if it has no such key."""
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
        return changed if len(bucket) <= _BUCKET_MAX else _rehashed(dict(changed))

    def drop(self, key: K) -> Mapping[K, V]:
        """See `drop`; the key must be present."""
        index = hash(key) % len(self._buckets)
        bucket = self._buckets[index].copy()
        del bucket[key]
        return self._with(index, bucket)

    def _with(self, index: int, bucket: dict[K, V]) -> "Buckets[K, V]":
        buckets = self._buckets.copy()
        buckets[index] = bucket
        return Buckets(buckets)


def _rehashed(entries: dict[K, V]) -> Buckets[K, V]:
    count = len(entries) // _BUCKET_AIM
    buckets: list[dict[K, V]] = [{} for _ in range(count)]
    for key, value in entries.items():
        buckets[hash(key) % count][key] = value
    return Buckets(buckets)
