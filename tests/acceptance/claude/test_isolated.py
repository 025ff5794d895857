"""The real Claude Code in an isolated session: it works, and its tools do not see the home."""

from collections.abc import Generator
from urllib.parse import urlsplit

import pytest
from msgspec import structs

from muster.engine.ports import SessionHandle
from muster.settings.agent_programs import ClaudeSettings
from muster.settings.process import Isolate
from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.acceptance.claude.runtime_stage import ClaudeStage, clean_environment, end
from tests.builders import run

ALLOWED = ClaudeSettings(allowed_tools=("Bash", "Read", "Write"))


@pytest.fixture
def stage(box: Box) -> Generator[ClaudeStage]:
    with clean_environment():
        yield ClaudeStage(box)


@pytest.mark.parametrize("level", ["home", "strict"])
def test_claude_code_works_isolated_and_its_tools_see_its_own_folder_of_the_home(
    level: Isolate, model: ScriptedModel, stage: ClaudeStage
) -> None:
    secret = stage.home / "operator.token"
    stage.folder.mkdir(parents=True)
    secret.write_text("muster_operator_secret")
    line = f"cat {secret}; ls -A {stage.home} {stage.home}/agents; echo made > out.txt; cat out.txt"
    tools = [
        Tool("Read", {"file_path": str(secret)}),
        Tool("Bash", {"command": line, "description": "looks"}),
    ]
    model.add(Rule(match="hello", times=1, reply=["I look.", *tools]))
    model.add(Rule(reply=["Done."]))
    ports = (urlsplit(model.url).port,)

    async def start(prompt: str) -> SessionHandle:
        runtime = stage.runtime(ALLOWED, isolate=level, ports=ports)
        served = {"MUSTER_HOME": str(stage.home), "MUSTER_URL": "http://127.0.0.1:9"}
        launch = structs.replace(stage.launch(prompt), environment=served)
        return await runtime.start(launch, stage.listener)

    async def scene() -> None:
        session = await start("hello")
        try:
            [result] = await stage.listener.results()
            assert (result.ok, result.text) == (True, "Done.")
        finally:
            await end(session)
        said = str(model.calls()[-1].body)
        assert "muster_operator_secret" not in said
        assert "No such file or directory" in said
        assert "made" in said
        # it is resumed with its transcript, which it could write
        again = await start("hello again")
        await stage.listener.results(2)
        await end(again)
        assert "I look." in str(model.calls()[-1].body)

    run(scene())
