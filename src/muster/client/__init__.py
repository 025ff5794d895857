"""The Python client: `Client` for programs that wait, `AsyncClient` for those on an event loop.

    async with AsyncClient() as client:
        async for turn in client.turns("pm"):
            await turn.complete(f"I have read {len(turn.messages)} messages.")

Both find the server by the team's home and send the token of `MUSTER_TOKEN`, or the operator's. A
refusal is raised as the error of `muster.errors` that the server raised. A server that has answered
once and is gone is retried for up to `patience_s` seconds; every post has an idempotency key, so
that a retry does not post twice. `requests` has every request there is, for `client.ask`.

This room imports the answers of `views/` and the words of `machines/`, and no part of the server.
"""

from importlib import import_module

TYPE_CHECKING = False  # as type checkers read it; `typing` is not needed here

if TYPE_CHECKING:
    from muster.client import requests
    from muster.client.async_ import AsyncClient, AsyncTurn
    from muster.client.sync import Client, Turn

__all__ = ["AsyncClient", "AsyncTurn", "Client", "Turn", "requests"]

_MODULES = {
    "AsyncClient": "async_",
    "AsyncTurn": "async_",
    "Client": "sync",
    "Turn": "sync",
}


def __getattr__(name: str) -> object:
    """Load a client when it is first used: a program that waits needs no event loop."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
