"""The worker's own process: calls functions that its owner sends, within their time limits.

    python -P -m muster.worker.child

It reads calls from stdin and writes results to stdout, each as a pickle behind its length. A call
has a limit of CPU time: when it is over, an exception is raised in the middle of it. What takes
none, such as waiting for a file, or does not notice it is killed by the owner. The end of stdin
ends the process. It imports a function's module when it is first called.
"""

import pickle
import resource
import signal
import struct
import sys
from collections.abc import Callable
from types import FrameType
from typing import BinaryIO, Final

from muster.worker.limits import HEAD, MEMORY_BYTES_MAX, READY, TimeIsUp

_NO_MORE: Final = b""


class _Interrupt(BaseException):
    """The time is up. No `Exception`: a function that handles those would go on without limit."""


def _time_is_up(_signal: int, _frame: FrameType | None) -> None:
    raise _Interrupt


def _answer(call: bytes) -> tuple[bool, object]:
    """Whether a call has returned, and its result or its exception."""
    function: Callable[[], object]
    function, seconds = pickle.loads(call)
    try:
        try:
            signal.setitimer(signal.ITIMER_PROF, seconds)
            return True, function()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except (_Interrupt, MemoryError):
        return False, TimeIsUp()
    except Exception as error:
        return False, error


def serve(calls: BinaryIO, results: BinaryIO) -> None:
    """Answer calls until there are no more."""
    results.write(READY)
    results.flush()
    while (head := calls.read(HEAD.size)) != _NO_MORE:
        [size] = HEAD.unpack(head)
        result = pickle.dumps(_answer(calls.read(size)))
        results.write(HEAD.pack(len(result)) + result)
        results.flush()


def main() -> None:
    """Serve stdin and stdout, with bounded memory. A terminal's Ctrl-C is the owner's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, _time_is_up)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except (BrokenPipeError, struct.error):
        return  # the owner has gone in the middle of a call


if __name__ == "__main__":
    main()
