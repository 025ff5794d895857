"""The runtime `codex` with a scripted app server: what it is given, steered and asked."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from muster.engine.ports import Launch, PermissionAnswer, SessionHandle
from muster.machines.vocabulary import Activity, Outcome, RunMode, Taken, Urgency
from muster.runtimes.codex.runtime import CodexRuntime
from muster.settings.agent_programs import CodexSettings
from muster.settings.agents import Confine
from tests.builders import run
from tests.runtimes.conformance.subjects import codex_settings
from tests.runtimes.conformance.test_conformance import Approver
from tests.runtimes.programs import ADA, new_session

PLAIN = CodexSettings()


class Stage:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.listener = Approver()

    async def start(
        self, prompt: str, codex: CodexSettings = PLAIN, confine: Confine | None = None
    ) -> SessionHandle:
        settings = replace(codex_settings(self.folder, codex=codex), confine=confine)
        launch = Launch(
            session=new_session(),
            agent=ADA,
            mode=RunMode.CONTINUOUS,
            prompt=prompt,
            folder=self.folder / "agents",
            soul="I am Ada.",
            environment={"MUSTER_URL": "http://127.0.0.1:1", "MUSTER_TOKEN": "secret"},
        )
        return await CodexRuntime(settings, self.folder).start(launch, self.listener)

    async def answer(
        self, prompt: str, codex: CodexSettings = PLAIN, confine: Confine | None = None
    ) -> str:
        """What a session answers to one prompt; then it is over."""
        session, so_far = await self.start(prompt, codex, confine), len(self.listener.results())
        await self.listener.answered(so_far + 1)
        await session.stop(Urgency.NOW)
        await session.wait()
        return self.listener.answers()[-1]

    def given(self) -> list[Any]:  # the parameters of the thread, and the arguments
        kept = next(path for path in self.folder.iterdir() if path.name.startswith("t-"))
        return json.loads(kept.read_text().splitlines()[0])


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setenv("CONVERSATIONS", str(tmp_path))
    return Stage(tmp_path)


def test_a_message_in_the_middle_of_work_is_steered_into_it(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("hang")
        await stage.listener.begun()
        assert await session.send_prompt("and the tests")
        assert stage.listener.taken() == [Taken.STARTED, Taken.INJECTED]
        await session.interrupt()
        await session.send_prompt("recall")
        await stage.listener.answered(2)
        assert stage.listener.answers()[1] == "hang; steered and the tests"
        await session.stop(Urgency.NOW)
        await session.wait()

    run(scene())


def test_the_reason_of_a_refusal_is_steered_into_the_work(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("ask evil.py")
        await stage.listener.answered(1)
        assert stage.listener.answers() == ["decline"]
        await session.send_prompt("recall")
        await stage.listener.answered(2)
        told = "steered muster did not allow this:; - file: evil.py: not today"
        assert told in stage.listener.answers()[1]
        await session.stop(Urgency.NOW)
        await session.wait()

    run(scene())


def test_work_that_codex_stops_by_itself_is_not_answered(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("stop")
        end = await session.wait()
        assert (end.outcome, end.reason) == (Outcome.FAILED, "Codex stopped its work by itself")
        assert [each.answers for each in stage.listener.results()] == [False]

    run(scene())


def test_edits_that_the_settings_allow_are_not_asked_about(stage: Stage) -> None:
    allow = CodexSettings(edits="allow")

    async def scene() -> None:
        assert await stage.answer("ask notes.txt", allow) == "accept"
        assert stage.listener.asked == []
        assert await stage.answer("ask /etc/passwd", allow) == "decline"
        stage.listener.answer = PermissionAnswer(True, "")
        assert await stage.answer("run rm -r build", allow) == "accept"
        assert [each.tool for each in stage.listener.asked] == ["Edit", "Bash"]
        assert stage.listener.asked[1].arguments == {"command": "rm -r build"}

    run(scene())


def test_a_request_that_is_no_approval_is_refused_and_the_work_goes_on(stage: Stage) -> None:
    async def scene() -> None:
        assert await stage.answer("other") == "not supported"

    run(scene())


@pytest.mark.parametrize(
    ("confine", "sandbox"),
    [(None, "read-only"), ("outputs", "read-only"), ("worktree", "workspace-write")],
)
def test_the_sandbox_follows_the_confinement(
    stage: Stage, confine: Confine | None, sandbox: str
) -> None:
    async def scene() -> None:
        codex = CodexSettings(model="m", config=("model_reasoning_effort=high",))
        await stage.answer("say one", codex, confine)
        params, arguments = stage.given()
        assert params["sandbox"] == sandbox
        assert params["approvalPolicy"] == "on-request"
        assert params["developerInstructions"] == "I am Ada."
        assert params["model"] == "m"
        assert 'mcp_servers.muster.url="http://127.0.0.1:1/mcp"' in arguments
        assert "model_reasoning_effort=high" in arguments
        assert "secret" not in str(arguments)

    run(scene())


def test_a_model_that_fails_ends_the_session_with_the_reason(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start("fail usage limit reached")
        end = await session.wait()
        assert (end.outcome, end.reason) == (Outcome.FAILED, "usage limit reached")
        assert Activity.ASKED_AGAIN in [each.kind for each in stage.listener.activities()]

    run(scene())
