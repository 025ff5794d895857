"""`muster restore`: a home from a backup."""

import asyncio
from pathlib import Path

import click

from muster.backup.restoring import Restored, restore_backup
from muster.cli.options import home_option
from muster.cli.progress import ProgressLine
from muster.cli.render import clean, count
from muster.engine.system import SystemClock
from muster.machines.vocabulary import RunMode


@click.command()
@home_option
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def restore(home: Path, file: Path) -> None:
    """Restore the team of a backup, as a new home.

    FILE was written by `muster backup`. The home must not exist yet, or be empty. Every byte is
    checked first; a backup that is damaged changes nothing. All tokens end: `muster up` makes a new
    one for the operator, and agents that connect by themselves need new ones.
    """
    with ProgressLine() as line:
        restored = asyncio.run(restore_backup(file, home, SystemClock(), line.show))
    click.echo(clean(_told(restored, home)))
    if names := _wanted(restored):
        click.echo(clean(f"`muster up` will run: {', '.join(names)}."))


def _told(restored: Restored, home: Path) -> str:
    made = f"{restored.manifest.made_at:%Y-%m-%d %H:%M} UTC"
    agents = count(len(restored.team.agents), "agent")
    events = count(restored.manifest.events, "event")
    return f"{home}: the team of {made}, {agents}, {events}. All tokens ended."


def _wanted(restored: Restored) -> list[str]:
    agents = restored.team.agents.values()
    wanted = [agent for agent in agents if agent.run.desired is not RunMode.PAUSE]
    return [agent.id for agent in wanted]
