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

from muster.claude_plugin.hooks.calls import POLICY_EVENT, RECORD_EVENT

SOURCE: Final = Path(__file__).parent / "plugin"
"""The folder of the shipped plugin."""

MANIFEST: Final = Path(".claude-plugin", "plugin.json")
HOOKS: Final = Path("hooks", "hooks.json")

TOOL_EVENTS: Final = (POLICY_EVENT, RECORD_EVENT)
"""Hooks of every tool call; they run without a shell, which would make them slower."""

Json = Any  # any JSON value


def write_copy(folder: Path) -> None:
    """Write a copy beside the older one, then replace that one."""
    aside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    shutil.copytree(SOURCE, aside, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    hooks = json.loads((aside / HOOKS).read_text(encoding="utf-8"))
    (aside / HOOKS).write_text(as_text(_with_this_python(hooks)), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    aside.rename(folder)


def _with_this_python(given: Json) -> Json:
    """The hooks, run by the Python that runs muster, from its installed file.

    If muster is uninstalled, the policy hook fails, which denies. The hooks of a prompt must not
    block it then, so a shell tests for the file first: Python exits with 2 without its file.
    """
    program = str(SOURCE / "hook.py")
    for event, groups in given["hooks"].items():
        run = [sys.executable, "-I", "-S", program, event]
        for hook in (hook for group in groups for hook in group["hooks"]):
            if event in TOOL_EVENTS:
                hook["command"], hook["args"] = run[0], run[1:]
            else:
                del hook["args"]
                hook["command"] = (
                    f"test -f {shlex.quote(program)} || exit 0; exec {shlex.join(run)}"
                )
    return given


def as_text(value: Json) -> str:
    """JSON, indented for people."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
