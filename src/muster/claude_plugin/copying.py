"""Copies of the plugin whose hooks run on the Python that muster runs on.

The shipped plugin runs its hooks with the `python3` on the PATH. A copy names this Python, and the
file of muster that the hooks run, so an update of muster also updates the hooks.
"""

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, Final

from muster.claude_plugin.hooks.calls import COMMAND_EVENT, POLICY_EVENT
from muster.claude_plugin.plugin.client import SESSIONS_FILE, TEAM_SESSION_FILE

SOURCE: Final = Path(__file__).parent / "plugin"
"""The folder of the shipped plugin."""

MANIFEST: Final = Path(".claude-plugin", "plugin.json")
HOOKS: Final = Path("hooks", "hooks.json")

GONE: Final = Path("hooks", "gone.sh")
"""The script for hooks whose muster is gone. It is a file, because Claude Code shows the command
line of a hook that was killed."""

_RUN: Final = 'test -x "$1" && test -f "$4" && exec "$@"; test ! -f "$0" || . "$0"'
"""A shell runs the program and arguments that it is given, if the program and its file exist."""

_REMEDY: Final = (
    "muster is gone from this machine, and its plugin for Claude Code is still installed. To "
    "remove the plugin, delete muster@muster and the marketplace muster from "
    "~/.claude/settings.json (or .claude/settings.local.json of the project), and the folder "
    "hooks/muster beside that file."
)
_WHY: Final = f"A state machine session is open here, and nothing can enforce it. {_REMEDY}"
_DENIED: Final = {
    "hookEventName": POLICY_EVENT,
    "permissionDecision": "deny",
    "permissionDecisionReason": _WHY,
}
_IS_OPEN: Final = (
    f'test -s "${{CLAUDE_PROJECT_DIR:-.}}/{SESSIONS_FILE.decode()}" || '
    f'test -s "${{MUSTER_HOME:-${{CLAUDE_PROJECT_DIR:-.}}/.muster}}{TEAM_SESSION_FILE.decode()}"'
)
_TOLD: Final = (
    f"if {_IS_OPEN}; "
    f"then echo {shlex.quote(json.dumps({'hookSpecificOutput': _DENIED}))}; "
    f"else echo {shlex.quote(json.dumps({'systemMessage': _REMEDY}))}; fi"
)
"""Without muster only a project with an open session is denied its tools; others are told."""

_BLOCKED: Final = (
    f"if {_IS_OPEN}; then echo {shlex.quote(json.dumps({'decision': 'block', 'reason': _WHY}))}; fi"
)
"""Nor are commands expanded there."""

Json = Any  # any JSON value


def write_copy(folder: Path) -> None:
    """Write a copy beside the older one, then replace that one."""
    aside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    shutil.copytree(SOURCE, aside, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    hooks = json.loads((aside / HOOKS).read_text(encoding="utf-8"))
    (aside / HOOKS).write_text(as_text(_with_this_python(hooks)), encoding="utf-8")
    (aside / GONE).write_text(
        f'if test "$5" = {POLICY_EVENT}; then {_TOLD}; fi\n'
        f'if test "$5" = {COMMAND_EVENT}; then {_BLOCKED}; fi\n',
        encoding="utf-8",
    )
    shutil.rmtree(folder, ignore_errors=True)
    aside.rename(folder)


def _with_this_python(given: Json) -> Json:
    """The hooks, run by the Python that runs muster, from its installed file.

    Both can be gone one day, and the plugin is there still. So a shell looks for them first.
    """
    program = str(SOURCE / "hook.py")
    gone = f"${{CLAUDE_PLUGIN_ROOT}}/{GONE}"
    for event, groups in given["hooks"].items():
        for hook in (hook for group in groups for hook in group["hooks"]):
            hook["command"] = "/bin/sh"
            hook["args"] = ["-c", _RUN, gone, sys.executable, "-I", "-S", program, event]
    return given


def as_text(value: Json) -> str:
    """JSON, indented for people."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
