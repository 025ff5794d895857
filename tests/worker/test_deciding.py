"""Judging and routing in the worker: the same answers as here, and a refusal when time is up."""

from contextlib import aclosing
from pathlib import Path

import pytest

from muster.errors import Invalid
from muster.permissions.judge import judge
from muster.permissions.policy import DEFAULT
from muster.routing.agent_files import read_folders
from muster.routing.choices import PastChoice
from muster.worker import judging, routing
from muster.worker.judging import judged
from muster.worker.process import Worker
from muster.worker.routing import route, routed
from tests.builders import run

SLOW_LINE = "ls " + "`a` " * 15_000
AGENTS = read_folders([Path(__file__).parents[1] / "routing/data/agents"]).agents
TINY_SECONDS = 1e-6


def test_a_call_is_judged_as_here_and_denied_when_its_time_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene() -> None:
        async with aclosing(Worker()) as worker:
            for line in ("git status", "rm -rf /", SLOW_LINE):
                given = {"command": line}
                found = await judged(worker, ["MAIN"], "Bash", given, cwd="/", policy=DEFAULT)
                here = judge("MAIN", "Bash", given, cwd="/")
                assert found.as_dict() == here.as_dict()
            monkeypatch.setattr(judging, "JUDGE_SECONDS", TINY_SECONDS)
            given = {"command": SLOW_LINE}
            found = await judged(worker, ["MAIN"], "Bash", given, cwd="/", policy=DEFAULT)
            assert (found.allowed, found.rule) == (False, "main.broken")
        given = {"command": "ls"}  # without a worker, nothing is allowed
        found = await judged(worker, ["MAIN"], "Bash", given, cwd="/", policy=DEFAULT)
        assert (found.allowed, found.rule) == (False, "main.broken")

    run(scene())


def test_a_request_is_routed_as_here_and_refused_when_its_time_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choices = (PastChoice("tune it", "sql-tuner"),)

    async def scene() -> None:
        async with aclosing(Worker()) as worker:
            text = "tune the slow SQL query"
            found = await routed(worker, AGENTS, choices, text, owner="me")
            assert found == route(AGENTS, choices, text)
            monkeypatch.setattr(routing, "ROUTE_SECONDS", TINY_SECONDS)
            with pytest.raises(Invalid, match="takes too long"):
                await routed(worker, AGENTS, choices, text * 1000, owner="me")

    run(scene())
