"""People who post to the nodes of a team while these fail, and what the log must have afterwards.

A post that was answered is in the log once, at the place that the answer names. A refused one is
not there. If the answer was lost, or says that the outcome is not known, the post is sent again
with its idempotency key, to any node, until it is answered.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from itertools import count, pairwise
from pathlib import Path
from typing import Final

from muster.client import AsyncClient, requests
from muster.client.requests import ApiRequest
from muster.engine.system import SystemClock
from muster.errors import (
    InDoubt,
    MusterError,
    Refused,
    StoreFailed,
    Unavailable,
)
from muster.machines.events import UserMessage
from muster.store.base import EventStore
from muster.views.answers import Recorded
from tests.builders import logged
from tests.waits import until_async

CHANNEL: Final = "stress"
PAUSE_SECONDS: Final = 0.2
ASTRAY: Final = timedelta(minutes=1)
"""Further apart are no two machines that ask the database for the time."""


class NodePosts:
    """Posts to several nodes, and their answers."""

    def __init__(self, clients: Sequence[AsyncClient], seed: int) -> None:
        self._clients = clients
        self._chance = random.Random(seed)  # nothing secret here
        self._numbers = count(1)
        self.answered: dict[str, int] = {}
        """The place in the log that each answer named."""

        self.refused: set[str] = set()
        self.errors: Counter[str] = Counter()

    @classmethod
    @asynccontextmanager
    async def to(cls, homes: Sequence[Path], seed: int) -> AsyncGenerator["NodePosts"]:
        """Post to the servers of these homes until the body ends, and then complete every post."""
        async with AsyncExitStack() as opened:
            clients = [AsyncClient(home=each, patience_s=0.0) for each in homes]
            for client in clients:
                await opened.enter_async_context(client)
            posts = cls(clients, seed)
            await posts._create_channel()
            stopping = asyncio.Event()
            async with asyncio.TaskGroup() as group:
                for client in clients:
                    group.create_task(posts._post_until(stopping, client))
                try:
                    yield posts
                finally:
                    stopping.set()

    async def _create_channel(self) -> None:
        async def is_there() -> bool:
            try:
                await self._clients[0].ask(requests.create_channel(CHANNEL))
            except Unavailable:  # it is still starting
                return False
            except Refused:
                pass
            return True

        await until_async(is_there)

    async def _post_until(self, stopping: asyncio.Event, client: AsyncClient) -> None:
        while not stopping.is_set():
            text = f"post {next(self._numbers)}"
            await self._post(client, text, requests.post(CHANNEL, text))
            await asyncio.sleep(PAUSE_SECONDS)

    async def _post(self, client: AsyncClient, text: str, request: ApiRequest[Recorded]) -> None:
        """Send one post; again, to any node, while its outcome is not known."""
        in_doubt = False
        while True:
            try:
                self.answered[text] = (await client.ask(request)).seq
                return
            except MusterError as error:
                self.errors[type(error).__name__] += 1
                # The store promises that nothing was written; a broken connection does not.
                in_doubt |= isinstance(error, InDoubt) or not isinstance(error, StoreFailed)
            if not in_doubt:
                self.refused.add(text)
                return
            await asyncio.sleep(PAUSE_SECONDS)
            client = self._chance.choice(self._clients)

    async def check(self, store: EventStore) -> str:
        """Compare the log with the answers; figures."""
        events = await logged(store)
        assert [each.seq for each in events] == list(range(1, len(events) + 1))
        late = [one.ts - two.ts for one, two in pairwise(events) if one.ts - two.ts > ASTRAY]
        assert not late, f"times of the log go back: {late}"
        assert abs(SystemClock().now() - events[-1].ts) < ASTRAY, "the log has the time of nobody"
        places: dict[str, list[int]] = {}
        for each in events:
            if isinstance(each.fact, UserMessage):
                places.setdefault(each.fact.text, []).append(each.seq)
        twice = {text: seqs for text, seqs in places.items() if len(seqs) > 1}
        assert not twice, f"in the log twice: {twice}"
        lost = {text: seq for text, seq in self.answered.items() if places.get(text) != [seq]}
        assert not lost, f"answered, and not at their places: {lost}"
        untrue = self.refused & set(places)
        assert not untrue, f"refused, and in the log all the same: {untrue}"
        return f"{len(self.answered)} posts answered, {len(self.refused)} refused, 0 lost, 0 twice"
