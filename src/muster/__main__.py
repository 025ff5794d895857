"""The entry point: `muster`, and `python -m muster`."""

import gc
import os
import sys
from io import TextIOWrapper
from typing import Final, NoReturn

GC_THRESHOLD: Final = 50_000
"""Records make no cycles: looking for some every 700 objects would take a tenth of a quick verb."""


def main() -> NoReturn:
    """Run the command line and end the process with its exit code.

    The process ends at once: a verb has closed what it opened, and taking the interpreter apart
    would cost a quick verb a tenth of its time.
    """
    gc.set_threshold(GC_THRESHOLD)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals that lack a letter
    from muster.cli.main import run  # after the line about collecting

    code = run(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
