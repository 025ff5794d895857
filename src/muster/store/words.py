r"""The words of messages, and how a search finds them. The same for every store.

A word is a run of letters and digits, folded: without case and accents. A character of a script
without spaces (Chinese, Japanese) is a word of its own. So a search is words, never a syntax:
quotes, operators and whatever else a person types only separate words.

A message is indexed by *terms*: its words, and terms that stand for its channel (`_c`), its seat
(`_s`) and its files (`_f`). No word has an underscore, so no text can forge such a term.
"""

import re
import sqlite3
from functools import cache, lru_cache
from typing import Final
from unicodedata import normalize

import msgspec

from muster.machines.ids import ChannelId, SeatId
from muster.store.base import MessageSearch, Stored

SEARCHED_TYPES: Final = frozenset(
    {"user_message", "agent_message", "announcement", "message_imported"}
)

WORD_CHARS_MAX: Final = 64
"""Of a longer word only this much is found by, unless it is in ASCII. One character can fold to
eighteen (U+FDFA), so a message in one word would stop the server for seconds."""

_ALONE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana and ideographs
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")


@cache
def word_pattern() -> re.Pattern[str]:
    """A word in a text as it was written; combining accents belong to it.

    Compiled on demand: that takes milliseconds, and most commands search nothing.
    """
    return re.compile(rf"[{_ALONE}]|(?:[^\W_{_ALONE}]|[\u0300-\u036f])+")


def words_of(text: str) -> list[str]:
    """The distinct words of a text, in order."""
    if text.isascii():
        return list(dict.fromkeys(_ASCII_WORD.findall(text.lower())))
    written = dict.fromkeys(word_pattern().findall(text))  # folding is slow, and words repeat
    return list(dict.fromkeys(filter(None, map(folded, written))))


def folded(word: str) -> str:
    """A word without case and accents; empty where nothing of it is left."""
    if word.isascii():
        return word.lower()
    plain = normalize("NFKD", normalize("NFKD", word[:WORD_CHARS_MAX]).casefold())
    return "".join(filter(str.isalnum, plain))


# ── what a message is found by ────────────────────────────────────────────────────────────────────


class _Block(msgspec.Struct, frozen=True):
    text: str = ""


class _File(msgspec.Struct, frozen=True):
    digest: str = ""
    name: str = ""


class _Said(msgspec.Struct, frozen=True):
    """The parts of a message's event that are searched. The codec would load every kind of fact."""

    text: str = ""
    content: tuple[_Block, ...] = ()
    message: _Block = _Block()
    files: tuple[_File, ...] = ()

    @property
    def everything(self) -> str:
        """All of its words, and the names of its files."""
        if self.text and not self.files:
            return self.text
        texts = (self.text, self.message.text, *(each.text for each in self.content))
        return "\n".join((*texts, *(each.name for each in self.files)))


_read: Final = msgspec.json.Decoder(_Said).decode


def terms_of(stored: Stored) -> set[str]:
    """The terms of a message."""
    said = _opened(stored)
    return {*words_of(said.everything), *_conditions(stored, said)}


def indexed_text(stored: Stored) -> str:
    """The terms of a message, as a text that FTS5 cuts into just them.

    For a text in ASCII the tokenizer does what `words_of` does, in a third of the time.
    """
    said = _opened(stored)
    text = said.everything
    words = text.replace("_", " ") if text.isascii() else " ".join(words_of(text))
    return f"{words} {' '.join(_conditions(stored, said))}"


def _opened(stored: Stored) -> _Said:
    try:
        return _read(stored.data)
    except msgspec.DecodeError:  # a damaged event is found by nothing; reading the log reports it
        return _Said()


def _conditions(stored: Stored, said: _Said) -> list[str]:
    terms = [_channel(stored.channel)]
    if stored.seat is not None:
        terms.append(_seat(stored.seat))
    return terms + [_file(file.digest) for file in said.files]


@lru_cache(maxsize=1024)
def _channel(channel: ChannelId | None) -> str:
    return f"_c{'' if channel is None else channel.encode().hex()}"


def _seat(seat: SeatId) -> str:
    return f"_s{seat}"


def _file(digest: str) -> str:
    return f"_f{digest}"


# ── a search ──────────────────────────────────────────────────────────────────────────────────────


def wanted_terms(search: MessageSearch) -> list[str]:
    """The terms that a message must have."""
    terms = list(search.words)
    if search.channel is not None:
        terms.append(_channel(search.channel))
    if search.seat is not None:
        terms.append(_seat(search.seat))
    if search.file is not None:
        terms.append(_file(search.file))
    return terms


def matches(search: MessageSearch, stored: Stored) -> bool:
    """Whether a search finds an event, decided from the event itself."""
    if stored.type not in SEARCHED_TYPES or stored.channel in search.hidden:
        return False
    if search.channel not in (None, stored.channel) or search.seat not in (None, stored.seat):
        return False
    return terms_of(stored).issuperset(wanted_terms(search))


def hidden_terms(search: MessageSearch) -> list[str]:
    """The terms of which a message must have none."""
    return sorted(map(_channel, search.hidden))


def expression(search: MessageSearch) -> str:
    """A search as FTS5 writes it. Every term is quoted, so none is an operator."""
    wanted = " AND ".join(f'"{term}"' for term in wanted_terms(search))
    if not search.hidden:
        return wanted
    hidden = " OR ".join(f'"{term}"' for term in hidden_terms(search))
    return f"({wanted}) NOT ({hidden})"


def has_fts5(connection: sqlite3.Connection) -> bool:
    """Whether this SQLite can keep the index; without it, a search reads every message."""
    found = connection.execute("SELECT count(*) FROM pragma_module_list WHERE name = 'fts5'")
    return bool(found.fetchone()[0])
