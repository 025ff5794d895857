"""Sizes: a file is a page or two, a function fits on a screen. Larger ones have a reason."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tests.tidy.source import Module, modules, nodes

FILE_LINES_MAX = 450
"""Three times the usual file. Beyond it a file has two subjects."""

FUNCTION_LINES_MAX = 60
"""Lines of a screen."""

FUNCTION_LINES_USUAL = 30
LONG_FUNCTIONS_MAX = 0.01
"""Fraction of functions that may be longer than usual: one in a hundred."""


class Allowed(NamedTuple):
    """A file that may be longer, how long, and why."""

    lines: int
    reason: str


LONG_FILES: dict[str, Allowed] = {
    "muster.app": Allowed(480, "the one composition root: it grows with the parts of a team"),
    "muster.client.methods": Allowed(480, "a list of methods: one subject, read by looking up"),
    "muster.client.requests": Allowed(720, "a list of requests: one subject, read by looking up"),
    "muster.errors": Allowed(900, "a list of errors: one subject, read by looking up"),
    "muster.limits": Allowed(720, "a list of bounds: one subject, read by looking up"),
    "muster.machines.commands": Allowed(1350, "a list of records: one subject, read by looking up"),
    "muster.machines.events": Allowed(1390, "a list of records: one subject, read by looking up"),
    "muster.machines.kernel.couplings": Allowed(585, "a list of couplings, read by looking up"),
    "muster.machines.kernel.sentences": Allowed(590, "a list of sentences, read by looking up"),
    "muster.machines.vocabulary": Allowed(570, "a list of enums: one subject, read by looking up"),
    "muster.machines.state": Allowed(1280, "a list of records: one subject, read by looking up"),
    "muster.views.answers.agents": Allowed(590, "a list of records, read by looking up"),
}
"""A ratchet: a number here goes down when its file does, and up only with a reason."""


class Function(NamedTuple):
    """A function, its location and its length."""

    where: str
    name: str
    lines: int


def functions() -> Iterator[Function]:
    """Every function of the package, without its decorators."""
    for module in modules().values():
        for node in nodes(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                yield Function(module.at(node.lineno), node.name, lines)


def lines_of(module: Module) -> int:
    return len(module.text.splitlines())


def test_no_file_exceeds_its_limit() -> None:
    usual = Allowed(FILE_LINES_MAX, "")
    too_long = [
        f"{module.at(1)} has {lines_of(module)} lines"
        for name, module in modules().items()
        if lines_of(module) > LONG_FILES.get(name, usual).lines
    ]
    assert not too_long, "split it by subject"


def test_every_long_file_is_still_long() -> None:
    short = [name for name in LONG_FILES if lines_of(modules()[name]) <= FILE_LINES_MAX]
    assert not short, "take it out of LONG_FILES"


def test_a_function_fits_on_a_screen() -> None:
    assert not [each for each in functions() if each.lines > FUNCTION_LINES_MAX]


def test_few_functions_are_long() -> None:
    every = list(functions())
    long = [each for each in every if each.lines > FUNCTION_LINES_USUAL]
    assert len(long) <= LONG_FUNCTIONS_MAX * len(every), long
