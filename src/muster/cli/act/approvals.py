"""`muster approvals`, `approve` and `deny`: requests that wait for a person."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from muster.cli.acting import print_json, server
from muster.cli.options import Function, home_option, json_option
from muster.cli.reading import now
from muster.cli.render import Cell, Look, Row, Tone, clean, duration, table
from muster.cli.terminal import look
from muster.client import requests
from muster.client.approvals import decisions
from muster.machines.vocabulary import Answered, ApprovalScope
from muster.views.answers.agents import ApprovalView, Settled
from muster.views.answers.approvals import ApprovalDecision

_REACH: Final = {
    ApprovalScope.ONCE: "",
    ApprovalScope.SESSION: " for the rest of its session",
    ApprovalScope.ALWAYS: " from now on",
}

_DECISIONS: Final = ("WHEN (UTC)", "AGENT", "ANSWER", "BY", "TOOL", "WHAT", "NOTE")
_APPROVALS: Final = ("ID", "AGENT", "TOOL", "ELSE", "IN", "WHERE", "WHAT")


@click.command()
@home_option
@json_option("Print the requests as JSON.")
@click.option("--history", is_flag=True, help="List who allowed or denied what, instead.")
def approvals(home: Path, as_json: bool, history: bool) -> None:
    """List requests that wait for your approval.

    `muster approve ID` and `muster deny ID` answer one; ELSE is the answer after a timeout.
    """
    if history:
        return _show_history(home, as_json)
    with server(home) as client:
        found = client.ask(requests.approvals())
    if as_json:
        print_json(found)
    elif found.approvals:
        click.echo(approval_table(found.approvals, look()))
    else:
        click.echo("No request waits for approval.")


def _show_history(home: Path, as_json: bool) -> None:
    with server(home) as client:
        found = client.ask(decisions())
    if as_json:
        print_json(found)
    elif found.decisions:
        click.echo(table(_DECISIONS, [_decision_row(each) for each in found.decisions], look()))
    else:
        click.echo("No request was answered yet.")


def _decision_row(made: ApprovalDecision) -> Row:
    said = "allowed" if made.allow else "denied"
    by = made.by or {Answered.DEADLINE: "timeout"}.get(made.how, "end of session")
    return (
        f"{made.at:%Y-%m-%d %H:%M}",
        made.agent,
        f"{said}{_REACH[made.scope]}",
        by,
        made.tool,
        made.detail or "-",
        made.note or "-",
    )


def approval_table(asked: tuple[ApprovalView, ...], shown: Look) -> str:
    """A table of requests, and below it the whole text of each one that is more than a line."""
    rows = table(_APPROVALS, [_row(each) for each in asked], shown)
    return "\n".join((rows, *(line for each in asked for line in _whole(each, rows))))


def _whole(asked: ApprovalView, rows: str) -> Iterator[str]:
    """A request as it will be carried out: nobody must guess what a row leaves out."""
    if clean(asked.detail) in rows and not asked.effects and not asked.change:
        return
    yield ""
    where = f" in {clean(asked.folder)}" if asked.folder else ""
    effects = "; ".join(map(clean, asked.effects))
    yield f"{asked.id}{where}{': ' if effects else ''}{effects}"
    yield from (f"    {clean(line)}" for line in (asked.change or asked.detail).split("\n"))


def _row(asked: ApprovalView) -> Row:
    left = (asked.until - now()).total_seconds()
    return (
        asked.id,
        f"{asked.agent} ({asked.by})" if asked.by else asked.agent,
        asked.tool,
        Cell("allowed", Tone.ODD) if asked.default else "denied",
        "due" if left < 0 else duration(left),
        asked.channel or "-",
        asked.detail or "-",
    )


def note_option(function: Function) -> Function:
    """Add `--note` to a verb."""
    return click.option("--note", metavar="TEXT", help="Reason; the agent is told.")(function)


@click.command()
@home_option
@json_option("Print the answer and its event number as JSON.")
@note_option
@click.option(
    "--scope",
    type=click.Choice([str(each) for each in ApprovalScope]),
    help="Allow this call, its kind for the session, or its kind for good.",
)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def approve(
    home: Path, as_json: bool, note: str | None, scope: str | None, ids: tuple[str, ...]
) -> None:
    """Approve requests. `muster approvals` lists them."""
    for approval in ids:
        _answer(home, as_json, approval, allow=True, note=note, scope=scope)


@click.command()
@home_option
@json_option("Print the answer and its event number as JSON.")
@note_option
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def deny(home: Path, as_json: bool, note: str | None, ids: tuple[str, ...]) -> None:
    """Deny requests. `muster approvals` lists them."""
    for approval in ids:
        _answer(home, as_json, approval, allow=False, note=note)


def _answer(
    home: Path,
    as_json: bool,
    approval: str,
    *,
    allow: bool,
    note: str | None,
    scope: str | None = None,
) -> None:
    with server(home) as client:
        settled = client.ask(requests.answer(approval, allow=allow, note=note, scope=scope))
    if as_json:
        print_json(settled)
    else:
        click.echo(clean(_told(settled)))


def _told(settled: Settled) -> str:
    may = "may" if settled.allow else "may not"
    reach = _REACH[settled.scope]
    return f"{settled.agent} {may} use {settled.tool}{reach} ({settled.id}): event {settled.seq}"
