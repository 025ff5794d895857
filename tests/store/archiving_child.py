"""Archives a log in processes that are killed at each of their steps, and looks at it after each.

It has one thread, so it can fork. Prints how many steps a run has, and how many runs were killed
before one came to its end.
"""

import os
import shutil
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from muster.machines.ids import ChannelId
from muster.store.archive import moving
from muster.store.archive.moving import archive_events
from muster.store.base import LogFilter, MessageSearch, Stored
from muster.store.reading import LogReader
from muster.store.verifying import verify_log

DESIGN = ChannelId("design")
UPTO = 25


def answers(log: Path) -> list[Sequence[Stored]]:
    """What readers see: pages of every kind, and searches."""
    found: list[Sequence[Stored]] = []
    where = LogFilter(types=frozenset({"agent_message"}), channel=DESIGN)
    with LogReader.open(log) as reader:
        end = reader.last_seq()
        for backwards in (False, True):
            for after, before in ((0, end + 1), (4, 27), (12, end), (end - 2, end + 1)):
                for limit, most in ((7, 1 << 40), (1000, 900), (1000, 1 << 40)):
                    read = partial(
                        reader.read,
                        after=after,
                        before=before,
                        limit=limit,
                        bytes_max=most,
                        backwards=backwards,
                    )
                    found += [read(), read(where=where)]
        for words in (("word3",), ("all",)):
            search = MessageSearch(words=words)
            found.append(reader.search(search, before=end + 1, limit=100).found)
    return found


def killed_at(step: int, log: Path) -> bool:
    """Archive in a process that is killed at one of its steps; whether there was such a step."""
    child = os.fork()
    if child == 0:
        left = step

        def count(name: str, share: float) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            archive_events(log, upto=UPTO, is_alone=True, progress=count)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def look(log: Path, before: list[Sequence[Stored]]) -> None:
    assert verify_log(log).damages == ()
    assert answers(log) == before


def main(log: Path) -> None:
    moving.FILE_EVENTS = 10
    before, steps, again = answers(log), 0, 0
    while True:  # each time a copy of the log that was never archived
        copy = log.parent / f"step-{steps}" / log.name
        copy.parent.mkdir()
        shutil.copy(log, copy)
        was_killed = killed_at(steps, copy)
        look(copy, before)
        if not was_killed:
            break
        assert not killed_at(1000, copy)  # the next run goes on
        look(copy, before)
        steps += 1
    while killed_at(4, log):  # one log, killed again and again after a file is complete
        again += 1
        look(log, before)
    look(log, before)
    print(steps, again)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
