"""The real Claude Code in a confined session: it works, and writes only what it may."""

from collections.abc import Generator

import pytest

from muster.engine.ports import PermissionAnswer
from muster.settings.agent_programs import ClaudeSettings
from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.acceptance.claude.runtime_stage import ClaudeStage, clean_environment, end
from tests.builders import run

ALLOWED = ClaudeSettings(allowed_tools=("Bash", "Write", "Edit"))


@pytest.fixture
def stage(box: Box) -> Generator[ClaudeStage]:
    with clean_environment():
        yield ClaudeStage(box)


def test_claude_code_works_confined_to_its_outputs(
    model: ScriptedModel, stage: ClaudeStage
) -> None:
    outputs, work = stage.folder / "outputs", stage.box.work
    settings = stage.box.root / "home" / "config" / "settings.json"
    snapshots = settings.parent / "shell-snapshots"
    snapshots.mkdir(parents=True)
    (snapshots / "snapshot-bash-1.sh").write_text("# of the person's own session\n")
    line = (
        f"echo x > {work}/evil.py; echo x > {outputs}/from_bash.txt; echo x > {settings};"
        f" echo x >> {snapshots}/snapshot-bash-1.sh; echo x > {snapshots}/more.sh;"
        " echo x > $CLAUDE_CONFIG_DIR/settings.json; true"
    )
    tools = [
        Tool("Write", {"file_path": str(work / "evil2.py"), "content": "x"}),
        Tool("Write", {"file_path": str(outputs / "fine.py"), "content": "x"}),
        Tool("Bash", {"command": line, "description": "writes"}),
    ]
    model.add(Rule(match="hello", times=1, reply=["I try.", *tools]))
    model.add(Rule(reply=["Done."]))

    stage.listener.verdict = lambda _: PermissionAnswer(True, "")

    async def scene() -> None:
        session = await stage.start("hello", ALLOWED, confine="outputs")
        try:
            assert session.confinement.startswith("writes only its outputs")
            [result] = await stage.listener.results()
            assert (result.ok, result.text) == (True, "Done.")
            assert {each.name for each in outputs.iterdir()} == {"fine.py", "from_bash.txt"}
            assert list(work.iterdir()) == []
            assert not settings.exists()
            assert [each.read_text() for each in snapshots.iterdir()] == [
                "# of the person's own session\n"
            ]
            assert not (stage.folder / "claude" / "settings.json").exists()
        finally:
            await end(session)
        # it is resumed with its transcript, which it could write
        again = await stage.start("hello again", ALLOWED, confine="outputs")
        await stage.listener.results(2)
        await end(again)
        assert "hello again" in str(model.calls()[-1].body)
        assert "I try." in str(model.calls()[-1].body)

    run(scene())
