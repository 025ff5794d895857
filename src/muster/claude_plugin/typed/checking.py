"""Checks a typed command: the reason why it may not be expanded in a state machine session."""

import os
from pathlib import Path
from typing import Final

import msgspec

from muster.claude_plugin.copying import SOURCE
from muster.claude_plugin.typed import past_hooks
from muster.claude_plugin.typed.definitions import (
    PLUGIN_SOURCE,
    TooManyFiles,
    definitions,
    has_commands_in_manifest,
)
from muster.claude_plugin.typed.replacing import changed_on_the_way
from muster.claude_plugin.typed.surroundings import Surroundings
from muster.regular_files import TooLong, open_regular, read_whole

OWN: Final = ("agent-state-machine", "ask", "status")
"""The commands of muster's plugin."""

OWN_PREFIX: Final = "muster:"

BUILT_IN: Final = ("builtin", "bundled")
"""The sources of commands that are part of Claude Code."""

BUILT_IN_WITH_SHELL: Final = ("commit", "commit-push-pr", "pr", "security-review")
"""Commands of Claude Code itself that run git before they ask the model."""

FILE_BYTES_MAX: Final = 1024 * 1024
"""Claude Code loads no larger command."""

REMEDY: Final = (
    "Ask for the work in words instead: commands of MAIN are judged and confined, and agents run "
    "the others. Or close the session first, with /agent-state-machine --session end."
)


class TypedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A typed command, as Claude Code describes it to a hook."""

    command_name: str
    command_args: str = ""
    command_source: str = ""
    expansion_type: str = ""
    cwd: str = ""

    @property
    def is_own(self) -> bool:
        """Whether it is a command of muster's plugin, by whichever of its names."""
        prefix, _, verb = self.command_name.rpartition(":")
        return verb in OWN and (prefix == "muster" or (not prefix and verb == OWN[0]))


class CommandRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """The rule that a command breaks, and the reason for a person."""

    rule: str
    reason: str


class _Refused(Exception):
    """The rule, and what is wrong with the command."""

    def __init__(self, rule: str, why: str) -> None:
        super().__init__(why)
        self.rule = rule


def refusal(typed: TypedCommand, where: Surroundings) -> CommandRefusal | None:
    """The refusal to expand a typed command in a state machine session, or None."""
    try:
        _check(typed, where)
    except _Refused as refused:
        rule, why = refused.rule, str(refused)
    except (OSError, ValueError) as failed:  # fail closed, also for hostile names
        rule, why = "unknown", f"its file cannot be checked ({failed})"
    else:
        return None
    said = f"/{_shown(typed.command_name)} is not expanded in a state machine session: {why}."
    return CommandRefusal(rule=f"main.command.{rule}", reason=f"{said} {REMEDY}")


def _check(typed: TypedCommand, where: Surroundings) -> None:
    name, source = typed.command_name, typed.command_source
    if source in BUILT_IN:
        if name in BUILT_IN_WITH_SHELL:
            why = "Claude Code runs git commands for it without asking a hook"
            raise _Refused("inline", why)
        return
    if source == "mcp" or typed.expansion_type == "mcp_prompt":
        return  # Claude Code runs nothing that a server sends
    if typed.is_own and name.startswith(OWN_PREFIX) and source == PLUGIN_SOURCE:
        return
    try:
        found = definitions(name, source, where)
    except TooManyFiles:
        raise _Refused("unknown", "its file cannot be found among so many files") from None
    if not found:
        raise _Refused("unknown", "muster cannot find its file, so nothing tells what it runs")
    if source == PLUGIN_SOURCE and has_commands_in_manifest(name.partition(":")[0], where):
        raise _Refused("unknown", "its plugin has the text of commands in its manifest")
    for file in found:
        _check_file(file, typed, where)


def _check_file(file: Path, typed: TypedCommand, where: Surroundings) -> None:
    shown = _shown(os.path.relpath(file, where.project))
    if len(shown) > len(str(file)):
        shown = _shown(str(file))
    text, changed = _text(file, shown)
    if typed.is_own and text == (SOURCE / "commands" / f"{OWN[0]}.md").read_text(encoding="utf-8"):
        return  # muster's own text, which may be installed while Claude Code runs
    if "!" in str(file):
        raise _Refused("inline", f"the path {shown} has a `!`, which may become a shell command")
    inline = past_hooks.inline_command(text)
    if inline:
        why = f"{shown} has {inline!r}, which may become a shell command"
        raise _Refused("inline", f"{why} that Claude Code runs without asking a hook")
    settings = past_hooks.frontmatter_of(text)
    if past_hooks.has_hooks(settings):
        raise _Refused("hooks", f"{shown} brings hooks of its own, which nothing judges")
    if past_hooks.starts_subagent(settings):
        raise _Refused("subagent", f"{shown} runs in a subagent that is no agent of the session")
    if past_hooks.is_unusual(settings):
        raise _Refused("unknown", f"the settings in {shown} are not written as plain `name: value`")
    # Claude Code has the text in memory: a file that changed may not be what it expands.
    if where.began and changed > where.began:
        why = f"{shown} changed after Claude Code was started, which may still have another text"
        raise _Refused("changed", f"{why} of it: start Claude Code again to use it")


def _text(file: Path, shown: str) -> tuple[str, float]:
    """The text of a file, and when the file was changed or replaced."""
    try:
        descriptor = open_regular(file)
    except OSError as failed:
        raise _Refused("unknown", f"{shown} cannot be read ({failed.strerror})") from None
    try:
        data = read_whole(descriptor, FILE_BYTES_MAX)
        changed = max(os.fstat(descriptor).st_ctime, changed_on_the_way(file))
    except TooLong:
        raise _Refused("unknown", f"{shown} has more than {FILE_BYTES_MAX} bytes") from None
    finally:
        os.close(descriptor)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise _Refused("unknown", f"{shown} is no text in UTF-8")
    return text, changed


def _shown(text: str) -> str:
    """A hostile name for one line of text."""
    shown = "".join(each if each.isprintable() else "\ufffd" for each in text)
    return shown if len(shown) <= past_hooks.SHOWN_CHARS else f"…{shown[1 - 80 :]}"
