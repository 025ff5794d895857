"""The `[channels.NAME]` tables of `muster.toml`, loaded and validated.

A table creates a channel with its members and rules, once: a channel that exists is left as people
have made it since. A rule that the table does not give is that of `[turns]`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import msgspec

from muster.errors import BadSettings, Refused
from muster.limits import CHANNEL_MEMBERS_MAX
from muster.machines.ids import name_key
from muster.machines.names import check_plain
from muster.machines.turns.config import check_config
from muster.machines.vocabulary import TurnConfig
from muster.settings.agents import ANYBODY, AgentSettings
from muster.settings.file import line_of
from muster.settings.rules import Rule, WrongError, converted, shown, suggestion

CHANNELS: Final = "channels"
MEMBERS: Final = "members"
SELECTOR: Final = "selector"

MEMBERS_RULE: Final = Rule("Names of the agents that are its members, in the order of the ring.")


class ChannelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A channel to create: its members and its rules."""

    members: tuple[str, ...] = ()
    config: TurnConfig = TurnConfig()


class Known(NamedTuple):
    """References of a channel's table: the agents, the usual rules, and the rules' bounds."""

    agents: Mapping[str, AgentSettings]
    turns: TurnConfig
    rules: Mapping[str, Rule]


class _MisplacedError(WrongError):
    """A wrong value, and its place in the channels' tables."""

    def __init__(self, place: tuple[str, ...], what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.place = place


def read_channels(
    path: Path, text: str, written: object, known: Known
) -> Mapping[str, ChannelSettings]:
    """The channels of the file by name. `written` is the content of its `channels` table."""
    try:
        return dict(_channels(written, known))
    except _MisplacedError as wrong:
        key, what, remedy = (CHANNELS, *wrong.place), wrong.what, wrong.remedy
        line, name = line_of(text, key), ".".join(key)
        raise BadSettings(path=path, line=line, what=what, remedy=remedy, key=name) from None


def _channels(written: object, known: Known) -> Iterator[tuple[str, ChannelSettings]]:
    if not isinstance(written, dict):
        remedy = "Write [channels.NAME] for each, and its members and rules below."
        raise _MisplacedError((), f"{CHANNELS} is {shown(written)}", remedy)
    for name, table in cast("dict[str, object]", written).items():
        try:
            yield name, _channel(name, table, known)
        except _MisplacedError as wrong:
            raise _MisplacedError((name, *wrong.place), wrong.what, wrong.remedy) from None


def _channel(name: str, table: object, known: Known) -> ChannelSettings:
    if not isinstance(table, dict):
        what = f"{CHANNELS}.{name} is {shown(table)}, not a table"
        raise _MisplacedError((), what, "Write [channels.NAME], and its members and rules below.")
    try:
        check_plain("the channel", name)
    except Refused as refused:
        what = f"{CHANNELS}.{name[:64]!r} cannot be: {refused}".rstrip(".")
        raise _MisplacedError((), what, "Give it another name.") from None
    given = dict(_values(name, cast("dict[str, object]", table), known))
    members = given.pop(MEMBERS, ())
    config = msgspec.structs.replace(known.turns, **given)
    try:
        check_config(config)
    except Refused as refused:
        what = f"{CHANNELS}.{name} cannot be: {refused}".rstrip(".")
        raise _MisplacedError((), what, "Correct the rule.") from None
    return ChannelSettings(members=members, config=config)


# The value of any rule; its kind says the type.
def _values(name: str, table: Mapping[str, object], known: Known) -> Iterator[tuple[str, Any]]:
    kinds = {field.name: field.type for field in msgspec.structs.fields(TurnConfig)}
    for key, value in table.items():
        full = f"{CHANNELS}.{name}.{key}"
        try:
            if key == MEMBERS:
                yield key, _members(full, value, known)
            elif key in kinds:
                rule = known.rules[key]
                yield key, _rule(full, key, converted(full, value, kinds[key], rule), known)
            else:
                otherwise = f"remove it; a channel has {MEMBERS}, {', '.join(kinds)}"
                remedy = suggestion(key, [MEMBERS, *kinds], otherwise)
                raise WrongError(f"there is no setting {full}", remedy)
        except WrongError as wrong:
            raise _MisplacedError((key,), wrong.what, wrong.remedy) from None


def _rule(full: str, key: str, value: object, known: Known) -> object:
    return _agent(full, str(value), known) if key == SELECTOR and value else value


def _members(full: str, value: object, known: Known) -> tuple[str, ...]:
    names: tuple[str, ...] = converted(full, value, tuple[str, ...], MEMBERS_RULE)
    if len(names) > CHANNEL_MEMBERS_MAX:
        raise WrongError(f"{full} has {len(names)} names", f"Give at most {CHANNEL_MEMBERS_MAX}.")
    members = tuple(_agent(full, name, known) for name in names)
    if len(set(members)) < len(members):
        raise WrongError(f"{full} names an agent twice", "Name each agent once.")
    return members


def _agent(full: str, name: str, known: Known) -> str:
    """The name of an agent as its table spells it."""
    names = {name_key(each): each for each in known.agents if each != ANYBODY}
    found = names.get(name_key(name))
    if found is None:
        what = f"{full} names {shown(name)}, and there is no such agent"
        raise WrongError(what, suggestion(name, names.values(), "write a table for it first"))
    return found
