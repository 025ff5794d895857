"""Facts for a decision about a tool call: the folder, the change of a file, the effects of a line.

They are read from the files as they are when the agent asks. What cannot be known is said so, and
never guessed. Everything is bounded: an agent writes what is looked at here, and a worker looks.
"""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from muster.differences import difference
from muster.engine.ports import Permission
from muster.limits import (
    APPROVAL_CHANGE_CHARS_MAX,
    APPROVAL_DETAIL_CHARS_MAX,
    APPROVAL_EFFECTS_MAX,
    APPROVAL_FILE_BYTES_MAX,
    APPROVAL_FILES_COUNTED_MAX,
)
from muster.permissions.commands import acts_of
from muster.permissions.programs.catalogue import LOOKING
from muster.permissions.shell.effects import Scene
from muster.permissions.shell.grammar import parse
from muster.permissions.shell.words import NotUnderstood
from muster.regular_files import read_regular

_DELETERS: Final = frozenset({"rm", "rmdir", "unlink", "shred"})
_EFFECT_CHARS: Final = 200
_SHELLS: Final = frozenset({"Bash", "bash", "Shell", "shell"})
_CHANGES: Final = frozenset({"content", "edits", "old_string"})


class RequestFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a call, for the person who allows or denies it."""

    folder: str = ""
    effects: tuple[str, ...] = ()
    change: str = ""
    """The difference that a write makes, as a unified diff."""


def facts_of(request: Permission) -> RequestFacts:
    """The facts about a request; few where its tool is not known."""
    facts = _facts_of(request)
    if len(request.detail) < APPROVAL_DETAIL_CHARS_MAX or facts.change:
        return facts
    cut = f"unclear: only its first {APPROVAL_DETAIL_CHARS_MAX:,} characters are shown"
    return replace(facts, effects=(cut, *facts.effects)[:APPROVAL_EFFECTS_MAX])


def no_facts(request: Permission) -> RequestFacts:
    """The facts about a request that takes too long to look at: none but its folder."""
    folder = str(request.cwd) if request.cwd.is_absolute() else ""
    return RequestFacts(folder=folder, effects=("unclear: it takes too long to look at",))


def _facts_of(request: Permission) -> RequestFacts:
    given, cwd = request.arguments, request.cwd
    folder = str(cwd) if cwd.is_absolute() else ""
    if folder and (command := _command(request.tool, given.get("command"))):
        effects = tuple(_effects(command, folder))[:APPROVAL_EFFECTS_MAX]
        return RequestFacts(folder=folder, effects=effects)
    if request.tool in ("Write", "Edit", "MultiEdit"):
        return _written(given, cwd, folder)
    return RequestFacts(folder=folder)


# ── commands ──────────────────────────────────────────────────────────────────────────────────────


def _command(tool: str, given: object) -> str:
    """The command line of a call, or nothing. A list of words is a command, whatever the tool."""
    if isinstance(given, str):
        return given if tool in _SHELLS else ""
    try:
        return shlex.join(msgspec.convert(given, list[str]))
    except msgspec.ValidationError:
        return ""


def _effects(command: str, folder: str) -> Iterator[str]:
    """The effects of a command line, the dangerous ones first."""
    scene = acts_of(command, folder)
    yield from _deletions(command, folder)
    written = dict.fromkeys(
        act.word.raw for act in scene.acts if act.kind == "write" and act.word is not None
    )
    if written:
        yield _line("writes", list(written))
    run = dict.fromkeys(
        " ".join(act.names[:2])
        for act in scene.acts
        if act.kind == "execute" and act.about not in LOOKING and act.names[0] not in _DELETERS
    )
    if run:
        yield _line("runs", list(run))
    doubts = dict.fromkeys(act.names[0] for act in scene.acts if act.kind == "doubt")
    yield from (f"unclear: {why}"[:_EFFECT_CHARS] for why in doubts)
    if not (written or run or doubts) and _only_looks(scene):
        yield "only reads"


def _only_looks(scene: Scene) -> bool:
    return all(act.kind == "execute" and act.about in LOOKING for act in scene.acts)


def _line(verb: str, what: Sequence[str]) -> str:
    return f"{verb} {', '.join(what)}"[:_EFFECT_CHARS]


def _deletions(command: str, folder: str) -> Iterator[str]:
    try:
        found = parse(command).found
    except (NotUnderstood, RecursionError):
        return  # the doubts of the line say so
    for simple in found:
        if not simple.words or simple.words[0].text not in _DELETERS:
            continue
        for word in simple.words[1:]:
            if word.plain and not word.text.startswith("-"):
                yield f"deletes {word.text}{_size(Path(folder, word.text))}"[:_EFFECT_CHARS]
            elif not word.plain:
                yield f"deletes {word.raw}, which is only known when it runs"[:_EFFECT_CHARS]


def _size(path: Path) -> str:
    """How many files are in a folder, as far as they are counted."""
    if path.is_symlink() or not path.is_dir():
        return "" if os.path.lexists(path) else " (does not exist)"
    count = 0
    for _, _, files in os.walk(path):
        count += len(files)
        if count > APPROVAL_FILES_COUNTED_MAX:
            return f" ({APPROVAL_FILES_COUNTED_MAX:,} files or more)"
    return f" ({count:,} files)"


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def _written(given: Mapping[str, object], cwd: Path, folder: str) -> RequestFacts:
    path = given.get("file_path")
    if not isinstance(path, str) or not folder:
        return RequestFacts(folder=folder)
    if not _CHANGES & given.keys():
        return RequestFacts(folder=folder, effects=("what it changes is not said",))
    file = cwd / path
    before = _text(file)
    if before is None:
        return RequestFacts(folder=folder, effects=("the file is too large, or no text",))
    after = _after(before, given)
    if after is None:
        missing = ("the text to replace is not in the file",)
        return RequestFacts(folder=folder, effects=missing, change=_as_given(given, path))
    is_new = not os.path.lexists(file)
    effects = ("a new file",) if is_new else ()
    return RequestFacts(folder=folder, effects=effects, change=_diff(before, after, path))


def _text(file: Path) -> str | None:
    """The text of a file, empty if there is none; None if it cannot be shown."""
    try:
        return read_regular(file, bytes_max=APPROVAL_FILE_BYTES_MAX).decode()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError):
        return None


def _after(before: str, given: Mapping[str, object]) -> str | None:
    """The text after a write or after all edits; None if an edit does not fit."""
    content = given.get("content")
    if isinstance(content, str):
        return content
    edits = given.get("edits", [given])
    try:
        for edit in msgspec.convert(edits, list[_Edit], strict=False):
            if edit.old_string not in before:
                return None
            before = before.replace(edit.old_string, edit.new_string, -1 if edit.replace_all else 1)
    except msgspec.ValidationError:
        return None
    return before


def _as_given(given: Mapping[str, object], path: str) -> str:
    """The texts of edits that do not fit the file, as they were given."""
    try:
        edits = msgspec.convert(given.get("edits", [given]), list[_Edit], strict=False)
    except msgspec.ValidationError:
        return ""
    lines = [f"--- {path}", f"+++ {path}"]
    for edit in edits:
        lines += ["@@ as the agent gave it @@"]
        lines += [f"-{line}" for line in edit.old_string.splitlines()]
        lines += [f"+{line}" for line in edit.new_string.splitlines()]
    return _bounded("\n".join(lines))


class _Edit(msgspec.Struct, frozen=True):
    old_string: str
    new_string: str
    replace_all: bool = False


def _diff(before: str, after: str, path: str) -> str:
    lines = (f"--- {path}", f"+++ {path}", *difference(before, after, context=3))
    return _bounded("\n".join(lines) if len(lines) > 2 else "")


def _bounded(text: str) -> str:
    if len(text) <= APPROVAL_CHANGE_CHARS_MAX:
        return text
    return f"{text[:APPROVAL_CHANGE_CHARS_MAX]}\n… and more"
