"""Permissions as data: those of MAIN, those of agents, and which files count as executable.

A pattern with a slash in it is matched against a file's whole path, any other against its name; `*`
matches anything, and case does not count. Three phrases are patterns too: `any executable file` and
`non-executable files` go by the execute bit, the first two bytes and `EXECUTABLE_FILES`;
`information-gathering functions only` matches every read-only command. A denial wins over every
permission.
"""

from __future__ import annotations

import os

from muster.permissions.patterns import PatternIndex, listed
from muster.regular_files import read_regular

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

POLICY_FILE = "permissions.json"

ANY_EXECUTABLE = "any executable file"
NON_EXECUTABLE = "non-executable files"
GATHERING = "information-gathering functions only"

FIELDS = ("can_use", "cannot_use", "can_write", "cannot_write", "can_execute", "cannot_execute")

_TABLES = ("MAIN_PERMISSIONS", "AGENT_PERMISSIONS", "AGENTS", "EXECUTABLE_FILES")


class PolicyError(ValueError):
    """An invalid policy: the file and line, the field, and its allowed values."""

    def __init__(self, what: str, path: str = "", field: tuple[str, ...] = ()) -> None:
        super().__init__(f"{path}: {what}" if path else what)
        self.what = what
        self.path = path
        self.field = field


class Permissions:
    """The permissions of one state; each field is a list of patterns."""

    __slots__ = FIELDS

    def __init__(
        self,
        *,
        can_use: tuple[str, ...] = (),
        cannot_use: tuple[str, ...] = (),
        can_write: tuple[str, ...] = (),
        cannot_write: tuple[str, ...] = (),
        can_execute: tuple[str, ...] = (),
        cannot_execute: tuple[str, ...] = (),
    ) -> None:
        self.can_use = can_use
        self.cannot_use = cannot_use
        self.can_write = can_write
        self.cannot_write = cannot_write
        self.can_execute = can_execute
        self.cannot_execute = cannot_execute

    def as_dict(self) -> dict[str, list[str]]:
        """The same in the format of a policy file."""
        return {field: list(getattr(self, field)) for field in FIELDS}

    @property
    def unlimited(self) -> bool:
        """Whether the state may do everything, so that no call needs a check."""
        allowed = "*" in self.can_use and "*" in self.can_write and "*" in self.can_execute
        return allowed and not (self.cannot_use or self.cannot_write or self.cannot_execute)


MAIN_PERMISSIONS = Permissions(
    can_use=(
        *("Read", "Glob", "Grep", "WebSearch", "WebFetch", "TodoWrite", "Task", "Agent"),
        *("Write", "Edit", "MultiEdit", "Bash"),
        # Claude Code's tools for planning and coordination
        # (not Skill: a skill's inline commands run without a hook)
        *("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "ListAgents", "SendMessage"),
        *("TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate"),
        "ToolSearch",
    ),
    cannot_use=("NotebookEdit",),
    can_write=("*.md", "*.txt", "*.log", "*.json", "*.csv", NON_EXECUTABLE),
    cannot_write=(
        *("*.py", "*.js", "*.ts", "*.sh", "*.go", "*.rs", "*.c", "*.cpp", "*.java"),
        *("package.json", "requirements.txt", "Dockerfile", "Makefile", ANY_EXECUTABLE),
    ),
    can_execute=("read", "list", "search", "analyze", GATHERING),
    cannot_execute=("run", "exec", "eval", "compile", "build"),
)

AGENT_PERMISSIONS = Permissions(can_use=("*",), can_write=("*",), can_execute=("*",))

_ENDINGS = listed(
    """py pyi pyw pyx pyc pth ipynb js jsx mjs cjs ts tsx mts cts vue svelte astro mdx sh bash zsh
    fish ksh csh ps1 psm1 bat cmd vbs command go rs c h cc cpp cxx hpp hh m mm java kt kts scala
    groovy gradle swift cs fs vb rb erb php phtml pl pm lua r jl ex exs erl hrl hs elm clj cljs
    lisp scm el vim nim zig dart pas f90 asm s sol sql prisma graphql proto html htm xhtml css
    scss sass less ejs hbs jinja j2 tmpl wasm so dylib dll exe bin com msi app jar war class o a
    deb rpm apk dmg elf yaml yml toml ini cfg conf config properties plist service timer socket
    desktop lock tf tfvars hcl nix mk cmake ninja bzl bazel dockerfile awk sed jq tcl expect reg
    lnk applescript crontab env
    ml mli coffee cr d v sv vhd vhdl fsx csx rkt hy raku t cgi jsp aspx cshtml razor f f95 for adb
    ads cob cbl gd ino cu cl vy purs agda lean rego jsonnet libsonnet xsl xslt pug haml twig
    liquid nu xsh tcsh ahk nf wdl sbatch slurm pbs pyz phar hta wsf psd1 ls cljc edn sml gleam
    odin roc mojo cairo move glsl vert frag wgsl metal hlsl bats robot rmd qmd gemspec podspec rake
    ru sbt csproj fsproj vbproj vcxproj sln props targets cabal m4 spec work smk pp jsonc json5
    code-workspace whl egg gem nupkg ko sys scpt workflow ac"""
)

_NAMES = listed(
    """.* requirements*.txt constraints*.txt CMakeLists.txt Makefile* GNUmakefile Dockerfile*
    Containerfile* docker-compose* Jenkinsfile Vagrantfile Rakefile Gemfile* Procfile Justfile
    Taskfile* Brewfile Pipfile* BUILD WORKSPACE SConstruct SConscript Tiltfile Caddyfile gradlew
    mvnw configure config crontab authorized_keys known_hosts pom.xml build.xml
    package-lock.json npm-shrinkwrap.json tsconfig*.json jsconfig*.json composer.json bower.json
    deno.json* angular.json nx.json turbo.json lerna.json vercel.json firebase.json
    babel.config.json devcontainer.json tasks.json launch.json mcp.json permissions.json
    settings.json settings.local.json hooks.json plugin.json marketplace.json
    meson.build meson_options.txt configure.in go.mod go.sum Snakefile Podfile Fastfile Guardfile
    Dangerfile Earthfile PKGBUILD wscript nodemon.json cdk.json app.json ecosystem.config.json
    project.json workspace.json CMakePresets.json CMakeUserPresets.json conanfile.txt
    Berksfile Capfile Thorfile Appfile Cakefile Jakefile Gruntfile* Gulpfile* Vagrantfile* Steepfile
    operator.token server.json muster.lock team.db* team.database open-session"""
)

_PLACES = listed(
    """*/.git/* */.hg/* */.svn/* */.husky/* */.vscode/* */.idea/* */.ssh/* */.claude/settings*
    */.claude/hooks/* */.claude/commands/* */.claude/skills/* */.claude/agents/*
    */.claude/plugins/* */.claude-plugin/*
    */.claude/agent-state-machine/sessions */.muster/* */.github/workflows/* */node_modules/*
    */bin/* */.venv/* */site-packages/*
    */.config/* */.docker/* */.kube/* */.local/* */.gnupg/* */.vim/* /etc/* /usr/lib*
    /usr/share/* /usr/local/lib* /bin/* /sbin/* /lib*/* /boot/* /dev/* /proc/* /sys/*
    /var/spool/* /Library/* /System/*"""
)

EXECUTABLE_FILES = (*(f"*.{ending}" for ending in _ENDINGS), *_NAMES, *_PLACES)
"""Names of files that are executed, compiled, built from or read as configuration, and folders in
which every file counts as executable."""


def is_main(state: str) -> bool:
    """Whether a state is MAIN, in any case."""
    return state.strip().upper() == "MAIN"


class Policy:
    """The content of a policy file."""

    __slots__ = ("agent", "agents", "executable", "executable_names", "main")

    def __init__(
        self,
        main: Permissions = MAIN_PERMISSIONS,
        agent: Permissions = AGENT_PERMISSIONS,
        agents: Mapping[str, Permissions] | None = None,
        executable: tuple[str, ...] = EXECUTABLE_FILES,
    ) -> None:
        self.main = main
        self.agent = agent
        self.agents = dict(agents or {})
        self.executable = executable
        self.executable_names = PatternIndex(executable)

    def of(self, state: str) -> Permissions:
        """The permissions of a state. Every state but MAIN is an agent."""
        return self.main if is_main(state) else self.agents.get(state, self.agent)

    def as_dict(self) -> dict[str, object]:
        """The same in the format of a policy file."""
        return {
            "MAIN_PERMISSIONS": self.main.as_dict(),
            "AGENT_PERMISSIONS": self.agent.as_dict(),
            "AGENTS": {name: each.as_dict() for name, each in self.agents.items()},
            "EXECUTABLE_FILES": list(self.executable),
        }


DEFAULT = Policy()


# ── the file ──────────────────────────────────────────────────────────────────────────────────────


def dump(policy: Policy = DEFAULT) -> str:
    """A policy as the text of a file, formatted for people to edit."""
    import json

    return json.dumps(policy.as_dict(), indent=2, ensure_ascii=False) + "\n"


def policy_of(folder: str | os.PathLike[str]) -> Policy:
    """The policy of a session's folder: its file, or the default if there is no file.

    All callers load a session's policy here. An unreadable or invalid file raises `PolicyError`;
    every call is denied then.
    """
    try:
        return load(os.path.join(folder, POLICY_FILE))  # noqa: PTH118
    except FileNotFoundError:
        return DEFAULT


def load(path: str | os.PathLike[str]) -> Policy:
    """Read a policy file; fields that are left out have their defaults.

    Raises `FileNotFoundError` without a file, `PolicyError` with file and line if it is invalid.
    """
    name = os.fspath(path)
    try:
        return parse(read_regular(path).decode())
    except FileNotFoundError:
        raise
    except OSError as failed:
        raise PolicyError(f"cannot be read: {failed.strerror or failed}", name) from None
    except UnicodeDecodeError as wrong:
        raise PolicyError(f"is not UTF-8: {wrong.reason}", name) from None
    except PolicyError as wrong:
        raise PolicyError(wrong.what, name, wrong.field) from None


def parse(text: str) -> Policy:
    """Parse a policy; `PolicyError` names the line and the field that is wrong."""
    import json

    try:
        return _read(json.loads(text, object_pairs_hook=_without_repetition))
    except RecursionError:
        raise PolicyError("the policy is nested too deeply") from None
    except json.JSONDecodeError as wrong:
        raise PolicyError(f"line {wrong.lineno}: {wrong.msg}; a policy is JSON") from None
    except PolicyError as wrong:
        line = _line_of(text, wrong.field)
        what = f"line {line}: {wrong.what}" if line else wrong.what
        raise PolicyError(what, field=wrong.field) from None


def _line_of(text: str, field: tuple[str, ...]) -> int:
    """The line of a field, found by the names on its path; 0 if it cannot be found."""
    at = -1
    for name in field:
        at = text.find(f'"{name}"', at + 1)
        if at < 0:
            return 0
    return text.count("\n", 0, at) + 1 if field else 0


def _read(given: object) -> Policy:
    tables = _table((), given, _TABLES)
    main = _permissions(("MAIN_PERMISSIONS",), tables.get("MAIN_PERMISSIONS"), MAIN_PERMISSIONS)
    agent = _permissions(("AGENT_PERMISSIONS",), tables.get("AGENT_PERMISSIONS"), AGENT_PERMISSIONS)
    named = _table(("AGENTS",), tables.get("AGENTS", {}), None)
    agents = {name: _permissions(("AGENTS", name), each, agent) for name, each in named.items()}
    executable = EXECUTABLE_FILES
    if "EXECUTABLE_FILES" in tables:
        executable = _patterns(("EXECUTABLE_FILES",), tables["EXECUTABLE_FILES"])
    return Policy(main, agent, agents, executable)


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise PolicyError(f"{name} is given twice", field=(name, name))
    return dict(pairs)


def _table(
    where: tuple[str, ...], given: object, known: tuple[str, ...] | None
) -> dict[str, object]:
    name = ".".join(where) or "the policy"
    if not isinstance(given, dict):
        raise PolicyError(f"{name} must be an object", field=where)
    table: dict[str, object] = given  # pyright: ignore[reportUnknownVariableType]
    for field in table:
        if known is not None and field not in known:
            what = f"{name} has no field {field!r}; it has {', '.join(known)}"
            raise PolicyError(what, field=(*where, field))
    return table


def _permissions(where: tuple[str, ...], given: object, default: Permissions) -> Permissions:
    if given is None:
        return default
    table = _table(where, given, FIELDS)
    fields = {
        field: _patterns((*where, field), table[field])
        if field in table
        else getattr(default, field)
        for field in FIELDS
    }
    return Permissions(**fields)


def _patterns(where: tuple[str, ...], given: object) -> tuple[str, ...]:
    name = ".".join(where)
    if not isinstance(given, list):
        raise PolicyError(f"{name} must be a list of patterns", field=where)
    items: list[object] = given  # pyright: ignore[reportUnknownVariableType]
    patterns: list[str] = []
    for index, each in enumerate(items):
        if not isinstance(each, str) or not each.strip():
            raise PolicyError(f"{name}[{index}] must be a string that is not empty", field=where)
        patterns.append(each)
    return tuple(patterns)
