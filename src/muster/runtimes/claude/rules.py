"""Permission rules of Claude Code: what a permission for longer than once would set.

The program suggests rules with a request where it knows some ("Bash(npm test:*)"). For the others
the narrowest rule is made here: the file that is written, or the tool. The program itself keeps the
rules, for the session in its memory, for good in one of its settings files.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from muster.machines.vocabulary import ApprovalScope
from muster.runtimes.claude.protocol.messages import Data
from muster.runtimes.prompted.json_lines import JsonObject

_FILE_TOOLS: Final = ("Write", "Edit", "MultiEdit", "NotebookEdit")
"""The tools that write a file: a rule for `Edit` holds for all of them."""

_SHELL: Final = "Bash"

_Kept = Literal["session", "localSettings", "projectSettings", "userSettings"]

_FILES: Final[tuple[tuple[str, _Kept], ...]] = (
    ("local", "localSettings"),
    ("project", "projectSettings"),
    ("user", "userSettings"),
)
"""Where a rule is kept for good: the first of these files that the program reads."""


class PermissionRule(msgspec.Struct, frozen=True, rename="camel"):
    """A tool, and for which of its calls; all where nothing is said."""

    tool_name: str
    rule_content: str | None = None


class RuleUpdate(msgspec.Struct, frozen=True):
    """A change of the rules, as the program suggests it."""

    type: str
    behavior: str | None = None
    rules: tuple[PermissionRule, ...] | None = None


def suggested_updates(suggested: object) -> list[RuleUpdate]:
    """The changes that the program suggests with a request; none where they are not understood."""
    try:
        return msgspec.convert(suggested or [], list[RuleUpdate])
    except msgspec.ValidationError:
        return []


def offered_rules(
    tool: str, given: Data, suggested: Iterable[RuleUpdate], cwd: Path
) -> list[PermissionRule]:
    """The rules that would allow this call, and calls of its kind, from now on."""
    found = [
        rule
        for update in suggested
        if update.type == "addRules" and update.behavior == "allow"
        for rule in update.rules or ()
    ]
    return found or [_narrowest(tool, given, cwd)]


def _narrowest(tool: str, given: Data, cwd: Path) -> PermissionRule:
    if tool in _FILE_TOOLS:
        path = cwd / str(given.get("file_path") or given.get("notebook_path") or "")
        return PermissionRule("Edit", f"/{path}")  # two slashes: from the root on
    if tool == _SHELL:
        return PermissionRule(tool, str(given.get("command", "")))
    return PermissionRule(tool)


def rule_text(rule: PermissionRule) -> str:
    """A rule as it stands in a settings file."""
    return f"{rule.tool_name}({rule.rule_content})" if rule.rule_content else rule.tool_name


def updates(
    rules: Sequence[PermissionRule], scope: ApprovalScope, sources: Sequence[str]
) -> list[JsonObject] | None:
    """Rules that the program is told to keep; none for a permission that holds once."""
    if scope is ApprovalScope.ONCE:
        return None
    kept = _kept_in(sources) if scope is ApprovalScope.ALWAYS else "session"
    wired = [msgspec.to_builtins(rule) for rule in rules]
    return [{"type": "addRules", "destination": kept, "rules": wired, "behavior": "allow"}]


def _kept_in(sources: Sequence[str]) -> _Kept:
    for source, file in _FILES:
        if source in sources:
            return file
    return "session"  # it reads none of them
