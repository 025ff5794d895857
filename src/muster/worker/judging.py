"""Judges tool calls in the worker: the author of a command line chooses how long that takes."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from muster.permissions.judge import Verdict, judge_states, unjudged
from muster.permissions.policy import Policy
from muster.worker.limits import TimeIsUp
from muster.worker.process import Worker

JUDGE_SECONDS: Final = 1.0
"""CPU time to judge a call: ten times what the slowest line of 64 KB takes."""


async def judged(
    worker: Worker,
    states: Sequence[object],
    tool: str,
    given: Mapping[str, object],
    *,
    cwd: str | None,
    policy: Policy,
    owner: str = "",
) -> Verdict:
    """The verdict on a call of one or more states; a denial if its time is up."""
    judging = partial(judge_states, states, tool, given, cwd=cwd, policy=policy)
    try:
        return await worker.run(judging, seconds=JUDGE_SECONDS, owner=owner)
    except TimeIsUp:
        return unjudged(states[-1])
