"""Tries the tests that failed once more, alone, one after the other.

    python -m tests.again FILE      FILE has the names of tests, a line each

It passes if all of them pass now, and the coverage of the first try was complete. There must be
few: a change that breaks something breaks more.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

FEW: Final = 5


def main(file: Path) -> int:
    """The exit code of the second try, or 1 if there is none."""
    names = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    if not 0 < len(names) <= FEW:
        print(f"{len(names)} tests failed: no second try")
        return 1
    code = _run("pytest", "-q", *names) or _run("coverage", "report", "--fail-under=100")
    passed = "passed alone; look for the race" if code == 0 else "failed again"
    print("\n".join([f"failed beside other tests, {passed}:", *names]))
    return code


def _run(*command: str) -> int:
    return subprocess.run([sys.executable, "-m", *command], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
