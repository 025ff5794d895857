"""`muster start`, `stop`, `once` and `cleanup`: set the desired state of an agent.

A verb sets the desired state and returns; `--wait` waits until the current state agrees, or a
failure shows that it will not.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import click
import msgspec

from muster.cli.acting import print_json, server
from muster.cli.options import Function, home_option, json_option
from muster.cli.render import clean
from muster.client import requests
from muster.client.sync import Client
from muster.errors import Closed
from muster.machines.state import Phase
from muster.machines.vocabulary import Authority, RunMode
from muster.views.answers.agents import RunView, SessionView

NOT_SO: Final = 1
"""Exit code of `--wait` when the desired state was not reached."""

_WANTED: Final = {
    RunMode.CONTINUOUS: "desired continuous",
    RunMode.PAUSE: "desired pause",
    RunMode.RUN_ONCE: "desired run_once",
    RunMode.RUN_CLEANUP: "desired run_cleanup",
}
_DOING: Final = {
    RunMode.CONTINUOUS: "running",
    RunMode.PAUSE: "not running",
    RunMode.RUN_ONCE: "running one session",
    RunMode.RUN_CLEANUP: "running one cleanup session",
}
_PHASES: Final = {
    Phase.STARTING: "starting",
    Phase.STOPPING: "stopping",
}
_TELLING: Final = (
    "agent_disabled",
    "desired_set",
    "retry_scheduled",
    "session_end",
    "state_transition",
)
"""Events that can end the waiting."""


def _options(function: Function) -> Function:
    """The options that all four share."""
    wait = click.option(
        "--wait", is_flag=True, help="Wait until the agent reaches the desired state, or fails to."
    )
    note = click.option("--note", metavar="TEXT", help="Reason, for the log and the state file.")
    shown = json_option("Print desired and current state as JSON.")
    return home_option(shown(note(wait(click.argument("name", metavar="AGENT")(function)))))


@click.command()
@_options
def start(home: Path, as_json: bool, note: str | None, wait: bool, name: str) -> None:
    """Start an agent: it runs session after session.

    It runs until it is stopped. An agent in backoff after failures is retried at once.
    """
    _want(home, name, RunMode.CONTINUOUS, note=note, wait=wait, as_json=as_json)


@click.command()
@_options
@click.option("--now", is_flag=True, help="Interrupt the session, then terminate, then kill it.")
def stop(home: Path, as_json: bool, note: str | None, wait: bool, now: bool, name: str) -> None:
    """Stop an agent after its current session, or now.

    Lets the current session finish and starts no new one. Running `stop` twice is the same as
    `--now`. An agent that connects by itself is told at its next request.
    """
    _want(home, name, RunMode.PAUSE, note=note, wait=wait, as_json=as_json, now=now)


@click.command()
@_options
def once(home: Path, as_json: bool, note: str | None, wait: bool, name: str) -> None:
    """Run exactly one session of an agent, then pause it."""
    _want(home, name, RunMode.RUN_ONCE, note=note, wait=wait, as_json=as_json)


@click.command()
@_options
def cleanup(home: Path, as_json: bool, note: str | None, wait: bool, name: str) -> None:
    """Run exactly one cleanup session of an agent.

    The program gets --cleanup-session as its last argument. Afterwards the agent is paused.
    """
    _want(home, name, RunMode.RUN_CLEANUP, note=note, wait=wait, as_json=as_json)


def _want(
    home: Path,
    name: str,
    desired: RunMode,
    *,
    note: str | None,
    wait: bool,
    as_json: bool,
    now: bool = False,
) -> None:
    ended = _Ended(came_about=True)
    with server(home) as client:
        run = client.run(name, desired, now=now, note=note)
        if wait and not answers(run):
            ended = _until_answered(client, run)
            run = client.ask(requests.run_state(run.agent))
    if as_json:
        print_json(run)
    else:
        click.echo(in_a_line(run, ended.reason))
    if not ended.came_about:
        click.get_current_context().exit(NOT_SO)


def answers(run: RunView) -> bool:
    """Whether the current state agrees with the desired one, and answers this generation."""
    if run.on_call and run.desired is not RunMode.PAUSE:
        return True  # it waits for a task
    return run.current is run.desired and (
        run.answered >= run.generation or run.desired is RunMode.PAUSE
    )


def in_a_line(run: RunView, failed_because: str = "") -> str:
    """Desired and current state in one line."""
    why = f" ({run.note})" if run.note else ""
    doing = "; ".join(_doing(run, failed_because))
    return clean(f"{run.agent}: {_WANTED[run.desired]}{why}, {doing}")


def _doing(run: RunView, failed_because: str) -> Iterator[str]:
    working = [_in_session(f"working on {each.task}", each) for each in run.tasks]
    if run.session is not None:
        doing = _PHASES.get(run.session.phase) or _DOING[run.current]
        working.append(_in_session(doing, run.session))
    on_call = run.on_call and run.desired is not RunMode.PAUSE
    idle = "on call: runs while it has a task" if on_call else _DOING[run.current]
    yield from working or (idle,)
    if run.disabled:
        yield f"disabled: `muster agent enable {run.agent}` lets it run"
    elif run.failures and run.retry_at is not None:
        again = f"{run.retry_at.astimezone():%H:%M:%S}"
        because = f" ({failed_because.rstrip('.')})" if failed_because else ""
        yield f"failed {run.failures}x{because}, next retry at {again}"
    elif run.authority is Authority.SELF and run.current is not run.desired:
        yield "the agent is told at its next request"


def _in_session(doing: str, session: SessionView) -> str:
    process = "" if session.pid is None else f", process {session.pid}"
    return f"{doing} (session {session.id}{process})"


# ── waiting ───────────────────────────────────────────────────────────────────────────────────────


class _Ended(NamedTuple):
    """The result of waiting."""

    came_about: bool
    reason: str = ""
    """Why a session failed, if one did."""


class _Happening(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The fields of an event that can end the waiting."""

    type: str
    seat: int | None = None
    seats: tuple[int, ...] = ()
    machine: str = ""
    target: str = msgspec.field(name="to", default="")
    generation: int = 0
    failures: int = 0
    reason: str = ""


def _until_answered(client: Client, run: RunView) -> _Ended:
    """Wait until the current state agrees with the desired one, or a failure shows it will not."""
    if run.disabled and run.desired is not RunMode.PAUSE:
        return _Ended(came_about=False)
    seat, reason = client.agent(run.agent).seat, ""
    for event in client.events(after=run.seq, types=_TELLING):
        if event.type == "cursor_unknown":
            continue
        happening = msgspec.json.decode(event.data, type=_Happening)
        if seat in happening.seats:  # the event that ended the session has the reason
            reason = happening.reason
        elif seat == happening.seat:
            came_about = _judged(happening, run)
            if came_about is not None:
                return _Ended(came_about=came_about, reason=reason)
    raise Closed


def _judged(event: _Happening, run: RunView) -> bool | None:
    """Whether an event reached or missed the desired state; None if it says neither."""
    match event.type:
        case "state_transition" if event.machine == "run":
            return True if event.target == run.desired else None
        case "desired_set" if event.generation > run.generation:
            return False  # the desired state was set again, or the session ended before it ran
        case "retry_scheduled" if event.failures and run.desired is not RunMode.PAUSE:
            return False
        case "agent_disabled" if run.desired is not RunMode.PAUSE:
            return False
        case _:
            return None
