"""The systemd user unit of a team: its name, its text, and the calls of systemctl."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from muster.errors import NoSystemd, SystemdFailed

WATCHDOG_SECONDS: Final = 60
"""How long the event loop may hang before systemd restarts muster: no commit takes that long."""

LATE_SECONDS: Final = 30
"""Time after the drain in which programs that ignore signals are killed."""


def unit_name(home: Path) -> str:
    """The name of the unit: of the project's folder, and unique for the home."""
    folder = home.parent if home.name.startswith(".") else home
    word = re.sub(r"[^A-Za-z0-9_-]+", "-", folder.name).strip("-") or "team"
    return f"muster-{word}-{hashlib.sha256(str(home).encode()).hexdigest()[:6]}.service"


def unit_path(home: Path) -> Path:
    """The file of the unit, where systemd looks for the units of a user."""
    config = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(config) / "systemd" / "user" / unit_name(home)


def unit_text(home: Path, *, drain_seconds: float, path: str) -> str:
    """The unit. `path` is the PATH on which programs of agents are found."""
    command = [sys.executable, "-m", "muster", "up", "--home", str(home), "--no-browser"]
    return f"""\
[Unit]
Description=muster: the team in {_escaped(str(home))}
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=notify
NotifyAccess=main
ExecStart={" ".join(map(_quoted, command))}
WorkingDirectory={_escaped(str(home.parent))}
Environment={_quoted(f"PATH={path}")}
Environment={_quoted(f"MUSTER_UNIT={unit_name(home)}")}
Restart=on-failure
RestartSec=2
# settings that are wrong, a home in use, a damaged log: another try would fail as well
RestartPreventExitStatus=2 3 5
WatchdogSec={WATCHDOG_SECONDS}
# a cgroup for each session of an agent that has limits
Delegate=yes
# muster stops its agents itself, in order; what is left at the end is killed
KillMode=mixed
TimeoutStopSec={drain_seconds + LATE_SECONDS:.0f}

[Install]
WantedBy=default.target
"""


def _escaped(text: str) -> str:
    """Text in which systemd replaces nothing."""
    return text.replace("%", "%%")


def _quoted(text: str) -> str:
    """One word of a command line, as systemd reads it."""
    plain = _escaped(text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{plain}"'


def systemctl(*arguments: str) -> str:
    """Call systemctl for the user; returns what it prints."""
    if shutil.which("systemctl") is None:
        raise NoSystemd(why="systemctl is not installed")
    command = ["systemctl", "--user", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode and "connect to bus" in ran.stderr:
        raise NoSystemd(why="no systemd runs for this user")
    if ran.returncode and arguments[0] not in ("is-active", "is-enabled", "status"):
        raise SystemdFailed(command=" ".join(command), why=ran.stderr.strip() or ran.returncode)
    return ran.stdout.strip()


def is_lingering() -> bool:
    """Whether the user's services start with the machine, without a login."""
    user = os.environ.get("USER") or str(os.getuid())
    if shutil.which("loginctl") is None:
        return False
    command = ["loginctl", "show-user", user, "--property=Linger", "--value"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.stdout.strip() == "yes"
