"""Settings for all tests."""

import signal
import sys
from collections.abc import Generator

import pytest
from hypothesis import settings

# A shell starts background jobs with Ctrl-C (SIGINT) ignored, and children inherit that. Some tests
# send Ctrl-C to programs, so it is restored here.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline for examples: a busy machine must not fail a test.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest tests first."""
    items.sort(key=lambda item: not is_exhaustive(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Run exhaustive tests without branch coverage: it would triple their time, and cover nothing
    new. The marker `no_cover` has no effect in a worker of pytest-xdist."""
    trace = sys.gettrace()
    if is_exhaustive(item):
        sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(trace)


def is_exhaustive(item: pytest.Item) -> bool:
    return item.get_closest_marker("exhaustive") is not None
