"""A search as people see it: its words, and snippets in which they are marked."""

import pytest

from muster.errors import Invalid
from muster.machines.documents import MessageCopy
from muster.machines.events import Fact, MessageImported, UserMessage
from muster.machines.ids import SessionId
from muster.machines.state import Team
from muster.store.base import MessageSearch, SearchSlice
from muster.store.codec import stored
from muster.store.words import folded
from muster.views.answers.messages import SearchPage
from muster.views.content import searching
from muster.views.content.searching import SNIPPET_CHARS, found_page, searched_words, snippet
from tests.store.building import NOON, event


def marked(text: str, *words: str) -> str:
    """A snippet with its matches in brackets."""
    return "".join(
        f"[{each.text}]" if each.is_match else each.text for each in snippet(text, words)
    )


def test_a_snippet_marks_whole_words_as_they_were_written() -> None:
    assert marked("The plan: PLANS, Plán!", "plan") == "The [plan]: PLANS, [Plán]!"
    assert marked("one\n\n  two\tthree", "two") == "one [two] three"
    assert marked("nothing here", "other") == "nothing here"


def test_a_snippet_is_the_text_around_the_first_match() -> None:
    shown = marked(f"{'a ' * 500}plan{' b' * 500}", "plan")
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert "[plan]" in shown
    assert len(shown) <= SNIPPET_CHARS + 4


def test_a_match_behind_the_end_of_the_snippet_is_left_out() -> None:
    assert marked(f"plan {'x' * 150} planning plan", "plan").count("[plan]") == 1


def test_a_search_has_at_least_one_word_and_not_too_many() -> None:
    assert searched_words('"the plan" OR') == ("the", "plan", "or")
    for query in ("", "?!", " ".join(f"w{number}" for number in range(33))):
        with pytest.raises(Invalid):
            searched_words(query)


def page(*facts: Fact, before: int | None = None) -> SearchPage:
    found = [stored(event(seq, fact)) for seq, fact in enumerate(facts, start=1)]
    search = MessageSearch(words=("plan",))
    return found_page(Team(), "Plan", search, SearchSlice(found, before))


def test_a_message_of_another_machine_is_found_as_it_was_said() -> None:
    copy = MessageCopy(
        id="m1",
        type="message",
        text="the plan",
        speaker_name="Lyra",
        speaker_type="agent",
        target_agent=None,
        server_session_id=SessionId("other"),
        created_at=NOON,
    )
    here = UserMessage(text="a plan", speaker_name="Grace", target_agent=None)
    first, second = page(MessageImported(message=copy), here).messages
    assert (first.speaker, first.kind, first.text, first.ts) == ("Lyra", "agent", "the plan", NOON)
    assert (second.speaker, second.kind) == ("Grace", "person")


def test_a_search_that_stopped_early_says_so() -> None:
    assert page().note == ""
    assert "FTS5" in page(before=7).note
    assert page(before=7).next_before == 7


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plan " * 200_000, "[plan]"),
        ("of " * 300_000 + "the Plan", "[Plan]"),
        ("of " * 300_000, ""),
    ],
)
def test_a_snippet_of_a_megabyte_looks_at_few_of_its_words(
    monkeypatch: pytest.MonkeyPatch, text: str, shown: str
) -> None:
    looked: list[int] = []

    def counted(word: str) -> str:
        looked.append(1)
        return folded(word)

    monkeypatch.setattr(searching, "folded", counted)
    assert shown in marked(text, "plan")
    assert len(looked) < searching.SNIPPET_LOOKED


def test_a_word_far_back_in_a_text_is_marked_only_where_it_is_whole() -> None:
    far = "x " * searching.SNIPPET_LOOKED
    assert "planning [plan]" in marked(f"{far}planning plan", "plan", "other")
    assert "[" not in marked(f"{far}{'planning ' * 100}plan", "plan")  # given up
    assert "[" not in marked(f"\u0130{far}plan", "plan")  # in lower case it is longer
    at_the_border = "x" * (searching.SNIPPET_LOOKED - 6)
    assert "[" not in marked(f"{at_the_border} planning of it", "planni")
    assert "[planning]" in marked(f"{at_the_border} planning of it", "planning")
