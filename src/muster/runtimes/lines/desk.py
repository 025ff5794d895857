"""Answers the requests of a program that asks by JSON lines: each goes to a person, and back.

The answer is a line on the program's stdin. A program is not trusted: requests that are open at
once are bounded, and one that cannot be answered is rejected where people see it.
"""

import logging
from pathlib import Path

from muster.engine.ports import BadLine, Permission, PermissionAnswer
from muster.limits import APPROVAL_DETAIL_CHARS_MAX, OPEN_REQUESTS_MAX
from muster.runtimes.excerpts import excerpt
from muster.runtimes.lines.types import ApprovalLine, ApprovalRequestLine, line_of, sound
from muster.runtimes.process.listener import SerialListener
from muster.runtimes.process.stdin import StdinWriter
from muster.runtimes.request_text import request_text

log = logging.getLogger(__name__)

NO_STDIN = 'its stdin is closed, so it cannot be answered; write prompt = "lines"'


class RequestDesk:
    """The open requests of one session."""

    def __init__(
        self, listener: SerialListener, cwd: Path, *, confined: bool, answers: bool
    ) -> None:
        """Ask through `listener`; `answers` tells whether the program can be answered."""
        self._listener = listener
        self._cwd = cwd
        self._confined = confined
        self._answers = answers
        self._open: set[str] = set()

    async def answer(self, line: ApprovalRequestLine, stdin: StdinWriter | None) -> None:
        """Ask a person, and write the answer to the program."""
        if stdin is None or not self._answers:
            return await self._reject(line, NO_STDIN)
        if line.id in self._open:
            return await self._reject(line, "a request of this id is open")
        if len(self._open) >= OPEN_REQUESTS_MAX:
            allowed = PermissionAnswer(False, f"{OPEN_REQUESTS_MAX} requests are open already.")
            return self._write(line, allowed, stdin)
        self._open.add(line.id)
        try:
            answer = await self._ask(line)
        finally:
            self._open.discard(line.id)
        return self._write(line, answer, stdin)

    def _write(
        self, line: ApprovalRequestLine, answer: PermissionAnswer, stdin: StdinWriter
    ) -> None:
        told = ApprovalLine(
            id=line.id,
            allowed=answer.allowed,
            reason=sound(answer.reason),
            note=sound(answer.note),
        )
        stdin.write(line_of(told))

    async def _ask(self, line: ApprovalRequestLine) -> PermissionAnswer:
        text = sound(request_text(line.input, line.detail))
        request = Permission(
            tool=line.tool,
            detail=excerpt(text, APPROVAL_DETAIL_CHARS_MAX),
            seconds=line.seconds,
            arguments=line.input,
            cwd=self._cwd,
            confined=self._confined,
        )
        try:
            return await self._listener.on_permission_request(request)
        except Exception as error:  # what nobody could be asked about is not allowed
            log.error("nobody could be asked", exc_info=error, extra={"action": "permit"})
            return PermissionAnswer(False, "Nobody could be asked.")

    async def _reject(self, line: ApprovalRequestLine, reason: str) -> None:
        await self._listener.on_report(BadLine(line=f"approval_request {line.id}", reason=reason))
