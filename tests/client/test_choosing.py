"""A selector in the Python clients and in a shell: it is told that it chooses, and among whom."""

import asyncio
from collections.abc import Generator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from muster import AsyncClient, Client
from muster.client import AsyncTurn, Turn
from tests.homes import muster
from tests.live import live
from tests.waits import WAIT_SECONDS

_numbers = count(1)


class Chair(NamedTuple):
    """A selector, its token and its channel with two members."""

    home: Path
    name: str
    token: str
    members: tuple[str, str]

    @property
    def channel(self) -> str:
        return f"drafts-{self.name}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    path = tmp_path_factory.mktemp("choosing") / "home"
    with live(path):
        yield path


@pytest.fixture(scope="module")
def operator(home: Path) -> Generator[Client]:
    with Client(home=home) as client:
        yield client


@pytest.fixture
def chair(home: Path, operator: Client) -> Chair:
    """A selector that will be asked after the first message."""
    number = next(_numbers)
    name, members = f"chair-{number}", (f"pm-{number}", f"the dev {number}")
    token = operator.register(name).token.secret
    for each in members:
        operator.register(each)
    for each in (name, *members):
        operator.connect(each)
    made = Chair(home, name, token, members)
    rules = {"speakerOrder": "selector", "selector": name}
    operator.create_channel(made.channel, rules, members=[name, *members])
    operator.post(made.channel, "We need a draft.")
    return made


def choice(turn: Turn | AsyncTurn, chair: Chair) -> str:
    """The last candidate; the turn is checked."""
    assert turn.choosing
    assert [each.name for each in turn.candidates] == list(chair.members)
    assert {each.description for each in turn.candidates} == {""}
    assert [each.text for each in turn.messages] == ["We need a draft."]
    return turn.candidates[-1].name


def test_a_program_that_waits_is_told_that_it_chooses_and_among_whom(
    operator: Client, chair: Chair
) -> None:
    with Client(home=chair.home, token=chair.token) as client:
        turn = next(client.turns(chair.name))
        assert turn.complete(choice(turn, chair)) is not None
        assert operator.channel(chair.channel).holder == chair.members[-1]


def test_a_program_on_an_event_loop_is_told_so_too(operator: Client, chair: Chair) -> None:
    async def selector() -> None:
        async with AsyncClient(home=chair.home, token=chair.token) as client:
            async for turn in client.turns(chair.name):
                await turn.complete(choice(turn, chair))
                return

    asyncio.run(asyncio.wait_for(selector(), WAIT_SECONDS))
    assert operator.channel(chair.channel).holder == chair.members[-1]


def test_a_shell_script_is_told_so_too(operator: Client, chair: Chair) -> None:
    def does(*args: str) -> str:
        ran = muster(*args, "--home", str(chair.home), MUSTER_TOKEN=chair.token)
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout

    first, second = chair.members
    assert does("next", chair.name, "--no-keep").splitlines() == [
        f"choose 1 {chair.channel}",
        f"{first}\t",
        f"{second}\t",
        "",
        "human: We need a draft.",
    ]
    does("turn", "complete", chair.channel, second, "--epoch", "1")
    assert operator.channel(chair.channel).holder == second
