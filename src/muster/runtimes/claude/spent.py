"""The usage of a piece of work while it goes on, message by message.

The program counts at the end of a piece of work, and that counts. Until then each message of the
model tells its tokens (`prices.py`).
"""

from muster.claude_plugin.prices import Counts, PricedMessages
from muster.machines.vocabulary import Usage
from muster.runtimes.claude.protocol.messages import AssistantMessage, ResultMessage


class SpentSoFar:
    """The usage of the present piece of work."""

    def __init__(self) -> None:
        """Begin before the first message."""
        self._priced = PricedMessages()
        self._models: dict[str, str] = {}
        self._streamed = ""
        """The id of the message that is being streamed."""

    @property
    def usage(self) -> Usage:
        """The usage of all its messages."""
        return self._priced.usage

    def said(self, message: AssistantMessage) -> bool:
        """Take a message, or a part of one; tell whether that changes the usage."""
        return self._priced.count(message.message_id, message.model, message.usage or {})

    def streamed(self, event: Counts) -> bool:
        """Take an event of the stream; its last one tells the output of a message."""
        match event:
            case {"type": "message_start", "message": {"id": str(number), "model": str(model)}}:
                self._streamed = number
                self._models[number] = model
            case {"type": "message_delta", "usage": {} as counts} if self._streamed:
                return self._priced.count(
                    self._streamed, self._models.get(self._streamed, ""), counts
                )
            case _:
                pass
        return False

    def result(self, message: ResultMessage) -> None:
        """A piece of work is done: begin the next one, and learn the prices."""
        self._priced.clear()
        self._models = {}
        self._priced.learn(message.model_usage or {})
