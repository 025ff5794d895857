"""What holds for all tests."""

import signal

from hypothesis import settings

# Whoever starts the tests in the background has them ignore Ctrl-C, and so would every program that
# they start: an ignored signal stays ignored. Some of them are tested by Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# An example is right or wrong, however busy the machine is that tries it.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
