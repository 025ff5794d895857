"""The real program of each maker: it answers, asks, is refused, and is interrupted."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from muster.engine.ports import Launch, PermissionAnswer
from muster.machines.vocabulary import Outcome, RunMode, Urgency
from muster.runtimes.catalog import runtime_of
from muster.testing.claude_sandbox import boxed
from tests.acceptance.makers.model import MakersModel
from tests.acceptance.makers.programs import settings_of
from tests.acceptance.makers.wires import INPUT_TOKENS, OUTPUT_TOKENS
from tests.builders import run
from tests.runtimes.conformance.test_conformance import Approver
from tests.runtimes.programs import ADA, alive, new_session
from tests.waits import SLOW_SECONDS


@pytest.mark.parametrize(
    "maker", ["claude", "claude-acp", "codex", "codex-acp", "gemini", "opencode", "qwen"]
)
def test_a_real_program_answers_asks_is_refused_and_is_interrupted(
    maker: str, tmp_path: Path
) -> None:
    work, listener = tmp_path / "work", Approver()
    work.mkdir()

    async def scene(model: MakersModel, home: Path) -> None:
        settings = replace(settings_of(maker, model.url, home), cwd=str(work))
        launch = Launch(
            session=new_session(),
            agent=ADA,
            mode=RunMode.CONTINUOUS,
            prompt="do: say hello",
            folder=tmp_path / "agent",
        )
        session = await runtime_of(settings, tmp_path / ".muster").start(launch, listener)
        await listener.answered(1)
        assert listener.answers() == ["hello"]
        if maker != "qwen":  # which tells no tokens
            used = listener.results()[0].usage
            assert (used.input_tokens, used.output_tokens) == (INPUT_TOKENS, OUTPUT_TOKENS)

        listener.answer = PermissionAnswer(True, "")
        await session.send_prompt(f"do: write {work / 'notes.txt'}")
        await listener.answered(2)
        assert (work / "notes.txt").exists()
        listener.answer = PermissionAnswer(False, "not today")
        await session.send_prompt(f"do: write {work / 'evil.py'}")
        await listener.answered(3)
        assert not (work / "evil.py").exists()
        is_told_later = maker in ("claude-acp", "gemini")
        assert is_told_later or "not today" in listener.answers()[2]
        paths = [str(each.arguments.get("file_path")) for each in listener.asked]
        assert paths == [str(work / "notes.txt"), str(work / "evil.py")]

        await session.send_prompt("do: hang")
        assert await asyncio.to_thread(model.hangs(maker.removesuffix("-acp")).wait, SLOW_SECONDS)
        await session.interrupt()
        assert listener.results()[3].interrupted
        await session.send_prompt("do: say after")
        await listener.answered(5)
        assert listener.answers()[4] == "after"
        await session.stop(Urgency.NOW)
        assert (await session.wait()).outcome is Outcome.COMPLETED
        assert not alive(session.pid)

    with MakersModel() as model, boxed(model.url) as box:  # which has a short path
        run(scene(model, box.root / "home"))


@pytest.mark.parametrize("maker", ["claude-acp", "codex-acp", "gemini", "opencode", "qwen"])
def test_a_confined_program_answers_and_the_kernel_refuses_its_writes_elsewhere(
    maker: str, tmp_path: Path
) -> None:
    work, folder, listener = tmp_path / "work", tmp_path / "agent", Approver()
    work.mkdir()
    listener.answer = PermissionAnswer(True, "")  # so that nothing but the kernel refuses

    async def scene(model: MakersModel, home: Path) -> None:
        settings = settings_of(maker, model.url, home)
        before = _files(home)
        launch = Launch(
            session=new_session(),
            agent=ADA,
            mode=RunMode.CONTINUOUS,
            prompt="do: say hello",
            folder=folder,
        )
        runtime = runtime_of(
            replace(settings, cwd=str(work), confine="outputs"), tmp_path / ".muster"
        )
        session = await runtime.start(launch, listener)
        await listener.answered(1)
        assert listener.answers() == ["hello"]
        said = folder / "outputs" / "said.txt"
        await session.send_prompt(
            f"do: run {{ echo x > {work / 'evil.py'}; }} 2> {said}; echo tried"
        )
        await listener.answered(2)
        if maker == "codex-acp":  # its own sandbox cannot start in muster's: nothing runs
            assert "bwrap: setting up uid map: Permission denied" in listener.answers()[1]
        else:
            assert "Permission denied" in said.read_text()
        await session.stop(Urgency.NOW)
        await session.wait()
        assert list(work.iterdir()) == []
        if maker != "opencode":  # which has no variable that names its folders
            assert _files(home) == before

    with MakersModel() as model, boxed(model.url) as box:
        run(scene(model, box.root / "home"))


def _files(folder: Path) -> list[Path]:
    return sorted(each for each in folder.rglob("*"))
