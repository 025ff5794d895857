"""Settings for all tests."""

import signal

import pytest
from hypothesis import settings

# A shell starts background jobs with Ctrl-C (SIGINT) ignored, and children inherit that. Some tests
# send Ctrl-C to programs, so it is restored here.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline for examples: a busy machine must not fail a test.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest tests first, without branch coverage: it would triple their time, and cover
    nothing new."""
    for item in items:
        if item.get_closest_marker("exhaustive"):
            item.add_marker("no_cover")
    items.sort(key=lambda item: item.get_closest_marker("exhaustive") is None)
