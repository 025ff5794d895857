"""Answers the requests of an agent: permissions, and files that muster writes for it.

A permission request becomes an approval in muster's inbox, unless the settings allow such edits. A
write without a request before it is asked about, too: so an agent in a mode that never asks still
does not write unasked, where muster does its writing. Terminals are refused.
"""

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from acp import RequestError
from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
    WriteTextFileResponse,
)

from muster.engine.ports import Permission, PermissionAnswer, SessionListener
from muster.engine.tasks import TaskOwner
from muster.limits import APPROVAL_DETAIL_CHARS_MAX, APPROVAL_FILE_BYTES_MAX
from muster.runtimes.acp.asked import EDITS, AskedCall, TextChange
from muster.runtimes.excerpts import excerpt
from muster.runtimes.prompted.roots import WritableRoots
from muster.settings.agent_programs import AcpSettings

REFUSALS_MAX: Final = 20
"""How many refusals of one piece of work an agent is told the reasons of."""

TITLE_CHARS_MAX: Final = 200

log = logging.getLogger(__name__)

Update = Any  # one of the SDK's models of what an agent says


class ClientRules(NamedTuple):
    """The rules for the requests of one session."""

    settings: AcpSettings
    roots: WritableRoots
    is_confined: bool


class AcpClient:
    """The client of one agent, as the SDK calls it."""

    def __init__(
        self,
        rules: ClientRules,
        listener: SessionListener,
        take: Callable[[Update], None],
        calls: Callable[[str], AskedCall],
    ) -> None:
        """Hand updates to `take`; `calls` knows what was said of a tool call before."""
        self._rules = rules
        self._listener = listener
        self._take = take
        self._calls = calls
        self._granted: list[tuple[Path, TextChange]] = []
        """Changes of files that a person has just allowed, each once."""

        self._refused: list[str] = []
        """Refusals with their reasons that the agent has not been told yet."""

        self.has_spoken = False
        """Whether the agent has said something since something was not allowed: it goes on."""

        self._asking: set[asyncio.Task[PermissionAnswer]] = set()
        self._tasks = TaskOwner("an agent's requests")
        self.session_id = ""
        """The conversation; requests for another one are refused."""

    def cancel_requests(self) -> None:
        """Answer every open request as cancelled: the work that it is for is being stopped."""
        for task in self._asking:
            task.cancel()

    def take_refusals(self) -> list[str]:
        """The refusals since this was last asked, each with its reason."""
        refused, self._refused = self._refused, []
        return refused

    # ── what the SDK calls ────────────────────────────────────────────────────────────────────────

    async def session_update(self, session_id: str, update: Update, **_: object) -> None:
        """Take in what the agent says. Without an await, so that the order is kept."""
        if session_id == self.session_id:
            self._take(update)

    async def request_permission(
        self,
        session_id: str,
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **_: object,
    ) -> RequestPermissionResponse:
        """Ask a person whether a tool call may be made."""
        self._check_session(session_id)
        call = self._calls(tool_call.tool_call_id).merged(tool_call)
        try:
            answer = await self._decide(call)
        except asyncio.CancelledError:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        if answer.allowed and call.kind in EDITS:
            cwd = self._rules.roots.cwd
            self._granted += [((cwd / each.path).resolve(), each) for each in call.changes]
        # Never "always": then nobody would be asked again.
        wanted = "allow_once" if answer.allowed else "reject_once"
        for option in options:
            if option.kind == wanted:
                chosen = AllowedOutcome(outcome="selected", option_id=option.option_id)
                return RequestPermissionResponse(outcome=chosen)
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))

    async def write_text_file(
        self, session_id: str, path: str, content: str, **_: object
    ) -> WriteTextFileResponse:
        """Write a file for the agent, if it may be written."""
        self._check_session(session_id)
        roots = self._rules.roots
        file = (roots.cwd / path).resolve()
        if not roots.has(str(file)):
            raise _refused(f"{path} is outside of the working directory {roots.cwd}")
        if not await asyncio.to_thread(self._is_granted, file, content):
            change = TextChange(path=str(file), after=content)
            asked = AskedCall(
                kind="edit",
                title=f"Write {file.name}",
                paths=frozenset({str(file)}),
                changes=(change,),
            )
            try:
                answer = await self._decide(asked)
            except asyncio.CancelledError:
                raise _refused("the work was stopped") from None
            if not answer.allowed:
                raise _refused(answer.reason or "that is not allowed")
        try:
            await asyncio.to_thread(_write, file, content)
        except OSError as error:
            raise _refused(f"{path}: {error.strerror}") from error
        return WriteTextFileResponse()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """No extension is known."""
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Notifications of extensions mean nothing here."""

    def on_connect(self, conn: object) -> None:
        """Nothing is to be done."""

    def _is_granted(self, file: Path, content: str) -> bool:
        """Whether a person has allowed just this content; the permission is used up."""
        found = _text(file)
        for each in self._granted:
            path, change = each
            if path == file and change.gives(found, content):
                self._granted.remove(each)
                return True
        return False

    # ── deciding ──────────────────────────────────────────────────────────────────────────────────

    async def _decide(self, call: AskedCall) -> PermissionAnswer:
        """By the settings, or else by a person. What nobody could be asked about is not allowed."""
        rules = self._rules
        inside = call.is_edit and all(map(rules.roots.has, call.paths))
        request = Permission(
            tool=call.tool,
            detail=excerpt(call.detail or call.tool, APPROVAL_DETAIL_CHARS_MAX),
            seconds=rules.settings.approval_seconds,
            default=rules.settings.approval_default == "allow",
            arguments=call.arguments(rules.roots.cwd),
            cwd=rules.roots.cwd,
            # The kernel does not confine muster, which may be the one that writes.
            confined=rules.is_confined and call.kind not in EDITS,
            is_settled=rules.settings.edits == "allow" and inside,
        )
        answer = await self._answer(request)
        if not answer.allowed:
            self._note_refusal(call, answer.reason)
        return answer

    def _note_refusal(self, call: AskedCall, reason: str) -> None:
        """Note a refusal for the agent: the protocol has no place for its reason."""
        self.has_spoken = False
        if len(self._refused) < REFUSALS_MAX:
            what = " ".join((call.title or call.tool).split())
            self._refused.append(f"{excerpt(what, TITLE_CHARS_MAX)}: {reason or 'no reason given'}")

    async def _answer(self, request: Permission) -> PermissionAnswer:
        asking = self._tasks.start(self._listener.on_permission_request(request))
        self._asking.add(asking)
        try:
            return await asking
        except Exception as error:
            log.error("nobody could be asked", exc_info=error, extra={"action": "permit"})
            return PermissionAnswer(False, f"Nobody could be asked: {error}")
        finally:
            self._asking.discard(asking)

    def _check_session(self, session_id: str) -> None:
        if session_id != self.session_id:
            raise _refused(f"there is no session {session_id!r}")


def _text(file: Path) -> str:
    """The text of a file; empty where there is none, or none that muster compares."""
    try:
        is_small = file.is_file() and file.stat().st_size <= APPROVAL_FILE_BYTES_MAX
        return file.read_text("utf-8") if is_small else ""
    except (OSError, ValueError):
        return ""


def _write(file: Path, content: str) -> None:
    """Write a file whose path has no links; one that has become a link since is refused."""
    file.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(file, flags, 0o666), "w", encoding="utf-8") as opened:
        opened.write(content)


def _refused(why: str) -> RequestError:
    """The refusal of a request, with its reason where agents show it to their models."""
    return RequestError(-32000, f"muster did not allow it: {why}")
