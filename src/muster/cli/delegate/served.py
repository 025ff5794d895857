"""Runs an action in the process that serves a state machine session, or serves it here."""

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from muster.app import open_session
from muster.cli.reading import running
from muster.cli.run.serving import serving
from muster.cli.run.trusting import require_trust
from muster.client import delegation
from muster.client.sync import Client
from muster.delegation.session_folder import HOME_FOLDER
from muster.delegation.visiting import TURN_SECONDS
from muster.engine.dispatcher import Commit
from muster.engine.system import SystemClock
from muster.errors import Closed, HomeInUse, NotRunning
from muster.home import operator_token
from muster.http.server import listen, url_of
from muster.machines.events import Event
from muster.settings.model import Settings
from muster.team import Muster

TERMINATED: Final = 143
"""The exit code that shells report for a program that SIGTERM ended."""

PAUSE_SECONDS: Final = 0.05
"""The retry interval while another process opens or closes the log."""

T = TypeVar("T")

Show = Callable[[Sequence[Event]], None]
"""A callback for the events of each commit."""


def is_served(home: Path) -> bool:
    """Whether a process serves HTTP requests for a home."""
    found = running(home)
    return found is not None and found.url != ""


def client_of(home: Path) -> Client:
    """A client, with the operator's token, of the process that serves a session's own home.

    The token of an agent's session would not do: it may not open conversations.
    """
    return Client(home=home, token=operator_token.find(home), patience_s=0.0)


def carry_out(
    root: Path,
    settings: Settings,
    *,
    home: Path,
    here: Callable[[Muster], Awaitable[T]],
    there: Callable[[Client], T],
    show: Show,
    is_repeatable: bool = False,
) -> T:
    """Run an action in a session: `there` as a client of the process that serves it, or `here`.

    The settings are those of the team in `home`. A process that serves the session runs until all
    requests are done, its own and those of clients.
    """
    own, clock = root / HOME_FOLDER, SystemClock()
    until = clock.monotonic() + TURN_SECONDS
    while True:
        if is_served(own):
            with client_of(own) as client:
                try:
                    client.ask(delegation.delegation())
                except NotRunning:  # it has just ended
                    continue
                try:
                    return there(client)
                except (Closed, NotRunning):
                    # A request that was accepted before its process ended may have run.
                    if not is_repeatable:
                        raise
                    continue
        require_trust(home, settings)
        try:
            return run(_serve(root, settings, home, here, show))
        except HomeInUse:
            if clock.monotonic() > until:
                raise
            threading.Event().wait(PAUSE_SECONDS)


async def _serve(
    root: Path,
    settings: Settings,
    home: Path,
    here: Callable[[Muster], Awaitable[T]],
    show: Show,
) -> T:
    with listen("127.0.0.1", 0) as listener:
        inside = root.is_relative_to(home.parent)
        project = home.parent if inside else Path.cwd()
        opened = open_session(root, settings, home=home, project=project, url=url_of(listener))
        async with opened as muster:
            muster.dispatcher.watch(lambda commit: show(commit.events))
            async with serving(root / HOME_FOLDER, muster, settings, listener):
                result = await here(muster)
                await _serve_others(muster)
        trouble = muster.requests.conversations.log_provider.trouble
        if trouble is not None:
            raise trouble
        return result


async def _serve_others(muster: Muster) -> None:
    """Wait until the requests of clients are done."""
    quiet = asyncio.Event()

    def look(commit: Commit | None = None) -> None:
        open_still = muster.team.delegation.conversations.values()
        if not any(conversation.session for conversation in open_still):
            quiet.set()

    muster.dispatcher.watch(look)
    look()
    if not quiet.is_set():
        said = "this process runs other requests too; it ends when they are done, or with Ctrl-C"
        click.echo(f"muster: {said}", err=True)
    await quiet.wait()


# A coroutine's first two parameters are what asyncio itself sends and yields.
def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine. SIGTERM cancels it, as Ctrl-C does, so that its agents are stopped."""

    async def run() -> T:
        task = asyncio.ensure_future(work)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await task

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        raise click.exceptions.Exit(TERMINATED) from None
