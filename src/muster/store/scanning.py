"""A search that reads message by message: for messages that no index has. The same in every store.

It is given pages of messages, the newest first, until it has a result.
"""

from collections.abc import Sequence
from typing import Final

from muster.store.base import SEARCH_BYTES, MessageSearch, SearchSlice, Stored, is_full
from muster.store.words import matches

SCAN_PAGE: Final = 1000
SCAN_PAGES_MAX: Final = 20
SCAN_BYTES: Final = 1024 * 1024
"""One search looks at so many pages, each of so many messages or bytes; the caller searches on from
there."""


class MessageScan:
    """The state of such a search."""

    def __init__(self, search: MessageSearch, *, before: int, limit: int) -> None:
        self.before = before
        """The next page has messages before this place."""

        self.result: SearchSlice | None = None
        self._search = search
        self._limit = limit
        self._found: list[Stored] = []
        self._size = 0
        self._pages = 0

    def take(self, page: Sequence[Stored]) -> None:
        """Search a page of up to `SCAN_PAGE` messages or `SCAN_BYTES`."""
        self._pages += 1
        for message in page:
            self.before = message.seq
            if matches(self._search, message):
                self._found.append(message)
                self._size += len(message.data)
                if len(self._found) == self._limit or self._size >= SEARCH_BYTES:
                    self._end(self.before)
                    return
        if not is_full(page, limit=SCAN_PAGE, bytes_max=SCAN_BYTES):
            self._end(None)
        elif self._pages == SCAN_PAGES_MAX:
            self._end(self.before)

    def _end(self, before: int | None) -> None:
        self.result = SearchSlice(self._found, before)
