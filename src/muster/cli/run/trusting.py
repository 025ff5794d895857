"""Asks before programs are run that a home from a repository names."""

import os
import sys
from pathlib import Path
from typing import Final

import click

from muster.cli.render import clean
from muster.cli.run.trusted_homes import approve, came_with_repository, is_approved, programs_of
from muster.cli.saying import say
from muster.errors import HomeNotTrusted
from muster.home.folder import HOME_FOLDER
from muster.settings.model import SETTINGS_FILE, Settings

SHOWN_MAX: Final = 50
"""Programs that are listed; a person reads no more before an answer."""


def require_trust(home: Path, settings: Settings, *, is_given: bool = False) -> None:
    """Refuse a home that came with a repository, unless the user approves it or has done so."""
    if not came_with_repository(home) or is_approved(home, os.environ):
        return
    if not is_given:
        _ask(home, settings)
    try:
        approve(home, os.environ)
    except OSError as failed:
        say(clean(f"The approval of {home} cannot be kept: {failed}"), err=True)


def _ask(home: Path, settings: Settings) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise HomeNotTrusted(home=home, programs=_programs(settings))
    say(clean(f"{home} came with its git repository. As you, it would run {_programs(settings)}."))
    click.confirm(f"Do you trust the authors of {clean(str(home / SETTINGS_FILE))}?", abort=True)


def _programs(settings: Settings) -> str:
    named = [f"{program!r} ({table})" for table, program in programs_of(settings)]
    more = f" and {len(named) - SHOWN_MAX} more" if len(named) > SHOWN_MAX else ""
    return (", ".join(named[:SHOWN_MAX]) or f"what its {HOME_FOLDER} folder says") + more
