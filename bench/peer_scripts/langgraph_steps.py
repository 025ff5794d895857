# pyright: basic, reportMissingImports=false
# langgraph is installed beside muster, never with it: there are no types to check against.
"""langgraph with its SQLite or PostgreSQL checkpointer: a graph of one node, saved before each next
step."""

import asyncio
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Final, TypedDict

from langgraph.graph import END, START, StateGraph

from bench.children.serving import Task, serve

_STEPS_PER_INVOKE: Final = 25
"""Steps per invocation; the fixed cost of an invocation is spread over them."""


class Talk(TypedDict):
    """The state of the graph."""

    left: int
    text: str


def speak(talk: Talk) -> Talk:
    """The step."""
    return {"left": talk["left"] - 1, "text": "please look at the failing build first"}


def then(talk: Talk) -> str:
    """Continue while there are steps left."""
    return "speak" if talk["left"] > 0 else END


def on_sqlite(folder: Path):  # noqa: ANN201 - its type is langgraph's
    """Its checkpointer in a file: WAL and synchronous=FULL, as the package sets them."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    path = folder / "langgraph.db"
    return SqliteSaver(sqlite3.connect(path, check_same_thread=False))


def on_postgres(url: str):  # noqa: ANN201 - its type is langgraph's
    """Its checkpointer in a database, with a connection for each thread."""
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.rows import dict_row
    from psycopg_pool import ConnectionPool

    kwargs = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    return PostgresSaver(ConnectionPool(url, min_size=16, max_size=16, kwargs=kwargs, open=True))


def compiled(place: str):  # noqa: ANN201 - its type is langgraph's
    """The graph with its checkpointer, in the database of an address or in a folder."""
    is_database = place.startswith("postgresql:")
    saver = on_postgres(place) if is_database else on_sqlite(Path(place))
    saver.setup()
    graph = StateGraph(Talk)
    graph.add_node("speak", speak)
    graph.add_edge(START, "speak")
    graph.add_conditional_edges("speak", then, ["speak", END])
    return graph.compile(checkpointer=saver)


def main(place: str) -> None:
    """Serve steps, one conversation at a time or sixteen."""
    graph = compiled(place)
    numbers = count()

    def invoke(steps: int) -> None:
        thread = {"configurable": {"thread_id": str(next(numbers))}, "recursion_limit": 1000}
        graph.invoke({"left": steps, "text": ""}, thread, durability="sync")

    def task(in_flight: int) -> Task:
        pool = ThreadPoolExecutor(in_flight)

        async def run(steps: int) -> None:
            shares = [_STEPS_PER_INVOKE] * (steps // _STEPS_PER_INVOKE)
            await asyncio.to_thread(lambda: list(pool.map(invoke, shares)))

        return run

    asyncio.run(serve({f"langgraph-{each}": task(each) for each in (1, 16)}))


if __name__ == "__main__":
    main(sys.argv[1])
