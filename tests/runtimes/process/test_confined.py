"""Confined sessions: a real program that tries to write where it may and where it may not."""

import os
import socket
import sys
from pathlib import Path

import pytest
from msgspec import structs

from muster.confine.kernel import Support, support
from muster.errors import CannotStart
from muster.machines.vocabulary import Outcome
from muster.runtimes.catalog import runtime_of
from muster.runtimes.process.confined import WritablePaths, confined
from muster.settings.agents import AgentSettings, Confine
from tests.builders import run
from tests.runtimes.programs import PLAIN, Stage, sh

TRIES = """
try() { if (: > "$1") 2>/dev/null; then echo "wrote $2"; else echo "denied $2"; fi; }
try {base}/elsewhere elsewhere
try {team}/muster.toml settings
try {team}/agents/Ada/agent_state.json state
try {team}/agents/Ada/outputs/mine outputs
try "$MUSTER_WORKSPACE/named" workspace
try "$TMPDIR/x" scratch
try {base}/sub/file sub
try /dev/null null
if chmod 600 {base}/sub 2>/dev/null; then echo "changed mode"; else echo "kept mode"; fi
"""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    (tmp_path / "home" / "agents" / "Ada").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    return Stage(tmp_path)


def placed(stage: Stage, script: str) -> str:
    return script.replace("{base}", str(stage.base)).replace("{team}", str(stage.base / "home"))


def lines_of(stage: Stage, level: Confine, script: str = TRIES) -> tuple[set[str], str]:
    """The lines that the program prints, and how its session was confined."""
    settings = structs.replace(PLAIN, command=sh(placed(stage, script)), confine=level)

    said: list[str] = []

    async def scene() -> None:
        runtime = runtime_of(settings, stage.base / "home")
        session = await runtime.start(stage.launch(), stage.listener)
        end = await session.wait()
        assert end.outcome is Outcome.COMPLETED, end
        said.append(session.confinement)

    run(scene())
    return set("\n".join(stage.listener.lines()).split("\n")), said[0]


def test_a_session_confined_to_its_outputs_writes_nothing_else(stage: Stage) -> None:
    said, confinement = lines_of(stage, "outputs")
    assert said == {
        "denied elsewhere",
        "denied settings",
        "denied state",
        "wrote outputs",
        "wrote workspace",
        "wrote scratch",
        "denied sub",
        "wrote null",
        "kept mode",
    }
    assert confinement == f"writes only its outputs: {support().sentence}"
    assert not (stage.base / "elsewhere").exists()


def test_a_session_confined_to_its_worktree_writes_there_and_not_in_the_home(stage: Stage) -> None:
    said, confinement = lines_of(stage, "worktree")
    assert {"denied settings", "denied state", "wrote outputs", "wrote sub"} <= said
    assert "denied elsewhere" in said, "a folder around the home has no new files"
    assert confinement.startswith("writes only its working directory and its outputs: ")


def test_a_worktree_beside_the_home_is_written_as_a_whole(stage: Stage) -> None:
    work = stage.base / "work"
    work.mkdir()
    (work / "link").symlink_to(stage.base / "sub")
    script = f"cd {work} && echo x > new.txt && chmod 755 new.txt && mkdir d && mv new.txt d/\n"
    script += f"(echo x > {work}/link/out) 2>/dev/null || echo denied\n"
    settings = structs.replace(PLAIN, command=sh(script), confine="worktree", cwd="work")

    async def scene() -> None:
        session = await runtime_of(settings, stage.base / "home").start(
            stage.launch(), stage.listener
        )
        await session.wait()

    run(scene())
    assert (work / "d" / "new.txt").stat().st_mode & 0o777 == 0o755
    assert stage.listener.lines() == ["denied"]


def test_a_link_beside_the_home_leads_nowhere(
    stage: Stage, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (stage.base / "link").symlink_to(other)
    said, _ = lines_of(stage, "worktree", "(echo x > {base}/link/f) 2>/dev/null || echo denied")
    assert said == {"denied"}


REACHES = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('reached')"


@pytest.mark.parametrize(
    ("level", "sockets", "reached"),
    [("outputs", False, False), ("worktree", False, False), ("outputs", True, True)],
)
def test_a_confined_session_reaches_a_daemon_only_if_its_settings_say_so(
    level: Confine, sockets: bool, reached: bool, stage: Stage
) -> None:
    path = stage.base / "daemon.sock"
    command = (sys.executable, "-I", "-S", "-c", REACHES, str(path))
    settings = structs.replace(PLAIN, command=command, confine=level, sockets=sockets)

    async def scene() -> None:
        runtime = runtime_of(settings, stage.base / "home")
        session = await runtime.start(stage.launch(), stage.listener)
        await session.wait()

    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(path))
        daemon.listen()
        run(scene())
    assert ("reached" in stage.listener.lines()) is reached


def test_without_confinement_a_session_writes_everywhere_and_says_nothing(stage: Stage) -> None:
    said, confinement = lines_of(stage, "none")
    assert {"wrote elsewhere", "wrote settings", "changed mode"} <= said
    assert confinement == ""


def test_a_confined_program_that_does_not_exist_is_named_as_always(stage: Stage) -> None:
    async def start(*command: str) -> None:
        settings = AgentSettings(command=command, confine="outputs")
        await runtime_of(settings, stage.base / "home").start(stage.launch(), stage.listener)

    with pytest.raises(CannotStart, match="Install it, or correct the agent's command"):
        run(start("no-such-program"))
    (stage.base / "plain").write_text("#!/bin/sh\n")
    with pytest.raises(CannotStart, match=r"chmod \+x"):
        run(start("./plain"))


def test_a_machine_that_cannot_confine_runs_the_program_and_says_why(tmp_path: Path) -> None:
    without = Support(0, why="this kernel has no Landlock")
    with confined(("true",), "outputs", WritablePaths(), os.environ, tmp_path, without) as found:
        assert found.argv == ("true",)
        assert found.sentence.startswith("not confined: this kernel has no Landlock")
        assert found.files == ()


def test_bubblewrap_confines_where_landlock_is_missing(tmp_path: Path) -> None:
    wrapped = Support(0, bubblewrap="/usr/bin/bwrap", why="this kernel has no Landlock")
    paths = WritablePaths(outputs=(tmp_path,))
    with confined(("true",), "outputs", paths, os.environ, tmp_path, wrapped) as found:
        assert found.argv[0] == "/usr/bin/bwrap"
        assert str(tmp_path) in found.argv
        assert "confined by bubblewrap" in found.sentence
