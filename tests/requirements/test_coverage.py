"""Promises and tests, both ways: every promise has tests, and every test file shows a promise."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.requirements.findings import FINDINGS
from tests.requirements.manifest import PROMISES, Promise

TESTS = Path(__file__).parents[1]
ABOUT_THE_REPOSITORY = {"requirements", "tidy"}
"""Folders whose tests check the repository, and promise nothing to users."""


@cache
def named_in(file: str) -> frozenset[str]:
    """The tests of a file, by its syntax alone."""
    path = TESTS / file
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
    return frozenset(name for node in tree.body for name in _names(node))


def _names(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            if name.startswith("test_"):
                yield name
        case ast.Assign(targets=[ast.Name(id=name)]):  # as Hypothesis names a state machine's test
            if name.startswith("Test"):
                yield name
        case _:
            pass


def shown_by(promise: Promise) -> list[tuple[str, str]]:
    """The files and names of the tests that show a promise."""
    return [(file, name) for file, names in promise.shown_by.items() for name in names]


def test_every_promise_names_tests_that_exist() -> None:
    silent = [promise.says for promise in PROMISES if not shown_by(promise)]
    assert not silent, "name a test that shows it"
    missing = [
        (promise.says, f"tests/{file}::{name}")
        for promise in PROMISES
        for file, name in shown_by(promise)
        if name not in named_in(file)
    ]
    assert not missing, "it was renamed or removed; name the test that shows the promise now"


def test_every_finding_has_tests_that_exist() -> None:
    tests = [(each.id, *test.split("::")) for each in FINDINGS for test in each.shown_by]
    assert {each.id for each in FINDINGS} == {found for found, *_ in tests}
    missing = [(found, file, name) for found, file, name in tests if name not in named_in(file)]
    assert not missing, "it was renamed or removed; name the test that shows it now"


def test_every_promise_is_one_unique_sentence() -> None:
    sentences = [promise.says for promise in PROMISES]
    assert len(sentences) == len(set(sentences))
    assert not [each for each in sentences if not each.endswith(".") or ". " in each]


def test_every_test_file_shows_a_promise() -> None:
    files = {str(path.relative_to(TESTS)) for path in TESTS.rglob("test_*.py")}
    named = {file for promise in PROMISES for file in promise.shown_by}
    silent = {file for file in files - named if Path(file).parts[0] not in ABOUT_THE_REPOSITORY}
    assert not silent, "name them in manifest.py under the promise that they show"
