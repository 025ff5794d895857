"""A complete muster that serves HTTP, as `muster up` does, with an empty route as the baseline.

It prints its address and a token per agent. The tasks `burst` and `paced` post that many messages
as a human: all at once, or one every tenth of a second. The text of a message is the time at which
it was posted, on the monotonic clock that all processes share.
"""

import asyncio
import gc
import os
import resource
import sys
from pathlib import Path
from time import monotonic
from typing import Final

from bench.children.serving import Task, serve
from bench.teams import ACTOR, HUMAN, channel_id, found_home
from muster.__main__ import GC_THRESHOLD
from muster.app import TeamOptions, open_team
from muster.http import app as http
from muster.http.auth import AccessControl, new_token
from muster.http.route_table import RouteTable
from muster.http.routing import ACTORS, ApiCall, route
from muster.http.server import HttpServer, listen, serve_until, url_of
from muster.http.signing_in.browser_sessions import BrowserSessions
from muster.machines.commands import PostMessage
from muster.machines.ids import MUSTER
from muster.machines.vocabulary import Role
from muster.settings.in_force import SettingsInForce
from muster.settings.model import PresenceSettings, Settings
from muster.team import Muster

CHANNELS: Final = 16
MEMBERS: Final = 3
PACE_SECONDS: Final = 0.1
_PATIENT: Final = Settings(presence=PresenceSettings(heartbeat_timeout_seconds=7 * 24 * 3600.0))


@route("POST", "/bench/empty", may=ACTORS)
async def empty(call: ApiCall) -> None:
    """Do nothing."""


async def main(home: Path, *, channels: int = CHANNELS) -> None:
    """Create a team of three in each channel, and serve until stdin closes."""
    await found_home(home, channels=channels, members=MEMBERS)
    # no heartbeat timeout: no agent may lose its seat during the measurement
    options = TeamOptions(human=HUMAN, in_force=SettingsInForce(_PATIENT))
    async with open_team(home, options) as muster:
        tokens = await _tokens(muster)
        stop = asyncio.Event()
        with listen("127.0.0.1", 0) as listener:
            table = RouteTable((*http.routes(), empty))
            access = AccessControl(
                host="127.0.0.1",
                session_tokens=muster.session_tokens,
                browsers=BrowserSessions(muster.clock.now, muster.ids),
                monotonic=muster.clock.monotonic,
            )
            api = http.Api(muster, table, access)
            server = HttpServer(api, lambda: None, on_end=api.end_waiting)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(serve_until(stop, server, listener))
                events = {"burst": _burst(muster), "paced": _paced(muster)}
                await serve(events, url=url_of(listener), pid=os.getpid(), tokens=tokens)
                stop.set()


async def _tokens(muster: Muster) -> dict[str, str]:
    """A token for the operator, and one for each agent by name."""
    command, secret = new_token(muster.ids, Role.OPERATOR)
    await muster.dispatcher.send(command, actor=MUSTER)
    tokens = {"": secret}
    for agent in muster.team.agents.values():
        command, secret = new_token(muster.ids, Role.AGENT, seat=agent.seat)
        await muster.dispatcher.send(command, actor=MUSTER)
        tokens[agent.id] = secret
    return tokens


def _burst(muster: Muster) -> Task:
    async def run(count: int) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(_post(muster))

    return run


def _paced(muster: Muster) -> Task:
    async def run(count: int) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        for _ in range(count):
            due += PACE_SECONDS
            await asyncio.sleep(due - loop.time())
            await _post(muster)

    return run


async def _post(muster: Muster) -> None:
    text = f"{monotonic():.6f}"
    command = PostMessage(channel=channel_id(0), text=text, speaker_name=HUMAN)
    await muster.dispatcher.send(command, actor=ACTOR)


if __name__ == "__main__":
    gc.set_threshold(GC_THRESHOLD)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(main(Path(sys.argv[1]) / "home"))
