"""`muster start`, `stop`, `once` and `cleanup`: what is wanted of an agent.

A verb says what is wanted and returns. Whether it came to that is another matter, which takes its
time: `--wait` stays for it.
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
from muster.views.agents import RunView

NOT_SO: Final = 1
"""The exit code where the wish that was waited for did not come about."""

_WANTED: Final = {
    RunMode.CONTINUOUS: "is to run, one session after another",
    RunMode.PAUSE: "is to stop",
    RunMode.RUN_ONCE: "is to run one session",
    RunMode.RUN_CLEANUP: "is to run one cleanup session",
}
_DOING: Final = {
    RunMode.CONTINUOUS: "it runs",
    RunMode.PAUSE: "it is idle",
    RunMode.RUN_ONCE: "it runs one session",
    RunMode.RUN_CLEANUP: "it runs one cleanup session",
}
_PHASES: Final = {
    Phase.STARTING: "it is starting",
    Phase.STOPPING: "its session is to end",
}
_TELLING: Final = (
    "agent_disabled",
    "desired_set",
    "retry_scheduled",
    "session_end",
    "state_transition",
)
"""Events that say how it goes on."""


def _options(function: Function) -> Function:
    """What all four take."""
    wait = click.option("--wait", is_flag=True, help="Return when it does so, or cannot.")
    note = click.option("--note", metavar="TEXT", help="Why, for the log and its state file.")
    shown = json_option("Print what is wanted and what it does as JSON.")
    return home_option(shown(note(wait(click.argument("name", metavar="AGENT")(function)))))


@click.command()
@_options
def start(home: Path, as_json: bool, note: str | None, wait: bool, name: str) -> None:
    """Let an agent run, one session after another.

    It runs until it is stopped. An agent that rests after failures is tried at once.
    """
    _want(home, name, RunMode.CONTINUOUS, note=note, wait=wait, as_json=as_json)


@click.command()
@_options
@click.option("--now", is_flag=True, help="Interrupt its session; then terminate, then kill it.")
def stop(home: Path, as_json: bool, note: str | None, wait: bool, now: bool, name: str) -> None:
    """Stop an agent: after its session, or now.

    Its session ends by itself and no other follows; to stop it again before that means --now. One
    that connects by itself is told when it next asks what to do.
    """
    _want(home, name, RunMode.PAUSE, note=note, wait=wait, as_json=as_json, now=now)


@click.command()
@_options
def once(home: Path, as_json: bool, note: str | None, wait: bool, name: str) -> None:
    """Run exactly one session of an agent. Then it is paused."""
    _want(home, name, RunMode.RUN_ONCE, note=note, wait=wait, as_json=as_json)


@click.command()
@_options
def cleanup(home: Path, as_json: bool, note: str | None, wait: bool, name: str) -> None:
    """Run exactly one cleanup session of an agent.

    Its program gets --cleanup-session as its last argument. Then the agent is paused.
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
    """Whether an agent does what is wanted of it, and not by chance what it did before."""
    return run.current is run.desired and (
        run.answered >= run.generation or run.desired is RunMode.PAUSE
    )


def in_a_line(run: RunView, failed_because: str = "") -> str:
    """What is wanted of an agent, and what it does."""
    why = f" ({run.note})" if run.note else ""
    doing = "; ".join(_doing(run, failed_because))
    return clean(f"{run.agent} {_WANTED[run.desired]}{why}; {doing}")


def _doing(run: RunView, failed_because: str) -> Iterator[str]:
    if run.session is not None:
        process = "" if run.session.pid is None else f", process {run.session.pid}"
        doing = _PHASES.get(run.session.phase) or _DOING[run.current]
        yield f"{doing} (session {run.session.id}{process})"
    else:
        yield _DOING[run.current]
    if run.disabled:
        yield f"it is disabled, and `muster agent enable {run.agent}` lets it run"
    elif run.failures and run.retry_at is not None:
        again = f"{run.retry_at.astimezone():%H:%M:%S}"
        because = f" ({failed_because.rstrip('.')})" if failed_because else ""
        yield f"it failed {run.failures}x{because} and is tried again at {again}"
    elif run.authority is Authority.SELF and run.current is not run.desired:
        yield "it is told when it asks what to do"


# ── waiting ───────────────────────────────────────────────────────────────────────────────────────


class _Ended(NamedTuple):
    """How the waiting ended."""

    came_about: bool
    reason: str = ""
    """What is said of the session that failed, if one did."""


class _Happening(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An event, as far as it says how it goes on."""

    type: str
    seat: int | None = None
    seats: tuple[int, ...] = ()
    machine: str = ""
    target: str = msgspec.field(name="to", default="")
    generation: int = 0
    failures: int = 0
    reason: str = ""


def _until_answered(client: Client, run: RunView) -> _Ended:
    """Wait until an agent does what is wanted of it, or it turns out that it will not for now."""
    if run.disabled and run.desired is not RunMode.PAUSE:
        return _Ended(came_about=False)
    seat, reason = client.agent(run.agent).seat, ""
    for event in client.events(after=run.seq, types=_TELLING):
        if event.type == "cursor_unknown":
            continue
        happening = msgspec.json.decode(event.data, type=_Happening)
        if seat in happening.seats:  # the end of a session, which says why; what follows, follows
            reason = happening.reason
        elif seat == happening.seat:
            came_about = _judged(happening, run)
            if came_about is not None:
                return _Ended(came_about=came_about, reason=reason)
    raise Closed


def _judged(event: _Happening, run: RunView) -> bool | None:
    """Whether a wish came about by an event; nothing where it says neither."""
    match event.type:
        case "state_transition" if event.machine == "run":
            return True if event.target == run.desired else None
        case "desired_set" if event.generation > run.generation:
            return False  # somebody wants something else by now, or it is over before it ran
        case "retry_scheduled" if event.failures and run.desired is not RunMode.PAUSE:
            return False
        case "agent_disabled" if run.desired is not RunMode.PAUSE:
            return False
        case _:
            return None
