"""Rooms: the allowed imports between rooms. Exceptions are listed, each with its reason.

machines → store → engine → sessions, inbox, delegation, mirrors, views → runtimes → interfaces

`app.py` alone sees everything.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.homes import DESIGN, TWO_AGENTS, environment, play
from tests.tidy.source import Import, Module, imports, modules, nodes, within
from tests.waits import WAIT_SECONDS

# ── imports between rooms ─────────────────────────────────────────────────────────────────────────


class Room(NamedTuple):
    """The imports from muster that the modules of a room may have, and the reason for no more."""

    sees: tuple[str, ...]
    reason: str


GROUND = (
    "muster.differences",
    "muster.durations",
    "muster.errors",
    "muster.images",
    "muster.limits",
    "muster.regular_files",
    "muster.version",
    "muster.whole_text",
)
"""Open to all rooms: errors, limits, safe reading of files, kinds of images, the version."""

CORE = (*GROUND, "muster.machines")

WORDS = (
    "muster.machines.documents",
    "muster.machines.ids",
    "muster.machines.vocabulary",
)
"""The words of the machines, without their state, commands and decisions."""

STORE_READERS = ("muster.store.base", "muster.store.codec")
"""The store's protocol, and the encoding of events."""

ROOMS: dict[str, Room] = {
    "muster.errors": Room((), "every room fails in these ways, so they import no room"),
    "muster.differences": Room((), "two texts, and nothing of the team"),
    "muster.durations": Room((), "a histogram: numbers alone"),
    "muster.images": Room(("muster.limits",), "the bytes of a file, and nothing of the team"),
    "muster.limits": Room((), "numbers with reasons"),
    "muster.regular_files": Room((), "a hook runs it at every tool call, and loads nothing else"),
    "muster.version": Room((), "a number"),
    "muster.whole_text": Room((), "texts, whatever record they are in"),
    "muster.permissions": Room(
        ("muster.regular_files",), "a hook runs it at every tool call, and loads nothing else"
    ),
    "muster.confine": Room((), "a hook runs it at every tool call, and loads nothing else"),
    "muster.routing": Room(GROUND, "the agent for a request follows from descriptions alone"),
    "muster.machines": Room(GROUND, "a decision depends on nothing but state and command"),
    "muster.settings": Room(CORE, "settings give the machines' defaults other values"),
    "muster.home": Room(GROUND, "a client finds a server by the home, and loads no store"),
    "muster.attachments": Room(
        (*CORE, "muster.home.disk"), "a file's content and its name, and no message"
    ),
    "muster.store": Room((*CORE, "muster.home"), "a store keeps events, and interprets none"),
    "muster.backup": Room(
        (*CORE, "muster.engine", "muster.home", "muster.settings.model", "muster.store"),
        "a backup is the files of a home, and a restored log gets one event",
    ),
    "muster.engine": Room((*CORE, *STORE_READERS), "a store is known by its protocol"),
    "muster.worker": Room(
        ("muster.engine.tasks", "muster.errors", "muster.permissions", "muster.routing"),
        "a process that starts fast, for functions of others",
    ),
    "muster.views": Room(
        (*CORE, *STORE_READERS, "muster.engine", "muster.routing", "muster.worker.limits"),
        "a view reads state and log, and changes nothing",
    ),
    "muster.inbox": Room(
        (*CORE, *STORE_READERS, "muster.engine", "muster.views"),
        "what an agent is handed follows from state and log",
    ),
    "muster.mirrors": Room(
        (*CORE, *STORE_READERS, "muster.engine", "muster.home.file_lock"),
        "a file and the log are kept in step",
    ),
    "muster.notify": Room(
        (*CORE, "muster.engine", "muster.settings.notify", "muster.views"),
        "people are told what the view of needs says, where their settings say",
    ),
    "muster.telemetry": Room(
        (*CORE, "muster.engine", "muster.settings.notify"),
        "spans and records follow from events alone",
    ),
    "muster.reloading": Room(
        (*CORE, "muster.engine", "muster.home.faults", "muster.mirrors", "muster.settings"),
        "changed settings are read from a file, and become commands",
    ),
    "muster.templates": Room(
        (*CORE, "muster.settings"), "a template is settings, and the state of a team as settings"
    ),
    "muster.sessions": Room(
        (
            *CORE,
            *STORE_READERS,
            "muster.engine",
            "muster.inbox",
            "muster.permissions",
            "muster.views",
            "muster.worker",
        ),
        "a session is run through the port of its runtime, and a person told what its calls do",
    ),
    "muster.nodes": Room(
        (
            *CORE,
            "muster.engine",
            "muster.home.lock",
            "muster.runtimes.process.marks",
            "muster.store.base",
        ),
        "a node is a lease and its warden; what its loss means is decided by the machines",
    ),
    "muster.workspaces": Room(
        (
            *CORE,
            "muster.engine",
            "muster.sessions.environment",
            "muster.settings",
            "muster.store.base",
            "muster.views.answers",
        ),
        "a worktree is commands, events and git; the reactor of sessions says when it is needed",
    ),
    "muster.team": Room(
        (
            *CORE,
            "muster.attachments",
            "muster.delegation",
            "muster.engine",
            "muster.inbox",
            "muster.nodes.asking",
            "muster.notify.push",
            "muster.reloading",
            "muster.sessions",
            "muster.settings",
            "muster.store.base",
            "muster.views",
            "muster.worker",
            "muster.workspaces",
        ),
        "the open team, as interfaces know it",
    ),
    "muster.team_options": Room(
        (
            *CORE,
            "muster.delegation.following.owner",
            "muster.engine",
            "muster.home.database",
            "muster.nodes.membership",
            "muster.reloading.live",
            "muster.settings",
        ),
        "how a team is run, before it is",
    ),
    "muster.identity": Room(
        (*CORE, "muster.engine", "muster.store.base", "muster.team", "muster.views"),
        "people act on identities through the open team",
    ),
    "muster.delegation": Room(
        (
            *CORE,
            *STORE_READERS,
            "muster.confine",
            "muster.engine",
            "muster.mirrors",
            "muster.permissions",
            "muster.routing",
            "muster.sessions",
            "muster.views",
        ),
        "a conversation is commands, events and a folder; the reactor of sessions runs programs",
    ),
    "muster.runtimes": Room(
        (
            *CORE,
            "muster.confine",
            "muster.engine.fencing",
            "muster.engine.programs",
            "muster.engine.fitting",
            "muster.engine.importing",
            "muster.engine.ports",
            "muster.engine.tasks",
            "muster.settings",
        ),
        "a runtime serves a port, and asks nothing but its program",
    ),
    "muster.claude_plugin": Room(
        (
            *CORE,
            "muster.confine",
            "muster.delegation",
            "muster.home.lock",
            "muster.identity",
            "muster.inbox",
            "muster.permissions",
            "muster.sessions",
            "muster.settings",
            "muster.team",
            "muster.views",
            "muster.worker",
        ),
        "hooks are answered from the open team",
    ),
    "muster.mcp": Room(
        (*GROUND, *WORDS, "muster.client", "muster.views.answers", "muster.views.problems"),
        "a tool makes requests of the client, and decides nothing",
    ),
    "muster.http": Room(
        (
            *CORE,
            *STORE_READERS,
            "muster.attachments",
            "muster.client.requests",
            "muster.delegation",
            "muster.engine",
            "muster.identity",
            "muster.inbox",
            "muster.mcp.calls",
            "muster.mcp.serving",
            "muster.notify.push",
            "muster.notify.targets",
            "muster.permissions",
            "muster.reloading",
            "muster.routing",
            "muster.sessions",
            "muster.settings",
            "muster.team",
            "muster.templates",
            "muster.views",
            "muster.worker",
            "muster.workspaces",
        ),
        "a handler parses, sends one command or asks one question, renders",
    ),
    "muster.client": Room(
        (*GROUND, *WORDS, "muster.home", "muster.views.answers"),
        "a client knows a server by its answers",
    ),
    "muster.cli": Room(
        (
            *CORE,
            "muster.backup",
            "muster.claude_plugin",
            "muster.client",
            "muster.confine",
            "muster.delegation",
            "muster.engine",
            "muster.home",
            "muster.http",
            "muster.mcp",
            "muster.notify",
            "muster.permissions",
            "muster.reloading",
            "muster.routing",
            "muster.settings",
            "muster.team",
            "muster.templates",
            "muster.views",
        ),
        "a verb parses, asks the server or reads the log, renders",
    ),
    "muster.demo": Room(
        (
            *CORE,
            "muster.client",
            "muster.delegation",
            "muster.engine",
            "muster.identity",
            "muster.routing",
            "muster.settings",
            "muster.team",
        ),
        "the demo does what a person could do, and its programs what an agent could",
    ),
    "muster.testing": Room(
        (*CORE, "muster.engine", "muster.settings"), "fakes of ports, for users' own tests too"
    ),
    "muster.upkeep": Room(
        (*CORE, *STORE_READERS, "muster.attachments", "muster.engine", "muster.home"),
        "a home is looked after beside the team, and knows nothing of it",
    ),
    "muster.app": Room(("muster",), "the composition root"),
    "muster.__main__": Room(("muster.cli.main",), "the command line is the program"),
    "muster": Room((*GROUND, "muster.client"), "the public names, and nothing of its own"),
}


class Door(NamedTuple):
    """Modules that may import more than their room, and why."""

    who: tuple[str, ...]
    sees: tuple[str, ...]
    reason: str


DOORS = (
    Door(
        ("muster.mcp.stdio",),
        ("muster.engine.tasks",),
        "heartbeats are sent beside the requests of a client, and end with them",
    ),
    Door(
        ("muster.testing.scale", "muster.testing.scale_nodes"),
        (
            "muster.store.postgres.connecting",
            "muster.store.postgres.opening",
            "muster.store.postgres.store",
        ),
        "the simulation of many teams is about this store",
    ),
    Door(
        ("muster.views.content.searching",),
        ("muster.store.words",),
        "a snippet marks the words by which the store found a message",
    ),
    Door(
        ("muster.runtimes.claude.protocol.tool_server", "muster.runtimes.python.turn"),
        ("muster.sessions.tools",),
        "the tools that a model is told of are the session's own list",
    ),
    Door(
        (
            "muster.runtimes.claude.program",
            "muster.runtimes.claude.spent",
            "muster.runtimes.claude.starting",
        ),
        (
            "muster.claude_plugin.copying",
            "muster.claude_plugin.prices",
            "muster.routing.agent_files",
        ),
        "Claude Code is given the plugin, subagents from the same files as agents, and one price",
    ),
    Door(
        ("muster.runtimes.isolated",),
        ("muster.home.lock", "muster.home.operator_token"),
        "a home that is hidden is known by the files in it",
    ),
    Door(
        ("muster.delegation.team_session",),
        ("muster.home.database",),
        "the session that a home names is in the log of that home",
    ),
    Door(
        ("muster.delegation.visiting",),
        (
            "muster.home.address",
            "muster.home.lock",
            "muster.runtimes.process.processes",
            "muster.settings.model",
            "muster.store.opening",
        ),
        "opens the log of a state machine session that no server keeps open",
    ),
    Door(
        ("muster.delegation.earlier",),
        ("muster.store.opening",),
        "reads the log of a session that goes on in the team's, and cannot write to it",
    ),
    Door(
        ("muster.http.routes.runs",),
        ("muster.runtimes.process.output_file",),
        "reads the end of the file that a runtime writes",
    ),
    Door(
        ("muster.cli.setup.from_template",),
        ("muster.runtimes.claude.program",),
        "a template runs on Claude Code where it is installed",
    ),
    Door(
        ("muster.cli.run.trusted_homes",),
        ("muster.workspaces.git",),
        "git says which files came with a repository, and runs no program of it",
    ),
    Door(
        ("muster.cli.run.down",),
        ("muster.runtimes.process.processes", "muster.store.opening"),
        "ends the programs of sessions that a killed server left in its log",
    ),
    Door(
        ("muster.claude_plugin.hooks.desk",),
        ("muster.http.auth",),
        "a hook's token is checked as a request's is",
    ),
    Door(
        (
            "muster.cli.following",
            "muster.cli.look.agents",
            "muster.cli.look.costs",
            "muster.cli.look.exporting",
            "muster.cli.look.log",
            "muster.cli.look.logs",
            "muster.cli.look.needs",
            "muster.cli.look.nodes",
            "muster.cli.look.search",
            "muster.cli.look.since",
            "muster.cli.look.status",
            "muster.cli.look.team",
            "muster.cli.look.why",
            "muster.cli.setup.doctor",
        ),
        ("muster.store.base", "muster.store.codec", "muster.store.opening"),
        "reading verbs work when no server runs: they read the log, and cannot write to it",
    ),
    Door(
        ("muster.cli.setup.doctor", "muster.cli.setup.verifying"),
        ("muster.store.chain", "muster.store.opening", "muster.store.verifying"),
        "doctor verifies the whole log, and changes nothing",
    ),
    Door(
        ("muster.cli.setup.doctor",),
        (
            "muster.runtimes.acp.presets",
            "muster.runtimes.bounded",
            "muster.runtimes.claude.program",
            "muster.runtimes.codex.runtime",
            "muster.runtimes.once.presets",
            "muster.runtimes.process.cgroups",
            "muster.runtimes.process.orphans",
            "muster.runtimes.isolated",
            "muster.runtimes.process.resources",
            "muster.runtimes.sign_in",
        ),
        "doctor looks where a runtime will: for the program of an agent, and for means of limits",
    ),
    Door(
        ("muster.cli.act.agent_values",),
        ("muster.runtimes.programs",),
        "`muster agent add` looks for installed programs when no server runs, too",
    ),
    Door(
        ("muster.cli.run.up",),
        ("muster.app", "muster.demo.settings", "muster.demo.stage"),
        "`muster up` runs the whole",
    ),
    Door(
        (
            "muster.cli.run.team_database",
            "muster.cli.setup.checks.database",
            "muster.cli.setup.join",
        ),
        ("muster.store.opening", "muster.store.postgres.examining"),
        "a team in a database is begun or found before the home names it, and its server examined",
    ),
    Door(
        ("muster.cli.delegate.served",),
        ("muster.app",),
        "`muster ask` runs the whole for a state machine session that nobody else serves",
    ),
    Door(
        ("muster.cli.run.run",),
        (
            "muster.app",
            "muster.mirrors.state_file.lock",
            "muster.mirrors.roster",
            "muster.mirrors.state_file.files",
            "muster.runtimes.inherit",
            "muster.runtimes.process.group",
            "muster.store.memory",
        ),
        "`muster run` is a whole team of one: it puts that together as app.py does for others",
    ),
)

ROOM_FILES_MAX = 20
"""Most modules in one folder; a larger one holds two subjects."""


def room_of(name: str) -> str:
    """The room of a module: itself, or its top-level package."""
    return name if name in ROOMS else ".".join(name.split(".")[:2])


def door_of(name: str, target: str) -> Door | None:
    """The exception by which a module may import another, if there is one."""
    return next((door for door in DOORS if name in door.who and target in door.sees), None)


def inner_imports(module: Module) -> Iterator[Import]:
    """The imports of a module from other rooms, with the line."""
    for each in imports(module):
        if each.target.startswith(".") or (
            within(each.target, "muster") and room_of(each.target) != room_of(module.name)
        ):
            yield each


def test_every_module_belongs_to_a_room() -> None:
    homeless = [name for name in modules() if room_of(name) not in ROOMS]
    assert not homeless, "add them to ROOMS with their imports and the reason"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may_see(room: str) -> None:
    seen = [
        f"{module.at(each.line)} imports {each.target}"
        for module in modules().values()
        if room_of(module.name) == room
        for each in inner_imports(module)
        if not any(within(each.target, package) for package in ROOMS[room].sees)
        and door_of(module.name, each.target) is None
    ]
    assert not seen, f"{room}: {ROOMS[room].reason}"


def test_every_exception_is_still_needed() -> None:
    used = {(module.name, each.target) for module in modules().values() for each in imports(module)}
    for door in DOORS:
        for name in door.who:
            assert any((name, target) in used for target in door.sees), f"{name} sees none of it"
        for target in door.sees:
            assert any((name, target) in used for name in door.who), f"nobody sees {target}"


def test_no_two_rooms_import_each_other() -> None:
    edges = {
        (room_of(module.name), room_of(each.target))
        for module in modules().values()
        for each in inner_imports(module)
        if "muster.app" not in (room_of(module.name), room_of(each.target))
    }
    assert not {(one, other) for one, other in edges if (other, one) in edges}


def test_no_folder_holds_too_many_modules() -> None:
    folders = Counter(module.path.parent for module in modules().values())
    assert not {path: count for path, count in folders.items() if count > ROOM_FILES_MAX}


def test_every_room_says_what_it_owns() -> None:
    silent = [
        module.at(1)
        for module in modules().values()
        if module.path.name == "__init__.py" and not ast.get_docstring(module.tree)
    ]
    assert not silent


def test_no_module_imports_itself_through_others() -> None:
    TopologicalSorter(
        {name: [each.target for each in imports(module)] for name, module in modules().items()}
    ).prepare()


# ── imports from outside ──────────────────────────────────────────────────────────────────────────

PURE = frozenset(
    {
        "abc",
        "collections",
        "cronsim",
        "datetime",
        "enum",
        "functools",
        "hashlib",
        "itertools",
        "math",
        "msgspec",
        "operator",
        "re",
        "typing",
        "unicodedata",
    }
)
"""Modules that a machine may import: types and pure functions. The rest of the standard library has
clocks, files, randomness, threads or logs in it; cronsim is arithmetic on given values."""


class Keeper(NamedTuple):
    """The only modules that may import a package from outside, and why."""

    who: tuple[str, ...]
    reason: str


WIRE = Keeper(("muster",), "records and their encoding, everywhere")
WEB = Keeper(("muster.http",), "one interface of several")
MCP = Keeper(
    ("muster.mcp.serving", "muster.mcp.stdio"), "one interface of several, an extra, loaded late"
)
CHANCE = Keeper(
    ("muster.engine.system", "muster.testing"), "time, ids and randomness come in through ports"
)

KEEPERS = {
    "msgspec": WIRE,
    "acp": Keeper(("muster.runtimes.acp",), "one runtime of several, an extra, loaded late"),
    "asyncpg": Keeper(("muster.store.postgres.connecting",), "an extra; only a database needs it"),
    "client": Keeper(
        ("muster.claude_plugin.plugin.hook",),
        "`claude_plugin/plugin/client.py`, as a hook finds it beside itself",
    ),
    "cryptography": Keeper(
        ("muster.notify.push.encryption", "muster.notify.push.keys"),
        "an extra, loaded when a browser asks for notifications",
    ),
    "opentelemetry": Keeper(("muster.telemetry.exporting",), "an extra; only a collector needs it"),
    "cronsim": Keeper(
        ("muster.machines.run_control.schedule", "muster.settings.policies"),
        "times follow from an expression and a moment, in one place; settings check expressions",
    ),
    "joserfc": Keeper(
        ("muster.http.signing_in.oidc.provider",), "an extra, loaded at a single sign-on"
    ),
    "h11": Keeper(("muster.client.transport",), "the server's HTTP is uvicorn's"),
    "click": Keeper(("muster.cli",), "one interface of several"),
    "markdown_it": Keeper(
        ("muster.views.markdown",), "what agents write becomes HTML in one place"
    ),
    "mcp": MCP,
    "mcp_types": MCP,
    "starlette": Keeper(
        ("muster.http", "muster.mcp.serving"), f"{WEB.reason}; the SDK of MCP answers by it"
    ),
    "tomlkit": Keeper(
        ("muster.settings.writing", "muster.templates", "muster.cli.setup.mcp_programs"),
        "one module edits the settings file, one room makes it of a template, and one edits that"
        " of another program",
    ),
    "uvicorn": WEB,
    "sqlite3": Keeper(
        ("muster.store", "muster.cli.setup.doctor"),
        "one store of several; the doctor tells which SQLite it would run on",
    ),
    "random": CHANCE,
    "secrets": CHANCE,
    "time": Keeper(
        (
            *CHANCE.who,
            "muster.store.sqlite",
            "muster.claude_plugin.typed.surroundings",
            "muster.client",
            "muster.engine.watchdog",
            "muster.http.routes.markdown",
            "muster.nodes.warden_program",
            "muster.runtimes.process.output_file",
            "muster.runtimes.prompted.memory",
        ),
        f"{CHANCE.reason}; a store measures how quick its disk is, which decides nothing else, a"
        " client bounds its own waits, the watchdog looks at the loop from a thread, rendering"
        " has a bound in CPU time, the warden is a program of its own, and the age of"
        " output files, conversations and commands is by the clock that dates files",
    ),
    "uuid": CHANCE,
}


def outer_imports(package: str = "muster") -> Iterator[tuple[Module, Import, str]]:
    """The imports of a part of muster from outside: location, name, and top-level name."""
    for module in modules().values():
        for each in imports(module):
            top = each.target.split(".")[0]
            if within(module.name, package) and top not in ("", "muster"):
                yield module, each, top


def test_the_machines_import_no_clock_no_file_no_randomness_and_no_loop() -> None:
    impure = [
        f"{module.at(each.line)} imports {each.target}"
        for module, each, top in outer_imports("muster.machines")
        if top not in PURE
    ]
    assert not impure


def test_a_package_with_keepers_is_imported_by_them_alone() -> None:
    astray = [
        f"{module.at(each.line)} imports {each.target}: {KEEPERS[top].reason}"
        for module, each, top in outer_imports()
        if top in KEEPERS and not any(within(module.name, who) for who in KEEPERS[top].who)
    ]
    assert not astray


def test_every_third_party_package_has_a_keeper() -> None:
    unkept = [
        f"{module.at(each.line)} imports {each.target}"
        for module, each, top in outer_imports()
        if top not in sys.stdlib_module_names and top not in KEEPERS
    ]
    assert not unkept, "a new dependency earns its place with a sentence in KEEPERS"


# ── imports of a fast verb ────────────────────────────────────────────────────────────────────────

HEAVY = (
    "asyncio",
    "concurrent.futures",
    "http",
    "logging",
    "ssl",
    "starlette",
    "typing_extensions",
    "uvicorn",
)
"""Importing any of these costs a fast verb more than its own work."""

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
    """A home with a team, without a running server."""
    path = tmp_path_factory.mktemp("team") / "home"
    play(path, *TWO_AGENTS)
    return path


@pytest.mark.parametrize("call", QUICK)
def test_a_fast_verb_loads_no_event_loop_and_no_server(call: str, home: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, " ".join(HEAVY), *call.split()],
        env=environment({"MUSTER_HOME": str(home)}),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert ran.stderr == "0\n", "the exit code, and the loaded modules of HEAVY"


MODULES_MAX = {"--help": 9, "status": 133, "why Ada": 109}
"""Modules of muster behind a fast verb: each takes a tenth of a millisecond and more."""

COUNTING = """
import sys
from muster.cli.main import run

run(sys.argv[1:])
print(*(name for name in sys.modules if name.split(".")[0] == "muster"), file=sys.stderr)
"""


@pytest.mark.parametrize("call", MODULES_MAX)
def test_a_fast_verb_loads_few_modules_of_muster(call: str, home: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", COUNTING, *call.split()],
        env=environment({"MUSTER_HOME": str(home)}),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    loaded = ran.stderr.split()
    assert len(loaded) <= MODULES_MAX[call], sorted(loaded)
    assert "muster.machines.commands" not in loaded, "the fold of a log needs no commands"


def test_sessions_of_claude_code_load_none_of_the_large_sdks() -> None:
    """They take 40 MB and a second: the SDK of Claude Code, and that of MCP which it imports."""
    loads = "import sys, muster.cli.run.up, muster.runtimes.claude.starting"
    large = "{'claude_agent_sdk', 'mcp', 'pydantic', 'jsonschema', 'cryptography'}"
    ran = subprocess.run(
        [sys.executable, "-c", f"{loads}; print({large} & sys.modules.keys())"],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert ran.stdout == "set()\n"


# ── imports of a client ───────────────────────────────────────────────────────────────────────────

CLIENT_MODULES_MAX = 24
"""Modules behind `from muster import Client`: the client, the answers, and their words."""

CLIENT_PROGRAM = """
import sys
from muster import {name}

print(*(module for module in sys.modules if module.split(".")[0] == "muster"))
"""


@pytest.mark.parametrize("name", ["Client", "AsyncClient"])
def test_a_client_loads_no_server(name: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", CLIENT_PROGRAM.format(name=name)],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    loaded = ran.stdout.split()
    assert len(loaded) <= CLIENT_MODULES_MAX, sorted(loaded)
    assert not [each for each in loaded if "dispatcher" in each or ".store" in each]


def test_an_answer_is_made_of_words_and_other_answers_only() -> None:
    more = [
        f"{module.at(each.line)} imports {each.target}"
        for module in modules().values()
        if within(module.name, "muster.views.answers")
        for each in imports(module)
        if within(each.target, "muster")
        and not any(within(each.target, seen) for seen in (*WORDS, "muster.views.answers"))
    ]
    assert not more, "the client loads every answer"


# ── names, and `Any` ──────────────────────────────────────────────────────────────────────────────

EMPTY_WORDS = {"util", "utils", "helper", "helpers", "manager", "misc", "common"}


def test_no_name_is_meaningless() -> None:
    named = [
        (module.at(node.lineno), node.name)
        for module in modules().values()
        for node in nodes(module)
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
        for node in nodes(module)
        if isinstance(node, ast.Name) and node.id == "Any" and not _explained(module, node.lineno)
    ]
    assert not bare, "explain Any on its line, or on the one before or after it"


def _explained(module: Module, line: int) -> bool:
    """Whether there is a comment or a docstring at that line."""
    around = module.text.splitlines()[line - 2 : line + 1]
    return any("#" in each or '"""' in each for each in around)


def test_one_place_starts_programs() -> None:
    """A process that did not pass the gate would be one that no person could stop."""
    starts = [
        module.at(node.lineno)
        for module in modules().values()
        if not within(module.name, "muster.runtimes")
        for node in nodes(module)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "start"
        and ast.unparse(node.func.value).endswith("runtime")
    ]
    assert [place.split(":")[0] for place in starts] == ["src/muster/sessions/reactor.py"]
