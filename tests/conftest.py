"""What holds for all tests."""

import signal

# Whoever starts the tests in the background has them ignore Ctrl-C, and so would every program that
# they start: an ignored signal stays ignored. Some of them are tested by Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
