"""`muster start`, `stop`, `once`, `cleanup`, `restart` and `logs`, as a person types them."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from threading import Timer

import pytest
from msgspec.structs import replace

from muster.cli.act import waiting
from muster.cli.act.run_control import in_a_line
from muster.cli.act.waiting import Ended, WaitLimit, answers, exit_code, judged_by, wait_for
from muster.cli.render import file_size
from muster.client import requests
from muster.client.sync import Client
from muster.home.lock import LOG_FILE
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import NodeId, SeatId, SessionId
from muster.machines.state import Phase
from muster.machines.vocabulary import Authority, Budget, RunMode
from muster.store.reading import LogReader
from muster.views.answers.agents import Badge, BadgeWord, RosterGroup, RunView, SessionView
from tests.homes import MUSTER_SCRIPT, append, environment, muster, play
from tests.live import live
from tests.waits import LIFE_SECONDS, WAIT_SECONDS, until

_numbers = count(1)


PRINTS = "echo $MUSTER_MODE; echo oops >&2; printf '%s\\n' \"$@\""

SETTINGS = f"""
[agents.prints]
command = ["sh", "-c", {json.dumps(PRINTS)}, "sh"]
loop = true

[agents.stays]
command = ["sh", "-c", "echo here; exec sleep {LIFE_SECONDS:.0f}"]
interrupt_seconds = 5

[agents.missing]
command = ["no-such-program"]
groups = ["broken"]

[agents.fails]
command = ["sh", "-c", "echo no key >&2; exit 3"]
groups = ["broken"]

[agents.quits]
command = ["sh", "-c", "echo no key >&2; exit 3"]
restart = "never"
groups = ["other"]

[agents.limited]
command = ["true"]
budget = {{ sessions_per_hour = 1 }}

[agents.nightly]
command = ["sh", "-c", "exec sleep {LIFE_SECONDS:.0f}"]
interrupt_seconds = 5
schedule = "0 3 1 1 *"
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """The home of a team that is up."""
    path = tmp_path_factory.mktemp("control") / "home"
    path.mkdir(mode=0o700)
    (path / "muster.toml").write_text(SETTINGS)
    with live(path):
        yield path


@pytest.fixture
def pm(home: Path) -> str:
    """An agent that connects by itself, and is here."""
    name = f"pm-{next(_numbers)}"
    with Client(home=home) as client:
        client.register(name)
        client.connect(name)
    return name


def does(home: Path, *args: str, code: int = 0) -> str:
    """Type a verb; give what it prints."""
    ran = muster(*args, "--home", str(home))
    assert (ran.returncode, ran.stderr) == (code, ""), ran.stderr
    return ran.stdout


# ── wishes ────────────────────────────────────────────────────────────────────────────────────────


def test_an_agent_is_stopped_and_started_with_one_line_each(home: Path, pm: str) -> None:
    told = does(home, "stop", pm, "--note", "lunch")
    assert told == f"{pm}: desired pause (lunch), running; the agent is told at its next request\n"
    told = does(home, "start", pm)
    assert told == f"{pm}: desired continuous, running\n"


def test_one_session_and_one_cleanup_session_can_be_wanted(home: Path, pm: str) -> None:
    assert does(home, "once", pm).startswith(f"{pm}: desired run_once, ")
    assert does(home, "cleanup", pm).startswith(f"{pm}: desired run_cleanup, ")
    told = json.loads(does(home, "stop", pm, "--now", "--json", "--note", "enough"))
    assert (told["desired"], told["note"], told["generation"]) == ("pause", "enough", 3)


def test_an_invalid_desired_state_is_refused(home: Path, pm: str) -> None:
    ran = muster("start", "nobody", "--home", str(home))
    assert (ran.returncode, "no agent 'nobody'" in ran.stderr) == (3, True)
    for verb in ("once", "cleanup"):
        ran = muster(verb, pm, "--now", "--home", str(home))
        assert (ran.returncode, "--now" in ran.stderr) == (2, True)
    ran = muster("stop", pm, "--note", "x" * 501, "--home", str(home))
    assert ran.returncode == 2


def test_without_a_server_it_is_said_how_to_start_one(tmp_path: Path) -> None:
    for verb in ("start", "stop", "once", "cleanup"):
        ran = muster(verb, "pm", "--home", str(tmp_path))
        assert (ran.returncode, "`muster up` starts one" in ran.stderr) == (4, True)


@contextmanager
def typed(home: Path, *args: str) -> Generator[subprocess.Popen[str]]:
    """A verb that goes on, which is killed where a test would wait for ever."""
    with subprocess.Popen(
        [MUSTER_SCRIPT, *args, "--home", str(home)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({}),
        text=True,
    ) as process:
        bound = Timer(LIFE_SECONDS, process.kill)
        bound.start()
        try:
            yield process
        finally:
            process.kill()
            bound.cancel()


def wanted(client: Client, agent: str, generation: int) -> None:
    """Wait until a wish of that number is on record."""
    for event in client.events(after=-1, types=["desired_set"], agent=agent):
        if json.loads(event.data)["generation"] >= generation:
            return


def test_wait_returns_when_the_desired_state_is_reached(home: Path, pm: str) -> None:
    with Client(home=home) as client, typed(home, "stop", pm, "--wait") as waiting:
        wanted(client, pm, 1)
        client.disconnect(pm)
        told, complaint = waiting.communicate(timeout=WAIT_SECONDS)
        assert (waiting.returncode, told, complaint) == (
            0,
            f"{pm}: desired pause, not running\n",
            "",
        )
    assert does(home, "stop", pm, "--wait") == f"{pm}: desired pause, not running\n"


def test_wait_ends_when_the_desired_state_is_set_again(home: Path, pm: str) -> None:
    with Client(home=home) as client, typed(home, "stop", pm, "--wait") as waiting:
        wanted(client, pm, 1)
        client.run(pm, "continuous", note="go on")
        told, complaint = waiting.communicate(timeout=WAIT_SECONDS)
        assert (waiting.returncode, complaint) == (1, "")
        assert told == f"{pm}: desired continuous (go on), running\n"


def test_wait_ends_at_once_for_a_disabled_agent(home: Path, pm: str) -> None:
    with Client(home=home) as client:
        client.ask(requests.disable(pm))
    told = does(home, "once", pm, "--wait", code=1)
    assert told.endswith(f"disabled: `muster agent enable {pm}` lets it run\n")


def test_ctrl_c_ends_the_waiting(home: Path, pm: str) -> None:
    with Client(home=home) as client, typed(home, "stop", pm, "--wait") as waiting:
        wanted(client, pm, 1)
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(WAIT_SECONDS) == 130


# ── programs that muster runs ─────────────────────────────────────────────────────────────────────


def output_of(home: Path, agent: str) -> list[tuple[str, str]]:
    """The output of an agent so far, piece by piece."""
    with Client(home=home) as client:
        page = client.output(agent, after=-1)
        return [(each.stream, each.text) for each in page.output]


def ended(home: Path, agent: str) -> None:
    """Wait until an agent's session is over. One that is stopped before its program is up ends
    without a transition of the run, so no event of that is waited for."""
    with Client(home=home) as client:

        def is_over() -> bool:
            run = client.ask(requests.run_state(agent))
            return run.current is RunMode.PAUSE and run.session is None

        until(is_over)


def test_a_program_is_run_once_and_tidies_up_once(home: Path) -> None:
    told = does(home, "once", "prints", "--wait")
    assert told.startswith("prints: desired ")
    ended(home, "prints")
    does(home, "cleanup", "prints", "--wait")
    ended(home, "prints")
    pieces = output_of(home, "prints")
    printed = [line for stream, text in pieces if stream == "stdout" for line in text.split("\n")]
    assert [line for line in printed if line] == ["run_once", "run_cleanup", "--cleanup-session"]
    assert [text for stream, text in pieces if stream == "stderr"] == ["oops", "oops"]
    shown = does(home, "logs", "prints").splitlines()
    assert sum(line.startswith("── session ") for line in shown) == 2
    assert sum(line.endswith("! oops") for line in shown) == 2


def test_a_program_that_does_not_end_is_stopped_by_asking_twice(home: Path) -> None:
    told = does(home, "start", "stays", "--wait")
    assert ", running (session " in told
    told = does(home, "stop", "stays")
    assert ", stopping (session " in told
    assert does(home, "stop", "stays", "--wait") == "stays: desired pause, not running\n"
    does(home, "start", "stays", "--wait")
    assert does(home, "stop", "stays", "--now", "--wait") == "stays: desired pause, not running\n"


def test_wait_reports_a_missing_program(home: Path) -> None:
    told = does(home, "start", "missing", "--wait", code=225)
    assert "; failed 1x (" in told
    assert "'no-such-program'" in told
    told = does(home, "once", "missing", "--wait", code=225)
    assert told.startswith("missing: desired pause (run_once crashed: ")


@pytest.mark.parametrize("agent", ["fails", "quits"])
def test_a_start_of_a_program_that_fails_at_once_exits_with_its_code(
    home: Path, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 15: it exited with 0 where the session failed after the line was printed."""
    monkeypatch.setattr(waiting, "STAYS_UP_SECONDS", WAIT_SECONDS)  # however busy the machine is
    with Client(home=home) as client:
        asked = client.run(agent, RunMode.CONTINUOUS)
        assert wait_for(client, asked, WaitLimit(None)) == Ended(163, "no key")
    does(home, "stop", agent, "--wait")


def test_a_session_that_fails_after_it_has_started_gives_its_code(home: Path) -> None:
    with Client(home=home) as client:
        asked = client.run("quits", RunMode.CONTINUOUS)
        ended(home, "quits")
        answer = client.ask(requests.run_state("quits"))
        assert wait_for(client, asked, WaitLimit(None)).code == 163
        late = Ended(0, started=asked.seq)  # by the line that is printed it has failed
        assert judged_by(client, late, answer) == Ended(163, "no key")


def test_a_timeout_that_is_over_while_the_session_runs_is_none(home: Path) -> None:
    with Client(home=home) as client:
        asked = client.run("stays", RunMode.CONTINUOUS)
        for event in client.events(after=asked.seq, types=["session_start"], agent="stays"):
            assert event.type == "session_start"
            break
        soon = WaitLimit(None).at_most(WAIT_SECONDS)
        assert wait_for(client, asked, soon).code == 0
    does(home, "stop", "stays", "--now", "--wait")


def test_an_earlier_failure_does_not_count_against_a_start(home: Path) -> None:
    does(home, "once", "quits", "--wait", code=163)
    with Client(home=home) as client:
        run = client.ask(requests.run_state("quits"))
        assert run.last_failure is not None
        assert judged_by(client, Ended(0, started=run.seq), run).code == 0
        assert judged_by(client, Ended(0), run).code == 0  # a stop is no start


def test_the_exit_code_of_a_single_session_says_how_it_ended(home: Path) -> None:
    told = does(home, "once", "fails", "--wait", code=163)
    assert "run_once failed: no key" in told
    codes = [exit_code("failed", code) for code in (1, 63, 64, 255, None)]
    assert codes == [161, 223, 224, 224, 225]
    assert exit_code("crashed", -9) == 225
    assert exit_code("completed", -2) == 0


def test_wait_for_a_single_session_lasts_until_it_has_ended(home: Path) -> None:
    told = does(home, "once", "prints", "--wait")
    assert told.startswith("prints: desired pause (run_once completed")
    assert told.endswith(", not running\n")
    assert does(home, "cleanup", "prints", "--wait").startswith("prints: desired pause (run_cl")


def test_wait_for_a_single_session_of_an_agent_that_connects_by_itself(home: Path, pm: str) -> None:
    with Client(home=home) as client, typed(home, "once", pm, "--wait") as waiting:
        wanted(client, pm, 1)
        client.ask(requests.heartbeat(pm, current=RunMode.RUN_ONCE))
        client.ask(requests.heartbeat(pm, current=RunMode.PAUSE))
        told, complaint = waiting.communicate(timeout=WAIT_SECONDS)
        assert (waiting.returncode, complaint) == (0, ""), told


def test_several_agents_give_a_line_each_and_the_worst_exit_code(home: Path) -> None:
    told = does(home, "once", "--group", "broken", "--wait", code=225)
    assert [line.split(":")[0] for line in told.splitlines()] == ["missing", "fails"]
    ran = muster("stop", "nobody", "prints", "--home", str(home))
    assert (ran.returncode, "no agent 'nobody'" in ran.stderr) == (3, True)
    assert ran.stdout.startswith("prints: desired pause")
    assert "prints" in does(home, "stop", "--all", "--wait")
    for wrong in ((), ("prints", "--all")):
        ran = muster("stop", *wrong, "--home", str(home))
        assert (ran.returncode, "--group G or --all" in ran.stderr) == (2, True)
    ran = muster("stop", "--group", "broken", "--group", "none", "--home", str(home))
    assert (ran.returncode, "group 'none' has no agent to run" in ran.stderr) == (2, True)
    several = does(home, "stop", "--group", "broken", "--group", "other")
    assert [line.split(":")[0] for line in several.splitlines()] == ["missing", "fails", "quits"]


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e400", "0", "-1", "soon"])
def test_a_timeout_that_is_no_number_of_seconds_is_a_usage_error(home: Path, seconds: str) -> None:
    ran = muster("start", "prints", "--wait", "--timeout", seconds, "--home", str(home))
    assert (ran.returncode, "--timeout" in ran.stderr) == (2, True)


def test_an_agent_that_is_named_twice_is_stopped_once(home: Path) -> None:
    does(home, "start", "stays", "--wait")
    told = does(home, "stop", "stays", "stays")  # a second stop would end its session now
    assert told.count("stopping (session ") == 1
    does(home, "stop", "stays", "--now", "--wait")


def test_a_restart_gives_another_process_and_a_paused_agent_is_refused(home: Path) -> None:
    first = does(home, "start", "stays", "--wait")
    second = does(home, "restart", "stays", "--now", "--wait")
    assert "running (session " in second
    assert first != second
    third = does(home, "restart", "--all", "--now", "--wait")  # paused agents are left out
    assert third.startswith("stays: desired continuous, running (session ")
    assert (third.count("\n"), third != second) == (1, True)
    ran = muster("restart", "stays", "--wait", "--timeout", "0.2", "--home", str(home))
    assert (ran.returncode, "stopping" in ran.stdout) == (1, True)  # it never ends
    assert ran.stderr == "muster: stays: gave up after 0.2 s\n"
    does(home, "stop", "stays", "--now", "--wait")
    ran = muster("restart", "stays", "--home", str(home))
    assert (ran.returncode, "is paused" in ran.stderr) == (3, True)


def test_options_about_agents_do_not_restart_the_server(home: Path) -> None:
    for options in (("--wait",), ("--note", "x"), ("--json",), ("--timeout", "1")):
        ran = muster("restart", *options, "--home", str(home))
        assert (ran.returncode, "name them" in ran.stderr) == (2, True)
    ran = muster("start", "prints", "--timeout", "1", "--home", str(home))
    assert (ran.returncode, "--timeout needs --wait" in ran.stderr) == (2, True)


def test_a_start_that_a_budget_forbids_says_so_and_fails(home: Path) -> None:
    does(home, "once", "limited", "--wait")
    for wait in ((), ("--wait",)):
        told = does(home, "start", "limited", *wait, code=1)
        assert "1 session in an hour, as many as its budget allows" in told


def test_a_scheduled_agent_runs_now_if_asked_to(home: Path) -> None:
    armed = does(home, "start", "nightly", "--wait")
    assert armed.startswith("nightly: desired continuous, not running")
    told = does(home, "start", "nightly", "--now", "--wait")
    assert "(session " in told
    assert ", process " in told
    does(home, "stop", "nightly", "--now", "--wait")


def test_output_is_followed_until_ctrl_c(home: Path) -> None:
    does(home, "once", "prints", "--wait")
    ended(home, "prints")
    with typed(home, "logs", "prints", "--follow", "--lines", "0", "--json") as following:
        assert following.stdout is not None
        with Client(home=home) as client:
            # whoever follows says nothing before something comes: go on until it has heard
            client.run("prints", "continuous")
            told = json.loads(following.stdout.readline())
            client.run("prints", "pause")
        assert told["text"].strip() in ("continuous", "oops")
        following.send_signal(signal.SIGINT)
        _, complaint = following.communicate(timeout=WAIT_SECONDS)
        assert (following.returncode, complaint) == (0, "")


# ── the guide ─────────────────────────────────────────────────────────────────────────────────────


def examples(kind: str) -> list[str]:
    """The pieces of the guide that are of a kind."""
    text = (Path(__file__).parents[3] / "docs" / "guides" / "run-control.md").read_text()
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_example_of_the_guide_runs(tmp_path: Path) -> None:
    (script,), (settings,) = examples("sh"), examples("toml")
    (program,) = (each for each in examples("python") if "from muster import Client" in each)
    home = tmp_path / ".muster"
    home.mkdir(mode=0o700)
    (tmp_path / "tidy.sh").write_text(script)
    (home / "muster.toml").write_text(settings)
    with live(home):
        does(home, "once", "tidy", "--wait")
        ended(home, "tidy")
        assert (tmp_path / "now.tmp").exists()
        assert "tidy" in (tmp_path / "last-prompt.txt").read_text()
        shown = does(home, "logs", "tidy")
        assert [line[10:] for line in shown.splitlines()[1:]] == [
            "tidy at work (run_once)",
            "wrote now.tmp",
        ]
        does(home, "cleanup", "tidy", "--wait")
        ended(home, "tidy")
        assert not (tmp_path / "now.tmp").exists()
        assert "tidy: desired continuous, " in does(home, "start", "tidy")
        assert "(enough for today)" in does(home, "stop", "tidy", "--note", "enough for today")
        ended(home, "tidy")
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env=environment({"MUSTER_HOME": str(home)}),
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=True,
        )
        assert ran.stdout.startswith("run_once ")
        assert "stdout tidy at work (run_once)" in ran.stdout


# ── the line ──────────────────────────────────────────────────────────────────────────────────────


def a_run(
    desired: RunMode = RunMode.CONTINUOUS,
    current: RunMode = RunMode.PAUSE,
    *,
    phase: Phase | None = None,
    failures: int = 0,
    note: str = "",
    answered: int = 0,
) -> RunView:
    session = None
    if phase is not None:
        pid = None if phase is Phase.STARTING else 4711
        session = SessionView(id=SessionId("b-7"), pid=pid, mode=desired, phase=phase)
    return RunView(
        agent="Lyra",
        authority=Authority.MUSTER,
        disabled=False,
        desired=desired,
        generation=2,
        set_by="Ada",
        set_at=None,
        note=note,
        current=current,
        answered=answered,
        differs_since=None,
        failures=failures,
        retry_at=datetime(2026, 5, 9, 7, tzinfo=UTC) if failures else None,
        session=session,
        budget=Budget(),
        badge=Badge(status=BadgeWord.IDLE, group=RosterGroup.STOPPED, color="gray", controls=()),
        seq=1,
    )


def test_the_line_says_how_far_a_session_is() -> None:
    assert in_a_line(a_run(phase=Phase.STARTING)).endswith("starting (session b-7)")
    running = a_run(current=RunMode.CONTINUOUS, phase=Phase.RUNNING)
    assert in_a_line(running).endswith("running (session b-7, process 4711)")
    stopping = a_run(RunMode.PAUSE, RunMode.RUN_ONCE, phase=Phase.STOPPING)
    assert in_a_line(stopping).endswith("stopping (session b-7, process 4711)")
    assert "failed 3x, next retry at " in in_a_line(a_run(failures=3))
    assert in_a_line(a_run(), "exit code 3").endswith("not running; failed (exit code 3)")
    assert "failed" not in in_a_line(running, "exit code 3")


def test_the_line_says_what_the_badge_says_of_a_silent_loop_and_of_a_dependency() -> None:
    waiting = replace(a_run(), waits_for=("db", "web"))
    assert in_a_line(waiting).endswith("not running; waits for db, web to run")
    lost = replace(waiting.badge, status=BadgeWord.UNKNOWN, line="its loop is silent")
    loop = replace(a_run(current=RunMode.CONTINUOUS), authority=Authority.FILE, badge=lost)
    assert in_a_line(loop).endswith("desired continuous, unknown: its loop is silent")


def test_the_line_is_harmless_whatever_the_note_is() -> None:
    assert "\x1b" not in in_a_line(a_run(note="\x1b[2J"))


def test_a_wish_is_answered_by_what_was_done_for_it() -> None:
    once = RunMode.RUN_ONCE
    assert not answers(a_run(once, once, answered=1))
    assert answers(a_run(once, once, answered=2))
    assert answers(a_run(RunMode.PAUSE, RunMode.PAUSE, answered=1))
    assert not answers(a_run(RunMode.PAUSE, once, answered=2))


# ── output ────────────────────────────────────────────────────────────────────────────────────────

LYRA = SeatId(0)


def printed(
    text: str, *, stream: str = "stdout", omitted: int = 0, session: str = "b-1"
) -> e.AgentOutput:
    return e.AgentOutput(
        seat=LYRA, session=SessionId(session), stream=stream, text=text, omitted=omitted
    )


def requested(home: Path, seat: SeatId) -> tuple[str, str]:
    """Record the request of a session; its id, and the number at its end."""
    with LogReader.open(home / LOG_FILE) as reader:
        number = str(reader.last_seq() + 1)
    session = f"3f9cd80a-bf1b-{number}"
    request = e.SessionRequested(
        seat=seat,
        session=SessionId(session),
        mode=RunMode.RUN_ONCE,
        generation=1,
        trigger="desired",
    )
    append(home, request)
    return session, number


def test_an_unknown_session_is_refused_with_the_remedy(quiet: Path) -> None:
    """Nothing was printed and the exit code was 0, also for the number that the page shows."""
    marcus = SeatId(LYRA + 1)
    play(quiet, c.EnrollAgent(name="Marcus", authority=Authority.SELF, seat=marcus))
    _, other = requested(quiet, marcus)
    _, own = requested(quiet, LYRA)
    for wrong in ("nosuch", "0", "9" * 40, other, f"e4b3-{own}"):
        ran = muster("logs", "Lyra", "--home", str(quiet), f"--session={wrong}")
        assert (ran.returncode, ran.stdout) == (3, ""), wrong
        assert f"'Lyra' had no session '{wrong}'. `muster logs Lyra` names" in ran.stderr


@pytest.fixture
def quiet(tmp_path: Path) -> Path:
    """The home of a team that is not up, and whose agent has printed nothing yet."""
    play(tmp_path, c.EnrollAgent(name="Lyra", authority=Authority.SELF, seat=LYRA))
    return tmp_path


def test_output_is_shown_without_a_server_with_errors_marked(quiet: Path) -> None:
    append(quiet, printed("reading\n\tthe plan"), printed("no tests yet", stream="stderr"))
    append(quiet, printed("again", session="b-2"))
    lines = does(quiet, "logs", "Lyra").splitlines()
    assert [line[8:] if line[2] == ":" else line for line in lines] == [
        "── session b-1",
        "  reading",
        "          the plan",
        "! no tests yet",
        "── session b-2",
        "  again",
    ]
    assert does(quiet, "logs", "0") == does(quiet, "logs", "lyra")


def test_output_is_chosen_by_time_session_and_stream(quiet: Path) -> None:
    session, number = requested(quiet, LYRA)
    append(quiet, printed("one"), printed("two", stream="stderr"))
    append(
        quiet, printed("three", session=session), printed("four", stream="stderr", session=session)
    )

    def texts(*options: str) -> list[str]:
        told = does(quiet, "logs", "Lyra", "--json", *options).splitlines()
        return [json.loads(line)["text"] for line in told]

    assert texts("--stderr") == ["two", "four"]
    assert texts("--stdout") == ["one", "three"]
    assert texts("--session", session) == ["three", "four"]
    assert texts("--session", session, "--stderr", "-n", "9") == ["four"]
    assert texts("--session", number) == texts("--session", f"3f9c-{number}") == ["three", "four"]
    assert texts("--stderr", "-n", "1") == ["four"]
    told = does(quiet, "logs", "Lyra", "--json").splitlines()
    times = [json.loads(line)["ts"] for line in told]
    assert texts("--since", times[-1]) == texts("--since", times[-1], "-n", "9")
    assert texts("--since", times[0])[-1] == "four"
    assert texts("--since", "2999-01-01") == []
    assert len(texts("--since", "2000-01-01T10:00")) == 4


def test_a_time_since_when_is_an_interval_or_a_time(quiet: Path) -> None:
    append(quiet, *(printed(f"line {number}") for number in range(150)))
    assert len(does(quiet, "logs", "Lyra", "--since", "2000-01-01").splitlines()) == 151
    for wrong in ("yesterday", "10", "-5m", "2026-13-01", ""):
        ran = muster("logs", "Lyra", "--home", str(quiet), "--since", wrong)
        assert ran.returncode == 2, ran.stdout
        assert f"--since {wrong} must be such as 90s, 10m, 2h, 1d or" in ran.stderr
    for right in ("10m", "1d", "90s", "2h"):
        does(quiet, "logs", "Lyra", "--since", right)


def test_what_was_left_out_is_said_with_where_it_is(quiet: Path) -> None:
    append(quiet, printed("before"), printed("after", omitted=1_234_567_890))
    told = does(quiet, "logs", "Lyra").splitlines()
    file = quiet / "agents" / "Lyra" / "output.log"
    assert told[2] == f"… 1.2 GB left out, see {file}"
    assert told[3].endswith("  after")
    append(quiet, e.AgentMoved(seat=LYRA, node=NodeId("gpu-box"), anyway=False))
    assert "see gpu-box:agents/Lyra/output.log" in does(quiet, "logs", "Lyra")


def test_hostile_output_is_shown_harmless(quiet: Path) -> None:
    append(quiet, printed("\x1b[2J\x07 gone\r\u202e\u2028x\x9b31m"))
    told = does(quiet, "logs", "Lyra")
    assert told.endswith("\\x1b[2J\\x07 gone \\u202e x\\x9b31m\n")
    told = does(quiet, "logs", "Lyra", "--json")
    assert told.isascii()
    assert json.loads(told)["text"] == "\x1b[2J\x07 gone\r\u202e\u2028x\x9b31m"


def test_so_many_lines_are_shown_as_are_asked_for(quiet: Path) -> None:
    append(quiet, *(printed(f"{number} a\n{number} b") for number in range(200)))
    told = does(quiet, "logs", "Lyra", "--lines", "3").splitlines()[1:]
    assert [line[10:] for line in told] == ["198 b", "199 a", "199 b"]
    assert len(does(quiet, "logs", "Lyra").splitlines()) == 101
    assert len(does(quiet, "logs", "Lyra", "-n", "300").splitlines()) == 301
    assert len(does(quiet, "logs", "Lyra", "-n", "9999").splitlines()) == 401
    assert does(quiet, "logs", "Lyra", "-n", "0") == ""


def test_programs_get_each_piece_as_json(quiet: Path) -> None:
    append(quiet, printed("a\nb"), printed("oh", stream="stderr", omitted=7))
    pieces = [json.loads(line) for line in does(quiet, "logs", "Lyra", "--json").splitlines()]
    assert [(each["stream"], each["text"], each["omitted"]) for each in pieces] == [
        ("stdout", "a\nb", 0),
        ("stderr", "oh", 7),
    ]
    assert set(pieces[0]) == {"seq", "ts", "session", "stream", "text", "omitted"}


def test_whose_output_is_meant_has_to_be_there(quiet: Path, tmp_path: Path) -> None:
    assert does(quiet, "logs", "Lyra") == ""
    ran = muster("logs", "nobody", "--home", str(quiet))
    assert (ran.returncode, "no agent 'nobody'" in ran.stderr) == (3, True)
    ran = muster("logs", "Lyra", "--home", str(tmp_path / "nowhere"))
    assert ran.returncode == 6


def test_to_follow_a_server_has_to_run(quiet: Path) -> None:
    append(quiet, printed("so far"))
    ran = muster("logs", "Lyra", "--follow", "--home", str(quiet))
    assert (ran.returncode, "`muster up` starts one" in ran.stderr) == (4, True)
    assert ran.stdout.endswith("  so far\n")


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (1, "1 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_960, "1.0 MB"),
        (1_234_567_890, "1.2 GB"),
        (5 * 10**15, "5000.0 TB"),
    ],
)
def test_sizes_are_told_in_their_largest_unit(count: int, told: str) -> None:
    assert file_size(count) == told
