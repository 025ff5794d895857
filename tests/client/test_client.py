"""The Python client against a real server: asking, taking turns, following, and when it is gone."""

import asyncio
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from itertools import count, islice
from pathlib import Path
from threading import Thread

import pytest

import muster
from muster import AsyncClient, Client
from muster.client import requests
from muster.client.requests import api_path
from muster.client.sending import RetryBudget, run_blocking
from muster.client.transport import (
    EVENT_BYTES_MAX,
    ApiResponse,
    FrameReader,
    ServerAddress,
    error_of,
    locate,
)
from muster.errors import (
    ChannelExists,
    Invalid,
    NotFound,
    NotRunning,
    NotYourTurn,
    Refused,
    StaleGeneration,
    Unauthenticated,
    Unavailable,
)
from muster.home import address
from muster.home.lock import lock_home
from muster.machines.state import TurnState
from muster.machines.vocabulary import RunMode
from muster.views.answers.channels import ChannelList
from muster.views.answers.messages import Do, MessageKind, MessagePage, PostedMessage
from tests import live
from tests.builders import run
from tests.homes import environment
from tests.live import live as a_server
from tests.waits import WAIT_SECONDS

_numbers = count(1)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """The home of a running team, whose heartbeat timeout is longer than every test."""
    path = tmp_path_factory.mktemp("client") / "home"
    with a_server(path):
        yield path


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """The home of a team in which a client sends a heartbeat every second or two."""
    path = tmp_path_factory.mktemp("lively") / "home"
    with a_server(path, 5):
        yield path


@pytest.fixture
def server(home: Path) -> ServerAddress:
    return locate(None, None, home, {})


def names() -> tuple[str, str, str]:
    """An agent, another one, and a channel that nobody else has."""
    number = next(_numbers)
    return f"pm-{number}", f"dev-{number}", f"reviews-{number}"


def without_notices(page: MessagePage) -> list[PostedMessage]:
    return [each for each in page.messages if each.kind is not MessageKind.NOTICE]


# ── asking ────────────────────────────────────────────────────────────────────────────────────────


def test_a_client_does_what_the_server_can_do(home: Path) -> None:
    pm, dev, reviews = names()
    with Client(home=home) as client:
        assert client.register(pm).agent.name == pm
        client.register(dev)
        client.connect(pm)
        client.connect(dev)
        assert client.create_channel(reviews, {"defaultTimeoutSeconds": 30}).ring == ()
        client.add_member(reviews, pm)
        state = client.add_member(reviews, dev)
        assert (state.ring, state.holder, state.epoch) == ((pm, dev), pm, 1)
        said = client.send("hello", channel=reviews)
        client.ask(requests.complete(reviews, "done", agent=pm, epoch=1))
        page = client.messages(reviews)
        assert (page.messages[0].seq, page.messages[0].text) == (said.seq, "hello")
        assert client.channel(reviews).holder == dev
        assert client.agent(dev).turn is TurnState.ACTIVE
        assert client.heartbeat(dev).turns == {reviews: 2}
        client.disconnect(dev)
        assert client.agent(dev).turn is TurnState.OFFLINE


def test_an_async_client_does_the_same(home: Path) -> None:
    pm, _, reviews = names()

    async def scene() -> None:
        async with AsyncClient(home=home) as client:
            await client.register(pm)
            await client.connect(pm)
            await client.create_channel(reviews)
            await client.add_member(reviews, pm)
            await client.post(reviews, "hello")
            await client.send("psst", to=pm)
            assert (await client.channel(reviews)).holder == pm
            assert (await client.heartbeat(pm, working=True)).turns == {reviews: 1}
            told = await client.next(pm, wait_s=0)
            assert (told.do, [each.text for each in told.messages]) == (Do.TURN, ["hello"])
            told = await client.next(pm, wait_s=0, known={reviews: 1})
            assert (told.do, [each.text for each in told.messages]) == (Do.MESSAGE, ["psst"])
            assert (await client.messages(reviews)).messages[0].text == "hello"
            await client.disconnect(pm)
            assert (await client.agent(pm)).turn is TurnState.OFFLINE

    run(scene())


def test_a_client_says_what_is_wanted_of_an_agent(home: Path) -> None:
    pm, _, _ = names()
    with Client(home=home) as client:
        client.register(pm)
        client.connect(pm)
        seen = client.ask(requests.run_state(pm))
        assert (seen.desired, seen.current) == (RunMode.CONTINUOUS, RunMode.CONTINUOUS)
        run = client.run(pm, "pause", now=True, note="lunch", if_generation=seen.generation)
        assert (run.desired, run.note, run.badge.status) == (RunMode.PAUSE, "lunch", "CONNECTED")
        with pytest.raises(StaleGeneration):
            client.run(pm, "continuous", if_generation=seen.generation)
        assert client.heartbeat(pm, current="run_once").agent.current is RunMode.RUN_ONCE
        assert client.output(pm, after=-1, limit=5).output == ()


def test_an_async_client_says_so_too(home: Path) -> None:
    pm, _, _ = names()

    async def scene() -> None:
        async with AsyncClient(home=home) as client:
            await client.register(pm)
            run = await client.run(pm, RunMode.RUN_ONCE, note="try it")
            assert (run.desired, run.note, run.current) == (
                RunMode.RUN_ONCE,
                "try it",
                RunMode.PAUSE,
            )
            await client.connect(pm)
            told = await client.heartbeat(pm, current="run_once")
            assert told.agent.current is RunMode.RUN_ONCE
            assert (await client.output(pm)).output == ()

    run(scene())


def test_what_the_server_refuses_is_raised_as_the_error_that_it_is(home: Path) -> None:
    _, _, reviews = names()
    with Client(home=home) as client:
        client.create_channel(reviews)
        with pytest.raises(ChannelExists, match=f"Channel '{reviews}' exists already"):
            client.create_channel(reviews)
        with pytest.raises(NotFound) as missing:
            client.agent("no/such agent?")
        assert missing.value.found == {"kind": "agent", "name": "no/such agent?"}
        with pytest.raises(Invalid):
            client.ask(requests.configure_channel(reviews, {"defaultTimeoutSeconds": -1}))


def test_a_wrong_token_is_refused(server: ServerAddress) -> None:
    with Client(server.url, "wrong") as client, pytest.raises(Unauthenticated):
        client.agent("pm")
    with Client(server.url) as client, pytest.raises(Unauthenticated):
        client.agent("pm")


def test_threads_may_share_a_client(home: Path) -> None:
    with Client(home=home) as client:
        heard: list[object] = []
        threads = [
            Thread(target=lambda: heard.append(client.ask(requests.channels()))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_SECONDS)
        assert len(heard) == 8


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────


def test_agents_take_turns_and_each_hears_everything_once(
    home: Path, server: ServerAddress
) -> None:
    pm, dev, reviews = names()
    heard: dict[str, list[str]] = {pm: [], dev: []}

    async def agent(name: str, token: str, turns: int) -> None:
        async with AsyncClient(server.url, token) as client:
            async for turn in client.turns(name, join=[reviews]):
                heard[name] += [each.text for each in turn.messages]
                await turn.complete(f"{name} in turn {turn.epoch}")
                turns -= 1
                if not turns:
                    return

    async def scene() -> None:
        async with AsyncClient(home=home) as client:
            tokens = [(await client.register(name)).token.secret for name in (pm, dev)]
            await client.create_channel(reviews)
            await client.post(reviews, "begin")
        async with asyncio.TaskGroup() as group:
            group.create_task(agent(pm, tokens[0], 3))
            group.create_task(agent(dev, tokens[1], 3))

    run(scene())
    with Client(home=home) as client:
        said = without_notices(client.messages(reviews))
    assert len(said) == 7
    assert [each.epoch for each in said[1:]] == sorted(each.epoch or 0 for each in said[1:])
    for name in (pm, dev):
        others = [each.text for each in said if each.speaker != name]
        assert heard[name] == others[: len(heard[name])]


def test_a_waiting_program_takes_turns_too(home: Path, server: ServerAddress) -> None:
    pm, _, reviews = names()
    with Client(home=home) as operator:
        token = operator.register(pm).token.secret
        operator.create_channel(reviews)
        operator.send("psst", to=pm)
        operator.post(reviews, "begin")
        with Client(server.url, token) as client:
            for turn in client.turns(pm, join=[reviews]):
                turn.post("I think")
                turn.wait("a coffee", 60)
                assert operator.channel(reviews).waiting is not None
                turn.resume()
                if turn.epoch == 1:
                    turn.pass_on("nothing more to say")
                    operator.post(reviews, "go on")
                    continue
                turn.complete("that is all")
                break
        assert operator.agent(pm).turn is TurnState.OFFLINE  # who closes its client has left
        told = [each.text for each in without_notices(operator.messages(reviews))]
    assert told == ["begin", "I think", "go on", "I think", "that is all"]


def test_a_turn_that_is_left_open_ends_when_the_next_is_asked_for(home: Path) -> None:
    pm, dev, reviews = names()

    async def scene() -> None:
        async with AsyncClient(home=home) as client:
            for name in (pm, dev):
                await client.register(name)
                await client.connect(name)
            await client.create_channel(reviews)
            await client.add_member(reviews, pm)
            await client.add_member(reviews, dev)
            turns = client.turns(pm, unasked=True)
            first = await anext(turns)
            again = asyncio.ensure_future(anext(turns))
            async for event in client.events(after=-1, agent=dev, types=["state_transition"]):
                if b'"to":"ACTIVE"' in event.data:
                    break
            assert await first.post("too late") is None
            assert first.over
            again.cancel()

    run(scene())


def test_work_on_a_turn_renews_it_by_itself(lively: Path) -> None:
    pm, _, reviews = names()

    async def scene() -> None:
        async with AsyncClient(home=lively) as client:
            await client.register(pm)
            await client.create_channel(reviews, {"defaultTimeoutSeconds": 30})
            async for turn in client.turns(pm, join=[reviews], unasked=True):
                async for event in client.events(after=-1, channel=reviews, types=["turn_renewed"]):
                    assert event.type == "turn_renewed"
                    break
                await turn.complete()
                break

    run(scene())


def test_a_waiting_program_s_work_renews_its_turn_too(lively: Path) -> None:
    pm, _, reviews = names()
    with Client(home=lively) as client:
        client.register(pm)
        client.create_channel(reviews, {"defaultTimeoutSeconds": 30})
        for turn in client.turns(pm, join=[reviews], unasked=True):
            next(client.events(after=-1, channel=reviews, types=["turn_renewed"]))
            turn.complete()
            break


def test_an_agent_that_is_paused_finishes_its_turn_and_stops(home: Path) -> None:
    pm, _, reviews = names()

    async def scene() -> None:
        async with AsyncClient(home=home) as client:
            await client.register(pm)
            await client.create_channel(reviews)
            async for turn in client.turns(pm, join=[reviews], unasked=True):
                await client.run(pm, "pause", note="enough")
                await turn.complete("my last words")

    run(scene())
    with Client(home=home) as client:
        run_now = client.ask(requests.run_state(pm))
        assert (run_now.desired, run_now.current) == (RunMode.PAUSE, RunMode.PAUSE)
        assert without_notices(client.messages(reviews))[-1].text == "my last words"


def test_only_a_client_that_was_entered_gives_signs_of_life(home: Path) -> None:
    pm, _, reviews = names()

    async def scene() -> None:
        client = AsyncClient(home=home)
        await client.register(pm)
        await client.create_channel(reviews)
        with pytest.raises(RuntimeError, match="async with"):
            await anext(client.turns(pm, join=[reviews], unasked=True))
        await client.close()

    run(scene())


def test_another_s_turn_is_not_an_agent_s_to_end(home: Path, server: ServerAddress) -> None:
    pm, dev, reviews = names()
    with Client(home=home) as operator:
        tokens = [operator.register(name).token.secret for name in (pm, dev)]
        operator.create_channel(reviews)
        with Client(server.url, tokens[0]) as first, Client(server.url, tokens[1]) as second:
            for client, name in ((first, pm), (second, dev)):
                client.connect(name)
                client.add_member(reviews, name)
            with pytest.raises(NotYourTurn):
                second.ask(requests.complete(reviews))


# ── the guide ─────────────────────────────────────────────────────────────────────────────────────

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "an-agent-in-ten-lines.md"


def examples() -> list[str]:
    """The programs in the guide, as they stand there."""
    return re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


@contextmanager
def running(program: str, token: str, home: Path) -> Generator[None]:
    """Run a program as somebody would who has copied it; it is not left behind."""
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program],
        env=environment({"MUSTER_TOKEN": token, "MUSTER_HOME": str(home)}),
    ) as process:
        try:
            yield
        finally:
            process.kill()


def test_the_programs_of_the_guide_are_agents_that_talk(tmp_path: Path) -> None:
    ten_lines, waiting = examples()
    with a_server(tmp_path), Client(home=tmp_path) as client:
        tokens = [client.register(name).token.secret for name in ("pm", "dev")]
        client.create_channel("reviews")
        asked = client.send("Is the plan ready?", channel="reviews").seq
        said = client.events(after=asked, types=["agent_message"])
        with running(ten_lines, tokens[0], tmp_path):
            assert b"I have read [human: Is the plan ready?]." in next(said).data
            with running(waiting, tokens[1], tmp_path):
                client.send("What do you think?", channel="reviews")
                assert any(b"I agree." in event.data for event in islice(said, 5))


def test_the_agent_of_the_guide_has_about_ten_lines() -> None:
    code = [line for line in examples()[0].splitlines() if line.strip()]
    assert len(code) <= 10


# ── following ─────────────────────────────────────────────────────────────────────────────────────


def test_a_follower_has_every_event_once_and_in_order(home: Path) -> None:
    with Client(home=home) as client:
        last = client.ask(requests.log(limit=1)).after
        seqs: list[int] = []
        for event in client.events(after=-1):
            seqs.append(event.seq)
            if event.seq >= last:
                break
    assert seqs == list(range(1, seqs[-1] + 1))


def test_a_follower_that_may_not_look_is_told_so(server: ServerAddress) -> None:
    async def scene() -> None:
        async with AsyncClient(server.url, "wrong") as client:
            with pytest.raises(Unauthenticated):
                await anext(client.events())

    run(scene())
    with Client(server.url, "wrong") as client, pytest.raises(Unauthenticated):
        next(client.events())


def test_events_are_read_at_whatever_places_they_were_cut() -> None:
    stream = (
        b"retry: 2000\nid: 4\n\n: keep-alive\n\nid: 5\nevent: a\ndata: {}\n\n"
        b'id: 6\nevent: b\ndata: {"x": "\xc3\xa4: \\n"}\n\ndata: plain\n\n'
    )
    whole = [(each.seq, each.type, each.data) for each in FrameReader(None).push(stream)]
    assert whole == [
        (5, "a", b"{}"),
        (6, "b", '{"x": "ä: \\n"}'.encode()),
        (6, "message", b"plain"),
    ]
    for size in range(1, len(stream)):
        reader = FrameReader(None)
        parts = [stream[start : start + size] for start in range(0, len(stream), size)]
        cut = [each for part in parts for each in reader.push(part)]
        assert [(each.seq, each.type, each.data) for each in cut] == whole
        assert reader.cursor == 6


def test_an_event_without_an_end_is_refused() -> None:
    reader = FrameReader(None)
    with pytest.raises(Invalid):
        list(reader.push(b"data: " + b"x" * EVENT_BYTES_MAX))


# ── a server that is not there ────────────────────────────────────────────────────────────────────


def test_a_server_that_was_killed_is_waited_for_and_the_turn_goes_on(tmp_path: Path) -> None:
    async def scene(first: live.Server, servers: ExitStack) -> None:
        async with AsyncClient(home=tmp_path) as client:
            await client.register("pm")
            await client.create_channel("reviews")
            turns = client.turns("pm", join=["reviews"], unasked=True)
            turn = await anext(turns)
            first.process.kill()
            said = asyncio.ensure_future(turn.complete("said once"))
            await asyncio.to_thread(lambda: servers.enter_context(a_server(tmp_path)))
            await said
            await client.post("reviews", "go on")
            assert (await anext(turns)).epoch > turn.epoch
            page = await client.messages("reviews")
            assert [each.text for each in page.messages] == ["said once", "go on"]

    with a_server(tmp_path) as first, ExitStack() as servers:
        run(scene(first, servers))


def test_a_follower_goes_on_where_it_was_when_the_server_is_back(tmp_path: Path) -> None:
    with ExitStack() as servers, Client(home=tmp_path) as client:
        first = servers.enter_context(a_server(tmp_path))
        client.create_channel("reviews")
        events = client.events(after=-1)
        seqs = [next(events).seq]
        first.process.kill()
        servers.enter_context(a_server(tmp_path))
        client.post("reviews", "hello")
        for event in events:
            seqs.append(event.seq)
            if event.type == "user_message":
                break
    assert seqs == list(range(1, seqs[-1] + 1))


def test_where_no_server_runs_it_is_said_at_once(tmp_path: Path) -> None:
    with Client(home=tmp_path) as client, pytest.raises(NotRunning, match=str(tmp_path)):
        client.agent("pm")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url = f"http://127.0.0.1:{port}"

    async def scene() -> None:
        async with AsyncClient(url) as client:
            with pytest.raises(NotRunning, match=url):
                await client.agent("pm")
            with pytest.raises(NotRunning, match=url):
                await anext(client.events())

    run(scene())
    with Client(url) as client, pytest.raises(NotRunning, match=url):
        next(client.events())


def test_an_address_that_a_crash_left_behind_is_not_believed(tmp_path: Path) -> None:
    address.publish(tmp_path, address.Address(url="http://127.0.0.1:9", pid=os.getpid()))
    with pytest.raises(NotRunning):
        locate(None, "token", tmp_path, {})
    lock = lock_home(tmp_path)
    try:
        assert locate(None, "token", tmp_path, {}) == ("http://127.0.0.1:9", "token")
    finally:
        lock.release()


def test_a_program_that_does_not_see_its_home_finds_the_server_by_its_environment(
    tmp_path: Path,
) -> None:
    given = {"MUSTER_URL": "http://127.0.0.1:9", "MUSTER_HOME": str(tmp_path), "MUSTER_TOKEN": "me"}
    assert locate(None, None, tmp_path, given) == ("http://127.0.0.1:9", "me")
    with pytest.raises(NotRunning):  # another team's
        locate(None, None, tmp_path / "other", given)
    lock_home(tmp_path).release()
    with pytest.raises(NotRunning):  # it sees that the server has ended
        locate(None, None, tmp_path, given)


def test_the_operator_s_token_is_shown_to_the_server_of_its_home_only(home: Path) -> None:
    secret = (home / "operator.token").read_text().strip()
    assert locate(None, None, home, {}).token == secret
    assert locate(None, None, None, {"MUSTER_HOME": str(home)}).token == secret
    assert locate(None, None, home, {"MUSTER_TOKEN": "mine"}).token == "mine"
    assert locate("http://elsewhere", None, home, {}).token == ""
    assert locate("http://elsewhere/", "given", home, {"MUSTER_TOKEN": "mine"}).token == "given"


def test_patience_ends() -> None:
    patience = RetryBudget(1.0)
    error = NotRunning(home="nowhere")
    pauses = [patience.pause_s(error) for _ in range(3)]
    assert pauses == [0.1, 0.2, 0.4]
    with pytest.raises(NotRunning):
        patience.pause_s(error)


# ── parts ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_name_stays_one_segment_of_api_path() -> None:
    assert api_path("agents", "a/b ?#ä", "next") == "/api/agents/a%2Fb%20%3F%23%C3%A4/next"


def test_where_to_connect_follows_from_the_url() -> None:
    assert (ServerAddress("http://[::1]:80").host, ServerAddress("http://[::1]:6878").port) == (
        "::1",
        6878,
    )
    assert (ServerAddress("https://team.example").port, ServerAddress("https://x").secure) == (
        443,
        True,
    )
    assert (ServerAddress("http://team.example").port, ServerAddress("http://x").secure) == (
        80,
        False,
    )


INTERIM = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    b'5\r\n{"cha\r\nb\r\nnnels": []}\r\n0\r\nx-trailer: 1\r\n\r\n'
)
NOT_HTTP = b"220 mail.example ESMTP\r\n"


@contextmanager
def answering(*answers: bytes) -> Generator[str]:
    """A server that gives these answers, in one connection, and then closes it."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            for answer in answers:
                connection.recv(65536)
                connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(live.WAIT_SECONDS)


def ask_async(url: str, times: int) -> list[ChannelList]:
    async def scene() -> None:
        async with AsyncClient(url) as client:
            found.extend([await client.ask(requests.channels()) for _ in range(times)])

    found: list[ChannelList] = []
    run(scene())
    return found


def ask_blocking(url: str, times: int) -> list[ChannelList]:
    with Client(url) as client:
        return [client.ask(requests.channels()) for _ in range(times)]


@pytest.mark.parametrize("ask", [ask_async, ask_blocking])
def test_a_connection_is_used_again_after_interim_responses_and_trailers(
    ask: Callable[[str, int], list[ChannelList]],
) -> None:
    with answering(INTERIM + CHUNKED, CHUNKED) as url:
        assert ask(url, 2) == [ChannelList(channels=()), ChannelList(channels=())]


@pytest.mark.parametrize("ask", [ask_async, ask_blocking])
@pytest.mark.parametrize("answer", [NOT_HTTP, INTERIM, CHUNKED[:-10], b""])
def test_a_server_that_breaks_off_or_speaks_no_http_counts_as_not_running(
    answer: bytes, ask: Callable[[str, int], list[ChannelList]]
) -> None:
    with answering(answer) as url, pytest.raises(NotRunning, match=url):
        ask(url, 1)


def test_a_blocking_client_reports_a_transport_that_would_suspend() -> None:
    async def suspends() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="has suspended"):
        run_blocking(suspends())


@pytest.mark.parametrize(
    ("status", "kind"), [(404, Refused), (502, Unavailable), (503, Unavailable)]
)
def test_an_answer_that_is_no_problem_document_is_an_error_too(
    status: int, kind: type[Exception]
) -> None:
    error = error_of(ApiResponse(status, b"<html>"))
    assert isinstance(error, kind)
    assert "Is this a muster server?" in str(error)


def test_an_error_of_a_newer_muster_is_like_those_of_its_status() -> None:
    error = error_of(ApiResponse(409, b'{"code": "from_the_future", "detail": "Not yet."}'))
    assert (type(error), str(error)) == (Refused, "Not yet.")


def test_the_clients_are_names_of_the_package() -> None:
    assert (muster.Client, muster.AsyncClient) == (Client, AsyncClient)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = muster.nothing_like_it
