"""The command line as a whole: help, errors, exit codes, pipes, colours, completion."""

import os
import pty
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import click
import msgspec
import pytest

from muster.cli.main import cli
from muster.cli.setup.init import starter
from muster.cli.verbs import VERBS
from muster.engine.snapshots import SNAPSHOT_EVENTS
from muster.errors import MusterError, NobodyToSummon
from muster.settings.agents import AGENT_RULES, AgentSettings, expected
from muster.settings.model import SETTINGS, Settings, load_settings
from muster.version import __version__
from tests.homes import MUSTER_SCRIPT, environment, muster
from tests.waits import WAIT_SECONDS

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def leaves(error: type[MusterError]) -> list[type[MusterError]]:
    return [error, *(leaf for each in error.__subclasses__() for leaf in leaves(each))]


def commands() -> dict[str, click.Command]:
    context = click.Context(cli, info_name="muster")
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


# ── help ──────────────────────────────────────────────────────────────────────────────────────────


def test_help_names_every_verb_with_a_line_about_it_and_gives_examples() -> None:
    told = muster("--help")
    assert told.returncode == 0
    for name, verb in VERBS.items():
        assert name in told.stdout
        assert verb.about in told.stdout
    assert "muster init && muster up" in told.stdout
    assert muster().stdout == told.stdout
    assert muster("-h").stdout == told.stdout


def test_every_verb_exists_and_its_help_begins_with_its_line() -> None:
    found = commands()
    assert list(found) == list(VERBS)
    for name, command in found.items():
        assert (command.help or "").startswith(VERBS[name].about), name


def test_help_and_status_load_no_more_than_they_need() -> None:
    heavy = {"asyncio", "starlette", "uvicorn", "tomllib", "http", "ssl", "concurrent.futures"}
    program = (
        "import sys; from muster.cli.main import run; run(sys.argv[1:]);"
        "print(*sys.modules, file=sys.stderr)"
    )
    for args in (["--help"], ["status", "--home", "/nowhere"]):
        ran = subprocess.run(
            [sys.executable, "-c", program, *args],
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=True,
        )
        assert not heavy & set(ran.stderr.split()), args


def test_the_version_is_printed() -> None:
    assert muster("--version").stdout == f"muster {__version__}\n"


def test_python_dash_m_is_the_same_program() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "muster", "--version"],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert ran.stdout == f"muster {__version__}\n"


# ── errors ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["sttus"], "Unknown verb 'sttus'. Did you mean 'status'?"),
        (["xyzzy"], "Unknown verb 'xyzzy'."),
        (["status", "--jsn"], "--jsn"),
        (["up", "--port", "70000"], "70000"),
        (["log", "--after", "-1"], "-1"),
        (["log", "--limit", "0"], "0"),
        (["log", "--follow", "--after", "1", "--limit", "1"], "gap"),
        (["diagram", "nothing"], "nothing"),
        (["why"], "Missing argument"),
        (["completion", "tcsh"], "tcsh"),
    ],
)
def test_a_wrong_call_is_explained_on_standard_error_with_code_2(
    args: list[str], said: str
) -> None:
    ran = muster(*args)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("muster: ")
    assert said in ran.stderr
    assert "--help" in ran.stderr


@pytest.mark.parametrize("args", [["status"], ["log"], ["why", "Ada"]])
def test_reading_where_there_is_no_team_says_how_to_begin_one(
    tmp_path: Path, args: list[str]
) -> None:
    ran = muster(*args, cwd=tmp_path)
    assert ran.returncode == 6
    assert "muster: There is no team in" in ran.stderr
    assert "muster init" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_in_the_settings_names_file_line_and_remedy(tmp_path: Path) -> None:
    home = tmp_path / ".muster"
    home.mkdir()
    (home / "muster.toml").write_text("[server]\nport = 70000\n")
    ran = muster("up", cwd=tmp_path)
    assert ran.returncode == 2
    place = home / "muster.toml"
    assert ran.stderr == (
        f"muster: {place}:2: server.port is 70000. Give a whole number from 0 to 65535.\n"
    )


def test_an_os_error_is_reported_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = muster("init", "--home", str(tmp_path / "file" / "home"))
    assert ran.returncode == 4
    assert ran.stderr.startswith("muster: ")
    assert "Traceback" not in ran.stderr


def test_every_exit_code_is_documented() -> None:
    text = (REFERENCE / "exit-codes.md").read_text()
    kinds = {error.exit_code for error in leaves(MusterError) if hasattr(error, "exit_code")}
    for code in kinds | {0, 1, 2, 130}:
        assert f"\n| {code} |" in text


# ── the home ──────────────────────────────────────────────────────────────────────────────────────


def test_the_home_is_taken_from_option_variable_or_folder(tmp_path: Path) -> None:
    def home_of(*args: str, **environ: str) -> str:
        return muster(*args, cwd=tmp_path, **environ).stderr

    assert f"no team in {tmp_path}/.muster." in home_of("status")
    assert "no team in /by-variable." in home_of("status", MUSTER_HOME="/by-variable")
    assert "no team in /before." in home_of("--home", "/before", "status", MUSTER_HOME="/v")
    assert "no team in /after." in home_of("--home", "/before", "status", "--home", "/after")
    assert f"no team in {tmp_path}/.muster." in home_of("status", MUSTER_HOME="")


# ── init ──────────────────────────────────────────────────────────────────────────────────────────


def test_init_writes_a_file_that_changes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert muster("init", "--home", str(home)).returncode == 0
    assert home.stat().st_mode & 0o777 == 0o700
    assert load_settings(home, {}) == Settings()


def test_every_default_in_the_starter_file_is_the_real_one(tmp_path: Path) -> None:
    shown = [line.removeprefix("# ") for line in starter().splitlines()]
    (tmp_path / "muster.toml").write_text(
        "\n".join(line for line in shown if line.startswith("[") or " = " in line)
    )
    settings = load_settings(tmp_path, {})
    assert msgspec.structs.replace(settings, agents={}) == Settings()
    for setting in SETTINGS.values():
        assert any(line.startswith(f"{setting.key.partition('.')[2]} = ") for line in shown)


def test_the_agent_in_the_starter_file_is_one_that_could_run(tmp_path: Path) -> None:
    example = starter().partition("# [agents.")[2]
    lines = [line.removeprefix("# ") for line in f"[agents.{example}".splitlines()]
    (tmp_path / "muster.toml").write_text("\n".join(lines))
    (agent,) = load_settings(tmp_path, {}).agents.values()
    assert agent.command
    ran = muster("doctor", "--home", str(tmp_path))
    assert "ok    agent helper" in ran.stdout


def test_init_leaves_a_file_alone_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "muster.toml"
    path.write_text("[server]\nport = 1\n")
    ran = muster("init", "--home", str(tmp_path))
    assert ran.returncode == 3
    assert "was not changed" in ran.stderr
    assert path.read_text() == "[server]\nport = 1\n"


def test_the_default_of_snapshots_is_the_services_own() -> None:
    assert Settings().store.snapshot_every == SNAPSHOT_EVENTS


# ── the fork server of the tests ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "args",
    [
        ["--version"],
        ["nonsense"],
        ["status"],
        ["agents", "--json"],
        ["init"],
        ["permit", "--batch"],
    ],
    ids=" ".join,
)
def test_a_forked_command_line_does_what_the_installed_one_does(
    args: list[str], tmp_path: Path
) -> None:
    command, given = [MUSTER_SCRIPT, *args], '{"state": "MAIN"}\n'
    folders = [tmp_path / "installed" / "here", tmp_path / "forked" / "here"]
    for folder in folders:
        folder.mkdir(parents=True)
    env = environment({"MUSTER_HOME": "home"})
    installed = subprocess.run(
        command,
        cwd=folders[0],
        env=env,
        input=given,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    forked = muster(*args, cwd=folders[1], stdin=given, MUSTER_HOME="home")
    assert (forked.returncode, forked.stdout, forked.stderr) == (
        installed.returncode,
        installed.stdout.replace("installed/here", "forked/here"),
        installed.stderr.replace("installed/here", "forked/here"),
    )
    before, after = ({each.relative_to(folder) for each in folder.rglob("*")} for folder in folders)
    assert before == after


# ── pipes and terminals ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("args", [["--help"], ["diagram", "turns"], ["doctor"]])
def test_a_reader_that_closes_the_pipe_is_no_error(args: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        ran = subprocess.run(
            [MUSTER_SCRIPT, *args],
            stdout=pipe,
            stderr=subprocess.PIPE,
            env=environment({}),
            timeout=WAIT_SECONDS,
            check=False,
        )
    assert ran.returncode == 0
    assert ran.stderr == b""


def on_a_terminal(*args: str, **environ: str) -> str:
    """The output on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [MUSTER_SCRIPT, *args], stdout=theirs, stderr=theirs, env=environment(environ)
    ) as process:
        os.close(theirs)
        seen = b""
        try:
            while data := os.read(ours, 65536):
                seen += data
        except OSError:  # how Linux says that nobody holds the other end any more
            pass
        process.wait(WAIT_SECONDS)
    os.close(ours)
    return seen.decode()


def test_colours_appear_on_a_terminal_and_not_where_they_are_unwanted(tmp_path: Path) -> None:
    args = ("doctor", "--home", str(tmp_path / "home"))
    assert "\x1b[32m" in on_a_terminal(*args, TERM="xterm")
    assert "\x1b" not in on_a_terminal(*args, TERM="xterm", NO_COLOR="1")
    assert "\x1b" not in on_a_terminal(*args, TERM="dumb")
    assert "\x1b" not in muster(*args, TERM="xterm").stdout


# ── completion ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed_for_each_shell(shell: str) -> None:
    ran = muster("completion", shell)
    assert ran.returncode == 0
    assert f"_MUSTER_COMPLETE={shell}_complete" in ran.stdout


def test_the_script_for_bash_is_valid_and_completes_verbs_and_options() -> None:
    script = muster("completion", "bash").stdout
    check = subprocess.run(["bash", "-n"], input=script, text=True, check=False)
    assert check.returncode == 0
    assert completions("muster stat", 1) == ["plain,status"]
    assert completions("muster log --fo", 2) == ["plain,--follow"]
    assert "plain,turns" in completions("muster diagram ", 2)


def completions(words: str, place: int) -> list[str]:
    """The completions that the script receives."""
    return muster(
        _MUSTER_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(place)
    ).stdout.splitlines()


# ── diagram and doctor ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("machine", ["identity", "run", "turns", "delegation"])
def test_every_machine_can_be_drawn(machine: str) -> None:
    ran = muster("diagram", machine)
    assert ran.returncode == 0
    assert ran.stdout.startswith("stateDiagram-v2\n")


def test_doctor_on_a_new_folder_finds_nothing_to_fix(tmp_path: Path) -> None:
    ran = muster("doctor", cwd=tmp_path, MUSTER_SERVER_PORT="0")
    assert ran.returncode == 0, ran.stdout
    for subject in ("python", "sqlite", "home", "settings", "server", "log", "git", "claude"):
        assert f" {subject} " in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_doctor_says_what_must_be_fixed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "muster.toml").write_text("[server]\nprot = 1\n")
    (home / "team.db").write_bytes(b"not a log at all" * 1000)
    ran = muster("doctor", "--home", str(home))
    assert ran.returncode == 1
    assert "Did you mean server.port?" in ran.stdout
    assert "`chmod 700` closes it" in ran.stdout
    assert "fix   log" in ran.stdout


def test_doctor_looks_for_the_programs_and_folders_of_agents(tmp_path: Path) -> None:
    home = tmp_path / ".muster"
    home.mkdir(mode=0o700)
    program = tmp_path / "work" / "run"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    (home / "muster.toml").write_text(
        '[agents.gone]\ncommand = ["no-such-program"]\n'
        '[agents.lost]\ncommand = ["sh"]\ncwd = "nowhere"\n'
        '[agents.unready]\ncommand = ["./run"]\ncwd = "work"\n'
        '[agents.itself]\nruntime = "file"\n'
        '[agents.fine]\ncommand = ["sh"]\n'
        '[agents.actor]\nscript = ["I say this.", "And this."]\n'
    )
    ran = muster("doctor", "--home", str(home), MUSTER_SERVER_PORT="0")
    assert ran.returncode == 1, ran.stderr
    found = dict(re.findall(r"agent (\w+) +(.+)", ran.stdout))
    assert found["gone"].startswith("its program no-such-program does not exist")
    assert found["lost"].startswith(f"working directory {tmp_path}/nowhere does not exist")
    assert found["unready"].endswith("Install it, or correct agents.unready.command.")
    assert found["itself"] == f"runs itself, by {home}/agents/itself/agent_state.json"
    assert found["fine"].endswith("/sh")
    assert found["actor"] == "says 2 prepared lines"
    program.chmod(0o755)
    ran = muster("doctor", "--home", str(home))
    assert re.search(rf"ok +agent unready +{program}\n", ran.stdout)


def test_doctor_says_which_coroutines_and_one_shot_programs_can_run(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "good_agent.py").write_text("async def answer(turn): return turn.text\n")
    (tmp_path / "bad_agent.py").write_text("import no_such_package\n")
    (tmp_path / "quits_agent.py").write_text("raise SystemExit(0)\n")
    names = ("good", "bad", "quits")
    tables = [
        f'[agents.{name}]\nruntime = "python"\ntarget = "{name}_agent:answer"' for name in names
    ]
    tables.append('[agents.once]\npreset = "codex-exec"\nenv = { PATH = "/nowhere" }')
    (home / "muster.toml").write_text("\n".join(tables))
    told = muster("doctor", "--home", str(home)).stdout
    assert re.search(r"ok +agent good +good_agent:answer, in muster's own process", told), told
    assert re.search(r"fix +agent bad +bad_agent:answer cannot run: ModuleNotFoundError", told), (
        told
    )
    assert re.search(r"fix +agent quits +quits_agent:answer cannot run: SystemExit", told), told
    assert re.search(r"fix +agent once +codex is not installed. Install it: npm", told), told


def test_doctor_reads_environment_files_and_shows_no_value(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    tables = [
        f'[agents.{name}]\ncommand = ["true"]\nenv_file = "{name}.env"'
        for name in ("good", "wrong", "open", "missing")
    ]
    (home / "muster.toml").write_text("\n".join(tables))
    for name, mode in (("good", 0o600), ("wrong", 0o600), ("open", 0o644)):
        (home / f"{name}.env").write_text("A=hunter2\nhunter2\n" if name == "wrong" else "A=1\n")
        (home / f"{name}.env").chmod(mode)
    ran = muster("doctor", "--home", str(home), MUSTER_SERVER_PORT="0")
    assert ran.returncode == 1
    assert f"env_file {home}/good.env, 1 variable" in ran.stdout
    assert f"env_file {home}/wrong.env line 2: it is not NAME=VALUE." in ran.stdout
    assert f"env_file {home}/open.env is open to others." in ran.stdout
    assert f"env_file {home}/missing.env: no such file or directory." in ran.stdout
    assert "hunter2" not in ran.stdout


def test_doctor_looks_for_claude_code_where_its_runtime_does(tmp_path: Path) -> None:
    home = tmp_path / ".muster"
    home.mkdir(mode=0o700)
    (home / "muster.toml").write_text(
        '[agents.Ada]\nruntime = "claude"\n'
        '[agents.Bea]\nruntime = "claude"\nclaude.program = "./no-such-program"\n'
        '[agents.Cy]\nruntime = "claude"\nclaude.program = "./claude"\n'
        '[agents.Di]\nruntime = "claude"\nclaude.program = "./claude"\nclaude.version = "9.9.9"\n'
        'env.ANTHROPIC_API_KEY = "k"\n'
        '[agents.Ed]\nruntime = "claude"\nclaude.version = "9.9.9"\n'
    )
    (tmp_path / "claude").write_text("#!/bin/sh\necho '9.9.9 (Claude Code)'\n")
    (tmp_path / "claude").chmod(0o700)
    ran = muster("doctor", "--home", str(home), MUSTER_SERVER_PORT="0")
    assert ran.returncode == 1, ran.stderr
    found = dict(re.findall(r"agent (\w+) +(.+)", ran.stdout))
    unsigned = "no sign-in found: run `claude` and sign in, or set ANTHROPIC_API_KEY in its env"
    held = r"\. What its permission rules .+ needs an approval; a hook checks the policy .+\.$"
    assert re.search(rf"/claude [\d.]+ \(of the extra, tested\), {unsigned}{held}", found["Ada"])
    own = r"/claude 9\.9\.9 \(your own\); muster is tested with [\d.]+, "
    assert re.search(own + unsigned, found["Cy"])
    assert "signed in by ANTHROPIC_API_KEY" in found["Di"]
    assert "(your own, pinned by claude.version)" in found["Di"]
    assert re.search(r"version [\d.]+, and claude.version is 9\.9\.9", found["Ed"])
    assert found["Bea"].endswith("Install Claude Code, or set program to where it is.")


def test_doctor_tells_the_version_of_every_package_that_muster_requires() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    ran = muster("doctor", MUSTER_SERVER_PORT="0")
    for requirement in project["dependencies"]:
        package = requirement.partition(">=")[0]
        assert re.search(rf"(?m)^ok +{package} +{re.escape(version(package))}$", ran.stdout)


# ── the documentation ─────────────────────────────────────────────────────────────────────────────


def test_every_verb_argument_and_option_is_documented() -> None:
    text = (REFERENCE / "cli.md").read_text()
    for name, command in commands().items():
        section = text.partition(f"### `muster {name}")[2].partition("\n##")[0]
        assert section, name
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.hidden:
                continue  # for muster itself
            for option in (*parameter.opts, *parameter.secondary_opts):
                if parameter.name != "home" and option.startswith("-"):
                    assert f"`{option}" in section, (name, option)


def test_every_setting_its_variable_and_its_default_are_documented() -> None:
    text = (REFERENCE / "settings.md").read_text()
    for setting in SETTINGS.values():
        (row,) = (line for line in text.splitlines() if f"`{setting.variable}`" in line)
        assert row.startswith(f"| `{setting.key.partition('.')[2]}` |")
        assert setting.rule.about in row
        assert setting.expected in row or setting.expected.capitalize() in row
        default = "[]" if setting.default == () else str(setting.default)
        assert default.lower() in row.lower()


def test_every_setting_of_an_agent_and_its_default_are_documented() -> None:
    text = (REFERENCE / "settings.md").read_text().partition("## `[agents.NAME]`")[2]
    for key, rule in AGENT_RULES.items():
        (row,) = (line for line in text.splitlines() if line.startswith(f"| `{key}` |"))
        assert rule.about in row
        assert expected(key)[1:] in row
        part, _, name = key.rpartition(".")
        table = AgentSettings()
        default = getattr(getattr(table, part) if part else table, name)
        assert f"| `{msgspec.json.encode(default).decode()}` |" in row or default is None


def test_the_message_of_an_error_is_one_line_without_runs_of_spaces() -> None:
    message = str(NobodyToSummon())
    assert message == " ".join(message.split())


def test_the_readme_says_how_to_run_and_to_test() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make up" in text
    assert "make test" in text
