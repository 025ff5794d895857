"""A persistent map: setting a key gives a new map and leaves the old one as it was.

The state of a team is shared by the writer (which may have to go back to what was committed), by
readers and by whoever takes a snapshot; persistence gives each of them its own version. A small map
is an ordinary dict that is copied when it changes, which is as fast as it gets to read. A large one
is dealt into buckets, so that a change copies one of them and the list of them. Iteration order is
unspecified; sort where order matters.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

_SMALL_MAX = 128  # keys up to which copying the whole dict is cheaper than looking through buckets
_BUCKET_AIM = 24  # entries per bucket after dealing; 16 to 48 measured alike up to 10,000 keys
_BUCKET_MAX = 96  # entries in one bucket that make the map deal anew


class PMap(Mapping[K, V]):
    """What both kinds of map can do. `pmap(items)` makes the fitting one."""

    __slots__ = ()

    @abstractmethod
    def set(self, key: K, value: V) -> "PMap[K, V]":
        """Give the map in which `key` maps to `value`."""

    @abstractmethod
    def without(self, key: K) -> "PMap[K, V]":
        """Give the map that lacks `key`; the same map where it was never there."""


class _Small(dict[K, V], PMap[K, V]):  # pyright: ignore[reportIncompatibleMethodOverride]
    """A dict that nobody changes once it is handed out."""

    __slots__ = ()

    def set(self, key: K, value: V) -> PMap[K, V]:
        changed = _Small(self)
        changed[key] = value
        return changed if len(changed) <= _SMALL_MAX else _fitting(changed)

    def without(self, key: K) -> PMap[K, V]:
        if key not in self:
            return self
        changed = _Small(self)
        del changed[key]
        return changed


class _Large(PMap[K, V]):
    """Buckets of a few dozen entries each."""

    __slots__ = ("_buckets",)

    def __init__(self, buckets: list[dict[K, V]]) -> None:
        self._buckets = buckets

    def __getitem__(self, key: K) -> V:
        buckets = self._buckets
        return buckets[hash(key) % len(buckets)][key]

    def get(self, key: K, default: V | None = None) -> V | None:  # pyright: ignore[reportIncompatibleMethodOverride]  # one form of it is enough
        buckets = self._buckets
        return buckets[hash(key) % len(buckets)].get(key, default)

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

    def set(self, key: K, value: V) -> PMap[K, V]:
        buckets = self._buckets.copy()
        index = hash(key) % len(buckets)
        bucket = buckets[index] = buckets[index].copy()
        bucket[key] = value
        if len(bucket) > _BUCKET_MAX:
            return _fitting({k: v for each in buckets for k, v in each.items()})
        return _Large(buckets)

    def without(self, key: K) -> PMap[K, V]:
        if key not in self:
            return self
        buckets = self._buckets.copy()
        index = hash(key) % len(buckets)
        bucket = buckets[index] = buckets[index].copy()
        del bucket[key]
        return _Large(buckets)


def pmap(items: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> PMap[K, V]:
    """Make a persistent map of the given items."""
    return _fitting(dict(items))


def _fitting(entries: dict[K, V]) -> PMap[K, V]:
    """The kind of map that fits so many entries."""
    if len(entries) <= _SMALL_MAX:
        return _Small(entries)
    count = len(entries) // _BUCKET_AIM
    buckets: list[dict[K, V]] = [{} for _ in range(count)]
    for key, value in entries.items():
        buckets[hash(key) % count][key] = value
    return _Large(buckets)
