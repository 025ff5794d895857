"""Requests about changes and workspaces. Apart from the others: agents do not load them."""

from muster.client.requests import ApiRequest, api_path, given
from muster.views.answers import Recorded
from muster.views.answers.workspaces import Changes, FileDiff, WorkspaceList, WorkspaceView

AGENTS = "agents"
CONVERSATIONS = "conversations"


def changes(kind: str, name: str) -> ApiRequest[Changes]:
    """The changes of an agent (`AGENTS`) or of a task (`CONVERSATIONS`)."""
    return ApiRequest(method="GET", path=api_path(kind, name, "changes"), answer=Changes)


def diff(kind: str, name: str, file: str) -> ApiRequest[FileDiff]:
    """The diff of one file; `file` is its name in the list of changes."""
    return ApiRequest(method="GET", path=api_path(kind, name, "changes", file), answer=FileDiff)


def workspaces() -> ApiRequest[WorkspaceList]:
    """The git worktrees of agents and tasks."""
    return ApiRequest(method="GET", path=api_path("workspaces"), answer=WorkspaceList)


def merge(workspace: str, into: str | None = None) -> ApiRequest[WorkspaceView]:
    """Merge a workspace into a branch: the one that it was made from, unless another is named."""
    return _step(workspace, "merge", into=into)


def rebase(workspace: str, onto: str | None = None) -> ApiRequest[WorkspaceView]:
    """Rebase a workspace onto a branch: the one that it was made from, unless another is named."""
    return _step(workspace, "rebase", onto=onto)


def discard(workspace: str, *, force: bool = False) -> ApiRequest[WorkspaceView]:
    """Remove a workspace; with unmerged work only by force."""
    return _step(workspace, "discard", force=force)


def _step(workspace: str, step: str, **body: object) -> ApiRequest[WorkspaceView]:
    path = api_path("workspaces", workspace, step)
    return ApiRequest(method="POST", path=path, answer=WorkspaceView, body=given(**body))


def ask_for_changes(
    workspace: str, text: str, *, path: str | None = None, line: int | None = None
) -> ApiRequest[Recorded]:
    """Ask the agent of a workspace for changes, perhaps at a line of a file."""
    body = given(text=text, path=path, line=line)
    place = api_path("workspaces", workspace, "ask")
    return ApiRequest(method="POST", path=place, answer=Recorded, body=body)
