"""`muster agent-state-machine` and `muster ask`: delegation in a folder.

No server is needed: a session's folder has its own log. A command that runs agents opens the log
and serves it over HTTP until it is done (`served.py`); other commands are clients of that process,
as with `muster up`. A command that runs no agents opens the log only for its own access.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

import click
import msgspec

from muster.cli.acting import print_json, server
from muster.cli.delegate import sessions
from muster.cli.delegate.choosing import can_ask, chosen_agent
from muster.cli.delegate.places import (
    Place,
    client_at,
    home_around,
    nesting_here,
    place_of,
    settings_of,
)
from muster.cli.delegate.served import Show, carry_out, is_served
from muster.cli.delegate.session_text import session_lines
from muster.cli.options import home_option, json_option
from muster.cli.render import clean
from muster.cli.texts import text_or_stdin
from muster.client import delegation
from muster.client.sync import Client
from muster.delegation import session_folder
from muster.delegation.agent_folders import agents_of, find_agents
from muster.delegation.policy import policy_of
from muster.delegation.session_log import LogProvider
from muster.delegation.team_session import forget_lost, team_session
from muster.delegation.visiting import OnDemandLogProvider, earlier_choices, visited
from muster.errors import Ambiguous, DelegationOpen, Invalid, NotRunning
from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import person
from muster.machines.state import MAIN, QUEUE, Delegation
from muster.machines.vocabulary import DelegationMode, Machine
from muster.routing.agent_files import Warned
from muster.team import Muster
from muster.views.conversations import ConversationView, head_of, step_line, step_of

T = TypeVar("T")

FAILED: Final = 1
"""The exit code of a request that failed."""

_path_option = click.option(
    "--path",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The session's folder [the session started last in this folder].",
)


@click.command(name="agent-state-machine")
@click.option(
    "--session",
    "act",
    type=click.Choice(["start", "end"]),
    default="start",
    show_default=True,
    help="Open a session, or close it.",
)
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in DelegationMode]),
    help="Where a conversation may go next [orchestrator].",
)
@click.option(
    "--path",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The session's folder [.claude/agent-state-machine/YYYYMMDD_HHMMSS].",
)
@click.option(
    "--agents",
    "folders",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A folder with agents; comes before .claude/agents of the project and of the user.",
)
@click.option(
    "--run",
    "names",
    multiple=True,
    metavar="AGENT",
    help="Response mode: run this agent on its messages in the queue; '*' is every agent.",
)
@click.option("--until-empty", is_flag=True, help="With --run: end when the queue is empty.")
@home_option
def agent_state_machine(
    act: str,
    mode: str | None,
    path: Path | None,
    folders: tuple[Path, ...],
    names: tuple[str, ...],
    until_empty: bool,
    home: Path,
) -> None:
    """Open or close a state machine session over a folder of agents.

    The agents are its states, their descriptions its transitions. A session has a folder with its
    log, its history and its conversations. Without --path, `start` goes on with the session that is
    open in this folder or creates a new one, and `end` closes the one that was started last.
    """
    if names:
        _serve_queue(place_of(path, home), home, names, until_empty)
    elif act == "end":
        _end(path, home)
    else:
        if path is None and (said := sessions.follow_moved()):
            click.echo(f"muster: {clean(said)}", err=True)
        chosen = None if mode is None else DelegationMode(mode)
        is_usual = not (path or folders or sessions.last())
        if is_usual and _serves_here(home):
            _start_there(chosen, home)
        elif not (is_usual and _resume_of_team(chosen, home)):
            _start(_chosen(path), chosen, folders, home)


def _serves_here(home: Path) -> bool:
    """Whether the server in this home is the one of the current folder."""
    return is_served(home) and home.resolve().parent == Path.cwd()


def _start_there(mode: DelegationMode | None, home: Path) -> None:
    """Open a session in the running server, whose dashboard then shows what is asked here."""
    with server(home) as client:
        found = client.ask(delegation.delegation())
        if not found.open or (mode is not None and mode is not found.mode):
            found = client.ask(delegation.start_delegation(mode=mode))
        else:
            found = msgspec.structs.replace(found, resumed=True)
    for warning in found.warnings:
        click.echo(f"muster: warning: {clean(warning)}", err=True)
    root = Path(found.path)
    shown = Delegation(mode=found.mode, path=found.path, agents=found.agents, opened=found.opened)
    click.echo("\n".join(session_lines(root, shown, policy_of(root), resumed=found.resumed)))


def _resume_of_team(mode: DelegationMode | None, home: Path) -> bool:
    """Go on with the open session of the team of this folder, whose server does not run; return
    whether there is one."""
    root = team_session(home) if home.resolve().parent == Path.cwd() else None
    if root is None:
        return False
    log_provider, _ = visited(root, settings_of(root, home), home)
    found = asyncio.run(_delegation_in(log_provider))
    if found.mode is None:  # it ended, and the server was killed before it could say so
        return False
    if mode is not None and mode is not found.mode:
        raise DelegationOpen()
    click.echo("\n".join(session_lines(root, found, policy_of(root), resumed=True)))
    return True


async def _delegation_in(log_provider: OnDemandLogProvider) -> Delegation:
    async with log_provider.access() as session_log:
        return session_log.team.delegation


def _chosen(path: Path | None) -> Path:
    """The folder of the session to start: the given one, the open one, or else a new one."""
    before = sessions.last()
    if path is None and before is not None:
        return before
    root = (path or session_folder.new_path(Path(), _local_now())).absolute()
    if str(root) != os.fsencode(root).decode("utf-8", "replace"):  # the log is UTF-8
        raise Invalid(what="--path", why="has a name that is not UTF-8. Choose another folder")
    if before is not None and before != root:
        said = f"the session in {clean(str(before))} is still open, and in force again after this"
        click.echo(f"muster: {said} one ends", err=True)
    return root


def _local_now() -> datetime:
    from muster.engine.system import SystemClock

    return SystemClock().wall().astimezone()


# ── sessions ──────────────────────────────────────────────────────────────────────────────────────


def _start(root: Path, mode: DelegationMode | None, given: tuple[Path, ...], home: Path) -> None:
    found = find_agents(given, project=Path.cwd(), user=Path.home())
    _warn(found.warnings)
    settings = settings_of(root, home)
    session_folder.prepare(root)
    policy = policy_of(root)
    log_provider, _ = visited(root, settings)
    delegation, resumed = asyncio.run(
        session_folder.start(
            log_provider,
            root=root,
            earlier=earlier_choices(Path.cwd(), home),
            mode=mode,
            agents=found.agents,
            folders=session_folder.folders_of(given, project=Path.cwd(), user=Path.home()),
            policy=policy,
            actor=person(settings.team.human),
            allowance=settings.delegation.allowance,
        )
    )
    sessions.remember(root)
    shown = msgspec.structs.replace(delegation, agents=tuple(agents_of(delegation, root)))
    click.echo("\n".join(session_lines(root, shown, policy, resumed=resumed)))
    _check(log_provider)


def _end(path: Path | None, home: Path) -> None:
    gone = sessions.last() if path is None else path.absolute()
    if gone is not None and not session_folder.has_session(gone) and sessions.forget(gone):
        click.echo(f"Session closed: its folder {clean(str(gone))} is gone.")
        return
    if gone is None and forget_lost(home):
        click.echo("Session closed: the log of its team is gone.")
        return
    place = place_of(path, home)
    root = place.root
    if place.server is not None:
        with client_at(place) as client:
            client.ask(delegation.end_delegation())
        click.echo("Session ended.")
        return
    settings = settings_of(root, home)
    log_provider, _ = visited(root, settings, place.team_home)
    ended = asyncio.run(session_folder.end(log_provider, actor=person(settings.team.human)))
    sessions.forget(root)
    click.echo(f"Session ended: {clean(str(root))}, {ended.opened} conversations.")
    _check(log_provider)


def _serve_queue(place: Place, home: Path, names: tuple[str, ...], until_empty: bool) -> None:
    wanted = () if "*" in names else names

    async def here(muster: Muster) -> int:
        return await muster.requests.queue.carry_out(wanted, until_empty=until_empty)

    def there(client: Client) -> int:
        return client.ask(delegation.run_queue(wanted, until_empty=until_empty)).conversations

    # A message is claimed once, whoever runs the queue.
    done = _carried_out(place, home, here, there, _Display().show, is_repeatable=True)
    click.echo(f"{done} conversation{'' if done == 1 else 's'} carried out.")


def _warn(warnings: Sequence[Warned]) -> None:
    for warning in warnings:
        click.echo(f"muster: warning: {clean(str(warning))}", err=True)


def _check(log_provider: LogProvider) -> None:
    """Raise the error that kept the folder from being updated, if there was one."""
    if log_provider.trouble is not None:
        raise log_provider.trouble


# ── one request ───────────────────────────────────────────────────────────────────────────────────


@click.command()
@_path_option
@click.option("--to", metavar="AGENT", help="Give it to this agent; skip routing.")
@json_option("Print the conversation as JSON.")
@home_option
@click.argument("text")
@click.pass_context
def ask(
    ctx: click.Context, path: Path | None, to: str | None, as_json: bool, home: Path, text: str
) -> None:
    """Delegate a request to the agent whose description matches.

    The command waits for the result and prints it. With TEXT `-`, the request is read from standard
    input. If several agents may be meant, it asks which one; without a terminal it fails, and names
    them. The exit code is 1 if the request failed.
    """
    text = text_or_stdin(text)
    place = place_of(path, home)
    try:
        view = _ask(place, home, text, to, quiet=as_json)
    except Ambiguous as unclear:
        if as_json or not can_ask():
            raise
        view = _ask(place, home, text, chosen_agent(unclear))
    if view.outcome == "failed":
        ctx.exit(FAILED)


def _ask(
    place: Place, home: Path, text: str, to: str | None, *, quiet: bool = False
) -> ConversationView:
    """Send a request, and print its transitions and its result."""
    display = _Display(text, quiet=quiet)
    nesting = nesting_here()

    async def here(muster: Muster) -> ConversationView:
        view = await muster.requests.ask(text, speaker=muster.team.human, to=to, nesting=nesting)
        display.finish(view)
        return view

    def there(client: Client) -> ConversationView:
        asked = delegation.converse(text, to=to, depth=nesting.depth, agent=nesting.agent)
        view = client.ask(asked)
        display.finish(view)
        return view

    return _carried_out(place, home, here, there, display.show)


def _carried_out(
    place: Place,
    home: Path,
    here: Callable[[Muster], Awaitable[T]],
    there: Callable[[Client], T],
    show: Show,
    *,
    is_repeatable: bool = False,
) -> T:
    """Run an action where the session's agents run: in the team's server, or in a process that
    serves the session's own log."""
    if place.team_home is not None:
        raise NotRunning(home=place.team_home)
    if place.server is not None and place.server != place.root / session_folder.HOME_FOLDER:
        with server(place.server) as client:
            return there(client)
    home = home_around(place.root, home)
    return carry_out(
        place.root,
        settings_of(place.root, home),
        home=home,
        here=here,
        there=there,
        show=show,
        is_repeatable=is_repeatable,
    )


class _Display:
    """Prints the transitions of a conversation, and its result."""

    def __init__(self, text: str | None = None, *, quiet: bool = False) -> None:
        """Print the conversation of this request, or all; `quiet` prints the result as JSON."""
        self._text = text
        self._conversation = ""
        self._quiet = quiet
        self._begun: set[str] = set()

    def show(self, events: Sequence[Event]) -> None:
        """Print the transitions in new events."""
        for event in events:
            fact = event.fact
            if isinstance(fact, e.ConversationStart) and not self._conversation:
                self._conversation = fact.conversation if fact.text == self._text else ""
            elif isinstance(fact, e.StateTransition) and self._concerns(fact):
                self._begin(fact)
                click.echo(clean(step_line(step_of(fact, event.ts))))

    def _concerns(self, fact: e.StateTransition) -> bool:
        if self._quiet or fact.machine is not Machine.DELEGATION:
            return False
        return self._text is None or fact.conversation == self._conversation

    def _begin(self, fact: e.StateTransition) -> None:
        name = fact.conversation or ""
        if fact.source in (MAIN, QUEUE) and name not in self._begun:
            click.echo(f"[State: {fact.source}] [Conv: {name.removeprefix('conv_')}]")
            self._begun.add(name)

    def finish(self, view: ConversationView) -> None:
        """Print the result."""
        if self._quiet:
            print_json(view)
            return
        head = "" if self._begun else f"{head_of(view)} "
        if head and view.trace and view.outcome is not None:  # a server carried it out
            click.echo("\n".join([head_of(view), *(clean(step_line(each)) for each in view.trace)]))
            head = ""
        if view.outcome is None and view.route is not None:
            because = f" {clean(view.waits_because)}" if view.waits_because else ""
            click.echo(f"{head}Waiting in the queue for {clean(view.route.agent)}.{because}")
            return
        lines = view.answer.split("\n")
        click.echo("\n".join([head + clean(lines[0]), *map(clean, lines[1:])]))
        for file in view.files:
            where = " (outside of the outputs)" if file.outside and not file.named else ""
            click.echo(f"  {file.change} {clean(file.path)}, {file.size} bytes{where}")
