"""An agent of a soak that uses the Python client, as the guide shows it.

    python -m tests.stress.soak_client '{"name": "agent-7", "channels": ["channel-3"], ...}'

Its program is the loop of the guide, without a `try`: interruptions, turns that are taken away, and
removals must not end it. The journal has what the client was handed and what it posted.
"""

import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import TypeVar

from muster import Client
from muster.client import Turn
from muster.client.requests import ApiRequest
from muster.errors import Unauthenticated, Unavailable
from muster.views.answers import Recorded
from muster.views.answers.messages import Next
from tests.stress.soak_agent import Journal, Json, pause

T = TypeVar("T")


class JournalingClient(Client):
    """A client that writes to a journal what it posts and is handed, before it goes on."""

    def __init__(self, part: Json) -> None:
        super().__init__(token=part["token"], home=Path(part["home"]))
        self._journal = Journal(Path(part["journal"]))
        self._journal.write(life=part["life"])

    async def _ask(
        self,
        request: ApiRequest[T] | Callable[[], ApiRequest[T]],
        *,
        patience_s: float | None = None,
    ) -> T:
        key = None if callable(request) else _key_of_message(request)
        if key is not None:
            self._journal.write(trying=key)
        answer = await super()._ask(request, patience_s=patience_s)
        if key is not None and isinstance(answer, Recorded):
            self._journal.write(said=key, seq=answer.seq, repeated=answer.repeated)
        if isinstance(answer, Next) and answer.messages:
            new = [each.seq for each in answer.messages if not each.again]
            again = [each.seq for each in answer.messages if each.again]
            self._journal.write(channel=answer.channel, new=new, again=again)
        return answer


def _key_of_message(request: ApiRequest[T]) -> str | None:
    """The idempotency key of a request that posts a message."""
    return request.key if b'"message":' in request.content else None


def live(part: Json) -> None:
    """Take turns until the agent is retired, or killed."""
    chance, quiet = random.Random(part["seed"]), Path(part["quiet"])
    with JournalingClient(part) as client:
        wait_for_server(client, Path(part["retired"]))
        for turn in client.turns(part["name"], join=part["channels"]):
            take(turn, chance, quiet)


def wait_for_server(client: Client, retired: Path) -> None:
    """Begin when muster is up: an agent whose server was never there says so and ends."""
    while not retired.exists():
        try:
            client.agents()
            return
        except (Unavailable, Unauthenticated):  # the latter only while it is being retired
            pause(0.1)


def take(turn: Turn, chance: random.Random, quiet: Path) -> None:
    """Take one turn: in a moment, or slowly enough to be interrupted and watched."""
    deed = 0.0 if quiet.exists() else chance.random()
    if deed < 0.1:
        turn.pass_on()
        return
    pause(chance.random() * (0.5 if deed < 0.3 else 0.05))
    if deed < 0.4:
        turn.news()
    if deed < 0.6:
        turn.post("a thought")
    turn.complete("done")


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        pause(1.0)
    os._exit(1)


if __name__ == "__main__":
    Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    live(json.loads(sys.argv[1]))
