"""The lines that are printed when a state machine session starts."""

from collections.abc import Sequence
from pathlib import Path

from muster.cli.render import clean
from muster.machines.state import Delegation
from muster.permissions.policy import Policy


def session_lines(
    root: Path, delegation: Delegation, policy: Policy, *, resumed: bool
) -> Sequence[str]:
    """The lines that are printed when a session starts."""
    where = clean(str(root))
    opened = delegation.opened
    waiting = f"{opened} conversations so far. " if opened else ""
    count = len(delegation.agents)
    return [
        f"🚀 Agent State Machine {'Resumed' if resumed else 'Initialized'}",
        "",
        f"[State: {delegation.home_state}]",
        "",
        "Session Parameters:",
        f"  Mode: {delegation.mode}",
        f"  Path: {where}",
        "  Session: start",
        "",
        f"Available Agents: {count} agent{'' if count == 1 else 's'} loaded",
        f"  ✓ State persistence: {where}/state.jsonl",
        f"  ✓ Agent descriptions: {where}/AGENT_DIRECTORY.md",
        f"  ✓ Conversations directory: {where}/conversations/",
        "",
        f"{waiting}Waiting for {'the next' if opened else 'first'} user input to create "
        "conversation...",
        "",
        *_permissions(policy),
    ]


def _permissions(policy: Policy) -> Sequence[str]:
    main = policy.main
    return [
        "MAIN State Permissions:",
        f"  Can Write: {', '.join(main.can_write)}",
        f"  Cannot Write: {', '.join(main.cannot_write)}",
        f"  Can Execute: {', '.join(main.can_execute)}",
        f"  Cannot Execute: {', '.join(main.cannot_execute)}",
    ]
