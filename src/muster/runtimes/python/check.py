"""Imports the coroutine of an agent in a process of its own, and says whether it could run.

python -m muster.runtimes.python.check package.module:function FOLDER
"""

import sys
from pathlib import Path

from muster.runtimes.python.thread import found


def main() -> int:
    """Exit with 1 and the reason where the coroutine cannot be imported."""
    try:
        found(sys.argv[1], Path(sys.argv[2]))
    except BaseException as error:  # a module can raise anything, `SystemExit` included
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
