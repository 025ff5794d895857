"""Prompt templates ("letters"): texts for agents that a user can replace.

A file in the folder `letters` of the home replaces the built-in template of the same name. Each new
session reads it again, so a change applies without a restart.
"""

import logging
from pathlib import Path
from typing import Final

from muster.regular_files import read_regular

FOLDER: Final = "letters"
OWN: Final = Path(__file__).parent / "templates"

BIRTH: Final = "birth"
WAKE: Final = "wake"
LEAD: Final = "lead"
HOST: Final = "host"
"""For a lead whose agents run in sessions of their own."""

log = logging.getLogger(__name__)


class PromptTemplates:
    """The prompt templates of one team."""

    def __init__(self, home: Path | None = None) -> None:
        """Use the templates in this home, where there are any."""
        self._home = home

    def write(self, letter: str, /, **words: object) -> str:
        """A template with its fields filled in; a user's malformed one is logged and not used."""
        own = (OWN / f"{letter}.md").read_text(encoding="utf-8")
        theirs = self._theirs(letter)
        if theirs is not None:
            try:
                return theirs.format(**words).strip()
            except (KeyError, IndexError, ValueError) as error:
                extra = {"action": "letter_refused", "letter": letter}
                log.warning("the letter %r cannot be filled in: %r", letter, error, extra=extra)
        return own.format(**words).strip()

    def _theirs(self, name: str) -> str | None:
        if self._home is None:
            return None
        try:
            return read_regular(self._home / FOLDER / f"{name}.md").decode()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            extra = {"action": "letter_refused", "letter": name}
            log.warning("the letter %r cannot be read: %s", name, error, extra=extra)
            return None
