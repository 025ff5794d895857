"""A session of an agent that speaks the Agent Client Protocol."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from acp import PROTOCOL_VERSION, RequestError, connect_to_agent
from acp.schema import (
    AgentCapabilities,
    AgentMessageChunk,
    ClientCapabilities,
    CurrentModeUpdate,
    FileSystemCapabilities,
    HttpMcpServer,
    Implementation,
    LoadSessionResponse,
    McpServerStdio,
    NewSessionResponse,
    PromptResponse,
    TextContentBlock,
)
from msgspec.structs import replace

from muster.engine.ports import Result
from muster.machines.vocabulary import Usage
from muster.runtimes.acp.client import AcpClient, ClientRules
from muster.runtimes.acp.mcp_servers import McpAddress, servers
from muster.runtimes.acp.presets import Preset
from muster.runtimes.acp.reading import UpdateReader, tokens_of
from muster.runtimes.acp.wire import GuardedWire
from muster.runtimes.prompted.memory import ProgramConversation, remember, used_since, with_words
from muster.runtimes.prompted.refusals import told_why
from muster.runtimes.prompted.session import NotUp, PromptedSession, SessionParts, WorkFailed
from muster.version import __version__

UPDATES_MAX = 1000
"""How many updates wait to be reported before the agent is read no further."""

STOPPED_ITSELF = "the agent stopped its work by itself"
REFUSALS_TOLD_MAX = 3
"""How often an agent is told in one piece of work why something was not allowed: one that tries the
same again and again costs money."""

log = logging.getLogger(__name__)

Update = Any  # one of the SDK's models of what an agent says
McpServers = Sequence[HttpMcpServer | McpServerStdio]


class AcpPlan(NamedTuple):
    """The beginning of a session: the preset, the rules, the conversation."""

    preset: Preset
    rules: ClientRules
    conversation: ProgramConversation
    mode: str = ""
    instructions: str = ""
    """The soul: told with the first prompt of a new conversation."""

    mcp: McpAddress | None = None


class AcpSession(PromptedSession):
    """A running agent."""

    def __init__(self, parts: SessionParts, plan: AcpPlan) -> None:
        """Take over a program that has just been started."""
        self._plan = plan
        self._conversation = plan.conversation
        self._updates: asyncio.Queue[Update] = asyncio.Queue()
        self._is_loading = False
        self._is_cancelled = False
        """Whether the work that is under way is being stopped."""

        self._mode_lost = ""
        self._reading = UpdateReader(parts.reader)
        self._client = AcpClient(plan.rules, parts.listener, self._take, self._reading.call)
        self._guarded = GuardedWire(parts.wire, self._room)
        # Its methods are typed by a protocol that has methods for every request there is.
        client: Any = self._client
        self._agent = connect_to_agent(client, self._guarded)
        super().__init__(parts)

    # ── greeting ──────────────────────────────────────────────────────────────────────────────────

    async def _greet(self) -> None:
        plan = self._plan
        try:
            hello = await self._agent.initialize(
                PROTOCOL_VERSION,
                ClientCapabilities(
                    # Reads go past muster: agents read a missing file before they write a new one,
                    # and some take the error for the end of it.
                    fs=FileSystemCapabilities(read_text_file=False, write_text_file=True),
                    terminal=False,
                ),
                Implementation(name="muster", version=__version__),
            )
            if plan.preset.auth:
                await self._agent.authenticate(plan.preset.auth)
            capabilities = hello.agent_capabilities or AgentCapabilities()
            opened = await self._open(capabilities)
            await self._set_mode(opened)
        except RequestError as error:
            raise NotUp(_said(error)) from error
        remember(self._folder, self._conversation)

    async def _open(
        self, capabilities: AgentCapabilities
    ) -> NewSessionResponse | LoadSessionResponse:
        """Load the conversation of the last session, or begin a new one."""
        cwd, mcp = str(self._plan.rules.roots.cwd), self._plan.mcp
        http = capabilities.mcp_capabilities
        offered = servers(mcp, has_http=http is not None and bool(http.http))
        if self._conversation.is_resumable and capabilities.load_session:
            try:
                return await self._load(cwd, offered)
            except RequestError as error:
                log.warning(
                    "cannot resume the conversation %s, begins a new one: %s",
                    self._conversation.id,
                    _said(error),
                    extra={"action": "conversation_lost", "session": self._id},
                )
        meta: Any = self._plan.preset.session_meta  # the SDK takes any JSON
        opened = await self._agent.new_session(cwd=cwd, mcp_servers=[*offered], **meta)
        self._client.session_id = opened.session_id
        self._conversation = self._conversation.opened(opened.session_id)
        self._held_back = self._plan.instructions
        return opened

    async def _load(self, cwd: str, offered: McpServers) -> LoadSessionResponse:
        """Load the conversation; the updates that repeat it are not reported."""
        self._is_loading = True
        self._client.session_id = self._conversation.id
        meta: Any = self._plan.preset.session_meta  # as for a new one
        try:
            return await self._agent.load_session(
                cwd=cwd, session_id=self._conversation.id, mcp_servers=[*offered], **meta
            )
        finally:
            self._is_loading = False

    async def _set_mode(self, opened: NewSessionResponse | LoadSessionResponse) -> None:
        """Set the mode, which is a part of the policy. It is set anew in every conversation."""
        wanted = self._plan.mode
        if not wanted:
            return
        modes = opened.modes
        known = [] if modes is None else [each.id for each in modes.available_modes]
        if wanted not in known:
            has = ", ".join(known) or "none"
            raise NotUp(f"the agent has no mode {wanted!r}; it has {has}")
        if modes is not None and modes.current_mode_id != wanted:
            await self._agent.set_session_mode(session_id=self._conversation.id, mode_id=wanted)

    # ── working ───────────────────────────────────────────────────────────────────────────────────

    async def _work(self, text: str) -> Result:
        self._is_cancelled = False
        self._client.take_refusals()
        self._conversation = with_words(self._folder, self._conversation)
        response = await self._prompted(text)
        usage = self._count(response)
        for _ in range(REFUSALS_TOLD_MAX):
            reasons = self._reasons_to_go_on()
            if not reasons:
                break
            response = await self._prompted(reasons)
            usage += self._count(response)
        return self._result(response, usage)

    async def _prompted(self, text: str) -> PromptResponse:
        try:
            response = await self._agent.prompt(
                session_id=self._conversation.id,
                prompt=[TextContentBlock(type="text", text=text)],
            )
        except RequestError as error:
            raise WorkFailed(_said(error)) from error
        finally:
            await self._drain()
        if self._mode_lost:
            raise WorkFailed(self._mode_lost)
        return response

    def _reasons_to_go_on(self) -> str:
        """The reasons of refusals with which the agent has ended its work.

        The protocol refuses without a reason. An agent that has gone on is told with its next
        prompt.
        """
        reasons = told_why(self._client.take_refusals())
        if not reasons or self._is_cancelled:
            return ""
        if self._client.has_spoken:
            self._held_back = f"{self._held_back}{reasons}\n\n"
            return ""
        return reasons

    async def _cancel(self) -> None:
        self._is_cancelled = True
        self._client.cancel_requests()
        await self._agent.cancel(session_id=self._conversation.id)

    async def _drain(self) -> None:
        """Report all that was said of the work."""
        await self._updates.join()
        await self._tell(self._reader.end())

    def _result(self, response: PromptResponse, usage: Usage) -> Result:
        answer, why = self._reader.take_answer(), response.stop_reason
        if why == "end_turn":
            return Result(text=answer, usage=usage)
        if why == "cancelled":
            if not self._is_cancelled:  # so does a program whose wrapper was killed
                raise WorkFailed(STOPPED_ITSELF)
            return Result(ok=False, text=answer, usage=usage, interrupted=True)
        reason = f"the agent stopped: {why.replace('_', ' ')}"
        return Result(ok=False, text="\n\n".join(filter(None, (answer, reason))), usage=usage)

    def _count(self, response: PromptResponse) -> Usage:
        """The usage of this work; what an agent counts over its conversation is remembered."""
        before, tokens = self._conversation.used, tokens_of(response)
        cost = max(self._reading.cost_usd, before.cost_usd)
        total = replace(tokens if self._plan.preset.usage_is_total else before, cost_usd=cost)
        self._conversation = replace(self._conversation, used=total)
        remember(self._folder, self._conversation)
        used = used_since(before, total)
        return used if self._plan.preset.usage_is_total else replace(tokens, cost_usd=used.cost_usd)

    # ── what it says ──────────────────────────────────────────────────────────────────────────────

    def _take(self, update: Update) -> None:
        if self._is_loading:
            return
        if isinstance(update, AgentMessageChunk):
            self._client.has_spoken = True
        if isinstance(update, CurrentModeUpdate):
            self._check_mode(update.current_mode_id)
        self._reading.note(update)
        self._updates.put_nowait(update)

    def _check_mode(self, mode: str) -> None:
        """An agent that leaves its mode asks by other rules: its session ends."""
        if self._plan.mode and mode != self._plan.mode:
            self._mode_lost = f"the agent left its mode {self._plan.mode!r} for {mode!r}"
            self._closing = True
            self._beside.start(self._cancel())

    async def _room(self) -> None:
        """Return when there is room for one more update."""
        if self._updates.qsize() >= UPDATES_MAX:
            await self._updates.join()

    async def _read(self) -> None:
        """The SDK reads; report what it has read."""
        reporting = self._beside.start(self._report())
        await self._guarded.ended.wait()
        await asyncio.wait({self._beside.start(self._updates.join())}, timeout=1)
        reporting.cancel()

    async def _report(self) -> None:
        while True:
            update = await self._updates.get()
            try:
                await self._tell(self._reading.read(update))
            except Exception as error:  # the next update may be one that we know
                extra = {"action": "message_lost", "session": self._id}
                log.error("an update was not understood", exc_info=error, extra=extra)
            finally:
                self._updates.task_done()

    async def _release(self) -> None:
        self._client.cancel_requests()
        try:
            async with asyncio.timeout(1):
                await self._agent.close()
        except Exception as error:  # the program has exited in any case
            log.info("%s", error, extra={"action": "disconnect", "session": self._id})
        await super()._release()


def _said(error: RequestError) -> str:
    """The message of an agent's error, with its details where it has any."""
    data: Any = error.data
    if isinstance(data, dict):
        details = cast("dict[str, object]", data)
        data = details.get("details") or details.get("message")
    return f"{error}: {data}" if data else str(error)
