"""muster is killed in the middle of a git step: nothing half-done stays, and the step can be done
again. Real processes: muster is killed with SIGKILL while git waits inside of the step."""

import os
import shutil
import signal
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.asking import Asker, Json, asker
from tests.live import Server, live
from tests.waits import until
from tests.web.pages import home_with
from tests.workspaces.repositories import a_repository, git

SETTINGS = """
[agents.Ada]
command = ["sh", "-c", "echo Ada >> app.py; echo new > new.py; exec sleep 1000"]
workspace = "worktree"
autostart = true
"""

GIT = r"""#!/bin/sh
# git, which waits before or after one of its commands while a file names it
here={here}; real={real}
held=$(cat "$here/hold" 2>/dev/null)
for each; do
  case $each in merge|commit|rebase|worktree|branch) word=$each; break;; esac
done
waits() {{ touch "$here/reached"; while [ -e "$here/hold" ]; do sleep 0.05; done; }}
if [ "$held" = "before $word" ]; then waits; fi
"$real" "$@"; code=$?
if [ "$held" = "after $word" ]; then waits; fi
exit $code
"""


@contextmanager
def killed_in(folder: Path, step: str, moment: str) -> Generator[Path]:
    """A home whose muster was killed in a step, at the first git command that the moment names.
    git waits there still."""
    programs = folder / "bin"
    programs.mkdir()
    real = shutil.which("git")
    (programs / "git").write_text(GIT.format(here=folder, real=real))
    (programs / "git").chmod(0o755)
    home = home_with(folder, SETTINGS)
    path = f"{programs}:{os.environ['PATH']}"
    with live(home, PATH=path) as server, asker(server, server.token) as person:
        until(lambda: (home / "worktrees/Ada/new.py").exists())
        if step == "discard":  # nobody discards what an agent works in
            person.asked("PUT", "/api/agents/Ada/run", 200, json={"desired": "pause", "now": True})
            until(lambda: not any(each["working"] for each in workspaces(person)))
        (folder / "hold").write_text(moment)
        with ThreadPoolExecutor(1) as thread:
            asked = thread.submit(_ask, person, step)
            until((folder / "reached").exists)
            os.kill(server.process.pid, signal.SIGKILL)
            asked.result()
    yield home


def let_git_go_on(folder: Path) -> None:
    """The git command of the killed muster is alone by now, and ends in its own time."""
    (folder / "hold").unlink()


def _ask(person: Asker, step: str) -> None:
    body = {"force": True} if step == "discard" else {}
    with suppress(httpx.TransportError):  # muster dies while it answers
        person.http.post(f"/api/workspaces/Ada/{step}", json=body)


def no_step_is_open(top: Path) -> bool:
    """Whether no git command was left in the middle, in the repository and in its worktrees."""
    marks = ("rebase-merge", "rebase-apply", "MERGE_HEAD", "index.lock", "HEAD.lock")
    return not any(any((top / ".git").rglob(mark)) for mark in marks)


@pytest.mark.parametrize(
    ("step", "moment"),
    [
        ("merge", "after commit"),
        ("merge", "before merge"),
        ("merge", "after merge"),
        ("rebase", "before rebase"),
        ("rebase", "after rebase"),
        ("discard", "before worktree"),
        ("discard", "after branch"),
    ],
)
def test_a_step_that_was_killed_is_settled_and_can_be_done_again(
    tmp_path: Path, step: str, moment: str
) -> None:
    top = a_repository(tmp_path / "team")
    with killed_in(tmp_path, step, moment) as home, live(home) as server:
        let_git_go_on(tmp_path)
        settled(server, top)
        with asker(server, server.token) as person:
            again(person, step, home)
        assert no_step_is_open(top)
        assert git(top, "fsck", "--no-dangling") == ""
        assert git(top, "status", "--porcelain", "--untracked-files=no") == ""


def test_a_step_has_an_end_when_git_has_ended_and_not_before(tmp_path: Path) -> None:
    """git outlives its muster: it rebased a worktree that had been settled, or was in use again."""
    top = a_repository(tmp_path / "team")
    git(top, "commit", "--allow-empty", "-qm", "more on the branch of the team")
    with (
        killed_in(tmp_path, "rebase", "before rebase") as home,
        live(home) as server,
        asker(server, server.token) as person,
    ):
        until(lambda: is_started_again(person))
        assert [each["state"] for each in workspaces(person)] == ["rebasing"]
        let_git_go_on(tmp_path)
        settled(server, top)
        assert "rebased" in str(person.get("/api/log?types=workspace_rebased"))


def is_started_again(person: Asker) -> bool:
    """Whether the agent is to run in its workspace again, which settles that first."""
    return len(person.get("/api/log?types=session_requested")["events"]) > 1


def settled(server: Server, top: Path) -> None:
    """Wait until the interrupted step has an end in the log; git may still be at its own."""
    with asker(server, server.token) as person:
        steps = {"making", "merging", "rebasing", "discarding"}
        until(lambda: steps.isdisjoint(each["state"] for each in workspaces(person)))
    until(lambda: no_step_is_open(top))


def workspaces(person: Asker) -> list[Json]:
    return person.get("/api/workspaces")["workspaces"]


def again(person: Asker, step: str, home: Path) -> None:
    """Do it once more, unless it was done: then the worktree says so."""
    (ada,) = [each for each in workspaces(person) if each["workspace"] == "Ada"][-1:]
    if ada["state"] == "closed":
        assert step == "discard"
        assert not (home / "worktrees" / "Ada").exists() or ada["commit"]
        return
    body = {"force": True} if step == "discard" else {}
    answer = person.http.post(f"/api/workspaces/Ada/{step}", json=body)
    told = answer.json()
    assert answer.is_success or "has all of it" in told["detail"] or "up to date" in told["detail"]
    if step == "merge":
        assert "Ada" in (home.parent / "app.py").read_text()
