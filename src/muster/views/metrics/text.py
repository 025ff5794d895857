"""A team's metrics in the text format of Prometheus: gauges from the state, counters and histograms
of this process.
"""

import resource
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from muster.durations import BOUNDS_SECONDS, Durations
from muster.machines.needs.needs import open_needs
from muster.machines.state import Team
from muster.machines.vocabulary import Usage
from muster.version import __version__
from muster.views.metrics.counting import CommitCounts

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
NAME_CHARS_MAX: Final = 64

Sample = tuple[Mapping[str, str], float]


class Measured(NamedTuple):
    """The measurements of a server beside its team: counts, histograms, and open connections."""

    counts: CommitCounts
    commit_times: Durations
    loop_lags: Durations
    streams: int
    browsers: int


def metrics_text(team: Team, measured: Measured, now: datetime) -> str:
    """All metrics."""
    lines = [
        *_family("muster_info", "gauge", "Version of muster.", [({"version": __version__}, 1)]),
        *_state(team, now),
        *_usage(team),
        *_counted(measured.counts),
        *_connected(measured),
        *_histogram("muster_commit_seconds", "Commits to the log.", measured.commit_times),
        *_histogram("muster_loop_lag_seconds", "Lag of the event loop.", measured.loop_lags),
        *_process(),
    ]
    return "\n".join((*lines, ""))


def _state(team: Team, now: datetime) -> Iterator[str]:
    agents = [agent for agent in team.agents.values() if not agent.retired]
    statuses = Counter(str(agent.status) for agent in agents)
    desired = Counter(str(agent.run.desired) for agent in agents)
    needs = Counter(str(need.kind) for need in open_needs(team, now))
    held = sum(channel.turn is not None for channel in team.channels.values())
    phases = Counter(str(session.phase) for session in team.sessions.values())
    asked = sum(len(agent.approvals) for agent in agents)
    yield from _family("muster_log_seq", "counter", "Newest event.", [({}, team.seq)])
    yield from _family("muster_agents", "gauge", "Agents by status.", _by("status", statuses))
    yield from _family("muster_agents_desired", "gauge", "Agents by mode.", _by("mode", desired))
    yield from _family("muster_sessions", "gauge", "Sessions by phase.", _by("phase", phases))
    yield from _family("muster_turns_held", "gauge", "Channels with a turn.", [({}, held)])
    yield from _family("muster_approvals_open", "gauge", "Requests for approval.", [({}, asked)])
    yield from _family("muster_needs", "gauge", "Needs of a person by kind.", _by("kind", needs))


def _usage(team: Team) -> Iterator[str]:
    used = {agent.id: agent.used for agent in team.agents.values() if agent.used != Usage()}
    cost = [(_agent(name), usage.cost_usd) for name, usage in used.items()]
    tokens = [(_agent(name), usage.tokens) for name, usage in used.items()]
    yield from _family("muster_cost_usd_total", "counter", "Cost by agent, in dollars.", cost)
    yield from _family("muster_tokens_total", "counter", "Tokens by agent.", tokens)


def _agent(name: str) -> Mapping[str, str]:
    return {"agent": name[:NAME_CHARS_MAX]}


def _counted(counts: CommitCounts) -> Iterator[str]:
    events, turns = _by("type", counts.events), _by("state", counts.turns)
    refused = _by("code", counts.refused)
    yield from _family("muster_events_total", "counter", "Events since the start.", events)
    yield from _family("muster_turns_total", "counter", "Changes of turns by new state.", turns)
    yield from _family("muster_refused_total", "counter", "Recorded refusals by code.", refused)


def _connected(measured: Measured) -> Iterator[str]:
    streams, browsers = "muster_streams_open", "muster_browsers_signed_in"
    yield from _family(streams, "gauge", "Open event streams.", [({}, measured.streams)])
    yield from _family(browsers, "gauge", "Signed-in browsers.", [({}, measured.browsers)])


def _process() -> Iterator[str]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    memory = pages * resource.getpagesize()
    files = sum(1 for _ in Path("/proc/self/fd").iterdir())
    seconds = used.ru_utime + used.ru_stime
    yield from _family("process_cpu_seconds_total", "counter", "CPU time.", [({}, seconds)])
    yield from _family("process_resident_memory_bytes", "gauge", "Memory.", [({}, memory)])
    yield from _family("process_open_fds", "gauge", "Open files.", [({}, files)])


# ── the text format ───────────────────────────────────────────────────────────────────────────────


def _by(label: str, counts: Mapping[str, int]) -> Iterator[Sample]:
    return (({label: key}, count) for key, count in sorted(counts.items()))


def _family(name: str, kind: str, about: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        yield f"{name}{_labels(labels)} {value:.10g}"


def _histogram(name: str, about: str, found: Durations) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} histogram"
    total = 0
    for bound, count in zip((*BOUNDS_SECONDS, "+Inf"), tuple(found.counts), strict=True):
        total += count
        yield f'{name}_bucket{{le="{bound}"}} {total}'
    yield f"{name}_sum {found.seconds:.10g}"
    yield f"{name}_count {total}"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    shown = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{shown}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
