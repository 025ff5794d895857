"""Isolated sessions: a real program that tries to see, reach and outlive what it may not."""

import os
import socket
import subprocess
from pathlib import Path

import pytest
from msgspec import structs

from muster.confine import isolation
from muster.errors import CannotStart
from muster.machines.vocabulary import Outcome
from muster.runtimes import isolated
from muster.runtimes.catalog import runtime_of
from muster.runtimes.isolated import passed_environment, withheld
from muster.settings.agents import AgentSettings
from muster.settings.process import Isolate
from tests.builders import run
from tests.runtimes.programs import PLAIN, Stage, sh

TRIES = """
see() { if cat "$1" >/dev/null 2>&1; then echo "saw $2"; else echo "missed $2"; fi; }
see {team}/operator.token token
see {team}/team.db log
see {team}/agents/Ben/note other
see {team}/agents/Ada/note own
see {team}/files/ab/cd file
see {base}/plan.txt project
see /proc/{muster}/root{team}/operator.token root
see /proc/{muster}/environ environment
see {team}/agents/Ada/../../operator.token parent
if (: > {team}/new) 2>/dev/null; then echo "wrote home"; else echo "kept home"; fi
if (: > {team}/files/ab/new) 2>/dev/null; then echo "wrote file"; else echo "kept files"; fi
echo made > {base}/made.txt; see {base}/made.txt made
echo mine > {team}/agents/Ada/mine; see {team}/agents/Ada/mine mine
umount {team} 2>/dev/null
unshare -Urm umount -l {team} 2>/dev/null
see {team}/operator.token again
if kill -0 {muster} 2>/dev/null; then echo "reached muster"; else echo "cannot signal"; fi
"""

HIDDEN = {
    "missed token",
    "missed log",
    "missed other",
    "saw own",
    "saw file",
    "saw project",
    "missed root",
    "missed environment",
    "missed parent",
    "kept home",
    "kept files",
    "saw made",
    "saw mine",
    "missed again",
    "cannot signal",
}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    team = tmp_path / "home"
    for name in ("agents/Ada", "agents/Ben", "files/ab"):
        (team / name).mkdir(parents=True)
    for name in ("operator.token", "team.db", "agents/Ada/note", "agents/Ben/note", "files/ab/cd"):
        (team / name).write_text("x")
    (tmp_path / "plan.txt").write_text("x")
    return Stage(tmp_path)


def served(team: Path) -> dict[str, str]:
    """The variables of a session whose team has a server."""
    return {"MUSTER_HOME": str(team), "MUSTER_URL": "http://127.0.0.1:9"}


def played(stage: Stage, script: str, settings: AgentSettings) -> tuple[set[str], str]:
    """The lines that a program prints, and how its session says that it is isolated."""
    team = stage.base / "home"
    for name, value in (("base", stage.base), ("team", team), ("muster", os.getpid())):
        script = script.replace(f"{{{name}}}", str(value))
    said: list[str] = []

    async def scene() -> None:
        launch = structs.replace(stage.launch(), environment=served(team))
        runtime = runtime_of(structs.replace(settings, command=sh(script)), team)
        session = await runtime.start(launch, stage.listener)
        end = await session.wait()
        assert end.outcome is Outcome.COMPLETED, end
        said.append(session.confinement)

    run(scene())
    return set(stage.listener.lines()), said[0]


def test_a_program_sees_its_own_folders_of_the_home_and_nothing_else(stage: Stage) -> None:
    said, confinement = played(stage, TRIES, structs.replace(PLAIN, isolate="home"))
    assert said == HIDDEN
    assert confinement.startswith("does not see the team's home")
    assert (stage.folder / "mine").read_text() == "mine\n"


def test_a_program_that_is_not_isolated_sees_the_home(stage: Stage) -> None:
    said, _ = played(stage, TRIES, PLAIN)
    assert {"saw token", "saw log", "saw other", "reached muster"} <= said


def test_isolation_and_confinement_hold_together(stage: Stage) -> None:
    script = f"{TRIES}\n(: > {{base}}/evil) 2>/dev/null || echo 'kept project'\n"
    said, confinement = played(
        stage, script, structs.replace(PLAIN, confine="outputs", isolate="home")
    )
    assert {"missed token", "missed root", "kept project", "missed made"} <= said
    assert confinement.startswith("writes only its outputs")


REACHES = """
if (exec 3<>/dev/tcp/127.0.0.1/{allowed}) 2>/dev/null; then echo "reached allowed"; fi
if (exec 3<>/dev/tcp/127.0.0.1/{other}) 2>/dev/null; then echo "reached other"; else
echo "other refused"; fi
echo "processes $(ls /proc | grep -c '^[0-9]')"
exit 7
"""


def test_a_strict_program_reaches_the_allowed_ports_and_sees_its_own_processes(
    stage: Stage,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as allowed, socket.create_server(("", 0)) as other:
        ports = {"allowed": allowed.getsockname()[1], "other": other.getsockname()[1]}
        script = REACHES.replace("exit 7", "exit 0")
        for name, port in ports.items():
            script = script.replace(f"{{{name}}}", str(port))
        settings = structs.replace(
            PLAIN, isolate="strict", ports=(ports["allowed"],), command=("bash", "-c", script)
        )
        said, confinement = played_command(stage, settings)
    assert {"reached allowed", "other refused"} <= said
    [processes] = [int(line.split()[1]) for line in said if line.startswith("processes ")]
    assert processes < 8  # the first one, the shell, and its pipe
    assert confinement.startswith("does not see the team's home, sees only its own processes")


def played_command(stage: Stage, settings: AgentSettings) -> tuple[set[str], str]:
    said: list[str] = []

    async def scene() -> None:
        launch = structs.replace(stage.launch(), environment=served(stage.base / "home"))
        session = await runtime_of(settings, stage.base / "home").start(launch, stage.listener)
        end = await session.wait()
        assert end.outcome is Outcome.COMPLETED, end
        said.append(session.confinement)

    run(scene())
    return set(stage.listener.lines()), said[0]


def test_the_exit_code_of_a_strict_program_is_its_own(stage: Stage) -> None:
    async def scene() -> None:
        settings = structs.replace(PLAIN, isolate="strict", command=sh("exit 7"))
        launch = structs.replace(stage.launch(), environment=served(stage.base / "home"))
        session = await runtime_of(settings, stage.base / "home").start(launch, stage.listener)
        assert (await session.wait()).code == 7

    run(scene())


def test_nothing_that_a_strict_program_starts_outlives_it(stage: Stage) -> None:
    """A daemon in a session of its own with an empty environment, which nothing else finds."""
    fifo = stage.base / "alive"
    os.mkfifo(fifo)
    script = f"setsid env -i sh -c 'exec 3<>{fifo}; sleep 600' >/dev/null 2>&1 & sleep 0.3; exit 0"
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        played(stage, script, structs.replace(PLAIN, isolate="strict"))
        assert os.read(reader, 1) == b""  # no writer is left
    finally:
        os.close(reader)


def test_a_machine_that_cannot_isolate_says_so_and_does_not_start_strict_programs(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trouble(level: Isolate) -> str:
        return "" if level == "none" else "no user namespaces"

    monkeypatch.setattr(isolated, "isolation_trouble", trouble)
    said, confinement = played(stage, TRIES, structs.replace(PLAIN, isolate="home"))
    assert "saw token" in said
    assert confinement == "not isolated: no user namespaces"
    with pytest.raises(CannotStart, match="cannot isolate it"):
        played(stage, "true", structs.replace(PLAIN, isolate="strict"))


def test_a_launcher_that_cannot_hide_runs_nothing(stage: Stage) -> None:
    policy = isolation.IsolationPolicy("home", [(isolation.HIDE, str(stage.base / "nowhere"))])
    plan = isolation.plan_file(policy, 1)
    try:
        line = [*isolation.launcher(plan), "echo", "ran"]
        ended = subprocess.run(line, pass_fds=[plan], capture_output=True, check=False)
    finally:
        os.close(plan)
    assert (ended.returncode, ended.stdout) == (126, b"")
    assert b"nowhere: No such file or directory" in ended.stderr


# ── the environment ───────────────────────────────────────────────────────────────────────────────

ENVIRONMENT = {
    "PATH": "/bin",
    "PWD": "/",
    "LANG": "C",
    "KEYBOARD": "us",
    "AWS_SECRET_ACCESS_KEY": "a",
    "AWS_REGION": "x",
    "GITHUB_TOKEN": "b",
    "SSH_AUTH_SOCK": "/c",
    "DATABASE_URL": "postgres://me:secret@db/x",
    "HTTPS_PROXY": "http://me:secret@proxy:3128",
    "ANTHROPIC_API_KEY": "d",
    "MUSTER_TOKEN": "e",
}


def test_an_agent_gets_the_secrets_of_models_and_no_others() -> None:
    assert withheld(PLAIN, ENVIRONMENT) == (
        "AWS_SECRET_ACCESS_KEY",
        "DATABASE_URL",
        "GITHUB_TOKEN",
        "SSH_AUTH_SOCK",
    )
    assert set(passed_environment(PLAIN, ENVIRONMENT)) == {
        *("PATH", "PWD", "LANG", "KEYBOARD", "AWS_REGION", "HTTPS_PROXY", "ANTHROPIC_API_KEY"),
    }


def test_pass_env_names_the_secrets_that_an_agent_gets() -> None:
    some = structs.replace(PLAIN, pass_env=("GITHUB_TOKEN", "AWS_*"))
    assert withheld(some, ENVIRONMENT) == ("ANTHROPIC_API_KEY", "DATABASE_URL", "SSH_AUTH_SOCK")
    assert not withheld(structs.replace(PLAIN, pass_env=("*",)), ENVIRONMENT)
    assert "MUSTER_TOKEN" not in passed_environment(
        structs.replace(PLAIN, pass_env=("*",)), ENVIRONMENT
    )


def test_a_program_gets_no_secret_that_is_not_passed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    script = 'echo "github=$GITHUB_TOKEN openai=$OPENAI_API_KEY"'
    assert "github= openai=sk-1" in played(stage, script, PLAIN)[0]
    passed = structs.replace(PLAIN, pass_env=("GITHUB_TOKEN",))
    assert "github=ghp_1 openai=" in played(stage, script, passed)[0]
