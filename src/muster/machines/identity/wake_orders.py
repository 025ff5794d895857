"""Messages to a lead whose agents are to wake. Pure texts and facts, no rules."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from muster import limits
from muster.machines import events as e
from muster.machines.events import Fact
from muster.machines.state import Agent

WAKE: Final = "[WAKE AGENTS]"
"""The heading of the messages that ask a lead to wake agents."""


def wake_requested(agents: Iterable[Agent], now: datetime) -> Fact:
    """The fact that agents are to wake; their lead has until then to report them."""
    until = now + timedelta(seconds=limits.WAKING_SECONDS)
    return e.WakeRequested(seats=tuple(agent.seat for agent in agents), until=until)


def is_being_woken(agent: Agent, now: datetime) -> bool:
    """Whether the lead was asked to wake an agent, and may still report it."""
    return agent.waking_until is not None and agent.waking_until > now


def packed(payloads: Iterable[str]) -> Iterator[str]:
    """Messages to the lead with all payloads, as many in one as fit. None is cut or left out."""
    lines, size = [WAKE], len(WAKE)
    for payload in payloads:
        length = len(payload.encode(errors="surrogatepass")) + 1
        if len(lines) > 1 and size + length > limits.MESSAGE_BYTES_MAX:
            yield "\n".join(lines)
            lines, size = [WAKE], len(WAKE)
        lines.append(payload)
        size += length
    if len(lines) > 1:
        yield "\n".join(lines)
