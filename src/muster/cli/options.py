"""Options that several verbs share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])  # as click types what it decorates


def _chosen_home(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path:
    """The home named after the verb, else the one before it, its variable or its default."""
    return (value or ctx.find_root().params["home"]).absolute()


def home_option(function: Function) -> Function:
    """Give a verb its `home`, absolute."""
    return click.option(
        "--home",
        type=click.Path(path_type=Path),
        callback=_chosen_home,
        help="Folder of the team [MUSTER_HOME; .muster].",
    )(function)


def json_option(about: str) -> Callable[[Function], Function]:
    """Add `--json` to a verb."""
    return click.option("--json", "as_json", is_flag=True, help=about)
