"""Rules of settings: bounds, how they are put into words, and the error for a wrong value.

`model.py` and `agents.py` add the file and line of a wrong value.
"""

import re
from collections.abc import Iterable
from enum import EnumMeta
from ipaddress import ip_network
from types import NoneType
from typing import Annotated, Any, Final, Literal, NamedTuple, cast, get_args, get_origin
from urllib.parse import parse_qs, urlsplit

import msgspec

NAME_CHARS_MAX: Final = 200
"""The longest name of a model: those of cloud providers have a hundred characters."""


DATABASE_SCHEMES: Final = ("postgresql", "postgres")

OWN_PATHS: Final = frozenset({"api", "mcp", "service-worker.js", "sign-in", "web"})
"""First parts of the server's own paths: as a path prefix they would be ambiguous."""

_HEADER: Final = re.compile(r"[A-Za-z0-9-]{2,64}")
_OTHER_HEADERS: Final = frozenset({"authorization", "cookie", "host", "origin", "content-type"})
_PREFIX: Final = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")


class WrongError(Exception):
    """A wrong value; the caller adds where it was written."""

    def __init__(self, what: str, remedy: str) -> None:
        """Say what is wrong, and what to write instead."""
        super().__init__(what)
        self.what = what
        self.remedy = remedy


class Rule(NamedTuple):
    """The description of a setting, and its bounds where it is a number. Annotates the field."""

    about: str
    low: float | None = None
    high: float | None = None
    is_name: bool = False
    """Whether a text is a name that a program is given: one word, or empty."""


def rule_of(kind: Any) -> Rule:  # noqa: ANN401 - whatever a field may be annotated with
    """The rule that a field is annotated with."""
    return next(each for each in kind.__metadata__ if isinstance(each, Rule))


# `Any`, because a field can be annotated with any type.
def in_words(kind: Any, rule: Rule) -> str:  # noqa: ANN401
    """Describe the allowed values in words."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    # as above
    kinds: list[Any] = [each for each in get_args(kind) if each is not NoneType]
    if len(kinds) == 1 and get_origin(kinds[0]) in (Literal, tuple):  # or nothing at all
        kind = kinds[0]
    if get_origin(kind) is Literal or isinstance(kind, EnumMeta):
        choices = get_args(kind) or tuple(kind)
        return "one of " + ", ".join(f'"{choice}"' for choice in choices)
    if get_origin(kind) is tuple:
        if int in kinds:
            return f"a list of whole numbers from {rule.low:g} to {rule.high:.0f}"
        return "a list of texts in quotes"
    if bool in (kind, *kinds):
        return "true or false"
    if rule.is_name:
        return f"a name of up to {NAME_CHARS_MAX} characters without spaces"
    if rule.low is None:
        return "a text in quotes"
    whole = "a whole number" if int in (kind, *kinds) else "a number"
    return f"{whole} from {rule.low:g} to {rule.high:.0f}"


def is_text_kind(kind: Any) -> bool:  # noqa: ANN401 - whatever a field may be annotated with
    """Whether a field holds a text, or one of several words."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    kinds = [each for each in get_args(kind) if each is not NoneType]
    words = kinds[0] if len(kinds) == 1 else kind
    return kind is str or kinds == [str] or Literal in (get_origin(kind), get_origin(words))


# As above: a kind is any annotation of a field.
def converted(
    key: str,
    value: object,
    kind: Any,  # noqa: ANN401
    rule: Rule,
    *,
    strict: bool = True,
) -> Any:  # noqa: ANN401
    """Convert a value to the type of its setting, and check its bounds."""
    wrong = WrongError(f"{key} is {shown(value)}", f"Give {in_words(kind, rule)}.")
    try:
        result: object = msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError:
        raise wrong from None
    if not _in_range(result, rule):
        raise wrong
    return result


def _in_range(value: object, rule: Rule) -> bool:
    if isinstance(value, tuple):
        return all(_in_range(each, rule) for each in cast("tuple[object, ...]", value))
    if rule.is_name and isinstance(value, str):
        return not value or is_name(value)
    if rule.low is None or rule.high is None or not isinstance(value, int | float):
        return True
    return rule.low <= value <= rule.high  # false for a NaN as well


def is_name(text: str) -> bool:
    """Whether a text can be the name of a model or of a mode: no option, and no control codes."""
    is_short = 0 < len(text) <= NAME_CHARS_MAX
    return is_short and text.isprintable() and " " not in text and not text.startswith("-")


def suggestion(written: str, known: Iterable[str], otherwise: str) -> str:
    """Suggest the nearest existing name; the right name in another table counts as near."""
    from difflib import get_close_matches  # only mistakes need it

    known = list(known)
    name = written.rpartition(".")[2]
    elsewhere = [key for key in known if key.rpartition(".")[2] == name]
    near = elsewhere or get_close_matches(written, known, n=1, cutoff=0.7)
    return f"Did you mean {near[0]}?" if near else f"{otherwise[0].upper()}{otherwise[1:]}."


def shown(value: object) -> str:
    """Format a value as it is written in TOML, cut to fit into a message."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


# ── addresses ─────────────────────────────────────────────────────────────────────────────────────


def check_public_url(url: str) -> None:
    """An address is a scheme, a host and a path prefix that is no path of the server itself."""
    if url and not _is_public_url(url):
        remedy = "Write it as https://muster.example.org or https://example.org/team."
        raise WrongError(f"server.public_url is {shown(url)}", remedy)


def _is_public_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises ValueError where it is none
    except ValueError:
        return False
    prefix = parts.path.rstrip("/")
    whole = f"{parts.scheme}://{parts.netloc}{prefix}"
    is_free = not prefix or (_PREFIX.fullmatch(prefix) and prefix.split("/")[1] not in OWN_PATHS)
    is_place = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in url
    return is_place and url.rstrip("/") == whole and bool(is_free)


def check_trusted(key: str, text: str) -> None:
    """The header of a proxy is a name of HTTP's, and its address is one, or a network."""
    if not text:
        return
    if key == "server.trusted_user_header":
        if not _HEADER.fullmatch(text) or text.lower() in _OTHER_HEADERS:
            remedy = "Write a header of its own, such as X-Remote-User."
            raise WrongError(f"{key} is {shown(text)}", remedy)
        return
    try:
        ip_network(text)
    except ValueError as wrong:
        remedy = "Write it as 10.0.0.7 or 10.0.0.0/24."
        raise WrongError(f"{key} is {shown(text)} ({wrong})", remedy) from None


def check_database(key: str, url: str) -> None:
    """An address of PostgreSQL. The error does not show it: it may have a password."""
    if url and not is_database_url(url):
        remedy = "Write it as postgresql://USER@HOST/DATABASE?sslmode=verify-full."
        raise WrongError(f"{key} is no address of PostgreSQL", remedy)


def is_database_url(url: str) -> bool:
    """Whether a text is the address of a database in PostgreSQL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_whole = url.isprintable() and " " not in url and bool(parts.path.strip("/") or parts.query)
    return parts.scheme in DATABASE_SCHEMES and "://" in url and is_whole


def has_password(url: str) -> bool:
    """Whether the address of a database has a password in it."""
    parts = urlsplit(url)
    return parts.password is not None or "password" in parse_qs(parts.query)
