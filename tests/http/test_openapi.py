"""The API's description of itself, and that a real server keeps to it whatever it is sent."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from muster.errors import MusterError
from muster.http.app import routes
from muster.http.handbook import handbook
from muster.http.openapi import describe
from muster.http.route_table import RouteTable
from muster.http.routing import EVERYBODY, ApiCall, Route
from tests.asking import Asker, Json, asker
from tests.homes import environment
from tests.live import Server, live
from tests.waits import SLOW_SECONDS

SCHEMATHESIS = str(Path(sys.executable).with_name("schemathesis"))
NOT_FUZZED = ("/api/events", "/api/agents/{name}/next", "/api/shutdown", "/mcp")
"""Two answer when something happens, which no fuzzer waits for, one ends the server, and one speaks
a protocol of its own. They have tests of their own."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with live(tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture
def boss(server: Server) -> Iterator[Asker]:
    with asker(server, server.token) as somebody:
        yield somebody


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def test_the_document_has_every_route_with_who_may_call_it(boss: Asker) -> None:
    document = boss.get("/api/openapi.json")
    described = {(method.upper(), path) for method, path, _ in operations(document)}
    assert described == {(route.method, route.path) for route in routes()}
    assert len(described) > 30
    assert document["paths"]["/api/tokens"]["post"]["x-roles"] == ["operator"]
    assert document["paths"]["/api/health"]["get"]["security"] == []


def test_every_operation_has_its_own_name_a_summary_and_its_parameters() -> None:
    document = describe(routes())
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(names) == len(set(names))
    for _, path, operation in operations(document):
        assert operation["summary"].endswith(".")
        given = [each["name"] for each in operation["parameters"] if each["in"] == "path"]
        assert given == re.findall(r"\{(\w+)\}", path)


def test_everything_that_is_referred_to_is_described() -> None:
    document = describe(routes())
    text = msgspec.json.encode(document).decode()
    referred = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert referred <= set(document["components"]["schemas"])


def test_two_kinds_of_the_same_name_are_told_apart() -> None:
    async def handler(call: ApiCall) -> None: ...

    first, second = (
        msgspec.defstruct("Same", [(field, int)], module=module)
        for field, module in (("a", "one"), ("b", "two"))
    )
    document = describe(
        [
            Route(method="POST", path=path, handler=handler, may=EVERYBODY, summary="x.", body=body)
            for path, body in (("/a", first), ("/b", second))
        ]
    )
    bodies = [
        operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        for _, _, operation in operations(document)
    ]
    assert len(set(bodies)) == 2


def test_two_routes_for_the_same_path_are_a_mistake() -> None:
    twice = [*routes(), *routes()]
    with pytest.raises(ValueError, match="two routes for"):
        RouteTable(twice)


def test_the_page_has_every_route_and_every_error_and_no_scripts(boss: Asker) -> None:
    answer = boss.http.get("/api/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = answer.text
    for route in routes():
        assert f"<code>{route.method} {route.path}</code>" in page
    assert "<script" not in page
    assert "http://" not in page
    assert "https://" not in page
    for code in ("not_your_turn", "stale_epoch", "invalid", "too_large", "broken"):
        assert f'id="{code}"' in page
    assert len(re.findall(r"<tr>", page)) == len(re.findall(r"</tr>", page))


def test_the_content_of_the_page_is_escaped() -> None:
    async def handler(call: ApiCall) -> None: ...

    hostile = Route(
        method="GET", path="/<b>", handler=handler, may=EVERYBODY, summary="<script>`x`</script>"
    )
    page = handbook([hostile], {}, {})
    assert "<script" not in page
    assert "&lt;script&gt;<code>x</code>" in page


def test_every_error_code_that_a_problem_links_to_is_on_the_page() -> None:
    page = handbook([], {}, {})
    codes = {each.code for each in _leaves(MusterError)}
    assert not [code for code in codes if f'id="{code}"' not in page]


def _leaves(kind: type[MusterError]) -> Iterator[type[MusterError]]:
    below = [each for each in kind.__subclasses__() if each.__module__ == "muster.errors"]
    for each in below:
        yield from _leaves(each)
    if not below:
        yield kind


@pytest.mark.exhaustive
def test_a_fuzzer_finds_no_answer_that_is_not_described(tmp_path: Path) -> None:
    with live(tmp_path / "home") as server, asker(server, server.token) as boss:
        fuzz(server, boss, tmp_path)


def fuzz(server: Server, boss: Asker, tmp_path: Path) -> None:
    document = tmp_path / "openapi.json"
    document.write_bytes(boss.http.get("/api/openapi.json").content)
    checks = (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    )
    ran = subprocess.run(
        [
            *(SCHEMATHESIS, "run", str(document), "--url", server.url, "--no-color"),
            *("-H", f"Authorization: Bearer {server.token}"),
            *("--checks", ",".join(checks), "--phases", "coverage,fuzzing"),
            *("--max-examples", "5", "--seed", "1", "--generation-database", "none"),
            *(part for path in NOT_FUZZED for part in ("--exclude-path", path)),
        ],
        cwd=tmp_path,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=SLOW_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    assert re.search(r"(\d+) generated, \1 passed", ran.stdout), ran.stdout
    assert boss.get("/api/health")["status"] == "ok"
