"""Tool calls of a program that muster prompts, while the prompt of its turn waits."""

import asyncio
from collections.abc import Generator
from unittest.mock import patch

import pytest

from muster.machines.ids import ChannelId
from muster.machines.state import HeldTurn
from muster.runtimes.command import CommandRuntime
from tests.inside import Inside, inside
from tests.mcp.clients import called, over_http, refused


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    """Programs that would confirm prompts, and have begun none."""
    with (
        patch.object(CommandRuntime, "confirms_prompts", True),
        inside(tmp_path_factory.mktemp("early"), "Ada", "Ben") as running,
    ):
        yield running


def turn_in(team: Inside, channel: str) -> HeldTurn | None:
    return team.team.channels[ChannelId(channel)].turn


def test_an_early_end_leaves_the_turn_and_says_why(team: Inside) -> None:
    token = team.session_token("Ada")
    team.opens("early", "Ada")

    async def play() -> None:
        async with over_http(team.server, token) as ada:
            for tool in ("turn_complete", "turn_pass"):
                problem = await refused(ada, tool, channel="early")
                assert problem["code"] == "turn_not_begun"
                assert "waits behind other work" in problem["detail"]

    asyncio.run(play())
    turn = turn_in(team, "early")
    assert turn is not None
    assert turn.holder == team.agent("Ada").seat


def test_a_program_that_asks_for_its_turn_ends_it_without_its_prompt(team: Inside) -> None:
    token = team.session_token("Ben")
    team.opens("asked", "Ben")

    async def play() -> None:
        async with over_http(team.server, token) as ben:
            assert (await called(ben, "turn_await", unasked=True))["channel"] == "asked"
            turn = turn_in(team, "asked")
            assert turn is not None
            assert turn.taken
            await called(ben, "turn_complete", message="mine")

    asyncio.run(play())
