"""Try a wheel in a clean environment: `make dist`.

The wheel has every file of the package and no other. Installed in a new virtual environment, it
runs the demo in an empty folder with an empty HOME until all nine agents have names, and ends with
exit code 0 at SIGTERM.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any
from urllib.request import Request, urlopen
from zipfile import ZipFile

Json = Any  # any JSON value
Opened = Any  # as urlopen is typed

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
NINE = 9
STEP_SECONDS = 300.0
"""Timeout of the demo's start, of its nine agents, and of its stop, each on a busy machine."""


def main(folder: str) -> None:
    """Try the one wheel in a folder."""
    [wheel] = Path(folder).glob("*.whl")
    check_contents(wheel)
    with tempfile.TemporaryDirectory(prefix="muster-trial-") as place:
        run_demo(install(wheel.absolute(), Path(place)), Path(place))
    print(f"{wheel.name}: complete, installs, and runs the demo")


# ── contents ──────────────────────────────────────────────────────────────────────────────────────


def check_contents(wheel: Path) -> None:
    """Compare the wheel with the package in `src`, file by file."""
    with ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = set(package_files())
    if missing := sorted(expected - inside):
        sys.exit(f"missing in the wheel: {missing}")
    if foreign := sorted(inside - expected):
        sys.exit(f"does not belong in the wheel: {foreign}")


def package_files() -> Iterator[str]:
    """The files of the package, as a wheel names them."""
    for path in (SOURCE / "muster").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(SOURCE).as_posix()


# ── trial run ─────────────────────────────────────────────────────────────────────────────────────


def install(wheel: Path, place: Path) -> Path:
    """Install the wheel in a new virtual environment; return its program `muster`."""
    environment = place / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    constraints = str(ROOT / "constraints.txt")
    subprocess.run([*pip, "--constraint", constraints, str(wheel)], check=True)
    return environment / "bin" / "muster"


def run_demo(muster: Path, place: Path) -> None:
    """Run the demo until nine agents have names, and stop it."""
    folder, home = place / "empty", place / "home"
    folder.mkdir()
    home.mkdir()
    with subprocess.Popen(
        [str(muster), "up", "--demo", "--port", "0"],
        cwd=folder,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        bound = Timer(STEP_SECONDS, process.kill)
        bound.start()
        try:
            wait_for_nine(process, folder)
        finally:
            process.terminate()
            process.communicate(timeout=STEP_SECONDS)
            bound.cancel()
    if process.returncode:
        sys.exit(f"the demo ended with code {process.returncode}")


def wait_for_nine(process: subprocess.Popen[str], folder: Path) -> None:
    """Follow the events of the demo until nine agents have names."""
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://[^\s/]+", line)
    if found is None:
        sys.exit(f"the demo did not print its address, but {line!r}")
    token = (folder / ".muster-demo" / "operator.token").read_text().strip()
    assert ask(found[0], "/api/health", token)["version"]
    with opened(found[0], "/api/events?after=0", token) as stream:
        for event in stream:
            if event.startswith(b"data: ") and len(names(found[0], token)) == NINE:
                return
    sys.exit(f"the demo ended with only these agents: {names(found[0], token)}")


def names(url: str, token: str) -> list[str]:
    """The agents that have chosen a name."""
    return [each["name"] for each in ask(url, "/api/agents", token)["agents"] if each["name"]]


def ask(url: str, path: str, token: str) -> Json:
    """The server's response to a request, as JSON."""
    with opened(url, path, token) as answer:
        return json.load(answer)


def opened(url: str, path: str, token: str) -> Opened:
    """Open an address of the server."""
    request = Request(url + path, headers={"Authorization": f"Bearer {token}"})
    return urlopen(request, timeout=STEP_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
