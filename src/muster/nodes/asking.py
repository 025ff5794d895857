"""Asks other nodes for what is on their disks, and answers them; all of it through the store.

A node behind a router can be asked, since it looks for requests by itself. An answer is bounded,
and so is the wait for it. The interface that answers says what a request is.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from muster.engine.dispatcher import Dispatcher
from muster.errors import NodeAnswerTooLarge, OnOtherNode, StoreFailed
from muster.machines.ids import NodeId
from muster.store.base import NodeRequest, NodeRequests

ANSWER_BYTES_MAX: Final = 12 * 1024 * 1024
"""The largest attached file, or a picture in base64; the database carries it twice."""

ANSWER_SECONDS: Final = 15.0
"""A comparison of git may take some seconds, and the node may have to notice the request first."""

PAUSE_SECONDS: Final = 1.0

Answerer = Callable[[bytes], Awaitable[bytes]]

log = logging.getLogger(__name__)


class NodeDesk:
    """Requests from this node to others, and from others to this node."""

    def __init__(self, dispatcher: Dispatcher, requests: NodeRequests | None) -> None:
        """Without `requests` this machine is the only one."""
        self._dispatcher = dispatcher
        self._requests = requests
        self._answerer: Answerer | None = None
        self._can_answer = asyncio.Event()

    def answer_with(self, answerer: Answerer) -> None:
        """Answer requests of other nodes from now on."""
        self._answerer = answerer
        self._can_answer.set()

    def is_other(self, node: NodeId | None) -> bool:
        """Whether a node is another one than this."""
        return self._requests is not None and node not in (None, self._dispatcher.node)

    @property
    def others(self) -> list[NodeId]:
        """The other nodes that are here."""
        nodes = self._dispatcher.team.nodes.values()
        return [node.name for node in nodes if node.away is None and self.is_other(node.name)]

    async def ask(self, node: NodeId, content: bytes) -> bytes:
        """The answer of another node. Raises an error that names the node, if there is none."""
        found = self._dispatcher.team.nodes.get(node)
        if found is None:
            raise OnOtherNode(node=node, why="does not run muster now")
        if found.away is not None:
            raise OnOtherNode(node=node, why=f"is away since {found.away:%Y-%m-%d %H:%M} UTC")
        assert self._requests is not None
        answer = await self._requests.ask(node, content, within=ANSWER_SECONDS)
        if answer is None:
            why = f"has not answered within {ANSWER_SECONDS:g} s"
            raise OnOtherNode(node=node, why=why)
        return answer

    def check_size(self, size: int) -> None:
        """Refuse an answer that is too large for the way through the store."""
        if size > ANSWER_BYTES_MAX:
            node = self._dispatcher.node
            raise NodeAnswerTooLarge(node=node, size=size, most=ANSWER_BYTES_MAX)

    async def run(self) -> None:
        """Answer the requests of other nodes until cancelled."""
        if self._requests is None:
            return
        await self._can_answer.wait()
        while True:
            try:
                asked = await self._requests.next(self._dispatcher.node)
            except StoreFailed:  # while the database is away
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            async with asyncio.TaskGroup() as tasks:
                for each in asked:
                    tasks.create_task(self._answer(self._requests, each))

    async def _answer(self, requests: NodeRequests, asked: NodeRequest) -> None:
        assert self._answerer is not None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await requests.answer(asked.number, await self._answerer(asked.content))
        except (StoreFailed, TimeoutError) as error:  # the other node says that there is no answer
            log.warning("a request is not answered: %s", error, extra={"action": "node_request"})
