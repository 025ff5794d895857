"""The selector: an agent that chooses where the router is unsure."""

from pathlib import Path

import pytest

from muster.errors import Ambiguous
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import LEAD_SEAT, person
from muster.machines.vocabulary import (
    Authority,
    DelegationMode,
    Machine,
    RunMode,
    Status,
    Urgency,
)
from muster.runtimes.command import CommandRuntime
from muster.settings.agents import AgentSettings
from muster.testing.runtime import ScriptedRuntime, Starts, Stops
from tests.builders import eventually, run
from tests.delegation.stage import EITHER, MARCUS, PYTHON, Stage, agent_file

CHOOSER = "chooser"

LAST_LINE = """
import sys
asked = sys.stdin.read()
open("/dev/null", "w").write(asked)
assert "- docs-writer: Use to write documentation" in asked, asked
assert "sql-tuner" not in asked, asked
print("A guide is documentation, whatever python-engineer could write in it.")
print("**docs-writer**")
"""


def _stage(base: Path, answer: str = LAST_LINE) -> Stage:
    return Stage(base, own={CHOOSER: answer}, selector=CHOOSER)


async def _steps(stage: Stage) -> list[tuple[str, str]]:
    moves = await stage.facts(e.StateTransition)
    return [
        (each.source, each.target)
        for each in moves
        if isinstance(each, e.StateTransition) and each.machine is Machine.DELEGATION
    ]


@pytest.mark.parametrize("mode", [DelegationMode.ORCHESTRATOR, DelegationMode.INTERACTIVE])
def test_the_selector_chooses_and_both_opinions_are_on_record(
    tmp_path: Path, mode: DelegationMode
) -> None:
    async def play() -> None:
        stage = _stage(tmp_path)
        await stage.start(mode)
        view = await stage.ask(EITHER)
        assert view.outcome == "answered"
        assert view.answer == "I wrote hello_world.py."
        assert await _steps(stage) == [
            ("MAIN", CHOOSER),
            (CHOOSER, "MAIN"),
            ("MAIN", "docs-writer"),
            ("docs-writer", "MAIN"),
        ]
        first, second = await stage.facts(e.Routed)
        assert isinstance(first, e.Routed)
        assert isinstance(second, e.Routed)
        assert first.ambiguous
        assert first.selector == CHOOSER
        assert (second.to, second.rule, second.selector) == ("docs-writer", "selector", "")
        assert second.guess == first.candidates[0].agent
        assert second.reason.startswith("chooser chose it (A guide is documentation")
        assert f"the router: {first.candidates[0].agent}" in second.reason
        said = stage.read("conversations/conv_001/dialogue.md")
        assert "To docs-writer:" in said
        assert "chooser chose it" in said
        assert await stage.is_up_to_date()

    run(play())


def test_the_selector_is_not_asked_where_the_router_is_sure(tmp_path: Path) -> None:
    async def play() -> None:
        stage = _stage(tmp_path)
        await stage.start()
        await stage.ask(PYTHON)
        assert (CHOOSER, "MAIN") not in await _steps(stage)

    run(play())


def test_the_selector_is_asked_where_no_agent_is_sure_enough_to_be_entered(tmp_path: Path) -> None:
    async def play() -> None:
        stage = _stage(tmp_path, "print('docs-writer')")
        agent_file(tmp_path / "agents", "docs-writer", "Prepares manuals for printing.")
        await stage.start()
        view = await stage.ask("something with printing perhaps for our anniversary in the garden")
        assert view.route is not None
        assert (view.route.agent, view.route.rule) == ("docs-writer", "selector")

    run(play())


@pytest.mark.parametrize(
    "answer",
    [
        "print('NONE')",
        "print('general-purpose')",
        "print('python-engineer or docs-writer')",
        "print('sql-tuner')",
        "raise SystemExit(3)",
    ],
)
def test_a_choice_that_is_not_in_the_list_does_nothing_and_names_the_closest(
    tmp_path: Path, answer: str
) -> None:
    async def play() -> None:
        stage = _stage(tmp_path, answer)
        await stage.start()
        view = await stage.ask(EITHER)
        assert view.outcome == "failed"
        assert view.answer.startswith("chooser chose no agent (")
        assert "docs-writer (Matched: " in view.answer
        assert "`--to AGENT`" in view.answer
        assert await _steps(stage) == [("MAIN", CHOOSER), (CHOOSER, "MAIN")]

    run(play())


def test_a_selector_gets_no_requests_itself(tmp_path: Path) -> None:
    async def play() -> None:
        stage = _stage(tmp_path)
        agent_file(tmp_path / "agents", CHOOSER, "Use to write Python scripts and modules.")
        await stage.start()
        view = await stage.ask(PYTHON)
        assert view.route is not None
        assert view.route.agent == "python-engineer"

    run(play())


def test_without_a_program_for_the_selector_the_person_is_asked_and_the_log_says_why(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Stage(tmp_path, program="", selector=CHOOSER)
        await stage.start()
        with pytest.raises(Ambiguous):
            await stage.ask(EITHER)
        async with stage.open() as muster:
            events = await muster.store.read(after=0, limit=100)
        assert any(b"the selector chooser was not asked" in each.data for each in events)

    run(play())


# ── a lead ────────────────────────────────────────────────────────────────────────────────────────

LEAD = """
import os, sys
asked = sys.stdin.read()
me = os.environ["MUSTER_AGENT"]
print("docs-writer" if me == "Sol" else "Done by " + me)
"""


class Answering(CommandRuntime):
    """Runs a program that answers every prompt, as Claude Code does."""

    @property
    def confirms_prompts(self) -> bool:
        return True


def test_under_a_lead_that_runs_the_lead_chooses(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        stage.runtime = Answering(AgentSettings(command=stage.command(LEAD)), tmp_path)
        stage.own_runtimes = ScriptedRuntime(
            Starts(seat=LEAD_SEAT), Stops(seat=LEAD_SEAT, urgency=Urgency.NOW)
        )
        await stage.start()
        async with stage.open() as muster:
            enroll = c.EnrollAgent(name="Sol", authority=Authority.MUSTER, seat=LEAD_SEAT)
            await muster.dispatcher.send(enroll, actor=person(MARCUS))
            with pytest.raises(Ambiguous):
                await muster.requests.ask(EITHER, speaker=MARCUS)
            wish = c.SetDesired(seat=LEAD_SEAT, desired=RunMode.CONTINUOUS, set_by=MARCUS)
            await muster.dispatcher.send(wish, actor=person(MARCUS))
            team = muster.dispatcher
            await eventually(
                lambda: team.team.shown_status(team.team.agent(LEAD_SEAT)) is Status.ALIVE
            )
            view = await muster.requests.ask(EITHER, speaker=MARCUS)
        assert view.answer == "Done by docs-writer"
        assert [(each.source, each.target) for each in view.trace][:2] == [
            ("MAIN", "Sol"),
            ("Sol", "MAIN"),
        ]

    run(play())
