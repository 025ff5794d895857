"""Interfaces: no state in globals, no imports between routes, and a client that loads little."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from typing import TypeGuard

import pytest

from tests.tidy.source import Module, imports, modules, within
from tests.waits import WAIT_SECONDS

INTERFACES = ("muster.http", "muster.cli", "muster.client", "muster.claude_plugin")
ROUTES = "muster.http.routes"

CONTAINERS = frozenset(
    {
        "ChainMap",
        "Counter",
        "OrderedDict",
        "Queue",
        "WeakKeyDictionary",
        "WeakSet",
        "WeakValueDictionary",
        "defaultdict",
        "deque",
        "dict",
        "list",
        "set",
    }
)
MUTATORS = frozenset(
    {
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "popleft",
        "remove",
        "setdefault",
        "update",
    }
)

OPEN: dict[str, str] = {
    "_desks": "muster.http.routes.conversations",
}
"""Registries that are still to become fields of the open team, and their modules."""


def _interfaces() -> Iterator[Module]:
    for module in modules().values():
        if any(within(module.name, each) for each in INTERFACES):
            yield module


def _globals(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Names that a module assigns at its top level, with their values."""
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value
        elif isinstance(node, ast.Assign):
            yield from (
                (each.id, node.value) for each in node.targets if isinstance(each, ast.Name)
            )


def _is_registry(value: ast.expr) -> bool:
    """Whether a value is a container that waits to be filled."""
    if isinstance(value, ast.Dict):
        return not value.keys
    if isinstance(value, ast.List):
        return not value.elts
    if not isinstance(value, ast.Call):
        return False
    called = value.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in CONTAINERS and not value.args and not value.keywords


def _changed(tree: ast.Module, names: frozenset[str]) -> Iterator[int]:
    """Lines of functions that change the value of one of these globals in place, or rebind it."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        nodes = list(ast.walk(function))
        yield from (node.lineno for node in nodes if isinstance(node, ast.Global))
        shared = names - {name.id for name in nodes if _is_stored(name)}
        places = (node for node in nodes if isinstance(node, ast.expr))
        yield from (node.lineno for node in places if _changes(node) in shared)


def _is_stored(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _changes(node: ast.expr) -> str | None:
    """The name of the value that an expression changes in place."""
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return getattr(node.value, "id", None)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return getattr(node.func.value, "id", None) if node.func.attr in MUTATORS else None
    return None


def registries(module: Module) -> list[str]:
    """The places where a module keeps state in a global."""
    found = dict(_globals(module.tree))
    made = [value.lineno for value in found.values() if _is_registry(value)]
    return [module.at(line) for line in (*made, *_changed(module.tree, frozenset(found)))]


def test_no_interface_keeps_state_in_a_module_global() -> None:
    kept = [
        place
        for module in _interfaces()
        if module.name not in OPEN.values()
        for place in registries(module)
    ]
    assert not kept, "make it a field of the open team (`team.py`) or of the API object"


@pytest.mark.parametrize(
    "text",
    [
        "KEPT = {}",
        "KEPT: dict[str, int] = {}",
        "KEPT = []",
        "KEPT = WeakKeyDictionary()",
        "KEPT = weakref.WeakKeyDictionary()",
        "KEPT = {'a': 1}\ndef keep(): KEPT['b'] = 2",
        "KEPT = {'a': 1}\ndef forget(): del KEPT['a']",
        "KEPT = [1]\nasync def keep(): KEPT.append(2)",
        "KEPT = None\ndef keep():\n    global KEPT\n    KEPT = 1",
    ],
)
def test_state_in_a_global_is_found_in_each_of_its_forms(text: str) -> None:
    module = modules()["muster.http"]
    assert registries(module._replace(tree=ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    [
        "TABLE = {'a': 1}\ndef read(): return TABLE['a']",
        "NAMES = ['a']\ndef read():\n    NAMES = []\n    NAMES.append('b')",
        "def read():\n    found = {}\n    found['a'] = 1",
        "SORTED = dict(a=1)",
    ],
)
def test_a_constant_and_a_local_are_no_state(text: str) -> None:
    module = modules()["muster.http"]
    assert not registries(module._replace(tree=ast.parse(text)))


def test_no_route_module_imports_another() -> None:
    seen = [
        f"{module.at(each.line)} imports {each.target}"
        for module in modules().values()
        if within(module.name, ROUTES) and module.name not in (ROUTES, f"{ROUTES}.dialogues")
        for each in imports(module)
        if within(each.target, ROUTES)
    ]
    assert not seen, "what two routes share belongs in muster.http.types or beside it"


CLIENT_MODULES_MAX = 20


def test_the_client_loads_few_modules_and_no_part_of_the_server() -> None:
    text = "import sys; from muster import Client; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    loaded = {name for name in ran.stdout.split() if name.partition(".")[0] == "muster"}
    assert len(loaded) <= CLIENT_MODULES_MAX, sorted(loaded)
    rooms = {name.split(".")[1] for name in loaded if "." in name}
    assert rooms == {"client", "errors", "limits", "machines", "views"}
