"""Validation of names, and finding them in answers of models.

Names are shown to people and become file names, so they stay plain. A name mixes no Latin letters
with Cyrillic, Greek, Armenian, Cherokee or Lisu ones, which look like them, and has none of the
Latin letters that pass for others. So a name that looks like another one is written in one other
script throughout, or has an `I`, `1`, `0`, `rn` or `vv` for an `l`, `O`, `m` or `w`.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Final, TypeVar

from msgspec.structs import replace

from muster import limits
from muster.errors import CannotRename, Invalid, LookAlike, NameReserved, NameTaken
from muster.machines.ids import MUSTER, SeatId, name_key
from muster.machines.maps import drop, put
from muster.machines.state import MAIN, QUEUE, Agent, Status, Team

_PLAIN = re.compile(r"[\w .-]+")  # letters and digits of any script, space, dot, hyphen, underscore
_RESERVED = frozenset({name_key(MAIN), name_key(QUEUE), name_key(MUSTER), ".", ".."})
"""Names that mean something else in a log, a queue, a notice or a path."""

_OF_PEOPLE = frozenset({"human", "operator", "person", "system"})
"""Words that a model takes for somebody with a say. A person may be called so."""

_SHOWN_WORDS: Final = (MAIN, QUEUE, MUSTER, *_OF_PEOPLE, *map(str.title, _OF_PEOPLE))
"""Reserved names as they are written."""

NAME_EDGES: Final = " \t\r\n@'\"`*_.,:;!?()[]<>"
"""Characters that a model puts around a name."""

Named = TypeVar("Named")


def check_plain(what: str, name: str) -> None:
    """Refuse a name that could escape its folder, or confuse a terminal or a reader."""
    if not 1 <= len(name) <= limits.NAME_CHARS_MAX:
        raise Invalid(what=what, why=f"must have 1 to {limits.NAME_CHARS_MAX} characters")
    if not _PLAIN.fullmatch(name) or name != name.strip():
        why = "may have letters, digits, spaces, '-', '_' and '.' only, no space at either end"
        raise Invalid(what=f"{what} {name!r}", why=why)
    if name in {".", ".."}:
        raise NameReserved(name=name)


def check_seat(seat: int) -> None:
    """Refuse a seat number out of range."""
    if not 0 <= seat <= limits.SEAT_MAX:
        raise Invalid(what=f"gridPosition {seat}", why=f"must be 0 to {limits.SEAT_MAX}")


def check_agent_name(team: Team, name: str, seat: SeatId | None = None) -> None:
    """Refuse a name that is not plain, is reserved, or belongs to another seat.

    A name that looks like another one counts as that one: people could not tell them apart.
    """
    check_plain("the name", name)
    if name.startswith("-"):
        why = "must not begin with '-': the command line would take it for an option"
        raise Invalid(what=f"the name {name!r}", why=why)
    check_scripts(name)
    if is_reserved(team, name):
        raise NameReserved(name=name)
    for key in _alike(name):
        owner = team.names.get(key)
        if owner is not None and owner != seat:
            raise NameTaken(name=name, seat=owner)


def check_looks_new(team: Team, name: str, seat: SeatId | None = None) -> None:
    """Refuse a new name that people would take for a person's, or for that of another agent.

    Names that agents have already stay as they are, and so do those of new tables in the settings:
    a person wrote both.
    """
    words = _words(outline(name))
    if any(_is_like(words, _words(outline(each))) for each in (*_people(team), *_SHOWN_WORDS)):
        raise NameReserved(name=name)
    other = look_alike(team, name, seat)
    if other is not None:
        raise LookAlike(name=name, other=other.id, seat=other.seat)


def look_alike(team: Team, name: str, seat: SeatId | None = None) -> Agent | None:
    """Another agent in the team whose name cannot be told from this one, if there is any."""
    keys, seen = twin_keys(name), outline(name)
    found = team.names.values() if keys is None else map(team.names.get, keys)
    others = (team.agents[each] for each in found if each not in (None, seat))
    return next((agent for agent in others if outline(agent.id) == seen), None)


def check_renaming(team: Team, agent: Agent, name: str) -> None:
    """Refuse another name for an agent: one that it cannot have, or cannot get now.

    Conversations and agent files know an agent by its name.
    """
    check_agent_name(team, name, agent.seat)
    if agent.run.on_call:
        remedy = "Rename the agent file, and the name in it."
        raise CannotRename(name=agent.id, why="its agent file names it", remedy=remedy)
    states = (each.state for each in team.delegation.conversations.values())
    if agent.tasks or name_key(agent.id) in map(name_key, states):
        remedy = "Rename it when the task has ended."
        raise CannotRename(name=agent.id, why="it works on a delegated task", remedy=remedy)


def free_name(team: Team, agent: Agent) -> str:
    """A name with the seat of an agent in it that nobody has."""
    suffix = f"-{agent.seat}"
    while True:
        name = agent.id[: limits.NAME_CHARS_MAX - len(suffix)].rstrip() + suffix
        if not any(key in team.names for key in _alike(name)):
            return name
        suffix += "-x"


def check_exchange(team: Team, seats: Sequence[SeatId]) -> None:
    """Refuse to give each of these agents the name of the next one.

    A program that runs keeps its name until it sleeps, so nobody else can have it.
    """
    agents = [team.agent(seat) for seat in seats]
    names = team.names
    for agent in agents:
        if agent.name is None or agent.retired:
            remedy = "Only agents in the team that have names exchange them."
            raise CannotRename(name=agent.id, why="it has no name in the team", remedy=remedy)
        names = without_names(names, agent)
    for agent, heir in zip(agents, (*agents[1:], agents[0]), strict=True):
        check_renaming(replace(team, names=names), agent, heir.id)
        if agent.session is not None or agent.status is Status.ALIVE:
            why = f"it runs, and is to exchange its name with {heir.id!r}"
            remedy = "Stop both, and start muster again."
            raise CannotRename(name=agent.id, why=why, remedy=remedy)


def seat_called(team: Team, name: str) -> SeatId | None:
    """The seat of the agent that has this name. One that was renamed while it ran still answers to
    its former name, but does not have it."""
    key = name_key(name)
    seat = team.names.get(key)
    has_it = seat is not None and name_key(team.agents[seat].id) == key
    return seat if has_it else None


def seat_known_as(team: Team, name: str) -> SeatId | None:
    """The seat of the agent that answers to a name, or else of the only one that had it."""
    key = name_key(name)
    if key in team.names:
        return team.names[key]
    had = [
        agent.seat
        for agent in team.agents.values()
        if not agent.retired and key in map(name_key, agent.earlier_names)
    ]
    return had[0] if len(had) == 1 else None


def without_names(names: Mapping[str, SeatId], agent: Agent) -> Mapping[str, SeatId]:
    """The names of a team without those that an agent answers to."""
    own = [name_key(agent.id)]
    if agent.running_as:  # and the names since the one that its program knows
        own = [key for key, seat in names.items() if seat == agent.seat]
    for key in own:
        if names.get(key) == agent.seat:  # the name of a retired agent may be another one's
            names = drop(names, key)
    return names


def without_running_name(team: Team, agent: Agent) -> Team:
    """The names that an agent had while its program ran are free for others when that is gone."""
    if not agent.running_as:
        return team
    names = put(without_names(team.names, agent), name_key(agent.id), agent.seat)
    agents = put(team.agents, agent.seat, replace(agent, running_as=""))
    return replace(team, names=names, agents=agents)


def is_reserved(team: Team, name: str) -> bool:
    """Whether a name is one of muster's own words or a person's, or looks like one.

    One that goes on after a person's name (`Marcus in design`) would be read as the person, too.
    """
    key = shown_key(name)
    words = _words(key)
    is_like_person = any(_is_like(words, _words(shown_key(each))) for each in _people(team))
    return is_like_person or bool({key, "".join(words)} & (_RESERVED | _OF_PEOPLE))


def _people(team: Team) -> tuple[str, ...]:
    return (team.human, *(user.name for user in team.users.values()))


def _is_like(words: list[str], person: list[str]) -> bool:
    begins = words[: len(person)] == person
    return bool(person) and (begins or "".join(words) == "".join(person))


def check_human_name(name: str) -> None:
    """Refuse a name that the human of a team cannot have: agents address the human by it."""
    check_plain("the name", name)
    check_scripts(name)
    if shown_key(name) in _RESERVED:
        raise NameReserved(name=name)


def shown_key(name: str) -> str:
    """The key under which names are compared as a reader takes them."""
    return name_key(_latin(name))


def _words(shown: str) -> list[str]:
    """The letters and digits of a name as a reader takes it, without what is between them."""
    return re.findall(r"[^\W_]+", shown)


def check_scripts(name: str) -> None:
    """Refuse a name with letters that pass for others."""
    mixed = _mixed_scripts(name)
    if mixed is not None:
        first, second = mixed
        why = f"mixes {first} and {second} letters, which look alike; use one alphabet"
        raise Invalid(what=f"the name {name!r}", why=why)
    posing = next(filter(_is_posing, name), None)
    if posing is not None:
        why = f"has {posing!r}, which looks like another letter; use the usual one"
        raise Invalid(what=f"the name {name!r}", why=why)


def _alike(name: str) -> set[str]:
    """The keys of a name and of all names that look like it."""
    shown = _latin(name)
    disguised = (*_disguises(shown), *_disguises(shown.upper()))  # some have capitals only
    return {name_key(each) for each in (name, shown, *disguised)}


# ── names that look alike ─────────────────────────────────────────────────────────────────────────

_LATIN: Final = "LATIN"
_SIMILAR: Final = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "LISU"})
"""The scripts with letters that cannot be told from Latin ones."""

_CYRILLIC: Final = dict(
    zip(
        "АВЕЅІЈКМНОРСТУХаеѕіјорсухԁԛԝһ",
        "ABESIJKMHOPCTYXaesijopcyxdqwh",
        strict=True,
    )
)
_GREEK: Final = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαντ", "ABEZHIKMNOPTYXoavt", strict=True))
_LISU: Final = dict(zip("ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ", "BPDTGKJCZFMNLSRVHWXYAEIOU", strict=True))
_BACK: Final = tuple(
    {plain: letter for letter, plain in each.items()} for each in (_CYRILLIC, _GREEK, _LISU)
)
_SHOWN: Final = str.maketrans(_CYRILLIC | _GREEK | _LISU)

_POSING: Final = frozenset("\u0251\u0261\u0269\u0196\u01c0")
"""Latin letters beside the small capitals that pass for a, g, i and l: alpha, script g, iotas and
the dental click."""


def _mixed_scripts(name: str) -> tuple[str, str] | None:
    """The two scripts of a name that must not be mixed, or None."""
    if name.isascii():
        return None
    scripts = {_script(letter) for letter in name if letter.isalpha()}
    others = sorted(scripts & _SIMILAR)
    if _LATIN in scripts and others:
        return _LATIN.title(), others[0].title()
    return (others[0].title(), others[1].title()) if len(others) > 1 else None


def _latin(name: str) -> str:
    """A name as a reader takes it: with Latin letters where others look like them."""
    return name.translate(_SHOWN)


def _disguises(name: str) -> Iterator[str]:
    """The names in other scripts that look like a Latin name."""
    for back in _BACK:
        if all(letter in back or not letter.isalpha() for letter in name):
            yield "".join(back.get(letter, letter) for letter in name)


def _is_posing(letter: str) -> bool:
    """Whether a Latin letter of phonetic alphabets cannot be told from a usual one."""
    if letter.isascii():
        return False
    small_capital = unicodedata.name(letter, "").startswith("LATIN LETTER SMALL CAPITAL")
    return small_capital or letter in _POSING


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


_STROKE: Final = "\u01c0"
"""A letter that no name has, for those that are one upright stroke."""

_STROKES: Final = str.maketrans({**dict.fromkeys("Il1", _STROKE), "0": "o", "O": "o"})
_PAIRS: Final = (("rn", "m"), ("vv", "w"), ("VV", "w"))


@lru_cache(maxsize=16_384)
def outline(name: str) -> str:
    """A name as a reader sees it: people cannot tell apart two names that have the same one.

    A capital L differs from a small one here. Names are compared without regard to case as well.
    """
    seen = _latin(unicodedata.normalize("NFKC", name)).translate(_STROKES)
    for pair, letter in _PAIRS:
        seen = seen.replace(pair, letter)
    return seen.casefold()


_FORMS: Final = {_STROKE: ("i", "l", "1"), "o": ("o", "0"), "m": ("m", "rn"), "w": ("w", "vv")}
"""The forms that a letter of an outline may have in the key of a name."""

_TWINS_MAX: Final = 8192
"""Beyond them, a look at all names is cheaper. `Marlon Holloway-10` has 5,184."""


def twin_keys(name: str) -> list[str] | None:
    """The keys that a name with the same outline can have; None if there are too many.

    The capital I and the small one have the same key, so the names themselves are to be compared.
    """
    forms = [_FORMS.get(letter, (letter,)) for letter in outline(name)]
    if prod(map(len, forms)) > _TWINS_MAX:
        return None
    return list(map("".join, product(*forms)))


# ── names in answers ──────────────────────────────────────────────────────────────────────────────


def named_in(text: str, names: Mapping[str, Named]) -> Named | None:
    """The owner of the name in an answer: the answer as a whole, or the only name in it.

    `names` has a `name_key` for each owner.
    """
    answer = name_key(text[: limits.SELECTOR_ANSWER_CHARS].strip())
    for whole in (answer, answer.strip(NAME_EDGES)):
        if whole in names:
            return names[whole]
    longest_first = sorted(names, key=len, reverse=True)
    anyone = "|".join(map(re.escape, longest_first))
    found = set(re.findall(rf"(?<![\w-])(?:{anyone})(?![.-]?\w)", answer)) if anyone else set[str]()
    return names[found.pop()] if len(found) == 1 else None
