"""The child's side of a contestant: executes steps of a task on request, and reports the cost.

    asked:     muster-16 480
    answered:  {"seconds": 0.21, "cpu_s": 0.02, "flushes": 33}

Standard library only, so that scripts in the environments of other frameworks can use it.
"""

import asyncio
import ctypes
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping

Task = Callable[[int], Awaitable[None]]


async def serve(tasks: Mapping[str, Task], **about: object) -> None:
    """Print the greeting, and answer requests until stdin closes."""
    _say({"tasks": list(tasks), **about})
    while question := await asyncio.to_thread(sys.stdin.readline):
        name, count = question.split()
        _say(await _cost(tasks[name], int(count)))


async def _cost(task: Task, count: int) -> dict[str, object]:
    flushes, cpu, begin = _flushes(), time.process_time(), time.perf_counter()
    await task(count)
    return {
        "seconds": time.perf_counter() - begin,
        "cpu_s": time.process_time() - cpu,
        "flushes": _flushes() - flushes,
    }


def _flushes() -> int:
    """The flushes that the shim has counted; 0 if it is not loaded."""
    count = getattr(ctypes.CDLL(None), "bench_flushes", None)
    if count is None:
        return 0
    count.restype = ctypes.c_long
    return int(count())


def _say(answer: Mapping[str, object]) -> None:
    print(json.dumps(answer), flush=True)
