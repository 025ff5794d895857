"""A tool call that an agent asks for: the tool in muster's words, and every path that it names.

Agents spread the paths of an edit over locations, differences, raw input and earlier updates of the
same call. The union of them counts: a path that one of them names is among what is asked for. Pure.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from acp.schema import FileEditToolCallContent, ToolCall, ToolCallUpdate

from muster.runtimes.excerpts import compact

EDITS: Final = frozenset({"edit", "delete", "move"})
COMMANDS: Final = "execute"

_PATH_KEYS: Final = ("file_path", "filepath", "filePath", "path", "abs_path", "notebook_path")
_COMMAND_KEYS: Final = ("command", "cmd", "script")

Raw = Any  # whatever an agent sends


_FILE_ACTS: Final = {"delete": "Delete", "move": "Move"}
"""The tools of calls that do more to a file than change its text."""


class TextChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a file, as an agent tells it: some agents tell all of the text, some a part."""

    path: str
    before: str = ""
    after: str

    def gives(self, found: str, content: str) -> bool:
        """Whether a file with the text `found` has this content after the change."""
        part = bool(self.before) and self.before in found
        return content == (found.replace(self.before, self.after, 1) if part else self.after)


class AskedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that an agent makes or asks for, as far as it is known."""

    kind: str = ""
    title: str = ""
    paths: frozenset[str] = frozenset()
    raw: Mapping[str, object] = {}
    changes: tuple[TextChange, ...] = ()

    def merged(self, call: ToolCall | ToolCallUpdate) -> "AskedCall":
        """This call with what another message says about it."""
        raw = call.raw_input
        given = cast("dict[str, object]", raw) if isinstance(raw, dict) else {}
        return AskedCall(
            kind=call.kind or self.kind,
            title=call.title or self.title,
            paths=self.paths | frozenset(_paths(call, given)),
            raw={**self.raw, **given},
            changes=tuple(_changes(call)) or self.changes,
        )

    @property
    def is_edit(self) -> bool:
        """Whether it only changes the text of files; a call that names a command is more."""
        has_command = any(key in self.raw for key in _COMMAND_KEYS)
        return self.kind == "edit" and bool(self.paths) and not has_command

    @property
    def command(self) -> str:
        """The command line of a shell call; in the title where the agent says it nowhere else."""
        for key in _COMMAND_KEYS:
            found = self.raw.get(key)
            if isinstance(found, str):
                return found
            if isinstance(found, list):
                return " ".join(str(each) for each in cast("list[Raw]", found))
        return self.title

    @property
    def tool(self) -> str:
        """The tool, by the name that muster's policies know it by."""
        if self.kind == COMMANDS:
            return "Bash"
        if self.kind in _FILE_ACTS:
            return _FILE_ACTS[self.kind]
        return "Edit" if self.kind in EDITS or self.paths else (self.title or self.kind or "?")

    def arguments(self, cwd: Path) -> Mapping[str, object]:
        """The arguments of the tool. A call with several paths names no single one."""
        if self.kind == COMMANDS:
            return {"command": self.command}
        paths = sorted({str(cwd / path) for path in self.paths})
        if len(paths) == 1:
            return {**self.raw, "file_path": paths[0], **self._change()}
        return {**self.raw, "file_paths": paths} if paths else self.raw

    def _change(self) -> Mapping[str, object]:
        """The change of the one file, in the arguments of the tools that muster knows."""
        if len(self.changes) != 1:
            return {}
        (change,) = self.changes
        if not change.before:
            return {"content": change.after}
        return {"edits": [{"old_string": change.before, "new_string": change.after}]}

    @property
    def detail(self) -> str:
        """The call for a person to read."""
        if self.kind == COMMANDS:
            return f"command: {self.command}"
        lines = [self.title, *(f"file: {path}" for path in sorted(self.paths))]
        if not self.paths and self.raw:
            lines.append(compact(self.raw))
        return "\n".join(line for line in lines if line)


def _changes(call: ToolCall | ToolCallUpdate) -> Iterator[TextChange]:
    for part in call.content or ():
        if isinstance(part, FileEditToolCallContent):
            yield TextChange(path=part.path, before=part.old_text or "", after=part.new_text)


def _paths(call: ToolCall | ToolCallUpdate, given: Mapping[str, object]) -> Iterator[str]:
    for place in call.locations or ():
        yield place.path
    for part in call.content or ():
        if isinstance(part, FileEditToolCallContent):
            yield part.path
    for key in _PATH_KEYS:
        found = given.get(key)
        if isinstance(found, str) and found:
            yield found
