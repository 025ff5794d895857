"""Copies of the plugin whose hooks run on the Python that muster runs on.

The plugin as it is shipped runs its hooks on whatever `python3` is. A copy names this Python, and
the file of muster that the hooks run, so an update of muster is an update of the hooks.
"""

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, Final

from muster.claude_plugin.hooks.calls import POLICY_EVENT, RECORD_EVENT

SOURCE: Final = Path(__file__).parent / "plugin"
"""The plugin as it is shipped."""

MANIFEST: Final = Path(".claude-plugin", "plugin.json")
HOOKS: Final = Path("hooks", "hooks.json")

TOOL_EVENTS: Final = (POLICY_EVENT, RECORD_EVENT)
"""The hooks of every tool call, which no shell should make slower."""

Json = Any  # whatever JSON holds


def write_copy(folder: Path) -> None:
    """Write a copy aside, then put it in the place of an older one."""
    aside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    shutil.copytree(SOURCE, aside, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    hooks = json.loads((aside / HOOKS).read_text(encoding="utf-8"))
    (aside / HOOKS).write_text(as_text(_with_this_python(hooks)), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    aside.rename(folder)


def _with_this_python(given: Json) -> Json:
    """The hooks, run by the Python that runs muster, from the file that belongs to it.

    If muster is not there any more, the policy hook fails, which denies. Those beside a prompt must
    not get in the way then, so a shell looks first: a Python that misses its file ends with 2.
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
    """JSON as a person likes to read it."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
