"""One-shot programs, the real ones: each answers, tells its tools and tokens, and is denied."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from muster.engine.ports import Launch
from muster.machines.vocabulary import Activity, Outcome, RunMode
from muster.runtimes.catalog import runtime_of
from muster.runtimes.claude.program import installed_program
from muster.settings.agent_programs import ClaudeSettings, OncePreset
from muster.settings.agents import AgentSettings
from muster.testing.claude_sandbox import Box, boxed
from muster.testing.model import Rule, ScriptedModel, Tool
from tests.acceptance.makers.model import MakersModel
from tests.acceptance.makers.programs import settings_of
from tests.acceptance.makers.wires import INPUT_TOKENS, OUTPUT_TOKENS
from tests.builders import run
from tests.runtimes.conformance.test_conformance import Approver
from tests.runtimes.programs import ADA, alive, new_session

DENIED = {
    "codex": "blocked by read-only sandbox",
    "gemini": "not found",
    "opencode": "rejected permission",
}
"""What the model of each is told of a write that is not allowed."""

MAKERS: list[tuple[str, OncePreset]] = [
    ("codex", "codex-exec"),
    ("gemini", "gemini-p"),
    ("opencode", "opencode-run"),
]


def once(maker: str, preset: OncePreset, url: str, home: Path) -> AgentSettings:
    """The settings of an agent whose program runs for one piece of work."""
    env = settings_of(maker, url, home).env
    if maker == "gemini":  # with another address than Google's it asks how to sign in
        (home / ".gemini").mkdir(exist_ok=True)
        auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        (home / ".gemini" / "settings.json").write_text(json.dumps(auth))
    model = {"gemini": ("-m", "gemini-2.5-pro")}
    return AgentSettings(preset=preset, env=env, arguments=model.get(maker, ()))


@pytest.mark.parametrize(("maker", "preset"), MAKERS)
def test_a_real_one_shot_program_works_once_and_is_denied_a_write(
    maker: str, preset: OncePreset, tmp_path: Path
) -> None:
    work, listener = tmp_path / "work", Approver()
    work.mkdir()

    async def scene(model: MakersModel) -> None:
        settings = replace(once(maker, preset, model.url, tmp_path / "home"), cwd=str(work))
        launch = Launch(
            session=new_session(),
            agent=ADA,
            mode=RunMode.CONTINUOUS,
            prompt=f"do: write {work / 'evil.py'}",
            folder=tmp_path / "agent",
        )
        session = await runtime_of(settings, tmp_path / ".muster").start(launch, listener)
        end = await session.wait()
        assert end.outcome is Outcome.COMPLETED, end.reason
        [result] = listener.results()
        assert result.ok
        assert DENIED[maker] in result.text
        assert not (work / "evil.py").exists()
        used = (result.usage.input_tokens, result.usage.output_tokens)
        assert used == (2 * INPUT_TOKENS, 2 * OUTPUT_TOKENS)
        if maker != "codex":  # a refused patch is no item of `codex exec`
            kinds = [each.kind for each in listener.activities()]
            assert kinds == [Activity.TOOL_CALL, Activity.TOOL_FAILED]
        assert not alive(session.pid)

    with MakersModel() as model:
        run(scene(model))


def test_claude_code_works_once_and_is_denied_a_write(tmp_path: Path) -> None:
    listener = Approver()
    (tmp_path / "bin").mkdir()
    program = installed_program(ClaudeSettings(), tmp_path)
    (tmp_path / "bin" / "claude").symlink_to(program)

    async def scene(box: Box) -> None:
        env = {**box.env, "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
        settings = AgentSettings(preset="claude-p", env=env, cwd=str(box.work))
        launch = Launch(
            session=new_session(),
            agent=ADA,
            mode=RunMode.CONTINUOUS,
            prompt=f"write {box.work / 'evil.py'}",
            folder=tmp_path / "agent",
        )
        session = await runtime_of(settings, tmp_path / ".muster").start(launch, listener)
        end = await session.wait()
        assert end.outcome is Outcome.COMPLETED, end.reason
        [result] = listener.results()
        assert (result.ok, result.text) == (True, "I was denied")
        assert result.usage.output_tokens > 0
        kinds = [each.kind for each in listener.activities()]
        assert kinds == [Activity.TOOL_CALL, Activity.TOOL_FAILED]
        assert not (box.work / "evil.py").exists()

    denied = Rule(match="requested permissions", reply="I was denied")
    write = Tool("Write", {"file_path": "evil.py", "content": "1"})
    with ScriptedModel([denied, Rule(reply=[write])]) as model, boxed(model.url) as box:
        run(scene(box))
