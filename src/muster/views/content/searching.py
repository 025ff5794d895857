"""Results of a search: messages, each with a snippet in which the words are marked."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import asdict

from muster import limits
from muster.errors import Invalid
from muster.machines.events import Event, MessageImported
from muster.machines.state import Team
from muster.store.base import MessageSearch, SearchSlice
from muster.store.codec import decode
from muster.store.words import folded, word_pattern, words_of
from muster.views.answers.messages import FoundMessage, MessageView, SearchPage, SnippetPart
from muster.views.content.messages import imported_view, message_view

SNIPPET_CHARS: Final = 160
SNIPPET_LOOKED: Final = 16 * 1024
"""How much of a text is cut into words for its first match; behind that, words are found only as
they are spelled in the query. Cutting a megabyte takes a quarter of a second."""

SNIPPET_TRIES: Final = 64
"""How often a word may be found inside of longer words before it is given up."""

SNIPPET_BEFORE: Final = 40
"""How much of the text before the first match a snippet shows."""


def searched_words(query: str) -> tuple[str, ...]:
    """The words of a query."""
    words = tuple(words_of(query))
    if not words:
        raise Invalid(what="the search", why="has no word: give letters or digits")
    if len(words) > limits.SEARCH_WORDS_MAX:
        raise Invalid(what="the search", why=f"may have {limits.SEARCH_WORDS_MAX} words at most")
    return words


def found_page(team: Team, query: str, search: MessageSearch, found: SearchSlice) -> SearchPage:
    """The answer to a search."""
    note = ""
    if found.before is not None and not found.found:
        note = "Older messages are not searched yet: this SQLite has no FTS5. Ask with `before`."
    return SearchPage(
        query=query,
        words=search.words,
        messages=tuple(
            _found(_view(decode(each.data), team), search.words) for each in found.found
        ),
        next_before=found.before,
        note=note,
    )


def _view(event: Event, team: Team) -> MessageView:
    if isinstance(event.fact, MessageImported):
        return imported_view(event.fact.message, event.seq)
    return message_view(event, team)


def _found(message: MessageView, words: Sequence[str]) -> FoundMessage:
    return FoundMessage(**asdict(message), snippet=tuple(snippet(message.text, words)))


def snippet(text: str, words: Sequence[str]) -> Iterator[SnippetPart]:
    """The text around the first match in one line, its matches marked."""
    wanted = frozenset(words)
    start = first_match(text, wanted)
    begin = 0 if start is None else max(0, start - SNIPPET_BEFORE)
    end = min(len(text), begin + SNIPPET_CHARS)
    at = begin
    # One character more than is shown, so that a word that goes on there is not taken for whole.
    near = () if start is None else word_pattern().finditer(text, start, end + 1)
    matches = (each.span() for each in near if folded(each[0]) in wanted)
    if begin > 0:
        yield SnippetPart(text="…")
    for first, last in matches:
        if last > end:
            break
        if first > at:
            yield SnippetPart(text=_in_line(text[at:first]))
        yield SnippetPart(text=text[first:last], is_match=True)
        at = last
    if at < end:
        yield SnippetPart(text=_in_line(text[at:end]))
    if end < len(text):
        yield SnippetPart(text="…")


def first_match(text: str, wanted: frozenset[str]) -> int | None:
    """The place of the first word that matches, found with bounded work."""
    for each in word_pattern().finditer(text, 0, SNIPPET_LOOKED):
        if each.end() == SNIPPET_LOOKED < len(text):  # the word may go on
            break
        if folded(each[0]) in wanted:
            return each.start()
    if len(text) <= SNIPPET_LOOKED:
        return None
    lowered = text.lower()
    if len(lowered) != len(text):  # some characters are two in lower case: places would differ
        return None
    places = (_place(lowered, word) for word in wanted)
    return min((each for each in places if each is not None), default=None)


def _place(lowered: str, word: str) -> int | None:
    """The place of a whole word behind the part of a text that was cut into words."""
    at = SNIPPET_LOOKED - len(word)
    for _ in range(SNIPPET_TRIES):
        at = lowered.find(word, max(0, at))
        if at < 0:
            return None
        around = lowered[max(0, at - 1) : at] + lowered[at + len(word) : at + len(word) + 1]
        if not any(map(str.isalnum, around)):
            return at
        at += len(word)
    return None


def _in_line(text: str) -> str:
    """A text with every run of spaces and line ends as one space."""
    inner = " ".join(text.split())
    before = " " if text[:1].isspace() else ""
    after = " " if inner and text[-1:].isspace() else ""
    return f"{before}{inner}{after}"
