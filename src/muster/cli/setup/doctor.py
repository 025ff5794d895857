"""`muster doctor`: checks of installation, home, settings, agents and log.

Each check answers with findings and changes nothing. The exit code is 1 where something must be
fixed before a team can run.
"""

import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final, assert_never

import click

from muster.cli.following import followed_in
from muster.cli.options import home_option
from muster.cli.reading import running
from muster.cli.render import Cell, Tone, count, table
from muster.cli.setup.checks.database import database_findings
from muster.cli.setup.checks.findings import Finding, Level
from muster.cli.setup.checks.npm_version import npm_version
from muster.cli.setup.verifying import verify_home
from muster.cli.terminal import look
from muster.confine.kernel import support
from muster.engine.loading import load
from muster.errors import BadSettings, MissingExtra, MusterError, NoTeam, PortTaken
from muster.http.server import listen
from muster.machines.kernel.invariants import violations
from muster.runtimes.acp.presets import PRESETS, preset_of
from muster.runtimes.bounded import limits_of
from muster.runtimes.claude.program import ENFORCEMENT as CLAUDE_ENFORCEMENT
from muster.runtimes.claude.program import TESTED as CLAUDE_TESTED
from muster.runtimes.claude.program import installed_program, other_version, program_version
from muster.runtimes.codex.runtime import ENFORCEMENT, INSTALL, TESTED, codex_program
from muster.runtimes.isolated import isolation_trouble, level_of, withheld
from muster.runtimes.once.presets import ONCE, run_once
from muster.runtimes.process.cgroups import delegation
from muster.runtimes.process.orphans import why_not_adopting
from muster.runtimes.process.resources import NOT_IN_FORCE, plan_limits
from muster.runtimes.sign_in import CLAUDE_SIGNS, NOT_FOUND, sign_in_of
from muster.settings.agents import AgentSettings, ClaudeSettings
from muster.settings.env_file import EnvFileError, read_env_file
from muster.settings.in_force import confined_by
from muster.settings.model import SETTINGS_FILE, Settings, load_settings
from muster.settings.process import Isolate
from muster.store.chain import parse_head
from muster.store.opening import open_reader

FOUND_SOMETHING: Final = 1

PYTHON_NEEDED: Final = (3, 11)
SQLITE_NEEDED: Final = (3, 40)  # what Debian 12 ships; older ones lack SQL that the log uses

DISTRIBUTION: Final = "muster-agents"
IMPORT_SECONDS: Final = 30.0
"""How long the module of a python agent may take to be imported."""

CODEX_SIGNS: Final = PRESETS["codex-acp"].signed_in
PROGRAMS: Final = {
    "git": "agents that work on code usually want it",
    "chromium": "needed only to test the dashboard",
}


_ISOLATED: Final[Mapping[Isolate, str]] = {
    "none": 'sees the team\'s home and can act as the operator. isolate = "home" hides it.',
    "home": "does not see the team's home",
    "strict": "does not see the team's home and other processes, connects to allowed ports only",
}

_TONES: Final = {
    Level.OK: Tone.GOOD,
    Level.NOTE: Tone.DIM,
    Level.WARN: Tone.ODD,
    Level.FIX: Tone.BAD,
}


@click.command()
@home_option
@click.option("--verify", is_flag=True, help="Read and check every event of the log.")
@click.option(
    "--head",
    "heads",
    multiple=True,
    metavar="SEQ:DIGEST",
    help="With --verify: a head that was printed earlier; fails if the log no longer has it.",
)
@click.pass_context
def doctor(ctx: click.Context, home: Path, verify: bool, heads: tuple[str, ...]) -> None:
    """Check installation, home, settings, agents and log.

    Nothing is changed. The exit code is 1 where something must be fixed before a team can run.
    --verify reads the whole log: every event, their order, the hash chain and SQLite's own
    structure. It prints the head, which stands for all events up to it: keep it elsewhere, or sign
    it, and compare it later with --head.
    """
    findings = list(examine(home))
    if verify or heads:
        findings += verify_home(home, [parse_head(each) for each in heads])
    rows = [(Cell(each.level, _TONES[each.level]), each.subject, each.found) for each in findings]
    click.echo(table(("", "WHAT", "FOUND"), rows, look()._replace(width=None)))
    if any(each.level is Level.FIX for each in findings):
        ctx.exit(FOUND_SOMETHING)


def examine(home: Path) -> Iterator[Finding]:
    """All checks."""
    yield _at_least("python", sys.version_info[:3], PYTHON_NEEDED, "Install a newer Python.")
    yield _at_least(
        "sqlite", sqlite3.sqlite_version_info, SQLITE_NEEDED, "Use a Python with a newer SQLite."
    )
    yield from _packages()
    yield _home(home)
    yield from _settings_and_port(home)
    yield _log(home)
    yield from database_findings(home)
    yield from _programs()
    yield _confinement()
    yield _daemons()


def _at_least(
    subject: str, found: tuple[int, ...], needed: tuple[int, ...], remedy: str
) -> Finding:
    shown = ".".join(map(str, found))
    if found >= needed:
        return Finding(Level.OK, subject, shown)
    wanted = ".".join(map(str, needed))
    return Finding(Level.FIX, subject, f"{shown}, but muster needs {wanted} or later. {remedy}")


def _confinement() -> Finding:
    """How this machine confines commands."""
    found = support()
    level = Level.OK if found.way != "none" and not found.lacks else Level.WARN
    return Finding(level, "confinement", found.sentence)


def _daemons() -> Finding:
    """Whether daemons that hide from muster end with the sessions that started them."""
    why = why_not_adopting()
    return Finding(Level.WARN if why else Level.OK, "daemons", why or "end with their sessions")


def _packages() -> Iterator[Finding]:
    """The packages that this installation of muster requires; those of extras are left out."""
    try:
        required = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        yield Finding(Level.WARN, DISTRIBUTION, "not installed; muster runs from its source")
        return
    for requirement in required:
        if "extra ==" not in requirement:
            yield _package(re.split(r"[^\w.-]", requirement)[0])


def _package(name: str) -> Finding:
    try:
        return Finding(Level.OK, name, version(name))
    except PackageNotFoundError:
        return Finding(Level.FIX, name, f"missing. Install {DISTRIBUTION} again.")


def _home(home: Path) -> Finding:
    if not home.exists():
        return Finding(Level.NOTE, "home", f"{home} does not exist yet; `muster init` creates it")
    if not home.is_dir():
        return Finding(
            Level.FIX, "home", f"{home} is not a folder. Move it, or give another --home."
        )
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        return Finding(Level.FIX, "home", f"{home} is not writable. Give another --home.")
    if home.stat().st_mode & 0o077:
        return Finding(Level.WARN, "home", f"{home} is open to others. `chmod 700` closes it.")
    return Finding(Level.OK, "home", str(home))


def _settings_and_port(home: Path) -> Iterator[Finding]:
    try:
        settings = load_settings(home, os.environ)
    except BadSettings as bad:
        yield Finding(Level.FIX, "settings", str(bad))
        return
    written = (home / SETTINGS_FILE).exists()
    yield Finding(Level.OK, "settings", SETTINGS_FILE if written else "all default, no file")
    with suppress(MusterError):  # the log cannot be read, which another check says
        if trouble := followed_in(home, settings).trouble:
            yield Finding(Level.FIX, "settings", trouble)
    yield _server(home, settings)
    yield from _limits(home, settings)
    for name, agent in settings.agents.items():
        yield _agent(home, name, agent)
        yield from _env_file(name, agent.env_file_in(home))
    yield from _isolation(settings)
    if names := confined_by(settings):
        found = support()
        level = Level.WARN if found.way == "none" else Level.OK
        yield Finding(level, "confined agents", f"{', '.join(names)}: {found.sentence}")


def _isolation(settings: Settings) -> Iterator[Finding]:
    """Whether programs of agents are kept from the team's home, as the settings say."""
    agents = {name: each for name, each in settings.agents.items() if each.runtime != "file"}
    inside = [name for name, each in agents.items() if each.runtime == "python"]
    if inside:
        found = f"{', '.join(inside)}: runs inside muster and sees the team's home"
        yield Finding(Level.NOTE, "isolation", found)
    levels: dict[Isolate, list[str]] = {}
    for name, each in agents.items():
        if name not in inside:
            levels.setdefault(level_of(each), []).append(name)
    for level, names in levels.items():
        why = isolation_trouble(level)
        said = f"not isolated: {why}" if why else _ISOLATED[level]
        usual = Level.NOTE if level == "none" else Level.OK
        yield Finding(Level.WARN if why else usual, "isolation", f"{', '.join(names)}: {said}")
    for name, each in agents.items():
        if name not in inside and (kept := withheld(each)):
            said = f"{name}: does not get {', '.join(kept)}. agents.{name}.pass_env passes some."
            yield Finding(Level.NOTE, "secrets", said)


def _agent(home: Path, name: str, agent: AgentSettings) -> Finding:
    """Whether the program of an agent can be started."""
    subject = f"agent {name}"
    folder = agent.cwd_beside(home)
    if agent.runtime != "file" and not folder.is_dir():
        remedy = f"Create it, or correct agents.{name}.cwd."
        return Finding(Level.FIX, subject, f"working directory {folder} does not exist. {remedy}")
    match agent.runtime:
        case "file":
            found = f"runs itself, by {agent.state_file_beside(home, name)}"
            return Finding(Level.OK, subject, found)
        case "command" if agent.script:
            return Finding(Level.OK, subject, f"says {count(len(agent.script), 'prepared line')}")
        case "command":
            return _command(subject, name, run_once(agent) if agent.preset else agent, folder)
        case "claude":
            return _claude(subject, agent, home)
        case "acp":
            return _acp(subject, name, agent, folder)
        case "codex":
            program = codex_program(agent.codex, home.absolute().parent)
            if shutil.which(program) is None:
                return Finding(Level.FIX, subject, f"codex is not installed. {INSTALL}")
            signed_in = sign_in_of(CODEX_SIGNS, agent.env)
            return _maker(subject, program, TESTED, f"{signed_in}. {ENFORCEMENT}")
        case "python":
            return _python(subject, agent, home.absolute().parent)
        case _:
            assert_never(agent.runtime)


def _limits(home: Path, settings: Settings) -> Iterator[Finding]:
    """How limits of agents hold, where there are any: under the running server, or one from here.

    A server that is started elsewhere, such as by systemd, may be in another cgroup.
    """
    limited = {name: limits_of(agent) for name, agent in settings.agents.items()}
    if not any(any(each is not None for each in limits) for limits in limited.values()):
        return
    server = running(home)
    found = delegation(os.getpid() if server is None else server.pid)
    yield Finding(Level.OK if found.folder else Level.NOTE, "limits", found.sentence)
    for name, limits in limited.items():
        plan = plan_limits(limits, found.controllers, is_root=os.getuid() == 0, user_tasks=0)
        for each in plan.held:
            if NOT_IN_FORCE in each:
                yield Finding(Level.WARN, f"agent {name}", each)


def _env_file(name: str, path: Path | None) -> Iterator[Finding]:
    """Whether the environment file of an agent can be read, and by its owner alone."""
    if path is None:
        return
    subject = f"agent {name}"
    try:
        variables = read_env_file(path)
    except EnvFileError as wrong:
        yield Finding(Level.FIX, subject, f"{wrong}. {wrong.remedy}")
        return
    if path.stat().st_mode & 0o077:
        open_to = f"env_file {path} is open to others. `chmod 600` closes it."
        yield Finding(Level.WARN, subject, open_to)
    else:
        yield Finding(Level.OK, subject, f"env_file {path}, {count(len(variables), 'variable')}")


def _command(subject: str, name: str, agent: AgentSettings, folder: Path) -> Finding:
    program = agent.command[0]
    # a relative path is relative to the agent's working directory
    found = shutil.which(
        str(folder / program) if "/" in program else program, path=agent.env.get("PATH")
    )
    if found is None and agent.preset:
        install = ONCE[agent.preset].install
        return Finding(Level.FIX, subject, f"{program} is not installed. Install it: {install}")
    if found is None:
        remedy = f"Install it, or correct agents.{name}.command."
        wrong = f"its program {program} does not exist or is not executable. {remedy}"
        return Finding(Level.FIX, subject, wrong)
    return _once(subject, found, agent) if agent.preset else Finding(Level.OK, subject, found)


def _once(subject: str, program: str, agent: AgentSettings) -> Finding:
    """The version, the sign-in and the rules of the program of a preset."""
    preset = ONCE[agent.preset]
    known = f"{sign_in_of(preset.signed_in, agent.env)}. {preset.enforcement}"
    if not preset.tested:
        return Finding(Level.OK, subject, f"{program} (not tested with the program), {known}")
    return _maker(subject, program, preset.tested, known)


def _python(subject: str, agent: AgentSettings, base: Path) -> Finding:
    """Whether the coroutine of an agent can be imported. Its module may do anything, so another
    process imports it."""
    line = [sys.executable, "-m", "muster.runtimes.python.check", agent.target, str(base)]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=IMPORT_SECONDS)
    except subprocess.TimeoutExpired:
        why = f"is still being imported after {IMPORT_SECONDS:g} s"
        return Finding(Level.WARN, subject, f"{agent.target} {why}. Look what its module does.")
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["its module ends the interpreter"])[-1]
        remedy = "Correct the module, or the agent's target."
        return Finding(Level.FIX, subject, f"{agent.target} cannot run: {why}. {remedy}")
    found = f"{agent.target}, in muster's own process and with all of its rights"
    return Finding(Level.OK, subject, found)


def _claude(subject: str, agent: AgentSettings, home: Path) -> Finding:
    try:
        program = installed_program(agent.claude, home.absolute().parent)
    except MusterError as missing:
        return Finding(Level.FIX, subject, str(missing))
    wrong = other_version(agent.claude, program)
    if wrong:
        return Finding(Level.FIX, subject, f"{program}: {wrong}. No session starts with it.")
    version = program_version(program)
    whose = "your own" if agent.claude.program else "of the extra"
    pinned = ", pinned by claude.version" if agent.claude.version else ""
    signed_in = _claude_sign_in(agent)
    known = f"{signed_in}. {CLAUDE_ENFORCEMENT}"
    if version == CLAUDE_TESTED:
        level = Level.WARN if signed_in.startswith(NOT_FOUND) else Level.OK
        found = f"{program} {version} ({whose}, tested{pinned}), {known}"
        return Finding(level, subject, found)
    told = version or "does not say its version"
    found = f"{program} {told} ({whose}{pinned}); muster is tested with {CLAUDE_TESTED}"
    return Finding(Level.WARN, subject, f"{found}, {known}")


def _claude_sign_in(agent: AgentSettings) -> str:
    found = sign_in_of(CLAUDE_SIGNS, agent.env)
    remedy = f": run `claude` and sign in, or set {CLAUDE_SIGNS[0]} in its env"
    return f"{found}{remedy if found == NOT_FOUND else ''}"


def _acp(subject: str, name: str, agent: AgentSettings, folder: Path) -> Finding:
    """Whether an agent of the protocol can be started, and what it enforces."""
    preset = preset_of(agent.acp.preset)
    if find_spec("acp") is None:
        return Finding(Level.FIX, subject, str(MissingExtra(what="The runtime 'acp'", extra="acp")))
    if not preset.command:
        found = _command(subject, name, agent, folder)
        if found.level is not Level.OK:
            return found
        return Finding(Level.OK, subject, f"{found.found}. {preset.enforcement}")
    program = shutil.which(preset.command[0], path=agent.env.get("PATH"))
    if program is None:
        remedy = f"Install it: npm install -g {preset.package}"
        return Finding(Level.FIX, subject, f"{preset.command[0]} is not installed. {remedy}")
    known = f"{sign_in_of(preset.signed_in, agent.env)}. {preset.enforcement}"
    return _maker(subject, program, preset.tested, known)


def _maker(subject: str, program: str, tested: str, known: str) -> Finding:
    """A program of a maker: its version where that can be seen, and the tested one."""
    version = npm_version(shutil.which(program) or program)
    if not version or f"{version}.".startswith(f"{tested}."):
        told = f"{version} (tested)" if version else f"(tested with {tested})"
        return Finding(Level.OK, subject, f"{program} {told}, {known}")
    told = f"{program} {version}; muster is tested with {tested}"
    return Finding(Level.WARN, subject, f"{told}, {known}")


def _server(home: Path, settings: Settings) -> Finding:
    server = running(home)
    if server is not None:
        where = f" at {server.url}" if server.url else ""
        return Finding(Level.OK, "server", f"running{where} (process {server.pid})")
    host, port = settings.server.host, settings.server.port
    try:
        listen(host, port).close()
    except PortTaken as taken:
        return Finding(Level.FIX, "server", f"not running, and could not start: {taken}")
    return Finding(Level.NOTE, "server", f"not running; {host}:{port} is free for `muster up`")


def _log(home: Path) -> Finding:
    try:
        with open_reader(home) as reader:
            team = load(reader)
    except NoTeam:
        return Finding(Level.NOTE, "log", "none yet; `muster up` begins it")
    except MusterError as failed:
        return Finding(Level.FIX, "log", str(failed))
    wrong = list(violations(team))
    if wrong:
        found = f"readable, but its state breaks invariants: {'; '.join(wrong)}. Report it."
        return Finding(Level.FIX, "log", found)
    return Finding(Level.OK, "log", f"readable, {count(team.seq, 'event')}, consistent")


def _programs() -> Iterator[Finding]:
    for program, purpose in PROGRAMS.items():
        path = shutil.which(program)
        yield Finding(Level.NOTE, program, path or f"not found; {purpose}")
    try:  # on the PATH, or the one that the extra brings
        found = str(installed_program(ClaudeSettings(), Path.cwd()))
    except MusterError:
        found = "not found; needed for agents that are Claude Code"
    yield Finding(Level.NOTE, "claude", found)
    yield Finding(Level.NOTE, "system", f"{platform.system()} {platform.release()}")
