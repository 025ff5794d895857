# pyright: basic, reportMissingImports=false
# dbos is installed beside muster, never with it: there are no types to check against.
"""dbos on SQLite or PostgreSQL: workflows of one step."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

from dbos import DBOS

from bench.children.serving import Task, serve


@DBOS.step()
def speak(text: str) -> str:
    """The step."""
    return text


@DBOS.workflow()
def turn(text: str) -> str:
    """The workflow."""
    return speak(text)


def task(in_flight: int) -> Task:
    """A task of workflows with a fixed number in flight."""
    pool = ThreadPoolExecutor(in_flight)

    async def run(steps: int) -> None:
        texts = ["please look at the failing build first"] * steps
        await asyncio.to_thread(lambda: list(pool.map(turn, texts)))

    return run


def main(place: str) -> None:
    """Serve workflows, one at a time or sixteen; on the database of an address, or in a folder."""
    is_database = place.startswith("postgresql:")
    DBOS(
        config={
            "name": "bench",
            "system_database_url": place if is_database else f"sqlite:///{place}/dbos.sqlite",
            "run_admin_server": False,
            "log_level": "ERROR",
        }
    )
    DBOS.launch()
    asyncio.run(serve({f"dbos-{each}": task(each) for each in (1, 16)}))
    DBOS.destroy()


if __name__ == "__main__":
    main(sys.argv[1])
