"""Turns messages of Claude Code into `SessionReport`s. Pure.

A reader belongs to one session and reads everything, in order. What it comes to know beside what
is said (which conversation this is, what is wrong with the model server) it keeps to be asked.
"""

from collections.abc import Callable, Iterator
from typing import Final, cast

from muster.engine.ports import (
    Output,
    PartialText,
    Result,
    SessionActivity,
    SessionReport,
    Spending,
    Working,
)
from muster.limits import CLAUDE_RETRY_AFTER_SECONDS_MAX, PARTIAL_SECONDS
from muster.machines.vocabulary import Activity
from muster.runtimes.claude.faults import BUSY, fault, refusal, refused
from muster.runtimes.claude.prompts import Prompts
from muster.runtimes.claude.protocol.messages import (
    AssistantMessage,
    ClaudeMessage,
    Content,
    Data,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResults,
    ToolUseBlock,
)
from muster.runtimes.claude.spent import SpentSoFar
from muster.runtimes.claude.usage import Counted, since
from muster.runtimes.claude.written import WrittenText
from muster.runtimes.claude_plans import ClaudePlans
from muster.runtimes.excerpts import compact, excerpt
from muster.runtimes.process.pipes import STDERR, OutputBudget
from muster.runtimes.prompted.speech import Prose, spoken
from muster.settings.rules import NAME_CHARS_MAX

AGENT_TOOLS: Final = ("Agent", "Task")
"""The tool that starts a helper, by both of its names."""

HELPER_TASKS: Final = ("local_agent", "local_workflow")
"""The background tasks that are helpers; the others are programs."""

HELPER_ENDS: Final = ("failed", "stopped", "killed")
"""How a helper ends that does not complete its work."""

HELPERS_MAX: Final = 1000
"""How many helpers of a session are known by name: they can be called again long after."""

WORKING_SECONDS: Final = 1.0
"""How often a model that goes on talking is told of as a sign of work."""

MODEL: Final = "model"
SYNTHETIC: Final = "<synthetic>"
"""The model that the program names for what it says itself."""


class MessageReader:
    """Reads what one session says."""

    def __init__(self, budget: OutputBudget, now: Callable[[], float], counted: Counted) -> None:
        """`counted` is what its conversation had used up before."""
        self.prompts = Prompts()
        self.conversation = ""
        self.counted = counted
        self.fault = ""
        """Why work with the model server is impossible, once it is."""

        self.retry_after_s = 0.0  # how long the model server then asks to wait
        self.commands: tuple[str, ...] = ()  # the slash commands that the program has named
        self.mode = ""  # the permission mode that the program has named last
        self._prose = Prose(budget)
        self._spent = SpentSoFar()
        self._now = now
        self._printed: list[str] = []
        self._calls: dict[str, str] = {}
        self._plans = ClaudePlans()
        self._names: dict[str, str] = {}  # of helpers, by the call that started them and by task
        self._helpers: set[str] = set()  # tasks of those who work
        self._finished: set[str] = set()  # those among them who have not said what came of it
        self._worked_at = now()
        self._written = WrittenText()
        self._written_at = 0.0
        self._last_text = ""
        """The last text, as long as no turn has ended with it."""

        self._answer: str | None = None
        """The last text of the present piece of work, without what was meant for muster."""

        self._model = ""  # that spoke last
        self._space_after = ""  # the last text
        self._unfinished = ""
        """The beginning of an answer that the length of a reply cut off: the next goes on there."""

        self._blocked = ""
        self._retries = 0

    @property
    def calling(self) -> bool:
        """Whether its work stands while a tool does its own."""
        return self.prompts.working and bool(self._calls)

    def who(self, task: str | None) -> str:
        """The name of a helper; nothing for the agent itself."""
        return "" if task is None else self._names.get(task, task)

    def take_printed(self) -> bytes:
        """All that was read since this was last asked, as it goes into the output file."""
        printed, self._printed = "".join(self._printed), []
        return printed.encode("utf-8", "replace")

    def read(self, message: ClaudeMessage) -> list[SessionReport]:
        """The reports in a message."""
        match message:
            case AssistantMessage():
                return list(self._assistant(message))
            case ToolResults(content=blocks, parent_tool_use_id=parent):
                return [told for each in blocks for told in self._came(each, self.who(parent))]
            case ResultMessage():
                return list(self._result(message))
            case SystemMessage(subtype=what, data=data):
                return list(self._system(what, data))
            case StreamEvent(event=event, parent_tool_use_id=parent):
                return list(self._stream(event, main=parent is None))

    # ── what the model says and does ──────────────────────────────────────────────────────────────

    def _assistant(self, message: AssistantMessage) -> Iterator[SessionReport]:
        main = message.parent_tool_use_id is None
        if main:
            self.prompts.speak()
        if message.model != SYNTHETIC:
            self._retries = 0
            self._model = message.model if main else self._model
            yield from self._spend(self._spent.said(message))
        for block in message.content:
            match block:
                case TextBlock(text=text) if main and message.model == SYNTHETIC:
                    yield from self._complain(text)
                case TextBlock(text=text) if main:
                    yield from self._say(text)
                case ThinkingBlock() | TextBlock():
                    yield Working()
                case ToolUseBlock():
                    yield from self._called(block, self.who(message.parent_tool_use_id))
                case ToolResultBlock():  # of a tool that the model server runs
                    yield from self._came(block, self.who(message.parent_tool_use_id))

    def _say(self, text: str) -> Iterator[SessionReport]:
        self._printed.append(text.rstrip("\n") + "\n")
        self._written = WrittenText()  # this is what it was writing
        begun, self._unfinished = self._unfinished, ""
        begun += text[: len(text) - len(text.lstrip())] if begun else ""
        told = spoken(text, self._prose, self._now(), before=self._last_text, begun=begun)
        yield from told.said
        self._last_text = told.after
        self._space_after = text[len(text.rstrip()) :]
        self._answer = told.rest

    def _complain(self, text: str) -> Iterator[SessionReport]:
        """The program itself has something to say, which is no word of its model's."""
        self._printed.append(text.rstrip("\n") + "\n")
        if text.strip():
            yield Output(stream=STDERR, text=excerpt(text.strip()))

    def _called(self, block: ToolUseBlock, by: str) -> Iterator[SessionReport]:
        """A call of a tool. Helpers keep plans of their own, which nobody sees."""
        yield self._call(block, by)
        if not by and (told := self._plans.called(block.id, block.name, block.input)) is not None:
            yield told

    def _call(self, block: ToolUseBlock, by: str) -> SessionActivity:
        given = compact(block.input)
        self._printed.append(f"[{_of(by)}{block.name}] {given}\n")
        self._calls[block.id] = block.name
        if block.name in AGENT_TOOLS:
            self._name(block.id, _called(block.input))
        return SessionActivity(
            kind=Activity.TOOL_CALL, name=block.name, text=excerpt(given), ref=block.id, by=by
        )

    def _came(self, block: ToolResultBlock, by: str) -> Iterator[SessionReport]:
        """The result of a call."""
        call, failed = block.tool_use_id, bool(block.is_error)
        yield self._done(call, block.content, failed, by)
        if (told := self._plans.done(call, flat(block.content), failed=failed)) is not None:
            yield told

    def _done(self, call: str, content: Content, failed: bool, by: str) -> SessionActivity:
        text = flat(content)
        name = self._calls.pop(call, "?")
        self._printed.append(f"[{_of(by)}{name} {'failed' if failed else 'done'}] {text}\n")
        kind = Activity.TOOL_FAILED if failed else Activity.TOOL_DONE
        return SessionActivity(kind=kind, name=name, text=excerpt(text), ref=call, by=by)

    def _stream(self, event: Data, *, main: bool) -> Iterator[SessionReport]:
        """The model is writing: a sign of work, and the text so far, both not too often."""
        now = self._now()
        if now - self._worked_at >= WORKING_SECONDS:
            self._worked_at = now
            yield Working()
        if not main:
            return
        yield from self._spend(self._spent.streamed(event))
        if _is_out_of_tokens(event):
            self._unfinished = self._last_text + self._space_after
        self._written.take(event)
        if now - self._written_at >= PARTIAL_SECONDS and (text := self._written.text):
            self._written_at = now
            yield PartialText(text=text)

    def _spend(self, is_more: bool) -> Iterator[SessionReport]:
        if is_more:
            yield Spending(usage=self._spent.usage)

    # ── what the program says ─────────────────────────────────────────────────────────────────────

    def _system(self, what: str, data: Data) -> Iterator[SessionReport]:
        task = str(data.get("task_id") or "")
        match what:
            case "task_started" if data.get("task_type") in HELPER_TASKS:
                yield self._started(task, data)
            case "task_notification":
                yield from self._ended(task, str(data.get("summary") or ""))
            case "task_updated":
                patch: Data = data.get("patch") or {}
                yield from self._updated(task, str(patch.get("status")))
            case "task_progress":
                yield Working()
            case _:
                yield from self._stated(what, data)

    def _stated(self, what: str, data: Data) -> Iterator[SessionReport]:
        if what in ("init", "status"):  # the model leaves the mode `plan` by itself, too
            self.mode = str(data.get("permissionMode") or self.mode)
        match what:
            case "init":
                yield from self._init(data)
            case "api_retry":
                yield self._asked_again(data)
            case "compact_boundary":
                yield _compacted(data)
            case "informational":
                yield from self._informed(data)
            case "session_state_changed":
                self.prompts.running = data.get("state") != "idle"
            case "conversation_reset":
                self.conversation = str(data.get("new_conversation_id") or "")
            case "command_lifecycle":
                took = self.prompts.become(str(data.get("command_uuid")), str(data.get("state")))
                if took is not None:
                    yield took
            case _:
                pass

    def _started(self, task: str, data: Data) -> SessionActivity:
        given = self._names.get(str(data.get("tool_use_id")))
        description = str(data.get("description") or "")
        kind = str(data.get("subagent_type") or description)
        name = self._names.get(task) or given or kind  # who is called again keeps its name
        self._name(task, name)
        self._helpers.add(task)
        text = str(data.get("prompt") or description)
        self._printed.append(f"[{name} started] {text}\n")
        return SessionActivity(
            kind=Activity.HELPER_STARTED, name=name, text=excerpt(text), ref=task
        )

    def _name(self, key: str, name: str) -> None:
        self._names[key] = name
        while len(self._names) > 2 * HELPERS_MAX:
            del self._names[next(iter(self._names))]

    def _updated(self, task: str, status: str) -> Iterator[SessionReport]:
        """A helper that has finished says what came of it right after that; any other does not."""
        if status == "completed":
            self._finished.add(task)
        elif status in HELPER_ENDS:
            yield from self._ended(task, status)

    def _ended(self, task: str, summary: str) -> Iterator[SessionReport]:
        self._finished.discard(task)
        if task in self._helpers:
            self._helpers.remove(task)
            name = self.who(task)
            self._printed.append(f"[{name} ended] {summary}\n")
            yield SessionActivity(
                kind=Activity.HELPER_DONE, name=name, text=excerpt(summary), ref=task
            )

    def _init(self, data: Data) -> Iterator[SessionReport]:
        """The beginning of a piece of work: which conversation it is, and what did not load."""
        self.conversation = str(data.get("session_id") or self.conversation)
        self.commands = tuple(map(str, data.get("slash_commands") or ()))
        for error in data.get("plugin_errors") or ():
            text = f"a plugin of Claude Code does not load: {compact(error)}"
            self._printed.append(f"{text}\n")
            yield Output(stream=STDERR, text=excerpt(text))

    def _informed(self, data: Data) -> Iterator[SessionReport]:
        """The program warns; among that is a prompt that a hook did not let through."""
        outcome: Data = data.get("prompt_submit_outcome") or {}
        if outcome.get("kind") == "blocked_by_hook":
            self._blocked = f"a hook did not let the prompt through: {outcome.get('reason')}"
        if data.get("level") in ("warning", "error"):
            yield from self._complain(str(data.get("content") or ""))

    def _asked_again(self, data: Data) -> SessionActivity:
        self._retries = int(data.get("attempt") or self._retries + 1)
        status = data.get("error_status")
        self.fault = self.fault or refusal(status, self._retries) or self._busy(status, data)
        what = f"{status or 'no answer'} ({data.get('error') or 'unknown'})"
        text = f"{what}, attempt {self._retries} of {data.get('max_retries')}"
        self._printed.append(f"[{MODEL} asked again] {text}\n")
        return SessionActivity(kind=Activity.ASKED_AGAIN, name=MODEL, text=text)

    def _busy(self, status: int | None, data: Data) -> str:
        """Why there is no use in waiting for a busy server: it was asked as often as is set, or
        asks for a pause in which the next session may as well begin anew."""
        if status not in BUSY:
            return ""
        after_s = float(data.get("retry_delay_ms") or 0) / 1000
        often = self._retries > int(data.get("max_retries", self._retries))
        if not often and after_s <= CLAUDE_RETRY_AFTER_SECONDS_MAX:
            return ""
        self.retry_after_s = after_s
        return fault(status, "", self._retries, after_s)

    # ── results ───────────────────────────────────────────────────────────────────────────────────

    def _result(self, message: ResultMessage) -> Iterator[SessionReport]:
        for task in sorted(self._finished):
            yield from self._ended(task, "")
        yield from self._prose.end()
        self.conversation = message.session_id or self.conversation
        used, self.counted = since(self.counted, message)
        aborted = (message.terminal_reason or "").startswith("aborted")
        if aborted and used.tokens < self._spent.usage.tokens:
            used = self._spent.usage  # the program leaves out a request that was cut off
        self._spent.result(message)
        command = self.prompts.command
        answers = self.prompts.result(of_ours=_is_ours(message))
        ok, text = self._outcome(message)
        if ok and not text.strip() and command:  # `/clear`, for one, says nothing
            text = f"{excerpt(command, NAME_CHARS_MAX)} is done."
        if self.fault:  # then no agent has said this
            answers = False
        self._last_text, self._answer, self._blocked, self._retries = "", None, "", 0
        self._unfinished = ""
        self._written = WrittenText()
        if not self._helpers:
            self._calls.clear()
        unasked = not answers and not self.fault
        yield Result(
            ok=ok,
            text=text,
            usage=used,
            answers=answers,
            unasked=unasked,
            interrupted=aborted and not self.fault,
            model=self._model,
        )

    def _outcome(self, message: ResultMessage) -> tuple[bool, str]:
        reason = message.terminal_reason or ""
        if reason.startswith("aborted"):
            said = [each for each in (self._answer, self._written.text.strip()) if each]
            return False, self.fault or "\n".join(said)
        text = self._blocked or message.result or "; ".join(message.errors or ())
        if not message.is_error and not self._blocked:
            return True, text if self._answer is None else self._answer
        if message.stop_reason == "refusal":  # an answer: the server works
            return False, refused(text)
        if reason == "api_error" or message.api_error_status is not None:
            asked = self._retries + 1
            self.fault = self.fault or fault(message.api_error_status, text, asked)
        return False, self.fault or text or message.subtype


def _is_ours(message: ResultMessage) -> bool:
    return message.origin is None or message.origin.get("kind") == "human"


def _is_out_of_tokens(event: Data) -> bool:
    """Whether a message ends only because it is as long as a reply may be."""
    delta: Data = event.get("delta") or {}
    return delta.get("stop_reason") == "max_tokens"


def _called(given: Data) -> str:
    return str(given.get("name") or given.get("subagent_type") or "general-purpose")


def _of(by: str) -> str:
    return f"{by}: " if by else ""


def _compacted(data: Data) -> SessionActivity:
    found: Data = data.get("compact_metadata") or {}
    before, after = found.get("pre_tokens", "?"), found.get("post_tokens", "?")
    text = f"{found.get('trigger', '?')}: from {before} to {after} tokens"
    return SessionActivity(kind=Activity.COMPACTED, name=MODEL, text=text)


def flat(content: Content) -> str:
    """The result of a tool, as text."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return compact(content)
    return "\n".join(_block(each) for each in cast("list[Content]", content))


def _block(block: Content) -> str:
    if not isinstance(block, dict):
        return str(block)
    found = cast("Data", block)
    return str(found["text"]) if "text" in found else f"[{found.get('type', '?')}]"
