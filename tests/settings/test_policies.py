"""The policies in an agent's table: when it starts, restarts and stops by itself."""

from pathlib import Path

import pytest

from muster.machines.policies import RunPolicy
from muster.machines.vocabulary import MissedRuns, OnSilence, RestartPolicy, RunsFor
from tests.settings.test_agents import lyra, read, refusal


def test_every_policy_can_be_written(tmp_path: Path) -> None:
    text = """
[agents.db]
command = ["db"]

[agents.Lyra]
command = ["run-lyra"]
restart = "on-failure"
restart_seconds = 2
restart_seconds_max = 60
success_codes = [0, 75]
autostart = true
after = ["db"]
groups = ["web", "night"]
graceful_seconds = 90
"""
    assert read(tmp_path, text).agents["Lyra"].policy == RunPolicy(
        restart=RestartPolicy.ON_FAILURE,
        restart_seconds=2,
        restart_seconds_max=60,
        success_codes=(0, 75),
        autostart=True,
        after=("db",),
        groups=("web", "night"),
        graceful_seconds=90,
    )


def test_a_schedule_and_a_watch_for_silence_can_be_written(tmp_path: Path) -> None:
    text = '''
schedule = "0 9 * * MON-FRI"
timezone = "Europe/Berlin"
missed = "skip"
restart = "on-failure"
silent_seconds = 300
on_silence = "restart"'''
    policy = read(tmp_path, lyra(text)).agents["Lyra"].policy
    assert policy.schedule_text == "0 9 * * MON-FRI Europe/Berlin"
    assert (policy.missed, policy.silent_seconds) == (MissedRuns.SKIP, 300)
    assert policy.on_silence is OnSilence.RESTART
    assert read(tmp_path, lyra('every = "30m"')).agents["Lyra"].policy.every == "30m"


@pytest.mark.parametrize(
    ("lines", "runs_for"),
    [
        ("", RunsFor.START),
        ("loop = true", RunsFor.LOOP),
        ("loop = false", RunsFor.WORK),
        ('prompt = "none"', RunsFor.LOOP),
        ('state_file = "agent_state.json"', RunsFor.LOOP),
        ('state_file = "agent_state.json"\nloop = false', RunsFor.WORK),
        ("long_lived = true", RunsFor.LOOP),
    ],
)
def test_a_program_loops_if_its_settings_say_so_or_it_can_be_told_nothing(
    tmp_path: Path, lines: str, runs_for: RunsFor
) -> None:
    assert read(tmp_path, lyra(lines)).agents["Lyra"].runs_for is runs_for


def test_a_program_that_waits_for_work_in_its_session_has_no_loop(tmp_path: Path) -> None:
    wrong = refusal(tmp_path, '[agents.Lyra]\nruntime = "claude"\nloop = true\n')
    assert "loop means nothing" in str(wrong)


def test_without_policies_an_agent_has_the_defaults_of_the_machine(tmp_path: Path) -> None:
    assert read(tmp_path, lyra("")).agents["Lyra"].policy == RunPolicy()


@pytest.mark.parametrize(
    ("line", "what", "remedy"),
    [
        ('restart = "yes"', 'restart is "yes"', '"always", "on-failure", "never"'),
        ("success_codes = [0, 256]", "success_codes is", "a list of whole numbers from 0 to 255"),
        ("graceful_seconds = -1", "graceful_seconds is -1", "a number from 0 to"),
        ('schedule = "61 * * * *"', 'schedule is "61 * * * *" (Bad minute)', "such as 0 9 * *"),
        (
            'schedule = "*/10 0 9 * * MON"',
            "its first field, '*/10', would be seconds",
            "Write five fields, such as 0 9 * * MON",
        ),
        ('schedule = "0 0 */3 2 MON#5"', "which never comes", "a day that exists"),
        ('every = "1w"', 'every is "1w"', "Write 90s, 30m, 2h or 1d"),
        ('schedule = "0 9 * * *"\nevery = "1h"', "has schedule and every", "Remove one"),
        ('every = "1h"\ntimezone = "Mars/Olympus"', "does not know", "Europe/Berlin"),
        ('missed = "skip"', "means nothing without a schedule", "write schedule or every"),
        ('every = "1h"\nrestart = "always"', "means nothing with a schedule", "Remove it"),
        ('after = ["dbb"]', "after names 'dbb', and there is no such agent", "Did you mean db?"),
        ('after = ["nobody at all"]', "there is no such agent", "Write a table for it"),
        ('after = ["lyra"]', "agents.Lyra.after makes a circle: Lyra → Lyra", "Take one of them"),
    ],
)
def test_a_wrong_policy_is_reported_with_its_line_and_a_remedy(
    tmp_path: Path, line: str, what: str, remedy: str
) -> None:
    wrong = refusal(tmp_path, lyra(line) + '[agents.db]\ncommand = ["db"]\n')
    assert what in str(wrong)
    assert remedy in str(wrong)
    assert f"muster.toml:{5 + line.count(chr(10))}:" in str(wrong)


def test_agents_that_wait_for_each_other_are_refused_with_the_way_around(tmp_path: Path) -> None:
    tables = [
        f'[agents.{name}]\ncommand = ["x"]\nafter = ["{other}"]\n'
        for name, other in (("a", "b"), ("b", "c"), ("c", "a"))
    ]
    message = str(refusal(tmp_path, "".join(tables)))
    assert "after makes a circle" in message
    assert message.count("→") == 3


def test_an_agent_with_a_loop_of_its_own_has_groups_and_no_other_policy(tmp_path: Path) -> None:
    text = '[agents.Loop]\nruntime = "file"\ngroups = ["web"]\n'
    assert read(tmp_path, text).agents["Loop"].groups == ("web",)
    assert "means nothing" in str(refusal(tmp_path, f"{text}autostart = true\n"))


@pytest.mark.parametrize("every", ["99999999999d", "9999999d", "367d", "0s"])
def test_an_interval_that_no_calendar_holds_is_refused(tmp_path: Path, every: str) -> None:
    text = f'[agents.far]\ncommand = ["true"]\nevery = "{every}"\n'
    assert "Write 90s, 30m, 2h or 1d" in str(refusal(tmp_path, text))
