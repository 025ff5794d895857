"""`muster claude-hook EVENT`: what a hook of Claude Code is answered where no server runs.

The hook's client (`plugin/client.py`) calls it, with the hook's JSON on standard input. A policy
hook that fails denies (exit code 2, and the reason on stderr); any other prints nothing and exits
with 0.

The plugin's own commands come this way too. What was typed arrives as JSON and becomes arguments
here; no shell reads it. What the verb prints goes into the context of the prompt.
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

from muster.claude_plugin.hooks.answers import answer_safely, failed
from muster.claude_plugin.hooks.calls import HookAnswer, HookCall, began_here
from muster.claude_plugin.hooks.desk import HookDesk
from muster.cli.render import clean
from muster.settings.model import load_settings

COMMAND_EVENT: Final = "UserPromptExpansion"

COMMANDS: Final = ("agent-state-machine", "ask", "status")
"""The verbs that the plugin has commands for."""

COMMAND_SECONDS: Final = 570.0
"""How long a verb may take: less than the hook's own timeout, so that it can be said."""

SAID_CHARS_MAX: Final = 8000
"""What goes into a prompt's context; Claude Code cuts it off a little later."""


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
    answer = _answer(call, _home(ctx, home, project))
    click.echo(answer.text, nl=False, err=answer.code != 0)
    ctx.exit(answer.code)


def _home(ctx: click.Context, home: Path | None, project: Path) -> Path:
    """The home that is named; else the project's own, wherever Claude Code is in it just now."""
    told = home or ctx.find_root().params["home"]
    return project / told


def _answer(call: HookCall, home: Path) -> HookAnswer:
    try:
        if call.event == COMMAND_EVENT:
            return _carry_out(call, home)
        return asyncio.run(_asked(call, home))
    except Exception as error:  # before there is a desk: settings that cannot be read
        return failed(call.event, clean(str(error)))


async def _asked(call: HookCall, home: Path) -> HookAnswer:
    desk = HookDesk.of_project(home, load_settings(home, os.environ))
    answer = await answer_safely(desk, call)
    await desk.finish()  # the process must not end before the record is written
    return answer


# ── the plugin's commands ─────────────────────────────────────────────────────────────────────────


class _Typed(msgspec.Struct, frozen=True, kw_only=True):
    """A command of the plugin, as somebody typed it."""

    command_name: str
    command_args: str = ""


def _carry_out(call: HookCall, home: Path) -> HookAnswer:
    """Run the verb that a command stands for, and hand what it says to the prompt."""
    typed = msgspec.json.decode(call.data, type=_Typed)
    verb = typed.command_name.rpartition(":")[2]
    if verb not in COMMANDS:
        return HookAnswer(0, "")
    try:
        said = _said(["--home", str(home), verb, *_arguments(verb, typed.command_args)], call)
    except ValueError as wrong:
        said = f"The arguments cannot be read: {wrong}."
    context = f"`muster {verb}` said:\n\n{_shortened(said)}"
    told = {"hookEventName": COMMAND_EVENT, "additionalContext": context}
    return HookAnswer(0, json.dumps({"hookSpecificOutput": told}))


def _arguments(verb: str, typed: str) -> list[str]:
    """What was typed, as arguments. A request is one text, unless options come before it."""
    typed = typed.strip()
    if verb == "ask" and not typed.startswith("--"):
        return ["--", typed]
    return shlex.split(typed)


def _said(arguments: list[str], call: HookCall) -> str:
    """Run the command line in the project's folder: what it prints, in one text."""
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
            process.terminate()  # in order: what it runs ends with it
            said, _ = process.communicate()
            said += f"\nmuster was stopped after {COMMAND_SECONDS:.0f} seconds."
    return said


def _shortened(said: str) -> str:
    if len(said) <= SAID_CHARS_MAX:
        return said
    return f"{said[:SAID_CHARS_MAX]}\n[... {len(said) - SAID_CHARS_MAX} more characters]"
