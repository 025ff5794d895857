"""The output of sessions and their tool calls: which pieces a reader asks for."""

from datetime import datetime
from typing import Final

import msgspec

from muster.machines.ids import SessionId
from muster.machines.vocabulary import Activity
from muster.views.answers import View
from muster.views.answers.agents import OutputView

OUTPUT: Final = "agent_output"
"""The type of the events that have it."""

ACTIVITY: Final = "agent_activity"
"""The type of the events about tools, helpers and the model of a session."""

WORK: Final = "work"
"""The stream of the lines about those."""

_DECODER: Final = msgspec.json.Decoder(OutputView)


class _Activity(View, frozen=True, kw_only=True):
    """The fields of an activity that are shown."""

    seq: int
    ts: datetime
    session: SessionId
    kind: Activity
    name: str
    text: str = ""
    by: str = ""


_ACTIVITIES: Final = msgspec.json.Decoder(_Activity)
_SAID: Final = {
    Activity.TOOL_CALL: "{name}",
    Activity.TOOL_DONE: "{name} done",
    Activity.TOOL_FAILED: "{name} failed",
    Activity.HELPER_STARTED: "{name} started",
    Activity.HELPER_DONE: "{name} ended",
    Activity.SILENT: "{name} is silent",
    Activity.ASKED_AGAIN: "{name} asked again",
    Activity.COMPACTED: "{name} compacted its context",
}


class OutputFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter on pieces of output; an empty one passes all."""

    since: datetime | None = None
    session: str | None = None
    stream: str | None = None

    def wants(self, piece: OutputView) -> bool:
        """Whether a piece passes."""
        return (
            (self.since is None or piece.ts >= self.since)
            and (self.session is None or piece.session == self.session)
            and (self.stream is None or piece.stream == self.stream)
        )


def view_output(data: bytes) -> OutputView:
    """An event of output, as it is shown."""
    return _DECODER.decode(data)


def view_work(data: bytes) -> OutputView:
    """An event of activity as a line among the output, as it stands in the output file."""
    found = _ACTIVITIES.decode(data)
    by = f"{found.by}: " if found.by else ""
    text = f"[{by}{_SAID[found.kind].format(name=found.name)}] {found.text}".rstrip()
    return OutputView(seq=found.seq, ts=found.ts, session=found.session, stream=WORK, text=text)
