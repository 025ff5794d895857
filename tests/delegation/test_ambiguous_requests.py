"""Ambiguous requests: a person is asked; where nobody can be asked, the best agent gets them."""

from pathlib import Path

import msgspec
import pytest

from muster.errors import Ambiguous
from muster.machines import events as e
from muster.machines.vocabulary import DelegationMode, Ranked
from tests.builders import run
from tests.delegation.stage import EITHER, MARCUS, Stage


def test_an_ambiguous_request_opens_nothing_and_names_the_agents_with_reasons(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        with pytest.raises(Ambiguous, match="`--to AGENT`") as refused:
            await stage.ask(EITHER)
        candidates = msgspec.convert(refused.value.found["candidates"], list[Ranked])
        assert {each.agent for each in candidates} == {"docs-writer", "python-engineer"}
        assert all(each.reason.startswith("Matched: ") for each in candidates)
        assert await stage.conversations.views() == {}

    run(play())


def test_the_chosen_agent_gets_it_and_the_opinion_of_the_router_is_on_record(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start()
        view = await stage.ask(EITHER, to="docs-writer")
        assert view.route is not None
        assert (view.route.agent, view.route.rule) == ("docs-writer", "person")
        assert {each.agent for each in view.route.candidates} == {"docs-writer", "python-engineer"}
        assert not view.route.ambiguous

    run(play())


def test_where_nobody_can_be_asked_the_best_agent_gets_it_and_the_doubt_is_on_record(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        stage = Stage(tmp_path)
        await stage.start(DelegationMode.RESPONSE)
        await stage.conversations.begin(EITHER, speaker=MARCUS)
        [routed] = await stage.facts(e.Routed)
        assert isinstance(routed, e.Routed)
        assert routed.ambiguous
        assert routed.to == routed.candidates[0].agent

    run(play())
