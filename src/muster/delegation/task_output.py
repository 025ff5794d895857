"""The output of an agent that works on a task: what it printed, reported, and was refused."""

from typing import Final, NamedTuple

from muster.delegation.markers import handoffs
from muster.engine import ports
from muster.limits import MESSAGE_BYTES_MAX

SAID_CHARS_MAX: Final = MESSAGE_BYTES_MAX // 8
"""How much of a program's output is kept in a dialogue; the end is cut off."""

REPORT_CHARS_MAX: Final = 4000


class RefusedCall(NamedTuple):
    """A tool call of an agent that was not allowed."""

    detail: str
    is_write: bool


class TaskOutput:
    """The output of a program that works on a task."""

    def __init__(self) -> None:
        """Begin without output."""
        self.out: list[str] = []
        self.err: list[str] = []
        self.result: ports.Result | None = None
        self.called: tuple[str, str] | None = None
        self.refused: list[RefusedCall] = []

    @property
    def printed(self) -> str:
        """The text on standard output, up to a limit."""
        return "\n".join(self.out)[:SAID_CHARS_MAX]

    @property
    def stderr_text(self) -> str:
        """The text on standard error, up to a limit."""
        return "\n".join(self.err)[:SAID_CHARS_MAX]

    @property
    def report(self) -> str:
        """The report on the task: the program's result, or else its standard output."""
        told = self.result.text if self.result is not None else ""
        markers = {index for index, _ in handoffs(self.printed)}
        lines = self.printed.split("\n")
        rest = "\n".join(line for index, line in enumerate(lines) if index not in markers)
        return (told or rest).strip()[-REPORT_CHARS_MAX:]

    @property
    def refused_write(self) -> str:
        """The last write that was refused; empty if none was."""
        return next((call.detail for call in reversed(self.refused) if call.is_write), "")

    @property
    def handed(self) -> tuple[str, str] | None:
        """The agent to hand over to, and the reason: from the tool, or from the last marker."""
        if self.called is not None:
            return self.called
        found = [marker for _, marker in handoffs(self.printed)]
        return (found[-1][1].strip(), found[-1][2].strip()) if found else None
