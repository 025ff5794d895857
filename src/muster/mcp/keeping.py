"""Heartbeats for an agent that works on a turn behind `muster mcp`.

A model says nothing for minutes while it works, and would count as gone. The process of `muster
mcp` ends with the program that started it, so while it lives and the agent has a turn, it reports
for the agent.
"""

import asyncio
from contextlib import suppress
from typing import Final, TypeVar

from muster.client import requests
from muster.client.requests import ApiRequest
from muster.errors import MusterError, Unavailable
from muster.machines.vocabulary import Authority, TurnState
from muster.mcp.calls import Asking
from muster.views.answers.agents import AgentView
from muster.views.answers.messages import Do, Next

T = TypeVar("T")

RETRY_SECONDS: Final = 1.0
"""The pause before a server that is away is asked again."""

HELD: Final = frozenset({TurnState.ACTIVE, TurnState.WAITING})


class TurnKeeper:
    """Makes the requests of an agent, and sends heartbeats while the agent has a turn."""

    def __init__(self, ask: Asking) -> None:
        """Make requests with this function."""
        self._ask = ask
        self._name: str | None = None
        self._has_turn = asyncio.Event()

    async def ask(self, request: ApiRequest[T], /) -> T:
        """Make a request; one that hands a turn out begins the heartbeats."""
        answer = await self._ask(request)
        if isinstance(answer, Next):
            self._name = answer.agent
            if answer.do is Do.TURN:
                self._has_turn.set()
        return answer

    async def run(self) -> None:
        """Send heartbeats, until cancelled."""
        while True:
            await self._has_turn.wait()
            try:
                heard = await self._ask(requests.heartbeat(self._name or "", working=True))
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)
            except MusterError:  # it is gone: disconnected, disabled or retired
                self._has_turn.clear()
            else:
                if _has_turn(heard.agent):
                    await asyncio.sleep(heard.heartbeat_seconds)
                else:
                    self._has_turn.clear()

    async def leave(self) -> None:
        """Disconnect an agent that connected by itself: its program ends."""
        if self._name is None:
            return
        with suppress(MusterError):
            agent = await self._ask(requests.agent(self._name))
            if agent.authority is Authority.SELF:
                await self._ask(requests.disconnect(self._name, "its program has ended"))


def _has_turn(agent: AgentView) -> bool:
    return any(state in HELD for state in agent.channels.values())
