"""The flush shim: counts flushes and can make each take the same time. Compiled on the fly."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import msgspec

_SOURCE: Final = Path(__file__).with_name("flush_shim.c")


class Flushing(msgspec.Struct, frozen=True, kw_only=True):
    """The kind of flush in one measurement."""

    name: str
    environment: dict[str, str]


def compiled(folder: Path) -> Path | None:
    """Compile the shim into a folder; None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    library = folder / "flush_shim.so"
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", library, _SOURCE, "-ldl"]
    made = subprocess.run(command, capture_output=True, check=False)
    return library if made.returncode == 0 else None


def flushings(folder: Path, flush_ms: float) -> list[Flushing]:
    """The real disk, and with the shim a simulated flush of constant duration."""
    library = compiled(folder)
    if library is None:
        print("no cc on Linux here: flushes are neither counted nor made equal", file=sys.stderr)
        return [Flushing(name="this disk", environment={})]
    preload = {"LD_PRELOAD": str(library)}
    found = [Flushing(name="this disk", environment=preload)]
    if flush_ms > 0:
        equal = preload | {"BENCH_FLUSH_US": f"{flush_ms * 1000:.0f}"}
        found.append(Flushing(name=f"every flush {flush_ms:g} ms", environment=equal))
    return found
