"""The parts of a command file that run past the hooks: inline shell commands, hooks and subagents.

The rules are wider than Claude Code's own. It looks for `` !`cmd` `` after a blank, and for fences
that begin with three backticks and `!`, in the text with the typed arguments in it. So a
placeholder may complete what is no command in the file: it becomes empty without arguments, and a
person may type a backtick or a `!` in its place.
"""

import re
from typing import Final

_INLINE: Final = re.compile(r"(?<!`)!(?:`[^`\n]*`?|\$\w*)")

# Possessive, so that a megabyte of backticks is read once.
_RUN: Final = re.compile(r"(?P<run>(?:`|\$[^\s`!$]*+)++)(?P<bang>!?)")
"""Backticks and placeholders in a row: what may become the begin of a fence or of a command."""

_FRONTMATTER: Final = re.compile(r"\ufeff?---[^\n]*\n(.*?)^---", re.DOTALL | re.MULTILINE)

_KEY: Final = r"^[ \t]*[\"']?%s[\"']?[ \t]*:[ \t]*(.*)$"
_HOOKS: Final = re.compile(_KEY % "hooks", re.MULTILINE)
_CONTEXT: Final = re.compile(_KEY % "context", re.MULTILINE)

_UNUSUAL: Final = re.compile(
    r"^[ \t]*(?:\{|\?[ \t]|<<|[&!][^ \t\n]*[ \t]|\*[^ \t\n]+[ \t]*:|\"[^\n]*\\[^\n]*\"[ \t]*:)",
    re.MULTILINE,
)
"""YAML in which a key may be hidden: in braces, with an anchor, a tag, an alias or an escape."""

SHOWN_CHARS: Final = 80


def inline_command(text: str) -> str:
    """The first part of a text that may become a shell command; empty if there is none."""
    found = _INLINE.search(text)
    if found is not None:
        return found[0][:SHOWN_CHARS]
    found = next(filter(_may_run, _RUN.finditer(text)), None)
    # With what follows, so that a person recognises the place.
    return "" if found is None else " ".join(text[found.start() :][:SHOWN_CHARS].split())


def _may_run(found: re.Match[str]) -> bool:
    """Whether a run may begin a fence, or become a command by a typed `!`."""
    run, before = found["run"], found.string[found.start() - 1 : found.start()]
    if found["bang"]:
        return "```" in run or "$" in run
    is_after_blank = run[0] == "$" and not before.strip()
    return "```$" in run or (is_after_blank and "`" in run)


def frontmatter_of(text: str) -> str:
    """The settings above the text of a command."""
    found = _FRONTMATTER.match(text)
    return "" if found is None else found[1]


def has_hooks(frontmatter: str) -> bool:
    """Whether a command brings hooks of its own, which are shell commands too."""
    return bool(_HOOKS.search(frontmatter))


def starts_subagent(frontmatter: str) -> bool:
    """Whether a command runs in a subagent of its own."""
    return any(each[1].strip(" \t\r\"'") != "inline" for each in _CONTEXT.finditer(frontmatter))


def is_unusual(frontmatter: str) -> bool:
    """Whether keys may be hidden in the settings of a command."""
    return bool(_UNUSUAL.search(frontmatter))
