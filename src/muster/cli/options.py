"""Options that several verbs share."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from muster.home.folder import require_own

Function = TypeVar("Function", bound=Callable[..., Any])  # as click types what it decorates


def _chosen_home(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path:
    """The home named after the verb, else the one before it, its variable or its default."""
    home: Path = (value or ctx.find_root().params["home"]).absolute()
    require_own(home)
    return home


class Seconds(click.FloatRange):
    """A number of seconds above zero. Python also reads `nan` and `inf` as numbers."""

    def __init__(self) -> None:
        """Take more than nothing."""
        super().__init__(min=0, min_open=True)

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Convert, or say that it is no number of seconds."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number of seconds.", param, ctx)
        return number


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


def is_home_named() -> bool:
    """Whether the option or the variable of the home was given."""
    context = click.get_current_context()
    sources = [each.get_parameter_source("home") for each in (context, context.find_root())]
    return any(source not in (None, ParameterSource.DEFAULT) for source in sources)
