"""Serving a team that is open: HTTP and hooks, from the first request to the last.

A process that keeps a log open serves it, so that other commands are its clients: `muster up` for a
team, `muster ask` for a state machine session that nobody else serves.
"""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

from muster.claude_plugin.hooks import server as hooks
from muster.claude_plugin.hooks.desk import HookDesk
from muster.engine.tasks import background, run_to_completion
from muster.errors import BadSettings
from muster.home import address, operator_token
from muster.http import app as http
from muster.http.auth import new_token, token_of
from muster.http.server import HttpServer, TlsFiles, serve_until, url_of
from muster.http.signing_in.codes import sign_in_link
from muster.http.signing_in.digests import digest
from muster.http.signing_in.trusted_header import TrustedHeader
from muster.machines.commands import RevokeToken
from muster.machines.ids import HERE, MUSTER
from muster.machines.vocabulary import Role
from muster.settings.model import SETTINGS_FILE, Settings
from muster.settings.rules import WrongError
from muster.team import Muster

UNIT_VARIABLE: Final = "MUSTER_UNIT"
"""Set by the unit that `muster service install` writes."""


class EncryptedListener(NamedTuple):
    """The socket that people connect to with TLS, and its certificate."""

    listener: socket.socket
    files: TlsFiles


def public_url(settings: Settings, encrypted: EncryptedListener | None) -> str:
    """The address that people use, if it is another one than that of programs."""
    own = "" if encrypted is None else url_of(encrypted.listener)
    return settings.server.public_url.rstrip("/") or own.replace("http://", "https://", 1)


def trusted_header(home: Path, settings: Settings) -> TrustedHeader:
    """The header that names people. Raises `BadSettings` where anybody could send it."""
    try:
        return TrustedHeader.of(settings.server, os.environ)
    except WrongError as wrong:
        path = home / SETTINGS_FILE
        raise BadSettings(path=path, line=0, what=wrong.what, remedy=wrong.remedy) from None


@asynccontextmanager
async def serving(
    home: Path,
    muster: Muster,
    settings: Settings,
    listener: socket.socket,
    ready: Callable[[str], None] = lambda link: None,
    *,
    options: tuple[str, ...] = (),
    encrypted: EncryptedListener | None = None,
) -> AsyncGenerator[None]:
    """Answer requests and hooks while this is entered; `ready` is given a link to sign in.

    With an encrypted listener, people use that, and `listener` is for programs of this machine.
    """
    secret = await _operator_secret(home, muster)
    stop, up = asyncio.Event(), asyncio.Event()
    public = public_url(settings, encrypted)

    def publish() -> None:
        address.publish(home, own_address(listener, options, public))
        ready(sign_in_link(public or url_of(listener), api.sign_in_code(digest(secret))))
        up.set()

    trusted = trusted_header(home, settings)
    api = http.build(
        muster, host=settings.server.host, home=home, public_url=public, trusted=trusted
    )
    if encrypted is None:
        answered = [(HttpServer(api, publish, on_end=api.end_waiting), listener)]
    else:
        secure = HttpServer(api, publish, on_end=api.end_waiting, tls=encrypted.files)
        answered = [(HttpServer(api, lambda: None), listener), (secure, encrypted.listener)]
    desk = HookDesk.of_team(muster, home, settings)
    async with hooks.serving(home, desk), background() as tasks:
        answering = [
            tasks.create_task(serve_until(stop, server, where)) for server, where in answered
        ]
        tasks.create_task(desk.run())
        try:
            await up.wait()
            yield
        finally:
            stop.set()
            await run_to_completion(_ended(answering))
            address.withdraw(home)


def own_address(
    listener: socket.socket, options: tuple[str, ...] = (), public_url: str = ""
) -> address.Address:
    """The address of this process; `options` are those that it was started with."""
    return address.Address(
        url=url_of(listener),
        pid=os.getpid(),
        options=options,
        public_url=public_url,
        unit=os.environ.get(UNIT_VARIABLE, ""),
    )


async def _ended(answering: Sequence[asyncio.Task[None]]) -> None:
    await asyncio.wait(answering)


async def _operator_secret(home: Path, muster: Muster) -> str:
    """The secret in the operator's file; without a valid one, a new token replaces older ones."""
    found = operator_token.find(home)
    token = token_of(muster.team, found)
    if found is not None and token is not None and token.role is Role.OPERATOR:
        return found
    note = operator_token.note_of(muster.dispatcher.node, HERE)
    command, secret = new_token(muster.ids, Role.OPERATOR, note=note)
    operator_token.keep(home, secret)
    outdated = [token.id for token in muster.team.tokens.values() if token.note == note]
    await muster.dispatcher.send(command, actor=MUSTER)
    for token_id in outdated:
        await muster.dispatcher.send(RevokeToken(token_id=token_id), actor=MUSTER)
    return secret
