"""Layers: a file imports from those before its own, never after. Exceptions are told, with reasons.

machines  →  store  →  services  →  interfaces        app.py puts them together
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.homes import BOUND_SECONDS, DESIGN, TWO_AGENTS, environment, play
from tests.tidy.source import Import, Module, imports, modules, within

# ── who may see whom ──────────────────────────────────────────────────────────────────────────────


class Layer(NamedTuple):
    """What the modules of a layer may import of muster, besides each other; and why no more."""

    sees: tuple[str, ...]
    reason: str


GROUND = ("muster.errors", "muster.limits", "muster.version")
"""Open to all: how things fail, how large they may be, which muster this is."""

CORE = (*GROUND, "muster.machines")

LAYERS: dict[str, Layer] = {
    "muster.errors": Layer((), "everybody fails in these ways, so they know nobody"),
    "muster.limits": Layer((), "numbers with reasons"),
    "muster.version": Layer((), "a number"),
    "muster.permissions": Layer((), "it runs in a hook at every tool call, and loads nothing else"),
    "muster.claude_plugin": Layer(
        ("muster.permissions",), "it runs at every tool call, and loads nothing else"
    ),
    "muster.routing": Layer(
        ("muster.errors", "muster.limits"), "who a request is for follows from what agents say"
    ),
    "muster.machines": Layer(GROUND, "what is decided depends on nothing but state and command"),
    "muster.store": Layer(CORE, "a store keeps what happened, and asks nobody what it means"),
    "muster.files": Layer(CORE, "a file is read and written whoever asks for it"),
    "muster.services": Layer(
        (*CORE, "muster.files", "muster.permissions", "muster.routing", "muster.store.base"),
        "a service knows a store only by its protocol",
    ),
    "muster.settings.file": Layer(("muster.errors",), "finding a line in a file needs nothing"),
    "muster.settings.rules": Layer((), "what a value may be does not depend on whose it is"),
    "muster.settings.agents": Layer(
        (*CORE, "muster.settings.rules", "muster.settings.file"),
        "an agent is described in the words of the machines",
    ),
    "muster.settings.model": Layer(
        (*CORE, "muster.settings.agents", "muster.settings.rules", "muster.settings.file"),
        "settings give the machines' defaults other values",
    ),
    "muster.runtimes": Layer(
        (
            *CORE,
            "muster.settings.agents",
            "muster.claude_plugin",
            "muster.settings.model",
            "muster.engine.ports",
        ),
        "a runtime is asked by a service, and asks nobody but its program",
    ),
    "muster.demo": Layer(
        (
            *CORE,
            "muster.settings.agents",
            "muster.settings.model",
            "muster.routing",
            "muster.services",
        ),
        "a demo is played with what a person could do, and its programs need nothing",
    ),
    "muster.interfaces": Layer(
        (
            *CORE,
            "muster.settings.agents",
            "muster.claude_plugin",
            "muster.settings.model",
            "muster.permissions",
            "muster.routing",
            "muster.services",
        ),
        "an interface has no logic and no memory",
    ),
    "muster.testing": Layer(
        (*CORE, "muster.store", "muster.services", "muster.settings.model", "muster.app"),
        "fakes and simulations play a team without any way to talk to it",
    ),
    "muster.app": Layer(
        (
            *CORE,
            "muster.settings.agents",
            "muster.settings.model",
            "muster.runtimes",
            "muster.services",
            "muster.store",
        ),
        "puts everything together",
    ),
    "muster.delegation.visiting": Layer(
        (
            *CORE,
            "muster.settings.model",
            "muster.files",
            "muster.runtimes",
            "muster.services",
            "muster.store",
        ),
        "puts a state machine session together that no server keeps open",
    ),
    "muster.__main__": Layer(("muster.cli.main",), "the command line is the program"),
    "muster.client": Layer(("muster.interfaces.client",), "a short name for what is there"),
    "muster": Layer(
        (*GROUND, "muster.app", "muster.client"), "the public names, and nothing of its own"
    ),
}


class Door(NamedTuple):
    """Modules that may see more than their layer does, and why."""

    who: tuple[str, ...]
    sees: tuple[str, ...]
    reason: str


DOORS = (
    Door(
        ("muster.runtimes.claude.asking",),
        ("muster.sessions.tools",),
        "the tools that a model is told of are the service's own list",
    ),
    Door(
        ("muster.runtimes.claude.starting",),
        ("muster.routing.agent_files",),
        "subagents are described by the same files as agents",
    ),
    Door(
        ("muster.claude_plugin.hooks.desk", "muster.claude_plugin.hooks.places"),
        ("muster.delegation.visiting",),
        "hooks are answered without a server too: each answer visits the session's own log",
    ),
    Door(
        (
            "muster.views.channels",
            "muster.inbox.inbox",
            "muster.mirrors.inbox_file.agent",
            "muster.mirrors.inbox_file.human",
            "muster.delegation.ledger",
            "muster.engine.loading",
            "muster.engine.reactors",
            "muster.views.wake_payload",
        ),
        ("muster.store.codec",),
        "stores and the feed carry encoded events, and these need what is inside; "
        "the codec is the wire format of every store, and not a store",
    ),
    Door(
        (
            "muster.cli.look.agents",
            "muster.cli.look.costs",
            "muster.cli.setup.doctor",
            "muster.cli.look.exporting",
            "muster.cli.look.log",
            "muster.cli.look.logs",
            "muster.cli.reading",
            "muster.cli.look.status",
            "muster.cli.look.why",
        ),
        ("muster.store.base", "muster.store.codec", "muster.home.lock", "muster.store.reading"),
        "reading verbs work when no server runs: they read the file, and cannot write to it",
    ),
    Door(
        (
            "muster.http.routes.dialogues",
            "muster.http.routes.events",
            "muster.http.routes.history",
            "muster.http.routes.identity",
            "muster.http.routes.runs",
            "muster.http.routes.why",
        ),
        ("muster.store.base", "muster.store.codec"),
        "the log over HTTP is the log as the store has it, filtered and spelled",
    ),
    Door(
        ("muster.http.routes.dialogues",),
        ("muster.delegation.folder.workspace",),
        "a conversation is shown with the names that its files have in its folder",
    ),
    Door(
        ("muster.client.request",),
        ("muster.home.lock",),
        "an address is believed only while a process holds the home",
    ),
    Door(
        ("muster.cli.run.up",),
        (
            "muster.app",
            "muster.demo.settings",
            "muster.demo.stage",
            "muster.runtimes.delegated",
            "muster.home.lock",
            "muster.delegation.visiting",
        ),
        "`muster up` runs the whole, and says that a home is taken before it takes a port",
    ),
    Door(
        ("muster.cli.delegate.delegation",),
        ("muster.delegation.visiting",),
        "delegation works without a server: each call visits the session's own log",
    ),
    Door(
        ("muster.cli.run.run",),
        (
            "muster.app",
            "muster.mirrors.file_lock",
            "muster.runtimes.inherit",
            "muster.runtimes.process.group",
            "muster.store.memory",
        ),
        "`muster run` is a whole team of one: it puts that together as app.py does for others",
    ),
)


def layer_of(name: str) -> str:
    """The layer of a module: itself, or the part of muster that it lies in."""
    return name if name in LAYERS else ".".join(name.split(".")[:2])


def door_of(name: str, target: str) -> Door | None:
    """The exception by which a module may import another, if there is one."""
    return next((door for door in DOORS if name in door.who and target in door.sees), None)


def inner_imports(module: Module) -> Iterator[Import]:
    """What a module imports of other layers, or from where it cannot be told."""
    for each in imports(module):
        if each.target.startswith(".") or (
            within(each.target, "muster") and layer_of(each.target) != layer_of(module.name)
        ):
            yield each


def test_every_module_belongs_to_a_layer() -> None:
    homeless = [name for name in modules() if layer_of(name) not in LAYERS]
    assert not homeless, "say in LAYERS what they may import, and why no more"


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_what_it_may_see(layer: str) -> None:
    seen = [
        f"{module.at(each.line)} imports {each.target}"
        for module in modules().values()
        if layer_of(module.name) == layer
        for each in inner_imports(module)
        if not any(within(each.target, package) for package in LAYERS[layer].sees)
        and door_of(module.name, each.target) is None
    ]
    assert not seen, f"{layer}: {LAYERS[layer].reason}"


def test_every_exception_is_still_needed() -> None:
    used = {(module.name, each.target) for module in modules().values() for each in imports(module)}
    for door in DOORS:
        for name in door.who:
            assert any((name, target) in used for target in door.sees), f"{name} sees none of it"
        for target in door.sees:
            assert any((name, target) in used for name in door.who), f"nobody sees {target}"


def test_no_module_needs_itself() -> None:
    TopologicalSorter(
        {name: [each.target for each in imports(module)] for name, module in modules().items()}
    ).prepare()


# ── who may see the world ─────────────────────────────────────────────────────────────────────────

PURE = frozenset(
    {
        "abc",
        "collections",
        "datetime",
        "enum",
        "functools",
        "hashlib",
        "itertools",
        "msgspec",
        "operator",
        "re",
        "typing",
        "unicodedata",
    }
)
"""What a machine may use: kinds of values, and ways to put them together. The rest of the standard
library has clocks, files, chance, threads or logs in it."""


class Keeper(NamedTuple):
    """The modules that alone may import something from outside, and why."""

    who: tuple[str, ...]
    reason: str


WIRE = Keeper(("muster",), "records and their encoding, everywhere")
WEB = Keeper(("muster.interfaces.http",), "one interface of several")
CHANCE = Keeper(
    ("muster.engine.system", "muster.testing"), "time, ids and chance come in through ports"
)

KEEPERS = {
    "msgspec": WIRE,
    "claude_agent_sdk": Keeper(("muster.runtimes.claude",), "one runtime of several, an extra"),
    "client": Keeper(
        ("muster.claude_plugin.plugin.hook",),
        "`claude_plugin/plugin/client.py`, as a hook finds it beside itself",
    ),
    "click": Keeper(("muster.interfaces.cli",), "one interface of several"),
    "markdown_it": Keeper(
        ("muster.views.markdown",), "what agents write becomes HTML in one place"
    ),
    "starlette": WEB,
    "uvicorn": WEB,
    "sqlite3": Keeper(
        ("muster.store", "muster.cli.setup.doctor"),
        "one store of several; the doctor tells which SQLite it would run on",
    ),
    "random": CHANCE,
    "secrets": CHANCE,
    "time": Keeper(
        (*CHANCE.who, "muster.store.sqlite"),
        f"{CHANCE.reason}; a store measures how quick its disk is, which decides nothing else",
    ),
    "uuid": CHANCE,
}


def outer_imports(package: str = "muster") -> Iterator[tuple[Module, Import, str]]:
    """What a part of muster imports from outside: where, what, and the top of its name."""
    for module in modules().values():
        for each in imports(module):
            top = each.target.split(".")[0]
            if within(module.name, package) and top not in ("", "muster"):
                yield module, each, top


def test_the_machines_know_no_clock_no_file_no_chance_and_no_loop() -> None:
    impure = [
        f"{module.at(each.line)} imports {each.target}"
        for module, each, top in outer_imports("muster.machines")
        if top not in PURE
    ]
    assert not impure


def test_what_has_a_keeper_is_imported_by_nobody_else() -> None:
    astray = [
        f"{module.at(each.line)} imports {each.target}: {KEEPERS[top].reason}"
        for module, each, top in outer_imports()
        if top in KEEPERS and not any(within(module.name, who) for who in KEEPERS[top].who)
    ]
    assert not astray


def test_every_package_of_others_has_a_keeper() -> None:
    unkept = [
        f"{module.at(each.line)} imports {each.target}"
        for module, each, top in outer_imports()
        if top not in sys.stdlib_module_names and top not in KEEPERS
    ]
    assert not unkept, "a new dependency earns its place with a sentence in KEEPERS"


# ── what a quick verb may load ────────────────────────────────────────────────────────────────────

HEAVY = ("asyncio", "concurrent.futures", "http", "logging", "ssl", "starlette", "uvicorn")
"""Each costs a quick verb more than its own work does."""

QUICK = (
    "--help",
    "status",
    "status --json",
    "log",
    f"log --channel {DESIGN} --json",
    "why Ada",
    "diagram turns",
    "completion bash",
)

PROGRAM = """
import sys
from muster.cli.main import run

code = run(sys.argv[2:])
print(code, *(name for name in sys.argv[1].split() if name in sys.modules), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which there was a team, and no server runs."""
    path = tmp_path_factory.mktemp("team") / "home"
    play(path, *TWO_AGENTS)
    return path


@pytest.mark.parametrize("call", QUICK)
def test_a_quick_verb_loads_no_event_loop_and_no_server(call: str, home: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, " ".join(HEAVY), *call.split()],
        env=environment({"MUSTER_HOME": str(home)}),
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=True,
    )
    assert ran.stderr == "0\n", "the exit code, and what was loaded of HEAVY"


# ── names, and the one type that says nothing ─────────────────────────────────────────────────────

EMPTY_WORDS = {"util", "utils", "helper", "helpers", "manager", "misc", "common"}


def test_nothing_has_a_name_that_says_nothing() -> None:
    named = [
        (module.at(node.lineno), node.name)
        for module in modules().values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    named += [(module.at(1), module.name) for module in modules().values()]
    assert not [(where, name) for where, name in named if EMPTY_WORDS & set(_words(name))]


def _words(name: str) -> Iterator[str]:
    return (word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name))


def test_any_comes_with_its_reason() -> None:
    bare = [
        module.at(node.lineno)
        for module in modules().values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Name) and node.id == "Any" and not _explained(module, node.lineno)
    ]
    assert not bare, "say on the line, or on the one before or after it, what Any stands for"


def _explained(module: Module, line: int) -> bool:
    """Whether there is a comment or a docstring at that line."""
    around = module.text.splitlines()[line - 2 : line + 1]
    return any("#" in each or '"""' in each for each in around)
