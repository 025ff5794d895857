"""Slash commands: prompts that are meant for Claude Code, and not for its model.

The program runs `/compact`, `/clear`, commands of the project and skills itself, if it gets them as
they are. It names those that it has when a piece of work begins. `/model` and `/mode` it leaves to
whoever runs it: they are requests of its protocol.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, get_args

from muster.settings.agent_programs import PermissionMode
from muster.settings.rules import is_name

_COMMAND: Final = re.compile(r"/([a-zA-Z][\w:.-]*)(?:\s+(.*))?", re.DOTALL)

MODEL: Final = "model"
MODE: Final = "mode"
MODES: Final = get_args(PermissionMode)
_ALWAYS: Final = (MODEL, MODE, "compact", "clear")


class SlashCommand(NamedTuple):
    """A command and its arguments."""

    name: str
    argument: str = ""

    @property
    def is_setting(self) -> bool:
        """Whether it changes a setting of the session, and needs no work."""
        return self.name in (MODEL, MODE) and bool(self.argument)

    @property
    def is_acceptable(self) -> bool:
        """Whether the setting has a value that the program may be asked for."""
        return self.argument in MODES if self.name == MODE else is_name(self.argument)


def slash_command(text: str, known: Sequence[str]) -> SlashCommand | None:
    """The command that a text is, if the program has it; before it has named any, any word is."""
    found = _COMMAND.fullmatch(text.strip())
    if found is None:
        return None
    name = found[1]
    if known and name not in known and name not in _ALWAYS:
        return None
    return SlashCommand(name, (found[2] or "").strip())
