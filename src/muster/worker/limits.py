"""The limits of a worker, which its owner and its own process share."""

import struct
from typing import Final

HEAD: Final = struct.Struct("!I")
"""The length of a call or a result, in front of it."""

READY: Final = b"\n"
"""The line that a worker writes when it waits for its first call."""

MEMORY_BYTES_MAX: Final = 1 << 30
"""The address space of a worker: forty times what rendering and judging need."""


class TimeIsUp(Exception):
    """A call did not end within its time limit, or takes more memory than there is for it."""
