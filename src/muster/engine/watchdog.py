"""The watchdog of the event loop: reports a step that does not yield, with its place.

A loop that spins without awaiting anything makes the whole server deaf, and the event loop itself
cannot report that. A thread looks whether the loop still takes steps; when one step holds it for
too long, the stack of the loop's thread goes to muster's log as an error, once for each stall. The
CPU time tells a step that spins from one that waits for a busy machine: of that, one line tells.

Long before a second, others wait. So each step that works for more than 100 ms is a warning with
its place: another thread looks at the loop when it has been busy for so long, and sleeps while it
is idle. A step that is over before the thread could look is reported without its place.
"""

import asyncio
import logging
import selectors
import sys
import threading
import time
import traceback
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import Final

from muster.durations import Durations
from muster.limits import LOOP_STALL_SECONDS, SLOW_STEP_SECONDS

log = logging.getLogger(__name__)

WORK_SHARE: Final = 0.1
"""The share of a stall that its step must have worked for: a loop that got less CPU time was held
up by the machine, and its stack tells nothing."""

REPORT_SECONDS: Final = 60.0
"""How often one place is reported."""

PLACES_MAX: Final = 256

UNSEEN: Final = "a place that was not seen"

Ready = Sequence[tuple[selectors.SelectorKey, int]]

BEATS: Final = 4
"""How often the loop reports in the time that a step may take."""


@asynccontextmanager
async def watch_loop(stall_s: float = LOOP_STALL_SECONDS) -> AsyncGenerator[Durations]:
    """Watch the running event loop while this is entered; its lags are counted meanwhile."""
    watchdog = LoopWatchdog(asyncio.get_running_loop(), stall_s)
    watchdog.start()
    try:
        yield watchdog.lags
    finally:
        watchdog.stop()


class LoopWatchdog:
    """Watches one event loop from a thread of its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop, stall_s: float) -> None:
        """Watch this loop, which runs in the calling thread."""
        self._loop = loop
        self._stall_s = stall_s
        self._watched = threading.get_ident()
        self._cpu = time.pthread_getcpuclockid(self._watched)
        self.lags = Durations()
        """How late the loop took the steps that were due."""

        self._beat_at = time.monotonic()
        self._beat_cpu = time.clock_gettime(self._cpu)
        self._timer: asyncio.TimerHandle | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="muster-watchdog", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._beat_in_time()
        self._thread.start()

    def stop(self) -> None:
        """End the thread. The loop must still run."""
        if self._timer is not None:
            self._timer.cancel()
        self._ended.set()
        self._thread.join()

    def _beat(self) -> None:
        """Note in the loop that it takes steps, and how late this one is."""
        due = self._beat_at + self._stall_s / BEATS
        self._beat_in_time()
        self.lags.add(max(self._beat_at - due, 0.0))

    def _beat_in_time(self) -> None:
        self._beat_at, self._beat_cpu = time.monotonic(), time.clock_gettime(self._cpu)
        self._timer = self._loop.call_later(self._stall_s / BEATS, self._beat)

    def _watch(self) -> None:
        reported = 0.0  # the beat after which a stall was reported
        while not self._ended.wait(self._stall_s / BEATS):
            beat = self._beat_at
            held = time.monotonic() - beat
            if held >= self._stall_s and beat != reported:
                reported = beat
                self._report(held, time.clock_gettime(self._cpu) - self._beat_cpu)

    def _report(self, held: float, cpu: float) -> None:
        extra = {"action": "loop_stalled", "seconds": held, "cpu_seconds": cpu}
        frame = sys._current_frames().get(self._watched)  # pyright: ignore[reportPrivateUsage]
        if cpu < held * WORK_SHARE:
            text = "muster had almost no CPU time for %.1f s (%s): the machine or its disk is busy"
            log.warning(text, held, place_of(frame), extra=extra)
            return
        log.error(
            "a step has held the event loop for %.1f s (%.1f s of CPU) at %s\n%s",
            held,
            cpu,
            place_of(frame),
            "".join(traceback.format_stack(frame)),
            extra=extra,
        )


def place_of(frame: FrameType | None) -> str:
    """The innermost line of muster in a stack; without one, the innermost line."""
    found = frame
    while found is not None and not _is_muster(found):
        found = found.f_back
    found = found or frame
    if found is None:
        return "an unknown place"
    code = found.f_code
    return f"{code.co_filename}:{found.f_lineno} in {code.co_qualname}"


def _is_muster(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] == "muster" and module != __name__


# ── slow steps ────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def slow_steps_reported(limit_s: float = SLOW_STEP_SECONDS) -> Generator["SlowSteps"]:
    """Report slow steps of the running event loop while this is entered."""
    steps = SlowSteps(asyncio.get_running_loop(), limit_s)
    steps.start()
    try:
        yield steps
    finally:
        steps.stop()


class SlowSteps:
    """Times the steps of one event loop: from one wait for events to the next."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit_s: float) -> None:
        """Watch this loop, which runs in the calling thread."""
        self._limit_s = limit_s
        # asyncio has no public hook between two steps; without this one nothing is timed.
        self._selector: selectors.BaseSelector | None = getattr(loop, "_selector", None)
        self._watched = threading.get_ident()
        self._cpu = time.pthread_getcpuclockid(self._watched)
        self._began: float | None = None
        """When the step began that runs now; none while the loop waits."""

        self._began_cpu = 0.0
        self._place = ""
        """Where the thread saw the step that runs now."""

        self._sleeping = True
        self._busy = threading.Event()
        self._ended = threading.Event()
        self._reported: dict[str, float] = {}
        self._thread = threading.Thread(target=self._watch, name="muster-steps", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        if self._selector is not None:
            self._select = self._selector.select
            self._selector.select = self._timed_select  # pyright: ignore[reportAttributeAccessIssue]
            self._thread.start()

    def stop(self) -> None:
        """End the thread, and leave the loop as it was."""
        if self._selector is not None:
            del self._selector.select
            self._ended.set()
            self._busy.set()
            self._thread.join()

    def _timed_select(self, timeout: float | None = None) -> Ready:
        self._step_ended()
        ready = self._select(timeout)
        self._began_cpu = time.clock_gettime(self._cpu)
        self._began = time.monotonic()
        if self._sleeping:
            self._sleeping = False
            self._busy.set()
        return ready

    def _step_ended(self) -> None:
        began, self._began = self._began, None
        if began is not None and (held := time.monotonic() - began) >= self._limit_s:
            self.note(self._place or UNSEEN, held, time.clock_gettime(self._cpu) - self._began_cpu)
        self._place = ""

    def _watch(self) -> None:
        while True:
            self._busy.wait()
            if self._ended.is_set():
                return
            began = self._began
            if began is None:  # nothing was to do since the last look: sleep until there is
                self._busy.clear()
                self._sleeping = True
                continue
            left = began + self._limit_s - time.monotonic()
            if left > 0:
                self._ended.wait(left)
            elif not self._place:
                frame = sys._current_frames().get(self._watched)  # pyright: ignore[reportPrivateUsage]
                self._place = place_of(frame) if self._began == began else ""
            else:
                self._ended.wait(self._limit_s)

    @property
    def is_asleep(self) -> bool:
        """Whether the thread sleeps until the loop has something to do."""
        return self._sleeping

    def note(self, place: str, held: float, cpu: float) -> None:
        """Report a step, unless its place was reported lately, or the machine held it up."""
        if cpu < max(held * WORK_SHARE, self._limit_s / 2):
            return
        now = time.monotonic()
        if now - self._reported.get(place, -REPORT_SECONDS) < REPORT_SECONDS:
            return
        if len(self._reported) >= PLACES_MAX:
            self._reported.clear()
        self._reported[place] = now
        extra = {"action": "loop_slow_step", "seconds": held, "cpu_seconds": cpu, "place": place}
        text = "a step has held the event loop for %.2f s (%.2f s of CPU) at %s"
        log.warning(text, held, cpu, place, extra=extra)
