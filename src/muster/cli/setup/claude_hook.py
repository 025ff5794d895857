"""`muster claude-hook EVENT`: answers a hook of Claude Code without a server.

The hook's client (`plugin/client.py`) calls it, with the hook's JSON on standard input. A hook that
decides denies if it fails, with the reason; any other prints nothing. The exit code is 0.

In a state machine session, the process stays in the background as the daemon that answers the next
hooks (`claude_plugin/hooks/daemon.py`).

Typed commands take this path too. The plugin's own are carried out: the typed text arrives as JSON
and is split into arguments here, without a shell, and the output of the verb goes into the context
of the prompt. Others are checked here, because this process has the environment of Claude Code
(`claude_plugin/typed`); the desk decides whether a refusal counts.
"""

import asyncio
import json
import os
import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import click
import msgspec

from muster.claude_plugin.hooks.answers import NOTHING, answer_safely, block, deny, failed
from muster.claude_plugin.hooks.calls import (
    COMMAND_EVENT,
    DENIED,
    HookAnswer,
    HookCall,
    began_of,
)
from muster.claude_plugin.hooks.daemon import home_to_serve, serve_session
from muster.claude_plugin.hooks.desk import HookDesk
from muster.claude_plugin.hooks.places import open_session
from muster.claude_plugin.plugin import client
from muster.claude_plugin.typed.checking import TypedCommand, refusal
from muster.claude_plugin.typed.surroundings import Surroundings
from muster.cli.keeping import let_go_of_output
from muster.cli.render import clean
from muster.settings.model import load_settings

COMMAND_SECONDS: Final = 570.0
"""Timeout of a verb: less than the hook's own timeout, so that it can be reported."""

SAID_CHARS_MAX: Final = 8000
"""Limit of the output that goes into a prompt's context; Claude Code's own is a little higher."""


@click.command(name="claude-hook", hidden=True)
@click.option("--home", type=click.Path(path_type=Path), help="The folder that holds the team.")
@click.argument("event")
@click.pass_context
def claude_hook(ctx: click.Context, home: Path | None, event: str) -> None:
    """Answer a hook of Claude Code, from its JSON on standard input."""
    project = Path(os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd())
    pid = os.environ.get("CLAUDE_PID", "")
    call = HookCall(
        event=event,
        project=project,
        token=os.environ.get("MUSTER_TOKEN", ""),
        pid=int(pid) if pid.isdecimal() else 0,
        began=began_of(),
        data=sys.stdin.buffer.read(),
    )
    team_home = _home(ctx, home, project)
    answer = _answer(call, team_home)
    if answer.code == DENIED:
        answer = deny(answer.text.rstrip("\n"))
    click.echo(answer.text, nl=False)
    own = home_to_serve(call, team_home)
    if own is not None:
        _leave_daemon(own, team_home, call.pid)


def _leave_daemon(own: Path, home: Path, pid: int) -> None:
    """Leave a process behind that answers the next hooks: it has loaded all that they need."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.fork():
        return
    try:
        os.setsid()
        let_go_of_output()
        os.chdir("/")
        asyncio.run(serve_session(own, home, pid))
    finally:
        os._exit(0)


def _home(ctx: click.Context, home: Path | None, project: Path) -> Path:
    """The given home; else the project's own, in whichever subfolder Claude Code is."""
    told = home or ctx.find_root().params["home"]
    return project / told


def _answer(call: HookCall, home: Path) -> HookAnswer:
    try:
        if call.event == COMMAND_EVENT:
            return _typed(call, home)
        return asyncio.run(_asked(call, home))
    except Exception as error:  # the settings cannot be read, so there is no desk yet
        return failed(call.event, clean(str(error)))


async def _asked(call: HookCall, home: Path) -> HookAnswer:
    desk = HookDesk.of_project(home, load_settings(home, os.environ))
    answer = await answer_safely(desk, call)
    await desk.finish()  # the process must not end before the record is written
    return answer


# ── typed commands ────────────────────────────────────────────────────────────────────────────────


def _typed(call: HookCall, home: Path) -> HookAnswer:
    """Carry out a command of the plugin, or check whether another one may be expanded."""
    # not msgspec's decoder: typed text can contain a lone surrogate
    given = json.loads(call.data)
    typed = msgspec.convert(given, TypedCommand)
    cwd = Path(typed.cwd or call.project)
    refused = refusal(typed, Surroundings.of(call.project, cwd, call.pid, os.environ))
    if typed.is_own:
        return block(refused.reason) if refused else _carry_out(typed, call, home)
    if refused is None:
        return NOTHING
    told = {**given, "refusal": msgspec.to_builtins(refused)}
    return _turned_away(msgspec.structs.replace(call, data=json.dumps(told).encode()), home)


def _turned_away(call: HookCall, home: Path) -> HookAnswer:
    """Have the process that has the log decide about a refusal; without one, decide here."""
    homes = [home]
    if not call.token:
        place = open_session(call.project, home)
        if place is None:
            return NOTHING
        homes.append(place.home)
    for each in dict.fromkeys(homes):
        with suppress(client.Vanished):  # it was killed: another one is asked
            answered = client.ask(
                call.event, call.data, os.fsencode(call.project), os.fsencode(each)
            )
            if answered is not None:
                return HookAnswer(answered[0], answered[1].decode("utf-8", "replace"))
    if call.token:
        return failed(call.event, "the muster that this session belongs to does not run any more")
    return asyncio.run(_asked(call, home))


def _carry_out(typed: TypedCommand, call: HookCall, home: Path) -> HookAnswer:
    """Run the verb of a command, and add its output to the prompt."""
    verb = typed.command_name.rpartition(":")[2]
    try:
        said = _said(["--home", str(home), verb, *_arguments(verb, typed.command_args)], call)
    except ValueError as wrong:
        said = f"Invalid arguments: {wrong}."
    context = f"`muster {verb}` said:\n\n{_shortened(said)}"
    told = {"hookEventName": COMMAND_EVENT, "additionalContext": context}
    return HookAnswer(0, json.dumps({"hookSpecificOutput": told}))


def _arguments(verb: str, typed: str) -> list[str]:
    """Split the typed text into arguments. A request is one argument, unless options precede it."""
    typed = typed.strip()
    if verb == "ask" and not typed.startswith("--"):
        return ["--", typed]
    return shlex.split(typed)


def _said(arguments: list[str], call: HookCall) -> str:
    """Run the command line in the project's folder; return all that it prints."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "muster", *arguments],
        cwd=call.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            said, _ = process.communicate(timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()  # gracefully, so that it ends its own children
            said, _ = process.communicate()
            said += f"\nmuster was stopped after {COMMAND_SECONDS:.0f} seconds."
    return said


def _shortened(said: str) -> str:
    if len(said) <= SAID_CHARS_MAX:
        return said
    return f"{said[:SAID_CHARS_MAX]}\n[... {len(said) - SAID_CHARS_MAX} more characters]"
