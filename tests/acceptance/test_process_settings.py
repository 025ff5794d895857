"""Settings of an agent's process under `muster up`: its environment file, its stop, its limits."""

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.acceptance.test_supervised import Place, prepared, table, up
from tests.homes import muster
from tests.waits import until

KEPT = "a text of nobody else"

HANGUP = """
import signal, sys
def hear(number, frame):
    print("heard", signal.Signals(number).name, flush=True)
    sys.exit(0)
for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(each, hear)
print("ready", flush=True)
while True:
    signal.pause()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Generator[Place]:
    """One muster for all tests; each has agents of its own."""
    folder = tmp_path_factory.mktemp("place")
    prepared(
        folder,
        table("secret", "sh", "-c", 'printf %s "$HIDDEN" > got', env_file="secret.env"),
        table("wrong", "true", env_file="wrong.env"),
        table("spins", sys.executable, "-S", "-c", "while True: pass", cpu_seconds=1, nice=19),
        table("limited", "sleep", "1000", memory_mb=512, cpu_percent=50),
        table("prints", "sh", "-c", "echo out; echo err >&2"),
        table("hangup", sys.executable, "-S", "-c", HANGUP, stop_signal="SIGHUP"),
    )
    home = folder / ".muster"
    (home / "secret.env").write_text(f"export HIDDEN='{KEPT}'\n")
    (home / "wrong.env").write_text(f"GOOD={KEPT}\n{KEPT}\n")
    with up(folder) as running:
        yield running


def output(place: Place, agent: str) -> list[str]:
    pieces = place.operator.get(f"/api/agents/{agent}/output")["output"]
    return [line for piece in pieces for line in piece["text"].split("\n")]


def files_with(folder: Path, secret: str) -> list[str]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.name for path in paths if secret.encode() in path.read_bytes())


def test_an_environment_file_reaches_the_program_and_nothing_else(place: Place) -> None:
    place.want("secret", "run_once")
    place.until_states("secret", "pause", "pause")
    assert (place.folder / "got").read_text() == KEPT
    assert files_with(place.home, KEPT) == ["secret.env", "wrong.env"]
    assert KEPT not in place.operator.http.get("/api/agents").text
    assert KEPT not in place.operator.http.get("/api/agents/secret/run").text


def test_a_mistake_in_an_environment_file_is_the_reason_of_the_failure(place: Place) -> None:
    place.want("wrong", "continuous")
    until(lambda: place.run("wrong")["lastFailure"])
    reason = place.run("wrong")["lastFailure"]["reason"]
    place.want("wrong", "pause", now=True)
    assert f"env_file {place.home / 'wrong.env'} line 2: it is not NAME=VALUE." in reason
    assert files_with(place.home, KEPT) == ["secret.env", "wrong.env"]


def test_a_stop_of_an_agent_begins_with_its_stop_signal(place: Place) -> None:
    place.want("hangup", "continuous")
    until(lambda: "ready" in output(place, "hangup"))
    place.want("hangup", "pause", now=True)
    place.until_states("hangup", "pause", "pause")
    assert output(place, "hangup") == ["ready", "heard SIGHUP"]


def test_an_agent_over_its_limit_says_so_in_its_last_failure(place: Place) -> None:
    place.want("spins", "continuous")
    until(lambda: place.run("spins")["lastFailure"])
    assert place.run("spins")["lastFailure"]["reason"] == "killed: over cpu_seconds = 1"
    ended = place.first("spins", "session_end")
    assert ended["reason"] == "killed: over cpu_seconds = 1"
    place.want("spins", "pause", now=True)


def test_a_session_says_by_which_means_its_limits_hold(place: Place) -> None:
    place.want("limited", "continuous")
    began = place.first("limited", "session_start")
    place.until_states("limited", "continuous", "continuous")
    held = place.run("limited")["session"]["limits"]
    assert held == began["limits"]
    assert [each.split(" ")[0] for each in held] == ["memory_mb", "cpu_percent"]
    assert place.operator.get("/api/agents/limited")["limits"] == held
    shown = muster("status", "--home", str(place.home)).stdout
    assert f"limited: limits: {', '.join(held)}" in shown
    checked = muster("doctor", "--home", str(place.home)).stdout
    assert "limits of agents hold by " in checked
    assert ("cpu_percent = 50 is not in force" in checked) == ("not in force" in held[1])
    place.want("limited", "pause", now=True)


def test_output_over_http_is_chosen_by_time_session_and_stream(place: Place) -> None:
    place.want("prints", "run_once")
    place.until_states("prints", "pause", "pause")

    def asked(**query: str) -> list[str]:
        found = place.operator.http.get("/api/agents/prints/output", params=query).json()
        return [each["text"] for each in found["output"]]

    both = place.operator.get("/api/agents/prints/output")["output"]
    session, first = both[0]["session"], min(each["ts"] for each in both)
    assert sorted(asked()) == ["err", "out"]
    assert asked(stream="stderr") == ["err"]
    assert asked(stream="stdout", session=session, since=first) == ["out"]
    assert asked(since="2999-01-01T00:00:00Z") == []
    assert place.operator.http.get("/api/agents/prints/output?session=no").status_code == 404
    assert place.operator.http.get("/api/agents/prints/output?stream=x").status_code == 422
    assert place.operator.http.get("/api/agents/prints/output?since=x").status_code == 422
