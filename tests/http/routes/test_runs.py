"""Run control over HTTP: the desired and current state, and the output of sessions."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import SeatId, SessionId
from muster.machines.vocabulary import Authority, RunMode
from tests.asking import Asker, a_name, asker
from tests.homes import append, play
from tests.live import Json, Server, live

PRINTER = SeatId(0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("runs") / "home") as running:
        yield running


@pytest.fixture
def operator(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


class Registered:
    """An agent that connects by itself, and is here."""

    def __init__(self, operator: Asker) -> None:
        self.name = a_name("pm")
        self.token = operator.post("/api/agents", {"name": self.name}, 201)["token"]["secret"]
        self.path = f"/api/agents/{self.name}"
        operator.post(f"{self.path}/connect")


@pytest.fixture
def pm(operator: Asker) -> Registered:
    return Registered(operator)


def put(asker: Asker, agent: Registered, **wish: Json) -> Json:
    return asker.asked("PUT", f"{agent.path}/run", 200, json=wish)


# ── what is wanted, and what is done ──────────────────────────────────────────────────────────────


def test_an_agent_that_connects_by_itself_is_desired_and_runs(
    operator: Asker, pm: Registered
) -> None:
    run = operator.get(f"{pm.path}/run")
    assert (run["agent"], run["authority"], run["disabled"]) == (pm.name, "self", False)
    assert (run["desired"], run["current"]) == ("continuous", "continuous")
    assert (run["session"], run["budget"], run["differsSince"]) == (None, {}, None)


def test_a_wish_is_answered_with_what_is_wanted_and_what_is_done(
    operator: Asker, pm: Registered
) -> None:
    before = operator.get(f"{pm.path}/run")
    run = put(operator, pm, desired="pause", note="lunch")
    assert (run["desired"], run["current"]) == ("pause", "continuous")
    assert (run["setBy"], run["note"]) == ("human", "lunch")
    assert run["generation"] == before["generation"] + 1
    assert run["answered"] < run["generation"]
    assert run["setAt"] == run["differsSince"]
    assert run == operator.get(f"{pm.path}/run")
    operator.post(f"{pm.path}/disconnect")
    run = operator.get(f"{pm.path}/run")
    assert (run["current"], run["answered"]) == ("pause", run["generation"])
    assert run["differsSince"] is None


@pytest.mark.parametrize("desired", list(RunMode))
def test_every_mode_can_be_wanted(operator: Asker, pm: Registered, desired: RunMode) -> None:
    assert put(operator, pm, desired=desired)["desired"] == desired


def test_the_badge_is_the_same_in_every_answer(operator: Asker, pm: Registered) -> None:
    stop = {"label": "Stop Agent", "color": "red", "desired": "pause", "now": False, "act": "run"}
    badge = {"status": "CONNECTED", "color": "green", "line": "waiting for work", "due": None}
    badge |= {"controls": [stop], "more": [], "group": "idle"}
    assert operator.get(pm.path)["badge"] == badge
    assert operator.get(f"{pm.path}/run")["badge"] == badge
    [card] = [each for each in operator.get("/api/state")["agents"] if each["name"] == pm.name]
    assert card["badge"] == badge


def test_the_badge_says_what_is_so_and_its_line_what_was_asked(
    operator: Asker, pm: Registered
) -> None:
    badge = put(operator, pm, desired="pause")["badge"]
    assert badge["status"] == "CONNECTED"
    assert badge["line"] == "asked to stop: told at its next request"
    assert [each["label"] for each in badge["controls"]] == ["Start Agent"]
    operator.post(f"{pm.path}/heartbeat", {"current": "pause"})
    assert operator.get(pm.path)["badge"]["line"] == "paused by human"


def test_a_wish_counts_only_if_nobody_wanted_something_meanwhile(
    operator: Asker, pm: Registered
) -> None:
    seen = operator.get(f"{pm.path}/run")["generation"]
    put(operator, pm, desired="pause", ifGeneration=seen)
    body = {"desired": "continuous", "ifGeneration": seen}
    problem = operator.refused("PUT", f"{pm.path}/run", 409, "stale_generation", json=body)
    assert problem["found"] == {"name": pm.name, "generation": seen + 1, "given": seen}


def test_to_want_the_same_again_changes_nothing(operator: Asker, pm: Registered) -> None:
    first = put(operator, pm, desired="run_once")
    assert put(operator, pm, desired="run_once") == first


def test_a_wish_is_on_record_with_who_wanted_it(operator: Asker, pm: Registered) -> None:
    put(operator, pm, desired="pause", note="enough", now=True)
    (event,) = operator.get(f"/api/log?agent={pm.name}&types=desired_set")["events"]
    assert (event["actor"], event["setBy"]) == ("person:human", "human")
    assert (event["desired"], event["note"]) == ("pause", "enough")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"desired": "fly"}, 422),
        ({"desired": None}, 422),
        ({"desired": "pause", "now": "yes"}, 422),
        ({"desired": "run_once", "now": True}, 422),
        ({"desired": "pause", "note": "x" * 501}, 422),
        ({"desired": "pause", "ifGeneration": 1.5}, 422),
        ({"desired": "pause", "ifGeneration": 2**80}, 422),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(
    operator: Asker, pm: Registered, body: Json, status: int
) -> None:
    operator.refused("PUT", f"{pm.path}/run", status, "invalid", json=body)


def test_wishes_are_the_operators_and_everybody_may_look(
    server: Server, operator: Asker, pm: Registered
) -> None:
    viewer = operator.post("/api/tokens", {"role": "viewer"}, 201)["secret"]
    for token in (viewer, pm.token):
        with asker(server, token) as somebody:
            path = f"{pm.path}/run"
            somebody.refused("PUT", path, 403, "forbidden", json={"desired": "pause"})
            assert somebody.get(path)["desired"] == "continuous"
            assert somebody.get(f"{pm.path}/output")["output"] == []
    with asker(server, None) as stranger:
        assert stranger.get(f"{pm.path}/run", 401)["code"] == "unauthenticated"


def test_the_desired_state_of_an_unknown_agent_cannot_be_set(operator: Asker) -> None:
    body = {"desired": "pause"}
    operator.refused("PUT", "/api/agents/nobody/run", 404, "not_found", json=body)
    operator.get("/api/agents/nobody/run", 404)
    operator.get("/api/agents/nobody/output", 404)


# ── agents that run by themselves say what they do ────────────────────────────────────────────────


def test_an_agent_says_what_it_is_doing_with_its_heartbeat(
    server: Server, operator: Asker, pm: Registered
) -> None:
    with asker(server, pm.token) as itself:
        told = itself.post(f"{pm.path}/heartbeat", {"current": "run_once"})
    assert told["agent"]["current"] == "run_once"
    assert operator.get(f"{pm.path}/run")["current"] == "run_once"
    assert operator.post(f"{pm.path}/heartbeat")["agent"]["current"] == "run_once"
    body = {"current": "dance"}
    operator.refused("POST", f"{pm.path}/heartbeat", 422, "invalid", json=body)


# ── output ────────────────────────────────────────────────────────────────────────────────────────


def printed(text: str, *, stream: str = "stdout", omitted: int = 0) -> e.AgentOutput:
    session = SessionId("session-1")
    return e.AgentOutput(seat=PRINTER, session=session, stream=stream, text=text, omitted=omitted)


@pytest.fixture(scope="module")
def printer(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """A server whose agent `printer` has printed ten pieces, in an earlier life."""
    home = tmp_path_factory.mktemp("output") / "home"
    play(home, c.EnrollAgent(name="printer", authority=Authority.SELF, seat=PRINTER))
    append(home, *(printed(f"line {number}") for number in range(9)))
    append(home, printed("oh\x1b[31m no\nreally", stream="stderr", omitted=1234))
    with live(home) as running:
        yield running


@pytest.fixture
def reader(printer: Server) -> Generator[Asker]:
    with asker(printer, printer.token) as somebody:
        yield somebody


def test_output_is_read_with_its_session_stream_and_gaps(reader: Asker) -> None:
    page = reader.get("/api/agents/printer/output")
    assert [each["text"] for each in page["output"][:9]] == [f"line {n}" for n in range(9)]
    last = page["output"][-1]
    assert (last["text"], last["stream"], last["omitted"]) == (
        "oh\x1b[31m no\nreally",
        "stderr",
        1234,
    )
    assert last["session"] == "session-1"
    assert set(last) == {"seq", "ts", "session", "stream", "text", "omitted"}
    assert page["more"] is False
    assert page["after"] == reader.get("/api/health")["seq"]


def test_output_is_read_page_by_page_without_gap_or_repeat(reader: Asker) -> None:
    texts: list[str] = []
    after, more = -1, True
    while more:
        page = reader.get(f"/api/agents/printer/output?after={after}&limit=4")
        texts += [each["text"] for each in page["output"]]
        after, more = page["after"], page["more"]
    assert texts[:9] == [f"line {n}" for n in range(9)]
    assert len(texts) == 10
    assert reader.get(f"/api/agents/printer/output?after={after}")["output"] == []


def test_the_newest_output_is_what_one_gets_unasked(reader: Asker) -> None:
    page = reader.get("/api/agents/printer/output?limit=2")
    assert [each["text"][:6] for each in page["output"]] == ["line 8", "oh\x1b[31"]


@pytest.mark.parametrize("query", ["limit=0", "limit=257", "limit=x", "after=-2", "after=x"])
def test_a_question_for_output_that_makes_no_sense_is_refused(reader: Asker, query: str) -> None:
    reader.refused("GET", f"/api/agents/printer/output?{query}", 422, "invalid")


# ── a program that muster runs ────────────────────────────────────────────────────────────────────

SETTINGS = """
[agents.stays]
command = ["sh", "-c", "echo here; exec sleep 600"]
budget = { sessions_per_hour = 3, session_seconds = 600 }
"""


def until_moved(asker: Asker, agent: str, to: str, after: int) -> None:
    """Wait until what an agent does is something else."""
    path = f"/api/events?agent={agent}&types=state_transition&after={after}"
    with asker.http.stream("GET", path) as stream:
        for line in stream.iter_lines():
            if line.startswith("data: "):
                event = json.loads(line.removeprefix("data: "))
                if (event["machine"], event["to"]) == ("run", to):
                    return


def until_started(asker: Asker, agent: str, after: int) -> None:
    """Wait until a session of an agent has started."""
    path = f"/api/events?agent={agent}&types=session_start&after={after}"
    with asker.http.stream("GET", path) as stream:
        assert any(line.startswith("data: ") for line in stream.iter_lines())


def until_heard(asker: Asker, agent: str) -> None:
    """Wait until the program of an agent has said something."""
    with asker.http.stream(
        "GET", f"/api/events?agent={agent}&types=agent_output&after=0"
    ) as stream:
        assert any(line.startswith("data: ") for line in stream.iter_lines())


def test_a_program_is_started_shown_and_stopped(tmp_path: Path) -> None:
    (tmp_path / "muster.toml").write_text(SETTINGS)
    with live(tmp_path) as server, asker(server, server.token) as operator:
        path = "/api/agents/stays/run"
        run = operator.get(path)
        assert (run["desired"], run["current"], run["session"]) == ("pause", "pause", None)
        usual = {"costUsdPerMinute": 2, "costUsdPerDay": 20, "teamCostUsdPerDay": 100}
        assert run["budget"] == {"sessionsPerHour": 3, "sessionSeconds": 600.0, **usual}
        operator.asked("PUT", path, 200, json={"desired": "continuous"})
        until_moved(operator, "stays", "continuous", run["seq"])
        run = operator.get(path)
        session, begun = run["session"], run["seq"]
        assert (session["mode"], session["phase"]) == ("continuous", "running")
        assert Path(f"/proc/{session['pid']}").exists()
        assert run["answered"] == run["generation"]
        run = operator.asked("PUT", path, 200, json={"desired": "pause", "now": True})
        assert run["session"] is None or run["session"]["phase"] == "stopping"
        until_moved(operator, "stays", "pause", begun)
        run = operator.get(path)
        assert (run["current"], run["session"]) == ("pause", None)
        assert not Path(f"/proc/{session['pid']}").exists()
        output = operator.get("/api/agents/stays/output")["output"]
        assert [each["text"] for each in output] == ["here"]
        number = session["id"].rpartition("-")[2]  # as the page shows it
        for name in (session["id"], number):
            found = operator.get(f"/api/agents/stays/output?session={name}")
            assert found["output"] == output
        wrong = "/api/agents/stays/output?session=1"
        operator.refused("GET", wrong, 404, "no_such_session")


def test_a_program_is_restarted_and_a_paused_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "muster.toml").write_text(SETTINGS)
    with live(tmp_path) as server, asker(server, server.token) as operator:
        path = "/api/agents/stays"
        operator.refused("POST", f"{path}/restart", 409, "paused", json={})
        operator.asked("PUT", f"{path}/run", 200, json={"desired": "continuous"})
        until_moved(operator, "stays", "continuous", 0)
        before = operator.get(f"{path}/run")
        restart = {"now": True, "note": "new settings"}
        run = operator.asked("POST", f"{path}/restart", 200, json=restart)
        assert (run["desired"], run["generation"]) == ("continuous", before["generation"])
        until_started(operator, "stays", run["seq"])
        after = operator.get(f"{path}/run")
        assert after["session"]["id"] != before["session"]["id"]
        assert not Path(f"/proc/{before['session']['pid']}").exists()
        operator.asked("PUT", f"{path}/run", 200, json={"desired": "pause", "now": True})


def test_a_heartbeat_cannot_report_the_run_state_of_a_program_of_muster(tmp_path: Path) -> None:
    (tmp_path / "muster.toml").write_text(SETTINGS)
    with live(tmp_path) as server, asker(server, server.token) as operator:
        operator.asked("PUT", "/api/agents/stays/run", 200, json={"desired": "continuous"})
        until_moved(operator, "stays", "continuous", 0)
        until_heard(operator, "stays")  # nothing more comes of itself
        body = {"current": "pause"}
        path = "/api/agents/stays/heartbeat"
        operator.refused("POST", path, 409, "run_by_muster", json=body)
