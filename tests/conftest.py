"""Settings for all tests."""

import gc
import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import islice
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Final

import pytest
from hypothesis import settings

TESTS: Final = Path(__file__).parent

COVERED: Final = ("muster.machines", "muster.store")

MEASURED: Final = frozenset({"home", "machines", "simulation", "store"})
"""Folders whose tests count for the coverage of machines and store. A branch that only other tests
reach has no test of its own, and measuring takes as long as the tests."""

# A shell starts background jobs with SIGINT and SIGQUIT ignored, `nohup` and some CI runners ignore
# SIGHUP, and children inherit that. Some tests send them to programs, so they are restored here.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

# No deadline for examples: a busy machine must not fail a test.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without looking for garbage and without tracing, which takes a third of the time.
    Nothing of the tests and their modules is garbage, so it is left out of later searches, too."""
    for package in COVERED:
        for each in walk_packages(import_module(package).__path__, f"{package}."):
            import_module(each.name)  # lines outside of functions count, too
    gc.disable()
    try:
        with untraced():
            compile_a_part(session.config)
            return (yield)
    finally:
        gc.freeze()
        gc.enable()


def compile_a_part(config: pytest.Config) -> None:
    """Import some modules before the others, in each process of pytest-xdist another part.

    Every process collects all tests. After a change or a fresh clone, each of them would compile
    every module, with its assertions rewritten, which takes three times as long as the rest of
    the collection. So each compiles its part, and finds the others' parts on disk.
    """
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None or config.args != config.getini("testpaths"):
        return
    number = int(worker["workerid"].removeprefix("gw"))
    ignored = [Path(each).resolve() for each in config.getoption("ignore") or ()]
    files = [
        each
        for each in sorted(TESTS.rglob("test_*.py"))
        if not any(each.is_relative_to(path) for path in ignored)
    ]
    for file in files[number :: worker["workercount"]]:
        name = ".".join(file.relative_to(TESTS.parent).with_suffix("").parts)
        with suppress(Exception):  # the collection imports it again, and reports the error
            import_module(name)


LONG: Final = ("acceptance", "guides", "stress", "demo", "web/test_makers.py")
"""Folders and files with tests of half a minute and more, which wait for other programs."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the slowest tests first: one that begins last would keep all other processes waiting."""
    items.sort(key=lambda item: 0 if is_exhaustive(item) else 1 if is_long(item) else 2)
    worker: dict[str, Any] = getattr(config, "workerinput", {})
    items[:] = dealt(items, worker.get("workercount", 1))


def dealt(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """The tests in an order in which each process of pytest-xdist begins with slow ones: at first
    it gives each process as many tests as the others, in order. The long tests of a file stay
    together, because they share a server."""
    slow = [item for item in items if is_exhaustive(item) or is_long(item)]
    quick = iter(items[len(slow) :])
    piles: list[list[pytest.Item]] = [[] for _ in range(workers)]
    places: dict[str, int] = {}
    for item in slow:
        group = item.nodeid if is_exhaustive(item) else str(item.path)
        piles[places.setdefault(group, len(places) % workers)].append(item)
    order: list[pytest.Item] = []
    for number, pile in enumerate(piles):
        share = (len(items) - len(order)) // (workers - number)
        order += [*pile, *islice(quick, max(0, share - len(pile)))]
    order += quick
    assert len(order) == len(items)
    return order


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure branch coverage only where it counts: it doubles the time of a test and more. The
    marker `no_cover` has no effect in a worker of pytest-xdist."""
    if not is_exhaustive(item) and item.path.relative_to(TESTS).parts[0] in MEASURED:
        return (yield)
    with untraced():
        return (yield)


@contextmanager
def untraced() -> Generator[None]:
    """Switch the tracing of coverage off for a while, in this thread and in new ones."""
    trace, thread_trace = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)  # pyright: ignore[reportArgumentType]  # as its documentation says
    try:
        yield
    finally:
        sys.settrace(trace)
        threading.settrace(thread_trace)  # pyright: ignore[reportArgumentType]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failed-to", help="Write the names of failed tests into this file.")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Write the names of failed tests, for `tests.again`; none where something else failed too."""
    path: str | None = config.getoption("--failed-to")
    stats = terminalreporter.stats
    names = [each.nodeid for kind in ("failed", "error") for each in stats.get(kind, [])]
    if path is not None and exitstatus == pytest.ExitCode.TESTS_FAILED:
        Path(path).write_text("\n".join(dict.fromkeys(names)), encoding="utf-8")


def is_exhaustive(item: pytest.Item) -> bool:
    return item.get_closest_marker("exhaustive") is not None


def is_long(item: pytest.Item) -> bool:
    place = item.path.relative_to(TESTS).as_posix()
    return place.startswith(LONG)
