"""Permission rules of Claude Code: what a permission for longer than once would set.

The program suggests rules with a request where it knows some ("Bash(npm test:*)"). For the others
the narrowest rule is made here: the file that is written, or the tool. The program itself keeps the
rules, for the session in its memory, for good in one of its settings files.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from claude_agent_sdk import PermissionUpdate
from claude_agent_sdk.types import PermissionRuleValue, PermissionUpdateDestination

from muster.machines.vocabulary import ApprovalScope
from muster.runtimes.claude.reading import Input

_FILE_TOOLS: Final = ("Write", "Edit", "MultiEdit", "NotebookEdit")
"""The tools that write a file: a rule for `Edit` holds for all of them."""

_SHELL: Final = "Bash"

_FILES: Final[tuple[tuple[str, PermissionUpdateDestination], ...]] = (
    ("local", "localSettings"),
    ("project", "projectSettings"),
    ("user", "userSettings"),
)
"""Where a rule is kept for good: the first of these files that the program reads."""


def offered_rules(
    tool: str, given: Input, suggested: Iterable[PermissionUpdate], cwd: Path
) -> list[PermissionRuleValue]:
    """The rules that would allow this call, and calls of its kind, from now on."""
    found = [
        rule
        for update in suggested
        if update.type == "addRules" and update.behavior == "allow"
        for rule in update.rules or ()
    ]
    return found or [_narrowest(tool, given, cwd)]


def _narrowest(tool: str, given: Input, cwd: Path) -> PermissionRuleValue:
    if tool in _FILE_TOOLS:
        path = cwd / str(given.get("file_path") or given.get("notebook_path") or "")
        return PermissionRuleValue("Edit", f"/{path}")  # two slashes: from the root on
    if tool == _SHELL:
        return PermissionRuleValue(tool, str(given.get("command", "")))
    return PermissionRuleValue(tool)


def rule_text(rule: PermissionRuleValue) -> str:
    """A rule as it stands in a settings file."""
    return f"{rule.tool_name}({rule.rule_content})" if rule.rule_content else rule.tool_name


def updates(
    rules: Sequence[PermissionRuleValue], scope: ApprovalScope, sources: Sequence[str]
) -> list[PermissionUpdate] | None:
    """Rules that the program is told to keep; none for a permission that holds once."""
    if scope is ApprovalScope.ONCE:
        return None
    kept = _kept_in(sources) if scope is ApprovalScope.ALWAYS else "session"
    return [
        PermissionUpdate(type="addRules", rules=list(rules), behavior="allow", destination=kept)
    ]


def _kept_in(sources: Sequence[str]) -> PermissionUpdateDestination:
    for source, file in _FILES:
        if source in sources:
            return file
    return "session"  # it reads none of them
