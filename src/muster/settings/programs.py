"""Values that a program is started with: its command line and its environment, checked."""

from collections.abc import Mapping
from typing import Final, cast

import msgspec

from muster.settings.rules import Rule, WrongError, converted, shown

OUR_VARIABLES: Final = "MUSTER_"
"""Prefix of the variables that muster sets for a session."""

ENVIRONMENT_IN_WORDS: Final = 'a table of texts, such as { NAME = "value" }'

_COMMAND: Final = Rule("Program and arguments.")


def read_command(key: str, value: object) -> tuple[str, ...]:
    """The value of `command`: a program and its arguments."""
    if isinstance(value, str):
        what = f"{key} is {shown(value)}, but no shell reads it"
        raise WrongError(what, f"Write command = {_as_list(value)}.")
    command: tuple[str, ...] = converted(key, value, tuple[str, ...], _COMMAND)
    if not command or not command[0].strip():
        remedy = 'Write command = ["program", "argument"].'
        raise WrongError(f"{key} names no program", remedy)
    for argument in command:
        refuse_nul(key, argument)
    return command


def _as_list(line: str) -> str:
    """A command line as the equivalent TOML list."""
    import shlex  # only mistakes need it

    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    if any(sign in line for sign in "|&;<>$`*?\n"):
        words = ["sh", "-c", line]
    return msgspec.json.encode(words or ["program", "argument"]).decode().replace('","', '", "')


def read_environment(key: str, value: object) -> Mapping[str, str]:
    """The value of `env`: names and texts."""
    if not isinstance(value, dict):
        raise WrongError(f"{key} is {shown(value)}", f"Give {ENVIRONMENT_IN_WORDS}.")
    for variable, content in cast("dict[str, object]", value).items():
        _check_variable(key, variable, content)
    return cast("dict[str, str]", value)


def _check_variable(key: str, variable: str, content: object) -> None:
    here = f"{key}.{variable}"
    if not isinstance(content, str):
        text = shown(content) if isinstance(content, bool | int | float) else ""
        raise WrongError(f"{here} is {shown(content)}", f'Write {variable} = "{text}".')
    if not variable or "=" in variable or "\0" in variable:
        raise WrongError(f"{key} has a variable {variable!r}", "Give it a plain name.")
    if variable.startswith(OUR_VARIABLES):
        raise WrongError(f"{here} is muster's own to set", "Give the variable another name.")
    refuse_nul(here, content)


def refuse_nul(key: str, value: str) -> None:
    """Refuse a text that no program can receive."""
    if "\0" in value:
        raise WrongError(
            f"{key} has a NUL byte in it", "Remove \\u0000: no program can receive it."
        )
