"""The composition root: opens a team, runs its services, and closes it in order.

    lock the home, open the log      store
    load the team                    loading
    say that muster started          dispatcher
    run                              timers, presence, reactors, snapshots, state files
    say that muster stops, end the sessions, keep a snapshot, close

No cancellation can skip the last line. A service that fails ends the team in the same order, and
`open_team` raises its exception.
"""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

import msgspec

from muster import limits
from muster.attachments import AttachmentFolder
from muster.delegation.conversations import Conversations
from muster.delegation.following.owner import IsAlive, assume_alive
from muster.delegation.held_back import follow, hold_back
from muster.delegation.queue import EVERY, QueueRunner
from muster.delegation.requests import Requests
from muster.delegation.session_folder import HOME_FOLDER
from muster.delegation.session_log import OpenLogProvider
from muster.delegation.task_runner import Tasks
from muster.delegation.visiting import is_keeper_alive
from muster.engine.dispatcher import Dispatcher
from muster.engine.feed import Feed
from muster.engine.loading import load, load_from
from muster.engine.partials import Partials
from muster.engine.ports import Clock, Ids, Runtimes
from muster.engine.presence import Presence
from muster.engine.reactors import Runner
from muster.engine.snapshots import SNAPSHOT_EVENTS, Snapshots
from muster.engine.system import RandomIds, SystemClock
from muster.engine.tasks import background, run_to_completion
from muster.engine.timers import Timers
from muster.engine.watchdog import watch_loop
from muster.errors import MusterError, NoTeam
from muster.home.lock import LOG_FILE
from muster.inbox.errands import Describe, soul_line
from muster.inbox.inbox import Inbox
from muster.machines.commands import ReportClockJump, StartMuster, StopMuster
from muster.machines.ids import MUSTER, SeatId, SessionId, name_key
from muster.machines.state import Agent, Team
from muster.machines.vocabulary import NO_LIMIT, Allowance, Authority, Budget, TurnConfig
from muster.mirrors.inbox_file.files import InboxFiles
from muster.mirrors.roster import Plan, enlist, state_files
from muster.mirrors.state_file.files import StateFiles, wishes
from muster.runtimes import catalog
from muster.sessions.environment import SessionEnvironment
from muster.sessions.prompt import Prompter
from muster.sessions.prompt_templates import PromptTemplates
from muster.sessions.reactor import Sessions
from muster.sessions.session_tokens import SessionTokens
from muster.settings.agents import ANYBODY
from muster.settings.model import HEARTBEAT_TIMEOUT_SECONDS, DelegationSettings, Settings
from muster.store.base import SEQ_END, EventStore, MessageSearch
from muster.store.reading import LogReader
from muster.store.sqlite import SqliteStore
from muster.team import Births, Muster
from muster.version import __version__
from muster.views.conversation_costs import Costs
from muster.views.history import History

log = logging.getLogger(__name__)

__all__ = ["Muster", "TeamOptions", "open_configured", "open_team", "run_team"]

USUAL_TURNS: Final = TurnConfig()
"""The default rules of a new channel."""

NO_BIRTHS: Final = Births()


def no_runtimes(agent: Agent) -> None:
    """Without a runtime: agents connect by themselves, or their lead runs them."""


class DelegationPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How delegated tasks are run."""

    runtimes: Runtimes = no_runtimes
    task_seconds: float = DelegationSettings().task_seconds
    allowance: Allowance = NO_LIMIT
    project: Path = Path()
    """The folder that requests come from; relative folders in requests are relative to it."""

    root: Path | None = None
    """The folder of the state machine session, if the log belongs to that session."""

    is_alive: IsAlive = assume_alive
    serves_queue: bool = False
    """Whether queued requests are carried out without a command."""


NO_DELEGATION: Final = DelegationPlan()


class TeamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a team is run."""

    human: str
    runtimes: Runtimes = no_runtimes
    snapshot_every: int = SNAPSHOT_EVENTS
    heartbeat_timeout_s: float = HEARTBEAT_TIMEOUT_SECONDS
    turns: TurnConfig = USUAL_TURNS
    plans: Sequence[Plan] = ()
    """The agents that the settings name."""

    births: Births = NO_BIRTHS
    delegation: DelegationPlan = NO_DELEGATION
    inboxes: Path | None = None
    """The folder of inbox files; none without it."""

    url: str = ""
    """The address at which sessions find the server."""


class Files(Protocol):
    """A service that keeps shared files in step with the log."""

    async def run(self) -> None:
        """Follow the files until cancelled."""
        ...

    async def close(self) -> None:
        """Write the last changes."""
        ...


def open_configured(
    home: Path, settings: Settings, *, url: str = ""
) -> AbstractAsyncContextManager[Muster]:
    """Open the team in this home as its settings say, reached at `url`."""
    options = TeamOptions(
        human=settings.team.human,
        runtimes=catalog.runtimes(settings, home),
        snapshot_every=settings.store.snapshot_every,
        heartbeat_timeout_s=settings.presence.heartbeat_timeout_seconds,
        turns=settings.turns,
        plans=plans_of(settings, home),
        births=births_of(settings),
        delegation=delegation_of(settings, home, serves_queue=True),
        inboxes=settings.team.inboxes_beside(home),
        url=url,
    )
    return open_team(home, options)


def plans_of(settings: Settings, home: Path) -> Sequence[Plan]:
    """The agents of the settings, as the roster enrols them."""
    return [
        Plan(
            name=name,
            authority=Authority.FILE if agent.runtime == "file" else Authority.MUSTER,
            state_file=agent.state_file_beside(home, name),
            seat=None if agent.seat is None else SeatId(agent.seat),
            color=agent.color,
            long_lived=agent.is_long_lived,
            max_turns=agent.max_turns,
            unasked=agent.unasked,
            description=agent.description,
            budget=Budget(**msgspec.structs.asdict(agent.budget)),
            policy=agent.policy,
        )
        for name, agent in settings.agents.items()
        if name != ANYBODY
    ]


def births_of(settings: Settings) -> Births:
    """Whether muster itself can create agents, and how it runs them."""
    anybody = settings.agents.get(ANYBODY)
    return Births(
        possible=anybody is not None, live_on=anybody is not None and anybody.is_long_lived
    )


def delegation_of(
    settings: Settings, home: Path, *, project: Path | None = None, serves_queue: bool = False
) -> DelegationPlan:
    """How delegated tasks are run, from the settings of the team in `home`."""
    return DelegationPlan(
        runtimes=catalog.task_runtimes(settings, home),
        task_seconds=settings.delegation.task_seconds,
        allowance=settings.delegation.allowance,
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
    plan = delegation_of(settings, home, project=project)
    options = TeamOptions(
        human=settings.team.human, delegation=msgspec.structs.replace(plan, root=root), url=url
    )
    async with open_team(root / HOME_FOLDER, options) as muster:
        around = _HomeTeam(home)
        team = around.read()
        if team is not None:
            await hold_back(muster.dispatcher, team)
        async with background() as tasks:
            tasks.create_task(follow(muster.dispatcher, muster.clock, around))
            yield muster


class _HomeTeam:
    """The team in a home, running or not, read from its log."""

    def __init__(self, home: Path) -> None:
        self._log = home / LOG_FILE

    def stamp(self) -> object:
        """When the log and its write-ahead log were written last."""
        wal = self._log.with_name(f"{self._log.name}-wal")
        return [each.stat().st_mtime_ns if each.exists() else 0 for each in (self._log, wal)]

    def read(self) -> Team | None:
        """The team as it is now; None where there is none."""
        try:
            with LogReader.open(self._log) as log:
                return load(log)
        except NoTeam:
            return None


@asynccontextmanager
async def open_team(
    home: Path, options: TeamOptions, *, clock: Clock | None = None, ids: Ids | None = None
) -> AsyncGenerator[Muster]:
    """Open the team in this home, and close it at the end."""
    store = await SqliteStore.open(home)
    clock, ids = clock or SystemClock(), ids or RandomIds()
    try:
        async with (
            watch_loop(),
            run_team(store, options, clock=clock, ids=ids, home=home) as muster,
        ):
            yield muster
    finally:
        await run_to_completion(store.close())


@asynccontextmanager
async def run_team(
    store: EventStore, options: TeamOptions, *, clock: Clock, ids: Ids, home: Path | None = None
) -> AsyncGenerator[Muster]:
    """Run the team in an open store; the store stays open."""
    loaded = await load_from(store)
    dispatcher = Dispatcher(store, clock, loaded.team)
    feed = _feed(store, dispatcher)
    every, seq = options.snapshot_every, loaded.snapshot_seq
    snapshots = Snapshots(dispatcher, store, taken_seq=seq, every=every)
    presence = Presence(dispatcher, clock, timeout_s=options.heartbeat_timeout_s)
    inbox = Inbox(feed, dispatcher, _describer(options.plans))
    partials, session_tokens = Partials(dispatcher, clock), SessionTokens(ids.new())
    prompter = Prompter(dispatcher, store, inbox, PromptTemplates(home))
    await _begin(dispatcher, ids, options, clock, loaded.last_at)
    log_provider = OpenLogProvider(dispatcher, store, options.delegation.root)
    shared = StateFiles(dispatcher, clock, state_files(dispatcher.team, options.plans))
    files: list[Files] = [log_provider, shared]
    if options.inboxes is not None:
        files.append(InboxFiles(dispatcher, store, clock, options.inboxes, feed))
    tasks = _tasks(dispatcher, clock, log_provider, options.delegation, home)
    requests = await _requests(dispatcher, clock, log_provider, tasks, options.delegation)
    async with background() as lives:
        around = SessionEnvironment(session_tokens, home=home, url=options.url)
        sessions = Sessions(
            dispatcher, options.runtimes, clock, lives, prompter, around, tasks, partials
        )
        reactor = Runner(sessions, store, feed, dispatcher, clock)
        try:
            async with background() as services:
                timers = Timers(dispatcher, clock)
                attachments = None if home is None else AttachmentFolder(home)
                if attachments is not None:
                    services.create_task(_remove_unused(attachments, store, clock))
                for each in (timers, presence, snapshots, reactor, requests.queue, *files):
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
                    history=History(store, lambda: dispatcher.team),
                    costs=Costs(store),
                    clock=clock,
                    ids=ids,
                    turns=options.turns,
                    births=options.births,
                    requests=requests,
                    files=attachments,
                )
        finally:
            await run_to_completion(_stop(dispatcher, feed, sessions, files, reactor, snapshots))


def _describer(plans: Sequence[Plan]) -> Describe:
    """Describes an agent as its settings do, or else with the first line of its soul."""
    described = {name_key(plan.name): plan.description for plan in plans if plan.description}
    return lambda agent: described.get(name_key(agent.id)) or soul_line(agent)


def _feed(store: EventStore, dispatcher: Dispatcher) -> Feed:
    """The feed of all events that are committed from now on."""
    feed = Feed(store, last_seq=dispatcher.team.seq)
    dispatcher.watch(lambda commit: feed.publish(commit.stored))
    return feed


async def _remove_unused(files: AttachmentFolder, store: EventStore, clock: Clock) -> None:
    """Remove the uploads of earlier days that no message names, until cancelled."""

    async def is_named(digest: str) -> bool:
        before: int | None = SEQ_END
        while before is not None:
            found, before = await store.search(MessageSearch(file=digest), before=before, limit=1)
            if found:
                return True
        return False

    while True:
        try:
            await files.clean(clock.wall().timestamp(), is_named)
        except (OSError, MusterError) as error:  # the next round tries again
            log.warning("%s", error, extra={"action": "files_not_cleaned"})
        await clock.sleep(limits.FILE_CLEAN_SECONDS)


def _tasks(
    dispatcher: Dispatcher,
    clock: Clock,
    log_provider: OpenLogProvider,
    plan: DelegationPlan,
    home: Path | None,
) -> Tasks:
    return Tasks(
        dispatcher,
        clock,
        log_provider,
        plan.runtimes,
        seconds=plan.task_seconds,
        home=home,
        project=plan.project,
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
    dispatcher: Dispatcher, ids: Ids, options: TeamOptions, clock: Clock, last_at: datetime | None
) -> None:
    """Start a server session. An agent that its state file paused meanwhile starts paused.

    If the clock was set back while muster was down, deadlines are set back with it: none is further
    away than it was at the last event.
    """
    plans = options.plans
    paused = await wishes(state_files(dispatcher.team, plans), dispatcher.team, clock)
    started = StartMuster(
        server_session=SessionId(ids.new()),
        muster_version=__version__,
        human=options.human,
        paused=paused,
    )
    behind_s = 0.0 if last_at is None else (last_at - clock.now()).total_seconds()
    if 0 < behind_s < limits.CLOCK_STEP_SECONDS:  # times of events go on where they ended
        clock.move(behind_s)
    await dispatcher.send(started, actor=MUSTER)
    if behind_s >= limits.CLOCK_STEP_SECONDS:
        jump = ReportClockJump(seconds=-behind_s, shift_seconds=-behind_s)
        await dispatcher.send(jump, actor=MUSTER)
    await enlist(dispatcher, plans, at_boot=True)


async def _stop(
    dispatcher: Dispatcher,
    feed: Feed,
    sessions: Sessions,
    files: Sequence[Files],
    reactor: Runner,
    snapshots: Snapshots,
) -> None:
    """End everything that this process started. The next start repairs what fails here."""
    try:
        await dispatcher.send(StopMuster(reason="stopped"), actor=MUSTER)
        await sessions.close()
        for each in files:
            await each.close()
        await reactor.save()
        await snapshots.take()
    except MusterError as error:
        log.warning("%s", error, extra={"action": "stop_failed"})
    finally:
        feed.close()
