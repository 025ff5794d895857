"""Builders for the tests of the interfaces: a home with a log in it, and a real command line."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from muster.engine.dispatcher import Dispatcher
from muster.engine.loading import load_from
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import MUSTER, ChannelId, SeatId, SessionId, person
from muster.store.opening import open_store
from muster.testing.clock import ManualClock
from tests.forkserver import ForkedProcess, can_fork
from tests.waits import WAIT_SECONDS

MUSTER_SCRIPT = str(Path(sys.executable).with_name("muster"))

DESIGN = ChannelId("design")
ADA, BO = SeatId(9), SeatId(10)

BOOT = c.StartMuster(server_session=SessionId("boot-1"), muster_version="0.1.0", human="Grace")
TWO_AGENTS: tuple[c.Command, ...] = (
    c.EnrollAgent(name="Ada", authority=e.Authority.SELF),
    c.EnrollAgent(name="Bo", authority=e.Authority.SELF),
    c.ConnectAgent(seat=ADA),
    c.ConnectAgent(seat=BO),
    c.CreateChannel(channel=DESIGN),
    c.AddMember(channel=DESIGN, seat=ADA),
    c.AddMember(channel=DESIGN, seat=BO),
)


def play(home: Path, *commands: c.Command) -> None:
    """Write a team's life into a home: muster starts, the commands are sent, muster is gone."""
    asyncio.run(_play(home, commands))


async def _play(home: Path, commands: Sequence[c.Command]) -> None:
    store = await open_store(home)
    try:
        dispatcher = Dispatcher(store, ManualClock(), (await load_from(store)).team)
        for command in (BOOT, *commands):
            actor = MUSTER if command is BOOT else person("Grace")
            await dispatcher.send(command, actor=actor)
    finally:
        await store.close()


def append(home: Path, *facts: e.Fact) -> None:
    """Append facts that no command would lead to, such as a name that the rules refuse."""
    asyncio.run(_append(home, facts))


async def _append(home: Path, facts: Sequence[e.Fact]) -> None:
    store = await open_store(home)
    try:
        begin = await store.last_seq() + 1
        events = [
            e.Event(begin + index, ManualClock().now(), SessionId("boot-1"), MUSTER, None, fact)
            for index, fact in enumerate(facts)
        ]
        await store.append(events)
    finally:
        await store.close()


def muster(
    *args: str, cwd: Path | None = None, stdin: str = "", **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    command, env = [MUSTER_SCRIPT, *args], environment(environ)
    if not can_fork(args, environ):
        return subprocess.run(
            command,
            cwd=cwd,
            env=env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
    with closing(ForkedProcess(command, env=env, cwd=cwd, stdin=stdin)) as process:
        output, errors = process.communicate(timeout=WAIT_SECONDS)
        return subprocess.CompletedProcess(command, process.wait(), output, errors)


def environment(changes: dict[str, str]) -> dict[str, str]:
    """This environment without variables of muster, and with the changes.

    A server stops its sessions at once: a test of the drain sets another value.
    """
    kept = {name: value for name, value in os.environ.items() if "MUSTER" not in name}
    return kept | {"MUSTER_SERVER_DRAIN_SECONDS": "0"} | changes
