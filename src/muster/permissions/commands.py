"""The effects of a command line, with every handler of a known program."""

from __future__ import annotations

from muster.permissions import shebang
from muster.permissions.programs import archives, editors, git, readers, tools, wrappers
from muster.permissions.shell import builtins
from muster.permissions.shell.effects import Scene
from muster.permissions.shell.words import NotUnderstood

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
    if any(act.kind == "write" for act in scene.acts) and any(
        shebang.writes_program(program, texts) for program, texts in scene.texts
    ):
        scene.doubt("shebang", "text that begins with '#!' is written to a file")
    return scene
