"""Isolation of sessions: the program of an agent does not see the team's home but its own folders.

In the home lie the operator's token, the log, and the folders of other agents. A program that is
not isolated can read them, and act as the operator. Its environment has no secret of the person
either but those that `pass_env` names. Where the machine cannot isolate, a program with `home`
runs, and its session says so; with `strict` it does not start.
"""

import fnmatch
import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from muster.confine import isolation, kernel
from muster.confine.isolation import HIDE, READ, SHOW, STRICT, IsolationPolicy
from muster.engine.ports import Launch
from muster.home import operator_token
from muster.home.lock import LOCK_FILE, LOG_FILE
from muster.machines.attachments import FILES_FOLDER
from muster.machines.ids import LEAD_SEAT
from muster.runtimes.process.confined import ConfinedCommand
from muster.settings.agents import AgentSettings
from muster.settings.model import INBOX_FOLDER, SETTINGS_FILE
from muster.settings.process import Isolate
from muster.settings.programs import OUR_VARIABLES

USUAL: Final[Isolate] = "home"
"""The isolation of an agent whose settings name none."""

HOOKS_PORT: Final = "hooks.port"
_HOME_FILES: Final = (LOCK_FILE, LOG_FILE, SETTINGS_FILE, operator_token.FILE)
_WEB_PORTS: Final = {"http": 80, "https": 443}

MODEL_SECRETS: Final = (
    "ANTHROPIC_*",
    "CLAUDE_CODE_*",
    "OPENAI_*",
    "CODEX_*",
    "GEMINI_*",
    "GOOGLE_API_KEY",
    "MISTRAL_API_KEY",
    "OPENROUTER_API_KEY",
    "XAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "GROQ_API_KEY",
    "DASHSCOPE_API_KEY",
)
"""The secrets that agents get where `pass_env` says nothing: without a model most cannot work."""

_SECRET: Final = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|KEYS|TOKEN|TOKENS|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|PWD|"
    r"CREDENTIAL|CREDENTIALS|COOKIE|PAT|DSN|AUTH)(?:_(?:ID|FILE|SOCK|BASE64|B64|INFO))?$"
    r"|^AWS_SESSION|^PGPASS|^SSH_AUTH_SOCK$|^SSH_AGENT_PID$|^GPG_AGENT_INFO$",
    re.IGNORECASE,
)
"""Names of variables that hold a secret, or lead to one."""

_NOT_SECRET: Final = frozenset({"PWD", "OLDPWD"})
_URL_PASSWORD: Final = re.compile(r"^[a-z][a-z0-9+.-]*://[^/?#@\s]*:[^/?#@\s]+@", re.IGNORECASE)
"""A URL with a password in it, whatever its variable is called."""


# ── the environment ───────────────────────────────────────────────────────────────────────────────


def passed_environment(
    settings: AgentSettings, own: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Muster's environment as the program of an agent gets it: no variable of muster's own, and of
    the secrets only those that `pass_env` names."""
    given = os.environ if own is None else own
    left = set(withheld(settings, given))
    return {
        name: value
        for name, value in given.items()
        if name not in left and not name.startswith(OUR_VARIABLES)
    }


def withheld(settings: AgentSettings, own: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The names of muster's variables with secrets that the program of an agent does not get."""
    given = os.environ if own is None else own
    allowed = MODEL_SECRETS if settings.pass_env is None else settings.pass_env
    secrets = (name for name, value in given.items() if _is_secret(name, value))
    return tuple(
        sorted(
            name
            for name in secrets
            if not name.startswith(OUR_VARIABLES)
            and not any(fnmatch.fnmatchcase(name, pattern) for pattern in allowed)
        )
    )


def _is_secret(name: str, value: str) -> bool:
    if name in _NOT_SECRET:
        return False
    is_proxy = name.lower().endswith("_proxy")
    return bool(_SECRET.search(name) or (not is_proxy and _URL_PASSWORD.match(value)))


# ── the program ───────────────────────────────────────────────────────────────────────────────────


def isolation_trouble(level: Isolate) -> str:
    """The reason why this machine cannot isolate; empty if it can. The first call starts a process:
    call it beside the event loop."""
    return "" if level == "none" else means(level)[1]


@cache
def means(level: Isolate) -> tuple[str, str]:
    """The path of bubblewrap, if it isolates here, and the reason why nothing can."""
    return isolation.means(level)


@cache
def _abi() -> int:
    return kernel.landlock_abi()[0]


def level_of(settings: AgentSettings) -> Isolate:
    """The isolation of an agent."""
    return settings.isolate or USUAL


@contextmanager
def isolated(
    command: ConfinedCommand,
    settings: AgentSettings,
    launch: Launch,
    cwd: Path,
) -> Generator[ConfinedCommand]:
    """A command line that starts a program isolated. Its descriptors are closed after the body.

    Raises `ValueError` if it asks for `strict` and the machine cannot.
    """
    level, hidden = level_of(settings), _homes(launch)
    if level == "none" or not (hidden or level == STRICT):
        yield command
        return
    why = isolation_trouble(level)
    if not why and cwd.resolve() in hidden:
        why = "it works in the team's home itself; set cwd to another folder"
    if why:
        if level == STRICT:
            raise ValueError(f'the machine cannot isolate it as isolate = "strict" says: {why}')
        yield command._replace(sentence=_joined(command.sentence, f"not isolated: {why}"))
        return
    policy = IsolationPolicy(
        level,
        list(_steps(hidden, launch, cwd, command.argv)),
        ports=sorted({*settings.ports, *_own_ports(launch.environment)}),
        sockets=settings.sockets,
    )
    bubblewrap = means(level)[0]
    with ExitStack() as opened:
        plan = isolation.plan_file(policy, _abi(), enters=not bubblewrap)
        opened.callback(os.close, plan)
        report, write_end = os.pipe()
        opened.callback(os.close, report)
        opened.callback(os.close, write_end)
        yield command._replace(
            argv=[
                *(isolation.in_bubblewrap(bubblewrap, policy, str(cwd)) if bubblewrap else ()),
                *isolation.launcher(plan, write_end),
                *command.argv,
            ],
            files=(*command.files, plan, write_end),
            sentence=_joined(command.sentence, sentence(level)),
            report=report,
        )


def sentence(level: Isolate) -> str:
    """How a program is isolated, for status and page. Nothing is said of what is usual."""
    lacks = isolation.lacks(level, _abi())
    if level == USUAL and not lacks:
        return ""
    said = "does not see the team's home"
    if level == STRICT:
        said += ", sees only its own processes, and connects to allowed ports only"
    return "; ".join((said, *lacks))


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _steps(
    hidden: Sequence[Path], launch: Launch, cwd: Path, argv: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Hide the homes, and show in them what is the session's own, outer folders first."""
    for home in hidden:
        yield HIDE, str(home)
    own = [launch.folder, launch.worktree, cwd, *launch.outputs]
    if launch.folder is not None:
        launch.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    paths = {(SHOW, each.resolve()) for each in own if each is not None}
    paths |= {(READ, each.resolve()) for each in _named(argv, cwd)}
    for home in hidden:
        paths |= {(READ, home / FILES_FOLDER), (READ, home / HOOKS_PORT)}
        if launch.agent.seat == LEAD_SEAT:  # the agents inside its session have inbox files
            paths.add((SHOW, home / INBOX_FOLDER))
    for way, path in sorted(paths, key=lambda each: each[1]):
        inside = any(home in path.parents for home in hidden)
        if inside and path.exists() and not path.is_symlink():
            yield way, str(path)


def _named(argv: Sequence[str], cwd: Path) -> Iterator[Path]:
    """The files that a command line names: a program in the home is one that settings ask for."""
    for each in argv:
        path = cwd / each
        if "/" in each and os.path.isfile(path):  # noqa: PTH113 - false for what is no path at all
            yield path


def _homes(launch: Launch) -> list[Path]:
    """The homes to hide, outer ones first: the one of the session's log, and the one with the
    settings. Without a server there is no token that an agent could act with."""
    own = launch.environment.get("MUSTER_HOME")
    if own is None or "MUSTER_URL" not in launch.environment:
        return []
    found = {each.resolve() for each in (Path(own), *launch.guarded) if _is_home(each)}
    return sorted(found)


def _is_home(path: Path) -> bool:
    return any((path / name).exists() for name in _HOME_FILES)


def _own_ports(environment: Mapping[str, str]) -> Iterator[int]:
    """The port of muster, and the one of its hooks."""
    address = urlsplit(environment.get("MUSTER_URL", ""))
    port = address.port or _WEB_PORTS.get(address.scheme)
    if port:
        yield port
    home = environment.get("MUSTER_HOME")
    if home:
        try:
            yield int((Path(home) / HOOKS_PORT).read_text(encoding="ascii").split()[0])
        except (OSError, ValueError, IndexError):
            return
