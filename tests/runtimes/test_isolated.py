"""Isolated sessions: a real program that tries to see, reach and outlive what it may not."""

import asyncio
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from msgspec import structs

from muster.confine import isolation
from muster.confine.isolation import IsolationPolicy
from muster.errors import CannotStart
from muster.machines.vocabulary import Outcome, Urgency
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
unshare -Urm sh -c 'mount --bind {base} {base}/m
cat {base}/m/home/operator.token' && echo "saw bound"
unshare -Urm sh -c 'mount --rbind {base} {base}/m; umount -l {base}/m/home
cat {base}/m/home/operator.token' && echo "saw bound with all"
unshare -Urm sh -c 'mount -t overlay o -o lowerdir={base}:/tmp {base}/m
cat {base}/m/home/operator.token' && echo "saw overlaid"
unshare -Urm mount -t tmpfs none {base}/m && echo "mounted its own"
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
    "mounted its own",
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
    (tmp_path / "m").mkdir()
    return Stage(tmp_path)


@pytest.fixture(params=["perl", "python", "bubblewrap"])
def launcher(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way to isolate: without Perl, and where only bubblewrap may make namespaces."""
    if request.param == "python":
        monkeypatch.setattr(isolation, "PERL", "")
    if request.param == "bubblewrap":
        monkeypatch.setattr(isolated, "means", no_namespaces)
    return request.param


def no_namespaces(_level: Isolate) -> tuple[str, str]:
    """A machine on which bubblewrap alone isolates."""
    return "/usr/bin/bwrap", ""


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


@pytest.mark.usefixtures("launcher")
def test_a_program_sees_its_own_folders_of_the_home_and_nothing_else(stage: Stage) -> None:
    said, confinement = played(stage, TRIES, PLAIN)
    assert said == HIDDEN
    assert confinement == ""  # it is as usual
    assert (stage.folder / "mine").read_text() == "mine\n"


def test_a_program_that_is_not_isolated_sees_the_home(stage: Stage) -> None:
    said, _ = played(stage, TRIES, structs.replace(PLAIN, isolate="none"))
    assert {"saw token", "saw log", "saw other", "reached muster"} <= said


def test_isolation_and_confinement_hold_together(stage: Stage) -> None:
    script = f"{TRIES}\n(: > {{base}}/evil) 2>/dev/null || echo 'kept project'\n"
    said, confinement = played(stage, script, structs.replace(PLAIN, confine="outputs"))
    assert {"missed token", "missed root", "kept project", "missed made"} <= said
    assert confinement.startswith("writes only its outputs")


REACHES = """
if (exec 3<>/dev/tcp/127.0.0.1/{allowed}) 2>/dev/null; then echo "reached allowed"; fi
if (exec 3<>/dev/tcp/127.0.0.1/{other}) 2>/dev/null; then echo "reached other"; else
echo "other refused"; fi
echo "processes $(ls /proc | grep -c '^[0-9]')"
exit 7
"""


@pytest.mark.usefixtures("launcher")
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


@pytest.mark.usefixtures("launcher")
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
    said, confinement = played(stage, TRIES, PLAIN)
    assert "saw token" in said
    assert confinement == "not isolated: no user namespaces"
    with pytest.raises(CannotStart, match="cannot isolate it"):
        played(stage, "true", structs.replace(PLAIN, isolate="strict"))


def test_a_program_that_the_settings_name_in_the_home_runs(stage: Stage) -> None:
    program = stage.base / "home" / "bin" / "run"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho ran; cat ../home/operator.token || echo hidden\n")
    program.chmod(0o755)
    settings = structs.replace(PLAIN, command=("home/bin/run",))
    assert {"ran", "hidden"} <= played_command(stage, settings)[0]


def test_a_program_that_works_in_the_home_itself_is_not_isolated_and_says_so(stage: Stage) -> None:
    _, confinement = played(stage, "true", structs.replace(PLAIN, cwd="home"))
    assert confinement.startswith("not isolated: it works in the team's home itself")


def test_all_homes_of_a_task_are_hidden(stage: Stage) -> None:
    """A session with a log of its own has the settings of a team, whose home has a token too."""
    other = stage.base / "session" / ".muster"
    other.mkdir(parents=True)

    async def scene() -> None:
        see = f"cat {stage.base}/home/operator.token || echo hidden; ls {other}"
        launch = structs.replace(
            stage.launch(), environment=served(other), guarded=(other.parent, stage.base / "home")
        )
        session = await stage.runtime(sh(see)).start(launch, stage.listener)
        await session.wait()

    (other / "team.db").touch()
    run(scene())
    assert stage.listener.lines() == ["hidden"]


@pytest.mark.usefixtures("launcher")
def test_a_program_ignores_the_signals_that_it_would_ignore_alone(stage: Stage) -> None:
    script = "grep -E 'Sig(Ign|Blk|Cgt)' /proc/self/status"
    alone = subprocess.run(sh(script), capture_output=True, text=True, check=True).stdout
    assert set(alone.splitlines()) <= played(stage, script, PLAIN)[0]


@pytest.mark.usefixtures("launcher")
def test_a_program_that_is_stopped_at_once_prints_nothing(stage: Stage) -> None:
    async def scene() -> None:
        launch = structs.replace(stage.launch(), environment=served(stage.base / "home"))
        session = await stage.runtime(("sleep", "1000")).start(launch, stage.listener)
        await session.stop(Urgency.NOW)
        await session.wait()

    run(scene())
    assert stage.listener.said == []


@pytest.mark.usefixtures("launcher")
def test_an_interrupt_reaches_the_program_and_not_the_process_that_waits_for_it(
    stage: Stage,
) -> None:
    script = "trap 'echo heard' INT; echo ready; while :; do sleep 1000 & wait $!; done"

    async def scene() -> None:
        launch = structs.replace(stage.launch(), environment=served(stage.base / "home"))
        session = await stage.runtime(sh(script)).start(launch, stage.listener)
        await stage.listener.ready()
        assert session.pid is not None
        os.killpg(session.pid, signal.SIGINT)
        await stage.listener.until(lambda: "heard" in stage.listener.lines())
        await session.kill()
        await session.wait()

    run(scene())


def test_bubblewrap_is_used_where_muster_may_not_make_namespaces(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = isolation.plan_file

    def no_plan(policy: IsolationPolicy, abi: int, *, enters: bool = True) -> int:
        nowhere = IsolationPolicy(policy.level, [(isolation.HIDE, "/nowhere")])
        return real(nowhere if enters else policy, abi, enters=enters)

    monkeypatch.setattr(isolation, "plan_file", no_plan)
    assert isolation.means("home") == ("/usr/bin/bwrap", "")
    assert isolation.means("strict") == ("/usr/bin/bwrap", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert isolation.means("home") == ("", "/nowhere: No such file or directory")
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho no namespaces >&2; exit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    _, why = isolation.means("home")
    assert why == f"/nowhere: No such file or directory; {tmp_path}/bwrap: no namespaces"


def test_a_start_that_is_given_up_leaves_no_process(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launcher is held in the middle, as by a busy machine."""
    fifo = stage.base / "hold"
    os.mkfifo(fifo)
    held = stage.base / "launcher"
    held.write_text(f"#!/bin/sh\nread -r line <{fifo}\n")
    held.chmod(0o755)

    def launcher(_plan: int, _report: int) -> list[str]:
        return [str(held)]

    monkeypatch.setattr(isolation, "launcher", launcher)

    async def scene() -> None:
        launch = structs.replace(stage.launch(), environment=served(stage.base / "home"))
        async with asyncio.TaskGroup() as tasks:
            start = tasks.create_task(stage.runtime(("true",)).start(launch, stage.listener))
            writer = await asyncio.to_thread(os.open, fifo, os.O_WRONLY)  # it waits for its line
            start.cancel()
        with pytest.raises(BrokenPipeError):
            os.write(writer, b"\n")
        os.close(writer)

    run(scene())


def test_a_launcher_that_cannot_hide_runs_nothing(stage: Stage) -> None:
    policy = IsolationPolicy("home", [(isolation.HIDE, str(stage.base / "nowhere"))])
    plan = isolation.plan_file(policy, 1)
    try:
        line = [*isolation.launcher(plan, 2), "echo", "ran"]
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
