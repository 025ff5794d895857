"""Two generated documents about the agents: their names, and their descriptions.

The same agents give the same bytes, in any order.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from muster.routing.agent_files import AgentFile

LIST_FILE: Final = "agent-list.txt"
DIRECTORY_FILE: Final = "AGENT_DIRECTORY.md"


def list_text(agents: Sequence[AgentFile]) -> str:
    """`agent-list.txt`: a name on each line."""
    return "".join(f"{agent.name}\n" for agent in _ordered(agents))


def directory_text(agents: Sequence[AgentFile]) -> str:
    """`AGENT_DIRECTORY.md`: each agent's description, quoted, and its tools."""
    parts = ["# Agent directory", _count(len(agents)), *map(_entry, _ordered(agents))]
    return "\n\n".join(parts) + "\n"


def _count(number: int) -> str:
    return f"{number} agent{'' if number == 1 else 's'}. A description says when to enter a state."


def _ordered(agents: Sequence[AgentFile]) -> list[AgentFile]:
    return sorted(agents, key=lambda agent: (agent.name.casefold(), agent.name))


def _entry(agent: AgentFile) -> str:
    return "\n\n".join([f"## {agent.name}", "\n".join(_quoted(agent)), "\n".join(_facts(agent))])


def _quoted(agent: AgentFile) -> Iterator[str]:
    """The description as a quote, so that no line of it looks like one of ours."""
    if not agent.routable:
        yield "It has no description: it is entered by name only."
        return
    yield from (f"> {line.strip()}".rstrip() for line in agent.description.split("\n"))


def _facts(agent: AgentFile) -> Iterator[str]:
    yield f"- Tools: {'all' if agent.tools is None else ', '.join(agent.tools) or 'none'}"
    if agent.model:
        yield f"- Model: {agent.model}"
    if agent.path.name:
        yield f"- File: {agent.path.name}"
