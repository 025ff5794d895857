"""The output of sessions: which pieces a reader asks for."""

from datetime import datetime
from typing import Final

import msgspec

from muster.views.answers.agents import OutputView

OUTPUT: Final = "agent_output"
"""The type of the events that have it."""

_DECODER: Final = msgspec.json.Decoder(OutputView)


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
