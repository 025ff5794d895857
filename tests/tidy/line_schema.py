"""The JSON lines of programs as a JSON schema: what a program writes, and what it reads."""

import json
from typing import Any

import msgspec

from muster.runtimes.lines.types import ANSWERS, LINES_VERSION, TYPES

Schema = dict[str, Any]  # any JSON

PRIVATE = frozenset({"cut", "answers", "interrupted", "unasked"})
"""Fields of reports that muster sets itself."""


def line_schema() -> str:
    """The schema, as the file has it."""
    written, parts = _of(tuple(TYPES.values()))
    read, more = _of(ANSWERS)
    lines = [_line(kind, parts[ref]) for kind, ref in zip(TYPES, written, strict=True)]
    answers = [more[ref] for ref in read]
    used = {name: part for name, part in (parts | more).items() if name not in (*written, *read)}
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"JSON lines between muster and a program, version {LINES_VERSION}",
        "description": "`written` is a line of a program on its stdout, `read` one on its stdin.",
        "$defs": used | {"written": {"anyOf": lines}, "read": {"anyOf": answers}},
        "$ref": "#/$defs/written",
    }
    return json.dumps(document, indent=2) + "\n"


def _of(kinds: tuple[type[Any], ...]) -> tuple[list[str], dict[str, Schema]]:
    """The names of these types, and all parts by name."""
    refs, parts = msgspec.json.schema_components(
        kinds, schema_hook=lambda _any: {"description": "any JSON"}, ref_template="#/$defs/{name}"
    )
    return [str(ref["$ref"]).rpartition("/")[2] for ref in refs], dict(parts)


def _line(kind: str, schema: Schema) -> Schema:
    public = {k: v for k, v in schema["properties"].items() if k not in PRIVATE}
    required = ["type", *schema.get("required", ())]
    properties = {"type": {"const": kind}, **public}
    return {**schema, "title": kind, "properties": properties, "required": required}
