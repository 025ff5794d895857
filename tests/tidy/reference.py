"""Generates the reference of events, commands, errors and routes from the code.

    python -m tests.tidy.reference

rewrites the pages; a test compares them. What a page says about a thing is said in the code: the
class docstring, the docstring under a field, the comment behind a member of an enum.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Annotated, Any, Literal, NewType, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo

from muster import errors
from muster.errors import Broken, MusterError, Refused, Unavailable
from muster.http.app import routes
from muster.http.routing import EVERYBODY, Route
from muster.machines import commands, documents, events, policies, vocabulary
from muster.machines.commands import COMMANDS
from muster.machines.events import FACTS, Fact
from muster.mcp import resources
from muster.mcp.tools import TOOLS
from muster.runtimes.lines.types import ANSWERS, LINES_VERSION, TYPES
from tests.tidy.line_schema import PRIVATE, line_schema
from tests.tidy.source import ROOT

COMMAND = "python -m tests.tidy.reference"
REFERENCE = ROOT / "docs" / "reference"

Struct = type[msgspec.Struct]

PARTS = (vocabulary.__name__, documents.__name__, policies.__name__)
"""Where the records and enums stand that events and commands are made of."""

ENVELOPE = {
    "seq": "The number of the event in the log: from 1 on, without gaps.",
    "ts": "The time of the event.",
    "sessionId": "The server session: from one start of muster to its stop.",
    "actor": "The author: `person:NAME`, `agent:NAME`, or `muster` itself.",
    "cause": "The `seq` of the event that caused this one, or null.",
    "v": "The schema version of the fields that follow.",
    "key": "The idempotency key of the command, on its first event; omitted where it has none.",
    "keyDigest": "A digest of the request that the key came with; omitted where there is none.",
    "type": "The type of the event: one of those below.",
}

EVENTS_INTRO = """\
An event is a fact with its number in the log. In the log and in the API it is one flat JSON object:
the envelope first, then the fields of the fact. Fields with their default value are omitted. A seat
is a number; channels, sessions and conversations are strings; times are in UTC, such as
`2026-05-09T07:00:00Z`. `muster log --json` prints events in this format, `muster log --type TYPE`
filters by type."""

COMMANDS_INTRO = """\
A command is an instruction to muster. It is executed atomically, with everything that follows from
it, or refused with one of the [errors](errors.md), and then nothing has changed. The actor is
passed beside the command, never in it. People and agents send some commands; others come from
reports about processes, from deadlines, or from another command."""

ERRORS_INTRO = """\
Each error has a stable code, an HTTP status, and an [exit code](exit-codes.md) of the command line.
Words in braces are placeholders for names and numbers. Where noted, the refused attempt is recorded
in the log as `command_refused`: it may come from a stale process, or be an attack."""

HTTP_INTRO = """\
`muster up` listens on the address that it prints and writes to `server.json` in the home. Request
and response bodies are JSON with camelCase names. A running server documents every field:
`/api/docs` for people (it works offline), `/api/openapi.json` for programs.

**Tokens.** Every request needs one, as `Authorization: Bearer ...`. The operator's token is in
`operator.token` in the home, readable by its owner only, and may do everything; an agent's token
acts as that agent only; a viewer's token may only read, a member's takes part, and each person acts
under their own name. `muster token`, `muster user` and `/api/tokens` issue, rotate and revoke
tokens. A secret is returned once: the log stores only its digest.

**Browsers.** The link that `muster up` and `muster open` print holds a code that signs one browser
in, once and within an hour; a page to sign in takes a token, too. Either opens a browser
session, whose random id is kept in an HttpOnly cookie. The session ends by signing out, after 30
days, or when the token is revoked; a restart of muster does not end it (`browser-sessions.json` in
the home has the digests of the ids). A browser sends a cookie to every port of a host, so do not
open a local page that you do not trust while you are signed in.

**Errors.** Every error is a problem document (`application/problem+json`): `status`, the stable
`code` ([all of them](errors.md)), `detail` for people, the `rule` that refused, and the values that
it `found`. A body that is not JSON is a 400, an invalid one a 422, one over two megabytes a 413; a
token that exceeds its rate limit (a thousand requests a second) gets a 429. A message has at most
1,048,576 bytes in UTF-8; a longer text is posted in parts, or attached as a file (up to 8 MiB).

**Retries.** A request with an `Idempotency-Key` can be sent again after a broken connection: it is
carried out once, and a retry gets the first one's `seq` with `repeated: true`, or the current state
where the answer shows a state. A key is for one request (method, path, query and body), and belongs
to its caller; with another request it is a 422 (`key_reused`). muster knows at least the last
16,384. An answer with a secret cannot be repeated: the retry is a 409 (`secret_shown`). A request
that changed nothing, or was refused, is decided again.

**Presence.** An agent that registers gets a seat from 9 on. It is present from `connect` on. Every
request as itself counts until it is answered, so an agent that waits in `next` needs no heartbeat
beside it. An open `events` stream does not count: a process that hangs holds it open, too. An agent
without a request for `presence.heartbeat_timeout_seconds` is OFFLINE and loses its turn and its
places; its heartbeat is then refused with `wrong_state`, and it connects again. A heartbeat with
`working` also renews the timeouts of the turns that it holds. A token that is revoked ends its
streams and long polls at once; an agent whose last token is revoked is OFFLINE.

**Hosts and origins.** The server answers to loopback names and to `server.host`, and to no other
`Host` header. A request that changes something and comes from another site's page is refused by its
`Origin`."""

KINDS: dict[type[MusterError], str] = {
    Refused: "not allowed now; the message names the rule",
    Unavailable: "the world failed; it may work later",
    Broken: "a bug in muster; please report it",
}


MCP_INTRO = """\
muster speaks the Model Context Protocol: over streamable HTTP at `/mcp` of a running server, and
over stdin and stdout with [`muster mcp`](cli.md#muster-mcp). The [guide](../guides/mcp.md) shows
how to connect programs.

**Revisions.** Clients that begin with `initialize` (revisions 2024-11-05 to 2025-11-25) and clients
that send each request by itself (2026-07-28). There are no sessions in either.

**Identity.** The token of a request is the caller: an agent's token is that agent. No tool takes
the name of its caller. A caller is told of the tools that its role may use; others do not exist for
it. `GET /mcp` and `DELETE /mcp` are a 405: nothing is sent outside of an answer.

**Errors.** A tool that fails answers with `isError`, the sentence as its first text and the problem
document ([errors.md](errors.md)) as its second. A resource or a prompt that fails is an error of
the protocol with the problem document as its `data`. Tokens, hosts, origins, rates and the size of
a request are checked as on [every route](http.md).

**Retries.** A call of a tool has no idempotency key: a client that repeats a call acts twice.

**Prompts.** `wake` is what an agent is told when it wakes; `agent` names it, and an agent may leave
its own name out."""


LINES_INTRO = f"""\
A program of the runtime `command` speaks to muster in lines of its stdout: each is one JSON object
with a `type`, and begins where its line begins. Lines of other types are text. A line has at most
64 KiB, except `say`, `turn_complete` and `result`, which hold a message of 1 MiB. A line that is
meant for muster and cannot be understood is a `marker_rejected` in the log, with its reason.

With `prompt = "lines"` or `long_lived = true` the program reads lines on its stdin, which stays
open: its prompt, and the answers to its requests. The [guide](../guides/run-control.md) has an
example.

**Version.** These lines are version {LINES_VERSION}: `MUSTER_LINES` in the environment says so. A
version grows when older programs would misread it; new types and optional fields do not make one.
The JSON schema of both directions is [beside this page](lines-{LINES_VERSION}.schema.json)."""


def pages() -> dict[Path, str]:
    """The content of every generated page."""
    return {
        REFERENCE / "events.md": _page("Events", EVENTS_INTRO, _events()),
        REFERENCE / "commands.md": _page("Commands", COMMANDS_INTRO, _commands()),
        REFERENCE / "errors.md": _page("Errors", ERRORS_INTRO, _errors()),
        REFERENCE / "http.md": _page("The HTTP API", HTTP_INTRO, _http()),
        REFERENCE / "mcp.md": _page("MCP", MCP_INTRO, _mcp()),
        REFERENCE / "lines.md": _page("JSON lines", LINES_INTRO, _json_lines()),
        REFERENCE / f"lines-{LINES_VERSION}.schema.json": line_schema(),
    }


def _page(title: str, intro: str, body: Iterable[str]) -> str:
    note = f"<!-- Written by `{COMMAND}` from the docstrings: change those, and run it again. -->"
    return "\n\n".join([f"# {title}", note, intro, *body]) + "\n"


# ── the pages ─────────────────────────────────────────────────────────────────────────────────────


def _events() -> Iterator[str]:
    yield "## The envelope"
    yield _table(("field", "meaning"), [(f"`{name}`", text) for name, text in ENVELOPE.items()])
    for section, facts in _sections(events, FACTS):
        yield f"## {section}"
        for fact in facts:
            yield from _struct(tag_of(fact), fact)
    yield "## Parts of events and commands"
    for part in _parts((*FACTS, *COMMANDS)):
        yield from _enum(part) if issubclass(part, StrEnum) else _struct(part.__name__, part)


def _commands() -> Iterator[str]:
    for section, each in _sections(commands, COMMANDS):
        yield f"## {section}"
        for command in each:
            yield from _struct(command.__name__, command)


def _errors() -> Iterator[str]:
    yield _table(("kind", "meaning"), [(_kind(kind), text) for kind, text in KINDS.items()])
    for section, leaves in _sections(errors, leaves_of(MusterError)):
        yield f"## {section}"
        rows = [
            (f"`{leaf.code}`", _kind(leaf), str(leaf.status), str(leaf.exit_code), _message(leaf))
            for leaf in leaves
        ]
        yield _table(("code", "kind", "HTTP", "exit", "message"), rows)


def _http() -> Iterator[str]:
    yield "## Routes"
    every = sorted(routes(), key=lambda route: (route.path, route.method))
    rows = [(f"`{each.method} {each.path}`", _callers(each), each.summary) for each in every]
    yield _table(("route", "for", "what it does"), rows)


def _mcp() -> Iterator[str]:
    yield "## Tools"
    for each in TOOLS.values():
        yield f"### `{each.name}`"
        roles = ", ".join(sorted(each.may))
        yield f"For: {roles}.\n\n{each.definition['description']}"
        taken = each.definition["inputSchema"]["properties"]
        rows = [_argument(name, each.definition["inputSchema"]) for name in taken]
        if rows:
            yield _table(("argument", "required", "what it is"), rows)
    yield "## Resources"
    rows = [(f"`{resources.TEAM}`", "The agents of the team, and whose turn it is.")]
    rows += [(f"`{each.uri}`", each.description) for each in resources.KINDS]
    yield _table(("URI", "what it is"), rows)


def _json_lines() -> Iterator[str]:
    yield "## Lines of a program"
    for kind, line in TYPES.items():
        yield from _struct(kind, line, PRIVATE)
    yield "## Lines to a program"
    for answer in ANSWERS:
        yield from _struct(str(answer.__struct_config__.tag), answer)


def _argument(name: str, schema: dict[str, Any]) -> tuple[str, str, str]:  # any JSON
    required = "yes" if name in schema["required"] else ""
    return f"`{name}`", required, schema["properties"][name].get("description", "")


def _callers(route: Route) -> str:
    if route.is_public:
        return "all"
    return "every token" if route.may == EVERYBODY else ", ".join(sorted(route.may))


def _message(leaf: type[MusterError]) -> str:
    recorded = issubclass(leaf, Refused) and leaf.recorded
    text = " ".join(_doc(leaf).split())  # a row of a table is one line
    return text.replace("!r}", "}") + (" *On record.*" if recorded else "")


def leaves_of(error: type[MusterError]) -> tuple[type[MusterError], ...]:
    """Every error that the package can raise, in the order of the file."""
    every = [leaf for each in error.__subclasses__() for leaf in (each, *leaves_of(each))]
    ours = [leaf for leaf in every if leaf.__module__ == errors.__name__ and leaf not in KINDS]
    return tuple(sorted(ours, key=lambda leaf: _line_of(errors, leaf)))


def _kind(error: type[MusterError]) -> str:
    return next(kind.__name__ for kind in KINDS if issubclass(error, kind))


def tag_of(fact: type[Fact]) -> str:
    """A fact's name on the wire."""
    return str(fact.__struct_config__.tag)


# ── a record and its fields ───────────────────────────────────────────────────────────────────────


def _struct(title: str, struct: Struct, but: frozenset[str] = frozenset()) -> Iterator[str]:
    yield f"### `{title}`"
    yield _doc(struct)
    fields = [each for each in msgspec.structs.fields(struct) if each.name not in but]
    if fields:
        rows = [(f"`{each.encode_name}`", _what(struct, each), _default(each)) for each in fields]
        yield _table(("field", "holds", "default"), rows)


def _enum(enum: type[StrEnum]) -> Iterator[str]:
    yield f"### `{enum.__name__}`"
    yield _doc(enum)
    comments = _comments(enum)
    yield "\n".join(_item(member.value, comments.get(member.name, "")) for member in enum)


def _item(value: str, comment: str) -> str:
    return f"- `{value}`: {comment}" if comment else f"- `{value}`"


def _what(struct: Struct, field: FieldInfo) -> str:
    told = _field_docs(struct).get(field.name, "")
    return f"{_words(field.type)}. {told}".rstrip(". ") + ("." if told else "")


# Any: a field may have any annotation.
def _words(kind: Any) -> str:  # noqa: ANN401
    """The name of a type in JSON."""
    plain = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    if kind in plain:
        return plain[kind]
    if kind is datetime:
        return "time"
    if kind is object or get_origin(kind) is Mapping:
        return "any JSON" if kind is object else "JSON object"
    if isinstance(kind, NewType):
        return _split(kind.__name__.removesuffix("Id")).lower()
    if get_origin(kind) is Literal:
        return _either(f"`{value}`" for value in get_args(kind))
    if get_origin(kind) is tuple:
        return f"list of {_words(get_args(kind)[0])}"
    if isinstance(kind, UnionType) or NoneType in get_args(kind):
        return _either(_words(each) for each in get_args(kind) if each is not NoneType) + " or null"
    if get_origin(kind) is Annotated:
        return _words(get_args(kind)[0])
    if kind.__module__ in PARTS:
        return f"[{kind.__name__}](events.md#{kind.__name__.lower()})"
    return _either(f"`{member}`" for member in kind)


def _either(words: Iterable[str]) -> str:
    return " or ".join(words)


def _default(field: FieldInfo) -> str:
    if field.required:
        return ""
    value: object = field.default
    if value is msgspec.NODEFAULT:
        value = field.default_factory()
    if isinstance(value, msgspec.Struct):
        return "its defaults"
    return f"`{msgspec.json.encode(value).decode()}`"


def _parts(structs: Iterable[Struct]) -> list[type[Any]]:
    """The records and enums in the fields of these, in the order of their file."""
    found: set[type[Any]] = set()
    for struct in structs:
        for field in msgspec.structs.fields(struct):
            for part in (each for each in _leaves(field.type) if each not in found):
                found.add(part)
                if not issubclass(part, StrEnum):
                    found.update(_parts([part]))
    return sorted(found, key=lambda part: (PARTS.index(part.__module__), _line(part)))


def _line(part: type[Any]) -> int:
    return _line_of(sys.modules[part.__module__], part)


# Any: a type, or a generic of types.
def _leaves(kind: Any) -> Iterator[type[Any]]:  # noqa: ANN401
    for inner in get_args(kind) if get_origin(kind) is not Literal else ():
        yield from _leaves(inner)
    if isinstance(kind, type) and kind.__module__ in PARTS:
        yield kind


# ── reading the source ────────────────────────────────────────────────────────────────────────────

_SECTION = re.compile(r"# ── (.+?) ─+")


def _sections(module: ModuleType, classes: Iterable[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Classes by the section headings of their file."""
    grouped: dict[str, list[Any]] = {}
    for each in classes:
        grouped.setdefault(_heading(module, _line_of(module, each)), []).append(each)
    yield from grouped.items()


def _heading(module: ModuleType, line: int) -> str:
    above = (_SECTION.fullmatch(text) for text in reversed(_lines(module)[:line]))
    found = next((match[1] for match in above if match), "every machine")
    return found[0].upper() + found[1:]


@cache
def _lines(module: ModuleType) -> list[str]:
    return inspect.getsource(module).splitlines()


@cache
def _classes(module: ModuleType) -> dict[str, ast.ClassDef]:
    body = ast.parse(inspect.getsource(module)).body
    return {node.name: node for node in body if isinstance(node, ast.ClassDef)}


def _node(owner: type[object]) -> ast.ClassDef:
    return _classes(sys.modules[owner.__module__])[owner.__name__]


def _line_of(module: ModuleType, owner: type[object]) -> int:
    return _classes(module)[owner.__name__].lineno


def _doc(owner: type[object]) -> str:
    return inspect.getdoc(owner) or ""


def _field_docs(owner: type[object]) -> dict[str, str]:
    """The docstrings below fields, also of those that a record has from another."""
    bases = [base for base in owner.__bases__ if base.__module__.startswith("muster.")]
    inherited = {name: doc for base in bases for name, doc in _field_docs(base).items()}
    body = _node(owner).body
    return inherited | {
        field.target.id: " ".join(str(after.value.value).split())
        for field, after in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
    }


def _comments(owner: type[object]) -> dict[str, str]:
    """The comments behind the members of an enum."""
    lines = _lines(sys.modules[owner.__module__])
    return {
        str(node.targets[0].id): lines[node.lineno - 1].partition("# ")[2]
        for node in _node(owner).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _split(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", " ", name)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(_row(cells) for cells in (head, ("---",) * len(head), *rows))


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
