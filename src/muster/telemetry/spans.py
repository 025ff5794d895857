"""Spans of a team's work, made from the events of its log.

    conversation  ├─ invoke_agent python-engineer     a delegated task, from MAIN and back
                     ├─ chat claude-sonnet            a piece of work: a prompt until its result
                        ├─ execute_tool Bash
    turn          = invoke_agent Ada in a channel, with the same below it

Names and attributes follow the conventions of OpenTelemetry for generative AI. A span's place is a
text (`turn:design:7`), from which its ids follow: a child can be exported after its parent. Spans
begin with this process; a turn that began before it is not seen.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final, TypeVar

import msgspec

from muster.machines import events as e
from muster.machines.events import Event
from muster.machines.ids import ChannelId, ConversationId, SeatId, SessionId
from muster.machines.state import MAIN, QUEUE, Team
from muster.machines.vocabulary import FAILURES, Activity, Machine, TurnState, Usage

OPEN_MAX: Final = 10_000
"""Spans of a kind that are open at once; an agent decides how many tool calls it begins."""

TEXT_CHARS_MAX: Final = 2_000

HELD: Final = (TurnState.ACTIVE, TurnState.WAITING)
ENDS_OF_TOOLS: Final = {Activity.TOOL_DONE: "", Activity.TOOL_FAILED: "the tool call failed"}
NOT_AGENTS: Final = (MAIN, QUEUE)

Value = str | int | float


class SpanPlace(msgspec.Struct, frozen=True):
    """The place of a span: its trace, itself, and its parent, by name."""

    trace: str
    key: str
    parent: str = ""

    def below(self, key: str) -> "SpanPlace":
        """The place of a child."""
        return SpanPlace(self.trace, key, self.key)


class WorkSpan(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a team's work, from its start to its end."""

    place: SpanPlace
    name: str
    started: datetime
    ended: datetime
    attributes: Mapping[str, Value]
    failure: str = ""
    """Why it failed; empty if it did not."""


class OpenSpan(msgspec.Struct, kw_only=True):
    """A span that has not ended yet."""

    place: SpanPlace
    name: str
    started: datetime
    attributes: dict[str, Value]
    used: Usage = Usage()

    def count(self, usage: Usage) -> None:
        """Add the usage of a piece of work."""
        self.used += usage

    def ended(self, at: datetime, failure: str = "", **more: Value) -> WorkSpan:
        """The whole span."""
        return WorkSpan(
            place=self.place,
            name=self.name,
            started=self.started,
            ended=max(at, self.started),
            attributes=self.attributes | _usage(self.used) | _named(more),
            failure=failure,
        )


class SpanRecorder:
    """Follows the events of a team, and yields each span when it ends."""

    def __init__(self, *, content: bool = False) -> None:
        """With `content`, spans carry the words of requests and tool calls."""
        self._content = content
        self._turns: dict[tuple[SeatId, ChannelId], OpenSpan] = {}
        self._conversations: dict[ConversationId, OpenSpan] = {}
        self._tasks: dict[ConversationId, OpenSpan] = {}
        self._task_of: dict[SessionId, ConversationId] = {}
        self._work: dict[SessionId, OpenSpan] = {}
        self._tools: dict[tuple[SessionId, str], OpenSpan] = {}

    def record(self, event: Event, team: Team) -> Iterator[WorkSpan]:
        """The spans that an event ends."""
        match event.fact:
            case e.StateTransition(machine=Machine.TURNS) as moved:
                yield from self._turn(event, moved)
            case e.StateTransition(machine=Machine.DELEGATION) as moved:
                yield from self._delegated(event, moved)
            case e.ConversationStart() as opened:
                self._converse(event, opened)
            case e.ConversationEnd() as closed:
                yield from self._answer(event, closed)
            case e.SessionRequested(task=task) as asked if task is not None:
                self._task_of[asked.session] = task
            case e.PromptTaken() as taken:
                self._begin_work(event, taken, team)
            case e.SessionResult() as result:
                yield from self._end_work(event, result)
            case e.AgentActivity() as activity:
                yield from self._use_tool(event, activity, team)
            case e.SessionEnd() as end:
                yield from self._end_session(event, end)
            case _:
                pass

    # ── turns and tasks ───────────────────────────────────────────────────────────────────────────

    def _turn(self, event: Event, moved: e.StateTransition) -> Iterator[WorkSpan]:
        seat, channel = moved.seat, moved.channel
        if seat is None or channel is None:
            return
        if moved.target not in HELD and (turn := self._turns.pop((seat, channel), None)):
            yield turn.ended(event.ts, muster_trigger=moved.trigger)
        elif moved.target == TurnState.ACTIVE and moved.source not in HELD:
            key = f"turn:{channel}:{moved.epoch}"
            about = {"gen_ai.conversation.id": f"#{channel}", "muster.turn": moved.epoch or 0}
            turn = _agent_span(SpanPlace(key, key), moved.agent_id, event.ts, about)
            _put(self._turns, (seat, channel), turn)

    def _converse(self, event: Event, opened: e.ConversationStart) -> None:
        key = f"conversation:{opened.conversation}"
        about: dict[str, Value] = {"gen_ai.conversation.id": opened.conversation}
        if self._content:
            about["muster.request"] = opened.text[:TEXT_CHARS_MAX]
        root = OpenSpan(
            place=SpanPlace(key, key),
            name=f"conversation {opened.conversation}",
            started=event.ts,
            attributes=about,
        )
        _put(self._conversations, opened.conversation, root)

    def _delegated(self, event: Event, moved: e.StateTransition) -> Iterator[WorkSpan]:
        if moved.conversation is None:
            return
        if task := self._tasks.pop(moved.conversation, None):
            yield task.ended(event.ts, muster_trigger=moved.trigger)
        root = self._conversations.get(moved.conversation)
        if root is not None and moved.target not in NOT_AGENTS:
            place = root.place.below(f"task:{moved.conversation}:{event.seq}")
            about: dict[str, Value] = {"gen_ai.conversation.id": moved.conversation}
            _put(self._tasks, moved.conversation, _agent_span(place, moved.target, event.ts, about))

    def _answer(self, event: Event, closed: e.ConversationEnd) -> Iterator[WorkSpan]:
        if task := self._tasks.pop(closed.conversation, None):
            yield task.ended(event.ts)
        if root := self._conversations.pop(closed.conversation, None):
            failure = closed.outcome if closed.outcome == "failed" else ""
            yield root.ended(event.ts, failure, muster_outcome=closed.outcome)

    # ── work and tool calls ───────────────────────────────────────────────────────────────────────

    def _around(self, seat: SeatId, session: SessionId) -> OpenSpan | None:
        """The task or the turn that a session works for."""
        if task := self._tasks.get(self._task_of.get(session, ConversationId(""))):
            return task
        held = [turn for (holder, _), turn in self._turns.items() if holder == seat]
        return held[-1] if held else None

    def _below(self, around: OpenSpan | None, session: SessionId, key: str) -> SpanPlace:
        """The place of work; without a turn or a task, the trace is the session's."""
        return around.place.below(key) if around else SpanPlace(f"session:{session}", key)

    def _begin_work(self, event: Event, taken: e.PromptTaken, team: Team) -> None:
        if taken.session in self._work:
            return  # injected or queued: the work under way goes on
        around = self._around(taken.seat, taken.session)
        about: dict[str, Value] = {"gen_ai.operation.name": "chat"}
        work = OpenSpan(
            place=self._below(around, taken.session, f"work:{taken.session}:{event.seq}"),
            name="chat",
            started=event.ts,
            attributes=about | agent_attributes(team, taken.seat),
        )
        _put(self._work, taken.session, work)

    def _end_work(self, event: Event, result: e.SessionResult) -> Iterator[WorkSpan]:
        work = self._work.pop(result.session, None)
        for each in filter(None, (work, self._around(result.seat, result.session))):
            each.count(result.usage)
        if work is None:
            return
        if result.model:
            work.name = f"chat {result.model}"
            work.attributes["gen_ai.response.model"] = result.model
        yield work.ended(event.ts, "" if result.ok else "the work failed")

    def _use_tool(self, event: Event, activity: e.AgentActivity, team: Team) -> Iterator[WorkSpan]:
        key = (activity.session, activity.ref or activity.name)
        if activity.kind is Activity.TOOL_CALL:
            session = activity.session
            around = self._work.get(session) or self._around(activity.seat, session)
            tool = OpenSpan(
                place=self._below(around, session, f"tool:{session}:{event.seq}"),
                name=f"execute_tool {activity.name}",
                started=event.ts,
                attributes=self._tool(activity) | agent_attributes(team, activity.seat),
            )
            _put(self._tools, key, tool)
        elif activity.kind in ENDS_OF_TOOLS and (tool := self._tools.pop(key, None)):
            yield tool.ended(event.ts, ENDS_OF_TOOLS[activity.kind])

    def _tool(self, activity: e.AgentActivity) -> dict[str, Value]:
        about: dict[str, Value] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": activity.name,
        }
        if activity.ref:
            about["gen_ai.tool.call.id"] = activity.ref
        if self._content:
            about["muster.tool.input"] = activity.text[:TEXT_CHARS_MAX]
        return about

    def _end_session(self, event: Event, end: e.SessionEnd) -> Iterator[WorkSpan]:
        failure = str(end.outcome) if end.outcome in FAILURES else ""
        self._task_of.pop(end.session, None)
        for key in [key for key in self._tools if key[0] == end.session]:
            yield self._tools.pop(key).ended(event.ts, failure)
        if work := self._work.pop(end.session, None):
            yield work.ended(event.ts, failure)


Key = TypeVar("Key")


def _put(spans: dict[Key, OpenSpan], key: Key, span: OpenSpan) -> None:
    """Open a span; the oldest one is forgotten if there are too many."""
    if len(spans) >= OPEN_MAX:
        del spans[next(iter(spans))]
    spans[key] = span


def _agent_span(place: SpanPlace, agent: str, at: datetime, about: Mapping[str, Value]) -> OpenSpan:
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent}
    return OpenSpan(
        place=place, name=f"invoke_agent {agent}", started=at, attributes={**named, **about}
    )


def agent_attributes(team: Team, seat: SeatId | None) -> dict[str, Value]:
    """The attributes that name the agent of a seat."""
    agent = None if seat is None else team.agents.get(seat)
    return {} if agent is None else {"gen_ai.agent.name": agent.id}


def _usage(usage: Usage) -> dict[str, Value]:
    if usage == Usage():
        return {}
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "muster.cost_usd": usage.cost_usd,
    }


def _named(attributes: Mapping[str, Value]) -> dict[str, Value]:
    """Attributes by their names on the wire: `muster_trigger` is `muster.trigger`."""
    return {name.replace("_", ".", 1): value for name, value in attributes.items()}
