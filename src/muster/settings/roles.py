"""Checks of an agent's script (the lines that it says) and of its soul."""

from muster import limits
from muster.errors import Refused
from muster.machines.bounds import check_soul
from muster.settings.programs import refuse_nul
from muster.settings.rules import WrongError, shown


def check_script(key: str, lines: tuple[str, ...]) -> None:
    """Refuse a script that no process can be given, or that says nothing at all."""
    if len(lines) > limits.SCRIPT_LINES_MAX:
        what = f"{key} has {len(lines)} lines"
        raise WrongError(what, f"Give at most {limits.SCRIPT_LINES_MAX}.")
    if lines and not any(lines):
        raise WrongError(f"{key} has no words", "Give one line at least; an empty one is a pass.")
    for line in lines:
        refuse_nul(key, line)
        if len(line) > limits.SCRIPT_LINE_CHARS_MAX:
            remedy = f"Give a line at most {limits.SCRIPT_LINE_CHARS_MAX} characters."
            raise WrongError(f"{key} has the line {shown(line)}", remedy)


def check_soul_text(key: str, soul: str) -> None:
    """Refuse a soul that the log would refuse."""
    try:
        check_soul(key, soul)
    except Refused as refused:
        remedy = f"Shorten it to {limits.SOUL_BYTES_MAX // 1024} KiB."
        raise WrongError(str(refused).rstrip("."), remedy) from None
