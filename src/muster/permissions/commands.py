"""The effects of a command line, with every handler of a known program."""

from __future__ import annotations

from muster.permissions.programs import archives, editors, git, readers, tools, wrappers
from muster.permissions.shell import builtins
from muster.permissions.shell.effects import Scene
from muster.permissions.shell.words import NUMBERED, NotUnderstood

_OCTAL_DIGITS = (3, 4)  # of `\\043` in a format, and of `\\0043` for `echo -e`
_DIGITS = {8: "01234567", 16: "0123456789abcdefABCDEF"}

HANDLERS = (
    builtins.HANDLERS
    | git.HANDLERS
    | readers.HANDLERS
    | editors.HANDLERS
    | archives.HANDLERS
    | tools.HANDLERS
    | wrappers.HANDLERS
)


def acts_of(command: str, cwd: str) -> Scene:
    """The effects of a command line that is run in this folder."""
    scene = Scene(cwd, HANDLERS)
    try:
        scene.shell(command)
    except NotUnderstood as unclear:
        scene.doubt(unclear.rule, str(unclear))
    except RecursionError:
        scene.doubt("not-understood", "the command is nested too deeply")
    if any(act.kind == "write" for act in scene.acts) and any(map(_begins_program, scene.texts)):
        scene.doubt("shebang", "text that begins with '#!' is written to a file")
    return scene


def _begins_program(text: str) -> bool:
    if text.startswith("\\") and "!" in text[:8]:
        return True
    return any(_first_two(text, octal) == "#!" for octal in _OCTAL_DIGITS)


def _first_two(text: str, octal: int) -> str:
    """The first two characters, as `printf` and `echo -e` write a text with escapes."""
    first, rest = _character(text, octal)
    return first + _character(rest, octal)[0]


def _character(text: str, octal: int) -> tuple[str, str]:
    """The first character of a text, which may be the number of one, and the rest."""
    base, most = NUMBERED.get(text[1:2], (8, octal))
    start = 1 if base == 8 else 2
    end = start
    while end < min(start + most, len(text)) and text[end] in _DIGITS[base]:
        end += 1
    if text[:1] != "\\" or end == start:
        return text[:1], text[1:]
    number = int(text[start:end], base)
    return chr(number % 0x100 if base == 8 else min(number, 0x10FFFF)), text[end:]
