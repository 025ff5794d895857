"""`muster notify`: tries the targets of notifications, from here and without a server."""

import os
from pathlib import Path

import click

from muster.cli.options import home_option
from muster.cli.render import clean
from muster.errors import NotFound
from muster.machines.vocabulary import NeedKind
from muster.notify.notification import Notification, NotificationBatch
from muster.notify.targets import DeliveryFailed, deliver
from muster.settings.model import load_settings

FAILED = 1


@click.command()
@home_option
@click.argument("targets", nargs=-1)
@click.pass_context
def notify(ctx: click.Context, home: Path, targets: tuple[str, ...]) -> None:
    """Send a test notification to targets of muster.toml.

    Without TARGETS, all `[notify.NAME]` tables are tried. The exit code is 1 where a target could
    not be told. Secrets are read from the environment of this command; a server has its own.
    """
    settings = load_settings(home, os.environ)
    for name in targets:
        if name not in settings.notify:
            raise NotFound(kind="notification target", name=name)
    chosen = targets or tuple(settings.notify)
    if not chosen:
        click.echo("muster.toml has no [notify.NAME] table.")
    url = f"http://{settings.server.host}:{settings.server.port}/"
    for name in chosen:
        try:
            deliver(settings.notify[name], _sample(url), os.environ)
        except DeliveryFailed as failed:
            click.echo(clean(f"{name}: failed: {failed}"), err=True)
            ctx.exit(FAILED)
        click.echo(clean(f"{name}: told"))


def _sample(url: str) -> NotificationBatch:
    sample = Notification(
        key="test",
        topic="needs",
        kind=NeedKind.QUESTION,
        title="A test of muster",
        text="This is how you are told what needs you.",
        url=url,
    )
    return NotificationBatch(notifications=(sample,), url=url)
