"""The bound of a message, for what sessions of every runtime say."""

from msgspec.structs import replace

from muster.engine.ports import AgentText, Result, SessionReport, TurnDone
from muster.limits import MESSAGE_BYTES_MAX


def fitted(report: SessionReport) -> SessionReport:
    """A report with its text as far as a message goes; `cut` says that there was more."""
    if not isinstance(report, AgentText | TurnDone | Result):
        return report
    said = report.text or ""
    if len(said) * 4 <= MESSAGE_BYTES_MAX:  # a character has at most four bytes
        return report
    text = said.encode("utf-8", "replace")
    if len(text) <= MESSAGE_BYTES_MAX:
        return report
    return replace(report, text=text[:MESSAGE_BYTES_MAX].decode("utf-8", "ignore"), cut=True)
