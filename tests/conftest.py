"""What holds for all tests."""

import signal

import pytest
from hypothesis import settings

# Whoever starts the tests in the background has them ignore Ctrl-C, and so would every program that
# they start: an ignored signal stays ignored. Some of them are tested by Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# An example is right or wrong, however busy the machine is that tries it.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, and watch no branches in it: that would take it three times as
    long, and show nothing new."""
    for item in items:
        if item.get_closest_marker("exhaustive"):
            item.add_marker("no_cover")
    items.sort(key=lambda item: item.get_closest_marker("exhaustive") is None)
