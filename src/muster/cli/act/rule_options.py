"""An option for every rule of a channel, made from the rules themselves."""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import click
import msgspec

from muster.cli.options import Function
from muster.machines.vocabulary import SpeakerOrder, TurnConfig
from muster.settings.turn_rules import TURN_RULES


def rule_options(function: Function) -> Function:
    """Add an option for each rule: `--speaker-order`, `--turns-per-message` and so on."""
    for field in reversed(msgspec.structs.fields(TurnConfig)):
        function = _option(field.name, field.type, field.default)(function)
    return function


# Any: a default is of the rule's own type, and click decorates any function.
def _option(name: str, kind: Any, default: Any) -> Callable[[Any], Any]:  # noqa: ANN401
    flag = "--" + name.replace("_", "-")
    about = f"{TURN_RULES[name].about.rstrip('.')} [{_shown(default)}]."
    if kind is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", default=None, help=about)
    if isinstance(default, Enum):
        return click.option(flag, type=click.Choice([each.value for each in kind]), help=about)
    return click.option(flag, type=kind, metavar="TEXT" if kind is str else "N", help=about)


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return "on" if default else "off"
    return f"{default:g}" if isinstance(default, float) else str(default) or "none"


def given_rules(options: Mapping[str, object]) -> dict[str, object]:
    """The rules that were given, by their names in JSON. A selector implies its speaker order."""
    given = {_in_json(name): value for name, value in options.items() if value is not None}
    if given.get("selector") and "speakerOrder" not in given:
        given["speakerOrder"] = SpeakerOrder.SELECTOR.value
    return given


def _in_json(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)
