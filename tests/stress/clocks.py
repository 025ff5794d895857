"""A server whose wall clock is hours away from that of the other machines."""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

_SOURCE: Final = Path(__file__).with_name("clock_shim.c")


def compiled_shim(folder: Path) -> Path:
    """Compile the library that moves the clock of a process."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("NOT TRIED: no C compiler here, so no clock can be moved")
    library = folder / "clock_shim.so"
    line = [compiler, "-O2", "-shared", "-fPIC", "-o", library, _SOURCE, "-ldl"]
    subprocess.run(line, check=True)
    return library


class ShiftedProcess(subprocess.Popen[bytes]):
    """The installed script with another wall clock. A fork could not have one of its own."""

    def __init__(
        self, line: Sequence[str], env: Mapping[str, str], cwd: Path, shim: Path, shift_s: int
    ) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        moved = {"LD_PRELOAD": str(shim), "CLOCK_SHIFT_SECONDS": str(shift_s)}
        super().__init__(
            line,
            env={**env, **moved},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
        )

    def errors(self) -> str:
        """Standard error so far."""
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "replace")

    def close(self) -> None:
        """Kill the process if it is still there."""
        self.kill()
        self.wait()
        self._errors.close()
