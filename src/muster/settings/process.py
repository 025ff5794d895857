"""The settings of an agent's process: its environment file, its stop, its output on disk."""

from typing import Annotated, Literal

import msgspec

from muster.settings.policies import POLICIES, PolicySettings
from muster.settings.rules import Rule

StopSignal = Literal["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]
"""The signals that a stop can begin with."""


class ProcessSettings(PolicySettings, frozen=True, kw_only=True):
    """How the process of an agent is run and stopped. A session keeps those that it began with."""

    env_file: Annotated[
        str | None,
        Rule("File of NAME=VALUE lines, relative to muster.toml; read at each start of a session."),
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
