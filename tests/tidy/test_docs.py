"""Documents: every name in muster is explained, and generated pages are up to date."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster import errors
from muster.errors import MusterError
from muster.machines.commands import COMMANDS
from muster.machines.events import FACTS
from muster.machines.state import MAIN, QUEUE, Status, TurnState
from muster.machines.vocabulary import RunMode
from muster.store.codec import Envelope
from tests.tidy.reference import COMMAND, ENVELOPE, REFERENCE, leaves_of, pages, tag_of
from tests.tidy.source import ROOT, files, modules, nodes, within

WORDS = (
    *("seat", "agent", "lead", "soul", "session", "run", "transcript", "channel", "turn"),
    *("conversation", "marker", "inbox", "command", "event", "reactor", "projection", "timer"),
    *("deadline", "runtime", "seq", "cursor"),
)
"""The terms of the code."""


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


# ── the reference ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_a_generated_page_is_what_the_code_says(path: Path) -> None:
    written = path.read_text(encoding="utf-8") if path.exists() else ""
    assert written == pages()[path], f"run `{COMMAND}` to write {path.relative_to(ROOT)} anew"


def test_every_kind_of_event_is_described() -> None:
    text = page("reference/events.md")
    assert not [tag_of(fact) for fact in FACTS if f"\n### `{tag_of(fact)}`\n\n" not in text]


def test_every_field_of_the_envelope_is_described() -> None:
    assert tuple(ENVELOPE) == (*Envelope.__struct_encode_fields__, "type")


def test_every_command_is_described() -> None:
    text = page("reference/commands.md")
    names = [command.__name__ for command in COMMANDS]
    assert not [name for name in names if f"\n### `{name}`\n\n" not in text]


def test_every_error_code_is_described() -> None:
    text = page("reference/errors.md")
    assert not [leaf.code for leaf in leaves_of(MusterError) if f"| `{leaf.code}` |" not in text]


def test_every_error_that_muster_can_raise_is_in_one_file() -> None:
    kinds = {name for name, each in vars(errors).items() if isinstance(each, type)}
    astray = [
        f"{module.at(node.lineno)} {node.name}"
        for module in modules().values()
        if module.name != errors.__name__ and not within(module.name, "muster.testing")
        for node in nodes(module)
        if isinstance(node, ast.ClassDef) and kinds & {ast.unparse(base) for base in node.bases}
    ]
    assert not astray, "errors.py lists every error, and the reference is generated from it"


# ── the glossary ──────────────────────────────────────────────────────────────────────────────────


def test_every_word_is_explained() -> None:
    text = page("glossary.md")
    assert not [word for word in WORDS if not re.search(rf"^\*\*{word}\*\* \w", text, re.MULTILINE)]


def test_the_glossary_is_in_the_order_of_the_alphabet_and_explains_each_word_once() -> None:
    words = re.findall(r"^\*\*(.+?)\*\*", page("glossary.md"), re.MULTILINE)
    assert words == sorted(set(words))


def test_every_state_is_explained() -> None:
    text = page("glossary.md")
    states = [*Status, *RunMode, *TurnState, MAIN, QUEUE]
    assert not [state for state in states if f"\n- `{state}`: " not in text]


# ── links ─────────────────────────────────────────────────────────────────────────────────────────


def links() -> Iterator[tuple[Path, str]]:
    """Every link into this repository: its page, and its target."""
    for path in files():
        if path.suffix == ".md":
            for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
                if "://" not in link:
                    yield path, link


def test_every_link_leads_somewhere() -> None:
    dead = [
        f"{path.relative_to(ROOT)} → {link}"
        for path, link in links()
        if not (path.parent / link.partition("#")[0]).exists()
    ]
    assert not dead


def test_every_link_to_a_heading_finds_it() -> None:
    lost = [
        f"{path.relative_to(ROOT)} → {link}"
        for path, link in links()
        if "#" in link and link.partition("#")[2] not in headings(path, link)
    ]
    assert not lost


def headings(path: Path, link: str) -> set[str]:
    """The anchors of the page that a link targets."""
    target = path.parent / link.partition("#")[0] if not link.startswith("#") else path
    titles = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def test_every_page_of_the_reference_can_be_found() -> None:
    linked = {(path.parent / link.partition("#")[0]).resolve() for path, link in links()}
    assert not [page.name for page in REFERENCE.glob("*.md") if page.resolve() not in linked]
