"""A real PostgreSQL for tests: Debian's server on a Unix socket, in a temporary folder.

`initdb` refuses to run as root, so then the server runs as nobody. All processes of pytest-xdist
share one server, which has a database for each; it ends with the last of them, however that ends.
Tests that kill a server have one of their own (`Cluster.copied`).
"""

import asyncio
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final

from muster.home.database import TeamDatabase, keep
from muster.home.folder import make_home
from muster.store.opening import begin_team
from muster.store.postgres.connecting import Database
from tests.waits import until

BINARIES: Final = max(
    Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: int(each.parent.name)
)
"""The newest server on this machine."""

NOBODY: Final = 65534
NO_VARIABLES: Final[Mapping[str, str]] = {}
QUICK: Final = ("fsync=off", "full_page_writes=off")
SMALL: Final = ("listen_addresses=", "autovacuum=off", "shared_buffers=16MB", "jit=off")


def unprivileged(args: Sequence[str | Path]) -> list[str]:
    """A command line that does not run as root."""
    line = list(map(str, args))
    if os.getuid() != 0:
        return line
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *line]


class Cluster:
    """A server and its data, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._data = folder / "data"
        self.server: subprocess.Popen[bytes] | None = None

    def create(self) -> None:
        """Create the data of a new server."""
        self.own(self.folder)
        line = [BINARIES / "initdb", "-D", self._data, "-U", "muster", "-A", "trust"]
        line += ["--no-sync", "--no-instructions", "--encoding=UTF8", "--locale=C"]
        subprocess.run(unprivileged(line), check=True, cwd="/", stdout=subprocess.DEVNULL)

    def copied(self, folder: Path) -> "Cluster":
        """A server of its own with a copy of the data; neither may run meanwhile."""
        self.own(folder)
        line = unprivileged(["cp", "-r", self._data, folder / "data"])
        subprocess.run(line, check=True, cwd="/")
        return Cluster(folder)

    def rewind(self, older: "Cluster") -> None:
        """Put an older copy of the data in the place of the present."""
        shutil.rmtree(self._data)
        older._data.rename(self._data)

    def trust(self, network: str) -> None:
        """Let everybody of a network in."""
        with (self._data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {network} trust\n")

    def restart(self) -> None:
        """Stop the server as its service would, and start it again."""
        assert self.server is not None
        os.kill(self.server.pid, signal.SIGINT)
        self._reap()
        self.start()

    def start(self, *settings: str, environment: Mapping[str, str] = NO_VARIABLES) -> None:
        """Start the server, and return when it answers."""
        line: list[str | Path] = [BINARIES / "postgres", "-D", self._data, "-k", self.folder]
        for each in (*SMALL, *settings):
            line += ["-c", each]
        with (self.folder / "server.log").open("ab") as log:
            self.server = subprocess.Popen(
                unprivileged(line),
                cwd="/",
                env={**os.environ, **environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(self._is_ready, (self.folder / "server.log").read_text)

    def _is_ready(self) -> bool:
        line = [BINARIES / "pg_isready", "-q", "-h", self.folder, "-U", "muster"]
        return subprocess.run(line, check=False).returncode == 0

    def kill(self) -> None:
        """Kill the server and all of its processes at once, as a power loss would."""
        assert self.server is not None
        pid = self.server.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        self.server.kill()
        for child in map(int, children):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        until(lambda: not any(map(_is_running, children)))
        self._reap()

    def stop(self) -> None:
        """Stop the server without delay."""
        assert self.server is not None
        with suppress(ProcessLookupError):
            os.kill(self.server.pid, signal.SIGQUIT)
        self._reap()

    def _reap(self) -> None:
        assert self.server is not None
        self.server.wait()
        self.server = None
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def url(self, database: str = "postgres", folder: Path | None = None) -> str:
        """The address of a database; with `folder`, through the socket of a proxy there."""
        return f"postgresql://muster@/{database}?host={folder or self.folder}"

    def execute(self, sql: str, database: str = "postgres") -> str:
        """Run a statement in a process of its own; what it printed."""
        line = [BINARIES / "psql", "-h", self.folder, "-U", "muster", "-d", database]
        done = subprocess.run(
            [*line, "-qtAX", "-v", "ON_ERROR_STOP=1", "-c", sql],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    @staticmethod
    def own(folder: Path) -> None:
        """Create a folder that belongs to the user who runs the server."""
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        if os.getuid() == 0:
            os.chown(folder, NOBODY, NOBODY)


def _is_running(pid: str) -> bool:
    """Whether a process runs; a zombie does not, and may stay one where nobody reaps it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# ── shared by all processes of a run ──────────────────────────────────────────────────────────────


class _Shared:
    """The server of this run of the tests, started by the process that needs it first."""

    def __init__(self) -> None:
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
        self.folder = Path(tempfile.gettempdir()) / f"muster-pg-{run}"
        self.folder.mkdir(exist_ok=True)
        self.folder.chmod(0o755)
        self.template = Cluster(self.folder / "template")
        self.cluster = Cluster(self.folder / "shared")
        self._users = (self.folder / "users").open("ab")
        with (self.folder / "starting").open("ab") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            fcntl.flock(self._users, fcntl.LOCK_SH)
            if not (self.folder / "started").exists():
                self._start()

    def _start(self) -> None:
        self.template.create()
        self.cluster = self.template.copied(self.cluster.folder)
        self.cluster.start(*QUICK)
        assert self.cluster.server is not None
        # The lock of the users is free when the last process that shares it has ended.
        pid = self.cluster.server.pid
        end = f"kill -QUIT {pid}; tail --pid={pid} -f /dev/null; rm -rf {self.folder}"
        self._keeper = subprocess.Popen(
            ["flock", self._users.name, "sh", "-c", end], start_new_session=True
        )
        (self.folder / "started").touch()


@cache
def _shared() -> _Shared:
    return _Shared()


def new_cluster(folder_name: str) -> Cluster:
    """A server of one test alone, not started yet."""
    shared = _shared()
    return shared.template.copied(shared.folder / folder_name)


def remove(cluster: Cluster) -> None:
    """Stop the server of a test, and delete its data."""
    if cluster.server is not None:
        cluster.stop()
    shutil.rmtree(cluster.folder)


@cache
def shared_database() -> tuple[Cluster, str]:
    """The shared server, and the name of this process's database on it."""
    cluster, name = _shared().cluster, f"process_{os.getpid()}"
    cluster.execute(f"CREATE DATABASE {name}")
    return cluster, name


def a_database() -> Database:
    """The address of this process's database; tests have teams of their own in it."""
    cluster, name = shared_database()
    return Database(cluster.url(name))


_teams = count(1)


def new_team() -> str:
    """The name of a team that no other test has in this process's database."""
    return f"team-{next(_teams)}"


def in_database(home: Path) -> TeamDatabase:
    """Let a new home have its log in this process's database."""
    kept = TeamDatabase(url=a_database().url, team=new_team())
    asyncio.run(begin_team(kept, is_new=True))
    make_home(home)
    keep(home, kept)
    return kept


STORES: Final = ("file", "database")
"""Where a home can have its log: the parameters of a fixture."""


def new_home(home: Path, store: str) -> Path:
    """A home without a team, whose log will be in its own file or in this process's database."""
    if store == "database":
        in_database(home)
    return home
