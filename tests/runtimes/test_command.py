"""The `command` runtime with real programs: what they are given, what they say, how they end."""

import asyncio
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from muster.engine.ports import AgentText, BadLine, Exit, Launch, Output, TurnDone
from muster.errors import CannotStart
from muster.machines.vocabulary import Outcome, RunMode, Urgency
from muster.runtimes import command
from muster.runtimes.process import processes
from muster.runtimes.process.spawn import SpawnedProgram
from muster.settings.agents import AgentSettings
from muster.testing.runtime import Unasked
from tests.builders import run
from tests.runtimes.programs import (
    ADA,
    READY,
    DeafListener,
    Stage,
    alive,
    new_session,
    open_files,
    sh,
)

WELL = Exit(outcome=Outcome.COMPLETED, code=0)
LONG_LIVED = AgentSettings(long_lived=True)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


# ── what a program is given ───────────────────────────────────────────────────────────────────────


def test_a_program_reads_its_prompt_on_stdin_to_its_end(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start(("cat",), prompt="Wer bist du?\nSag es.")
        assert await session.wait() == WELL
        assert stage.listener.said == [Output(stream="stdout", text="Wer bist du?\nSag es.")]

    run(scene())


def test_a_large_prompt_is_handed_over_while_the_program_talks(stage: Stage) -> None:
    prompt = "x" * 99 + "\n"

    async def scene() -> None:
        session = await stage.start(("cat",), prompt=prompt * 20_000)
        assert await session.wait() == WELL
        assert (stage.folder / "output.log").read_text() == prompt * 20_000

    run(scene())


@pytest.mark.parametrize("script", ["exec <&-; echo done", "echo done"])
def test_a_program_that_does_not_read_its_prompt_holds_nobody_up(stage: Stage, script: str) -> None:
    async def scene() -> None:
        session = await stage.start(sh(script), prompt="x" * 1_000_000)
        assert await session.wait() == WELL
        assert stage.listener.lines() == ["done"]

    run(scene())


def test_a_prompt_in_a_file_is_for_its_owner_only_and_stdin_is_empty(stage: Stage) -> None:
    async def scene() -> None:
        settings = AgentSettings(prompt="file")
        for prompt in ("an older one, longer than that", "Read me"):
            session = await stage.start(
                sh('cat; cat "$MUSTER_PROMPT_FILE"'), settings, prompt=prompt
            )
            assert await session.wait() == WELL
        assert stage.listener.lines()[-1] == "Read me"
        path = stage.folder / "prompt.md"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(stage.folder.stat().st_mode) == 0o700

    run(scene())


def test_a_program_may_want_no_prompt(stage: Stage) -> None:
    async def scene() -> None:
        settings = AgentSettings(prompt="none")
        session = await stage.start(sh("cat; echo $MUSTER_PROMPT_FILE."), settings, prompt="secret")
        assert await session.wait() == WELL
        assert stage.listener.lines() == ["."]

    run(scene())


def test_a_cleanup_session_gets_its_flag_and_others_do_not(stage: Stage) -> None:
    async def scene() -> None:
        for mode in (RunMode.RUN_ONCE, RunMode.RUN_CLEANUP, RunMode.CONTINUOUS):
            await (await stage.start(("echo", "-"), mode=mode)).wait()
        assert stage.listener.lines() == ["-", "- --cleanup-session", "-"]

    run(scene())


def test_a_program_runs_where_and_with_what_its_settings_say(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_HOME", "of somebody else")
    monkeypatch.setenv("KEPT", "kept")
    (stage.base / "there").mkdir()

    async def scene() -> None:
        settings = AgentSettings(cwd="there", env={"ADDED": "added"})
        runtime = stage.runtime(
            sh("pwd; echo $KEPT $ADDED $MUSTER_URL; env | grep ^MUSTER_"), settings
        )
        session = new_session()
        launch = Launch(
            session=session, agent=ADA, mode=RunMode.RUN_ONCE, environment={"MUSTER_URL": "url"}
        )
        await (await runtime.start(launch, stage.listener)).wait()
        pwd, words, *ours = stage.listener.lines()
        assert pwd == str(stage.base / "there")
        assert words == "kept added url"
        assert sorted(ours) == ["MUSTER_LINES=1", f"MUSTER_SESSION={session}", "MUSTER_URL=url"]

    run(scene())


def test_an_environment_file_is_read_at_each_start_and_env_goes_before_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FROM_MUSTER", "muster")
    monkeypatch.setenv("BOTH", "muster")
    file = stage.base / "agent.env"

    async def scene() -> None:
        settings = AgentSettings(env_file="agent.env", env={"WINS": "env"})
        for number in ("1", "2"):
            file.write_text(f"N={number}\nBOTH=file\nWINS=file\n")
            script = sh("echo $N $FROM_MUSTER $BOTH $WINS $MUSTER_SESSION")
            session = await stage.start(script, settings)
            await session.wait()
        first, second = stage.listener.lines()
        assert first.startswith("1 muster file env test-")
        assert second.startswith("2 muster file env test-")

    run(scene())


def test_a_mistake_in_an_environment_file_is_a_failed_start_without_its_values(
    stage: Stage,
) -> None:
    (stage.base / "agent.env").write_text("A=1\nMUSTER_SESSION=hunter2\n")

    async def scene() -> None:
        with pytest.raises(CannotStart) as caught:
            await stage.start(("true",), AgentSettings(env_file="agent.env"))
        text = str(caught.value)
        assert f"env_file {stage.base / 'agent.env'} line 2: MUSTER_SESSION is muster's" in text
        assert "hunter2" not in text

    run(scene())


# ── what cannot be started ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("command", "settings", "words"),
    [
        (("no-such-program",), AgentSettings(), ["'no-such-program'", "Install it"]),
        (("./missing",), AgentSettings(), ["'./missing'", "Install it"]),
        (("./plain",), AgentSettings(), ["'./plain'", "chmod +x"]),
        (("./nonsense",), AgentSettings(), ["'./nonsense'", "first line"]),
        (("./orphan",), AgentSettings(), ["'./orphan'", "interpreter"]),
        (("sh",), AgentSettings(cwd="nowhere"), ["/nowhere", "no such folder", "cwd"]),
        (("sh", "\0"), AgentSettings(), ["null byte"]),
    ],
)
@pytest.mark.parametrize("is_isolated", [False, True], ids=["plain", "isolated"])
def test_what_cannot_be_started_says_why_and_leaves_nothing_behind(
    stage: Stage,
    command: tuple[str, ...],
    settings: AgentSettings,
    words: list[str],
    is_isolated: bool,
) -> None:
    home = stage.base / "home"
    home.mkdir()
    (home / "muster.toml").touch()
    served = {"MUSTER_HOME": str(home), "MUSTER_URL": "http://127.0.0.1:9"}
    (stage.base / "plain").write_text("#!/bin/sh\n")
    for name, text in (("nonsense", "\0\1\2"), ("orphan", "#!/no/such/interpreter\n")):
        (stage.base / name).write_text(text)
        (stage.base / name).chmod(0o755)

    async def scene() -> None:
        before = open_files()
        with pytest.raises(CannotStart) as refused:
            await stage.runtime(command, settings).start(
                replace(stage.launch(prompt="x"), environment=served if is_isolated else {}),
                stage.listener,
            )
        assert all(word in str(refused.value) for word in words), str(refused.value)
        assert not open_files() - before
        assert stage.listener.said == []

    run(scene())


def test_a_program_whose_session_cannot_begin_does_not_stay(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids: list[int] = []

    def fail(program: SpawnedProgram, *_: object, **__: object) -> None:
        pids.append(program.process.pid)
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(command, "CommandSession", fail)

    async def scene() -> None:
        before = open_files()
        with pytest.raises(CannotStart, match="too many open files"):
            await stage.start(("sleep", "1000"), LONG_LIVED)
        assert not open_files() - before
        assert processes.start_time(pids[0]) is None

    run(scene())


def test_a_prompt_that_cannot_be_written_is_said_and_nothing_starts(stage: Stage) -> None:
    stage.folder.parent.mkdir(parents=True)
    stage.folder.write_text("in its place")

    async def scene() -> None:
        with pytest.raises(CannotStart, match="prompt cannot be written"):
            await stage.start(("true",), AgentSettings(prompt="file"), prompt="x")

    run(scene())


def test_half_a_character_in_a_prompt_stops_nobody(stage: Stage) -> None:
    async def scene() -> None:
        for settings in (AgentSettings(), LONG_LIVED, AgentSettings(prompt="file")):
            session = await stage.start(
                sh('cat "${MUSTER_PROMPT_FILE:--}"'), settings, prompt="a\ud800b"
            )
            await session.stop(Urgency.GRACEFUL)
            assert await session.wait() == WELL
        assert stage.listener.lines() == ["a?b", '{"type":"prompt","text":"a?b"}', "a?b"]

    run(scene())


def test_a_prompt_file_without_a_folder_cannot_be_written(stage: Stage) -> None:
    async def scene() -> None:
        runtime = stage.runtime(("true",), AgentSettings(prompt="file"))
        launch = Launch(session=new_session(), agent=ADA, mode=RunMode.RUN_ONCE, prompt="x")
        with pytest.raises(CannotStart, match="no folder"):
            await runtime.start(launch, stage.listener)

    run(scene())


# ── what it says, and how it ends ─────────────────────────────────────────────────────────────────


def test_what_a_program_says_is_heard_as_it_comes(stage: Stage) -> None:
    program = """
print("one", flush=True)
sys.stdin.readline()
print('{"type":"say","text":"hello"}')
print("TURN_COMPLETE", flush=True)
print('{"type":"say"}', flush=True)
print("TURN_COMPLETE", file=sys.stderr)
"""

    async def scene() -> None:
        settings = AgentSettings(long_lived=True)
        session = await stage.start(stage.python(program), settings)
        await stage.listener.until(lambda: stage.listener.text() == "one")
        assert await session.send_prompt("go on")
        assert await session.wait() == WELL
        said, done, bad = stage.listener.words()
        assert (said, done) == (AgentText(text="hello"), TurnDone())
        assert isinstance(bad, BadLine)
        assert stage.listener.text("stderr") == "TURN_COMPLETE"

    run(scene())


def test_a_program_that_exits_at_once_has_said_all(stage: Stage) -> None:
    async def scene() -> None:
        for _ in range(20):
            stage.listener.said.clear()
            session = await stage.start(sh("echo out; echo err >&2"))
            assert await session.wait() == WELL
            assert stage.listener.text() == "out"
            assert stage.listener.text("stderr") == "err"

    run(scene())


def test_a_program_that_fails_says_why_with_its_last_words(stage: Stage) -> None:
    async def scene() -> None:
        script = "echo out; echo first >&2; echo it is $(printf %0400d 0) >&2; echo >&2; exit 3"
        end = await (await stage.start(sh(script))).wait()
        assert (end.outcome, end.code) == (Outcome.FAILED, 3)
        assert end.reason.endswith("000")  # the end of a long line
        assert len(end.reason) == 300

    run(scene())


@pytest.mark.parametrize(("number", "name"), [(11, "SIGSEGV"), (9, "SIGKILL"), (40, "signal 40")])
def test_a_signal_that_nobody_asked_for_is_a_crash(stage: Stage, number: int, name: str) -> None:
    async def scene() -> None:
        end = await (await stage.start(sh(f"kill -{number} $$"))).wait()
        assert end == Exit(outcome=Outcome.CRASHED, code=-number, reason=f"killed by {name}")

    run(scene())


def test_a_session_knows_its_process_and_any_number_may_wait_for_it(stage: Stage) -> None:
    async def scene() -> None:
        session = await stage.start(sh(f"echo {READY}; read x"), LONG_LIVED)
        await stage.listener.ready()
        assert session.pid is not None
        assert session.started == processes.start_time(session.pid)
        impatient = asyncio.ensure_future(session.wait())
        waiting = [asyncio.ensure_future(session.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        impatient.cancel()
        await session.stop(Urgency.GRACEFUL)
        ends = await asyncio.gather(*waiting)
        assert [end.code for end in ends] == [1, 1, 1]
        assert await session.wait() == ends[0]

    run(scene())


def test_a_flood_is_told_in_part_and_kept_whole(stage: Stage) -> None:
    lines = 400_000

    async def scene() -> None:
        script = f"seq {lines}; echo TURN_COMPLETE; seq {lines}"
        assert await (await stage.start(sh(script))).wait() == WELL
        outputs = stage.listener.outputs()
        whole = "".join(f"{number}\n" for number in range(1, lines + 1))
        kept = (stage.folder / "output.log").read_text()
        assert kept == f"{whole}TURN_COMPLETE\n{whole}"
        assert stage.listener.words() == [TurnDone()]
        told = sum(len(output.text) + 1 + output.omitted for output in outputs)
        assert told == 2 * len(whole)
        assert sum(len(output.text) for output in outputs) < len(whole) / 2
        assert outputs[-1].text.endswith(f"\n{lines}")

    run(scene())


def test_a_program_waits_while_nobody_listens_and_nothing_is_lost(stage: Stage) -> None:
    listener = stage.listener = DeafListener()

    async def scene() -> None:
        session = await stage.start(sh("seq 40000; echo TURN_COMPLETE"))
        await listener.asked.wait()
        assert alive(session.pid)
        listener.listens.set()
        assert await session.wait() == WELL
        assert stage.listener.lines() == [str(number) for number in range(1, 40001)]
        assert isinstance(stage.listener.said[-1], TurnDone)

    run(scene())


def test_a_session_can_be_killed_while_nobody_listens(stage: Stage) -> None:
    listener = stage.listener = DeafListener()

    async def scene() -> None:
        session = await stage.start(sh("seq 40000; echo TURN_COMPLETE"))
        await listener.asked.wait()
        await session.kill()
        assert not alive(session.pid)
        listener.listens.set()
        assert (await session.wait()).reason == "killed"
        assert stage.listener.lines()[:2] == ["1", "2"]

    run(scene())


def test_an_ear_that_fails_takes_nothing_from_the_program(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Unasked):
        async def on_report(self, report: object) -> None:
            raise RuntimeError("no")

    async def scene() -> None:
        session = await stage.runtime(sh("echo a; echo TURN_COMPLETE")).start(
            stage.launch(), Failing()
        )
        assert await session.wait() == WELL

    run(scene())
    assert len(caplog.records) == 2
