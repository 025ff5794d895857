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
from muster.store.words import WORD, folded, words_of
from muster.views.answers.messages import FoundMessage, MessageView, SearchPage, SnippetPart
from muster.views.channels import imported_view, message_view

SNIPPET_CHARS: Final = 160
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
    matches = [each.span() for each in WORD.finditer(text) if folded(each[0]) in wanted]
    begin = max(0, matches[0][0] - SNIPPET_BEFORE) if matches else 0
    end = min(len(text), begin + SNIPPET_CHARS)
    at = begin
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


def _in_line(text: str) -> str:
    """A text with every run of spaces and line ends as one space."""
    inner = " ".join(text.split())
    before = " " if text[:1].isspace() else ""
    after = " " if inner and text[-1:].isspace() else ""
    return f"{before}{inner}{after}"
