"""A muster in a thread of the test, with real HTTP around it and a real program in each session.

Only a runtime can report a session's approval requests and its usage, so the test takes the place
of a runtime.
"""

import asyncio
import os
import subprocess
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar, cast

from muster.app import open_configured
from muster.engine.dispatcher import Receipt
from muster.home import address, operator_token
from muster.http import app as http
from muster.http.auth import new_token
from muster.http.server import HttpServer, listen, serve_until, url_of
from muster.machines import commands as c
from muster.machines.events import ApprovalRequested
from muster.machines.ids import MUSTER, ChannelId, SeatId, SessionId, agent_actor, name_key, person
from muster.machines.state import Agent, Phase, Team
from muster.machines.vocabulary import Activity, Role, RunMode, Usage
from muster.settings.model import load_settings
from muster.team import Muster
from tests.live import Server
from tests.waits import WAIT_SECONDS

T = TypeVar("T")

PATIENT = """[agents.{name}]
long_lived = true
unasked = true
command = ["sh", "-c", "cat >/dev/null"]
"""
"""A long-lived program without output, which has turns without news."""


class Inside:
    """A team that is up, and what only a session of it could do."""

    def __init__(self, muster: Muster, server: Server, home: Path) -> None:
        self.server = server
        self.home = home
        self._muster = muster
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        muster.dispatcher.watch(lambda _: self._changed.set())

    @property
    def team(self) -> Team:
        return self._muster.team

    def agent(self, name: str) -> Agent:
        return self.team.agents[self.team.names[name_key(name)]]

    def _do(self, work: Coroutine[Any, Any, T]) -> T:  # whatever a coroutine is sent
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_SECONDS)

    def send(self, command: c.Command, *, actor: str = MUSTER) -> Receipt:
        return self._do(self._muster.dispatcher.send(command, actor=actor))

    def joined_by(self, joining: c.StartMuster) -> None:
        """Let another machine join the team; this one stays itself."""
        own = self._muster.dispatcher
        life, node = own.life, own.node
        self.send(joining)
        own.life, own.node = life, node

    def until(self, so: Callable[[Team], bool]) -> None:
        """Wait until the team is so."""
        self._do(self._until(so))

    async def _until(self, so: Callable[[Team], bool]) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            while not so(self.team):
                self._changed.clear()
                await self._changed.wait()

    def until_called(self, name: str) -> None:
        """Wait until a call of an agent has arrived and waits for its answer."""
        self._do(self._until_called(self.agent(name).seat))

    def until_silent(self, name: str) -> None:
        """Wait until no call of an agent waits for its answer."""
        self._do(self._until_silent(self.agent(name).seat))

    async def _until_silent(self, seat: SeatId) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            while self._muster.presence.is_calling(seat):  # noqa: ASYNC110  # calls tell nobody
                await asyncio.sleep(0)

    async def _until_called(self, seat: SeatId) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            while not self._muster.presence.is_calling(seat):  # noqa: ASYNC110  # calls tell nobody
                await asyncio.sleep(0)

    # ── a session ─────────────────────────────────────────────────────────────────────────────────

    def runs(self, name: str) -> SessionId:
        """Start an agent, and wait until its program runs."""
        seat = self.agent(name).seat
        wish = c.SetDesired(seat=seat, desired=RunMode.CONTINUOUS, set_by="Grace")
        self.send(wish, actor=person("Grace"))
        self.until(lambda team: self._is_up(team, self.agent(name)))
        return self._session(name)

    def _is_up(self, team: Team, agent: Agent) -> bool:
        return agent.session is not None and team.sessions[agent.session].phase is Phase.RUNNING

    def _session(self, name: str) -> SessionId:
        session = self.agent(name).session
        assert session is not None
        return session

    def session_token(self, name: str) -> str:
        """Start an agent; the token of its session."""
        return self._muster.session_tokens.issue(self.runs(name))

    def asks(
        self,
        name: str,
        tool: str = "Bash",
        detail: str = "rm -r build",
        *,
        by: str = "",
        seconds: float = 600,
        default: bool = False,
        rules: tuple[str, ...] = (),
        folder: str = "",
        effects: tuple[str, ...] = (),
        change: str = "",
    ) -> str:
        """The session of an agent wants to do what only a person may allow; the request's id."""
        request = c.RequestApproval(
            session=self._session(name),
            tool=tool,
            detail=detail,
            by=by,
            seconds=seconds,
            default=default,
            rules=rules,
            folder=folder,
            effects=effects,
            change=change,
        )
        fact = self.send(request, actor=agent_actor(name)).events[0].fact
        assert isinstance(fact, ApprovalRequested)
        return fact.approval

    def calls(self, name: str, kind: Activity, tool: str, text: str, ref: str) -> None:
        """The session of an agent calls a tool, or has its result."""
        activity = c.ReportActivity(
            session=self._session(name), kind=kind, name=tool, text=text, ref=ref
        )
        self.send(activity, actor=agent_actor(name))

    def spends(self, name: str, cost_usd: float, tokens: int, channel: str | None = None) -> None:
        """A piece of work of an agent is done, and has used something up."""
        result = c.ReportResult(
            session=self._session(name),
            usage=Usage(cost_usd=cost_usd, input_tokens=tokens - 1, output_tokens=1),
            channel=None if channel is None else ChannelId(channel),
        )
        self.send(result, actor=agent_actor(name))

    def opens(self, channel: str, *names: str) -> None:
        """A channel in which these speak in order."""
        self.send(c.CreateChannel(channel=ChannelId(channel)))
        for name in names:
            self.send(c.AddMember(channel=ChannelId(channel), seat=self.agent(name).seat))


@contextmanager
def inside(folder: Path, *names: str, settings: str = "") -> Generator[Inside]:
    """A team with these agents; whatever happens, nothing is left behind."""
    home = folder / "team" / ".muster"
    home.mkdir(parents=True)
    agents = "".join(PATIENT.format(name=name) for name in names)
    (home / "muster.toml").write_text(settings + agents, encoding="utf-8")
    ready: Future[tuple[Inside, asyncio.Event]] = Future()
    thread = Thread(target=lambda: asyncio.run(_told(ready, home)), name="muster", daemon=True)
    thread.start()
    found, stop = ready.result(WAIT_SECONDS)
    try:
        yield found
    finally:
        found._loop.call_soon_threadsafe(stop.set)  # pyright: ignore[reportPrivateUsage]
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()


async def _told(ready: "Future[tuple[Inside, asyncio.Event]]", home: Path) -> None:
    try:
        await _serve(ready, home)
    except BaseException as wrong:
        if ready.done():
            raise
        ready.set_exception(wrong)


async def _serve(ready: "Future[tuple[Inside, asyncio.Event]]", home: Path) -> None:
    stop = asyncio.Event()
    with listen("127.0.0.1", 0) as listener:
        url = url_of(listener)
        async with open_configured(home, load_settings(home, {}), url=url) as muster:
            command, secret = new_token(muster.ids, Role.OPERATOR, note=operator_token.NOTE)
            await muster.dispatcher.send(command, actor=MUSTER)
            operator_token.keep(home, secret)
            address.publish(home, address.Address(url=url, pid=os.getpid()))
            process = cast("subprocess.Popen[str]", None)  # it has none of its own
            found = Inside(muster, Server(process, url, secret), home)
            api = http.build(muster)
            server = HttpServer(
                api, lambda: ready.set_result((found, stop)), on_end=api.end_waiting
            )
            await serve_until(stop, server, listener)
