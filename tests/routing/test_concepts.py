"""The tables of concepts and their parsed form."""

from pathlib import Path

import pytest

from muster.routing import concepts as tables
from muster.routing.concepts import PARSED, concepts, parse, parsed


def test_the_parsed_form_is_that_of_the_texts() -> None:
    assert PARSED.read_bytes() == parsed(), "python -m muster.routing.concepts writes it anew"
    assert concepts() == parse()


@pytest.mark.parametrize("content", [None, b"{", b'{"digest":"00","concepts":{}}'])
def test_without_a_parsed_form_of_these_texts_the_texts_are_parsed(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = tmp_path / "parsed.json"
    if content is not None:
        stored.write_bytes(content)
    monkeypatch.setattr(tables, "PARSED", stored)
    assert concepts.__wrapped__() == parse()


def test_a_parsed_form_of_other_texts_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = tmp_path / "parsed.json"
    stored.write_bytes(PARSED.read_bytes().replace(tables.digest().encode(), b"0" * 32))
    monkeypatch.setattr(tables, "PARSED", stored)
    monkeypatch.setattr(tables, "parse", lambda: None)
    assert concepts.__wrapped__() is None


def test_a_concept_may_stand_on_several_lines() -> None:
    """Those of the trades add words to it, and its wider concepts stay."""
    assert concepts().wider["#django"] == ("#python",)
    assert {"#healthcare"} <= set(concepts().of_agents["hospital"])
    assert {"#healthcare"} <= set(concepts().of_agents["medical"])
