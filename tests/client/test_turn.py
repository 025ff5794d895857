"""A turn in the Python clients against a real server: news, pauses, losses, and turns that pass."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from queue import Queue
from threading import Event
from typing import Any, NamedTuple, TypeVar

import pytest

from muster import AsyncClient, Client
from muster.client import AsyncTurn, Turn, requests
from muster.client.transport import ServerAddress, locate
from muster.errors import Invalid, TurnLost
from muster.machines.vocabulary import TurnState
from muster.views.answers.messages import MessageKind
from tests.live import live as a_server
from tests.waits import WAIT_SECONDS, until, until_async

T = TypeVar("T")

_numbers = count(1)

INTERRUPTING = {"humanInterruptMode": "interrupt", "interruptHoldSeconds": 600}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """The home of a running team, whose heartbeat timeout is longer than every test."""
    path = tmp_path_factory.mktemp("turns") / "home"
    with a_server(path):
        yield path


@pytest.fixture
def operator(home: Path) -> Iterator[Client]:
    with Client(home=home) as client:
        yield client


class Scene(NamedTuple):
    """Two agents, a channel, and a server."""

    server: ServerAddress
    pm: str
    dev: str
    reviews: str
    tokens: dict[str, str]

    def client(self, name: str) -> Client:
        return Client(self.server.url, self.tokens[name])

    def async_client(self, name: str) -> AsyncClient:
        return AsyncClient(self.server.url, self.tokens[name])


@pytest.fixture
def scene(home: Path, operator: Client) -> Scene:
    return a_scene(home, operator)


def a_scene(home: Path, operator: Client, **config: object) -> Scene:
    number = next(_numbers)
    pm, dev, reviews = f"pm-{number}", f"dev-{number}", f"reviews-{number}"
    tokens = {name: operator.register(name).token.secret for name in (pm, dev)}
    operator.create_channel(reviews, config)
    return Scene(locate(None, None, home, {}), pm, dev, reviews, tokens)


def run(program: Coroutine[Any, Any, T]) -> T:  # Any: what a coroutine sends is asyncio's affair
    return asyncio.run(asyncio.wait_for(program, WAIT_SECONDS))


@contextmanager
def working(work: Callable[[], object]) -> Generator[Future[object]]:
    """Run an agent's program in a thread; its exception is the test's."""
    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(work)
        yield done
        done.result(WAIT_SECONDS)


def texts(client: Client, channel: str) -> list[str]:
    """The messages of people and agents in a channel."""
    said = client.messages(channel).messages
    return [each.text for each in said if each.kind is not MessageKind.NOTICE]


# ── news ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_turn_hears_what_is_said_while_it_lasts(operator: Client, scene: Scene) -> None:
    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client:
        turn = next(client.turns(scene.pm, join=[scene.reviews]))
        assert [each.text for each in turn.messages] == ["begin"]
        assert turn.news() == ()
        operator.post(scene.reviews, "one more thing")
        operator.send("psst", to=scene.pm)
        heard = turn.wait_for_news(WAIT_SECONDS) + turn.wait_for_news(WAIT_SECONDS)
        assert [each.text for each in heard] == ["one more thing", "psst"]
        assert turn.news() == ()
        turn.complete("heard")
        assert turn.news() == ()


def test_a_turn_on_an_event_loop_hears_it_too(operator: Client, scene: Scene) -> None:
    async def agent() -> None:
        async with scene.async_client(scene.pm) as client:
            turn = await anext(client.turns(scene.pm, join=[scene.reviews]))
            assert await turn.news() == ()
            waiting = asyncio.ensure_future(turn.wait_for_news(WAIT_SECONDS))
            await asyncio.to_thread(operator.post, scene.reviews, "one more thing")
            assert [each.text for each in await waiting] == ["one more thing"]
            assert await turn.wait_for_news(0.01) == ()
            await turn.complete("heard")

    operator.post(scene.reviews, "begin")
    run(agent())


def test_iterating_over_a_turn_gives_every_message_until_it_ends(
    operator: Client, scene: Scene
) -> None:
    operator.post(scene.reviews, "begin")
    heard: list[str] = []
    with scene.client(scene.pm) as client:
        for turn in client.turns(scene.pm, join=[scene.reviews]):
            for message in turn:
                heard.append(message.text)
                if message.text == "stop":
                    turn.complete("enough")
                else:
                    operator.post(scene.reviews, "stop" if heard[1:] else "go on")
            break
    assert heard == ["begin", "go on", "stop"]


def test_iterating_on_an_event_loop_ends_when_the_turn_is_taken_away(
    operator: Client, scene: Scene
) -> None:
    async def agent() -> list[str]:
        heard: list[str] = []
        async with scene.async_client(scene.pm) as client:
            turn = await anext(client.turns(scene.pm, join=[scene.reviews]))
            async for message in turn:
                heard.append(message.text)
                await asyncio.to_thread(operator.take_turn_away, scene.reviews)
            assert turn.lost == "a person took the turn away"
        return heard

    operator.post(scene.reviews, "begin")
    assert run(agent()) == ["begin"]


def test_news_that_the_body_did_not_ask_for_comes_with_the_next_turn(
    operator: Client, scene: Scene
) -> None:
    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client:
        turns = client.turns(scene.pm, join=[scene.reviews])
        turn = next(turns)
        operator.post(scene.reviews, "and this")
        turn.complete("done")
        assert [each.text for each in next(turns).messages] == ["and this"]


# ── a turn that is interrupted ────────────────────────────────────────────────────────────────────


def test_words_said_while_a_person_holds_the_turn_are_posted_at_the_release(
    home: Path, operator: Client
) -> None:
    scene = a_scene(home, operator, **INTERRUPTING)
    operator.post(scene.reviews, "begin")
    turns: Queue[Turn] = Queue()
    interrupted = Event()

    def agent() -> None:
        with scene.client(scene.pm) as client:
            for turn in client.turns(scene.pm, join=[scene.reviews]):
                turns.put(turn)
                assert interrupted.wait(WAIT_SECONDS)
                turn.post("my words")
                turn.complete("my last words")
                if turn.epoch > 1:
                    return

    with working(agent):
        turn = turns.get(timeout=WAIT_SECONDS)
        operator.post(scene.reviews, "wait a moment")
        until(lambda: turn.paused)
        interrupted.set()
        next(operator.events(after=-1, channel=scene.reviews, types=["command_refused"]))
        assert texts(operator, scene.reviews) == ["begin", "wait a moment"]
        operator.next_speaker(scene.reviews, scene.pm)  # the person lets it go on
        again = turns.get(timeout=WAIT_SECONDS)
        assert again.epoch > turn.epoch
        assert [each.text for each in again.messages] == ["wait a moment"]
    said = ["begin", "wait a moment", "my words", "my last words", "my words", "my last words"]
    assert texts(operator, scene.reviews) == said


def test_an_interrupted_turn_hears_the_person_and_goes_on(home: Path, operator: Client) -> None:
    scene = a_scene(home, operator, **INTERRUPTING)

    async def agent() -> None:
        async with scene.async_client(scene.pm) as client:
            async for turn in client.turns(scene.pm, join=[scene.reviews]):
                async with turn:
                    await asyncio.to_thread(operator.post, scene.reviews, "wait a moment")
                    (heard,) = await turn.wait_for_news(WAIT_SECONDS)
                    assert (heard.text, turn.paused) == ("wait a moment", True)
                    said = asyncio.ensure_future(turn.complete("as you say"))
                    await asyncio.to_thread(operator.next_speaker, scene.reviews, scene.pm)
                    assert await said is not None
                assert (turn.lost, turn.over) == (None, True)
                return

    operator.post(scene.reviews, "begin")
    run(agent())
    assert texts(operator, scene.reviews) == ["begin", "wait a moment", "as you say"]


# ── a turn that is lost ───────────────────────────────────────────────────────────────────────────


def test_a_body_is_told_that_its_turn_was_taken_away_and_the_loop_goes_on(
    operator: Client, scene: Scene
) -> None:
    operator.post(scene.reviews, "begin")
    told = Event()
    with scene.client(scene.pm) as client:
        for turn in client.turns(scene.pm, join=[scene.reviews]):
            if turn.epoch > 1:
                # its answer to the first message was never told, so that comes again
                assert [message.text for message in turn.messages] == ["begin", "go on"]
                break
            turn.on_lost(lambda _: told.set())
            operator.take_turn_away(scene.reviews)
            assert told.wait(WAIT_SECONDS)
            assert (turn.lost, turn.over) == ("a person took the turn away", True)
            with pytest.raises(TurnLost):
                turn.check()
            assert turn.post("too late") is None
            assert turn.complete("much too late") is None
            reasons: list[str] = []
            turn.on_lost(reasons.append)
            assert reasons == ["a person took the turn away"]
            operator.post(scene.reviews, "go on")
    assert texts(operator, scene.reviews) == ["begin", "go on"]


def test_a_call_on_a_lost_turn_does_nothing_before_the_body_is_told(
    operator: Client, scene: Scene
) -> None:
    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client:
        turns = client.turns(scene.pm, join=[scene.reviews])
        turn = next(turns)
        operator.take_turn_away(scene.reviews)
        assert turn.complete("too late") is None
        assert turn.lost == "a person took the turn away"
        operator.post(scene.reviews, "go on")
        assert next(turns).epoch > turn.epoch
    assert texts(operator, scene.reviews) == ["begin", "go on"]


def test_the_body_of_a_lost_turn_is_cancelled_on_an_event_loop(
    operator: Client, scene: Scene
) -> None:
    ended: list[str] = []

    async def agent() -> None:
        async with scene.async_client(scene.pm) as client:
            async for turn in client.turns(scene.pm, join=[scene.reviews]):
                if turn.epoch > 1:
                    return
                async with turn:
                    await asyncio.to_thread(operator.take_turn_away, scene.reviews)
                    try:
                        await asyncio.Event().wait()
                    except asyncio.CancelledError:
                        ended.append(turn.lost or "")
                        raise
                await asyncio.to_thread(operator.post, scene.reviews, "go on")

    operator.post(scene.reviews, "begin")
    run(agent())
    assert ended == ["a person took the turn away"]


def test_a_loss_that_the_body_finds_itself_cancels_nothing_behind_it(
    operator: Client, scene: Scene
) -> None:
    async def agent() -> None:
        async with scene.async_client(scene.pm) as client:
            async for turn in client.turns(scene.pm, join=[scene.reviews]):
                async with turn:
                    await asyncio.to_thread(operator.take_turn_away, scene.reviews)
                    await turn.complete("too late")
                await asyncio.sleep(0)
                return

    operator.post(scene.reviews, "begin")
    run(agent())


def test_a_cancellation_of_the_program_is_not_mistaken_for_a_lost_turn(
    operator: Client, scene: Scene
) -> None:
    async def agent() -> None:
        async with scene.async_client(scene.pm) as client:
            async for turn in client.turns(scene.pm, join=[scene.reviews]):
                async with turn:
                    begun.set()
                    await asyncio.Event().wait()

    async def program() -> None:
        task = asyncio.ensure_future(agent())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    begun = asyncio.Event()
    operator.post(scene.reviews, "begin")
    run(program())


def test_a_handler_is_cancelled_with_its_turn_and_called_with_the_next(
    operator: Client, scene: Scene
) -> None:
    handled: list[int] = []

    async def handle(turn: AsyncTurn) -> None:
        handled.append(turn.epoch)
        if len(handled) > 1:
            await turn.complete("done")
            await asyncio.to_thread(operator.ask, requests.disable(scene.pm))
            return
        await asyncio.to_thread(operator.take_turn_away, scene.reviews)
        await asyncio.to_thread(operator.post, scene.reviews, "go on")
        await asyncio.Event().wait()

    async def agent() -> None:
        async with scene.async_client(scene.pm) as client:
            await client.serve(scene.pm, handle, join=[scene.reviews])

    operator.post(scene.reviews, "begin")
    run(agent())
    assert len(handled) == 2
    assert texts(operator, scene.reviews) == ["begin", "go on", "done"]


def test_a_handler_of_a_waiting_program_ends_where_it_checks_its_turn(
    operator: Client, scene: Scene
) -> None:
    handled: list[int] = []

    def handle(turn: Turn) -> None:
        handled.append(turn.epoch)
        if len(handled) > 1:
            operator.ask(requests.disable(scene.pm))
            return
        operator.take_turn_away(scene.reviews)
        until(lambda: turn.lost)
        operator.post(scene.reviews, "go on")
        turn.check()
        raise AssertionError("the turn was lost")

    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client:
        client.serve(scene.pm, handle, join=[scene.reviews])
    assert len(handled) == 2


def test_an_error_of_a_handler_is_not_swallowed(operator: Client, scene: Scene) -> None:
    def handle(turn: Turn) -> None:
        raise LookupError(turn.channel)

    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client, pytest.raises(LookupError):
        client.serve(scene.pm, handle, join=[scene.reviews])


def test_a_removed_agent_stays_out_until_a_person_adds_it(operator: Client, scene: Scene) -> None:
    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client:
        turns = client.turns(scene.pm, join=[scene.reviews])
        turn = next(turns)
        operator.remove_member(scene.reviews, scene.pm)
        assert turn.complete("too late") is None
        assert turn.lost == "not a member of the channel"
        with working(lambda: next(turns).complete("I am back")):
            # in its next poll the agent has no channel, and would join again
            until(lambda: operator.agent(scene.pm).turn is TurnState.IDLE)
            operator.send("psst", to=scene.pm)
            until(lambda: operator.thread(scene.pm).messages[-1].delivery != "accepted")
            assert operator.channel(scene.reviews).ring == ()
            operator.post(scene.reviews, "welcome back")
            operator.add_member(scene.reviews, scene.pm)
    assert texts(operator, scene.reviews) == ["begin", "welcome back", "I am back"]


def test_a_member_of_a_private_channel_comes_back_to_its_place_by_itself(
    home: Path, operator: Client
) -> None:
    scene = a_scene(home, operator, readRule="members", joinRule="invited")
    for name in (scene.pm, scene.dev):
        operator.add_member(scene.reviews, name)
    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client:
        next(client.turns(scene.pm, join=[scene.reviews]))
        operator.disconnect(scene.pm)
    assert operator.channel(scene.reviews).ring == (scene.dev,)
    with scene.client(scene.pm) as client:
        next(client.turns(scene.pm, join=[scene.reviews])).complete("I am back")
        assert operator.channel(scene.reviews).ring == (scene.pm, scene.dev)
    assert texts(operator, scene.reviews) == ["begin", "I am back"]


def test_a_channel_that_is_not_there_is_joined_when_it_is(operator: Client, scene: Scene) -> None:
    later = f"later-{scene.pm}"
    with scene.client(scene.pm) as client:
        turns = client.turns(scene.pm, join=[later, scene.reviews])
        operator.post(scene.reviews, "begin")
        next(turns).complete("I am in the other one")
        operator.remove_member(scene.reviews, scene.pm)
        operator.create_channel(later)
        operator.post(later, "is anybody here?")
        next(turns).complete("I am")
    assert texts(operator, scene.reviews) == ["begin", "I am in the other one"]
    assert texts(operator, later) == ["is anybody here?", "I am"]


def test_a_disabled_agent_s_loop_ends_without_an_error(operator: Client, scene: Scene) -> None:
    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client:
        for turn in client.turns(scene.pm, join=[scene.reviews]):
            told = Event()
            turn.on_lost(lambda _, told=told: told.set())
            operator.ask(requests.disable(scene.pm))
            assert told.wait(WAIT_SECONDS)
            assert turn.complete("too late") is None
        assert list(client.turns(scene.pm, join=[scene.reviews])) == []


def test_an_agent_whose_token_was_revoked_stops_without_an_error(
    operator: Client, scene: Scene
) -> None:
    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client:
        for turn in client.turns(scene.pm, join=[scene.reviews]):
            (token,) = [
                each for each in operator.ask(requests.tokens()).tokens if each.agent == scene.pm
            ]
            operator.ask(requests.revoke_token(token.id))
            assert turn.complete("too late") is None
            assert "token" in (turn.lost or "")


def test_a_retired_agent_s_loop_ends_without_an_error(operator: Client, scene: Scene) -> None:
    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client:
        for turn in client.turns(scene.pm, join=[scene.reviews]):
            turn.report_usage(cost_usd=0.02, output_tokens=900)
            used = operator.agent(scene.pm).used
            assert used is not None
            assert used.cost_usd == 0.02
            operator.ask(requests.retire(scene.pm))
            assert turn.complete("too late") is None


# ── a turn with nothing new ───────────────────────────────────────────────────────────────────────


def test_a_turn_with_nothing_new_is_passed_for_the_agent(operator: Client, scene: Scene) -> None:
    async def agent(name: str) -> str:
        async with scene.async_client(name) as client:
            async for turn in client.turns(name, join=[scene.reviews]):
                await turn.complete(f"{turn.messages[-1].text}, {name}")
                return turn.messages[-1].text
        raise AssertionError("told to stop")

    async def team() -> list[str]:
        talking = asyncio.gather(agent(scene.pm), agent(scene.dev))
        await until_async(resting)
        await asyncio.to_thread(operator.post, scene.reviews, "begin")
        return list(await talking)

    async def resting() -> bool:
        return (await asyncio.to_thread(operator.channel, scene.reviews)).resting

    assert run(team()) in (["begin", f"begin, {scene.pm}"], [f"begin, {scene.dev}", "begin"])
    passed = operator.events(after=-1, channel=scene.reviews, types=["state_transition"])
    assert any(b'"nothing_new"' in event.data for event in passed)


def test_an_agent_with_turns_of_its_own_accord_is_not_passed_over(
    operator: Client, scene: Scene
) -> None:
    with scene.client(scene.pm) as client:
        turn = next(client.turns(scene.pm, join=[scene.reviews], unasked=True))
        assert turn.messages == ()
        turn.complete("good morning")
    assert texts(operator, scene.reviews) == ["good morning"]


def test_an_agent_that_a_person_chose_speaks_although_nothing_is_new(
    operator: Client, scene: Scene
) -> None:
    def agent() -> None:
        with scene.client(scene.pm) as client:
            next(client.turns(scene.pm, join=[scene.reviews])).complete("you called?")

    with working(agent):
        until(lambda: TurnState.IDLE in operator.agent(scene.pm).channels.values())
        operator.next_speaker(scene.reviews, scene.pm)
    assert texts(operator, scene.reviews) == ["you called?"]


# ── who speaks next ───────────────────────────────────────────────────────────────────────────────


def test_a_turn_is_handed_to_the_member_that_its_speaker_names(
    operator: Client, scene: Scene
) -> None:
    operator.post(scene.reviews, "begin")
    operator.connect(scene.dev)
    operator.add_member(scene.reviews, scene.dev)
    operator.ask(requests.complete(scene.reviews, agent=scene.dev))
    with scene.client(scene.pm) as pm, scene.client(scene.dev) as dev:
        next(pm.turns(scene.pm, join=[scene.reviews])).handoff(scene.dev, "over to you")
        turn = next(dev.turns(scene.dev))
        assert turn.reason == f"handed over by {scene.pm}"
        assert [each.text for each in turn.messages][-1] == "over to you"
        turn.pass_on("nothing to add", to=scene.pm)
        assert operator.channel(scene.reviews).holder == scene.pm


def test_a_handoff_to_a_name_that_nobody_has_is_an_error_and_no_lost_turn(
    operator: Client, scene: Scene
) -> None:
    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client:
        turn = next(client.turns(scene.pm, join=[scene.reviews]))
        with pytest.raises(Invalid, match="there is no agent 'nobdy'"):
            turn.handoff("nobdy", "words")
        assert not turn.over
        said = turn.handoff(scene.dev, "words")
        assert said is not None
        assert f"{scene.dev!r} is no member" in said.effect
    assert texts(operator, scene.reviews) == ["begin", "words"]


def test_the_next_act_of_an_agent_ends_its_own_wait(operator: Client, scene: Scene) -> None:
    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client:
        turn = next(client.turns(scene.pm, join=[scene.reviews]))
        turn.wait("thinking")
        turn.wait("thinking harder")
        assert operator.channel(scene.reviews).waiting is not None
        turn.complete("that is it")
    assert texts(operator, scene.reviews) == ["begin", "that is it"]


def test_a_client_changes_the_members_and_the_order_of_a_channel(
    operator: Client, scene: Scene
) -> None:
    for name in (scene.pm, scene.dev):
        operator.connect(name)
        operator.add_member(scene.reviews, name, 30)
    assert operator.order(scene.reviews, [scene.dev, scene.pm]).ring == (scene.dev, scene.pm)
    changed = operator.set_timeout(scene.reviews, scene.dev, 90)
    assert changed.members[0].timeout_seconds == 90
    assert operator.configure_channel(scene.reviews, {"maxTurns": 7}).config.max_turns == 7
    with scene.client(scene.dev) as dev:
        dev.raise_hand(scene.reviews, scene.dev)
    assert operator.channel(scene.reviews).next == scene.dev
    assert operator.remove_member(scene.reviews, scene.dev).ring == (scene.pm,)
    operator.archive(scene.reviews)
    assert scene.reviews not in [each.channel for each in operator.channels().channels]
    every = operator.channels(archived=True).channels
    assert scene.reviews in [each.channel for each in every]
    assert operator.restore(scene.reviews).channel == scene.reviews


# ── asking a person ───────────────────────────────────────────────────────────────────────────────


def test_a_question_to_a_person_returns_the_answer(operator: Client, scene: Scene) -> None:
    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client:
        turn = next(client.turns(scene.pm, join=[scene.reviews]))
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(turn.ask, "Which colour?")
            until(lambda: operator.channel(scene.reviews).waiting is not None)
            operator.post(scene.reviews, "blue")
            answer = asked.result(WAIT_SECONDS)
            assert answer == "blue"
            assert [each.speaker for each in answer.messages] == ["human"]
        turn.complete("blue it is")
    assert texts(operator, scene.reviews) == ["begin", "Which colour?", "blue", "blue it is"]


def test_a_question_that_nobody_answers_costs_the_turn(operator: Client, scene: Scene) -> None:
    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client:
        turn = next(client.turns(scene.pm, join=[scene.reviews]))
        assert turn.ask("Anybody?", 0.1) == ""
        assert turn.lost == "the turn's wait timed out"


# ── text while it is written ──────────────────────────────────────────────────────────────────────


def test_a_stream_is_the_text_of_its_chunks(operator: Client, scene: Scene) -> None:
    operator.post(scene.reviews, "begin")
    with scene.client(scene.pm) as client:
        turn = next(client.turns(scene.pm, join=[scene.reviews]))
        turn.complete(turn.stream(f"{number} " for number in range(1000)))
    assert texts(operator, scene.reviews)[-1] == "".join(f"{number} " for number in range(1000))


def test_an_empty_text_or_stream_ends_the_turn_without_a_message(
    operator: Client, scene: Scene
) -> None:
    with scene.client(scene.pm) as client:
        turns = client.turns(scene.pm, join=[scene.reviews])
        for number in range(3):
            operator.post(scene.reviews, f"message {number}")
            turn = next(turns)
            assert turn.complete(("", " \n", turn.stream(()))[number]) is not None
            assert turn.lost is None
    assert texts(operator, scene.reviews) == [f"message {number}" for number in range(3)]


def test_a_stream_shows_its_beginning_and_not_every_chunk(operator: Client, scene: Scene) -> None:
    operator.post(scene.reviews, "begin")
    shown: list[bytes] = []

    def chunks(turn: Turn) -> Iterator[str]:
        yield "the beginning"
        partial = next(each for each in events if each.type == "partial")
        shown.append(partial.data)
        for _ in range(1000):
            yield "."
        assert turn.over is False

    with scene.client(scene.pm) as client:
        turns = client.turns(scene.pm, join=[scene.reviews])
        turn = next(turns)
        events = operator.events(after=-1, channel=scene.reviews)
        assert next(events).type == "channel_created"  # the stream is open
        turn.complete(turn.stream(chunks(turn)))
        partials = 0
        for event in events:
            partials += event.type == "partial"
            if event.type == "agent_message":
                break
    assert b'"the beginning"' in shown[0]
    assert partials < 100


def test_a_stream_on_an_event_loop_ends_with_its_turn(operator: Client, scene: Scene) -> None:
    closed: list[bool] = []

    async def chunks(turn: AsyncTurn) -> AsyncGenerator[str]:
        try:
            yield "the beginning"
            await asyncio.to_thread(operator.take_turn_away, scene.reviews)
            await until_async(lambda: asyncio.sleep(0, turn.lost))
            while True:
                yield " and on"
        finally:
            closed.append(True)

    async def agent() -> str:
        async with scene.async_client(scene.pm) as client:
            turns = client.turns(scene.pm, join=[scene.reviews])
            turn = await anext(turns)
            return await turn.stream(chunks(turn))

    operator.post(scene.reviews, "begin")
    assert run(agent()) == "the beginning and on"
    assert closed == [True]
