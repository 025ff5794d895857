"""Words of messages: cut and folded alike in the index and in a search, whatever is typed."""

import pytest

from muster.machines.events import AgentMessage, UserMessage
from muster.machines.ids import ChannelId
from muster.machines.vocabulary import AttachedFile, Text
from muster.store.base import MessageSearch, Stored
from muster.store.codec import stored
from muster.store.words import (
    expression,
    folded,
    indexed_text,
    matches,
    terms_of,
    word_pattern,
    words_of,
)
from tests.store.building import DESIGN, SEAT, event

DIGEST = "ab" * 32


@pytest.fixture(autouse=True)
def compiled_anew() -> None:
    """Whatever ran before in this process, the pattern is made here."""
    word_pattern.cache_clear()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The plan, the PLAN!", ["the", "plan"]),
        ("don't snake_case e-mail", ["don", "t", "snake", "case", "e", "mail"]),
        ("Café cafe\u0301 ＣＡＦÉ", ["cafe"]),
        ("straße STRASSE", ["strasse"]),
        ("会議は3時", ["会", "議", "は", "3", "時"]),
        ('" OR NEAR(a b) ^x* {y}: \x00-z', ["or", "near", "a", "b", "x", "y", "z"]),
        ("½ ﷺ", ["12", "صلىاللهعليهوسلم"]),
        ("a" * 100, ["a" * 100]),
        ("\u0301 ... !", []),
        ("", []),
    ],
)
def test_a_text_is_cut_into_words_without_case_and_accents(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_a_word_that_folds_to_a_multiple_of_its_length_is_cut_and_found_all_the_same() -> None:
    said = "\ufdfa" * 100_000
    (word,) = words_of(said)
    assert len(word) < 2000
    assert matches(MessageSearch(words=(word,)), message(f"so: {said}"))
    assert words_of(f"so {said[:100]}")[1:] == [word]


def test_a_word_is_folded_the_same_alone_and_in_a_text() -> None:
    for word in ("Plan", "CAFÉ", "Straße", "x" * 70):
        assert [folded(word)] == words_of(word)


def message(text: str = "the plan", **more: object) -> Stored:
    said = UserMessage(text=text, speaker_name="Grace", target_agent=None, channel=DESIGN, **more)  # pyright: ignore[reportArgumentType]
    return stored(event(1, said))


def test_a_message_is_found_by_its_words_its_channel_its_seat_and_its_files() -> None:
    file = AttachedFile(name="Budget.csv", digest=DIGEST, size=3, media_type="text/plain")
    assert terms_of(message(files=(file,))) == {
        *("the", "plan", "budget", "csv"),
        f"_c{DESIGN.encode().hex()}",
        f"_f{DIGEST}",
    }
    by_agent = AgentMessage(agent_name="Lyra", content=(Text("one"), Text("two")), seat=SEAT)
    assert terms_of(stored(event(1, by_agent))) == {"one", "two", "_c", f"_s{SEAT}"}


def test_a_text_cannot_forge_the_term_of_a_channel() -> None:
    hidden = ChannelId("hidden")
    forged = message(f"_c{hidden.encode().hex()}")
    assert not matches(MessageSearch(channel=hidden), forged)
    assert f"_c{hidden.encode().hex()}" not in terms_of(forged)
    assert f"_c{hidden.encode().hex()}" not in indexed_text(forged)


def test_a_damaged_message_is_found_by_nothing_it_said() -> None:
    damaged = message()._replace(data=b"\xff{")
    assert not matches(MessageSearch(words=("plan",)), damaged)


def test_every_term_of_a_search_is_quoted_so_that_none_is_an_operator() -> None:
    search = MessageSearch(words=("or", "not"), seat=SEAT, file=DIGEST)
    assert expression(search) == f'"or" AND "not" AND "_s{SEAT}" AND "_f{DIGEST}"'
    without = MessageSearch(words=("plan",), channel=DESIGN, hidden=frozenset({None, DESIGN}))
    place = DESIGN.encode().hex()
    assert expression(without) == f'("plan" AND "_c{place}") NOT ("_c" OR "_c{place}")'
