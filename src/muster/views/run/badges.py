"""The badge of an agent: a word, a line that says what it means now, a group, the controls.

Every interface shows this badge and adds no word of its own for the same thing. The word follows
the source that knows: `current` for an agent that muster runs or that follows a state file, the
connection for one that connects by itself, the lead's report for one that a lead runs. The states
of the machines (status, desired, current, turn) are fields of their own in the same answers.

The word says whether a process runs, the group whether it has work: a RUNNING agent may be idle.
A line never contains an age: `due` is the moment at which the line changes by itself, and an
interface counts down to it.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

from muster import limits
from muster.machines.ids import MUSTER, author_text
from muster.machines.policies import LIMIT_PAUSES
from muster.machines.run_control.live import own_session
from muster.machines.state import (
    Agent,
    Channel,
    Phase,
    RunControl,
    Session,
    Status,
    Team,
    TurnState,
)
from muster.machines.turns.order import in_ring_order, wants_turn
from muster.machines.turns.table import selector_of
from muster.machines.vocabulary import Authority, Awaits, HandState, Outcome, RunMode, Urgency
from muster.views.answers.agents import Badge, BadgeWord, Control, ControlAct, RosterGroup
from muster.views.run.births import hatching, reason_of, short, unborn
from muster.views.run.by_hand import NOT_HERE, hand_line
from muster.views.run.controls import SUMMON, Controls, controls_of
from muster.views.run.failures import failed_line, unanswered_line, waiting_line
from muster.views.run.running import away_node, waits_for

_ONE_SHOTS: Final = (RunMode.RUN_ONCE, RunMode.RUN_CLEANUP)
_SINGLE: Final[Mapping[str, str]] = {
    RunMode.RUN_ONCE: "single session",
    RunMode.RUN_CLEANUP: "cleanup session",
}
_GREEN: Final = frozenset(
    {BadgeWord.RUNNING, BadgeWord.CONNECTED, BadgeWord.ALIVE, BadgeWord.BY_HAND}
)


class Line(NamedTuple):
    """The meaning of a word now."""

    text: str
    due: datetime | None = None
    """The moment at which it changes by itself; shown as `in 4 s` after the text."""

    group: RosterGroup = RosterGroup.STOPPED


def _working(text: str) -> Line:
    return Line(text, group=RosterGroup.WORKING)


def _waiting(text: str, due: datetime | None = None) -> Line:
    return Line(text, due, RosterGroup.WAITING)


def _ready(text: str) -> Line:
    return Line(text, group=RosterGroup.IDLE)


def badge_of(team: Team, agent: Agent) -> Badge:
    """The badge of an agent."""
    word, line, controls = _parts(team, agent)
    return Badge(
        status=word,
        group=line.group,
        color="green" if word in _GREEN else "gray",
        line=short(line.text),
        due=line.due,
        controls=controls.main,
        more=controls.more,
    )


def _parts(team: Team, agent: Agent) -> tuple[BadgeWord, Line, Controls]:
    if agent.retired:
        return BadgeWord.RETIRED, Line("nothing runs it until it is brought back"), Controls()
    match team.shown_status(agent):
        case Status.NONE | Status.EXPIRED:
            return BadgeWord.EXPIRED, Line(unborn(agent)), Controls((SUMMON,))
        case Status.HATCHING:
            return BadgeWord.HATCHING, _waiting(*hatching(agent)), Controls()
        case status:
            word = _word(team, agent, status)
    if agent.disabled:
        enable = Control(
            label="Enable", color="orange", desired=agent.run.desired, act=ControlAct.ENABLE
        )
        return word, Line("disabled"), Controls((enable,))
    line = _line(team, agent, word)
    return word, line, controls_of(team, agent, word)


# ── the word ──────────────────────────────────────────────────────────────────────────────────────


def _word(team: Team, agent: Agent, status: Status) -> BadgeWord:
    if agent.authority is Authority.FILE:
        return _loop_word(team, agent, status)
    if status is Status.UNKNOWN:
        return BadgeWord.UNKNOWN
    match agent.authority:
        case Authority.SELF:
            here = BadgeWord.CONNECTED if agent.hand is None else BadgeWord.BY_HAND
            return here if agent.present else BadgeWord.NOT_CONNECTED
        case Authority.LEAD:
            return BadgeWord.ALIVE if status is Status.ALIVE else BadgeWord.SLEEPING
        case Authority.MUSTER:
            # While no server runs, or its machine is away, nothing confirms a session.
            if agent.session is not None and away_node(team, agent) is not None:
                return BadgeWord.UNKNOWN
            if agent.run.current is RunMode.PAUSE and not agent.tasks:
                return BadgeWord.IDLE
            return BadgeWord.RUNNING if team.is_running else BadgeWord.UNKNOWN


def _loop_word(team: Team, agent: Agent, status: Status) -> BadgeWord:
    """A loop with a state file. Only its own writes confirm that it runs; a pause needs none."""
    if agent.run.current is RunMode.PAUSE:
        return BadgeWord.IDLE
    return BadgeWord.RUNNING if team.is_running and status is Status.ALIVE else BadgeWord.UNKNOWN


# ── the line ──────────────────────────────────────────────────────────────────────────────────────


def _line(team: Team, agent: Agent, word: BadgeWord) -> Line:
    if word is BadgeWord.UNKNOWN and agent.authority is Authority.FILE and team.is_running:
        return Line(_silent_loop(agent), group=RosterGroup.UNKNOWN)
    if word is BadgeWord.UNKNOWN:
        return Line(_why_unknown(team, agent), group=RosterGroup.UNKNOWN)
    match agent.authority:
        case Authority.MUSTER:
            return _running(team, agent) if word is BadgeWord.RUNNING else _idle(team, agent)
        case Authority.FILE:
            return _followed(team, agent, word)
        case Authority.SELF:
            return _connected(team, agent, word)
        case Authority.LEAD:
            return _led(team, agent, word)


def _why_unknown(team: Team, agent: Agent) -> str:
    if not team.is_running:
        return "muster does not run"
    node = away_node(team, agent)
    return f"its machine {node} is away" if node else "not confirmed since muster started"


def _running(team: Team, agent: Agent) -> Line:
    """An agent that muster runs, and that runs."""
    session = own_session(team, agent)
    if session is not None and session.phase is Phase.STOPPING:
        return _working(_stopping(team, agent, session))
    if agent.run.desired is RunMode.PAUSE and agent.tasks:
        return _working("stops after its task")
    if (asked := _asks_a_person(team, agent)) is not None:
        return asked
    if agent.tasks:
        return _working(f"working on {', '.join(_tasks(team, agent))}")
    if session is None:
        return _waiting("between sessions, next", agent.run.retry_at)
    is_starting = session.phase is Phase.STARTING
    if is_starting or session.is_silent:
        return _working("starting" if is_starting else "shows no sign of work")
    if (turn := _speaks(team, agent)) is not None:
        return turn
    if session.mode in _ONE_SHOTS:
        return _working(f"in a {_SINGLE[session.mode]}")
    return _awaiting_work(team, agent) if agent.run.long_lived else _working("working")


def _awaiting_work(team: Team, agent: Agent) -> Line:
    """A program that lives on between pieces of work."""
    if (message := _message(agent)) is not None:
        return message
    if unanswered := unanswered_line(agent):
        return _ready(unanswered)
    return _queued(team, agent) or _ready(waiting_line(agent))


def _stopping(team: Team, agent: Agent, session: Session) -> str:
    if session.urgency is Urgency.NOW:
        return "stopping now"
    if session.restart or (agent.run.desired is not RunMode.PAUSE and team.shutdown is None):
        return "restarts after this session"
    is_limit = agent.run.set_because in LIMIT_PAUSES
    return "stops after this session" + (f": {agent.run.note}" if is_limit else "")


def _idle(team: Team, agent: Agent) -> Line:
    """An agent that muster runs, and that does not run."""
    run = agent.run
    if run.desired is RunMode.PAUSE:
        return Line(_paused(agent))
    if run.on_call:
        return _ready("on call: runs while it has a task")
    if not team.is_running:
        return Line("starts with muster")
    if team.shutdown is not None:
        return Line("muster is stopping")
    if missing := waits_for(team, agent):
        return _waiting(f"waits for {', '.join(missing)} to run")
    if run.failures and (run.retry_at is not None or run.retries_failures):
        then = "trying again" if run.retry_at is None else "next try"
        return _waiting(f"{failed_line(run)}; {then}", run.retry_at)
    if run.retry_at is not None:
        return _waiting("next session", run.retry_at)
    if run.waits_for_work and agent.session is None:
        return _awaiting_run(team, agent)
    return _between_runs(run) if run.follows_schedule else _working("starting")


def _awaiting_run(team: Team, agent: Agent) -> Line:
    """A program that ends by itself, and that is started when there is work for it."""
    if agent.run.follows_schedule:
        return _between_runs(agent.run)
    if unanswered := unanswered_line(agent):
        return _ready(unanswered)
    return _queued(team, agent) or _ready(waiting_line(agent))


def _between_runs(run: RunControl) -> Line:
    """An agent that waits for its next scheduled time."""
    if run.last_failure is None:
        return _waiting("next run", run.scheduled_at)
    return _waiting(f"last run failed: {reason_of(run.last_failure)}; next run", run.scheduled_at)


def _paused(agent: Agent) -> str:
    """Why an agent is paused: never started, by a person, after a single session, by a limit."""
    run = agent.run
    if run.set_at is None:
        return "never started" if agent.last_alive_at is None else "paused"
    if run.set_by == MUSTER and not run.is_file_readable:
        return f"paused by {MUSTER}: {run.file_problem}"  # which may have changed since
    match run.set_because:
        case "one_shot_done":
            mode, _, outcome = run.note.partition(" ")
            failure = run.last_failure if outcome == Outcome.FAILED else None
            why = "" if failure is None else f": {reason_of(failure)}"
            return f"{_SINGLE.get(mode, 'session')} {outcome}{why}"
        case "runaway":
            return f"paused as a runaway: {run.note}"
        case "budget" | "session_limit":
            return f"budget reached: {run.note}"
        case "restart_policy":
            return run.note
        case _:
            return f"paused by {author_text(run.set_by)}" + (f": {run.note}" if run.note else "")


def _followed(team: Team, agent: Agent, word: BadgeWord) -> Line:
    """An agent whose own loop follows its state file."""
    run = agent.run
    if word is BadgeWord.RUNNING:
        if run.desired is RunMode.PAUSE:
            return _working("asked to stop: its loop stops after its session")
        return _work(team, agent) or _working(f"its loop reports {run.current}")
    if run.desired is RunMode.PAUSE:
        return Line(_paused(agent))
    return _waiting(f"asked to start: its loop has not taken up {run.desired} yet")


def _silent_loop(agent: Agent) -> str:
    """A loop whose file says that it runs, and that nothing confirms."""
    said = f"its state file says {agent.run.current}"
    if agent.status is not Status.ALIVE or agent.confirmed_in is not None:
        return f"{said}, but its loop has not written it since muster started"
    minutes = limits.LOOP_SILENT_SECONDS / 60
    return f"{said}, but its loop has not written it for {minutes:g} min or longer"


def _by_hand(agent: Agent, state: HandState, word: BadgeWord) -> Line:
    """A session that a person runs."""
    if word is not BadgeWord.BY_HAND:
        return Line(NOT_HERE)
    groups = {HandState.WORKING: RosterGroup.WORKING, HandState.ASKING: RosterGroup.WAITING}
    return Line(hand_line(agent), group=groups.get(state, RosterGroup.IDLE))


def _connected(team: Team, agent: Agent, word: BadgeWord) -> Line:
    """An agent that connects by itself."""
    if agent.hand is not None:
        return _by_hand(agent, agent.hand.state, word)
    run = agent.run
    if word is not BadgeWord.CONNECTED:
        return Line(_paused(agent) if run.desired is RunMode.PAUSE else "connects by itself")
    if (work := _work(team, agent)) is not None:
        return work
    stopped = run.current is RunMode.PAUSE
    if run.desired is RunMode.PAUSE:
        return (
            Line(_paused(agent)) if stopped else _ready("asked to stop: told at its next request")
        )
    return Line("paused by itself") if stopped else _ready("waiting for work")


def _led(team: Team, agent: Agent, word: BadgeWord) -> Line:
    """An agent that a lead runs in its own session."""
    lead = team.lead.id if team.lead is not None else "the lead"
    if word is not BadgeWord.ALIVE:
        paused = agent.run.desired is RunMode.PAUSE and agent.run.set_at is not None
        return Line(_paused(agent) if paused else f"{lead} wakes it")
    if agent.run.desired is RunMode.PAUSE:
        return _ready(f"{lead} was asked to stop it")
    return _work(team, agent) or _ready(f"run by {lead}")


# ── the work ──────────────────────────────────────────────────────────────────────────────────────


def _work(team: Team, agent: Agent) -> Line | None:
    """The work of an agent that muster does not run; none where it has none."""
    return (
        _asks_a_person(team, agent)
        or _speaks(team, agent)
        or _message(agent)
        or _queued(team, agent)
    )


def _asks_a_person(team: Team, agent: Agent) -> Line | None:
    """A question that only a person can answer: an approval, or a wait in a turn."""
    if agent.approvals:
        more = len(agent.approvals) - 1
        first = f"waiting for you: approval of {agent.approvals[0].tool}"
        return _waiting(f"{first} and {more} more" if more else first)
    for channel in _channels(team, agent):
        wait = channel.turn.wait if channel.turn and channel.turn.holder == agent.seat else None
        if wait is None:
            continue
        if wait.by_human:
            return _waiting(f"interrupted by {team.human} in {channel.id}")
        you = "waiting for you" if wait.awaits is Awaits.PERSON else "waiting"
        return _waiting(f"{you} in {channel.id}: {wait.reason}")
    return None


def _speaks(team: Team, agent: Agent) -> Line | None:
    for channel in _channels(team, agent):
        if channel.state_of(agent.seat) is TurnState.ACTIVE:
            choosing = channel.turn is not None and channel.turn.choosing
            doing = "choosing the next speaker" if choosing else "working"
            return _working(f"{doing} in {channel.id}")
    return None


def _message(agent: Agent) -> Line | None:
    if agent.answered_upto >= agent.delivered or agent.unanswered is not None:
        return None
    again = agent.returned >= agent.delivered
    return _working("working on a message again" if again else "working on a message")


def _queued(team: Team, agent: Agent) -> Line | None:
    """The channel in which it speaks soonest, with its place in the queue."""
    places = [
        (place, channel.id)
        for channel in _channels(team, agent)
        if (place := _place(team, channel, agent)) is not None
    ]
    if not places:
        return None
    place, channel = min(places)
    ahead = f" ({_ordinal(place)})" if place else ""
    return _waiting(f"waiting for its turn in {channel}{ahead}")


def _place(team: Team, channel: Channel, agent: Agent) -> int | None:
    """A member's place among those that speak next; 0 if it is not known, none if it has none."""
    if channel.resting or channel.archived or channel.state_of(agent.seat) is not TurnState.QUEUED:
        return None
    if selector_of(team, channel) is not None:
        return 0
    line = islice(_next_speakers(team, channel), limits.QUEUE_SHOWN)
    for place, seat in enumerate(line, start=1):
        if seat == agent.seat:
            return place
    return 0 if wants_turn(channel, agent) else None


def _next_speakers(team: Team, channel: Channel) -> Iterator[int]:
    """Members in the order in which they will speak: claims first, then the ring."""
    seen = {channel.turn.holder} if channel.turn else set[int]()
    claimed = (each.seat for each in channel.claims)
    ring = (each.seat for each in in_ring_order(team, channel) if wants_turn(channel, each))
    for seat in (*claimed, *ring):
        if seat not in seen:
            seen.add(seat)
            yield seat


def _channels(team: Team, agent: Agent) -> Iterator[Channel]:
    return (team.channels[name] for name in agent.channels)


def _tasks(team: Team, agent: Agent) -> Iterator[str]:
    """The tasks of an agent, in the words of the requests."""
    for each in agent.tasks:
        if (task := team.sessions[each].task) is not None:
            request = team.delegation.conversations.get(task)
            words = short(request.text, limits.BADGE_REASON_CHARS) if request is not None else ""
            yield f'"{words}"' if words else f"Task {task.removeprefix('conv_')}"


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10)
    return f"{number}{ending or 'th'}"
