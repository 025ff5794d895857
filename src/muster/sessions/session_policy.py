"""Judges a request of a program by the policy of the team's open state machine session.

Claude Code's calls are judged by its hooks. Programs of other makers have none: what they ask for
is judged here, before a person is asked, by the same rules. The program of the lead is MAIN.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple, cast

from muster.engine.ports import Permission
from muster.machines.ids import LEAD_SEAT
from muster.machines.state import MAIN, Agent, Team
from muster.permissions.judge import Verdict, judge
from muster.permissions.judge import unjudged as unjudged_call
from muster.permissions.policy import PolicyError, policy_of

BROKEN: Final = "policy.broken"
COMMAND: Final = "Bash"
EDIT: Final = "Edit"
REASON_CHARS_MAX: Final = 2000
"""How much of a reason an agent and the log are told: it names files that the agent chose."""


class PolicyDenial(NamedTuple):
    """The rule that denies a request, and the reason for the agent."""

    rule: str
    reason: str


def has_policy(team: Team) -> bool:
    """Whether a session is open, whose policy is in force."""
    return team.delegation.mode is not None


def state_of(agent: Agent) -> str:
    """The state whose permissions an agent's program has."""
    return MAIN if agent.seat == LEAD_SEAT else agent.id


def denial(folder: str, state: str, request: Permission) -> PolicyDenial | None:
    """The denial of a request by the policy in the session's folder; None if nothing denies it.

    It reads the policy, and files that the request names. A worker runs it.
    """
    try:
        policy = policy_of(Path(folder))
    except (PolicyError, OSError) as broken:
        return PolicyDenial(BROKEN, f"The policy cannot be read, so nothing is allowed: {broken}")
    for tool, given in _calls(request):
        verdict = judge(state, tool, given, cwd=str(request.cwd), policy=policy)
        if not verdict.allowed:
            return _denied(verdict)
    return None


def unjudged(state: str) -> PolicyDenial:
    """The denial of a request that takes too long to judge."""
    return _denied(unjudged_call(state))


def _denied(verdict: Verdict) -> PolicyDenial:
    reason = verdict.with_remedy()[:REASON_CHARS_MAX]
    return PolicyDenial(verdict.rule, reason.encode("utf-8", "replace").decode())


def _calls(request: Permission) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The request as calls that a policy knows: every file that it names counts as edited."""
    given = request.arguments
    if request.tool == COMMAND:
        yield COMMAND, {"command": given.get("command", request.detail)}
        return
    paths = list(_paths(given))
    if request.tool != EDIT or not paths:
        yield request.tool, dict(given)
    change = _change(given)
    for path in paths:
        yield EDIT, {"file_path": path, **change}


def _paths(given: Mapping[str, object]) -> Iterator[object]:
    several = given.get("file_paths")
    yield from cast("list[object]", several) if isinstance(several, list) else ()
    if "file_path" in given:
        yield given["file_path"]


def _change(given: Mapping[str, object]) -> Mapping[str, object]:
    """The new text, as far as it is known: the beginning of a file may make it a program."""
    edits = given.get("edits")
    if isinstance(edits, list) and edits and isinstance(edits[0], dict):
        return cast("dict[str, object]", edits[0])
    return {"new_string": given.get("content", "")}
