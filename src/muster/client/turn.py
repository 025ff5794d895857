"""A turn as an agent has it in hand: what was said, and what can be done with it."""

from collections.abc import Mapping, Sequence

from muster.client.request import Ask, a_path
from muster.inbox.inbox import Next
from muster.views.channels import MessageView


def next_ask(name: str, wait_s: float, known: Mapping[str, int]) -> Ask[Next]:
    """What an agent is to do now; the answer may take `wait_s` seconds."""
    turns = ",".join(f"{channel}:{epoch}" for channel, epoch in known.items())
    return Ask(
        method="GET",
        path=a_path("agents", name, "next"),
        answer=Next,
        query={"wait": wait_s, "known": turns or None},
        waits_s=wait_s,
    )


class Told:
    """What an agent was told about a turn that is its own now."""

    def __init__(self, told: Next, heard: Sequence[MessageView]) -> None:
        """Take what was told; `heard` was said to the agent since its last turn."""
        assert told.channel is not None  # there is no turn without a channel
        assert told.epoch is not None
        self.agent = told.agent
        self.channel: str = told.channel
        self.epoch = told.epoch
        self.timeout_at = told.timeout_at
        """When it is taken away, unless there is a sign of work; a client gives one by itself."""

        self.messages = (*heard, *told.messages)
        """What the agent has not seen yet: of this channel, and to itself alone."""

        self.over = False
        """Whether the agent has ended it."""
