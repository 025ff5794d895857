"""Prompts: the memory of an agent, for a program that wakes as that agent."""

from collections.abc import Mapping
from typing import Final

from muster.client import requests
from muster.errors import Invalid, NotFound
from muster.mcp.calls import McpCall
from muster.mcp.declaring import Json

WAKE: Final = "wake"
AGENT: Final = "agent"
ABOUT: Final = "What an agent is told when it wakes: its soul, its notes, its last transcript."


def listed(call: McpCall) -> Json:
    """Every prompt. An agent may leave its own name out."""
    argument = {
        "name": AGENT,
        "description": "The agent; left out, you.",
        "required": call.me.agent is None,
    }
    wake = {"name": WAKE, "title": "Wake", "description": ABOUT, "arguments": [argument]}
    return {"prompts": [wake]}


async def prompt(call: McpCall, name: str, given: Mapping[str, str]) -> Json:
    """A prompt as messages."""
    if name != WAKE:
        raise NotFound(kind="prompt", name=name)
    agent = given.get(AGENT) or call.me.agent
    if agent is None:
        raise Invalid(what=AGENT, why="must be given: your token is no agent's")
    preview = await call.ask(requests.wake_payload(agent))
    content = {"type": "text", "text": preview.text}
    return {"description": ABOUT, "messages": [{"role": "user", "content": content}]}
