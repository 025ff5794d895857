"""`muster claude-hook EVENT`: answers a hook of Claude Code without a server.

The hook's client (`plugin/client.py`) calls it, with the hook's JSON on standard input. A policy
hook that fails denies, with the reason; any other prints nothing. The exit code is 0.

In a state machine session, the process stays in the background as the daemon that answers the next
hooks (`claude_plugin/hooks/daemon.py`).

The plugin's own commands take this path too. The typed text arrives as JSON and is split into
arguments here, without a shell. The output of the verb goes into the context of the prompt.
"""

import asyncio
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import click
import msgspec

from muster.claude_plugin.hooks.answers import answer_safely, deny, failed
from muster.claude_plugin.hooks.calls import DENIED, HookAnswer, HookCall, began_here
from muster.claude_plugin.hooks.daemon import home_to_serve, serve_session
from muster.claude_plugin.hooks.desk import HookDesk
from muster.cli.keeping import let_go_of_output
from muster.cli.render import clean
from muster.settings.model import load_settings

COMMAND_EVENT: Final = "UserPromptExpansion"

COMMANDS: Final = ("agent-state-machine", "ask", "status")
"""The verbs that the plugin has commands for."""

UNPREFIXED: Final = "agent-state-machine"
"""The command that is also known without the plugin's name: an installed plugin adds it."""

PREFIXES: Final = (("muster",), ("muster", ""))
"""The prefixes of a command, and of the one that needs none."""

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
        began=began_here(),
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
            return _carry_out(call, home)
        return asyncio.run(_asked(call, home))
    except Exception as error:  # the settings cannot be read, so there is no desk yet
        return failed(call.event, clean(str(error)))


async def _asked(call: HookCall, home: Path) -> HookAnswer:
    desk = HookDesk.of_project(home, load_settings(home, os.environ))
    answer = await answer_safely(desk, call)
    await desk.finish()  # the process must not end before the record is written
    return answer


# ── the plugin's commands ─────────────────────────────────────────────────────────────────────────


class _Typed(msgspec.Struct, frozen=True, kw_only=True):
    """A typed command of the plugin."""

    command_name: str
    command_args: str = ""


def _carry_out(call: HookCall, home: Path) -> HookAnswer:
    """Run the verb of a command, and add its output to the prompt."""
    typed = msgspec.json.decode(call.data, type=_Typed)
    prefix, _, verb = typed.command_name.rpartition(":")
    if verb not in COMMANDS or prefix not in PREFIXES[verb == UNPREFIXED]:
        return HookAnswer(0, "")
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
