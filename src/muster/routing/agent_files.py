"""Reads agent files: Markdown with front matter, in folders of which earlier ones take precedence.

Reading never fails because of a file's content. A problem becomes a warning with file and line, and
no usable agent is left out silently.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from muster.errors import NotFound
from muster.regular_files import read_start
from muster.routing.frontmatter import Head, Value, read_head, text_of, tools_of

MAIN: Final = "MAIN"
"""The state that is no agent; a file cannot take its name."""

FILE_BYTES_MAX: Final = 1024 * 1024
"""An agent file is a prompt; the largest seen is a hundredth of this."""

FILES_MAX: Final = 2000
"""Agent files in all folders together: a hundred times a large team."""

FOLDERS_MAX: Final = 5000
"""Folders that are searched: a link can lead to a whole disk."""

PROJECT_FOLDER: Final = Path(".claude", "agents")

_TOOLS: Final = ("tools", "allowed-tools", "allowed_tools", "allowedTools")
_PLACEHOLDER: Final = re.compile(r"(?:todo|tbd|fixme|\.\.\.|n/a|null|none)[.!]?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Warned:
    """A problem in an agent file that a person may want to fix."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class AgentFile:
    """An agent as its file defines it."""

    name: str
    description: str
    path: Path = Path()
    tools: tuple[str, ...] | None = None
    """Tools that the agent may use; None allows all."""

    disallowed_tools: tuple[str, ...] = ()
    model: str | None = None
    body: str = ""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """All other keys, as text."""

    @property
    def routable(self) -> bool:
        """Whether requests can be matched to the agent; otherwise it is entered by name only."""
        return bool(self.description) and self.name != MAIN


@dataclass(frozen=True, slots=True)
class AgentFolders:
    """The agents of some folders, each name once, and the warnings about their files."""

    agents: tuple[AgentFile, ...]
    warnings: tuple[Warned, ...] = ()


def find_agents(
    given: Sequence[Path] = (), *, project: Path | None, user: Path | None
) -> AgentFolders:
    """Every agent of the given folders, the project's and the user's, by precedence.

    `project` and `user` are the folders that hold `.claude/agents`; they need not have it.
    """
    for folder in given:
        if not folder.exists():
            raise NotFound(kind="folder of agents", name=str(folder))
    usual = [base / PROJECT_FOLDER for base in (project, user) if base is not None]
    return read_folders([*given, *(folder for folder in usual if folder.is_dir())])


def read_folders(folders: Iterable[Path]) -> AgentFolders:
    """Every agent under the folders, in order; the first of a name takes precedence."""
    agents: dict[str, AgentFile] = {}
    warnings: list[Warned] = []
    seen: set[str] = set()
    for count, path in enumerate(each for folder in folders for each in _files(folder, warnings)):
        if count == FILES_MAX:
            warnings.append(Warned(path, 1, f"is not read: there are over {FILES_MAX} files"))
            break
        if (real := os.path.realpath(path)) in seen:  # a link to itself is its own target
            continue
        seen.add(real)
        agent, odd = read_agent(path)
        warnings += odd
        if agent is None:
            continue
        first = agents.setdefault(agent.name, agent)
        if first is not agent:
            text = f"{agent.name!r} is defined in {first.path} too, and that one takes precedence"
            warnings.append(Warned(path, 1, text))
    return AgentFolders(tuple(agents.values()), tuple(warnings))


def _files(folder: Path, warnings: list[Warned]) -> Iterator[Path]:
    if folder.is_file():
        yield folder
        return
    # links are followed, but a cycle only once, and none to a folder around this one, such as /
    seen = {str(each) for each in folder.resolve().parents}
    for count, (base, folders, names) in enumerate(os.walk(folder, followlinks=True)):
        if count == FOLDERS_MAX:
            text = f"is not searched: there are over {FOLDERS_MAX} folders"
            warnings.append(Warned(Path(base), 1, text))
            return
        real = os.path.realpath(base)
        folders[:] = [] if real in seen else sorted(folders)
        names = [] if real in seen else names
        seen.add(real)
        yield from (Path(base, name) for name in sorted(names) if name.lower().endswith(".md"))


def read_agent(path: Path) -> tuple[AgentFile | None, list[Warned]]:
    """The agent that a file defines, if any, and warnings about the file."""
    shown = Path(os.fsencode(path).decode("utf-8", "replace"))
    if shown != path:  # logs and answers are UTF-8
        return None, [Warned(shown, 1, "is not read: its name is not UTF-8. Rename it.")]
    try:
        data = read_start(path, FILE_BYTES_MAX + 1)
    except OSError as failed:
        return None, [Warned(path, 1, f"cannot be read: {failed.strerror}")]
    warnings: list[Warned] = []
    if len(data) > FILE_BYTES_MAX:
        data = data[:FILE_BYTES_MAX]
        warnings.append(Warned(path, 1, f"is cut after {FILE_BYTES_MAX} bytes"))
    text, odd = decoded(data)
    if odd:
        warnings.append(Warned(path, 1, odd))
    head = read_head(text)
    if head is None:
        why = "has no front matter (a block between lines of `---`): it is no agent"
        return None, [*warnings, Warned(path, 1, "is empty" if not text.strip() else why)]
    agent = _agent(path, head)
    return agent, [*warnings, *(Warned(path, line, text) for line, text in _oddities(agent, head))]


def decoded(data: bytes) -> tuple[str, str]:
    """The decoded text of a file with Unix line ends, and a warning about its encoding."""
    odd = ""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", "replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1252", "replace")
            odd = "is not UTF-8; it was read as Windows text (cp1252). Save it as UTF-8."
    return text.replace("\r\n", "\n").replace("\r", "\n"), odd


def _agent(path: Path, head: Head) -> AgentFile:
    values = head.values
    description = text_of(values.get("description"))
    model = re.split(r"\s#", text_of(values.get("model")))[0].strip()
    used = {"name", "description", "model", "disallowedTools", "disallowed-tools", *_TOOLS}
    denied = tools_of(values.get("disallowedTools") or values.get("disallowed-tools"))
    return AgentFile(
        name=" ".join(text_of(values.get("name")).split()) or path.stem,
        description="" if _PLACEHOLDER.match(description) else description,
        path=path,
        tools=tools_of(_tools(head)),
        disallowed_tools=denied or (),
        model=model or None,
        body=head.body,
        fields={key: text_of(value) for key, value in values.items() if key not in used},
    )


def _tools(head: Head) -> Value | None:
    return next((head.values[key] for key in _TOOLS if key in head.values), None)


def _oddities(agent: AgentFile, head: Head) -> Iterator[tuple[int, str]]:
    """Warnings about front matter that was read."""
    if not text_of(head.values.get("name")):
        yield head.line, f"has no name; it is called {agent.name!r} after its file"
    if agent.name == MAIN:
        yield head.line, f"is called {MAIN}, which is no agent's name: no request is routed to it"
    if not agent.description:
        at = head.values.get("description")
        text = "has no description: it can be entered by name only"
        yield (at.line if at else head.line), text
    if not head.closed:
        yield head.line, "has no line of `---` after its front matter; its end was guessed"
    for key, line in head.repeated:
        yield line, f"has {key!r} again; the first one is used"
