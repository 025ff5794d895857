"""Messages past muster: to subagents of the session's own, and to nobody else."""

from muster.claude_plugin.hooks.events import ToolUseHook
from muster.claude_plugin.hooks.peers import Subagents
from muster.limits import PEER_SESSIONS_MAX, PEERS_MAX


def send(to: object, session: str = "mine", agent: str | None = None) -> ToolUseHook:
    return ToolUseHook(
        session_id=session, tool_name="SendMessage", tool_input={"to": to}, agent_id=agent
    )


def test_a_subagent_can_be_sent_to_by_its_name_and_by_its_id() -> None:
    subagents = Subagents()
    for name in ("scout", "a1b2c3", ""):
        subagents.add("mine", name)
    assert subagents.refusal(send("scout")) == subagents.refusal(send("a1b2c3")) == ""
    assert "scout is no subagent" in subagents.refusal(send("scout", session="another"))
    subagents.forget("mine")
    assert "scout is no subagent" in subagents.refusal(send("scout"))


def test_other_sessions_cannot_be_sent_to_or_listed() -> None:
    subagents = Subagents()
    for to in ("work-8c", "uds:/tmp/cc-socks/1.sock", "*", "", None, ["scout"]):
        assert "mcp__muster__send_message" in subagents.refusal(send(to))
    look = ToolUseHook(session_id="mine", tool_name="ListAgents", tool_input={})
    assert "not part of the team" in subagents.refusal(look)
    read = ToolUseHook(session_id="mine", tool_name="Read", tool_input={})
    assert subagents.refusal(read) == ""


def test_a_subagent_may_answer_the_session_that_started_it() -> None:
    subagents = Subagents()
    assert subagents.refusal(send("main", agent="a1b2c3")) == ""
    assert subagents.refusal(send("main")) != ""


def test_what_is_known_is_bounded() -> None:
    subagents = Subagents()
    for number in range(PEERS_MAX + 1):
        subagents.add("mine", f"h{number}")
    assert subagents.refusal(send("h0")) != ""
    assert subagents.refusal(send(f"h{PEERS_MAX}")) == ""
    for number in range(PEER_SESSIONS_MAX):
        subagents.add(f"s{number}", "scout")
    assert subagents.refusal(send(f"h{PEERS_MAX}")) != ""
    assert subagents.refusal(send("scout", session="s0")) == ""
