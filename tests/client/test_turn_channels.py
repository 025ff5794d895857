"""An agent in two channels, in the Python clients: each turn gets the words of its own channel."""

import asyncio
from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from muster import AsyncClient, Client
from muster.client import AsyncTurn, Turn
from muster.client.transport import locate
from muster.client.turn import HeardMessages
from muster.machines.ids import ChannelId
from muster.machines.vocabulary import InterruptMode, TurnState
from muster.views.answers.messages import HandedMessage, MessageKind, MessageView
from tests.live import live as a_server
from tests.waits import WAIT_SECONDS, until

_numbers = count(1)

MODES = [(mode, turns) for mode in InterruptMode for turns in (1, 4)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """The home of a running team, whose heartbeat timeout is longer than every test."""
    path = tmp_path_factory.mktemp("channels") / "home"
    with a_server(path):
        yield path


@pytest.fixture(scope="module")
def operator(home: Path) -> Generator[Client]:
    with Client(home=home) as client:
        yield client


class Bot(NamedTuple):
    """An agent that is in the channels `ops` and `chat`."""

    url: str
    name: str
    token: str
    ops: str
    chat: str


def a_bot(
    home: Path,
    operator: Client,
    mode: InterruptMode = InterruptMode.PARALLEL,
    max_turns: int | None = None,
) -> Bot:
    """A bot whose channel `chat` is in a mode, with a task in `ops`."""
    number = next(_numbers)
    name, ops, chat = f"bot-{number}", f"ops-{number}", f"chat-{number}"
    token = operator.register(name, max_turns=max_turns).token.secret
    operator.create_channel(ops, members=[name])
    rules = {"humanInterruptMode": mode, "interruptHoldSeconds": 0.5}
    operator.create_channel(chat, rules, members=[name])
    operator.post(ops, "clean up")
    return Bot(locate(None, None, home, {}).url, name, token, ops, chat)


def said(messages: Sequence[MessageView]) -> list[tuple[str, bool]]:
    """The texts, and whether a message is marked as handed over before."""
    return [(each.text, isinstance(each, HandedMessage) and each.again) for each in messages]


def in_ops(turn: Turn | AsyncTurn) -> bool:
    return turn.channel.startswith("ops")


def waits_in(operator: Client, channel: str) -> bool:
    return any(each.state is TurnState.WAITING for each in operator.channel(channel).members)


@pytest.mark.parametrize(("mode", "max_turns"), MODES)
def test_a_turn_gets_no_news_of_another_channel_and_its_turn_there_gets_them_once(
    home: Path, operator: Client, mode: InterruptMode, max_turns: int
) -> None:
    bot = a_bot(home, operator, mode, max_turns)
    with Client(bot.url, bot.token) as client:
        turns = client.turns(bot.name)
        turn = next(turns)
        assert (turn.channel, said(turn.messages)) == (bot.ops, [("clean up", False)])
        operator.post(bot.chat, "lunch?")
        operator.post(bot.chat, "a secret")
        operator.send("psst", to=bot.name)
        operator.post(bot.ops, "and hurry")
        news = [*turn.wait_for_news(WAIT_SECONDS), *turn.wait_for_news(WAIT_SECONDS)]
        assert [each.text for each in news] == ["and hurry", "psst"]
        assert turn.news() == ()
        turn.complete("done")
        turn = next(turns)
        assert turn.channel == bot.chat
        heard = [*turn.messages]
        while len(heard) < 2:  # in `queue` mode with a turn in `chat`, one comes with the next
            news = turn.wait_for_news(0.1)
            heard += news
            if not news:
                turn.complete("heard")
                turn = next(turns)
                heard += turn.messages
        assert said(tuple(heard)) == [("lunch?", False), ("a secret", False)]
        turn.complete("heard")


def test_a_question_is_answered_in_its_channel_only(home: Path, operator: Client) -> None:
    bot = a_bot(home, operator)

    async def agent(asked: asyncio.Event, seen: list[tuple[str, list[tuple[str, bool]]]]) -> None:
        async with AsyncClient(bot.url, bot.token) as client:
            async for turn in client.turns(bot.name):
                seen.append((turn.channel, said(turn.messages)))
                if in_ops(turn):
                    asked.set()
                    seen.append(("answer", said(await ask(turn))))
                    seen.append(("news", said(await turn.news())))
                await turn.complete("ok")
                if not in_ops(turn):
                    return

    async def ask(turn: AsyncTurn) -> Sequence[MessageView]:
        answer = await turn.ask("Delete the database?")
        assert answer == "no"
        return answer.messages

    async def story() -> list[tuple[str, list[tuple[str, bool]]]]:
        asked, seen = asyncio.Event(), list[tuple[str, list[tuple[str, bool]]]]()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(agent(asked, seen))
            await asked.wait()
            await asyncio.to_thread(until, lambda: waits_in(operator, bot.ops))
            await asyncio.to_thread(operator.post, bot.chat, "yes, lunch at noon")
            await asyncio.to_thread(operator.send, "yes, call me", to=bot.name)
            await asyncio.to_thread(operator.post, bot.ops, "no")
        return seen

    assert asyncio.run(asyncio.wait_for(story(), WAIT_SECONDS)) == [
        (bot.ops, [("clean up", False)]),
        ("answer", [("no", False)]),
        ("news", [("yes, call me", False)]),
        (bot.chat, [("yes, lunch at noon", False)]),
    ]


def test_words_from_before_a_question_are_news_and_no_answer(home: Path, operator: Client) -> None:
    bot = a_bot(home, operator)
    with Client(bot.url, bot.token) as client:
        turns = client.turns(bot.name)
        turn = next(turns)
        operator.post(bot.ops, "yes, fine so far")
        assert turn.ask("Delete the database?", timeout_s=0.1) == ""
        assert turn.lost is not None
        assert [each.text for each in turn.kept] == ["yes, fine so far"]
        operator.post(bot.ops, "go on")
        turn = next(turns)
        assert [each.text for each in turn.messages] == ["yes, fine so far", "go on"]


def test_iterating_over_a_turn_gives_messages_of_its_channel(home: Path, operator: Client) -> None:
    bot = a_bot(home, operator)

    async def story() -> list[str]:
        async with AsyncClient(bot.url, bot.token) as client:
            turn = await anext(client.turns(bot.name))
            await asyncio.to_thread(operator.post, bot.chat, "a secret")
            await asyncio.to_thread(operator.post, bot.ops, "stop here")
            heard: list[str] = []
            async for message in turn:
                heard.append(message.text)
                if message.text == "stop here":
                    await turn.complete("stopped")
            return heard

    assert asyncio.run(asyncio.wait_for(story(), WAIT_SECONDS)) == ["clean up", "stop here"]


def test_kept_messages_come_with_a_turn_of_their_channel_and_direct_ones_with_any() -> None:
    def message(text: str, channel: ChannelId | None) -> MessageView:
        now = datetime(2026, 1, 1, tzinfo=UTC)
        kind = MessageKind.NOTICE if channel else MessageKind.PERSON
        return MessageView(
            seq=1, ts=now, speaker="x", kind=kind, text=text, by_human=False, channel=channel
        )

    ops, chat = ChannelId("ops"), ChannelId("chat")
    heard = HeardMessages()
    heard.keep([message("of ops", ops), message("direct", None), message("of chat", chat)])
    assert [each.text for each in heard.take(chat)] == ["direct", "of chat"]
    assert heard.take(chat) == []
    assert [each.text for each in heard.take(ops)] == ["of ops"]
