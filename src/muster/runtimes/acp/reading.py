"""Turns the updates of an agent into `SessionReport`s. Pure."""

from collections.abc import Iterator
from typing import Any

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    ContentToolCallContent,
    FileEditToolCallContent,
    PromptResponse,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
)

from muster.engine.ports import SessionReport
from muster.machines.vocabulary import Usage
from muster.runtimes.acp.asked import AskedCall
from muster.runtimes.excerpts import compact, excerpt
from muster.runtimes.plans import plan
from muster.runtimes.prompted.reader import WorkReader

NAME_CHARS_MAX = 80
"""How much of a call's title is its name in the log."""

CALLS_MAX = 1000
"""How many calls of a session are known: an agent may ask about one long after it began."""

Update = Any  # one of the SDK's models of what an agent says


class UpdateReader:
    """Reads the updates of one session."""

    def __init__(self, work: WorkReader) -> None:
        """Tell text and tool calls through `work`."""
        self.cost_usd = 0.0
        """The cost of the conversation, as far as the agent has said."""

        self._work = work
        self._calls: dict[str, AskedCall] = {}
        self._told: set[str] = set()

    def call(self, ref: str) -> AskedCall:
        """A tool call, as far as the agent has told of it."""
        return self._calls.get(ref, AskedCall())

    def note(self, update: Update) -> None:
        """Note what is said of a tool call, before it is reported: the agent may ask about it."""
        if isinstance(update, ToolCallStart | ToolCallProgress):
            ref = update.tool_call_id
            # A call that begins is a new one, even if an earlier one had its id.
            known = AskedCall() if isinstance(update, ToolCallStart) else self.call(ref)
            self._calls[ref] = known.merged(update)
            while len(self._calls) > CALLS_MAX:
                del self._calls[next(iter(self._calls))]

    def read(self, update: Update) -> Iterator[SessionReport]:
        """The reports in an update."""
        match update:
            case AgentMessageChunk(content=TextContentBlock(text=text)):
                yield from self._work.say(text)
            case AgentThoughtChunk() | AgentMessageChunk():
                yield from self._work.work()
            case ToolCallStart() | ToolCallProgress():
                yield from self._tool(update)
            case AgentPlanUpdate(entries=entries):
                yield plan((each.content, each.status) for each in entries)
            case UsageUpdate(cost=cost):
                if cost is not None and cost.currency.upper() == "USD":
                    self.cost_usd = max(self.cost_usd, cost.amount)
            case _:
                pass

    def _tool(self, update: ToolCallStart | ToolCallProgress) -> Iterator[SessionReport]:
        ref = update.tool_call_id
        call = self.call(ref)
        if ref not in self._told:
            self._told.add(ref)
            yield from self._work.call(ref, _name(call), _given(call))
        if update.status in ("completed", "failed"):
            self._told.discard(ref)
            yield from self._work.done(ref, _came(update), failed=update.status == "failed")
        else:
            yield from self._work.work()


def tokens_of(response: PromptResponse) -> Usage:
    """The tokens that an agent reports with the end of its work."""
    usage = response.usage
    if usage is None:
        return _google_tokens(response.field_meta or {})
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens + (usage.thought_tokens or 0),
        cache_read_tokens=usage.cached_read_tokens or 0,
        cache_write_tokens=usage.cached_write_tokens or 0,
    )


Meta = dict[str, Any]  # fields of an agent's own, as JSON has them


def _google_tokens(meta: Meta) -> Usage:
    """The tokens as Gemini CLI reports them, in its own field."""
    quota: Meta = meta.get("quota") or {}
    counts: Meta = quota.get("token_count") or {}
    return Usage(
        input_tokens=int(counts.get("input_tokens") or 0),
        output_tokens=int(counts.get("output_tokens") or 0),
    )


def _name(call: AskedCall) -> str:
    return excerpt(" ".join((call.title or call.kind or "tool").split()), NAME_CHARS_MAX)


def _given(call: AskedCall) -> str:
    return compact(call.raw) if call.raw else call.detail


def _came(update: ToolCallStart | ToolCallProgress) -> str:
    """The result of a tool call, as text."""
    parts: list[str] = []
    for part in update.content or ():
        if isinstance(part, ContentToolCallContent) and isinstance(part.content, TextContentBlock):
            parts.append(part.content.text)
        elif isinstance(part, FileEditToolCallContent):
            parts.append(f"changed {part.path}")
    if not parts and update.raw_output is not None:
        raw = update.raw_output
        parts.append(raw if isinstance(raw, str) else compact(raw))
    return "\n".join(parts)
