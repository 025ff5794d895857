"""`muster status`: agents, sessions and turns at a glance."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import click
import msgspec

from muster.cli.badges import badge_cell, badge_line, evidence
from muster.cli.options import home_option, is_home_named, json_option
from muster.cli.reading import now, running
from muster.cli.render import Look, Row, Tone, clean, count, duration, json_line, paint, table
from muster.cli.shutdown_text import drain_text
from muster.cli.terminal import look
from muster.confine.kernel import Support, support
from muster.engine.loading import load
from muster.errors import BadSettings
from muster.home.database import has_log
from muster.machines.documents import WakeCheck
from muster.machines.identity.wake_words import CHECKED
from muster.machines.kernel.sentences import dollars
from muster.machines.state import Delegation, Status, Team
from muster.machines.vocabulary import DelegationMode, RunsFor
from muster.settings.in_force import confined_by, follow, problem_of
from muster.settings.model import SETTINGS_FILE, Settings, load_settings
from muster.store.opening import open_reader
from muster.views.agents import view_team
from muster.views.answers.agents import AgentView
from muster.views.answers.channels import ChannelView, TeamView
from muster.views.run.running import RUNS_FOR


class SessionSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The state machine session that is open."""

    mode: DelegationMode
    path: str
    conversations: int
    working: Mapping[str, str]
    """The state of each open conversation."""


class StatusReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The output of `muster status --json`."""

    home: str
    running: bool
    pid: int | None
    url: str | None
    settings_problem: str
    """The mistake in the settings file; empty without one."""

    not_confined: str = ""
    """Why the machine does not confine the agents that the settings confine; empty if it does."""

    session: SessionSummary | None = None
    team: TeamView


@click.command()
@home_option
@json_option("Print one JSON object.")
def status(home: Path, as_json: bool) -> None:
    """Show agents, sessions and turns at a glance.

    The data comes from the team's log, so no server is needed. A status that was not confirmed
    since muster started is shown as unknown. Without a team in the folder, its open state machine
    session is shown.
    """
    report = _report(_home_with_log(home))
    if as_json:
        click.echo(json_line(msgspec.json.encode(report)))
    else:
        click.echo("\n".join(_text(report, look())))


def _home_with_log(home: Path) -> Path:
    """The home; or that of the state machine session in this folder, where there is no team."""
    if has_log(home) or is_home_named():
        return home
    from muster.cli.delegate.places import homes_of  # it loads much, and a team needs it not

    return homes_of(None, home)[0]


def _session(delegation: Delegation, home: Path) -> SessionSummary | None:
    if delegation.mode is None:
        return None
    from muster.delegation.team_session import placed  # most teams have no session

    return SessionSummary(
        mode=delegation.mode,
        path=str(placed(delegation.path, home)),
        conversations=delegation.opened,
        working={each.id: each.state for each in delegation.conversations.values()},
    )


def _report(home: Path) -> StatusReport:
    with open_reader(home) as log:
        team = load(log)
    server = running(home)
    problem, not_confined = _settings_notes(home, team)
    if server and any(each.is_listed and not each.retired for each in team.agents.values()):
        problem = problem or _settings_gone(home)
    return StatusReport(
        home=str(home),
        running=server is not None,
        pid=server.pid if server else None,
        url=(server.url or None) if server else None,
        settings_problem=problem,
        not_confined=not_confined,
        session=_session(team.delegation, home),
        team=view_team(team, now(), running=server is not None),
    )


def _settings_notes(home: Path, team: Team) -> tuple[str, str]:
    """The mistake in the settings or what the team cannot follow, and why the machine does not
    confine as they say."""
    try:
        settings = load_settings(home, os.environ)
    except BadSettings as bad:
        return str(problem_of(bad)), ""
    return follow(team, settings).trouble, unconfined(settings, support)


def _settings_gone(home: Path) -> str:
    """The settings of a running team come from a file: say so if that is gone."""
    path = home / SETTINGS_FILE
    return "" if path.exists() else f"{path} is gone. Put it back."


def unconfined(settings: Settings, ask: Callable[[], Support]) -> str:
    """Which agents are not confined although the settings say so, and why; empty if all are."""
    names = confined_by(settings)
    if not names or (found := ask()).way != "none":
        return ""
    return f"{', '.join(names)}: {found.sentence}"


# ── as text ───────────────────────────────────────────────────────────────────────────────────────

_AGENTS: Final = ("SEAT", "AGENT", "STATE", "EVIDENCE", "NOW")
_APPROVALS: Final = ("APPROVAL", "AGENT", "TOOL", "WHAT")
_CHANNELS: Final = ("CHANNEL", "STATE", "HOLDER", "TURN", "ENDS IN", "RING", "BECAUSE")


def _text(report: StatusReport, look: Look) -> Iterator[str]:
    team = report.team
    shown = [agent for agent in team.agents if agent.status is not Status.EXPIRED]
    yield _headline(report, look)
    yield _counts(team, shown)
    if report.session is not None:
        yield _session_line(report.session)
    if report.settings_problem:
        stay = " The earlier settings stay in force." if report.running else ""
        yield paint(f"{clean(report.settings_problem)}{stay}", Tone.BAD, look)
    if report.not_confined:
        yield paint(clean(report.not_confined), Tone.ODD, look)
    yield from _stopping(team, look)
    if not shown and report.session is None:
        yield ""
        yield from _next_step(report)
    elif shown:
        yield ""
        yield table(_AGENTS, [_agent_row(agent, now()) for agent in shown], look)
    if notes := [*_runs(shown, look), *_unborn(team)]:
        yield ""
        yield from notes
    yield from _asked(team, look)
    if team.channels:
        yield ""
        yield table(_CHANNELS, [_channel_row(channel) for channel in team.channels], look)


def _session_line(session: SessionSummary) -> str:
    """The session, and who works on its open conversations."""
    working = [f"{name} with {state}" for name, state in sorted(session.working.items())]
    done = f"{count(session.conversations, 'conversation')}" + "".join(f", {e}" for e in working)
    return clean(f"State machine session in {session.mode} mode: {session.path}, {done}")


def _asked(team: TeamView, look: Look) -> Iterator[str]:
    """Requests that wait for approval, and how to answer them."""
    asked = [each for agent in team.agents for each in agent.approvals]
    if asked:
        yield ""
        yield table(
            _APPROVALS, [(each.id, each.agent, each.tool, each.detail) for each in asked], look
        )
        yield "`muster approve ID` allows it, `muster deny ID` does not."


def _headline(report: StatusReport, look: Look) -> str:
    home = paint(report.home, Tone.STRONG, look)
    if not report.running:
        return f"{home}: server not running"
    where = f" at {report.url}" if report.url else ""
    return f"{home}: server running{where} (process {report.pid})"


def _stopping(team: TeamView, look: Look) -> Iterator[str]:
    """The shutdown that is under way: which agents are waited for, and for how long."""
    shutdown = team.shutdown
    if shutdown is None:
        return
    waits = drain_text(shutdown, now())
    yield paint(f"muster is stopping ({shutdown.reason}): {waits}", Tone.ODD, look)


def _counts(team: TeamView, shown: list[AgentView]) -> str:
    words = Counter(agent.badge.status.lower() for agent in shown)
    by_word = ", ".join(f"{number} {word}" for word, number in words.most_common())
    parts = [
        count(len(shown), "agent") + (f" ({by_word})" if by_word else ""),
        count(len(team.channels), "channel"),
        count(team.sessions, "session"),
        count(team.conversations, "open conversation"),
        count(team.seq, "event"),
    ]
    expired = len(team.agents) - len(shown)
    cost_usd = sum(agent.used.cost_usd for agent in team.agents if agent.used)
    if cost_usd:
        parts.append(f"{dollars(cost_usd)} used")
    return ", ".join([*parts, *([f"{expired} never hatched"] if expired else [])])


def _next_step(report: StatusReport) -> Iterator[str]:
    yield "The team has no agents yet."
    if report.running:
        yield "`muster log --follow` shows what happens as it happens."
    else:
        yield "`muster up` starts the server; `muster log` shows what happened so far."


def _agent_row(agent: AgentView, at: datetime) -> Row:
    return (
        str(agent.seat),
        agent.label,
        badge_cell(agent),
        evidence(agent.evidence),
        badge_line(agent.badge, at),
    )


def _runs(shown: list[AgentView], look: Look) -> Iterator[str]:
    """The agents whose next start needs a word: failures, schedules, dependencies."""
    for agent in shown:
        if notes := list(_notes(agent)):
            yield f"{paint(agent.label, Tone.STRONG, look)}: {clean('; '.join(notes))}"


def _unborn(team: TeamView) -> Iterator[str]:
    """The seats whose agents were not born, and how to try again."""
    for agent in team.agents:
        if agent.status is Status.EXPIRED:
            again = f"`muster summon --seat {agent.seat}` tries again"
            yield clean(f"seat {agent.seat}: {agent.badge.line}; {again}")


def _notes(agent: AgentView) -> Iterator[str]:
    failure = agent.last_failure
    if agent.node is not None:
        yield f"on {agent.node}"
    if agent.state_file_problem:
        yield f"its state file: {agent.state_file_problem}"
    if failure is not None:
        times = "" if failure.count == 1 else f" {failure.count} times"
        ago = duration((now() - failure.at).total_seconds())
        yield f"failed{times}, last {ago} ago: {failure.reason.rstrip('.')}"
    if agent.unanswered is not None:
        yield f"left a message unanswered; `muster retry {agent.label}` hands it over again"
    check = agent.last_wake.check if agent.last_wake is not None else None
    if check is WakeCheck.DIFFERED or check is WakeCheck.NO_ANSWER:
        yield f"at its last wake it {CHECKED[check]}"
    yield from _starts(agent)
    if agent.limits:
        yield f"limits: {', '.join(agent.limits)}"
    if agent.confinement:
        yield agent.confinement
    if agent.waits_for:
        yield f"waits for {', '.join(agent.waits_for)} to run"


def _starts(agent: AgentView) -> Iterator[str]:
    """When sessions of an agent start by themselves."""
    start = agent.next_start
    if agent.runs_for is RunsFor.LOOP:
        yield RUNS_FOR[agent.runs_for]
    if agent.schedule:
        yield f"runs {agent.schedule}"
    if start is not None and start.why != "pace":
        word = "next retry" if start.why == "retry" else "next run"
        yield f"{word} at {start.at.astimezone():%Y-%m-%d %H:%M:%S}"


def _channel_row(channel: ChannelView) -> Row:
    left = channel.remaining_seconds
    return (
        channel.channel,
        f"{channel.state}: {channel.waits_for}" if channel.waits_for else channel.state,
        channel.holder or "-",
        str(channel.epoch) if channel.epoch else "-",
        "-" if left is None else "due" if left < 0 else duration(left),
        " → ".join(channel.ring) or "-",
        channel.because or "-",
    )
