"""A session of Codex: one thread of its app server, in which each prompt is a turn."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from muster.engine.ports import Permission, Result
from muster.limits import APPROVAL_DETAIL_CHARS_MAX
from muster.runtimes.codex.peer import CodexError, CodexPeer
from muster.runtimes.codex.reading import CodexReader
from muster.runtimes.excerpts import excerpt
from muster.runtimes.prompted.json_lines import JsonObject
from muster.runtimes.prompted.memory import ProgramConversation, remember, used_since, with_words
from muster.runtimes.prompted.refusals import told_why
from muster.runtimes.prompted.roots import WritableRoots
from muster.runtimes.prompted.session import NotUp, PromptedSession, SessionParts, WorkFailed
from muster.settings.agent_programs import CodexSettings
from muster.version import __version__

ACCEPT: Final = "accept"
DECLINE: Final = "decline"  # lets the turn go on; "cancel" would end it

REFUSED_CHARS_MAX: Final = 200
"""How much of what was not allowed is repeated with the reason."""

FILE_CHANGE: Final = "item/fileChange/requestApproval"
COMMAND: Final = "item/commandExecution/requestApproval"

log = logging.getLogger(__name__)


class CodexPlan(NamedTuple):
    """The beginning of a session: settings, folders, conversation."""

    settings: CodexSettings
    roots: WritableRoots
    conversation: ProgramConversation
    sandbox: str
    """Codex's own sandbox for what it runs."""

    model: str = ""
    instructions: str = ""
    """The soul, which is in every request."""


class CodexSession(PromptedSession):
    """A running Codex."""

    def __init__(self, parts: SessionParts, plan: CodexPlan) -> None:
        """Take over a program that has just been started."""
        self._plan = plan
        self._conversation = plan.conversation
        self._notifications: asyncio.Queue[tuple[str, JsonObject]] = asyncio.Queue()
        self._reading = CodexReader(parts.reader)
        self._peer = CodexPeer(parts.wire, self._take, self._respond)
        self._turn = ""
        """The turn that is under way, once Codex has said which it is."""

        self._began = asyncio.Event()
        self._is_cancelled = False
        """Whether the work that is under way is being stopped."""

        self._ended: asyncio.Future[JsonObject] | None = None
        super().__init__(parts, inject=self._steer)
        self.confinement = f"Codex's own sandbox for its commands: {plan.sandbox}"

    # ── greeting ──────────────────────────────────────────────────────────────────────────────────

    async def _greet(self) -> None:
        info = {"name": "muster", "title": "muster", "version": __version__}
        try:
            await self._peer.request("initialize", {"clientInfo": info})
            self._peer.notify("initialized")
            await self._open()
        except CodexError as error:
            raise NotUp(str(error)) from error
        remember(self._folder, self._conversation)

    async def _open(self) -> None:
        """Resume the thread of the last session, or begin a new one."""
        if self._conversation.is_resumable and await self._resumed():
            return
        started = await self._peer.request("thread/start", self._thread_settings())
        self._conversation = self._conversation.opened(str(started["thread"]["id"]))

    async def _resumed(self) -> bool:
        thread = {"threadId": self._conversation.id, "excludeTurns": True}
        try:
            await self._peer.request("thread/resume", {**self._thread_settings(), **thread})
        except CodexError as error:
            log.warning(
                "cannot resume the conversation %s, begins a new one: %s",
                self._conversation.id,
                error,
                extra={"action": "conversation_lost", "session": self._id},
            )
            return False
        return True

    def _thread_settings(self) -> JsonObject:
        plan = self._plan
        settings: JsonObject = {
            "cwd": str(plan.roots.cwd),
            "approvalPolicy": "on-request",
            "sandbox": plan.sandbox,
        }
        if plan.model:
            settings["model"] = plan.model
        if plan.instructions:
            settings["developerInstructions"] = plan.instructions
        return settings

    # ── working ───────────────────────────────────────────────────────────────────────────────────

    async def _work(self, text: str) -> Result:
        self._is_cancelled = False
        self._ended = asyncio.get_running_loop().create_future()
        self._conversation = with_words(self._folder, self._conversation)
        try:
            started = await self._peer.request(
                "turn/start", {"threadId": self._conversation.id, "input": _input(text)}
            )
            self._turn = str(started["turn"]["id"])
            self._began.set()
            turn = await self._ended
        except CodexError as error:
            raise WorkFailed(str(error)) from error
        finally:
            self._turn, self._ended = "", None
            self._began.clear()
        await self._notifications.join()
        await self._tell(self._reader.end())
        return self._result(turn)

    def _result(self, turn: JsonObject) -> Result:
        before = self._conversation.used
        self._conversation = replace(self._conversation, used=self._reading.used)
        remember(self._folder, self._conversation)
        usage = used_since(before, self._reading.used)
        answer, status = self._reader.take_answer(), turn.get("status")
        if status == "failed":
            error: JsonObject = turn.get("error") or {}
            raise WorkFailed(str(error.get("message") or "the model did not answer"))
        stopped = status == "interrupted"
        if stopped and not self._is_cancelled:
            raise WorkFailed("Codex stopped its work by itself")
        return Result(ok=not stopped, text=answer, usage=usage, interrupted=stopped)

    async def _cancel(self) -> None:
        self._is_cancelled = True
        await self._began.wait()
        params = {"threadId": self._conversation.id, "turnId": self._turn}
        try:
            await self._peer.request("turn/interrupt", params)
        except CodexError as error:  # the turn has just ended
            log.info("%s", error, extra={"action": "interrupt", "session": self._id})

    async def _steer(self, text: str) -> bool:
        """Add to the turn that is under way; false if it has just ended."""
        turn = self._turn
        if not turn:
            return False
        try:
            await self._peer.request(
                "turn/steer",
                {
                    "threadId": self._conversation.id,
                    "expectedTurnId": turn,
                    "input": _input(text),
                },
            )
        except (CodexError, ConnectionError) as error:
            log.info("%s", error, extra={"action": "steer", "session": self._id})
            return False
        return True

    # ── approvals ─────────────────────────────────────────────────────────────────────────────────

    async def _respond(self, method: str, params: JsonObject) -> JsonObject | None:
        """Answer a request of Codex; only approvals are known."""
        if method == FILE_CHANGE:
            return {"decision": await self._decide_change(params)}
        if method == COMMAND:
            command = str(params.get("command") or "")
            why = str(params.get("reason") or "")
            detail = "\n".join(filter(None, (f"command: {command}", why)))
            return {"decision": await self._ask("Bash", detail, {"command": command})}
        return None

    async def _decide_change(self, params: JsonObject) -> str:
        """The request names no files: they are in the item that it is about."""
        roots, paths = self._plan.roots, self._reading.paths(str(params.get("itemId")))
        inside = bool(paths) and all(map(roots.has, paths))
        given: Mapping[str, object] = (
            {"file_path": paths[0]} if len(paths) == 1 else {"file_paths": paths}
        )
        lines = [f"file: {path}" for path in paths] or ["files that Codex does not name"]
        settled = inside and self._plan.settings.edits == "allow"
        return await self._ask("Edit", "\n".join(lines), given, is_settled=settled)

    async def _ask(
        self, tool: str, detail: str, given: Mapping[str, object], *, is_settled: bool = False
    ) -> str:
        settings = self._plan.settings
        request = Permission(
            tool=tool,
            detail=excerpt(detail, APPROVAL_DETAIL_CHARS_MAX),
            seconds=settings.approval_seconds,
            default=settings.approval_default == "allow",
            arguments=given,
            cwd=self._plan.roots.cwd,
            is_settled=is_settled,
        )
        try:
            answer = await self._listener.on_permission_request(request)
        except Exception as error:  # what nobody could be asked about is not allowed
            log.error("nobody could be asked", exc_info=error, extra={"action": "permit"})
            return DECLINE
        if answer.allowed:
            return ACCEPT
        # Before the refusal, which has no reason: so the model reads both at once.
        shown = excerpt(" ".join(detail.split()), REFUSED_CHARS_MAX)
        await self._steer(told_why([f"{shown}: {answer.reason or 'no reason given'}"]))
        return DECLINE

    # ── reading ───────────────────────────────────────────────────────────────────────────────────

    def _take(self, method: str, params: JsonObject) -> None:
        if params.get("threadId", self._conversation.id) != self._conversation.id:
            return  # a helper's thread
        self._reading.note(method, params)
        self._notifications.put_nowait((method, params))

    async def _read(self) -> None:
        reporting = self._beside.start(self._report())
        await self._peer.run()
        if self._ended is not None and not self._ended.done():
            self._ended.set_exception(ConnectionError("Codex has ended"))
        await asyncio.wait({self._beside.start(self._notifications.join())}, timeout=1)
        reporting.cancel()

    async def _report(self) -> None:
        while True:
            method, params = await self._notifications.get()
            try:
                await self._tell(self._reading.read(method, params))
                if method == "turn/completed" and self._ended is not None:
                    self._ended.set_result(params["turn"])
            except Exception as error:  # the next notification may be one that we know
                extra = {"action": "message_lost", "session": self._id}
                log.error("a notification was not understood", exc_info=error, extra=extra)
            finally:
                self._notifications.task_done()

    async def _release(self) -> None:
        await self._peer.close()
        await super()._release()


def _input(text: str) -> list[JsonObject]:
    return [{"type": "text", "text": text}]
