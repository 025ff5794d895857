"""The stream of events: each reader from its own cursor, no gap, no repeat, no blocking."""

import asyncio
import json
import re
import tracemalloc
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from starlette.types import Message

from muster.engine.dispatcher import Dispatcher
from muster.engine.feed import Feed
from muster.engine.partials import Partials
from muster.http import stream as http_stream
from muster.http.stream import EventStream, Streams
from muster.limits import STREAMS_MAX
from muster.machines.commands import AddMember, ConnectAgent, EnrollAgent, PostMessage, Speak
from muster.machines.ids import ChannelId
from muster.machines.vocabulary import Authority
from muster.store.base import EVERYTHING, LogFilter
from muster.store.memory import MemoryStore
from muster.testing.clock import ManualClock
from muster.views.access import Access
from tests.builders import (
    ADA,
    BEN,
    DESIGN,
    HUMAN,
    a_dispatcher,
    a_feed,
    eventually,
    run,
    settled,
    with_channel,
)
from tests.live import NO_TLS, Json, Scene, Server, a_scene, live
from tests.waits import WAIT_SECONDS

OPS = ChannelId("ops")


class Team(NamedTuple):
    """A team in memory with a feed, and the streams of it."""

    store: MemoryStore
    dispatcher: Dispatcher
    feed: Feed
    streams: Streams
    partials: Partials
    clock: ManualClock

    @property
    def seq(self) -> int:
        return self.feed.last_seq

    async def say(self, text: str, channel: ChannelId = DESIGN) -> None:
        post = PostMessage(channel=channel, text=text, speaker_name="Marcus")
        await self.dispatcher.send(post, actor=HUMAN)


async def a_team() -> Team:
    store = MemoryStore()
    clock = ManualClock()
    dispatcher = await a_dispatcher(store, clock)
    feed = a_feed(store, dispatcher)
    await with_channel(dispatcher, [])
    await with_channel(dispatcher, [], channel=OPS)
    partials = Partials(dispatcher, clock)
    return Team(store, dispatcher, feed, Streams(feed, partials), partials, clock)


class Reader:
    """The server's and the reader's end of a stream: what was written, and how it is read."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.status = 0
        self.headers: dict[str, str] = {}
        self.over = False
        self.reads = asyncio.Event()
        self.reads.set()
        self.gone = asyncio.Event()

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {key.decode(): value.decode() for key, value in message["headers"]}
            return
        if self.writes:
            await self.reads.wait()
        self.writes.append(message["body"])
        self.over = not message["more_body"]

    @property
    def text(self) -> str:
        return b"".join(self.writes).decode()

    @property
    def ids(self) -> list[int]:
        """The seqs of the events; what only sets the cursor has no data and is none."""
        return [int(seq) for seq in re.findall(r"^id: (\d+)\nevent: ", self.text, re.MULTILINE)]


@asynccontextmanager
async def reading(stream: EventStream, *, is_stopped: bool = False) -> AsyncGenerator[Reader]:
    """Serve a stream to a reader, which is gone at the end; the stream must end by that."""
    reader = Reader()
    if is_stopped:
        reader.reads.clear()
    async with asyncio.timeout(WAIT_SECONDS), asyncio.TaskGroup() as tasks:
        tasks.create_task(stream({"type": "http"}, reader.receive, reader.send))
        await settled()
        yield reader
        reader.reads.set()
        reader.gone.set()


def test_a_stream_without_a_cursor_has_only_what_is_new() -> None:
    async def scene() -> None:
        team = await a_team()
        before = team.seq
        async with reading(team.streams.open(None, EVERYTHING)) as reader:
            assert reader.status == 200
            assert reader.headers["content-type"].startswith("text/event-stream")
            assert "content-length" not in reader.headers
            assert reader.text == f"retry: 2000\nid: {before}\n\n"
            await team.say("hello")
            await eventually(lambda: reader.ids)
        assert reader.ids == [before + 1]

    run(scene())


@pytest.mark.parametrize("cursor", [-1, 0])
def test_a_stream_from_the_beginning_has_everything_once_and_in_order(cursor: int) -> None:
    async def scene() -> None:
        team = await a_team()
        async with reading(team.streams.open(cursor, EVERYTHING)) as reader:
            await team.say("one")
            await team.say("two")
            await eventually(lambda: team.seq in reader.ids)
        assert reader.ids == list(range(1, team.seq + 1))

    run(scene())


def test_an_event_is_its_seq_its_type_and_its_json_in_one_line() -> None:
    async def scene() -> None:
        team = await a_team()
        async with reading(team.streams.open(None, EVERYTHING)) as reader:
            await team.say("a\nb\r\ndata: c\u2028")
            await eventually(lambda: reader.ids)
        number, kind, data = reader.text.split("\n\n")[1].split("\n")
        fact: dict[str, Any] = json.loads(data.removeprefix("data: "))  # any JSON value
        assert (number, kind) == (f"id: {team.seq}", "event: user_message")
        assert (fact["seq"], fact["text"]) == (team.seq, "a\nb\r\ndata: c\u2028")

    run(scene())


def test_a_reader_that_connects_again_goes_on_where_it_was() -> None:
    async def scene() -> None:
        team = await a_team()
        seen: list[int] = []
        for number in range(5):
            cursor = seen[-1] if seen else 0
            async with reading(team.streams.open(cursor, EVERYTHING)) as reader:
                await team.say(f"{number}")
                await eventually(lambda: team.seq in reader.ids)
            seen += reader.ids
            await team.say("nobody listens")
        assert seen == list(range(1, team.seq))

    run(scene())


@pytest.mark.parametrize("cursor", [10_000, "elsewhere-17", ""])
def test_a_cursor_that_is_not_in_the_log_is_said_to_be_unknown(cursor: int | str) -> None:
    async def scene() -> None:
        team = await a_team()
        before = team.seq
        async with reading(team.streams.open(cursor, EVERYTHING)) as reader:
            await team.say("new")
            await eventually(lambda: reader.ids)
        told = re.findall(r"^event: cursor_unknown\ndata: (.*)\n\n", reader.text, re.MULTILINE)
        assert [json.loads(each) for each in told] == [{"cursor": cursor, "lastSeq": before}]
        assert reader.ids == [before + 1]

    run(scene())


def test_a_reader_is_sent_only_what_it_asked_for() -> None:
    async def scene() -> None:
        team = await a_team()
        where = LogFilter(channel=OPS, types=frozenset({"user_message"}))
        async with reading(team.streams.open(0, where)) as reader:
            await team.say("not this", DESIGN)
            await team.say("this", OPS)
            await eventually(lambda: reader.ids)
        assert reader.ids == [team.seq]

    run(scene())


def test_new_events_go_out_in_one_write() -> None:
    async def scene() -> None:
        team = await a_team()
        for number in range(100):
            await team.say(f"{number}")
        async with reading(team.streams.open(0, EVERYTHING)) as reader:
            await eventually(lambda: team.seq in reader.ids)
        assert len(reader.ids) == team.seq
        assert len([each for each in reader.writes if b"id: " in each]) == 2  # one is the opening

    run(scene())


def test_all_who_are_at_the_same_place_are_sent_the_same_bytes() -> None:
    async def scene() -> None:
        team = await a_team()
        async with (
            reading(team.streams.open(None, EVERYTHING)) as one,
            reading(team.streams.open(None, EVERYTHING)) as other,
        ):
            await team.say("hello")
            await eventually(lambda: one.ids and other.ids)
            assert one.writes[1] is other.writes[1]

    run(scene())


def test_the_cache_of_framed_events_is_bounded() -> None:
    async def scene() -> None:
        team = await a_team()
        async with reading(team.streams.open(None, EVERYTHING)) as reader:
            for number in range(3 * http_stream.FRAMES_KEPT):
                await team.say(f"{number}")
                await eventually(lambda: team.seq in reader.ids)
        assert len(team.streams._frames) == http_stream.FRAMES_KEPT  # pyright: ignore[reportPrivateUsage]

    run(scene())


def test_a_reader_that_does_not_read_holds_up_nobody_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_stream, "WRITE_BYTES", 1000)

    async def scene() -> None:
        team = await a_team()
        async with (
            reading(team.streams.open(0, EVERYTHING)) as slow,
            reading(team.streams.open(0, EVERYTHING)) as quick,
        ):
            slow.reads.clear()
            held = len(slow.writes)
            for number in range(200):
                await team.say(f"{number} {'x' * 100}")
            await eventually(lambda: team.seq in quick.ids)
            assert len(slow.writes) == held
            slow.reads.set()
            await eventually(lambda: team.seq in slow.ids)
        assert slow.ids == quick.ids == list(range(1, team.seq + 1))
        assert max(map(len, slow.writes)) < 2000

    run(scene())


@pytest.mark.parametrize("bytes_more", range(-200, 200, 25))
def test_events_are_sent_once_for_every_page_size(
    monkeypatch: pytest.MonkeyPatch, bytes_more: int
) -> None:
    async def scene() -> None:
        team = await a_team()
        for number in range(20):
            await team.say(f"{number}")
        page = await team.store.read(after=0, limit=100)
        size = sum(len(each.data) for each in page)
        monkeypatch.setattr(http_stream, "WRITE_BYTES", size + bytes_more)
        async with reading(team.streams.open(0, EVERYTHING)) as reader:
            await eventually(lambda: team.seq in reader.ids)
        assert reader.ids == list(range(1, team.seq + 1))

    run(scene())


def test_a_quiet_stream_says_now_and_then_that_it_is_alive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_stream, "KEEP_ALIVE_SECONDS", 0.01)

    async def scene() -> None:
        team = await a_team()
        async with reading(team.streams.open(None, EVERYTHING)) as reader:
            await eventually(lambda: reader.text.count(": keep-alive\n\n") >= 3)
        async with reading(team.streams.open(None, EVERYTHING, person="Grace")) as reader:
            await eventually(lambda: reader.text.count("event: alive\ndata: {}\n\n") >= 3)

    run(scene())


def test_a_stream_ends_when_its_reader_is_gone() -> None:
    async def scene() -> None:
        team = await a_team()
        async with reading(team.streams.open(None, EVERYTHING)) as reader:
            assert not reader.over
        assert not team.streams._open  # pyright: ignore[reportPrivateUsage]

    run(scene())


@pytest.mark.parametrize("reads", [True, False])
def test_every_stream_ends_when_the_streams_are_closed(
    monkeypatch: pytest.MonkeyPatch, reads: bool
) -> None:
    monkeypatch.setattr(http_stream, "FAREWELL_SECONDS", WAIT_SECONDS if reads else 0.01)

    async def scene() -> None:
        team = await a_team()
        reader = Reader()
        stream = team.streams.open(0, EVERYTHING)
        async with asyncio.timeout(WAIT_SECONDS), asyncio.TaskGroup() as tasks:
            tasks.create_task(stream({"type": "http"}, reader.receive, reader.send))
            await eventually(lambda: reader.ids)
            if not reads:
                reader.reads.clear()
                await team.say("nobody reads this")
                await settled()
            team.streams.close()
        assert reader.over is reads

    run(scene())


def test_a_stream_has_everything_and_ends_when_the_feed_closes() -> None:
    async def scene() -> None:
        team = await a_team()
        async with reading(team.streams.open(0, EVERYTHING)) as reader:
            await team.say("the last")
            team.feed.close()
            await eventually(lambda: reader.over)
        assert reader.ids == list(range(1, team.seq + 1))

    run(scene())


# ── on a real server ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("events") / "home") as up:
        yield up


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    with a_scene(server) as scene:
        yield scene


def test_the_log_is_read_page_by_page_without_a_gap(scene: Scene) -> None:
    scene.connected("pm")
    scene.opened("pm")
    for number in range(5):
        scene.says(f"{number}")
    seqs: list[int] = []
    after, more = -1, True
    while more:
        page = scene.get(f"/api/log?after={after}&limit=3")
        assert len(page["events"]) <= 3
        seqs += [each["seq"] for each in page["events"]]
        after, more = page["after"], page["more"]
    assert seqs == list(range(1, after + 1))
    newest = scene.get("/api/log?limit=2")
    assert [each["seq"] for each in newest["events"]] == [after - 1, after]
    assert newest["after"] == after


def test_the_log_is_read_backwards_page_by_page_without_a_gap(scene: Scene) -> None:
    scene.opened()
    for number in range(10):
        scene.says(f"message {number}")
    whole = [each["seq"] for each in scene.facts("user_message")]
    where = f"/api/log?channel={scene.named('reviews')}&types=user_message&limit=4"
    found: list[int] = []
    while page := scene.get(f"{where}&before={found[0] if found else whole[-1] + 1}")["events"]:
        found = [each["seq"] for each in page] + found
    assert found == whole
    between = scene.get(f"{where}&after={whole[2]}&before={whole[5]}")
    assert [each["seq"] for each in between["events"]] == whole[3:5]
    assert not between["more"]


@pytest.mark.parametrize("query", ["", "&types=user_message", "&format=turn-transitions"])
def test_a_page_of_the_log_has_as_many_as_were_asked_for(scene: Scene, query: str) -> None:
    """A page is short only at the end, and `more` says whether another one has anything."""
    scene.connected("pm", "dev")
    scene.opened("pm", "dev")
    for epoch, name in enumerate(("pm", "dev", "pm"), start=1):
        scene.says("a word of the human")
        scene.turn("complete", by=name, epoch=epoch)
    where = f"/api/log?channel={scene.named('reviews')}{query}"
    whole = scene.get(f"{where}&after=-1&limit=1000")
    assert not whole["more"]
    total = len(whole["events"])
    assert total >= 3
    for limit in (1, 2, 3, total - 1, total, total + 1):
        found: list[Json] = []
        after, more = -1, True
        while more:
            page = scene.get(f"{where}&after={after}&limit={limit}")
            assert len(page["events"]) == min(limit, total - len(found))
            found += page["events"]
            after, more = page["after"], page["more"]
            assert more is (len(found) < total)
        assert found == whole["events"]
        assert scene.get(f"{where}&limit={limit}")["events"] == whole["events"][-limit:]


def test_a_format_of_turns_with_other_types_is_refused(scene: Scene) -> None:
    answer = scene.call("GET", "/api/log?format=turn-transitions&types=user_message")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")


def test_the_log_of_turn_transitions_has_seven_fields_and_nothing_else(scene: Scene) -> None:
    scene.connected("pm", "dev")
    scene.opened("pm", "dev")
    scene.turn("complete", by="pm", epoch=1)
    where = f"channel={scene.named('reviews')}&format=turn-transitions&after=-1"
    entries = scene.get(f"/api/log?{where}")["events"]
    fields = ["timestamp", "event", "agentId", "from", "to", "trigger", "channel"]
    assert [list(each) for each in entries] == [fields] * len(entries)
    last = entries[-2]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", last.pop("timestamp"))
    assert last == {
        "event": "state_transition",
        "agentId": scene.named("pm"),
        "from": "ACTIVE",
        "to": "QUEUED",
        "trigger": "TURN_COMPLETE",
        "channel": scene.named("reviews"),
    }
    came = scene.get(f"/api/log?agent={scene.named('pm')}&format=turn-transitions&after=-1")[
        "events"
    ][0]
    assert list(came) == fields[:-1]  # who comes online does so in no channel


def test_an_unknown_format_of_the_log_is_refused_with_the_formats_there_are(scene: Scene) -> None:
    answer = scene.call("GET", "/api/log?format=xml")
    assert answer.status_code == 422
    assert answer.json()["detail"] == (
        "Invalid request query: Invalid enum value 'xml' - at `$.format`; "
        "it is one of 'muster', 'turn-transitions'."
    )


def test_a_browser_that_connects_again_goes_on_by_its_last_event_id(
    scene: Scene, server: Server
) -> None:
    scene.opened()
    seq = scene.says("one")["seq"]
    scene.says("two")
    where = f"types=user_message&channel={scene.named('reviews')}&after=0"
    headers = {"authorization": f"Bearer {server.token}", "last-event-id": f"{seq}"}
    with httpx.stream("GET", f"{server.url}/api/events?{where}", headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        data = next(line for line in stream.iter_lines() if line.startswith("data: "))
    assert json.loads(data.removeprefix("data: "))["text"] == "two"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("after=-2", 422),
        ("after=soon", 422),
        ("after=99999999999999999999", 422),
        ("types=user_message,nonsense", 422),
        ("agent=nobody", 404),
        ("channel=nowhere", 404),
        ("limit=0", 422),
        ("limit=1001", 422),
        ("format=xml", 422),
    ],
)
def test_an_invalid_cursor_or_filter_is_refused(
    scene: Scene, server: Server, query: str, status: int
) -> None:
    paths = ["/api/log"] if query.startswith(("limit", "format")) else ["/api/log", "/api/events"]
    for path in paths:
        answer = scene.call("GET", f"{path}?{query}")
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_stream_needs_a_token(server: Server) -> None:
    for path in ("/api/events", "/api/log"):
        assert httpx.get(f"{server.url}{path}", verify=NO_TLS).status_code == 401


def test_a_stream_ends_when_its_token_is_revoked(server: Server) -> None:
    bearer = {"Authorization": f"Bearer {server.token}"}
    with httpx.Client(base_url=server.url, timeout=WAIT_SECONDS, verify=NO_TLS) as client:
        issued = client.post("/api/tokens", json={"role": "viewer"}, headers=bearer).json()
        viewer = {"Authorization": f"Bearer {issued['secret']}"}
        with client.stream("GET", "/api/events", headers=viewer) as stream:
            chunks = stream.iter_text()
            next(chunks)
            client.delete(f"/api/tokens/{issued['id']}", headers=bearer)
            client.post("/api/channels", json={"channel": "after-revocation"}, headers=bearer)
            assert "after-revocation" not in "".join(chunks)


def test_a_stream_ends_when_its_browser_signs_out(server: Server) -> None:
    bearer = {"Authorization": f"Bearer {server.token}"}
    with httpx.Client(base_url=server.url, timeout=WAIT_SECONDS, verify=NO_TLS) as browser:
        browser.post("/api/session", json={"token": server.token})
        with browser.stream("GET", "/api/events") as stream:
            chunks = stream.iter_text()
            next(chunks)
            assert browser.delete("/api/session", headers={"Origin": server.url}).is_success
            browser.post("/api/channels", json={"channel": "after-sign-out"}, headers=bearer)
            assert "after-sign-out" not in "".join(chunks)


def test_a_server_that_ends_ends_its_streams_in_order(tmp_path: Path) -> None:
    with live(tmp_path) as server:
        headers = {"authorization": f"Bearer {server.token}"}
        with httpx.stream("GET", f"{server.url}/api/events", headers=headers) as stream:
            lines = stream.iter_lines()
            assert next(lines) == "retry: 2000"
            server.process.terminate()
            last = [line for line in lines if line.startswith("event: ")]
            assert last == ["event: muster_stopping"]  # to its end, without an error
        _, complaint = server.process.communicate(timeout=WAIT_SECONDS)
        assert (server.process.returncode, complaint) == (0, "")


# ── partial text ──────────────────────────────────────────────────────────────────────────────────


def partials_of(reader: Reader) -> list[Any]:
    """The partial texts that a reader got."""
    return [json.loads(data) for data in re.findall(r"event: partial\ndata: (.*)", reader.text)]


async def a_writing_team() -> Team:
    """A team in which Ada has the turn in both channels."""
    team = await a_team()
    enrol = EnrollAgent(name="Ada", authority=Authority.SELF, max_turns=2)
    await team.dispatcher.send(enrol, actor=HUMAN)
    await team.dispatcher.send(ConnectAgent(seat=ADA), actor=HUMAN)
    for channel in (DESIGN, OPS):
        await team.dispatcher.send(AddMember(channel=channel, seat=ADA), actor=HUMAN)
    return team


def test_partial_text_goes_out_without_an_id_and_in_its_order_with_events() -> None:
    async def scene() -> None:
        team = await a_writing_team()
        async with reading(team.streams.open(None, EVERYTHING)) as reader:
            team.partials.put(DESIGN, ADA, "I\nthink \ud800")
            await settled()
            assert partials_of(reader) == [
                {"channel": "design", "agent": "Ada", "epoch": 1, "text": "I\nthink ?"}
            ]
            assert "id:" not in reader.text.partition("event: partial")[2]
            say = Speak(channel=DESIGN, seat=ADA, text="I think so.", complete=True)
            await team.dispatcher.send(say, actor=HUMAN)
            await settled()
            assert [each["text"] for each in partials_of(reader)] == ["I\nthink ?", ""]
            assert "agent_message" in reader.text

    run(scene())


def test_a_stream_has_partial_text_only_as_far_as_it_asks_for_it_and_may_read_it() -> None:
    async def scene() -> None:
        team = await a_writing_team()
        streams = {
            "all": team.streams.open(None, EVERYTHING),
            "design": team.streams.open(None, LogFilter(channel=DESIGN)),
            "ben": team.streams.open(None, LogFilter(seat=BEN)),
            "messages": team.streams.open(None, LogFilter(types=frozenset({"user_message"}))),
            "partial": team.streams.open(None, LogFilter(types=frozenset({"partial"}))),
            "may": team.streams.open(
                None, EVERYTHING, access=lambda: Access(hidden=frozenset({DESIGN}))
            ),
        }
        async with AsyncExitStack() as stack:
            readers = {
                name: await stack.enter_async_context(reading(stream))
                for name, stream in streams.items()
            }
            team.partials.put(DESIGN, ADA, "in design")
            team.partials.put(OPS, ADA, "in ops")
            await settled()
            read = {
                name: [each["text"] for each in partials_of(reader)]
                for name, reader in readers.items()
            }
        assert read == {
            "all": ["in design", "in ops"],
            "design": ["in design"],
            "ben": [],
            "messages": [],
            "partial": ["in design", "in ops"],
            "may": ["in ops"],
        }

    run(scene())


def test_a_reader_that_does_not_read_is_told_only_the_newest_partial_text() -> None:
    async def scene() -> None:
        team = await a_writing_team()
        async with reading(team.streams.open(None, EVERYTHING)) as reader:
            reader.reads.clear()
            for text in ("I", "I th", "I think"):
                team.partials.put(DESIGN, ADA, text)
                team.clock.advance(1)
                await settled()
            reader.reads.set()
            await settled()
            assert [each["text"] for each in partials_of(reader)] == ["I", "I think"]

    run(scene())


def test_a_revoked_reader_gets_no_partial_text() -> None:
    async def scene() -> None:
        team = await a_writing_team()
        stream = team.streams.open(None, EVERYTHING, is_allowed=lambda: False)
        async with reading(stream) as reader:
            team.partials.put(DESIGN, ADA, "secret")
            await settled()
            assert partials_of(reader) == []

    run(scene())


def test_a_large_event_goes_out_in_bounded_writes_with_nothing_in_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_stream, "KEEP_ALIVE_SECONDS", 0.001)

    async def scene() -> None:
        team = await a_team()
        begin = team.seq
        for _ in range(3):
            await team.say("x" * 500_000)
        async with reading(team.streams.open(begin, EVERYTHING)) as reader:
            reader.reads.clear()
            await eventually(lambda: len(reader.writes) >= 1)
            reader.reads.set()
            await eventually(lambda: team.seq in reader.ids)
            await eventually(lambda: ": keep-alive" in reader.text)
        assert reader.ids == [begin + 1, begin + 2, begin + 3]
        assert max(map(len, reader.writes)) <= http_stream.PIECE_BYTES
        events = [part for part in reader.text.split("\n\n") if "event: user_message" in part]
        assert all("keep-alive" not in part for part in events)

    run(scene())


def test_readers_that_stop_share_a_page_of_large_events() -> None:
    async def scene() -> None:
        team = await a_team()
        begin = team.seq
        for _ in range(20):
            await team.say("x" * 1_000_000)
        tracemalloc.start()
        async with AsyncExitStack() as stack:
            for _ in range(50):
                stream = team.streams.open(begin, EVERYTHING)
                await stack.enter_async_context(reading(stream, is_stopped=True))
            held, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert held < 20_000_000

    run(scene())


def test_a_token_has_a_limited_number_of_streams(server: Server) -> None:
    bearer = {"Authorization": f"Bearer {server.token}"}
    with httpx.Client(base_url=server.url, timeout=WAIT_SECONDS, verify=NO_TLS) as client:
        issued = client.post("/api/tokens", json={"role": "viewer"}, headers=bearer).json()
        viewer = {"Authorization": f"Bearer {issued['secret']}"}
        with ExitStack() as streams, unlimited(server) as many:
            for _ in range(STREAMS_MAX):
                opened = streams.enter_context(many.stream("GET", "/api/events", headers=viewer))
                assert opened.status_code == 200
            refused = client.get("/api/events", headers=viewer)
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_streams")
            with many.stream("GET", "/api/events", headers=bearer) as other:
                assert other.status_code == 200
        for _ in range(1000):  # until the server has seen that the readers disconnected
            with client.stream("GET", "/api/events", headers=viewer) as again:
                if again.status_code == 200:
                    return
        pytest.fail("closed streams still count")


def unlimited(server: Server) -> httpx.Client:
    """A client with any number of connections."""
    return httpx.Client(
        base_url=server.url,
        timeout=WAIT_SECONDS,
        verify=NO_TLS,
        limits=httpx.Limits(max_connections=None),
    )
