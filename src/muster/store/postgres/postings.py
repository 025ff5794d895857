"""Terms and messages as the index of words in PostgreSQL has them. Pure functions.

A term is a digest of 64 bits. The messages of a lot that have it are one value: how far each is
before the end of the lot, as integers of 32 bits. So a search reads one row for each term and lot,
and a row of a rare word is small.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from itertools import groupby

from muster.store.base import MessageSearch, Stored
from muster.store.words import hidden_terms, terms_of, wanted_terms

Postings = tuple[list[int], list[bytes]]
"""The terms of a lot, and the messages of each."""

LotRow = tuple[int, int, bytes]
"""The end of a lot, a term, and the messages of the lot that have it."""

_OFFSETS = "I"


def postings(messages: Sequence[Stored], upto: int) -> Postings:
    """The terms of the messages of a lot that ends at `upto`."""
    key = cache(term_key)  # terms repeat
    found: defaultdict[int, list[int]] = defaultdict(list)
    for each in messages:
        for term in {key(term) for term in terms_of(each)}:
            found[term].append(upto - each.seq)
    return list(found), [array(_OFFSETS, offsets).tobytes() for offsets in found.values()]


def term_key(term: str) -> int:
    """A term as the index has it. Two terms may have one key: a hit is compared with its event."""
    digest = blake2b(term.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


class SearchKeys:
    """A search as the index has its terms."""

    def __init__(self, search: MessageSearch) -> None:
        self.wanted = list(dict.fromkeys(map(term_key, wanted_terms(search))))
        self.hidden = [term_key(term) for term in hidden_terms(search)]

    def hits(self, rows: Iterable[LotRow]) -> Iterator[int]:
        """The places of the messages that have all wanted terms and no hidden one, in the order of
        the lots, and in each lot the newest first."""
        for lot, group in groupby(rows, key=lambda row: row[0]):
            terms = {term: places for _, term, places in group}
            for offset in sorted(self._offsets(terms)):
                yield lot - offset

    def _offsets(self, terms: Mapping[int, bytes]) -> set[int]:
        if not all(term in terms for term in self.wanted):
            return set()
        first, *others = (_unpacked(terms[term]) for term in self.wanted)
        found = first.intersection(*others)
        return found.difference(*(_unpacked(terms.get(term, b"")) for term in self.hidden))


def _unpacked(places: bytes) -> set[int]:
    offsets = array(_OFFSETS)
    offsets.frombytes(places)
    return set(offsets)
