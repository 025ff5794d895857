# pyright: basic, reportMissingImports=false
# AutoGen is installed beside muster, never with it: there are no types to check against.
"""AutoGen's RoundRobinGroupChat in memory: trivial agents that say one sentence per turn."""

import asyncio
from collections.abc import Sequence
from typing import Final

from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken

from bench.children.serving import Task, serve

_AGENTS: Final = 3
_TURNS_PER_RUN: Final = 50
"""Turns per run; the fixed cost of a run is spread over them."""

_TEXT: Final = "please look at the failing build first"


class Speaker(BaseChatAgent):
    """An agent that always says the same, at once."""

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """The types of messages that the agent produces."""
        return (TextMessage,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        """Take a turn."""
        return Response(chat_message=TextMessage(content=_TEXT, source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Do nothing: there is no state to reset."""


async def talk(turns: int) -> None:
    """Run one group chat of that many turns."""
    speakers = [Speaker(f"agent_{number}", "speaks") for number in range(_AGENTS)]
    chat = RoundRobinGroupChat(list(speakers), max_turns=turns)
    result = await chat.run(task="begin")
    assert len(result.messages) == turns + 1


def task(side_by_side: int) -> Task:
    """A task of turns in several concurrent group chats."""

    async def run(steps: int) -> None:
        shares = iter([_TURNS_PER_RUN] * (steps // _TURNS_PER_RUN))

        async def go_on() -> None:
            for share in shares:
                await talk(share)

        async with asyncio.TaskGroup() as group:
            for _ in range(side_by_side):
                group.create_task(go_on())

    return run


if __name__ == "__main__":
    asyncio.run(serve({f"autogen-{each}": task(each) for each in (1, 10)}))
