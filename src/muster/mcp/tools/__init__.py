"""The tools: for agents in their turns, for everybody who reads, and for people who lead a team."""

from typing import Final

from muster.mcp.declaring import McpTool, tools_in
from muster.mcp.tools import approving, leading, reading, speaking, turns

TOOLS: Final[dict[str, McpTool]] = tools_in((turns, speaking, approving, reading, leading))
"""Every tool by its name, in the order in which clients are told of them."""
