"""`muster doctor --verify`: the whole log, event by event."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from muster.cli.progress import ProgressLine
from muster.cli.render import count
from muster.cli.setup.checks.findings import Finding, Level
from muster.errors import LogRewritten, MusterError
from muster.store.chain import LogHead
from muster.store.opening import verify_home_log
from muster.store.verifying import Verified

SUBJECT = "whole log"


def verify_home(home: Path, heads: Sequence[LogHead]) -> Iterator[Finding]:
    """Verify the log of a home, and that it still has these heads."""
    try:
        with ProgressLine() as line:
            verified = verify_home_log(
                home,
                places=frozenset(head.seq for head in heads),
                progress=lambda done, of: line.show("verifying the log", done / max(of, 1)),
            )
    except MusterError as failed:
        yield Finding(Level.FIX, SUBJECT, str(failed))
        return
    for damage in verified.damages:
        remedy = "Restore a backup with `muster restore`, or keep reading what is left."
        yield Finding(Level.FIX, SUBJECT, f"{damage}. {remedy}")
    if not verified.damages:
        yield Finding(Level.OK, SUBJECT, _sound(verified))
    for head in heads:
        yield _compared(home, verified, head)


def _sound(verified: Verified) -> str:
    events = f"{count(verified.events, 'event')}, all as they were written"
    if verified.head is None:
        return f"{events}, without a hash chain yet: the next server begins it"
    since = f" from event {verified.unchained + 1} on" if verified.unchained else ""
    return f"{events}, hash chain unbroken{since}; head {verified.head}"


def _compared(home: Path, verified: Verified, head: LogHead) -> Finding:
    if verified.links.get(head.seq) == head.digest:
        return Finding(Level.OK, "head", f"the log contains {head}")
    return Finding(Level.FIX, "head", str(LogRewritten(path=str(home), head=str(head))))
