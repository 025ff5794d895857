"""The development set: a team of agents, and requests with their right answers."""

from functools import cache

from bench.routing import DATA, Asked, read_set
from muster.routing.agent_files import AgentFile, read_folders
from muster.routing.router import Router

__all__ = ["DATA", "asked", "router", "team"]


@cache
def team() -> tuple[AgentFile, ...]:
    return read_folders([DATA / "agents"]).agents


@cache
def router(*, bodies: bool = True) -> Router:
    return Router(team(), bodies=bodies)


@cache
def asked() -> tuple[Asked, ...]:
    return tuple(read_set(DATA / "queries.jsonl"))
