"""The composition root: opens a team, runs its services, and closes it in order.

    lock the home, open the log      store
    reserve what must not fail later the caller
    load the team                    loading
    say that muster started          dispatcher
    run                              timers, presence, reactors, snapshots, state files
    say that muster stops, end the sessions, say that it has stopped, keep a snapshot, close

No cancellation can skip the last line. A service that fails ends the team in the same order, and
`open_team` raises its exception.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import (
    AbstractAsyncContextManager,
    aclosing,
    asynccontextmanager,
    nullcontext,
)
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

from muster import limits
from muster.attachments import AttachmentFolder
from muster.delegation.conversations import Conversations
from muster.delegation.held_back import follow, hold_back
from muster.delegation.queue import EVERY, QueueRunner
from muster.delegation.requests import Requests
from muster.delegation.session_folder import HOME_FOLDER
from muster.delegation.session_log import OpenLogProvider
from muster.delegation.task_runner import Tasks
from muster.delegation.visiting import LoggedTeam, is_keeper_alive, open_in_turn
from muster.engine.clocks.shared import following_server
from muster.engine.dispatcher import Dispatcher
from muster.engine.feed import Feed
from muster.engine.fencing import Fence
from muster.engine.loading import Loaded, load_from
from muster.engine.partials import Partials
from muster.engine.ports import Clock, Ids
from muster.engine.presence import Presence
from muster.engine.reactors import Runner
from muster.engine.schedules import Schedules
from muster.engine.snapshots import Snapshots
from muster.engine.stopping import end_team
from muster.engine.system import RandomIds, SystemClock
from muster.engine.tasks import background, run_to_completion
from muster.engine.timers import Timers
from muster.engine.watchdog import slow_steps_reported, watch_loop
from muster.inbox.errands import soul_line
from muster.inbox.inbox import Inbox
from muster.machines.commands import ReportClockJump, StartMuster
from muster.machines.ids import HERE, MUSTER, SeatId, SessionId
from muster.mirrors.inbox_file.files import InboxFiles
from muster.mirrors.state_file.files import StateFiles, wishes
from muster.nodes.membership import joined
from muster.notify.notifier import NeedNotifier
from muster.notify.push.desk import PushDesk
from muster.notify.told import ToldNeeds
from muster.reloading.live import LiveSettings, Load, SettingsSource
from muster.reloading.roster import Roster, describer
from muster.runtimes import catalog
from muster.runtimes.claude.conversations import ClaudeConversations
from muster.runtimes.process.orphans import session_tasks
from muster.runtimes.programs import detect_programs
from muster.sessions.environment import SessionEnvironment
from muster.sessions.prompt import Prompter
from muster.sessions.prompt_templates import PromptTemplates
from muster.sessions.reactor import Sessions
from muster.sessions.session_tokens import SessionTokens
from muster.settings.in_force import SettingsInForce, hosting_lead, table_of
from muster.settings.model import SETTINGS_FILE, Settings
from muster.store.base import EventStore
from muster.team import Muster
from muster.team_options import DelegationPlan, Reserve, TeamOptions, node_plan
from muster.telemetry.service import Telemetry, telemetry_services
from muster.upkeep import look_after
from muster.version import __version__
from muster.worker.process import Worker
from muster.workspaces.recording import workspace_keepers
from muster.workspaces.rules import rules_of
from muster.workspaces.service import Workspaces

log = logging.getLogger(__name__)

__all__ = ["Muster", "TeamOptions", "open_configured", "open_team", "run_team"]


VISIT_SECONDS: Final = 2.0
"""How long a team waits for hooks that record in its log: each holds it for hundredths of one."""


class Files(Protocol):
    """A service that keeps shared files in step with the log."""

    async def run(self) -> None:
        """Follow the files until cancelled."""
        ...

    async def close(self) -> None:
        """Write the last changes."""
        ...


def open_configured(
    home: Path,
    settings: Settings,
    *,
    url: str = "",
    load: Load | None = None,
    reserve: Reserve = nullcontext,
) -> AbstractAsyncContextManager[Muster]:
    """Open the team in this home as its settings say, reached at `url`.

    With `load`, which loads the settings anew, changes of the file are taken up. What `reserve`
    cannot have keeps everything from starting.
    """
    in_force = SettingsInForce(settings)
    path = home.absolute() / SETTINGS_FILE
    options = TeamOptions(
        human=settings.team.human,
        runtimes=catalog.RuntimeCatalog(in_force, home),
        snapshot_every=settings.store.snapshot_every,
        in_force=in_force,
        names_agents=True,
        source=None if load is None else SettingsSource(path=path, load=load),
        delegation=delegation_of(in_force, home, serves_queue=True),
        inboxes=settings.team.inboxes_beside(home),
        url=url,
        reserve=reserve,
        node=node_plan(home, settings),
    )
    return open_team(home, options)


def delegation_of(
    in_force: SettingsInForce,
    home: Path,
    *,
    project: Path | None = None,
    serves_queue: bool = False,
) -> DelegationPlan:
    """How delegated tasks are run, from the settings of the team in `home`."""
    return DelegationPlan(
        runtimes=catalog.TaskRuntimeCatalog(in_force, home),
        task_seconds=lambda: in_force.current.delegation.task_seconds,
        allowance=lambda: in_force.current.delegation.allowance,
        selector=lambda: in_force.current.delegation.selector,
        project=project or home.absolute().parent,
        is_alive=is_keeper_alive,
        serves_queue=serves_queue,
    )


@asynccontextmanager
async def open_session(
    root: Path, settings: Settings, *, home: Path, project: Path, url: str = ""
) -> AsyncGenerator[Muster]:
    """Open the log in the folder of a state machine session, as `muster ask` does.

    The settings are those of the team in `home`, and requests come from `project`. Only agents that
    are on call run here, and none that the team in `home` holds back.
    """
    plan = delegation_of(SettingsInForce(settings), home, project=project)
    options = TeamOptions(
        human=settings.team.human,
        delegation=msgspec.structs.replace(plan, root=root, asks_people=False),
        url=url,
    )
    async with open_team(root / HOME_FOLDER, options) as muster:
        around = LoggedTeam(home)
        team = around.read()
        if team is not None:
            await hold_back(muster.dispatcher, team)
        async with background() as tasks:
            tasks.create_task(follow(muster.dispatcher, muster.clock, around))
            yield muster


@asynccontextmanager
async def open_team(
    home: Path, options: TeamOptions, *, clock: Clock | None = None, ids: Ids | None = None
) -> AsyncGenerator[Muster]:
    """Open the team in this home, and close it at the end."""
    store = await open_in_turn(home, SystemClock(), VISIT_SECONDS)
    ids = ids or RandomIds()
    try:
        with options.reserve(), slow_steps_reported():
            async with (
                watch_loop() as lags,
                following_server(store, clock) as clock,
                run_team(store, options, clock=clock, ids=ids, home=home) as muster,
            ):
                muster.loop_lags = lags
                yield muster
    finally:
        await run_to_completion(store.close())


@asynccontextmanager
async def run_team(
    store: EventStore, options: TeamOptions, *, clock: Clock, ids: Ids, home: Path | None = None
) -> AsyncGenerator[Muster]:
    """Run the team in an open store; the store stays open."""
    loaded = await load_from(store)
    dispatcher = Dispatcher(store, clock, loaded.team, loaded.life)
    session_tokens, life = SessionTokens(ids.new()), SessionId(ids.new())
    async with joined(store, dispatcher, clock, options.node, life, home) as fence:
        start = _NodeStart(store, clock, loaded, dispatcher, session_tokens, life, fence)
        async with _run_services(options, ids, home, start) as muster, background() as beside:
            beside.create_task(muster.nodes.run())
            yield muster


class _NodeStart(NamedTuple):
    """A life of this node that is about to begin."""

    store: EventStore
    clock: Clock
    loaded: Loaded
    dispatcher: Dispatcher
    session_tokens: SessionTokens
    life: SessionId
    fence: Fence


@asynccontextmanager
async def _run_services(
    options: TeamOptions, ids: Ids, home: Path | None, start: _NodeStart
) -> AsyncGenerator[Muster]:
    """Begin a life of this node, run its services, and end it in order."""
    store, clock, loaded, dispatcher, session_tokens, life, fence = start
    feed = _feed(store, dispatcher)
    snapshots = _snapshots(dispatcher, store, loaded, options)
    in_force = options.in_force or SettingsInForce(Settings())
    presence = Presence(dispatcher, clock, timeout=lambda: in_force.heartbeat_timeout_s)
    inbox = Inbox(feed, dispatcher, describer(in_force, soul_line))
    partials = Partials(dispatcher, clock)
    prompter = _prompter(dispatcher, store, inbox, home, in_force)
    roster = _roster(dispatcher, options, in_force, home)
    await _begin(dispatcher, life, options, roster, clock, loaded.last_at, home)
    log_provider = OpenLogProvider(dispatcher, store, options.delegation.root, home)
    shared = StateFiles(dispatcher, clock, roster.state_files(), home=home)
    workspaces = Workspaces(dispatcher, home, rules_of(in_force, options.delegation, home))
    keepers = workspace_keepers(workspaces, store, feed, dispatcher, clock)
    files: list[Files] = [log_provider, shared, *keepers]
    files += _inbox_files(dispatcher, store, clock, options.inboxes, feed)
    tasks = _tasks(dispatcher, clock, log_provider, options.delegation, home, workspaces)
    requests = await _requests(dispatcher, clock, log_provider, tasks, options.delegation)
    async with session_tasks() as lives, aclosing(Worker()) as worker:
        around = _around(session_tokens, workspaces, home, options.url, fence)
        reclaim = None if home is None else catalog.reclaimer(home)
        tools = (prompter, around, tasks, worker, partials, reclaim)
        sessions = Sessions(dispatcher, options.runtimes, clock, lives, *tools)
        apply = partial(_apply, roster, shared, sessions)
        live = LiveSettings(in_force, options.source, dispatcher, clock, apply, sessions.outdated)
        reactor = Runner(sessions, store, feed, dispatcher, clock)
        try:
            async with background() as services:
                push = _push_desk(in_force, clock, home)
                timed = (roster, *_clocked(dispatcher, clock, in_force, home, options.url, push))
                for each in (*timed, *files, live, presence, snapshots, reactor, requests.queue):
                    services.create_task(each.run())
                yield Muster(
                    store=store,
                    dispatcher=dispatcher,
                    feed=feed,
                    presence=presence,
                    inbox=inbox,
                    prompter=prompter,
                    partials=partials,
                    session_tokens=session_tokens,
                    clock=clock,
                    ids=ids,
                    settings=live,
                    sessions=sessions,
                    detect_programs=partial(detect_programs, (home or Path()).absolute().parent),
                    requests=requests,
                    workspaces=workspaces,
                    conversations=ClaudeConversations(around.folder),
                    push=push,
                    worker=worker,
                    files=_attachments(services, home, store, dispatcher, clock),
                )
        finally:
            await run_to_completion(end_team(dispatcher, feed, sessions, files, reactor, snapshots))


def _roster(
    dispatcher: Dispatcher, options: TeamOptions, in_force: SettingsInForce, home: Path | None
) -> Roster:
    named_in = home if options.names_agents else None
    node = None if options.node.name == HERE else options.node.name
    return Roster(dispatcher, options.runtimes, in_force, named_in, node)


def _snapshots(
    dispatcher: Dispatcher, store: EventStore, loaded: Loaded, options: TeamOptions
) -> Snapshots:
    every, seq = options.snapshot_every, loaded.snapshot_seq
    return Snapshots(dispatcher, store, taken_seq=seq, every=every)


def _attachments(
    services: asyncio.TaskGroup,
    home: Path | None,
    store: EventStore,
    dispatcher: Dispatcher,
    clock: Clock,
) -> AttachmentFolder | None:
    """The files of messages, looked after; none for a team without a home."""
    if home is None:
        return None
    attachments = AttachmentFolder(home)
    services.create_task(look_after(home, attachments, store, dispatcher, clock))
    return attachments


def _around(
    tokens: SessionTokens, workspaces: Workspaces, home: Path | None, url: str, fence: Fence
) -> SessionEnvironment:
    return SessionEnvironment(tokens, workspaces, home=home, url=url, fence=fence)


async def _apply(roster: Roster, files: StateFiles, sessions: Sessions) -> None:
    """Bring the team, its state files and its running sessions in line with new settings."""
    await roster.enlist()
    await files.change(roster.state_files())
    await sessions.adopt_settings()


def _prompter(
    dispatcher: Dispatcher,
    store: EventStore,
    inbox: Inbox,
    home: Path | None,
    in_force: SettingsInForce,
) -> Prompter:
    """The writer of prompts, which asks for the settings of an agent at each wake."""
    return Prompter(
        dispatcher,
        store,
        inbox,
        PromptTemplates(home),
        hosts=lambda: hosting_lead(in_force.current) is not None,
        checks=lambda agent: table_of(in_force.current, agent).wake_check,
        handover=lambda agent: table_of(in_force.current, agent).handover,
        home=home,
    )


def _push_desk(in_force: SettingsInForce, clock: Clock, home: Path | None) -> PushDesk:
    """The desk for browsers. Push services are told the public address as a contact."""
    public = in_force.current.server.public_url
    contact = public if public.startswith("https://") else ""
    return PushDesk(home, lambda: in_force.current.push, clock.wall, contact)


def _clocked(
    dispatcher: Dispatcher,
    clock: Clock,
    in_force: SettingsInForce,
    home: Path | None,
    url: str,
    push: PushDesk,
) -> tuple[Timers | Schedules | NeedNotifier | Telemetry, ...]:
    """The services that wait for a time: deadlines, schedules, notifications, telemetry."""
    told, targets = ToldNeeds(home), lambda: in_force.current.notify
    page = f"{in_force.current.server.public_url.rstrip('/') or url}/"
    notifier = NeedNotifier(dispatcher, clock, targets, told, url=page, push=push)
    exports = telemetry_services(dispatcher, clock, in_force.current.telemetry, home)
    return Timers(dispatcher, clock), Schedules(dispatcher, clock), notifier, *exports


def _inbox_files(
    dispatcher: Dispatcher, store: EventStore, clock: Clock, folder: Path | None, feed: Feed
) -> list[Files]:
    """The service of inbox files, where the settings name a folder for them."""
    return [] if folder is None else [InboxFiles(dispatcher, store, clock, folder, feed)]


def _feed(store: EventStore, dispatcher: Dispatcher) -> Feed:
    """The feed of all events that are committed from now on."""
    feed = Feed(store, last_seq=dispatcher.team.seq)
    dispatcher.watch(lambda commit: feed.publish(commit.stored))
    return feed


def _tasks(
    dispatcher: Dispatcher,
    clock: Clock,
    log_provider: OpenLogProvider,
    plan: DelegationPlan,
    home: Path | None,
    workspaces: Workspaces,
) -> Tasks:
    return Tasks(
        dispatcher,
        clock,
        log_provider,
        plan.runtimes,
        timeout=plan.task_seconds,
        home=home,
        project=plan.project,
        asks_people=plan.asks_people,
        selector=plan.selector,
        worktrees=workspaces,
    )


async def _requests(
    dispatcher: Dispatcher,
    clock: Clock,
    log_provider: OpenLogProvider,
    tasks: Tasks,
    plan: DelegationPlan,
) -> Requests:
    """The requests of state machine sessions; those of an earlier process are closed first."""
    conversations = Conversations(log_provider, clock, tasks=tasks, is_alive=plan.is_alive)
    await conversations.recover()
    queue = QueueRunner(dispatcher, clock, conversations, tasks)
    if plan.serves_queue:
        queue.serve(EVERY)
    return Requests(
        dispatcher,
        clock,
        conversations,
        queue,
        project=plan.project,
        allowance=plan.allowance,
    )


async def _begin(
    dispatcher: Dispatcher,
    life: SessionId,
    options: TeamOptions,
    roster: Roster,
    clock: Clock,
    last_at: datetime | None,
    home: Path | None,
) -> None:
    """Start a server session. An agent that its state file paused meanwhile starts paused.

    If the clock was set back while muster was down, deadlines are set back with it: none is further
    away than it was at the last event.
    """
    paused = await wishes(roster.state_files(), dispatcher.team, clock, home)
    started = _start(options, life, paused)
    behind_s = 0.0 if last_at is None else (last_at - clock.now()).total_seconds()
    if 0 < behind_s < limits.CLOCK_STEP_SECONDS:  # times of events go on where they ended
        clock.move(behind_s)
    await dispatcher.send(started, actor=MUSTER)
    if behind_s >= limits.CLOCK_STEP_SECONDS:
        jump = ReportClockJump(seconds=-behind_s, shift_seconds=-behind_s)
        await dispatcher.send(jump, actor=MUSTER)
    await roster.enlist(at_boot=True)


def _start(options: TeamOptions, life: SessionId, paused: dict[SeatId, str]) -> StartMuster:
    node = options.node
    return StartMuster(
        server_session=life,
        muster_version=__version__,
        human=options.human,
        paused=paused,
        node=node.name,
        labels=node.labels,
        room=node.room,
    )
