"""Workspaces as people use them: real programs in worktrees, over HTTP and from a shell."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from muster.machines import commands as c
from muster.machines.ids import ConversationId, WorkspaceId
from muster.machines.vocabulary import RunMode, WorkspaceState
from tests.asking import Asker, asker
from tests.homes import muster
from tests.inside import Inside, inside
from tests.live import Json
from tests.waits import until
from tests.workspaces.repositories import a_repository, git

SETTINGS = """
[delegation]
command = ["sh", "-c", "cat > /dev/null; echo done >> task.txt; echo It is done."]
workspace = "worktree"

[agents.Ada]
command = ["sh", "-c", "echo Ada >> app.py; echo $MUSTER_BRANCH > branch.txt; exec sleep 1000"]
cwd = "."
workspace = "worktree"
"""

DESCRIPTION = "---\nname: fixer\ndescription: Fixes bugs in programs.\n---\nYou fix bugs.\n"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    folder = tmp_path_factory.mktemp("workspaces")
    a_repository(folder / "team")
    with inside(folder, "Ben", settings=SETTINGS) as running:
        yield running


@pytest.fixture
def operator(team: Inside) -> Generator[Asker]:
    with asker(team.server, team.server.token) as somebody:
        yield somebody


def top(team: Inside) -> Path:
    return team.home.parent


def does(team: Inside, *args: str, code: int = 0) -> str:
    ran = muster(*args, "--home", str(team.home))
    assert ran.returncode == code, ran.stderr
    return ran.stdout + ran.stderr


def works(team: Inside) -> Path:
    """Ada's worktree, in which it has written."""
    team.runs("Ada")
    folder = team.home / "worktrees" / "Ada"
    until(lambda: (folder / "branch.txt").exists() and (folder / "branch.txt").read_text())
    return folder


def test_an_agent_works_in_its_worktree_and_a_person_merges_it(
    team: Inside, operator: Asker
) -> None:
    folder = works(team)
    assert (folder / "branch.txt").read_text() == "muster/Ada\n"
    assert "Ada" not in (top(team) / "app.py").read_text()
    changes = operator.get("/api/agents/Ada/changes")
    assert {each["path"]: each["insertions"] for each in changes["files"]} == {
        "app.py": 1,
        "branch.txt": 1,
    }
    assert changes["workspace"]["working"]
    diff = operator.get(f"/api/agents/Ada/changes/{changes['files'][0]['file']}")
    assert diff["hunks"][0]["lines"][-1] == {"text": "Ada", "new": 4}
    told = does(team, "changes", "Ada", "--diff")
    assert "M app.py  +1 -0" in told
    assert "+Ada" in told
    assert "working" in does(team, "workspace", "list")
    asked = operator.post("/api/workspaces/Ada/discard", {"force": True}, status=409)
    assert "Ada works in it" in asked["detail"]
    assert "Ada is merged" in does(team, "workspace", "merge", "Ada")
    assert (top(team) / "app.py").read_text().endswith("Ada\n")
    assert operator.get("/api/agents/Ada/changes")["files"] == []
    assert "Ada was asked" in does(
        team, "workspace", "ask", "Ada", "shorter please", "--path", "app.py", "--line", "4"
    )
    transcript = does(team, "transcript", "Ada")
    assert "muster/Ada in app.py, line 4: shorter please" in transcript


def test_an_agent_cannot_merge_its_own_work(team: Inside, operator: Asker) -> None:
    works(team)
    token = operator.post("/api/tokens", {"role": "agent", "agent": "Ada"}, status=201)["secret"]
    with asker(team.server, token) as agent:
        for step in ("merge", "rebase", "discard", "ask"):
            agent.post(f"/api/workspaces/Ada/{step}", {"text": "x"}, status=403)
        assert agent.get("/api/workspaces")["workspaces"]


def test_a_shared_folder_says_what_git_sees(team: Inside, operator: Asker) -> None:
    (top(team) / "mine.txt").write_text("mine\n")
    changes = operator.get("/api/agents/Ben/changes")
    assert changes["kind"] == "shared"
    assert "mine.txt" in [each["path"] for each in changes["files"]]
    assert not [each for each in changes["files"] if each["path"].startswith(".muster")]
    assert "whoever changed it" in does(team, "changes", "Ben")
    (top(team) / "mine.txt").unlink()


def test_a_task_is_reviewed_changed_again_and_merged(team: Inside, operator: Asker) -> None:
    agents = top(team) / "helpers"
    agents.mkdir()
    (agents / "fixer.md").write_text(DESCRIPTION)
    operator.post("/api/delegation", {"agents": ["helpers"]})
    done = operator.post("/api/conversations", {"text": "Fix the bug", "to": "fixer"})
    assert done["outcome"] == "answered", done
    task = done["conversation"]
    [need] = reviews(team, operator)
    assert (need["conversation"], need["why"]) == (task, "1 file, +1 \u22120 to review")
    assert "muster workspace merge task-1" in does(team, "needs")
    assert "A task.txt  +1 -0" in does(team, "changes", "--task", "1")
    operator.post("/api/workspaces/task-1/ask", {"text": "Once more"}, status=201)
    team.until(lambda now: not now.delegation.conversations)
    team.until(lambda now: now.workspaces[WorkspaceId("task-1")].changes.insertions == 2)
    assert operator.get(f"/api/conversations/{task}/changes")["total"]["insertions"] == 2
    assert not (top(team) / "task.txt").exists()
    key = {"idempotency-key": "once"}
    for _ in range(2):  # a retry merges nothing twice
        operator.asked("POST", "/api/workspaces/task-1/merge", 200, json={}, headers=key)
    assert (top(team) / "task.txt").read_text() == "done\ndone\n"
    team.until(lambda now: now.workspaces[WorkspaceId("task-1")].state is WorkspaceState.CLOSED)
    assert reviews(team, operator) == []
    assert not (team.home / "worktrees" / "task-1").exists()
    assert "muster/task-1" not in git(top(team), "branch")
    [file] = operator.get(f"/api/conversations/{task}/changes")["files"]
    assert operator.get(f"/api/conversations/{task}/changes/{file['file']}")["hunks"]


def reviews(team: Inside, operator: Asker) -> list[Json]:
    """The changes that wait for a person, once all ends are looked after."""
    tasks = {ConversationId("conv_001")}
    team.until(lambda now: not tasks & set(now.delegation.conversations))
    team.until(
        lambda now: all(
            each.state is WorkspaceState.CLOSED or each.changes.files or each.conversation is None
            for each in now.workspaces.values()
        )
    )
    return [each for each in operator.get("/api/needs")["needs"] if each["kind"] == "review"]


def test_a_task_without_changes_leaves_no_worktree(team: Inside, operator: Asker) -> None:
    plain = operator.get("/api/conversations/conv_099/changes")
    assert (plain["kind"], plain["files"]) == ("none", [])
    operator.get("/api/conversations/conv_099/changes/abc", status=404)
    operator.get("/api/agents/Ada/changes/abc", status=404)
    assert json.loads(does(team, "changes", "--task", "99", "--json"))["kind"] == "none"
    assert "Give the NAME" in does(team, "changes", code=2)


def test_discarding_asks_and_keeps_the_last_commit(team: Inside, operator: Asker) -> None:
    stop = c.SetDesired(
        seat=team.agent("Ada").seat, desired=RunMode.PAUSE, set_by="Grace", now=True
    )
    team.send(stop, actor="person:Grace")
    team.until(lambda now: now.agents[team.agent("Ada").seat].session is None)
    (team.home / "worktrees" / "Ada" / "lost.txt").write_text("precious\n")
    refused = does(team, "workspace", "discard", "Ada", code=3)
    assert "not merged" in refused
    does(team, "workspace", "discard", "Ada", "--force", code=130)  # nobody says yes
    told = does(team, "workspace", "discard", "Ada", "--force", "--yes")
    commit = told.rpartition(" ")[2].strip()
    assert git(top(team), "show", f"{commit}:lost.txt") == "precious"
