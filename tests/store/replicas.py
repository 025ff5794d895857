"""A server with a standby, for tests of failover."""

import os
import subprocess
from pathlib import Path
from typing import Final

from tests.postgres import BINARIES, Cluster, unprivileged
from tests.waits import until

ATTACHED: Final = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
SYNCHRONOUS: Final = f"{ATTACHED} AND sync_state = 'sync'"


def add_standby(primary: Cluster, folder: Path) -> Cluster:
    """Copy a running server and start the copy as its standby; it follows when this returns."""
    standby = Cluster(folder)
    standby.own(folder)
    line = [BINARIES / "pg_basebackup", "-h", primary.folder, "-U", "muster", "-R", "-X", "stream"]
    line += ["-c", "fast", "--no-sync", "-D", folder / "data"]
    subprocess.run(unprivileged(line), check=True, cwd="/", env=dict(os.environ))
    standby.start()
    until(lambda: primary.execute(ATTACHED) == "1")
    return standby


def detach(primary: Cluster, standby: Cluster) -> None:
    """Let a standby hear of nothing more, as if the network between the two were gone."""
    standby.execute("ALTER SYSTEM SET primary_conninfo = ''")
    standby.execute("SELECT pg_reload_conf()")
    until(lambda: primary.execute(ATTACHED) == "0")


def fail_over(primary: Cluster, standby: Cluster) -> None:
    """Kill a server, and let its standby take its place."""
    primary.kill()
    standby.execute("SELECT pg_promote()")


def url_of_both(primary: Cluster, standby: Cluster) -> str:
    """The address of whichever of the two takes writes."""
    hosts = f"{primary.folder},{standby.folder}"
    return f"postgresql://muster@/postgres?host={hosts}&target_session_attrs=read-write"
