"""Agents in `muster.toml`: their settings, and the errors about mistakes."""

from pathlib import Path

import msgspec
import pytest

from muster.errors import BadSettings
from muster.machines.vocabulary import RunsFor
from muster.settings.agent_programs import PROGRAM_TABLES
from muster.settings.agents import AGENT_RULES, AgentSettings, expected
from muster.settings.model import Settings, load_settings
from muster.settings.process import BudgetSettings


def read(home: Path, text: str) -> Settings:
    (home / "muster.toml").write_text(text)
    return load_settings(home, {})


def refusal(home: Path, text: str) -> BadSettings:
    with pytest.raises(BadSettings) as caught:
        read(home, text)
    return caught.value


def lyra(text: str) -> str:
    return f'# a comment\n\n[agents.Lyra]\ncommand = ["run-lyra"]\n{text}\n'


def test_without_a_table_there_are_no_agents(tmp_path: Path) -> None:
    assert read(tmp_path, "") == Settings()
    assert read(tmp_path, "[agents]\n").agents == {}


def test_a_command_is_all_that_an_agent_needs(tmp_path: Path) -> None:
    found = read(tmp_path, '[agents.Lyra]\ncommand = ["run-lyra", "-v"]\n').agents
    assert found == {"Lyra": AgentSettings(command=("run-lyra", "-v"))}


def test_every_setting_of_an_agent_can_be_written(tmp_path: Path) -> None:
    text = """
[agents."Lyra 2.0"]
runtime = "command"
command = ["run-lyra", "--fast=1", ""]
cwd = "work/lyra"
env = { PATH = "/opt/bin:/bin", EMPTY = "" }
prompt = "file"
speaks = "lines"
long_lived = true
seat = 3
color = "teal"
max_turns = 2
description = "Plays the lyre."
unasked = true
state_file = "lyra/agent_state.json"
env_file = "lyra.env"
stop_signal = "SIGHUP"
interrupt_seconds = 0
terminate_seconds = 0.5
memory_mb = 512
cpu_percent = 150
cpu_seconds = 3600
processes = 64
open_files = 1024
nice = 10
output_file_mb = 8
output_files = 2
output_days = 7
[agents."Lyra 2.0".budget]
sessions_per_hour = 10
session_seconds = 600
failures = 3
"""
    agent = AgentSettings(
        command=("run-lyra", "--fast=1", ""),
        cwd="work/lyra",
        env={"PATH": "/opt/bin:/bin", "EMPTY": ""},
        prompt="file",
        speaks="lines",
        long_lived=True,
        seat=3,
        color="teal",
        max_turns=2,
        description="Plays the lyre.",
        unasked=True,
        state_file="lyra/agent_state.json",
        env_file="lyra.env",
        stop_signal="SIGHUP",
        interrupt_seconds=0.0,
        terminate_seconds=0.5,
        memory_mb=512,
        cpu_percent=150,
        cpu_seconds=3600,
        processes=64,
        open_files=1024,
        nice=10,
        output_file_mb=8,
        output_files=2,
        output_days=7,
        budget=BudgetSettings(sessions_per_hour=10, session_seconds=600.0, failures=3),
    )
    assert read(tmp_path, text).agents == {"Lyra 2.0": agent}


def test_an_agent_with_a_loop_of_its_own_needs_no_command(tmp_path: Path) -> None:
    found = read(tmp_path, '[agents.Lyra]\nruntime = "file"\nstate_file = "x.json"\n').agents
    assert found["Lyra"] == AgentSettings(runtime="file", state_file="x.json")


def test_the_lead_can_be_an_agent_of_the_settings(tmp_path: Path) -> None:
    assert read(tmp_path, lyra("seat = 4")).agents["Lyra"].seat == 4


def test_paths_are_relative_to_the_parent_of_the_home(tmp_path: Path) -> None:
    home = tmp_path / ".muster"
    plain = AgentSettings(command=("x",))
    assert plain.cwd_beside(home) == tmp_path
    assert plain.state_file_beside(home, "Lyra") == home / "agents" / "Lyra" / "agent_state.json"
    chosen = AgentSettings(command=("x",), cwd="work", state_file="/elsewhere/state.json")
    assert chosen.cwd_beside(home) == tmp_path / "work"
    assert chosen.state_file_beside(home, "Lyra") == Path("/elsewhere/state.json")


def test_an_environment_file_is_relative_to_the_settings_file(tmp_path: Path) -> None:
    home = tmp_path / ".muster"
    assert AgentSettings().env_file_in(home) is None
    assert AgentSettings(env_file="lyra.env").env_file_in(home) == home / "lyra.env"
    assert AgentSettings(env_file="/etc/lyra").env_file_in(home) == Path("/etc/lyra")


def test_the_users_own_folder_can_be_written_as_a_tilde(tmp_path: Path) -> None:
    agent = read(tmp_path, lyra('cwd = "~/work"')).agents["Lyra"]
    assert agent.cwd == str(Path.home() / "work")


def test_variables_do_not_reach_agents(tmp_path: Path) -> None:
    environ = {"MUSTER_AGENTS_LYRA_COMMAND": "x", "MUSTER_AGENT": "Lyra"}
    assert load_settings(tmp_path, environ) == Settings()


@pytest.mark.parametrize(
    ("line", "what", "remedy"),
    [
        (
            "runtime = 1",
            "agents.Lyra.runtime is 1",
            'Give one of "command", "claude", "codex", "acp"',
        ),
        ('runtime = "shell"', 'agents.Lyra.runtime is "shell"', "Give one of"),
        (
            'prompt = "argv"',
            'agents.Lyra.prompt is "argv"',
            'one of "stdin", "lines", "file", "none"',
        ),
        ('speaks = "json"', 'agents.Lyra.speaks is "json"', 'one of "output", "lines"'),
        ("long_lived = 1", "agents.Lyra.long_lived is 1", "Give true or false."),
        ("seat = 9", "agents.Lyra.seat is 9", "Give a whole number from 0 to 8."),
        ("seat = -1", "agents.Lyra.seat is -1", "Give a whole number from 0 to 8."),
        ("seat = 1.5", "agents.Lyra.seat is 1.5", "Give a whole number from 0 to 8."),
        ("seat = true", "agents.Lyra.seat is true", "Give a whole number from 0 to 8."),
        ("max_turns = 0", "agents.Lyra.max_turns is 0", "Give a whole number from 1 to 64."),
        ("color = 7", "agents.Lyra.color is 7", "Give a text in quotes."),
        ('color = "\\u0000"', "agents.Lyra.color has a NUL byte in it", "Remove"),
        ("cwd = 7", "agents.Lyra.cwd is 7", "Give a text in quotes."),
        ('cwd = ""', "agents.Lyra.cwd is empty", "or remove it for the default"),
        ('cwd = "a\\u0000b"', "agents.Lyra.cwd has a NUL byte in it", "Remove"),
        ('cwd = "~nobody-of-this-name/x"', "agents.Lyra.cwd is", "Write the path without ~."),
        ('state_file = " "', "agents.Lyra.state_file is empty", "or remove it"),
        ("interrupt_seconds = -1", "agents.Lyra.interrupt_seconds is -1", "from 0 to 3600"),
        ("terminate_seconds = nan", "agents.Lyra.terminate_seconds is nan", "from 0 to 3600"),
        ('env_file = ""', "agents.Lyra.env_file is empty", "or remove it"),
        ("env_file = []", "agents.Lyra.env_file is []", "Give a text in quotes."),
        ('stop_signal = "SIGKILL"', 'agents.Lyra.stop_signal is "SIGKILL"', 'of "SIGINT", "SIGT'),
        ("stop_signal = 15", "agents.Lyra.stop_signal is 15", 'one of "SIGINT", "SIGTERM", "SIGH'),
        ("stop_signals = 15", "there is no setting agents.Lyra.stop_signals", "mean stop_signal?"),
        ("memory_mb = 15", "agents.Lyra.memory_mb is 15", "a whole number from 16 to"),
        ("memory_mb = 0.5", "agents.Lyra.memory_mb is 0.5", "Give a whole number from 16"),
        ('memory_mb = "1G"', 'agents.Lyra.memory_mb is "1G"', "Give a whole number from 16"),
        ("memory = 512", "there is no setting agents.Lyra.memory", "Did you mean memory_mb?"),
        ("cpu_percent = 0", "agents.Lyra.cpu_percent is 0", "from 1 to 100000"),
        ("cpu_seconds = true", "agents.Lyra.cpu_seconds is true", "from 1 to 31536000"),
        ("processes = 0", "agents.Lyra.processes is 0", "from 1 to 1000000"),
        ("open_files = 3", "agents.Lyra.open_files is 3", "from 16 to 1000000"),
        ("nice = 20", "agents.Lyra.nice is 20", "Give a whole number from -20 to 19."),
        ("output_file_mb = 0", "agents.Lyra.output_file_mb is 0", "from 1 to 4096"),
        ("output_days = 0", "agents.Lyra.output_days is 0", "from 1 to 3650"),
        ("output_files = 0", "agents.Lyra.output_files is 0", "from 1 to 10000"),
        ("budget = 5", "agents.Lyra.budget is 5", "Write budget = { sessions_per_hour = 10 }."),
        ("budget.failures = 0", "agents.Lyra.budget.failures is 0", "a whole number from 1"),
        (
            "budget = { sessions_per_hour = -3 }",
            "agents.Lyra.budget.sessions_per_hour is -3",
            "Give a whole number from 1 to 1000000.",
        ),
        (
            "budget.session_seconds = -0.5",
            "agents.Lyra.budget.session_seconds is -0.5",
            "Give a number from 0.1 to 604800.",
        ),
        ("env = 1", "agents.Lyra.env is 1", 'a table of texts, such as { NAME = "value" }'),
        ("env = { PORT = 80 }", "agents.Lyra.env.PORT is 80", 'Write PORT = "80".'),
        ("env = { DEBUG = true }", "agents.Lyra.env.DEBUG is true", 'Write DEBUG = "true".'),
        ("env = { A = [1] }", "agents.Lyra.env.A is [1]", 'Write A = "".'),
        ('env = { A = "\\u0000" }', "agents.Lyra.env.A has a NUL byte in it", "Remove"),
        ("env = { \"A=B\" = 'x' }", "agents.Lyra.env has a variable 'A=B'", "a plain name"),
        ("env = { \"\" = 'x' }", "agents.Lyra.env has a variable ''", "a plain name"),
        (
            "env = { MUSTER_TOKEN = 'x' }",
            "agents.Lyra.env.MUSTER_TOKEN is muster's own to set",
            "Give the variable another name.",
        ),
        ("comand = []", "there is no setting agents.Lyra.comand", "Did you mean command?"),
        ("failures = 3", "there is no setting agents.Lyra.failures", "mean budget.failures?"),
        ("budget.sessions = 3", "there is no setting agents.Lyra.budget.sessions", "Did you"),
        ("zzz = 3", "there is no setting agents.Lyra.zzz", "Remove it; an agent has runtime,"),
    ],
)
def test_a_mistake_is_reported_with_its_line_and_a_remedy(
    tmp_path: Path, line: str, what: str, remedy: str
) -> None:
    refused = refusal(tmp_path, lyra(line))
    assert str(refused).startswith(f"{tmp_path / 'muster.toml'}:5: {what}"), str(refused)
    assert remedy in str(refused.found["remedy"])
    assert str(refused.found["remedy"])[-1] in ".?"


@pytest.mark.parametrize(
    ("command", "what", "remedy"),
    [
        ('"run-lyra -v"', "no shell reads it", 'Write command = ["run-lyra", "-v"].'),
        ("'say \"hello you\"'", "no shell reads it", 'Write command = ["say", "hello you"].'),
        ('"a | b > c"', "no shell reads it", 'Write command = ["sh", "-c", "a | b > c"].'),
        ('"say \'what"', "no shell reads it", 'Write command = ["program", "argument"].'),
        ('""', "no shell reads it", 'Write command = ["program", "argument"].'),
        ("[]", "names no program", 'Write command = ["program", "argument"].'),
        ('["", "x"]', "names no program", 'Write command = ["program", "argument"].'),
        ('["x", 1]', "is ['x', 1]", "Give a list of texts in quotes."),
        ("{ x = 1 }", "is a table", "Give a list of texts in quotes."),
        ('["x", "a\\u0000b"]', "has a NUL byte in it", "no program can receive it"),
    ],
)
def test_a_command_that_cannot_be_run_says_how_to_write_it(
    tmp_path: Path, command: str, what: str, remedy: str
) -> None:
    refused = refusal(tmp_path, f"[agents.Lyra]\nseat = 1\ncommand = {command}\n")
    assert refused.found["line"] == 3
    assert what in str(refused)
    assert remedy in str(refused)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("\nagents = 3", 2, "agents is 3. Write [agents.NAME] for each"),
        ("[[agents]]\nname = 'Lyra'", 1, "Write [agents.NAME] for each"),
        ("[agents]\ncommand = ['x']", 2, "agents.command is ['x'], not a table. Write [agents."),
        ("\n[agents.Lyra]\nseat = 1", 2, "agents.Lyra has no command. Write command = ["),
        ('[agents."../x"]\ncommand = ["x"]', 1, "Give it another name."),
        ('[agents.""]\ncommand = ["x"]', 1, "must have 1 to 64 characters"),
        ('[agents.MAIN]\ncommand = ["x"]', 1, "the name 'MAIN' is reserved"),
        ('[agents.human]\ncommand = ["x"]', 1, "the name 'human' is reserved"),
        ('[team]\nhuman = "Ada"\n[agents.ada]\ncommand = ["x"]', 3, "'ada' is reserved"),
        ('[agents."a.b"]\ncommand = ["x"]\nseat = 77', 3, "agents.a.b.seat is 77"),
        (
            '[agents.Lyra]\ncommand = ["x"]\n[agents.lyra]\ncommand = ["x"]',
            3,
            "agents.lyra and agents.Lyra differ only in case",
        ),
        (
            '[agents.A]\ncommand = ["x"]\nseat = 2\n[agents.B]\ncommand = ["x"]\nseat = 2',
            6,
            "agents.B.seat is 2, where A sits. Give one of them another seat",
        ),
        (
            '[agents.A]\nruntime = "file"\ncommand = ["x"]',
            3,
            'agents.A.command means nothing with runtime = "file". Remove it',
        ),
        (
            '[agents.A]\nruntime = "claude"\nstop_signal = "SIGHUP"',
            3,
            'agents.A.stop_signal means nothing with runtime = "claude". Remove it',
        ),
        (
            '[agents.A]\nruntime = "acp"\nspeaks = "lines"\nacp.preset = "gemini"',
            3,
            'agents.A.speaks means nothing with runtime = "acp". Remove it',
        ),
        ('[agents.A]\nruntime = "acp"', 1, "agents.A has neither a command nor a preset"),
        (
            '[agents.A]\nruntime = "acp"\ncommand = ["x"]\nacp.preset = "gemini"',
            1,
            "agents.A has both a command and a preset. Write acp = {",
        ),
        ('[agents.A]\nruntime = "python"', 1, "agents.A has no target. Write target = "),
        (
            '[agents.A]\nruntime = "python"\ntarget = "my agent"',
            3,
            "agents.A.target is 'my agent'. Write target = ",
        ),
        (
            '[agents.A]\nruntime = "python"\ntarget = "a:b"\nconfine = "outputs"',
            4,
            'agents.A.confine means nothing with runtime = "python". Remove it',
        ),
        (
            '[agents.A]\ncommand = ["x"]\ntarget = "a:b"',
            3,
            'agents.A.target means nothing with runtime = "command". Remove it, or write runtime',
        ),
        (
            '[agents.A]\nruntime = "file"\nenv_file = "x"',
            3,
            'agents.A.env_file means nothing with runtime = "file". Remove it',
        ),
        (
            '[agents.A]\nruntime = "file"\nseat = 4',
            3,
            "agents.A.seat is the lead's, and a lead reports births on its output",
        ),
    ],
)
def test_tables_that_conflict_are_refused(tmp_path: Path, text: str, line: int, what: str) -> None:
    refused = refusal(tmp_path, text)
    assert refused.found["line"] == line
    assert what in str(refused)


def test_line_numbers_are_right_after_a_list_that_spans_lines(tmp_path: Path) -> None:
    text = '[agents.Lyra]\ncommand = [\n  "run-lyra",\n  "--seat=1",\n]\nseat = 77\n'
    assert refusal(tmp_path, text).found["line"] == 6


def test_every_setting_of_an_agent_has_a_rule_and_every_rule_a_setting() -> None:
    plain = [field.name for field in msgspec.structs.fields(AgentSettings)]
    parts: dict[str, type[msgspec.Struct]] = {"budget": BudgetSettings, **PROGRAM_TABLES}
    inside = [
        f"{part}.{field.name}"
        for part, kind in parts.items()
        for field in msgspec.structs.fields(kind)
    ]
    assert sorted(AGENT_RULES) == sorted([*(name for name in plain if name not in parts), *inside])
    assert all(expected(key) for key in AGENT_RULES)


def test_a_preset_is_run_when_there_is_work_and_takes_no_command(tmp_path: Path) -> None:
    agent = read(tmp_path, '[agents.Lyra]\npreset = "codex-exec"\narguments = ["-m", "x"]\n')
    assert agent.agents["Lyra"].runs_for is RunsFor.WORK
    assert "command means nothing beside preset" in str(
        refusal(tmp_path, lyra('preset = "codex-exec"'))
    )
    assert "arguments means nothing without preset" in str(
        refusal(tmp_path, lyra('arguments = ["x"]'))
    )
