"""The API, described from its routes: for programs as OpenAPI, for people as one page.

Both are made from the declarations that the server runs, so neither can be out of date. The page
has its style in it and no scripts, so it works offline.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final

import msgspec
from starlette.responses import HTMLResponse, Response

from muster.http.handbook import STYLE_DIGEST, handbook
from muster.http.problems import MEDIA_TYPE
from muster.http.routing import EVERYBODY, SAFE, ApiCall, Route, route
from muster.version import __version__
from muster.views.problems import Problem

Schema = dict[str, Any]  # JSON Schema and OpenAPI: any JSON value
Refs = dict[type, str]

NOTHING_ELSE: Final = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""Directives that `default-src` does not cover."""

PAGE_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": f"default-src 'none'; {NOTHING_ELSE}",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""For pages that load nothing."""

JSON: Final = "application/json"
REF: Final = "#/components/schemas/"
_NAMES: Final = re.compile(r"\{(\w+)\}")
_POLICY: Final = f"default-src 'none'; style-src 'sha256-{STYLE_DIGEST}'; {NOTHING_ELSE}"


def pages(routes: Sequence[Route]) -> tuple[Route, ...]:
    """The routes that describe the others, and themselves."""

    @route("GET", "/api/openapi.json", may=EVERYBODY)
    async def openapi(call: ApiCall) -> Response:
        """This API as an OpenAPI document."""
        return Response(document(), media_type=JSON)

    @route("GET", "/api/docs", may=EVERYBODY)
    async def docs(call: ApiCall) -> Response:
        """This API as a page to read."""
        return HTMLResponse(page(), headers=PAGE_HEADERS | {"content-security-policy": _POLICY})

    every = (*routes, openapi, docs)

    @cache
    def document() -> bytes:
        return msgspec.json.encode(describe(every))

    @cache
    def page() -> str:
        return handbook(every, *_schemas(every))

    return openapi, docs


def describe(routes: Sequence[Route]) -> Schema:
    """The OpenAPI document of these routes."""
    refs, components = _schemas(routes)
    paths: Schema = {}
    for each in routes:
        operations = paths.setdefault(each.path, {})
        operations[each.method.lower()] = _operation(each, refs, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "muster",
            "version": __version__,
            "description": "A team of AI agents: who is present, whose turn it is, what happened.",
        },
        "security": [{"bearer": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "muster-6878",
                    "description": "A browser's session; the number is the server's port.",
                },
            },
        },
    }


def _schemas(routes: Iterable[Route]) -> tuple[Refs, Schema]:
    """The name of each type, and the schema of each name: two modules may share a name."""
    kinds = {kind: None for route in routes for kind in (route.query, route.body, route.answer)}
    wanted = [kind for kind in (*kinds, Problem) if kind is not None]
    schemas, components = msgspec.json.schema_components(wanted, ref_template=REF + "{name}")
    names = (schema["$ref"].removeprefix(REF) for schema in schemas)
    return dict(zip(wanted, names, strict=True)), components


def _operation(route: Route, refs: Refs, components: Schema) -> Schema:
    problem = _content(Problem, refs, MEDIA_TYPE)
    described: Schema = {
        "operationId": _operation_id(route),
        "summary": route.summary,
        "tags": [_tag(route)],
        "parameters": [*_path_parameters(route), *_query_parameters(route, refs, components)],
        "responses": {str(route.status): _answer(route, refs), "default": problem},
    }
    if route.method not in SAFE:
        described["parameters"].append(_KEY)
    if route.body is not None:
        described["requestBody"] = {"required": True, **_content(route.body, refs, JSON)}
    if route.takes:
        content = {route.takes: {"schema": {"type": "string", "format": "binary"}}}
        described["requestBody"] = {"required": True, "content": content}
    if route.is_public:
        described["security"] = []
    else:
        described["x-roles"] = sorted(route.may)
    return described


_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A retry with the same key is carried out once and answered like the first.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128},
}


def _operation_id(route: Route) -> str:
    words = re.findall(r"\w+", route.path.removeprefix("/api"))
    return "_".join([route.method.lower(), *(word for word in words)])


def _tag(route: Route) -> str:
    return next(iter(re.findall(r"\w+", route.path.removeprefix("/api"))), "pages")


def _path_parameters(route: Route) -> list[Schema]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in _NAMES.findall(route.path)
    ]


def _query_parameters(route: Route, refs: Refs, components: Schema) -> list[Schema]:
    if route.query is None:
        return []
    schema = components[refs[route.query]]
    return [
        {"name": name, "in": "query", "required": name in schema["required"], "schema": each}
        for name, each in schema["properties"].items()
    ]


def _answer(route: Route, refs: Refs) -> Schema:
    if route.answer is None:
        return {"description": "The answer, which is not JSON."}
    return _content(route.answer, refs, JSON)


def _content(kind: type, refs: Refs, media_type: str) -> Schema:
    described = (kind.__doc__ or "").strip()
    content = {media_type: {"schema": {"$ref": REF + refs[kind]}}}
    return {"description": described, "content": content}
