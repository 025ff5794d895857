"""Choices of people are remembered with the session, and the next one in the project has them."""

from pathlib import Path

import pytest

from muster.delegation import session_folder
from muster.delegation.visiting import earlier_choices
from muster.errors import Ambiguous
from muster.machines.ids import person
from muster.machines.state import RememberedChoice
from muster.permissions.policy import DEFAULT
from muster.routing.agent_files import read_folders
from tests.builders import run
from tests.delegation.stage import EITHER, MARCUS, PYTHON, Stage


async def remembered(stage: Stage) -> tuple[RememberedChoice, ...]:
    async with stage.log_provider.access() as session_log:
        return session_log.team.delegation.choices


def test_an_answered_question_is_not_asked_again(tmp_path: Path) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        with pytest.raises(Ambiguous):
            await stage.ask(EITHER)
        await stage.ask(EITHER, to="docs-writer")
        [choice] = await remembered(stage)
        assert (choice.text, choice.agent, choice.guess) == (EITHER, "docs-writer", "")
        view = await stage.ask(EITHER)
        assert view.route is not None
        assert (view.route.agent, view.route.rule) == ("docs-writer", "remembered")
        assert len(await remembered(stage)) == 1

    run(play())


def test_a_choice_that_overrules_the_router_is_kept_with_the_opinion_of_the_router(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        view = await stage.ask(PYTHON, to="docs-writer")
        assert view.route is not None
        assert view.route.guess == "python-engineer"
        [choice] = await remembered(stage)
        assert choice.guess == "python-engineer"
        again = await stage.ask(PYTHON)
        assert again.route is not None
        assert again.route.agent == "docs-writer"

    run(play())


def test_a_new_session_of_the_project_has_the_choices_of_the_last_one(tmp_path: Path) -> None:
    async def play() -> None:
        first = Stage(tmp_path)
        first.root = tmp_path / session_folder.SESSIONS_FOLDER / "20260101_000000"
        first.log_provider.root = first.root
        first.log_provider.home = first.root / session_folder.HOME_FOLDER
        await first.start()
        await first.ask(PYTHON, to="docs-writer")
        await first.ask(EITHER, to="python-engineer")
        earlier = earlier_choices(tmp_path, tmp_path / ".muster")
        assert [each.agent for each in earlier] == ["docs-writer", "python-engineer"]
        gone = tmp_path / "agents" / "python-engineer.md"
        gone.unlink()
        folders = [tmp_path / "agents"]
        second = Stage(tmp_path / "second")
        session_folder.prepare(second.root)
        delegation, _ = await session_folder.start(
            second.log_provider,
            root=second.root,
            mode=None,
            agents=read_folders(folders).agents,
            folders=folders,
            policy=DEFAULT,
            actor=person(MARCUS),
            earlier=earlier,
        )
        assert [(each.text, each.agent) for each in delegation.choices] == [(PYTHON, "docs-writer")]

    (tmp_path / "second").mkdir()
    run(play())


def test_a_project_without_sessions_has_no_choices(tmp_path: Path) -> None:
    assert earlier_choices(tmp_path, tmp_path / ".muster") == ()
