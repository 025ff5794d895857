"""`muster up`: a team's server in the foreground, from the first lock to the last commit."""

import asyncio
import os
import resource
import socket
import webbrowser
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import click
import msgspec
from click.core import ParameterSource

from muster.app import open_configured
from muster.cli.delegate.continuing import continue_session
from muster.cli.options import home_option
from muster.cli.render import clean
from muster.cli.run.detaching import start_detached
from muster.cli.run.drain_report import DrainReport
from muster.cli.run.notifying import Notifier
from muster.cli.run.open import has_screen
from muster.cli.run.server_log import log_to_file, log_to_terminal
from muster.cli.run.serving import (
    EncryptedListener,
    own_address,
    public_url,
    serving,
    trusted_header,
)
from muster.cli.run.stop_signals import StopSignals
from muster.cli.run.team_database import remember_database
from muster.cli.run.trusting import require_trust
from muster.cli.saying import say
from muster.delegation.visiting import server_pid
from muster.demo import stage
from muster.demo.settings import HOME_FOLDER as DEMO_HOME
from muster.demo.settings import demo_settings
from muster.engine.dispatcher import Commit
from muster.engine.stopping import OrderlyStop
from muster.engine.tasks import TaskOwner, background
from muster.errors import HomeInUse
from muster.home import address
from muster.home.database import database_of, has_log, take_variables
from muster.home.folder import make_home
from muster.http.server import TlsFiles, listen, url_of
from muster.machines.events import SettingsApplied, SettingsRejected
from muster.reloading.editing import create_settings
from muster.reloading.live import Load
from muster.settings.model import SETTINGS_FILE, Settings, load_settings
from muster.settings.rules import is_database_url, is_name
from muster.team import Muster

LOCALHOST: Final = "127.0.0.1"

EXPOSED: Final = (
    "Warning: muster listens on {host} without TLS, so tokens and messages travel in plain text. "
    "Give it a certificate (--tls-cert, --tls-key), put a proxy with TLS before it and set "
    "server.public_url, or use an SSH tunnel."
)


@click.command()
@home_option
@click.option("--host", help="Address to listen on [server.host].")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port; 0 picks a free one [server.port]."
)
@click.option("--database", metavar="URL", help="PostgreSQL database for the log [store.database].")
@click.option("--node", metavar="NAME", help="Name of this machine in the team [node.name].")
@click.option("--tls-cert", metavar="FILE", help="Certificate of TLS, PEM [server.tls_cert].")
@click.option("--tls-key", metavar="FILE", help="Key of the certificate, PEM [server.tls_key].")
@click.option("--no-browser", is_flag=True, help="Do not open the dashboard [server.open_browser].")
@click.option("--detach", is_flag=True, help="Run in the background, and return when it is ready.")
@click.option("--detached", is_flag=True, hidden=True)
@click.option("--trust", is_flag=True, help="Approve a home that came with a git repository.")
@click.option("--demo", is_flag=True, help="Run the demo team (scripts, no model) in .muster-demo.")
@click.pass_context
def up(
    ctx: click.Context,
    home: Path,
    host: str | None,
    port: int | None,
    database: str | None,
    node: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    no_browser: bool,
    detach: bool,
    detached: bool,
    trust: bool,
    demo: bool,
) -> int:
    """Run the team's server, here or in the background.

    When it is ready, it prints its address and a link to sign in. The first Ctrl-C, SIGTERM or a
    closed terminal lets running sessions finish, for server.drain_seconds at most; the second, or
    SIGQUIT, stops them now. The exit code is 0. With --demo it runs a team that needs no key and no
    network, in a home of its own unless --home names one.
    """
    home = _demo_home(ctx, home) if demo else home
    chosen = ServerOptions(host, port, tls_cert, tls_key, no_browser)
    settings = _load(home, chosen)
    settings = demo_settings(settings) if demo else settings
    pid = server_pid(home)
    if pid is not None:
        raise HomeInUse(pid=pid, home=home)
    require_trust(home, settings, is_given=trust)
    _check_database(ctx, database, demo=demo)
    _check_node(ctx, home, database or settings.store.database, node)
    tls = _tls_files(settings)
    trusted_header(home, settings)
    options = _options(chosen, demo=demo)
    is_new = not demo and not has_log(home)
    if detach:
        if not demo:
            remember_database(home, settings.store, database, node)
        return _start_detached(home, options, settings)
    notifier = Notifier.take(os.environ)
    _allow_many_files()
    # bind the port before creating the home: a failed start leaves no files
    with _listening(settings, tls) as (listener, encrypted):
        if demo:
            make_home(home)
            stage.claim(home)
        else:
            remember_database(home, settings.store, database, node)
            take_variables(home, os.environ)
            settings = _load(home, chosen)  # as each reload will find them
        load = None if demo else partial(_load, home, chosen)
        if is_new:
            make_home(home)  # before its first file: a repository around it does not see it
            create_settings(home / SETTINGS_FILE)
        start = ServerStart(notifier, options, load, detached=detached, encrypted=encrypted)
        asyncio.run(_run(home, settings, listener, start))
    return 0


def _start_detached(home: Path, options: Sequence[str], settings: Settings) -> int:
    code = start_detached(home, options)
    if code == 0 and settings.server.is_exposed:
        click.echo(EXPOSED.format(host=settings.server.host), err=True)
    return code


def _check_database(ctx: click.Context, url: str | None, *, demo: bool) -> None:
    if url is None:
        return
    if demo:
        raise click.UsageError("The demo keeps its log in its own home.", ctx)
    if not is_database_url(url):
        raise click.UsageError("--database is postgresql://USER@HOST/DATABASE.", ctx)


def _check_node(ctx: click.Context, home: Path, url: str, name: str | None) -> None:
    if name is None:
        return
    if not is_name(name):
        raise click.UsageError("--node is a name of up to 200 characters without spaces.", ctx)
    if not url and database_of(home, os.environ) is None:
        what = "--node names a machine of a team that keeps its log in a database."
        raise click.UsageError(f"{what} Add --database URL.", ctx)


@contextmanager
def _listening(
    settings: Settings, tls: TlsFiles | None
) -> Generator[tuple[socket.socket, EncryptedListener | None]]:
    """The socket of programs on this machine, and with TLS another one for people."""
    with listen(settings.server.host, settings.server.port) as listener:
        if tls is None:
            yield listener, None
            return
        with listen(LOCALHOST, 0) as local:
            yield local, EncryptedListener(listener, tls)


class ServerStart(NamedTuple):
    """How a server was started."""

    notifier: Notifier
    options: tuple[str, ...]
    load: Load | None
    """Loads the settings anew. The demo has settings of its own, and none."""

    detached: bool
    encrypted: EncryptedListener | None = None


class ServerOptions(NamedTuple):
    """The options of a command line that override settings."""

    host: str | None
    port: int | None
    tls_cert: str | None
    tls_key: str | None
    no_browser: bool


def _options(chosen: ServerOptions, *, demo: bool) -> tuple[str, ...]:
    """The options of this command line, for another start, which may be in another folder."""
    files = (
        (name, None if path is None else os.path.abspath(path))  # noqa: PTH100 - links stay
        for name, path in (("--tls-cert", chosen.tls_cert), ("--tls-key", chosen.tls_key))
    )
    named = (("--host", chosen.host), ("--port", chosen.port), *files)
    given = (word for name, value in named if value is not None for word in (name, str(value)))
    flags = (("--no-browser", chosen.no_browser), ("--demo", demo))
    return (*given, *(name for name, is_given in flags if is_given))


def _load(home: Path, chosen: ServerOptions) -> Settings:
    return _chosen(load_settings(home, os.environ), home, chosen)


def _tls_files(settings: Settings) -> TlsFiles | None:
    """The files of TLS, if the settings name them. Raises `TlsUnusable`."""
    cert, key = settings.server.tls_cert, settings.server.tls_key
    if not cert and not key:
        return None
    files = TlsFiles(cert, key)
    files.check()
    return files


def _demo_home(ctx: click.Context, home: Path) -> Path:
    """The demo's home, unless another is given; an existing team is refused."""
    typed = ParameterSource.COMMANDLINE
    if typed not in (each.get_parameter_source("home") for each in (ctx, ctx.find_root())):
        home = Path(DEMO_HOME).absolute()
    if not stage.is_free(home):
        what = f"{home} already holds a team, and the demo needs a folder of its own."
        raise click.UsageError(f"{what} Name another folder with --home.", ctx)
    return home


def _allow_many_files() -> None:
    """Raise the limit of open files: every session needs pipes, every reader a connection."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _chosen(settings: Settings, home: Path, chosen: ServerOptions) -> Settings:
    """The settings, overridden by options of the command line."""
    given, beside = settings.server, home.absolute().parent
    server = msgspec.structs.replace(
        given,
        host=given.host if chosen.host is None else chosen.host,
        port=given.port if chosen.port is None else chosen.port,
        tls_cert=chosen.tls_cert or (given.tls_cert and str(beside / given.tls_cert)),
        tls_key=chosen.tls_key or (given.tls_key and str(beside / given.tls_key)),
        open_browser=given.open_browser and not chosen.no_browser,
    )
    return msgspec.structs.replace(settings, server=server)


async def _run(home: Path, settings: Settings, listener: socket.socket, start: ServerStart) -> None:
    log_to_terminal(settings.server)  # the one in the background moves on when it is ready
    demo = start.load is None
    signals, tasks = StopSignals(), TaskOwner("muster up")
    url = url_of(listener)
    public = public_url(settings, start.encrypted)
    shown = public if start.encrypted is not None else url
    reserve = partial(address.reserved, home, own_address(listener, start.options, public))

    def ready(link: str) -> None:
        is_watched = start.notifier.is_listening
        if start.detached:
            log_to_file(home, settings.server)
        say(f"muster is up at {shown} for {home}." + ("" if is_watched else " Ctrl-C stops it."))
        if settings.server.is_exposed:
            say(EXPOSED.format(host=settings.server.host), err=True)
        if not is_watched:  # a journal or a log file must not have the link
            say(f"Sign in: {link}")
        if demo:
            say("This is the demo team: nine scripts, and no model behind them.")
        start.notifier.send(READY="1", STATUS=f"serves {home} at {shown}")
        if settings.server.open_browser and not is_watched:
            _open_browser(link, tasks)

    async with (
        open_configured(home, settings, url=url, load=start.load, reserve=reserve) as muster,
        stage.staged(muster, home) if demo else nullcontext(),
        serving(
            home,
            muster,
            settings,
            listener,
            ready,
            options=start.options,
            encrypted=start.encrypted,
        ),
    ):
        muster.dispatcher.watch(partial(_tell_settings, home))
        if not demo:
            await continue_session(muster, settings)
        try:
            await _until_stopped(muster, signals, start.notifier)
        finally:
            await tasks.cancel()


def _tell_settings(home: Path, commit: Commit) -> None:
    """Print what became of a changed settings file."""
    for event in commit.events:
        match event.fact:
            case SettingsApplied(changes=changes, waiting=waiting):
                say(clean(f"{SETTINGS_FILE} is in force: {', '.join(changes) or 'as before'}"))
                if waiting:
                    say(f"Restart muster for {', '.join(waiting)}.")
            case SettingsRejected(line=line, what=what, remedy=remedy):
                place = f"{home / SETTINGS_FILE}:{line}" if line else home / SETTINGS_FILE
                say(
                    clean(f"{place}: {what}. {remedy} The earlier settings stay in force."),
                    err=True,
                )
            case _:
                pass


async def _until_stopped(muster: Muster, signals: StopSignals, notifier: Notifier) -> None:
    """Wait until a signal or a request stops muster, and its sessions have had time to finish."""
    stop = OrderlyStop(muster.dispatcher)
    async with background() as beside:
        beside.create_task(_obey(signals, stop, muster.drain_seconds))
        beside.create_task(DrainReport(muster).run())
        beside.create_task(notifier.stay_alive())
        await stop.over()
    notifier.send(STOPPING="1", STATUS="stopping")


async def _obey(signals: StopSignals, stop: OrderlyStop, drain_seconds: float) -> None:
    """The first signal drains, the second stops now."""
    await signals.first.wait()
    await stop.request(signals.reason, drain_seconds=drain_seconds)
    await signals.second.wait()
    await stop.request("asked again", drain_seconds=0)


def _open_browser(link: str, tasks: TaskOwner) -> None:
    """Open the dashboard in a browser, if there is a screen."""
    if has_screen():
        tasks.start(asyncio.to_thread(webbrowser.open, link))
