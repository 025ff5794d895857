"""`muster run`: one program under one state file, without a server.

The team has one agent and is in memory; only the state file is kept. Events are printed on standard
error, one line each; the program has standard output, and standard error too.
"""

import asyncio
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import click

from muster.app import TeamOptions, run_team
from muster.cli.render import clean
from muster.cli.run.stop_signals import StopSignals
from muster.cli.saying import say
from muster.engine.dispatcher import Commit
from muster.engine.stopping import OrderlyStop
from muster.engine.system import RandomIds, SystemClock
from muster.engine.tasks import background
from muster.errors import Invalid, Refused
from muster.limits import NAME_CHARS_MAX, TURN_SECONDS_MAX
from muster.machines import events as e
from muster.machines.ids import author_text, name_key
from muster.machines.kernel.sentences import failed_in_a_row
from muster.machines.names import check_agent_name
from muster.machines.state import Team
from muster.machines.vocabulary import Authority, Urgency
from muster.mirrors.roster import Plan, enlist
from muster.mirrors.state_file.files import StateFiles
from muster.mirrors.state_file.lock import lock_state_file
from muster.runtimes.inherit import InheritingRuntime
from muster.runtimes.process.group import StopSteps
from muster.store.memory import MemoryStore
from muster.team import Muster

HUMAN: Final = "human"

FOREVER_SECONDS: Final = TURN_SECONDS_MAX
"""The drain of a runner: its one session may finish, however long that takes."""

SNAPSHOT_EVENTS: Final = 500
"""Events between snapshots; older ones are dropped from memory."""


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--state-file",
    required=True,
    type=click.Path(path_type=Path),
    help="State file to follow; created with `pause` if missing.",
)
@click.option(
    "--prompt",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="File passed to every session on standard input.",
)
@click.option(
    "--interrupt-seconds",
    type=click.FloatRange(0, 3600),
    default=2.0,
    show_default=True,
    help="Stop now: time between interrupt and terminate.",
)
@click.option(
    "--terminate-seconds",
    type=click.FloatRange(0, 3600),
    default=5.0,
    show_default=True,
    help="Stop now: time between terminate and kill.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    state_file: Path,
    prompt: Path | None,
    interrupt_seconds: float,
    terminate_seconds: float,
    command: tuple[str, ...],
) -> None:
    """Run one program under a state file, without a server.

    desired_state in the file decides what runs: continuous, run_once, run_cleanup (COMMAND gets
    --cleanup-session appended) or pause; current_state reports it. The first Ctrl-C lets the
    session finish and then exits; the second, SIGTERM, SIGQUIT or a closed terminal ends it now.
    """
    path = state_file.absolute()
    if not path.parent.is_dir():
        raise Invalid(what=f"{path.parent}", why="is not a folder: create it, or name another file")
    steps = StopSteps(interrupt_s=interrupt_seconds, terminate_s=terminate_seconds)
    runtime = InheritingRuntime(command, path, prompt and prompt.absolute(), steps)
    with lock_state_file(path, holder="muster run") or nullcontext():
        asyncio.run(_run(path, runtime))


async def _run(path: Path, runtime: InheritingRuntime) -> None:
    signals = StopSignals()
    _say(f"follows {path}")
    left = await runtime.end_leftovers()
    if left:
        _say(f"an earlier runner was killed; ended what it left running: {left}")
    store = MemoryStore(forgetful=True)
    options = TeamOptions(human=HUMAN, runtimes=lambda _: runtime, snapshot_every=SNAPSHOT_EVENTS)
    async with run_team(store, options, clock=SystemClock(), ids=RandomIds()) as muster:
        files = await _join(muster, path)
        async with background() as tasks:
            tasks.create_task(files.run())
            await signals.first.wait()
            await _finish(muster, signals)
    await files.close()
    await store.close()
    _say("ended")


async def _join(muster: Muster, path: Path) -> StateFiles:
    """Enrol the agent of this file, and print what happens to it."""
    plan = Plan(
        name=_name_for(path, muster.team), authority=Authority.MUSTER, state_file=lambda _: path
    )
    await enlist(muster.dispatcher, [plan])
    muster.dispatcher.watch(_tell)
    seat = muster.team.names[name_key(plan.name)]
    return StateFiles(muster.dispatcher, muster.clock, {seat: path}, pause_if_removed=True)


def _name_for(path: Path, team: Team) -> str:
    """A name for the agent, derived from its folder's."""
    name = re.sub(r"[^\w.-]+", "-", path.resolve().parent.name).strip("-. ")[:NAME_CHARS_MAX]
    try:
        check_agent_name(team, name)
    except Refused:
        return "agent"
    return name


# ── the end ───────────────────────────────────────────────────────────────────────────────────────


async def _finish(muster: Muster, signals: StopSignals) -> None:
    """Start no new session, and wait for the current one; with urgency, stop it now."""
    stop = OrderlyStop(muster.dispatcher)
    drain_seconds = 0.0 if signals.urgent else FOREVER_SECONDS
    await stop.request(signals.reason, drain_seconds=drain_seconds)
    if muster.team.sessions and not signals.urgent:
        _say("lets the session finish; Ctrl-C once more ends it now")
    async with background() as tasks:
        tasks.create_task(_hurry(signals, stop))
        await stop.over()


async def _hurry(signals: StopSignals, stop: OrderlyStop) -> None:
    await signals.second.wait()
    await stop.request("asked again", drain_seconds=0)


# ── what it says ──────────────────────────────────────────────────────────────────────────────────


def _tell(commit: Commit) -> None:
    for event in commit.events:
        line = _line(event.fact)
        if line:
            _say(line)


def _line(fact: e.Fact) -> str:
    """An event as a line for the person who runs the program, or None."""
    match fact:
        case e.DesiredSet(desired=desired, set_by=set_by, note=note):
            return f"{author_text(set_by)} set {desired}" + (f": {note}" if note else "")
        case e.SessionStart(mode=mode, pid=pid):
            return f"session started ({mode}), process {pid}"
        case e.SessionEnd(outcome=outcome, code=code, reason=reason):
            with_code = "" if code is None else f" with code {code}"
            return f"session {outcome}{with_code}" + (f": {reason}" if reason else "")
        case e.StopRequested(urgency=Urgency.NOW):
            return "session is ended now"
        case e.RetryScheduled(failures=failures, until=until):
            why = failed_in_a_row(failures) if failures else "ended at once"
            return f"{why}; the next session starts at {until.astimezone():%H:%M:%S}"
        case e.WarningLogged(text=text):
            return f"warning: {text}"
        case _:
            return ""


def _say(line: str) -> None:
    """Print to standard error, with control characters escaped."""
    say(f"muster run: {clean(line)}", err=True)
