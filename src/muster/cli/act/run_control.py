"""`muster start`, `stop`, `once` and `cleanup`: set the desired state of agents.

A verb sets the desired state and returns; `waiting.py` waits until the agent has done it. `muster
restart` with names of agents shares the options and the answers.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypedDict, Unpack

import click

from muster.cli.act.waiting import NOT_SO, Ended, WaitLimit, judged_by, wait_for
from muster.cli.acting import print_json, server
from muster.cli.options import Function, Seconds, home_option, json_option
from muster.cli.render import clean
from muster.client import requests
from muster.client.sync import Client
from muster.errors import Invalid, MusterError
from muster.machines.state import Phase
from muster.machines.vocabulary import Authority, RunMode
from muster.views.answers.agents import AgentView, BadgeWord, RunView, SessionView

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
_RUN_HERE: Final = (Authority.MUSTER, Authority.FILE)


def run_options(function: Function) -> Function:
    """The options that all verbs about sessions of agents share."""
    wait = click.option(
        "--wait", is_flag=True, help="Wait until the agent has done what is asked, or fails to."
    )
    timeout = click.option(
        "--timeout",
        "timeout_s",
        type=Seconds(),
        metavar="S",
        help="With --wait: give up after so many seconds.",
    )
    note = click.option("--note", metavar="TEXT", help="Reason, for the log and the state file.")
    everybody = click.option("--all", "everybody", is_flag=True, help="All agents to run.")
    about = "All agents of this group; may be repeated."
    group = click.option("--group", "groups", multiple=True, metavar="G", help=about)
    shown = json_option("Print desired and current state as JSON.")
    names = click.argument("names", metavar="[AGENT]...", nargs=-1)
    chosen = names(everybody(group(function)))
    return home_option(shown(note(timeout(wait(chosen)))))


class RunRequest(TypedDict):
    """The values of the options."""

    home: Path
    as_json: bool
    note: str | None
    wait: bool
    timeout_s: float | None
    names: tuple[str, ...]
    everybody: bool
    groups: tuple[str, ...]


@click.command()
@run_options
@click.option("--now", is_flag=True, help="Run a session now, before the next scheduled time.")
def start(now: bool, **request: Unpack[RunRequest]) -> None:
    """Start agents: each runs session after session.

    With a schedule, one session runs at each of its times. They run until they are stopped. An
    agent in backoff after failures is retried at once.
    """
    request_run(RunMode.CONTINUOUS, now=now, **request)


@click.command()
@run_options
@click.option("--now", is_flag=True, help="Interrupt the session, then terminate, then kill it.")
def stop(now: bool, **request: Unpack[RunRequest]) -> None:
    """Stop agents after their current sessions, or now.

    Lets the current session finish and starts no new one. Running `stop` twice is the same as
    `--now`. An agent that connects by itself is told at its next request.
    """
    request_run(RunMode.PAUSE, now=now, **request)


@click.command()
@run_options
def once(**request: Unpack[RunRequest]) -> None:
    """Run exactly one session of each agent, then pause it.

    With --wait the exit code says how the session ended.
    """
    request_run(RunMode.RUN_ONCE, **request)


@click.command()
@run_options
def cleanup(**request: Unpack[RunRequest]) -> None:
    """Run exactly one cleanup session of each agent.

    The program gets --cleanup-session as its last argument. Afterwards the agent is paused.
    """
    request_run(RunMode.RUN_CLEANUP, **request)


@click.command()
@home_option
@json_option("Print desired and current state as JSON, one line for each agent.")
@click.argument("names", metavar="AGENT...", nargs=-1, required=True)
def interrupt(home: Path, as_json: bool, names: tuple[str, ...]) -> None:
    """Stop the work of agents; their sessions live on.

    What an agent had said is kept, and it waits for its next message. A program that does not wait
    for prompts ends.
    """
    with server(home) as client:
        for name in dict.fromkeys(names):
            run = client.ask(requests.interrupt(name))
            if as_json:
                print_json(run)
            else:
                click.echo(f"{clean(run.agent)}: asked to stop its work")


def request_run(
    desired: RunMode | None, *, now: bool = False, **request: Unpack[RunRequest]
) -> None:
    """Ask for a state of each agent, or for a restart (None), and exit with the worst code."""
    if request["timeout_s"] is not None and not request["wait"]:
        raise click.UsageError("--timeout needs --wait.")
    deadline = WaitLimit(request["timeout_s"])
    with server(request["home"]) as client:
        names = _chosen(client, desired, request)
        asked = [_ask(client, name, desired, now, request["note"], names) for name in names]
        codes = [_tell(client, each, desired, now, request, deadline) for each in asked]
    if code := max(codes):
        click.get_current_context().exit(code)


def _chosen(client: Client, desired: RunMode | None, request: RunRequest) -> Sequence[str]:
    """The agents that are named, in the group, or all that muster runs."""
    names, groups, everybody = request["names"], request["groups"], request["everybody"]
    if bool(names) + bool(groups) + everybody != 1:
        raise click.UsageError("Name agents, or give --group G or --all.")
    if names:
        return tuple(dict.fromkeys(names))  # a second stop of the same agent would mean: now
    agents = [each for each in client.agents().agents if _is_meant(each, desired)]
    for group in groups:
        if not any(group in each.groups for each in agents):
            to_do = "that runs" if desired is None else "to run"
            raise Invalid(what=f"group {group!r}", why=f"has no agent {to_do}")
    found = [each.label for each in agents if _is_in(each, groups)]
    if not found:
        raise Invalid(what="the team", why="has no agent to run")
    return found


def _is_in(agent: AgentView, groups: Sequence[str]) -> bool:
    """Whether an agent is in one of these groups; without any, whether muster runs it."""
    return any(group in agent.groups for group in groups) or (
        not groups and agent.authority in _RUN_HERE
    )


def _is_meant(agent: AgentView, desired: RunMode | None) -> bool:
    """Whether `--group` or `--all` can include an agent; only one that is to run is restarted."""
    if agent.name is None or agent.on_call or agent.retired:
        return False
    return desired is not None or (
        agent.desired is not RunMode.PAUSE and agent.authority is Authority.MUSTER
    )


def _ask(
    client: Client,
    name: str,
    desired: RunMode | None,
    now: bool,
    note: str | None,
    names: Sequence[str],
) -> RunView | int:
    """The answer for one agent; of several, the exit code of an error that is printed."""
    try:
        if desired is None:
            return client.ask(requests.restart(name, now=now, note=note))
        return client.run(name, desired, now=now, note=note)
    except MusterError as error:
        if len(names) == 1:
            raise
        click.echo(f"muster: {clean(str(error))}", err=True)
        return error.exit_code


def _tell(
    client: Client,
    run: RunView | int,
    desired: RunMode | None,
    now: bool,
    request: RunRequest,
    deadline: WaitLimit,
) -> int:
    """Wait for one agent if asked to, print its state, and return the exit code."""
    if isinstance(run, int):
        return run
    ended = Ended(code=0)
    if _is_forbidden(run, desired):
        ended = Ended(code=NOT_SO)  # the note says why
    elif request["wait"]:
        ended = wait_for(client, run, deadline, restarts=desired is None, now=now)
        run = client.ask(requests.run_state(run.agent))
        ended = judged_by(client, ended, run)
    if request["as_json"]:
        print_json(run)
    else:
        click.echo(in_a_line(run, ended.reason))
        if ended.gave_up:
            click.echo(f"muster: {clean(run.agent)}: {ended.gave_up}", err=True)
    return ended.code


def _is_forbidden(run: RunView, desired: RunMode | None) -> bool:
    """Whether a budget paused the agent again, in the same moment."""
    return run.desired is RunMode.PAUSE and desired is not RunMode.PAUSE


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
    yield from working or (_without_session(run),)
    if run.waits_for:
        yield f"waits for {', '.join(run.waits_for)} to run"
    if run.disabled:
        yield f"disabled: `muster agent enable {run.agent}` lets it run"
    elif run.failures and run.retry_at is not None:
        again = f"{run.retry_at.astimezone():%H:%M:%S}"
        because = f" ({failed_because.rstrip('.')})" if failed_because else ""
        yield f"failed {run.failures}x{because}, next retry at {again}"
    elif failed_because and run.session is None and run.desired is not RunMode.PAUSE:
        yield f"failed ({failed_because.rstrip('.')})"
    elif run.authority is Authority.SELF and run.current is not run.desired:
        yield "the agent is told at its next request"


def _without_session(run: RunView) -> str:
    """The current state of an agent that has no session, or whose sessions muster does not see."""
    if run.on_call and run.desired is not RunMode.PAUSE:
        return "on call: runs while it has a task"
    if run.badge.status is BadgeWord.UNKNOWN:
        return f"unknown: {run.badge.line}"
    return _DOING[run.current]


def _in_session(doing: str, session: SessionView) -> str:
    process = "" if session.pid is None else f", process {session.pid}"
    return f"{doing} (session {session.id}{process})"
