"""The settings of an agent's process: its environment, isolation, stop, output, and budget."""

from typing import Annotated, Literal

import msgspec

from muster.limits import TURN_SECONDS_MAX
from muster.settings.policies import POLICIES, PolicySettings
from muster.settings.rules import Rule

StopSignal = Literal["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]
"""The signals that a stop can begin with."""


Isolate = Literal["none", "home", "strict"]
"""How much of the machine a program sees."""


class ProcessSettings(PolicySettings, frozen=True, kw_only=True):
    """How the process of an agent is run and stopped. A session keeps those that it began with."""

    env_file: Annotated[
        str | None,
        Rule("File of NAME=VALUE lines, relative to muster.toml; read at each start of a session."),
    ] = None
    isolate: Annotated[
        Isolate | None,
        Rule(
            'What it may not see, enforced by the kernel: "home" hides the team\'s home but its '
            'own folders, "strict" also other processes and all TCP ports but those in `ports`; or '
            '"none". Left out, "home".'
        ),
    ] = None
    ports: Annotated[
        tuple[int, ...],
        Rule(
            'TCP ports that a program with isolate = "strict" may connect to, beside muster\'s.',
            1,
            65_535,
        ),
    ] = ()
    pass_env: Annotated[
        tuple[str, ...] | None,
        Rule(
            "Variables with secrets in muster's environment that it gets, such as "
            '["GITHUB_TOKEN", "AWS_*"]; left out, those of known models.'
        ),
    ] = None
    stop_signal: Annotated[StopSignal, Rule("Stop now: the first signal.")] = "SIGINT"
    interrupt_seconds: Annotated[
        float, Rule("Stop now: time between the first signal and SIGTERM.", 0, 3600)
    ] = 2.0
    terminate_seconds: Annotated[
        float, Rule("Stop now: time between SIGTERM and SIGKILL.", 0, 3600)
    ] = 5.0
    memory_mb: Annotated[int | None, Rule("Memory limit of a session, in MiB.", 16, 16_777_216)] = (
        None
    )
    cpu_percent: Annotated[
        int | None,
        Rule("CPU limit of a session, in percent of one core; only with cgroup v2.", 1, 100_000),
    ] = None
    cpu_seconds: Annotated[
        int | None, Rule("Limit of the CPU time of each process of a session.", 1, 31_536_000)
    ] = None
    processes: Annotated[
        int | None, Rule("Limit of processes and threads of a session.", 1, 1_000_000)
    ] = None
    open_files: Annotated[
        int | None, Rule("Limit of open files of each process of a session.", 16, 1_000_000)
    ] = None
    nice: Annotated[
        int | None, Rule("Niceness of a session: 19 is the lowest priority.", -20, 19)
    ] = None
    output_file_mb: Annotated[
        int, Rule("Size at which the output file is put aside, in MiB.", 1, 4096)
    ] = 64
    output_files: Annotated[
        int, Rule("Number of older output files to keep beside the newest.", 1, 10_000)
    ] = 16
    output_days: Annotated[
        int | None,
        Rule("Age at which older output files are removed, in days; a file has one day.", 1, 3650),
    ] = None


PROCESS = tuple(
    field.name for field in msgspec.structs.fields(ProcessSettings) if field.name not in POLICIES
)
"""The names of these settings."""


class BudgetSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of an agent. An agent that reaches one is paused, with the reason as note."""

    sessions_per_hour: Annotated[
        int | None, Rule("Sessions per hour before the agent is paused.", 1, 1_000_000)
    ] = None
    session_seconds: Annotated[
        float | None,
        Rule(
            "Timeout of a session; the session is stopped and the agent paused.",
            0.1,
            TURN_SECONDS_MAX,
        ),
    ] = None
    failures: Annotated[
        int | None, Rule("Failures in a row before the agent is paused.", 1, 1_000_000)
    ] = None
    cost_usd: Annotated[
        float | None,
        Rule("Cost limit in dollars, counted from the last start by a person.", 0, 1_000_000),
    ] = None
    tokens: Annotated[
        int | None, Rule("Token limit, counted from the last start by a person.", 1, 10**15)
    ] = None
    session_cost_usd: Annotated[
        float | None, Rule("Cost limit of one session, in dollars.", 0, 1_000_000)
    ] = None
    session_tokens: Annotated[int | None, Rule("Token limit of one session.", 1, 10**15)] = None
    cost_usd_per_minute: Annotated[
        float | None,
        Rule(
            "Burn rate in dollars a minute, over the last ten minutes, at which the agent is "
            "paused as a runaway; 0 means no limit.",
            0,
            1_000_000,
        ),
    ] = 2.0
    cost_usd_per_day: Annotated[
        float | None,
        Rule("Cost limit of a day (UTC), in dollars; 0 means no limit.", 0, 1_000_000),
    ] = 20.0
