"""The API as one page for people: every route with what goes in and comes out, and every error.

Everything in it is escaped, it has no scripts, and its few lines of style are in it.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from typing import Any, Final

from muster.errors import MusterError, Refused, Unavailable
from muster.http.routing import EVERYBODY, Route

Schema = dict[str, Any]  # JSON Schema and OpenAPI: any JSON value

_HEAD: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>muster: the HTTP API</title>
<meta name="viewport" content="width=device-width">
<style>{style}</style></head><body>
<h1>muster: the HTTP API</h1>
<p>Every request carries a token: <code>Authorization: Bearer ...</code>. <code>muster token</code>
issues them; the operator's is in <code>operator.token</code> in the team's home. For programs:
<a href="openapi.json">OpenAPI</a>.</p>
"""
_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
code { font: 14px ui-monospace, monospace; }
h2 { margin: 2em 0 0; } p { margin: .3em 0; }
table { border-collapse: collapse; margin: .3em 0 1em; }
td, th { padding: .1em 1em .1em 0; text-align: left; vertical-align: top; }
"""
STYLE_DIGEST: Final = b64encode(sha256(_STYLE.encode()).digest()).decode()
"""For the content security policy: the browser applies this style and no other."""


def handbook(routes: Sequence[Route], names: Mapping[type, str], schemas: Schema) -> str:
    """The whole page, given the name of each type and the schema of each name."""
    return "".join(_parts(routes, names, schemas))


def _parts(routes: Sequence[Route], names: Mapping[type, str], schemas: Schema) -> Iterator[str]:
    yield _HEAD.format(style=_STYLE)
    for route in sorted(routes, key=lambda route: (route.path, route.method)):
        yield from _route(route, names, schemas)
    yield "<h1>Errors</h1><p>Every error is a problem document with one of these codes.</p><table>"
    yield "<tr><th>code</th><th>status</th><th>what it says</th></tr>"
    by_code = {each.code: each for each in _errors(MusterError)}
    for code, error in sorted(by_code.items()):
        yield _row(f'<code id="{code}">{code}</code>', str(error.status), _said(error))
    yield "</table></body></html>\n"


def _route(route: Route, names: Mapping[type, str], schemas: Schema) -> Iterator[str]:
    yield f"<h2><code>{route.method} {escape(route.path)}</code></h2>"
    yield f"<p>{_prose(route.summary)} {_who(route)}</p>"
    for title, kind in (("Query", route.query), ("Body", route.body), ("Answer", route.answer)):
        if kind is not None:
            yield from _fields(title, schemas[names[kind]])


def _who(route: Route) -> str:
    if route.is_public:
        return "<small>No token needed.</small>"
    who = "every token" if route.may == EVERYBODY else ", ".join(sorted(route.may))
    return f"<small>For: {who}.</small>"


def _fields(title: str, schema: Schema) -> Iterator[str]:
    yield f"<table><tr><th>{title}</th><th></th><th></th></tr>"
    for name, field in schema.get("properties", {}).items():
        needed = "required" if name in schema["required"] else _default(field)
        yield _row(f"<code>{escape(name)}</code>", _kind(field), needed)
    yield "</table>"


def _default(field: Schema) -> str:
    return f"else {escape(repr(field['default']))}" if field.get("default") is not None else ""


def _kind(field: Schema) -> str:
    """The type of a value, in a word or two."""
    if "$ref" in field:
        return escape(field["$ref"].rpartition("/")[2])
    if "anyOf" in field:
        return " or ".join(_kind(each) for each in field["anyOf"])
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items') or {})}"
    return escape(str(field.get("type", "anything")))


def _row(*cells: str) -> str:
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _errors(kind: type[MusterError]) -> Iterator[type[MusterError]]:
    for each in kind.__subclasses__():
        yield from _errors(each)
        if each not in (Refused, Unavailable):  # families; `Broken` has no leaves
            yield each


def _said(error: type[MusterError]) -> str:
    return _prose((error.__doc__ or "").strip())


def _prose(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
