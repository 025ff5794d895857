"""The JSON that one-shot programs print, read as the work of a model. Pure.

Each line is an object with a `type`. Programs add types and fields with every release, so what is
not known is left out, and a value of another kind than expected counts as missing.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Final, cast

from muster.engine.ports import Result, SessionReport, Spending
from muster.machines.vocabulary import NOTHING_USED, Usage
from muster.runtimes.claude_plans import ClaudePlans
from muster.runtimes.codex.reading import CodexReader, camel_case, tokens_of
from muster.runtimes.excerpts import compact
from muster.runtimes.plans import plan
from muster.runtimes.prompted.reader import WorkReader

Json = dict[str, Any]  # an object, as the program has it


class Dialect(ABC):
    """Reads what one session of a program prints."""

    def __init__(self, work: WorkReader) -> None:
        """Tell text and tool calls through `work`."""
        self._work = work

    @abstractmethod
    def read(self, kind: str, line: Json) -> Iterator[SessionReport]:
        """The reports in a line of that type."""

    def _over(self, ok: bool, text: str, usage: Usage) -> Iterator[SessionReport]:
        """The work is over; what the model said last is its answer, else this text."""
        yield from self._work.end()
        answer = self._work.take_answer()
        yield Result(ok=ok, text=(answer if ok else "") or text, usage=usage)


class ClaudeDialect(Dialect):
    """`claude -p --output-format stream-json --verbose`."""

    def __init__(self, work: WorkReader) -> None:
        """Follow the plan of one Claude Code."""
        super().__init__(work)
        self._plans = ClaudePlans()

    def read(self, kind: str, line: Json) -> Iterator[SessionReport]:
        """Messages of the model, results of tools, and the result of all."""
        if kind == "result":
            usage = _object(line, "usage")
            used = Usage(
                cost_usd=_number(line, "total_cost_usd"),
                input_tokens=_count(usage, "input_tokens"),
                output_tokens=_count(usage, "output_tokens"),
                cache_read_tokens=_count(usage, "cache_read_input_tokens"),
                cache_write_tokens=_count(usage, "cache_creation_input_tokens"),
            )
            yield from self._over(not line.get("is_error"), _text(line, "result"), used)
        elif kind in ("assistant", "user") and line.get("parent_tool_use_id") is None:
            for block in _objects(_object(line, "message"), "content"):
                yield from self._block(block)

    def _block(self, block: Json) -> Iterator[SessionReport]:
        match block.get("type"):
            case "text":
                yield from self._work.say(_text(block, "text") + "\n")
            case "tool_use":
                ref, name = _text(block, "id"), _text(block, "name")
                yield from self._work.call(ref, name, compact(block.get("input")))
                told = self._plans.called(ref, name, _object(block, "input"))
                if told is not None:
                    yield told
            case "tool_result":
                came = block.get("content")
                text = came if isinstance(came, str) else compact(came)
                ref = _text(block, "tool_use_id")
                failed = bool(block.get("is_error"))
                yield from self._work.done(ref, text, failed=failed)
                if (told := self._plans.done(ref, _plain(block), failed=failed)) is not None:
                    yield told
            case _:
                pass


class CodexDialect(Dialect):
    """`codex exec --json`: the items of its app-server, in snake case."""

    def __init__(self, work: WorkReader) -> None:
        """Read items as those of the app-server."""
        super().__init__(work)
        self._items = CodexReader(work)
        self._begun: set[str] = set()

    def read(self, kind: str, line: Json) -> Iterator[SessionReport]:
        """Items, and the end of the turn."""
        match kind:
            case "item.started" | "item.updated" | "item.completed":
                yield from self._item(kind, _object(line, "item"))
            case "turn.completed":
                usage = tokens_of(camel_case(_object(line, "usage")))
                yield from self._over(True, "", usage)
            case "turn.failed":
                yield from self._over(False, _text(_object(line, "error"), "message"), NOTHING_USED)
            case "error":
                yield from self._work.complain(_text(line, "message"))
            case _:
                pass

    def _item(self, kind: str, item: Json) -> Iterator[SessionReport]:
        if _text(item, "type") == "agent_message":
            if kind == "item.completed":
                yield from self._work.say(_text(item, "text") + "\n")
        elif _text(item, "type") == "todo_list":
            steps = _objects(item, "items")
            yield plan((each.get("text"), each.get("completed") and "completed") for each in steps)
        elif _text(item, "type") == "error":
            yield from self._work.complain(_text(item, "message"))
        elif isinstance(item.get("id"), str) and item.get("type"):
            whole = camel_case({**item, "type": _camel(str(item["type"]))})
            if item["id"] not in self._begun:  # some are told only at their end
                self._begun.add(item["id"])
                yield from self._items.read("item/started", {"item": whole})
            if kind == "item.completed":
                self._begun.discard(item["id"])
                yield from self._items.read("item/completed", {"item": whole})


class GeminiDialect(Dialect):
    """`gemini -p --output-format stream-json`."""

    def read(self, kind: str, line: Json) -> Iterator[SessionReport]:
        """Pieces of text, tool calls, and the result."""
        match kind:
            case "message" if line.get("role") == "assistant":
                yield from self._work.say(_text(line, "content"))
            case "tool_use":
                ref, name = _text(line, "tool_id"), _text(line, "tool_name")
                yield from self._work.call(ref, name, compact(line.get("parameters")))
            case "tool_result":
                failed = line.get("status") == "error"
                text = _text(line, "output") or _text(_object(line, "error"), "message")
                yield from self._work.done(_text(line, "tool_id"), text, failed=failed)
            case "error":
                yield from self._work.complain(_text(line, "message"))
            case "result":
                stats, error = _object(line, "stats"), _object(line, "error")
                cached = _count(stats, "cached")
                used = Usage(
                    input_tokens=max(0, _count(stats, "input_tokens") - cached),
                    output_tokens=_count(stats, "output_tokens"),
                    cache_read_tokens=cached,
                )
                ok = line.get("status") == "success"
                yield from self._over(ok, _text(error, "message"), used)
            case _:
                pass


class OpencodeDialect(Dialect):
    """`opencode run --format json`: the parts of its messages, a step at a time."""

    def __init__(self, work: WorkReader) -> None:
        """Begin with nothing used."""
        super().__init__(work)
        self._used = NOTHING_USED

    def read(self, kind: str, line: Json) -> Iterator[SessionReport]:
        """Texts, tool calls that have ended, and the ends of steps."""
        part = _object(line, "part")
        match kind:
            case "text":
                yield from self._work.say(_text(part, "text") + "\n")
            case "tool_use":
                yield from self._tool(part)
            case "step_finish":
                yield from self._step(part)
            case "error":
                error = _object(line, "error")
                data = _object(error, "data")
                yield from self._over(False, _text(data, "message") or compact(error), self._used)
            case _:
                pass

    def _tool(self, part: Json) -> Iterator[SessionReport]:
        ref, state = _text(part, "callID"), _object(part, "state")
        yield from self._work.call(ref, _text(part, "tool"), compact(state.get("input")))
        failed = state.get("status") == "error"
        text = _text(state, "error") if failed else _text(state, "output")
        yield from self._work.done(ref, text, failed=failed)

    def _step(self, part: Json) -> Iterator[SessionReport]:
        tokens = _object(part, "tokens")
        cache = _object(tokens, "cache")
        self._used += Usage(
            cost_usd=_number(part, "cost"),
            input_tokens=_count(tokens, "input"),
            output_tokens=_count(tokens, "output") + _count(tokens, "reasoning"),
            cache_read_tokens=_count(cache, "read"),
            cache_write_tokens=_count(cache, "write"),
        )
        if part.get("reason") == "tool-calls":
            yield Spending(usage=self._used)
        else:
            used, self._used = self._used, NOTHING_USED
            yield from self._over(True, "", used)


# ── values of a program that is not trusted ───────────────────────────────────────────────────────

_LARGEST: Final = 10**15
"""More than any count; the machine rejects what is implausible."""


def _object(line: Json, key: str) -> Json:
    value: object = line.get(key)
    return cast("Json", value) if isinstance(value, dict) else {}


def _objects(line: Json, key: str) -> Iterator[Json]:
    value: object = line.get(key)
    if isinstance(value, list):
        every = cast("list[object]", value)
        yield from (cast("Json", each) for each in every if isinstance(each, dict))


def _plain(result: Json) -> str:
    """The text of a tool's result, which is a text or a list of blocks."""
    blocks = "\n".join(_text(each, "text") for each in _objects(result, "content"))
    return _text(result, "content") or blocks


def _text(line: Json, key: str) -> str:
    value = line.get(key)
    return value if isinstance(value, str) else ""


def _number(line: Json, key: str) -> float:
    value: object = line.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return min(max(0.0, float(value)), float(_LARGEST))


def _count(line: Json, key: str) -> int:
    return int(_number(line, key))


def _camel(word: str) -> str:
    first, *rest = word.split("_")
    return first + "".join(each.capitalize() for each in rest)
