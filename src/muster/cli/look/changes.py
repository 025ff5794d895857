"""`muster changes` and `muster workspace`: what agents changed, and what becomes of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from muster.cli.acting import print_json, server
from muster.cli.options import home_option, json_option
from muster.cli.render import Look, Row, Tone, clean, paint, table
from muster.cli.terminal import look
from muster.client import workspaces as requests
from muster.client.sync import Client
from muster.machines.vocabulary import ChangeCount, FileChange, WorkspaceState
from muster.views.answers.workspaces import (
    ChangedFileView,
    Changes,
    DiffLine,
    FileDiff,
    WorkspaceView,
)

_WORKSPACES: Final = ("WORKSPACE", "AGENT", "STATE", "CHANGES", "BRANCH", "INTO", "NOTE")
_MARKS: Final = {FileChange.CREATED: "A", FileChange.CHANGED: "M", FileChange.DELETED: "D"}
_COMMIT_CHARS: Final = 12


@click.command()
@home_option
@json_option("Print the changes as JSON.")
@click.option("--task", type=click.IntRange(min=1), help="The changes of this task.")
@click.option("--diff", "diffs", is_flag=True, help="Print the diffs, too.")
@click.argument("name", required=False)
def changes(home: Path, as_json: bool, task: int | None, diffs: bool, name: str | None) -> None:
    """Show the files that an agent or a task has changed.

    An agent with a worktree of its own is compared with the branch that it is merged into, with
    work that it has not committed. In a shared folder this is all that git sees changed.
    """
    if (task is None) == (name is None):
        raise click.UsageError("Give the NAME of an agent, or --task N.")
    kind, owner = requests.AGENTS, name or ""
    if task is not None:
        kind, owner = requests.CONVERSATIONS, f"conv_{task:03d}"
    with server(home) as client:
        found = client.ask(requests.changes(kind, owner))
        compared = list(_diffs(client, kind, owner, found)) if diffs else []
    if as_json:
        for each in (found, *compared):
            print_json(each)
        return
    for line in _text(found, compared, look()):
        click.echo(line)


def _diffs(client: Client, kind: str, owner: str, found: Changes) -> Iterator[FileDiff]:
    for each in found.files:
        yield client.ask(requests.diff(kind, owner, each.file))


def _text(found: Changes, compared: list[FileDiff], shown: Look) -> Iterator[str]:
    if found.note:
        yield clean(found.note)
    if found.kind == "none":
        return
    yield clean(f"{found.branch or 'no branch'}, compared with {found.target}: {_count(found)}")
    for each in found.files:
        yield _file(each, shown)
    if found.more:
        yield f"{found.more} more files"
    for each in compared:
        yield from _diff(each, shown)


def _count(found: Changes) -> str:
    apart = f", {found.behind} commits behind" if found.behind else ""
    return f"{count_text(found.total)}{apart}"


def count_text(count: ChangeCount) -> str:
    """How much differs, in words."""
    if not count.files:
        return "no changes"
    files = "1 file" if count.files == 1 else f"{count.files} files"
    return f"{files}, +{count.insertions} -{count.deletions}"


def _file(each: ChangedFileView, shown: Look) -> str:
    size = "binary" if each.binary else f"+{each.insertions} -{each.deletions}"
    before = f" (was {clean(each.before)})" if each.before else ""
    touched = "  named by its tool calls" if each.touched else ""
    others = f"  also changed by {clean(', '.join(each.others))}" if each.others else ""
    note = paint(f"{touched}{others}", Tone.ODD, shown) if touched or others else ""
    return f"  {_MARKS[each.change]} {clean(each.path)}{before}  {size}{note}"


def _diff(each: FileDiff, shown: Look) -> Iterator[str]:
    yield ""
    yield paint(clean(each.file.path), Tone.STRONG, shown)
    for hunk in each.hunks:
        yield paint(clean(hunk.head), Tone.DIM, shown)
        yield from (_line(line, shown) for line in hunk.lines)
    if each.note:
        yield each.note


def _line(line: DiffLine, shown: Look) -> str:
    if line.old is None:
        return paint(f"+{clean(line.text)}", Tone.GOOD, shown)
    if line.new is None:
        return paint(f"-{clean(line.text)}", Tone.BAD, shown)
    return f" {clean(line.text)}"


# ── workspaces ────────────────────────────────────────────────────────────────────────────────────


@click.group()
def workspace() -> None:
    """List, merge, rebase and discard worktrees of agents."""


@workspace.command("list")
@home_option
@json_option("Print the workspaces as JSON.")
def list_all(home: Path, as_json: bool) -> None:
    """List the worktrees of agents and tasks."""
    with server(home) as client:
        found = client.ask(requests.workspaces())
    if as_json:
        print_json(found)
    elif found.workspaces:
        click.echo(table(_WORKSPACES, [_row(each) for each in found.workspaces], look()))
    else:
        click.echo('There are no workspaces. workspace = "worktree" gives an agent one.')


def _row(each: WorkspaceView) -> Row:
    return (
        each.workspace,
        each.agent,
        "working" if each.working and each.state is WorkspaceState.OPEN else each.state,
        count_text(each.changes),
        each.branch,
        each.target or "-",
        each.problem or "-",
    )


@workspace.command()
@home_option
@json_option("Print the workspace as JSON.")
@click.option("--into", metavar="BRANCH", help="Another branch than the one it was made from.")
@click.argument("name")
def merge(home: Path, as_json: bool, into: str | None, name: str) -> None:
    """Merge the changes of workspace NAME, committed or not.

    A conflict, or uncommitted work of yours in the same files, is refused and changes nothing.
    """
    with server(home) as client:
        done = client.ask(requests.merge(name, into))
    _tell(done, as_json, f"{name} is merged: {done.commit[:_COMMIT_CHARS]}")


@workspace.command()
@home_option
@json_option("Print the workspace as JSON.")
@click.option("--onto", metavar="BRANCH", help="Another branch than the one it was made from.")
@click.argument("name")
def rebase(home: Path, as_json: bool, onto: str | None, name: str) -> None:
    """Rebase workspace NAME, so that it has what came into the branch meanwhile."""
    with server(home) as client:
        done = client.ask(requests.rebase(name, onto))
    _tell(done, as_json, f"{name} is rebased onto {onto or done.target}")


@workspace.command()
@home_option
@json_option("Print the workspace as JSON.")
@click.option("--force", is_flag=True, help="Discard unmerged work, too.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.argument("name")
def discard(home: Path, as_json: bool, force: bool, yes: bool, name: str) -> None:
    """Remove the worktree and the branch of workspace NAME.

    Unmerged work is discarded only with --force. Its last commit is printed: `git branch NAME
    COMMIT` restores it for as long as git keeps it.
    """
    if force and not yes:
        click.confirm(f"Discard {name} with its unmerged work?", abort=True)
    with server(home) as client:
        done = client.ask(requests.discard(name, force=force))
    kept = f"; its last commit was {done.commit}" if done.commit and not done.merged else ""
    _tell(done, as_json, f"{name} is discarded{kept}")


@workspace.command()
@home_option
@json_option("Print the event number as JSON.")
@click.option("--path", metavar="FILE", help="The file that it is about.")
@click.option("--line", type=click.IntRange(min=1), help="The line in that file.")
@click.argument("name")
@click.argument("text")
def ask(
    home: Path, as_json: bool, path: str | None, line: int | None, name: str, text: str
) -> None:
    """Ask the agent of workspace NAME for changes.

    An agent gets a message. A finished task goes on as a new one, in the same worktree.
    """
    with server(home) as client:
        done = client.ask(requests.ask_for_changes(name, text, path=path, line=line))
    if as_json:
        print_json(done)
    else:
        click.echo(clean(f"{name} was asked: event {done.seq}"))


def _tell(done: WorkspaceView, as_json: bool, text: str) -> None:
    if as_json:
        print_json(done)
    else:
        click.echo(clean(text))
