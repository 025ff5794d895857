"""A sandbox for a real Claude Code: it calls a scripted model, and writes only in its folder.

    with ScriptedModel(rules) as model, boxed(model.url) as box:
        subprocess.run([claude_binary(), "-p", "hello"], env=box.environ(), cwd=box.work, ...)

With the SDK: it passes `os.environ` on and adds `env` to it, so remove real keys from `os.environ`
first (`scrubbed`), then pass `box.env`.
"""

import os
import select
import shutil
import signal
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from muster.errors import Unavailable

MARK: Final = "SANDBOX_ROOT"
"""The environment variable that marks all processes of a sandbox."""

_FOREIGN: Final = ("ANTHROPIC_", "AWS_", "CLAUDE", "GOOGLE_", "MUSTER_", "VERTEX", MARK)

ROOT_BYTES_MAX: Final = 60
"""A socket's path has at most 103 bytes, and Claude Code needs the rest for its name."""

GONE_SECONDS: Final = 60.0
"""Grace period for processes after the test."""


class NoClaude(Unavailable):
    """Claude Code is not installed here. `pip install claude-agent-sdk` brings it along."""


class PathTooLong(Unavailable):
    """{root!r} is too long for a socket path. Use a folder whose path has at most {most} bytes."""


class ProcessesLeft(Unavailable):
    """Processes of the sandbox survived and were killed: {commands}. End them in the test."""


def claude_binary() -> Path:
    """The path of the Claude Code bundled with the SDK, found without importing it."""
    spec = find_spec("claude_agent_sdk")
    for folder in (spec and spec.submodule_search_locations) or ():
        program = Path(folder) / "_bundled" / "claude"
        if program.exists():
            return program
    raise NoClaude


def scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment without keys and without the variables that Claude Code or muster read."""
    return {name: value for name, value in environ.items() if not name.startswith(_FOREIGN)}


def short_root() -> Path:
    """A new folder with a short path. The caller removes it."""
    for folder in (tempfile.gettempdir(), "/tmp"):
        root = Path(tempfile.mkdtemp(prefix="box-", dir=folder)).resolve()
        if _fits(root):
            return root
        root.rmdir()
    raise PathTooLong(root=tempfile.gettempdir(), most=ROOT_BYTES_MAX)


def _fits(root: Path) -> bool:
    return len(os.fsencode(root)) <= ROOT_BYTES_MAX


def sandbox(root: Path, url: str) -> dict[str, str]:
    """Create the folders of a sandbox; return the variables that confine Claude Code to it and
    name the model. Its working directory is `work`."""
    if not _fits(root):
        raise PathTooLong(root=str(root), most=ROOT_BYTES_MAX)
    for name in ("home", "run", "tmp", "work"):
        (root / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    home, tmp = root / "home", str(root / "tmp")
    return {
        MARK: str(root),
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / "config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_RUNTIME_DIR": str(root / "run"),
        "TMPDIR": tmp,
        "CLAUDE_CODE_TMPDIR": tmp,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_MAX_RETRIES": "1",  # a dead server would cost minutes
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


class Box(NamedTuple):
    """A sandbox: its folder, and the environment variables that confine Claude Code to it."""

    root: Path
    env: dict[str, str]

    @property
    def work(self) -> Path:
        """The working directory."""
        return self.root / "work"

    def environ(self) -> dict[str, str]:
        """The complete environment for a subprocess."""
        return scrubbed(os.environ) | self.env


@contextmanager
def boxed(url: str, gone_s: float = GONE_SECONDS) -> Generator[Box]:
    """A sandbox that is removed at the end, after its processes. Processes that survive `gone_s`
    are killed and reported as `ProcessesLeft`."""
    root = short_root()
    try:
        yield Box(root, sandbox(root, url))
    finally:
        left = end_all(root, gone_s)
        shutil.rmtree(root)
    if left:
        raise ProcessesLeft(commands="; ".join(left))


def end_all(root: Path, within_s: float = GONE_SECONDS) -> list[str]:
    """Wait for the processes of a sandbox to end, kill the rest, and return their commands."""
    killed: list[str] = []
    until = monotonic() + within_s
    while found := _processes(root):
        for pid in found:
            command = _command(pid)
            if not _ended(pid, root, max(0.0, until - monotonic())):
                killed.append(command)
    return killed


def _processes(root: Path) -> list[int]:
    numbers = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
    return [pid for pid in numbers if pid != os.getpid() and _marked(pid, root)]


def _marked(pid: int, root: Path) -> bool:
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False  # it has ended, or belongs to another user
    return f"{MARK}={root}".encode() in environ.split(b"\0")


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    except OSError:
        return "?"


def _ended(pid: int, root: Path, within_s: float) -> bool:
    """Wait for a process; kill it after the timeout."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        if not _marked(pid, root):  # the pid was reused
            return True
        over = select.poll()
        over.register(process, select.POLLIN)
        if over.poll(within_s * 1000):
            return True
        signal.pidfd_send_signal(process, signal.SIGKILL)
        over.poll(GONE_SECONDS * 1000)
        return False
    finally:
        os.close(process)
