"""The entry point: `muster`, and `python -m muster`."""

import gc
import os
import sys
from io import TextIOWrapper
from typing import Final, NoReturn

GC_THRESHOLD: Final = 50_000
"""Records form no cycles: collecting every 700 objects would take a tenth of a fast verb's time."""


def main() -> NoReturn:
    """Run the command line and end the process with its exit code.

    The process skips the interpreter's shutdown: a verb has closed everything it opened, and the
    shutdown would take a tenth of a fast verb's time.
    """
    gc.set_threshold(GC_THRESHOLD)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals without that character
    from muster.cli.main import run  # after the GC threshold is set

    code = run(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
