"""The program of a demo agent that carries out a delegated task: `python -m muster.demo.delegate`.

The program reads the task on stdin, prints its steps, writes a file in the workspace, and reports
the path. There is no model behind it, and the file says so. A bug of the story is fixed step by
step instead (`fixing.py`).
"""

import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Final

from muster.demo.cast import ALL, WELCOME_TASK, Character
from muster.demo.fixing import BugFix
from muster.demo.story import Bug, bug_in

WORK_SECONDS: Final = 1.5
"""Pause between two steps: long enough to see the task in progress."""

_TASK: Final = re.compile(r"^# The task\n\n(.*?)(?=\n\n# |\Z)", re.DOTALL | re.MULTILINE)
_WORD: Final = re.compile(r"[a-z0-9]+")
_SMALL: Final = frozenset(
    {"a", "an", "and", "draft", "for", "in", "make", "of", "on", "please", "short", "the", "write"}
)


def main() -> None:
    """Carry out one task."""
    prompt = sys.stdin.read()
    found = _TASK.search(prompt)
    task = found[1].strip() if found else prompt.strip()
    me = _character(os.environ.get("MUSTER_AGENT", ""))
    bug = bug_in(task)
    if bug is not None:
        _fix(bug)
        return
    print(f"I am {me.name}, and I {me.does}. The task is: {task}", flush=True)
    _work()
    path = Path(os.environ.get("MUSTER_WORKSPACE", "."), f"{slug(task)}.md").absolute()
    print(f"I write it down in {path.name}.", flush=True)
    _work()
    path.write_text(document(me, task), encoding="utf-8")
    text = f"Done: a first draft is in {path}. No model wrote it, so it is short."
    print(json.dumps({"type": "result", "text": text}), flush=True)


def _fix(bug: Bug) -> None:
    """Fix a bug of the story. The usage is made up, as a model would report it."""
    folder = Path(os.environ.get("MUSTER_WORKSPACE", ".")).absolute()
    text = BugFix(bug, folder).fix()
    usage = {"costUsd": bug.cost_usd, "inputTokens": bug.tokens, "outputTokens": bug.tokens // 8}
    print(json.dumps({"type": "result", "text": text, "usage": usage}), flush=True)


def _character(name: str) -> Character:
    """The character of the agent that got the task; both have the same name."""
    return next((each for each in ALL if each.name == name), ALL[0])


def _work() -> None:
    threading.Event().wait(WORK_SECONDS * float(os.environ.get("DEMO_PACE", "1")))


def slug(task: str) -> str:
    """A file name made of the words of the task."""
    words = [word for word in _WORD.findall(task.lower()) if word not in _SMALL]
    return "-".join(words[:3])[:60] or "task"


def document(character: Character, task: str) -> str:
    """The file of a task: things to try next for the welcome task, else an explanation."""
    body = WELCOME if task == WELCOME_TASK else DRAFT.format(does=character.does)
    return f"""# {task.rstrip(".").splitlines()[0][:100] if task else "A task"}

*By {character.name}, a script of muster's demo team. No model has read the task.*

{body}
## What was asked

{task}
"""


WELCOME: Final = """You are looking at muster with a team of nine scripts. Three things to try:

1. Write something in the channel `workshop`. It rests until then; one of the team answers.
2. Answer Nora, who waits for a person in `approvals`.
3. Stop somebody, start it again, and ask why.

This file lies in the folder of its conversation, beside the dialogue that led to it.
"""

DRAFT: Final = """A script cannot really {does}. What is real is the way that the task took: it was
handed over because of a description, worked on by a program in a folder of its own, and reported
back with this file. With agents of your own, this is where their work is.
"""


if __name__ == "__main__":
    main()
