"""One team on several real nodes under stress: no seat ever runs twice, and all run at the end.

    python -m tests.stress.nodes --nodes 3 --faults 200 --seed 7

Each node is a `muster up` of its own, with a proxy before the one PostgreSQL. Agents that may move
and one that stays on each node write the boot clock again and again. Nodes are killed, frozen, cut
off from the database, both ways or one way, and lose their wardens; the database is killed as well.
Afterwards no two sessions of one agent may have written at the same time, every agent must write,
and one that stays must not have been disturbed by a fault of anything but its own node. People post
to every node all the while (`node_posts.py`): each answered post is in the log once.

    python -m tests.stress.nodes --handover --lease 60

kills one node, and prints how long the agents that move did not run.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from muster.home.database import TeamDatabase, keep
from muster.home.folder import make_home
from muster.store.opening import begin_team
from muster.store.postgres.connecting import Database
from muster.store.postgres.store import PostgresStore
from tests.forkserver import ForkedProcess
from tests.homes import MUSTER_SCRIPT, environment, muster
from tests.postgres import QUICK, Cluster, new_cluster, remove
from tests.store.proxy import Proxy
from tests.stress.clocks import ShiftedProcess
from tests.stress.node_posts import NodePosts
from tests.waits import until_async

LEASE_SECONDS: Final = 3.0
MOVERS: Final = ("Mia", "Max", "Moe")
CLOCK_SHIFT_SECONDS: Final = 7200
FRESH_SECONDS: Final = 1.0
"""An agent whose last word is no older runs, as far as one look can tell."""

PROGRAM: Final = """
import os, sys, time

name = "{MUSTER_AGENT}.{MUSTER_SESSION}.{MUSTER_HOME}".format_map(os.environ).replace("/", ":")
book = os.open(os.path.join(sys.argv[1], name), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while True:
    os.write(book, b"%.3f\\n" % time.clock_gettime(time.CLOCK_BOOTTIME))
    time.sleep(0.05)
"""


class Broken(AssertionError):
    """A promise is broken."""


class Span(NamedTuple):
    """The time in which a session wrote."""

    agent: str
    first: float
    last: float
    home: str


def _boot_clock() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class RealNode:
    """A machine of the team: a home, a server, and its way to the database."""

    def __init__(
        self, name: str, folder: Path, books: Path, proxy: Proxy, lease_s: float = LEASE_SECONDS
    ) -> None:
        self.name = name
        self.lease_s = lease_s
        self.stayer = f"Sam-{name}"
        self.home = folder / ".muster"
        self.proxy = proxy
        self._books = books
        self._server: ForkedProcess | ShiftedProcess | None = None
        self.clock_shim: Path | None = None
        """A library that moves the wall clock of the server by `CLOCK_SHIFT_SECONDS`."""

    def settle(self, url: str) -> None:
        """Make the home."""
        make_home(self.home)
        keep(self.home, TeamDatabase(url=url, team="stress"))
        program = self.home / "program.py"
        program.write_text(PROGRAM)
        line = f'command = ["{sys.executable}", "-S", "{program}", "{self._books}"]'
        tables = [
            f"[agents.{each}]\n{line}\nloop = true\nautostart = true\n"
            for each in (self.stayer, *MOVERS)
        ]
        moving = [tables[0], *(f"{each}moves = true\n" for each in tables[1:])]
        node = f'[node]\nname = "{self.name}"\nlease_seconds = {self.lease_s}\n'
        self.home.joinpath("muster.toml").write_text("\n".join((node, *moving)))

    @property
    def server(self) -> ForkedProcess | ShiftedProcess:
        assert self._server is not None
        return self._server

    def start(self) -> None:
        """Start the server, unless it runs."""
        if self._server is None or self._server.poll() is not None:
            self.close()
            line = [MUSTER_SCRIPT, "up", "--home", str(self.home), "--port", "0", "--no-browser"]
            env, folder = environment({}), self.home.parent
            if self.clock_shim is None:
                self._server = ForkedProcess(line, env=env, cwd=folder)
            else:
                self._server = ShiftedProcess(
                    line, env, folder, self.clock_shim, CLOCK_SHIFT_SECONDS
                )

    @property
    def warden(self) -> int:
        """The process of its warden."""
        for task in Path(f"/proc/{self.server.pid}/task").iterdir():
            for child in map(int, task.joinpath("children").read_text().split()):
                if b"warden_program" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return child
        raise Broken(f"{self.name} has no warden: {self.said}")

    @property
    def said(self) -> str:
        """What the server printed as errors."""
        return self.server.errors()

    def close(self) -> None:
        """End the server at once."""
        if self._server is not None:
            self._server.close()


class RealNodes:
    """A team on several nodes, and the database below them."""

    def __init__(
        self, nodes: list[RealNode], books: Path, cluster: Cluster, posts: NodePosts, seed: int
    ) -> None:
        self.nodes = nodes
        self.posts = posts
        self.books = books
        self.cluster = cluster
        self.chance = random.Random(seed)  # nothing secret here
        self.faults: Counter[str] = Counter()
        self.handovers: list[float] = []
        """How long agents that move did not run after their node was killed, in seconds."""

        self.result = ""
        """The answers of the posts, after they were compared with the log."""

    @classmethod
    @asynccontextmanager
    async def running(
        cls,
        folder: Path,
        count: int,
        seed: int,
        lease_s: float = LEASE_SECONDS,
        clock_shim: Path | None = None,
    ) -> AsyncGenerator["RealNodes"]:
        """Start everything, and end it; then compare the log with what people were answered.

        With `clock_shim`, the first node's clock is hours ahead of the others and the database.
        """
        books = folder / "books"
        books.mkdir()
        cluster = new_cluster(f"nodes-{os.getpid()}")
        cluster.start(*QUICK)
        async with AsyncExitStack() as opened:
            opened.callback(remove, cluster)
            nodes: list[RealNode] = []
            await begin_team(TeamDatabase(url=cluster.url(), team="stress"), is_new=True)
            for name in ("desk", "box", "rack", "shelf")[:count]:
                place = folder / name
                place.mkdir()
                proxy = await opened.enter_async_context(Proxy.opened(place, cluster.folder))
                node = RealNode(name, place, books, proxy, lease_s)
                node.settle(cluster.url(folder=place))
                opened.callback(node.close)
                node.clock_shim = None if nodes else clock_shim
                nodes.append(node)
                node.start()
            async with NodePosts.to([each.home for each in nodes], seed) as posts:
                team = cls(nodes, books, cluster, posts, seed)
                yield team
            team.result = await team._compared()

    async def _compared(self) -> str:
        store = await PostgresStore.open(Database(self.cluster.url()), "stress")
        try:
            return f"{await self.posts.check(store)}; errors: {dict(self.posts.errors)}"
        finally:
            await store.close()

    # ── what can be seen ──────────────────────────────────────────────────────────────────────────

    def spans(self) -> list[Span]:
        """Every session that wrote, by agent and time."""
        found: list[Span] = []
        for book in self.books.iterdir():
            agent, _, rest = book.name.partition(".")
            lines = book.read_bytes().split(b"\n")[:-1]
            if lines:
                home = next(each.name for each in self.nodes if f":{each.name}:" in rest)
                found.append(Span(agent, float(lines[0]), float(lines[-1]), home))
        return sorted(found)

    def check(self) -> list[Span]:
        """Raise `Broken` if two sessions of one agent wrote at the same time."""
        spans = self.spans()
        for one, other in pairwise(spans):
            if one.agent == other.agent and other.first <= one.last:
                raise Broken(f"{one.agent} ran twice: {one} and {other}")
        return spans

    def places(self, since: float | None = None) -> dict[str, str]:
        """The node of every agent that writes now, or has written since a moment."""
        begin = _boot_clock() - FRESH_SECONDS if since is None else since
        return {each.agent: each.home for each in self.check() if each.last > begin}

    async def until_running(self, *agents: str, away_from: RealNode | None = None) -> None:
        """Wait until these agents write, on another node than the one that has a fault."""

        begin = _boot_clock()  # who was killed a moment ago has written a moment ago

        async def is_so() -> bool:
            places = self.places(begin)
            home = "" if away_from is None else away_from.name
            return all(places.get(each, home) != home for each in agents)

        try:
            await until_async(is_so)
        except TimeoutError:
            told = "\n".join(f"{each.name}: {each.said}" for each in self.nodes)
            log = muster("log", "--home", str(self.nodes[0].home)).stdout.splitlines()
            log = [each for each in log if "post " not in each][-150:]
            reasons = [muster("why", each, "--home", str(self.nodes[0].home)) for each in agents]
            told = "\n".join((told, *log, *(each.stdout for each in reasons)))
            raise Broken(
                f"after {dict(self.faults)} {agents} do not run: {self.places()}\n{told}"
            ) from None

    async def until_silent(self, *agents: str) -> None:
        """Wait until none of these agents writes."""

        async def is_so() -> bool:
            return not self.places().keys() & {*agents}

        await until_async(is_so)

    async def until_all_run(self) -> None:
        """Wait until every agent writes."""
        await self.until_running(*MOVERS, *(each.stayer for each in self.nodes))

    # ── faults ────────────────────────────────────────────────────────────────────────────────────

    def target(self) -> RealNode:
        """A node that runs agents which may move, if there is one."""
        used = {self.places().get(each) for each in MOVERS}
        return self.chance.choice([each for each in self.nodes if each.name in used] or self.nodes)

    async def kill(self) -> None:
        """Kill -9 of a node: its warden ends its sessions, and the others take over."""
        node = self.target()
        moving = {each for each in MOVERS if self.places().get(each) == node.name}
        node.server.send_signal(signal.SIGKILL)
        killed = _boot_clock()
        await self.until_running(*MOVERS, away_from=node)
        begun = {each.agent: each.first for each in self.spans() if each.first > killed}
        self.handovers += [begun[each] - killed for each in moving]
        node.start()

    async def freeze(self) -> None:
        """Stop the process of a node. Its agent that stays goes on, and is not started again."""
        node = self.target()
        node.server.send_signal(signal.SIGSTOP)
        try:
            await self.until_running(*MOVERS, away_from=node)
            await self.until_running(node.stayer)
        finally:
            node.server.send_signal(signal.SIGCONT)

    async def cut(self) -> None:
        """Lose everything between a node and the database, both ways or one way."""
        node = self.target()
        node.proxy.loses_questions = self.chance.random() < 0.7
        node.proxy.loses_answers = not node.proxy.loses_questions or self.chance.random() < 0.5
        try:
            await self.until_running(*MOVERS, away_from=node)
            await self.until_running(node.stayer)
        finally:
            node.proxy.heal()

    async def end_warden(self) -> None:
        """Kill -9 of a warden: its node ends in order, and another one takes over."""
        node = self.target()
        os.kill(node.warden, signal.SIGKILL)
        await self.until_running(*MOVERS, away_from=node)
        await asyncio.to_thread(node.server.wait, 120.0)
        node.start()

    async def end_database(self) -> None:
        """Kill -9 of the database, for less than a lease.

        A node that was just starting has found no database and ended: it is started again, as a
        service manager would.
        """
        await asyncio.to_thread(self.cluster.kill)
        await asyncio.to_thread(self.cluster.start, *QUICK)
        for node in self.nodes:
            node.start()

    async def lose_database(self) -> None:
        """Kill -9 of the database, for more than a lease: agents that move end everywhere in time,
        and those that stay go on."""
        await asyncio.to_thread(self.cluster.kill)
        try:
            await self.until_silent(*MOVERS)
            await self.until_running(*(each.stayer for each in self.nodes))
        finally:
            await asyncio.to_thread(self.cluster.start, *QUICK)

    async def play(self, faults: int) -> None:
        """Cause that many faults, one after another; each ends when all agents run again."""
        kinds: tuple[Callable[[], Awaitable[None]], ...] = (
            self.kill,
            self.freeze,
            self.cut,
            self.end_warden,
            self.end_database,
            self.lose_database,
        )
        await self.until_all_run()
        for number in range(faults):
            kind = kinds[number] if number < len(kinds) else self.chance.choice(kinds)
            self.faults[kind.__name__] += 1
            await kind()
            await self.until_all_run()
        self.check()


async def _play(options: argparse.Namespace) -> str:
    with tempfile.TemporaryDirectory() as folder:
        async with RealNodes.running(
            Path(folder), options.nodes, options.seed, options.lease
        ) as team:
            if options.handover:
                await team.until_all_run()
                await team.kill()
            else:
                await team.play(options.faults)
            sessions = len(team.spans())
    return (
        f"{dict(team.faults)}: {sessions} sessions, 0 overlaps, all agents run\n{team.result}\n"
        f"{len(team.handovers)} handovers, at most {max(team.handovers, default=0):.2f} s"
    )


def main(arguments: list[str] | None = None) -> int:
    """Play one random seed, and print the result."""
    parser = argparse.ArgumentParser(prog="tests.stress.nodes", description=__doc__)
    parser.add_argument("--nodes", type=int, default=3, choices=(2, 3, 4))
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--lease", type=float, default=LEASE_SECONDS)
    parser.add_argument("--handover", action="store_true")
    print(asyncio.run(_play(parser.parse_args(arguments))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
