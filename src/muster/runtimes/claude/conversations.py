"""The conversations of an agent with Claude Code, and the one that its next session resumes.

`claude-conversations.json` in the agent's folder has the newest ones: each with its id, the counts
of the program and the sessions that it went on in. `claude-resume` has the id of the conversation
that a person chose; the session that resumes it removes the file.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from muster.engine.programs import KeptConversation
from muster.machines.ids import SessionId
from muster.machines.state import Agent
from muster.regular_files import read_start
from muster.runtimes.claude.memory import Memory, write_whole
from muster.runtimes.claude.usage import Counted

FILE: Final = "claude-conversations.json"
CHOICE_FILE: Final = "claude-resume"

CONVERSATIONS_MAX: Final = 100
"""The newest conversations that are kept: a person looks through no more."""

SESSIONS_MAX: Final = 200
"""The newest sessions of a conversation that are kept."""

BYTES_MAX: Final = 4 * 1024 * 1024

log = logging.getLogger(__name__)


class _Record(msgspec.Struct, frozen=True):
    """A conversation in the file."""

    id: str
    counted: Counted
    sessions: tuple[SessionId, ...]


def keep(folder: Path | None, memory: Memory, session: str) -> None:
    """Note the present state of a conversation, as the newest one."""
    if folder is None:
        return
    known = {each.id: each for each in _read(folder)}
    before = known.pop(memory.conversation, None)
    sessions = () if before is None else before.sessions
    if SessionId(session) not in sessions:
        sessions = (*sessions, SessionId(session))[-SESSIONS_MAX:]
    record = _Record(memory.conversation, memory.counted, sessions)
    records = [record, *known.values()][:CONVERSATIONS_MAX]
    write_whole(folder / FILE, msgspec.json.encode(records))


def chosen(folder: Path | None) -> Memory | None:
    """The conversation that a person chose for the next session, if there is one."""
    if folder is None:
        return None
    with suppress(OSError, ValueError):
        wanted = read_start(folder / CHOICE_FILE, BYTES_MAX).decode("ascii").strip()
        return next(Memory(each.id, each.counted) for each in _read(folder) if each.id == wanted)
    return None


def forget_choice(folder: Path | None) -> None:
    """Resume the chosen conversation no more than once."""
    if folder is not None:
        (folder / CHOICE_FILE).unlink(missing_ok=True)


class ClaudeConversations:
    """The conversations of all agents, by their folders."""

    def __init__(self, folder_of: Callable[[Agent], Path | None]) -> None:
        """`folder_of` finds the folder of an agent."""
        self._folder_of = folder_of

    async def of(self, agent: Agent) -> Sequence[KeptConversation]:
        """Those of an agent, the newest first."""
        folder = self._folder_of(agent)
        found = [] if folder is None else await asyncio.to_thread(_read, folder)
        return [KeptConversation(id=each.id, sessions=each.sessions) for each in found]

    async def choose(self, agent: Agent, conversation: str) -> bool:
        """Let the next session of an agent resume this one; false if there is none such."""
        folder = self._folder_of(agent)
        known = [each.id for each in await self.of(agent)]
        if folder is None or conversation not in known:
            return False
        await asyncio.to_thread(write_whole, folder / CHOICE_FILE, conversation.encode())
        return True


def _read(folder: Path) -> list[_Record]:
    try:
        return msgspec.json.decode(read_start(folder / FILE, BYTES_MAX), type=list[_Record])
    except FileNotFoundError:
        return []
    except (OSError, msgspec.DecodeError) as error:
        log.warning("cannot read %s: %s", folder / FILE, error, extra={"action": "list_lost"})
        return []
