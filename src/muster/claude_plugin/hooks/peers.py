"""Messages between sessions of Claude Code, and those that muster allows.

`ListAgents` and `SendMessage` reach every Claude Code of the same user: the other agents of the
team and the terminal that a person works in, past turns, approvals and the log. A folder of their
own for their sockets does not separate them, because sessions find each other in the user's
configuration. So a session that muster runs sends to the subagents that it started itself, and to
nobody else.
"""

from typing import Final

from muster.claude_plugin.hooks import events
from muster.limits import PEER_SESSIONS_MAX, PEERS_MAX

SEND: Final = "SendMessage"
TOOLS: Final = frozenset({"ListAgents", "ListPeers", SEND})

_PARENTS: Final = frozenset({"main", "team-lead"})
"""Names by which a subagent calls the session that started it."""

_REMEDY: Final = (
    "Only subagents that you started yourself can be reached here. To talk to the team, use "
    "mcp__muster__send_message or your turn in a channel."
)


class Subagents:
    """The subagents that each session has started, by name and id. Old sessions are forgotten."""

    def __init__(self) -> None:
        """Know of no subagent yet."""
        self._started: dict[str, set[str]] = {}

    def add(self, session: str, name: str) -> None:
        """Note a subagent of a session."""
        if not name:
            return
        names = {*self._started.pop(session, ()), name}
        if len(names) > PEERS_MAX:  # nobody starts so many: it may no longer send to the earlier
            names = {name}
        self._started[session] = names
        if len(self._started) > PEER_SESSIONS_MAX:
            del self._started[next(iter(self._started))]

    def forget(self, session: str) -> None:
        """Forget the subagents of a session that is over."""
        self._started.pop(session, None)

    def refusal(self, hook: events.ToolUseHook) -> str:
        """The reason to deny a message to another session, or a look at those; else empty."""
        if hook.tool_name not in TOOLS:
            return ""
        if hook.tool_name != SEND:
            return f"{hook.tool_name} shows sessions that are not part of the team. {_REMEDY}"
        to = events.text_of(hook.tool_input, "to")
        if to in self._started.get(hook.session_id, ()) or (hook.subagent and to in _PARENTS):
            return ""
        return f"{to or 'Nobody'} is no subagent of this session. {_REMEDY}"
