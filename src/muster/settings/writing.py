"""Edits of `muster.toml` that keep its comments, its order and everything they are not about.

Pure: text in, text out. tomlkit does the edit; `tomllib` then checks that the data are exactly what
was asked for, so a form of TOML that tomlkit does not handle is refused, and never damaged.
"""

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from muster.errors import AgentInSettings, CannotEditSettings, Invalid, NotFound
from muster.machines.ids import name_key
from muster.settings.agents import AGENTS
from muster.settings.channels import CHANNELS, MEMBERS, SELECTOR
from muster.settings.file import key_parts
from muster.settings.layout import keeping_layout, without_layout

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

FORMERLY: Final = "formerly"
AFTER: Final = "after"
"""The setting that names other agents."""

HEADER: Final = """\
# muster.toml: the settings of this team, taken up while muster runs.
# An agent is a table: [agents.NAME], and its settings below. `muster agent add` writes one.
# docs/reference/settings.md describes every setting and its default.

"""
"""The beginning of a file that muster writes where there is none."""

Values = Mapping[str, object]
"""Settings of an agent by their keys below its table: `cwd`, `budget.cost_usd`, `env.NAME`."""

# The content of a TOML file: tables and values of any type.
_Data = dict[str, Any]


def add_agent(text: str, name: str, values: Values) -> str:
    """Append the table of a new agent; everything before it stays as it is."""
    data = _data(text)
    if (known := _spelled(data, name)) is not None:
        raise AgentInSettings(name=known)
    data.setdefault(AGENTS, {})[name] = _nested(values)
    before = f"{text.rstrip()}\n\n" if text.strip() else HEADER
    block = _block(name, values)
    if text.count("\r\n") * 2 > text.count("\n"):
        before, block = before[:-2] + "\r\n\r\n", block.replace("\n", "\r\n")
    return _checked(before + block, data)


def change_agent(text: str, name: str, values: Values, unset: Sequence[str] = ()) -> str:
    """Set some settings of an agent, and remove others."""
    data = _data(text)
    name = _need(data, name)
    for key in unset:
        _remove(data[AGENTS][name], key)
    for key, value in values.items():
        _put(data[AGENTS][name], key, value, {})

    def edit(bare: str) -> str:
        document = _document(bare)
        table = document[AGENTS][name]  # pyright: ignore[reportIndexIssue] - a table
        for key in unset:
            _remove(table, key)
        for key, value in values.items():
            with _encodable(key):
                _put(table, key, value, _inline())
        return _dumped(document)

    body, end = _without_end(text)
    return _checked(keeping_layout(body, edit) + end, data)


def _without_end(text: str) -> tuple[str, str]:
    """The file without the comments that end it, and those: they are no part of the last table."""
    end = _END.search(text)
    at = len(text) if end is None else end.start()
    return text[:at], text[at:]


def remove_agent(text: str, name: str) -> str:
    """Remove the table of an agent, with its comments, and the agent from channels' tables."""
    text = _change_members(text, name, None)
    data = _data(text)
    name = _need(data, name)
    del data[AGENTS][name]

    def edit(bare: str) -> str:
        document = _document(bare)
        del document[AGENTS][name]  # pyright: ignore[reportIndexIssue] - a table
        return _dumped(document)

    body, end = _without_end(text)
    return _checked(keeping_layout(body, edit) + end, data, may_lack_agents=True)


def rename_agent(text: str, name: str, new: str) -> str:
    """Give the table of an agent another name, and note the former one in it.

    The note tells a rename from the removal of one agent and the addition of another.
    """
    data = _data(text)
    name = _need(data, name)
    known = _spelled(data, new)
    if known is not None and known != name:
        raise AgentInSettings(name=known)
    table = data[AGENTS][name]
    former = [each for each in table.get(FORMERLY, []) if name_key(str(each)) != name_key(new)]
    noted = change_agent(text, name, {FORMERLY: [name, *former]})
    for other, after in _dependents(data[AGENTS], name):
        noted = change_agent(
            noted,
            other,
            {AFTER: [new if name_key(each) == name_key(name) else each for each in after]},
        )
    noted = _change_members(noted, name, new)
    wanted = _data(noted)
    wanted[AGENTS] = {(new if key == name else key): table for key, table in wanted[AGENTS].items()}
    return _checked("".join(_renamed_lines(noted, name, new)), wanted)


def _dependents(agents: _Data, name: str) -> Iterator[tuple[str, list[str]]]:
    """The agents that start after another, and their lists of names."""
    for other, table in agents.items():
        after = [str(each) for each in table.get(AFTER, [])]
        if name_key(name) in map(name_key, after):
            yield other, after


def _change_members(text: str, name: str, new: str | None) -> str:
    """The text with another name of an agent in the channels' tables, or without it."""
    data = _data(text)
    changes = [
        (channel, key, value)
        for channel, table in _channel_tables(data)
        for key, value in _renamed_member(table, name_key(name), new)
    ]
    if not changes:
        return text
    for channel, key, value in changes:
        data[CHANNELS][channel][key] = value

    def edit(bare: str) -> str:
        document = _document(bare)
        for channel, key, value in changes:
            document[CHANNELS][channel][key] = value  # pyright: ignore[reportIndexIssue] - a table
        return _dumped(document)

    return _checked(keeping_layout(text, edit), data)


def _renamed_member(table: _Data, key: str, new: str | None) -> Iterator[tuple[str, object]]:
    """The settings of a channel that name an agent, with its new name or without it."""
    members = [str(each) for each in table.get(MEMBERS, ())]
    if key in map(name_key, members):
        renamed = [new if name_key(each) == key else each for each in members]
        yield MEMBERS, [each for each in renamed if each is not None]
    if new is not None and name_key(str(table.get(SELECTOR, ""))) == key:
        yield SELECTOR, new


def _channel_tables(data: _Data) -> Iterator[tuple[str, _Data]]:
    found = data.get(CHANNELS)
    for channel, table in cast("_Data", found).items() if isinstance(found, dict) else ():
        if isinstance(table, dict):
            yield channel, cast("_Data", table)


def difference(before: str, after: str, path: str) -> str:
    """The edit as a unified diff."""
    lines = unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), path, path
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def agent_text(text: str, name: str) -> str:
    """The table of an agent as TOML of its own, as an editor shows it."""
    import tomlkit  # slow, and only edits need it

    data = _data(text)
    name = _need(data, name)
    table = _document(without_layout(text))[AGENTS][name]  # pyright: ignore[reportIndexIssue]
    shown = tomlkit.document()
    shown[AGENTS] = {name: table}
    return tomlkit.dumps(shown).strip() + "\n"


# ── data ──────────────────────────────────────────────────────────────────────────────────────────


def _data(text: str) -> _Data:
    import tomllib

    return tomllib.loads(text)


def _spelled(data: _Data, name: str) -> str | None:
    """The name of an agent as the file spells it."""
    found = data.get(AGENTS)
    known = cast("_Data", found) if isinstance(found, dict) else {}
    return next((each for each in known if name_key(each) == name_key(name)), None)


def _need(data: _Data, name: str) -> str:
    found = _spelled(data, name)
    if found is None:
        raise NotFound(kind="table of agent", name=name)
    return found


def _nested(values: Values) -> _Data:
    table: _Data = {}
    for key, value in values.items():
        _put(table, key, value, {})
    return table


def _put(table: Any, key: str, value: object, empty: Any) -> None:  # noqa: ANN401 - either library
    """Set a value below a table; `empty` becomes the table in between where there is none."""
    part, _, name = key.partition(".")
    if not name:
        table[part] = deepcopy(value)
        return
    if part not in table:
        table[part] = deepcopy(empty)
    table[part][name] = deepcopy(value)


def _remove(table: Any, key: str) -> None:  # noqa: ANN401 - a table of either library
    part, _, name = key.partition(".")
    if part not in table or (name and name not in table[part]):
        raise NotFound(kind="setting", name=key)
    if not name:
        del table[part]
        return
    del table[part][name]
    if not table[part]:
        del table[part]


def _checked(text: str, wanted: _Data, *, may_lack_agents: bool = False) -> str:
    """The text, if it says exactly what is wanted."""
    import tomllib

    try:
        found = _data(text)
    except tomllib.TOMLDecodeError as failed:
        raise CannotEditSettings() from failed
    if may_lack_agents and not wanted.get(AGENTS):
        found.pop(AGENTS, None)
        wanted.pop(AGENTS, None)
    if found != wanted:
        raise CannotEditSettings()
    return text


# ── the document, with its comments ───────────────────────────────────────────────────────────────


def _document(text: str) -> "TOMLDocument":
    import tomlkit

    try:
        return tomlkit.parse(text)
    except Exception as failed:  # a defect of the library: `tomllib` has read the text
        raise CannotEditSettings() from failed


def _dumped(document: "TOMLDocument") -> str:
    import tomlkit

    return tomlkit.dumps(document)


@contextmanager
def _encodable(key: str) -> Generator[None]:
    """Refuse a value that TOML cannot have, such as null."""
    try:
        yield
    except (TypeError, ValueError) as failed:
        raise Invalid(what=key, why="has a value that TOML does not know") from failed


def _inline() -> object:
    import tomlkit

    return tomlkit.inline_table()


def _block(name: str, values: Values) -> str:
    """A table in which nested settings are inline: `budget = { cost_usd = 5.0 }`."""
    import tomlkit

    table = tomlkit.table()
    for key, value in values.items():
        with _encodable(key):
            _put(table, key, value, tomlkit.inline_table())
    document = tomlkit.document()
    document[AGENTS] = tomlkit.table(is_super_table=True)
    document[AGENTS][name] = table  # pyright: ignore[reportIndexIssue] - a table
    return tomlkit.dumps(document)


_HEADER: Final = re.compile(r"(\s*\[+)([^\]]*)(\].*)", re.DOTALL)
_KEY: Final = re.compile(r"(\s*)([^=#\[]+?)(\s*=.*)", re.DOTALL)
_END: Final = re.compile(r"(?:^[ \t]*(?:#[^\r\n]*)?(?:\r?\n|\Z))+\Z", re.MULTILINE)
"""Comments and empty lines at the end of a file."""

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def _renamed_lines(text: str, name: str, new: str) -> Iterator[str]:
    """The lines of the file, with another name in the headers and keys of one agent."""
    table: tuple[str, ...] = ()
    for line in text.splitlines(keepends=True):
        found = _HEADER.match(line)
        if found is not None:
            table = key_parts(found[2])
            yield _renamed(line, found, (), table, name, new)
            continue
        found = _KEY.match(line)
        parts = () if found is None else key_parts(found[2])
        yield line if found is None else _renamed(line, found, table, parts, name, new)


def _renamed(
    line: str,
    found: re.Match[str],
    table: tuple[str, ...],
    parts: tuple[str, ...],
    name: str,
    new: str,
) -> str:
    """A line, with the new name if the header or key in it has the old one."""
    full = (*table, *parts)
    if len(table) > 1 or full[:2] != (AGENTS, name):
        return line
    written = (AGENTS, new, *full[2:])[len(table) :]
    keys = ".".join(each if _BARE.fullmatch(each) else _quoted(each) for each in written)
    return f"{found[1]}{keys}{found[3]}"


def _quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are TOML's too."""
    return msgspec.json.encode(text).decode()
