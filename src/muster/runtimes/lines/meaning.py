"""Turns the JSON lines of one program into reports, where a line alone does not say all. Pure.

A program is not trusted: it may end calls that never began, begin more than it ends, and repeat its
ids. What is remembered of it is bounded.
"""

from muster.engine.ports import BadLine, SessionActivity, SessionReport
from muster.limits import OPEN_CALLS_MAX
from muster.machines.vocabulary import Activity
from muster.runtimes.excerpts import compact, excerpt
from muster.runtimes.lines.types import (
    LINES_VERSION,
    HelloLine,
    InternalReport,
    ToolCallLine,
    ToolResultLine,
)


class LeftOut(InternalReport, frozen=True, kw_only=True):
    """A line that is not told, because the program prints more than the log should have."""


class LineMeaning:
    """Knows the tool calls that a program has open."""

    __slots__ = ("_calls", "hasty")

    def __init__(self) -> None:
        """Begin with no open call."""
        self._calls: dict[str, str] = {}
        self.hasty = False
        """Whether the program is over its budget of output: then its tool calls are left out."""

    def of(self, said: SessionReport) -> SessionReport:
        """The report that a line stands for."""
        match said:
            case ToolCallLine():
                return self._call(said)
            case ToolResultLine():
                return self._result(said)
            case HelloLine(version=version) if version != LINES_VERSION:
                reason = f"muster reads version {LINES_VERSION} of the lines"
                return BadLine(line=f"hello, version {version}", reason=reason)
            case _:
                return said

    def _call(self, line: ToolCallLine) -> SessionReport:
        if self.hasty:
            return LeftOut()
        if line.id not in self._calls and len(self._calls) >= OPEN_CALLS_MAX:
            return BadLine(line=f"tool_call {line.id}", reason=_TOO_MANY)
        self._calls[line.id] = line.name
        given = line.input if isinstance(line.input, str) else compact(line.input)
        text = "" if line.input is None else excerpt(given)
        return SessionActivity(kind=Activity.TOOL_CALL, name=line.name, text=text, ref=line.id)

    def _result(self, line: ToolResultLine) -> SessionReport:
        name = self._calls.pop(line.id, None)
        if name is None and self.hasty:
            return LeftOut()
        if name is None:
            return BadLine(line=f"tool_result {line.id}", reason="no tool call of this id is open")
        kind = Activity.TOOL_DONE if line.ok else Activity.TOOL_FAILED
        return SessionActivity(kind=kind, name=name, text=excerpt(line.text), ref=line.id)


_TOO_MANY = f"{OPEN_CALLS_MAX} tool calls are open; end some with tool_result"
