"""Private channels: they exist for their members and for operators, and for nobody else."""

import json
import re
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from itertools import count
from queue import Queue
from typing import NamedTuple
from urllib.parse import quote

import httpx
import pytest

from muster.http.app import routes
from muster.http.routing import Route
from muster.machines import commands as c
from muster.machines.ids import ChannelId, agent_actor
from muster.machines.vocabulary import Activity, Taken
from tests.asking import Asker, Json, asker
from tests.inside import Inside, inside
from tests.waits import LIFE_SECONDS, WAIT_SECONDS

NAME = "xq-secret-room"
WORDS = "xqplan"
HERE = "the-hall"
FILE = f"{WORDS} in a file".encode()
DIGEST = sha256(FILE).hexdigest()

FAILING = f"""[agents.Bob]
long_lived = true
restart_seconds = 0.1
budget = {{ failures = 2 }}
command = ["sh", "-c", "while read l; do case $l in *fail*) echo {WORDS} >&2; exit 3; esac; done"]
"""
"""A program that fails when it is told to, and whose last words are those of the channel."""

QUERIES: dict[str, tuple[str, ...]] = {
    "/api/why": tuple(f"?seq={seq}" for seq in range(1, 200)),
    "/api/log": ("?after=-1&limit=1000", "?limit=1000", "?after=-1&format=turn-transitions"),
    "/api/log/told": ("?after=-1&limit=1000", "?limit=1000"),
    "/api/agents/{name}/messages": ("?after=-1", ""),
    "/api/agents/{name}/output": ("?after=-1", ""),
    "/api/agents/{name}/next": ("?wait=0",),
    "/api/state": (
        "",
        f"?channels={NAME}",
        "?seats=0,9,10,11,12",
        *(f"?seq={n}" for n in range(20, 100, 5)),
    ),
    "/api/channels/{channel}/messages": ("", "?after=0"),
    "/api/search": (f"?q={WORDS}", f"?q={WORDS}&channel={HERE}"),
    "/api/channels": ("", "?archived=true"),
}
"""Queries to try on a route, where there is more than the one without any."""

_numbers = count(1)

STREAM = "/api/events"
"""Tested by itself: its answer does not end."""

NAMES = {
    "name": ("Ada", "Bob", "member", "stranger"),
    "channel": (NAME, HERE),
    "approval": tuple(map(str, range(1, 100))),
    "conversation": ("1",),
    "digest": (DIGEST, "0" * 64),
    "build": ("x",),
    "folder": ("x",),
    "file": ("x",),
}


class Stage(NamedTuple):
    """The team, and the tokens of everybody who may ask."""

    team: Inside
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    """A private channel that much has happened in, and one for everybody."""
    patience = f"[presence]\nheartbeat_timeout_seconds = {LIFE_SECONDS}\n"
    settings = patience + FAILING
    with inside(tmp_path_factory.mktemp("private"), "Ada", settings=settings) as team:
        with asker(team.server, team.server.token) as boss:
            tokens = {"operator": team.server.token, **_tokens(boss)}
            for name in ("member", "stranger"):
                boss.post(f"/api/agents/{name}/connect")
            config = {"readRule": "members"}
            boss.post("/api/channels", {"channel": NAME, "config": config}, 201)
            boss.post("/api/channels", {"channel": HERE}, 201)
            _live(team, boss)
        yield Stage(team, tokens)


def _tokens(boss: Asker) -> dict[str, str]:
    tokens = {"viewer": boss.post("/api/tokens", {"role": "viewer"}, 201)["secret"]}
    for name in ("member", "stranger"):
        tokens[name] = boss.post("/api/agents", {"name": name}, 201)["token"]["secret"]
    return tokens


def _live(team: Inside, boss: Asker) -> None:
    """Make events of every kind that may tell of a channel."""
    team.runs("Ada")
    for name in ("member", "Ada"):
        boss.post(f"/api/channels/{NAME}/members", {"agent": name}, 201)
    boss.post(f"/api/channels/{NAME}/messages", {"message": f"{WORDS} of the human"}, 201)
    uploaded = boss.http.post(f"/api/files?name={WORDS}.txt", content=FILE).json()
    assert uploaded["digest"] == DIGEST
    with_file = {"message": f"{WORDS} in a file", "files": [DIGEST]}
    boss.post(f"/api/channels/{NAME}/messages", with_file, 201)
    done = {"message": f"{WORDS} of a member", "agent": "member"}
    boss.post(f"/api/channels/{NAME}/turn/complete", done)
    session = team.agent("Ada").session
    assert session is not None
    ada = agent_actor("Ada")
    team.send(c.ReportOutput(session=session, stream="stdout", text=f"{WORDS} printed"), actor=ada)
    team.send(c.ReportTaken(session=session, how=Taken.STARTED, text=f"{NAME}: {WORDS}"), actor=ada)
    team.asks("Ada", "Bash", f"echo {WORDS}")
    team.spends("Ada", 0.5, 100, NAME)
    early = {"message": WORDS, "agent": "member"}
    boss.asked("POST", f"/api/channels/{NAME}/messages", 409, json=early)
    _work(team, boss)
    _fail(team, boss)


def _work(team: Inside, boss: Asker) -> None:
    """Make events of every kind that may tell of the work of a program."""
    ada, actor = team.agent("Ada"), agent_actor("Ada")
    assert ada.session is not None
    team.calls("Ada", Activity.TOOL_CALL, "Bash", f"echo {WORDS}", "call-1")
    result = c.ReportResult(session=ada.session, text=WORDS, channel=ChannelId(HERE))
    team.send(result, actor=actor)
    boss.post("/api/agents/Ada/notes", {"text": WORDS}, 201)
    boss.asked("PUT", "/api/agents/Ada/notes/1", 200, json={"text": f"{WORDS}, once more"})
    team.send(c.LogWarning(text=WORDS, seat=ada.seat))
    team.send(c.RejectMarker(seat=ada.seat, marker=WORDS, reason=WORDS))
    key = boss.get("/api/needs")["needs"][0]["key"]
    boss.post(f"/api/needs/{quote(key)}/settle", {"seconds": 600})


def _fail(team: Inside, boss: Asker) -> None:
    """Let a member fail twice, so that its message stays unanswered and its budget is spent."""
    team.runs("Bob")
    boss.post(f"/api/channels/{NAME}/members", {"agent": "Bob"}, 201)
    boss.post("/api/send", {"message": "fail", "targetAgent": "Bob"}, 201)
    team.until(lambda _: team.agent("Bob").unanswered is not None)
    assert WORDS in repr(team.agent("Bob"))


def paths(route: Route) -> Iterator[str]:
    """The paths of a route, with every name that may lead to the channel."""
    found: list[str] = [route.path]
    for name, values in NAMES.items():
        if f"{{{name}}}" in route.path:
            found = [each.replace(f"{{{name}}}", value) for each in found for value in values]
    for each in found:
        for query in QUERIES.get(route.path, ("",)):
            yield each + query


NEXT = "/api/agents/{name}/next"
"""Hands over what others wrote, so it is no GET, and tells as much as one."""

READS = [
    each for each in routes() if (each.method == "GET" and each.path != STREAM) or each.path == NEXT
]


@pytest.mark.parametrize("route", READS, ids=lambda route: route.path)
@pytest.mark.parametrize("who", ["viewer", "stranger"])
def test_no_answer_tells_a_stranger_of_a_private_channel(
    stage: Stage, who: str, route: Route
) -> None:
    unknown = [name for name in _names(route.path) if name not in NAMES]
    assert not unknown, f"say in NAMES what {unknown} may be"
    with asker(stage.team.server, stage.tokens[who]) as somebody:
        for path in paths(route):
            answer = somebody.http.request(route.method, path)
            asked = path.count(NAME) or path.count(WORDS)
            text = answer.text
            if asked:  # an answer may repeat the question, and must then be that of a wrong name
                elsewhere = path.replace(NAME, "nothing").replace(WORDS, "nothing")
                other = somebody.http.request(route.method, elsewhere)
                assert answer.status_code == other.status_code, path
                text = text.replace(NAME, "nothing").replace(WORDS, "nothing")
                assert _timeless(text) == _timeless(other.text), path
            assert NAME not in text, path
            assert WORDS not in text, path


@pytest.mark.parametrize(
    ("who", "sees"), [("viewer", False), ("stranger", False), ("operator", True)]
)
def test_the_timeline_does_not_show_when_an_agent_spoke_in_a_private_channel(
    stage: Stage, who: str, sees: bool
) -> None:
    with asker(stage.team.server, stage.tokens[who]) as somebody:
        lanes = somebody.get("/api/timeline")["lanes"]
    shown = {lane["name"] for lane in lanes if lane["machine"] == "turns"}
    assert ("Ada" in shown, "member" in shown) == (sees, sees)
    assert "Ada" in {lane["name"] for lane in lanes if lane["machine"] == "run"}


def _timeless(text: str) -> str:
    return re.sub(r'"now":"[^"]*"', "", text)


def _names(path: str) -> list[str]:
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]


@pytest.mark.parametrize("who", ["member", "operator"])
def test_a_member_and_an_operator_see_the_private_channel(stage: Stage, who: str) -> None:
    with asker(stage.team.server, stage.tokens[who]) as somebody:
        for path in (
            "/api/channels",
            f"/api/channels/{NAME}",
            f"/api/channels/{NAME}/messages",
            f"/api/channels/{NAME}/why",
            "/api/agents/member",
            "/api/agents/member/messages",
            "/api/state",
            "/api/log?after=-1&limit=1000",
            "/api/log/told?after=-1&limit=1000",
            "/api/costs",
            f"/api/search?q={WORDS}",
            f"/api/channels/{NAME}/export?format=json",
        ):
            answer = somebody.http.get(path)
            assert answer.status_code == 200
            assert NAME in answer.text, path
        assert somebody.http.get(f"/api/files/{DIGEST}").content == FILE


ACTS: tuple[tuple[str, str, Json], ...] = (
    ("POST", "messages", {"message": "hello"}),
    ("POST", "members", {"agent": "stranger"}),
    ("DELETE", "members/stranger", None),
    ("POST", "turn/complete", {}),
    ("POST", "turn/pass", {}),
    ("POST", "turn/wait", {}),
    ("POST", "turn/resume", {}),
)


@pytest.mark.parametrize(("method", "act", "body"), ACTS, ids=lambda each: str(each))
def test_a_stranger_acts_in_a_private_channel_as_in_one_that_does_not_exist(
    stage: Stage, method: str, act: str, body: Json
) -> None:
    with asker(stage.team.server, stage.tokens["stranger"]) as somebody:
        path = f"/api/channels/{NAME}/{act}"
        answer = somebody.refused(method, path, 404, "not_found", json=body)
        other = path.replace(NAME, "nothing")
        assert somebody.asked(method, other, 404, json=body) == json.loads(
            json.dumps(answer).replace(NAME, "nothing")
        )


# ── the event stream ──────────────────────────────────────────────────────────────────────────────


@contextmanager
def stream(stage: Stage, who: str, query: str) -> Generator["Queue[str]"]:
    """The lines of an event stream as they come."""
    lines: Queue[str] = Queue()
    headers = {"authorization": f"Bearer {stage.tokens[who]}"}
    url = f"{stage.team.server.url}{STREAM}{query}"
    over = f"over {next(_numbers)}"
    with (
        httpx.Client(timeout=WAIT_SECONDS) as http,
        ThreadPoolExecutor(1) as beside,
        http.stream("GET", url, headers=headers) as opened,
    ):

        def read() -> None:
            for line in opened.iter_lines():
                if over in line:
                    return
                lines.put(line)

        reading = beside.submit(read)
        yield lines
        say(stage, HERE, over)
        reading.result(WAIT_SECONDS)


def until(lines: "Queue[str]", sign: str) -> str:
    """All that came until a line has a sign."""
    found = ""
    while sign not in found:
        found += lines.get(timeout=WAIT_SECONDS) + "\n"
    return found


def say(stage: Stage, channel: str, text: str) -> int:
    with asker(stage.team.server, stage.team.server.token) as boss:
        path = f"/api/channels/{quote(channel)}/messages"
        return boss.post(path, {"message": text}, 201)["seq"]


@pytest.mark.parametrize("who", ["viewer", "stranger", "member", "operator"])
def test_an_event_stream_has_a_private_channel_only_while_its_reader_is_a_member(
    stage: Stage, who: str
) -> None:
    is_inside = who in ("member", "operator")
    with stream(stage, who, "?after=0") as lines:
        seq = say(stage, NAME, f"{WORDS} now")
        mark = f"mark {next(_numbers)}."
        say(stage, HERE, mark)
        heard = until(lines, mark)
    assert (NAME in heard) is is_inside
    assert (f"{WORDS} now" in heard) is is_inside
    after = max(int(line[4:]) for line in heard.splitlines() if line.startswith("id: "))
    assert after > seq


def test_a_reader_moves_on_over_events_that_it_may_not_see(stage: Stage) -> None:
    with stream(stage, "viewer", "") as lines:
        seq = say(stage, NAME, f"{WORDS} later")
        until(lines, f"id: {seq}")


def test_a_change_of_members_counts_at_once_on_an_open_stream(stage: Stage) -> None:
    with (
        asker(stage.team.server, stage.team.server.token) as boss,
        stream(stage, "stranger", "") as lines,
    ):
        say(stage, NAME, "before")
        until(lines, "id: ")
        boss.post(f"/api/channels/{NAME}/members", {"agent": "stranger"}, 201)
        say(stage, NAME, "as a member")
        heard = until(lines, "as a member")
        assert "before" not in heard
        boss.delete(f"/api/channels/{NAME}/members/stranger")
        say(stage, NAME, "afterwards")
        mark = f"mark {next(_numbers)}."
        say(stage, HERE, mark)
        assert "afterwards" not in until(lines, mark)


def test_an_agent_may_leave_a_private_channel_and_is_told_nothing_of_it_any_more(
    stage: Stage,
) -> None:
    with asker(stage.team.server, stage.team.server.token) as boss:
        boss.post(f"/api/channels/{NAME}/members", {"agent": "stranger"}, 201)
    with asker(stage.team.server, stage.tokens["stranger"]) as stranger:
        key = {"idempotency-key": "leave"}
        path = f"/api/channels/{NAME}/members/stranger"
        for _ in range(2):
            left = stranger.http.delete(path, headers=key)
            assert left.status_code == 200, left.text
            assert (left.json()["ring"], left.json()["members"]) == ([], [])
        stranger.get(f"/api/channels/{NAME}", 404)


def test_a_channel_becomes_private_and_open_again(stage: Stage) -> None:
    with (
        asker(stage.team.server, stage.team.server.token) as boss,
        asker(stage.team.server, stage.tokens["viewer"]) as viewer,
    ):
        boss.post("/api/channels", {"channel": "now-and-then"}, 201)
        for rule, status in (("members", 404), ("everybody", 200), ("members", 404)):
            path = "/api/channels/now-and-then"
            boss.asked("PATCH", path, 200, json={"readRule": rule})
            viewer.get(path, status)
