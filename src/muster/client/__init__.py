"""The Python client: `Client` for programs that wait, `AsyncClient` for those on an event loop.

    async with AsyncClient() as client:
        async for turn in client.turns("pm"):
            await turn.complete(f"I have read {len(turn.messages)} messages.")

Both find the server by the team's home and show it the token of `MUSTER_TOKEN`, or the operator's.
What the server refuses is raised as the error of `muster.errors` that it is. A server that has
answered once and is gone is waited for, up to `patience_s` seconds: every post has a key, so that
asking again does not say it twice. `requests` has everything there is to ask, for `client.ask`.
"""

from muster.client import requests
from muster.client.async_ import AsyncClient, AsyncTurn
from muster.client.sync import Client, Turn

__all__ = ["AsyncClient", "AsyncTurn", "Client", "Turn", "requests"]
