"""Every verb against the real Claude Code, busy, idle and frozen: the server goes on answering."""

import os
import signal

from muster.testing.claude_sandbox import Box
from muster.testing.model import Hold, Rule, ScriptedModel
from tests.acceptance.claude.teams import claude_team, start, table
from tests.acceptance.test_liveness import Team as Verbs
from tests.acceptance.test_liveness import stays_live
from tests.waits import SLOW_SECONDS

AGENTS = ("busy", "idle", "frozen")


def test_health_answers_in_time_throughout_every_verb_against_claude_code(
    model: ScriptedModel, box: Box
) -> None:
    hold = Hold()
    model.add(Rule(match="think long", times=1, reply=[hold, "done"]))
    model.add(Rule(reply="Yes."))
    tables = [table(name, box.env, interrupt_seconds=1, terminate_seconds=1) for name in AGENTS]
    with claude_team(box, *tables) as (team, server):
        start(team, *AGENTS)
        team.post("/api/send", {"message": "think long", "targetAgent": "busy"})
        assert hold.reached.wait(SLOW_SECONDS)
        os.kill(team.pid("frozen"), signal.SIGSTOP)
        verbs = Verbs(server)
        with verbs.http:
            stays_live(server, verbs, AGENTS)
        hold.release()
