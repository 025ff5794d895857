"""How a demo agent fixes a bug of the story: in a real file, with a real check, and one question.

Each step is a tool call that muster is told of. Before the dangerous command a person is asked; if
nobody answers within a minute, the folder stays.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from muster.client.approvals import approval, request_approval
from muster.client.sync import Client
from muster.demo.story import COMMAND, Bug
from muster.errors import MusterError

STEP_SECONDS: Final = 2.5
"""Pause before the end of a step: long enough to see it at work."""

ANSWER_SECONDS: Final = 60.0
"""How long a person is asked; nobody has to stay for the story to go on."""

LOOK_SECONDS: Final = 0.5


Outcome = tuple[bool, str]
Work = Callable[[], Outcome]
"""A step: whether it went well, and its result."""


class BugFix:
    """Fixes one bug in a folder."""

    def __init__(self, bug: Bug, folder: Path) -> None:
        """Prepare the folder: the file with the bug, and what an earlier build left."""
        self._bug = bug
        self._folder = folder
        self._file = folder / bug.file
        self._steps = 0
        self._pace = float(os.environ.get("DEMO_PACE", "1"))
        (folder / "build").mkdir(parents=True, exist_ok=True)
        (folder / "build" / "old.bin").write_bytes(b"\0" * 64)
        self._file.write_text(bug.wrong, encoding="utf-8")

    def fix(self) -> str:
        """Fix the bug, and report it."""
        bug, name = self._bug, str(self._file)
        self._step("Read", {"file_path": name}, lambda: (True, self._file.read_text()))
        self._step("Bash", {"command": f'python -c "{bug.check}"'}, self._check)
        change = {"file_path": name, "old_string": bug.wrong, "new_string": bug.right}
        self._step("Edit", change, self._edit)
        self._step("Bash", {"command": f'python -c "{bug.check}"'}, self._check)
        built = self._clean()
        return f"{bug.file} is fixed, and its check passes. {built}"

    def _clean(self) -> str:
        if not self._is_allowed():
            return "The old build is still there: nobody allowed me to remove it."
        self._step("Bash", {"command": COMMAND}, self._remove)
        return "The old build is gone, as a person allowed."

    # ── steps ─────────────────────────────────────────────────────────────────────────────────────

    def _step(self, tool: str, given: dict[str, str], work: Work) -> None:
        """One tool call: it begins, takes a moment, and has a result."""
        self._steps += 1
        ref = f"step-{self._steps}"
        tell(type="tool_call", id=ref, name=tool, input=given)
        threading.Event().wait(STEP_SECONDS * self._pace)
        ok, text = work()
        tell(type="tool_result", id=ref, text=text, ok=ok)

    def _check(self) -> Outcome:
        ran = subprocess.run(
            [sys.executable, "-B", "-c", self._bug.check],
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=False,
        )
        return ran.returncode == 0, ran.stderr.strip().rpartition("\n")[2] or "ok"

    def _edit(self) -> Outcome:
        self._file.write_text(self._bug.right, encoding="utf-8")
        return True, "1 file changed"

    def _remove(self) -> Outcome:
        shutil.rmtree(self._folder / "build")
        return True, ""

    # ── the question ──────────────────────────────────────────────────────────────────────────────

    def _is_allowed(self) -> bool:
        """Ask a person for the dangerous command, and wait for the answer."""
        try:
            with Client(os.environ["MUSTER_URL"], os.environ["MUSTER_TOKEN"]) as client:
                detail = f"{COMMAND}  (in {self._folder.name}/)"
                asked = client.ask(request_approval("Bash", detail, seconds=ANSWER_SECONDS))
                while asked.open:
                    threading.Event().wait(LOOK_SECONDS)
                    asked = client.ask(approval(asked.id))
                return bool(asked.allow)
        except (MusterError, KeyError):
            return False


def tell(**said: object) -> None:
    """Report what the program does, as a JSON line."""
    print(json.dumps(said), flush=True)
