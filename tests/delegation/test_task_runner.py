"""One agent on one task: the output of its program, and the end of its session."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from muster.delegation.folder import file_changes
from muster.delegation.task_output import TaskOutput
from muster.engine import ports
from muster.machines import events as e
from muster.machines.commands import AnswerApproval
from muster.machines.ids import NO_TURNS, AnnouncedTurns, person
from muster.machines.vocabulary import NOTHING_USED, Remark
from muster.settings.agents import AgentSettings
from muster.views.conversations import ConversationView
from tests.builders import logged, run
from tests.delegation.stage import MARCUS, PYTHON, Stage


def work(base: Path, code: str) -> tuple[ConversationView, list[tuple[Remark, str]]]:
    """The conversation of a program that works on a task, and its dialogue."""
    done: list[ConversationView] = []
    told: list[tuple[Remark, str]] = []

    async def play() -> None:
        stage = Stage(base, code)
        await stage.start()
        done.append(await stage.ask(PYTHON))
        for fact in await stage.facts(e.DialogueRecorded):
            assert isinstance(fact, e.DialogueRecorded)
            told.append((fact.kind, fact.text))

    run(play())
    return done[0], told


def test_standard_output_is_the_report_and_standard_error_is_kept_apart(tmp_path: Path) -> None:
    done, told = work(tmp_path, "import sys; print('fine'); print('hot', file=sys.stderr)")
    assert (done.outcome, done.answer) == ("answered", "fine")
    assert (Remark.OUTPUT, "(on standard error)\nhot") in told


def test_a_result_comes_before_the_output_as_the_report(tmp_path: Path) -> None:
    code = """print("chatter"); print('{"type": "result", "text": "the answer"}')"""
    done, told = work(tmp_path, code)
    assert done.answer == "the answer"
    assert (Remark.OUTPUT, "chatter") in told


def test_a_result_that_is_not_ok_is_a_failure(tmp_path: Path) -> None:
    done, _ = work(tmp_path, """print('{"type": "result", "ok": false, "text": "no paper"}')""")
    assert (done.outcome, done.answer) == ("failed", "python-engineer failed: no paper")


def test_a_long_lived_program_is_stopped_when_its_task_is_done(tmp_path: Path) -> None:
    code = """
import sys
for line in sys.stdin:
    print('{"type": "result", "text": "done"}', flush=True)
"""

    async def play() -> None:
        stage = Stage(tmp_path)
        agent = AgentSettings(command=stage.command(code), long_lived=True)
        stage.settings = replace(stage.settings, agents={"python-engineer": agent})
        await stage.start()
        assert (await stage.ask(PYTHON)).answer == "done"

    run(play())


def test_lines_for_a_channel_become_output_of_the_task(tmp_path: Path) -> None:
    code = """
print('{"type": "working"}')
print('{"type": "say", "text": "first"}')
print('{"type": "turn_complete", "text": "last"}')
"""
    assert work(tmp_path, code)[0].answer == "first\nlast"


def test_of_several_hand_overs_the_last_counts() -> None:
    said = TaskOutput()
    said.out = ["[HANDOFF bob] one", " [HANDOFF eve] no", "[HANDOFF cyd] two"]
    assert said.handed == ("cyd", "two")
    assert said.report == "[HANDOFF eve] no"
    said.called = ("dan", "by the tool")
    assert said.handed == ("dan", "by the tool")


def test_a_marker_in_a_code_fence_is_an_example() -> None:
    said = TaskOutput()
    said.out = ["```text", "[HANDOFF bob] no", "```", "~~~~", "```", "[HANDOFF eve] no", "~~~~"]
    assert said.handed is None
    assert "[HANDOFF bob] no" in said.report
    said.out += ["[HANDOFF cyd] yes"]
    assert said.handed == ("cyd", "yes")
    assert "cyd" not in said.report

    said.result = ports.Result(text="the answer")
    assert said.report == "the answer"


def test_a_project_with_too_many_files_for_a_snapshot_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_changes, "FILES_MAX", 2)
    (tmp_path / "project").mkdir()
    for name in "abc":
        (tmp_path / "project" / name).touch()
    _, told = work(tmp_path, "open('x', 'w').close()")
    note = f"{tmp_path / 'project'} has too many files to see what else was written."
    assert (Remark.NOTE, note) in told


def test_a_file_whose_name_is_not_utf_8_can_be_recorded(tmp_path: Path) -> None:
    done, _ = work(tmp_path, "open(b'\\xff.txt', 'w').close()")
    assert [each.path for each in done.files] == ["�.txt"]


def test_an_implausible_usage_is_ignored_and_noted(tmp_path: Path) -> None:
    code = """print('{"type": "result", "text": "x", "usage": {"inputTokens": %d}}' % (10**23))"""

    async def play() -> None:
        stage = Stage(tmp_path, code)
        await stage.start()
        async with stage.open() as muster:
            assert (await muster.requests.ask(PYTHON, speaker=MARCUS)).answer == "x"
            assert all(agent.used == NOTHING_USED for agent in muster.team.agents.values())
            [rejected] = await logged(muster.store, e.MarkerRejected)
        assert isinstance(rejected.fact, e.MarkerRejected)
        assert "its usage is ignored: inputTokens must be 0 to" in rejected.fact.reason

    run(play())


# ── a session like any other ──────────────────────────────────────────────────────────────────────


def test_a_task_is_a_session_in_the_log_with_its_output_and_its_costs(tmp_path: Path) -> None:
    result = json.dumps(
        {"type": "result", "text": "done", "usage": {"costUsd": 0.25, "outputTokens": 10}}
    )

    async def play() -> None:
        stage = Stage(tmp_path, f"print('hello'); print({result!r})")
        await stage.start()
        async with stage.open() as muster:
            await muster.requests.ask(PYTHON, speaker=MARCUS)
            seat = muster.team.names["python-engineer"]
            agent = muster.team.agents[seat]
            assert (agent.used.cost_usd, agent.used.output_tokens) == (0.25, 10)
            stored = await muster.store.read(after=0, limit=1000)
        kinds = [each.type for each in stored]
        for kind in ("session_requested", "session_start", "agent_output", "session_result"):
            assert kind in kinds

    run(play())


class Asking:
    """A runtime whose program requests an approval, and prints the answer."""

    is_output_speech = has_initial_prompt = confirms_prompts = False

    async def start(self, launch: ports.Launch, listener: ports.SessionListener) -> "AskingSession":
        return AskingSession(listener)

    async def reclaim(self, leftover: ports.Leftover) -> str:
        return "nothing was left"


class AskingSession:
    """Requests one approval, and ends."""

    pid = started = None
    limits = ()
    confinement = ""
    interruptible = False
    program = None

    def __init__(self, listener: ports.SessionListener) -> None:
        self._listener = listener

    async def wait(self) -> ports.Exit:
        verdict = await self._listener.on_permission_request(
            ports.Permission(tool="Bash", detail="make")
        )
        await self._listener.on_report(ports.Result(text=verdict.reason))
        return ports.Exit(outcome=e.Outcome.COMPLETED)

    async def stop(self, urgency: e.Urgency) -> None: ...
    async def interrupt(self) -> None: ...
    async def kill(self) -> None: ...
    async def withdraw_prompt(self, text: str) -> bool:
        return False

    async def adopt(self, runtime: ports.Runtime) -> bool:
        return False

    async def choose(self, *, model: str | None, mode: str | None) -> None: ...

    def is_command(self, text: str) -> bool:
        return False

    async def send_prompt(
        self,
        text: str,
        images: Sequence[ports.PromptImage] = (),
        turns: AnnouncedTurns = NO_TURNS,
    ) -> bool:
        return False


def test_a_task_session_can_request_an_approval(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        stage.runtime = Asking()
        await stage.start()
        async with stage.open() as muster:
            asked = asyncio.ensure_future(muster.requests.ask(PYTHON, speaker=MARCUS))
            requested = asyncio.Event()

            def look(commit: object) -> None:
                if any(agent.approvals for agent in muster.team.agents.values()):
                    requested.set()

            muster.dispatcher.watch(look)
            await requested.wait()
            seat = muster.team.names["python-engineer"]
            [approval] = muster.team.agents[seat].approvals
            answer = AnswerApproval(approval=approval.id, allow=True, note="go")
            await muster.dispatcher.send(answer, actor=person(MARCUS))
            assert (await asked).answer == "A person allowed it: go"

    run(play())
