"""A team whose log is in PostgreSQL, as a person runs it: one command, restarts, other shells."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from muster.home.database import FILE, find
from tests.forkserver import ForkedProcess
from tests.homes import muster
from tests.live import Scene, Server, a_scene, live
from tests.postgres import QUICK, a_database, new_cluster, new_team, remove
from tests.waits import WAIT_SECONDS, until


@pytest.fixture
def team() -> str:
    return new_team()


def environ(team: str) -> dict[str, Any]:  # as keyword arguments
    return {"MUSTER_STORE_DATABASE": a_database().url, "MUSTER_STORE_TEAM": team}


def say_something(server: Server) -> str:
    """Let two agents take turns; the name of one."""
    with a_scene(server) as scene:
        scene.connected("pm", "dev")
        scene.opened("pm", "dev")
        scene.says("Begin.")
        take_turn(scene, "pm", "The plan is tea.")
        take_turn(scene, "dev", "Agreed.")
        return scene.named("pm")


def take_turn(scene: Scene, name: str, text: str) -> None:
    scene.next(name)
    scene.says(text, by=name)
    scene.turn("complete", name)


def test_a_team_lives_in_a_database_and_goes_on_after_a_restart(tmp_path: Path, team: str) -> None:
    home = tmp_path / "home"
    with live(home, **environ(team)) as server:
        pm = say_something(server)
        seen = muster("status", "--json", "--home", str(home))
        assert seen.returncode == 0, seen.stderr
        report = json.loads(seen.stdout)
        assert report["running"] is True
        assert pm in [agent["name"] for agent in report["team"]["agents"]]
    with live(home) as server, a_scene(server) as scene:  # the home remembers its database
        names = [each["name"] for each in scene.get("/api/agents")["agents"]]
        assert pm in names
        assert scene.get("/api/log?types=settings_applied&limit=10")["events"] == []
    assert {path.name for path in home.glob("team.*")} == {FILE}


def test_verbs_without_a_server_read_the_database(tmp_path: Path, team: str) -> None:
    home = tmp_path / "home"
    with live(home, **environ(team)) as server:
        pm = say_something(server)
    for verb in (
        ("status",),
        ("log", "--limit", "5"),
        ("why", pm),
        ("agents",),
        ("transcript", pm),
        ("search", "tea"),
        ("needs",),
        ("since", "--hours", "1"),
        ("costs",),
        ("export", str(tmp_path / "export.json")),
        ("doctor",),
    ):
        ran = muster(*verb, "--home", str(home))
        assert ran.returncode == 0, (verb, ran.stdout, ran.stderr)


def test_the_option_names_the_database_once(tmp_path: Path, team: str) -> None:
    home = tmp_path / team
    line = ("up", "--home", str(home), "--port", "0", "--no-browser", "--detach")
    begun = muster(*line, "--database", a_database().url, "--node", "desk")
    assert begun.returncode == 0, begun.stderr
    try:
        kept = find(home)
        assert kept is not None
        assert (kept.url, kept.team, kept.node) == (a_database().url, team, "desk")
        assert "started on desk" in muster("log", "--home", str(home)).stdout
    finally:
        assert muster("down", "--home", str(home)).returncode == 0


@pytest.mark.parametrize("name", ["desk", "my desk"])
def test_a_name_of_a_machine_needs_a_database_and_no_spaces(tmp_path: Path, name: str) -> None:
    refused = muster("up", "--home", str(tmp_path / "home"), "--node", name)
    assert refused.returncode == 2
    assert "--node" in refused.stderr
    assert not (tmp_path / "home").exists()


def test_a_home_with_a_log_of_its_own_is_not_led_elsewhere(tmp_path: Path, team: str) -> None:
    home = tmp_path / "home"
    with live(home):
        pass

    refused = muster("up", "--home", str(home), "--port", "0", **environ(team))

    assert refused.returncode == 3
    assert "muster move-store" in refused.stderr
    assert not (home / FILE).exists()


def test_the_name_of_another_team_is_refused(tmp_path: Path, team: str) -> None:
    with live(tmp_path / "one", **environ(team)):
        pass

    refused = muster("up", "--home", str(tmp_path / "two"), "--port", "0", **environ(team))

    assert refused.returncode == 3
    assert "muster join" in refused.stderr
    assert not (tmp_path / "two").exists()


@pytest.mark.parametrize("wrong", ["mysql://h/d", "muster", "postgresql://"])
def test_what_is_no_address_is_refused_before_anything_starts(tmp_path: Path, wrong: str) -> None:
    refused = muster("up", "--home", str(tmp_path / "home"), "--database", wrong)

    assert refused.returncode == 2
    assert "postgresql://USER@HOST/DATABASE" in refused.stderr
    assert not (tmp_path / "home").exists()


def test_a_team_goes_on_when_its_database_is_back(tmp_path: Path) -> None:
    cluster = new_cluster(f"killed-{os.getpid()}")
    cluster.start(*QUICK)
    try:
        with (
            live(tmp_path, MUSTER_STORE_DATABASE=cluster.url()) as server,
            a_scene(server) as scene,
        ):
            scene.connected("pm")
            scene.opened("pm")
            scene.says("before")
            cluster.kill()
            until(lambda: scene.get("/api/health")["status"] == "failing")
            assert scene.call("GET", "/api/ready").status_code == 503
            with ThreadPoolExecutor(1) as beside:
                waiting = beside.submit(scene.says, "meanwhile")
                cluster.start(*QUICK)
                waiting.result()
            scene.says("after")
            until(lambda: scene.get("/api/health")["status"] == "ok")
            assert scene.call("GET", "/api/ready").status_code == 200
            page = scene.get(f"{scene.channel}/messages?limit=100")
            said = [each["text"] for each in page["messages"]]
            assert said == ["before", "meanwhile", "after"]
    finally:
        remove(cluster)


def test_a_muster_that_is_killed_goes_on_where_the_database_is(tmp_path: Path, team: str) -> None:
    home = tmp_path / "home"
    with live(home, **environ(team)) as server:
        pm = say_something(server)
        server.process.kill()
        server.process.wait(WAIT_SECONDS)
    with live(home, **environ(team)) as server, a_scene(server) as scene:
        assert pm in [each["name"] for each in scene.get("/api/agents")["agents"]]
        assert scene.get("/api/health")["status"] == "ok"
    verified = muster("doctor", "--verify", "--home", str(home))
    assert "hash chain unbroken" in verified.stdout, verified.stdout


def test_a_database_that_was_set_back_ends_the_team(tmp_path: Path) -> None:
    cluster = new_cluster(f"rewound-{os.getpid()}")
    cluster.start(*QUICK)
    address = cluster.url()
    try:
        with live(tmp_path, MUSTER_STORE_DATABASE=address) as server, a_scene(server) as scene:
            scene.connected("pm")
            cluster.stop()
            older = cluster.copied(cluster.folder / "older")
            cluster.start(*QUICK)
            scene.opened("pm")
            cluster.stop()
            cluster.rewind(older)
            cluster.start(*QUICK)
            assert server.process.wait(WAIT_SECONDS) == 5
            assert isinstance(server.process, ForkedProcess)
            assert "replaced by an older copy" in server.process.errors()
        with live(tmp_path) as server, a_scene(server) as scene:
            assert scene.get("/api/health")["status"] == "ok"
            assert scene.get("/api/channels")["channels"] == []
    finally:
        remove(cluster)
