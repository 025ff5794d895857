"""The documentation as a site: every page is reachable, and nothing is loaded from elsewhere."""

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from release.site import DOCS, DOCUMENTS, from_docs, from_root, loaded_from_elsewhere
from tests.tidy.source import ROOT

Json = Any  # any TOML value


def pages_in(nav: Json) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
        return
    entries: Iterable[Json] = nav.values() if hasattr(nav, "values") else nav
    for each in entries:
        yield from pages_in(each)


def test_the_navigation_of_the_site_has_every_document_once() -> None:
    config: Json = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert sorted(pages_in(config["project"]["nav"])) == sorted(pages | set(DOCUMENTS))


def test_a_link_of_a_page_to_a_document_of_the_root_stays_in_the_site() -> None:
    told = "[a](../../SECURITY.md#who) [b](../glossary.md) [c](agents.md)"
    assert from_docs(told, 1) == "[a](../SECURITY.md#who) [b](../glossary.md) [c](agents.md)"
    assert from_docs("[a](../ARCHITECTURE.md)", 0) == "[a](ARCHITECTURE.md)"


def test_a_link_of_a_document_of_the_root_is_a_page_or_its_text() -> None:
    told = "[a](docs/glossary.md) [b](SECURITY.md) [c](changes/) [d](#here) [e](https://x.test/y)"
    shown = "[a](glossary.md) [b](SECURITY.md) c [d](#here) [e](https://x.test/y)"
    assert from_root(told) == shown


def test_a_part_of_a_page_that_comes_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        '<link rel="stylesheet" href="https://a.test/x.css"><script src=//b.test/x.js></script>'
        '<a href="https://c.test/">c</a><img src="images/d.png">'
    )
    assert loaded_from_elsewhere(tmp_path) == {"https://a.test/x.css", "//b.test/x.js"}
