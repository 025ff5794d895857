"""`muster up`: a team's server in the foreground, from the first lock to the last commit."""

import asyncio
import os
import resource
import signal
import socket
from pathlib import Path

import click
import msgspec

from muster.app import open_configured
from muster.config import Settings, load_settings
from muster.errors import HomeInUse
from muster.interfaces import address, operator
from muster.interfaces.cli.options import home_option
from muster.interfaces.http import app as http
from muster.interfaces.http.auth import token_of
from muster.interfaces.http.serving import Server, listen, serve_until, url_of
from muster.interfaces.http.tokens import new_token
from muster.machines.commands import RevokeToken
from muster.machines.ids import MUSTER
from muster.machines.vocabulary import Role
from muster.services.muster import Muster
from muster.store.home import running_pid


@click.command()
@home_option
@click.option("--host", help="The address to listen on [settings: server.host].")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="The port; 0 picks a free one [server.port]."
)
@click.option("--no-browser", is_flag=True, help="Do not open the dashboard [server.open_browser].")
def up(home: Path, host: str | None, port: int | None, no_browser: bool) -> None:
    """Run the team's server here until Ctrl-C.

    It prints its address when it is ready, and a link to sign in with. Ctrl-C and SIGTERM end it in
    order: what was accepted is committed, and the exit code is 0.
    """
    settings = _chosen(load_settings(home, os.environ), host, port, no_browser)
    pid = running_pid(home)
    if pid is not None:
        raise HomeInUse(pid=pid, home=home)
    _allow_many_files()
    # the port before the home: whoever cannot listen leaves nothing behind
    with listen(settings.server.host, settings.server.port) as listener:
        asyncio.run(_run(home, settings, listener))


def _allow_many_files() -> None:
    """Every session has pipes and every reader a connection: use all that the system allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _chosen(settings: Settings, host: str | None, port: int | None, no_browser: bool) -> Settings:
    """The settings, with what the command line says instead."""
    server = msgspec.structs.replace(
        settings.server,
        host=settings.server.host if host is None else host,
        port=settings.server.port if port is None else port,
        open_browser=settings.server.open_browser and not no_browser,
    )
    return msgspec.structs.replace(settings, server=server)


async def _run(home: Path, settings: Settings, listener: socket.socket) -> None:
    stop = asyncio.Event()
    for ending in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(ending, stop.set)

    async with open_configured(home, settings, url=url_of(listener)) as muster:
        secret = await _operator_secret(home, muster)

        def ready() -> None:
            url = url_of(listener)
            address.publish(home, address.Address(url=url, pid=os.getpid()))
            click.echo(f"muster is up at {url} for {home}. Ctrl-C stops it.")
            click.echo(f"Sign in: {url}/?token={secret}")

        api = http.build(muster, host=settings.server.host)
        server = Server(api, ready, on_end=lambda: http.end_waiting(muster))
        try:
            await serve_until(stop, server, listener)
        finally:
            address.withdraw(home)


async def _operator_secret(home: Path, muster: Muster) -> str:
    """The secret in the operator's file, or a new one where none counts; then no older one does."""
    found = operator.find(home)
    token = token_of(muster.team, found)
    if found is not None and token is not None and token.role is Role.OPERATOR:
        return found
    command, secret = new_token(muster.ids, Role.OPERATOR, note=operator.NOTE)
    operator.keep(home, secret)
    outdated = [token.id for token in muster.team.tokens.values() if token.note == operator.NOTE]
    await muster.dispatcher.send(command, actor=MUSTER)
    for token_id in outdated:
        await muster.dispatcher.send(RevokeToken(token_id=token_id), actor=MUSTER)
    return secret
