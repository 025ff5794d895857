"""Waits: the timeouts of tests are long, so that a busy machine fails none of them."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.tidy.source import ROOT, SOURCE

LEAST_SECONDS = 60.0
"""The shortest timeout of a wait that is expected to succeed."""

FOLDERS = (ROOT / "tests", SOURCE / "muster" / "testing")

POSITIONS = {
    "timeout": 0,
    "wait_for": 1,
    "wait": 0,
    "join": 0,
    "Timer": 0,
    "sleep": 0,
    "settimeout": 0,
    "set_default_timeout": 0,
    "wait_for_timeout": 0,
}
"""The position of the timeout among the arguments of a call."""

NAMES = ("timeout",)
"""The keyword of a timeout."""

MILLISECONDS = ("set_default_timeout", "wait_for_timeout", "expect")

EXPIRING: dict[tuple[str, str], str] = {
    ("tests/live.py", "over.wait(HEARTBEAT_SECONDS)"): "the pause between two heartbeats",
    ("tests/claude_plugin/hooks/test_server.py", "asyncio.wait([stop], timeout=0.1)"): (
        "nothing may come; a busy machine makes it only less likely to"
    ),
    (
        "tests/runtimes/process/test_stopping.py",
        "asyncio.wait({interrupting}, timeout=QUICK)",
    ): "it may not end; a busy machine makes it only less likely to",
    (
        "tests/stress/hostile_inputs.py",
        "HTTPConnection(at.hostname or '', at.port, timeout=HANGS_UP_SECONDS)",
    ): "a hostile caller hangs up before it is answered",
    (
        "tests/stress/node_posts.py",
        "asyncio.sleep(PAUSE_SECONDS)",
    ): "the pause between two posts of a person",
    ("tests/testing/test_fakes.py", "clock.sleep(0.001)"): "the system clock does sleep",
    ("tests/testing/test_fakes.py", "clock.sleep(10)"): "on a manual clock",
}
"""Waits that are short because they end by expiring, by file and text, each with its reason."""


class Wait(NamedTuple):
    """A call with a constant timeout."""

    path: Path
    call: ast.Call
    seconds: float

    @property
    def text(self) -> str:
        return ast.unparse(self.call)

    @property
    def key(self) -> tuple[str, str]:
        return (str(self.path.relative_to(ROOT)), self.text)


def waits(path: Path) -> Iterator[Wait]:
    """Every call in a file with a timeout, and its seconds."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    known = constants(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            scale = 1000 if in_milliseconds(node) else 1
            found = (number(bound, known) for bound in bounds(node))
            yield from (Wait(path, node, each / scale) for each in found if each is not None)


def constants(tree: ast.Module) -> dict[str, float]:
    """The named numeric constants of a file."""
    known: dict[str, float] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        if (found := number(value, known)) is not None:
            known[name] = found
    return known


def bounds(call: ast.Call) -> Iterator[ast.expr]:
    place = POSITIONS.get(name_of(call.func))
    if place is not None and len(call.args) > place:
        yield call.args[place]
    yield from (each.value for each in call.keywords if each.arg in NAMES)


def name_of(function: ast.expr) -> str:
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def in_milliseconds(call: ast.Call) -> bool:
    """Whether a call is to the browser, whose timeouts are in milliseconds."""
    parts = (each for each in ast.walk(call.func) if isinstance(each, ast.expr))
    return any(name_of(each) in MILLISECONDS for each in parts)


def number(node: ast.expr, known: dict[str, float]) -> float | None:
    """The value of a constant numeric expression."""
    match node:
        case ast.Constant(value=int() | float() as found):
            return float(found)
        case ast.Name(id=name):
            return known.get(name)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
            one, other = number(left, known), number(right, known)
            if one is None or not other:
                return None
            return one * other if isinstance(op, ast.Mult) else one / other
        case _:
            return None


def test_a_wait_is_bounded_at_a_minute_or_more() -> None:
    found = (wait for folder in FOLDERS for path in folder.rglob("*.py") for wait in waits(path))
    short = [wait for wait in found if wait.seconds < LEAST_SECONDS and not yields(wait)]
    wrong = [
        f"{wait.path.relative_to(ROOT)}:{wait.call.lineno} {wait.text} waits {wait.seconds:g} s"
        " at most; take a bound from tests/waits.py"
        for wait in short
        if wait.key not in EXPIRING
    ]
    assert wrong == []
    assert set(EXPIRING) == {wait.key for wait in short}, "an exception that nothing needs"


def yields(wait: Wait) -> bool:
    """Whether a call only yields to other tasks."""
    return wait.seconds == 0 and name_of(wait.call.func) == "sleep"
