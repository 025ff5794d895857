"""Turns the notifications of Codex into `SessionReport`s. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from muster.engine.ports import SessionActivity, SessionReport
from muster.machines.vocabulary import NOTHING_USED, Activity, Usage
from muster.runtimes.excerpts import compact, excerpt
from muster.runtimes.plans import plan_in
from muster.runtimes.prompted.reader import WorkReader

NAME_CHARS_MAX: Final = 80
MODEL: Final = "model"

_SILENT: Final = frozenset({"userMessage", "agentMessage", "reasoning", "plan"})
"""Items that are no tool calls."""

_FAILED: Final = frozenset({"failed", "declined"})

Item = Mapping[str, Any]  # as Codex has it


class CodexReader:
    """Reads what one session says."""

    def __init__(self, work: WorkReader) -> None:
        """Tell text and tool calls through `work`."""
        self.used = NOTHING_USED
        """The tokens of the conversation, as far as Codex has said."""

        self._work = work
        self._items: dict[str, Item] = {}

    def paths(self, item: str) -> list[str]:
        """The files that a change of files is about."""
        return [str(each.get("path")) for each in self._items.get(item, {}).get("changes") or ()]

    def note(self, method: str, params: Item) -> None:
        """Note an item before it is reported: Codex may ask about it."""
        if method == "item/started":
            self._items[str(params["item"]["id"])] = params["item"]
        elif method == "turn/completed":
            self._items.clear()

    def read(self, method: str, params: Item) -> Iterator[SessionReport]:
        """The reports in a notification."""
        match method:
            case "item/agentMessage/delta":
                yield from self._work.say(str(params.get("delta") or ""))
            case "item/started":
                yield from self._started(params["item"])
            case "item/completed":
                yield from self._completed(params["item"])
            case "turn/plan/updated":
                yield plan_in(params.get("plan"), "step")
            case "thread/tokenUsage/updated":
                self.used = tokens_of(params["tokenUsage"]["total"])
            case "error":
                yield from self._error(params)
            case _ if method.startswith("item/"):
                yield from self._work.work()
            case _:
                pass

    def _started(self, item: Item) -> Iterator[SessionReport]:
        if item["type"] in _SILENT:
            yield from self._work.work()
        else:
            yield from self._work.call(str(item["id"]), _name(item), _given(item))

    def _completed(self, item: Item) -> Iterator[SessionReport]:
        if item["type"] not in _SILENT:
            failed = item.get("status") in _FAILED
            yield from self._work.done(str(item["id"]), _came(item), failed=failed)

    def _error(self, params: Item) -> Iterator[SessionReport]:
        error: Item = params.get("error") or {}
        text = str(error.get("message") or "")
        if params.get("willRetry"):
            yield SessionActivity(kind=Activity.ASKED_AGAIN, name=MODEL, text=excerpt(text))
        else:
            yield from self._work.complain(text)


def camel_case(item: Item) -> Item:
    """An object of `codex exec`, with its keys spelled as those of the app-server."""
    return {_camel(key): value for key, value in item.items()}


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(each.capitalize() for each in rest)


def tokens_of(total: Item) -> Usage:
    """The tokens in a count of Codex."""
    cached, written = total.get("cachedInputTokens") or 0, total.get("cacheWriteInputTokens") or 0
    return Usage(
        input_tokens=max(0, (total.get("inputTokens") or 0) - cached - written),
        output_tokens=total.get("outputTokens") or 0,
        cache_read_tokens=cached,
        cache_write_tokens=written,
    )


def _name(item: Item) -> str:
    match item["type"]:
        case "commandExecution":
            return "shell"
        case "fileChange":
            return "apply_patch"
        case "mcpToolCall":
            return excerpt(f"{item.get('server')}.{item.get('tool')}", NAME_CHARS_MAX)
        case kind:
            return excerpt(str(kind), NAME_CHARS_MAX)


def _given(item: Item) -> str:
    match item["type"]:
        case "commandExecution":
            return str(item.get("command") or "")
        case "fileChange":
            return "\n".join(f"{e.get('path')}\n{e.get('diff')}" for e in item.get("changes") or ())
        case "mcpToolCall":
            return compact(item.get("arguments"))
        case _:
            return compact({key: item[key] for key in item if key not in ("id", "type", "status")})


def _came(item: Item) -> str:
    if item["type"] == "commandExecution":
        return str(item.get("aggregatedOutput") or f"exit code {item.get('exitCode')}")
    for key in ("error", "result"):
        if item.get(key) is not None:
            return compact(item[key])
    return str(item.get("status") or "")
