"""Credentials of the programs of makers, as far as they can be seen without asking the program."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

CLAUDE_SIGNS: Final = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    ".claude/.credentials.json",
)
"""Variables, and files in the user's folder, by which Claude Code is signed in."""

NOT_FOUND: Final = "no sign-in found"


def sign_in_of(signs: tuple[str, ...], env: Mapping[str, str]) -> str:
    """How a program is signed in, with the variables of its agent, in words."""
    for each in signs:
        is_file = each.startswith(".")
        if (Path.home() / each).exists() if is_file else (env.get(each) or os.environ.get(each)):
            return f"signed in by {'~/' if is_file else ''}{each}"
    return NOT_FOUND
