"""A reader who tries what a document shows: an empty HOME, a folder of their own, a free port."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shutil import which
from threading import Timer
from typing import TypeVar

from muster.settings.model import SETTINGS_FILE, load_settings
from tests.guides.blocks import Block
from tests.guides.steps import (
    OPTIONAL,
    Configure,
    Guide,
    Leave,
    Parse,
    Python,
    Shell,
    Step,
    Write,
)
from tests.homes import environment
from tests.live import live

LINE_SECONDS = 120.0
"""How long a command may take on a busy machine."""

BIN = Path(sys.executable).parent

T = TypeVar("T")


class Reader:
    """One walk through a document."""

    def __init__(self, base: Path, guide: Guide) -> None:
        self.base = base
        self.home = base / ".muster"
        self.home.mkdir(mode=0o700)
        (base / "nobody").mkdir()
        (base / ".venv").mkdir()
        (base / ".venv" / "bin").symlink_to(BIN)
        path = f"{base / 'bin'}:{BIN}:{os.environ['PATH']}"
        self.variables = {"HOME": str(base / "nobody"), "PATH": path, "MUSTER_SERVER_PORT": "0"}
        self.token = ""
        self.kept: subprocess.Popen[str] | None = None
        self._ends = ExitStack()
        for name, text in guide.given.items():
            self._write(name, text)

    def close(self) -> None:
        """End everything that runs in the background."""
        self._ends.close()

    def serve(self) -> None:
        """Start the server of the document's team."""
        server = self._ends.enter_context(live(self.home, **self.variables))
        self.variables["MUSTER_URL"] = server.url
        self.token = server.token

    # ── before the server starts ──────────────────────────────────────────────────────────────────

    def prepare(self, block: Block, step: Step) -> None:
        """Write the files and the settings that a document shows."""
        match step:
            case Write(path):
                self._write(path, block.text)
            case Configure():
                with (self.home / SETTINGS_FILE).open("a") as file:
                    file.write(block.text)
                load_settings(self.home, {})
                examined = self._run("muster doctor")
                assert "fix " not in examined.stdout, examined.stdout
                assert (examined.returncode, examined.stderr) == (0, "")
            case _:
                pass

    def _write(self, name: str, text: str) -> None:
        path = self.base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    # ── while it runs ─────────────────────────────────────────────────────────────────────────────

    def try_out(self, block: Block, step: Step) -> None:
        """Do with a block what its step says."""
        match step:
            case Shell():
                for line in (*step.first, *block.lines):
                    self._line(line, step)
            case Python():
                self._python(block.text, step)
            case Parse():
                json.loads(block.text)
            case Configure() | Write() | Leave():
                pass

    def _line(self, line: str, step: Shell) -> None:
        line = line.replace("MUSTER_TOKEN=...", f"MUSTER_TOKEN={self.token}")
        program = line.split()[0]
        if _about(line, step.leave) is not None or (program in OPTIONAL and not which(program)):
            return
        if (text := _about(line, step.after)) is not None:
            self._until_logged(text, line)
        if (text := _about(line, step.until)) is not None:
            with self._started(line) as process:
                _read_until(process, text)
                process.send_signal(signal.SIGINT)
                assert process.wait(LINE_SECONDS) in {0, 130}
        elif line.endswith("&"):
            self._ends.enter_context(self._started(line.removesuffix("&")))
        elif (text := _about(line, step.keep)) is not None:
            self.kept = self._ends.enter_context(self._started(line))
            _read_until(self.kept, text)
        else:
            self._finish(line, _about(line, step.codes) or 0, _about(line, step.prints) or "")
        if self.kept is not None and (text := _about(line, step.hears)) is not None:
            _read_until(self.kept, text)

    def _finish(self, line: str, code: int, prints: str) -> None:
        ran = self._run(line)
        assert ran.returncode == code, (line, ran.stdout, ran.stderr)
        assert prints in ran.stdout, (line, ran.stdout)
        if found := re.search(r"MUSTER_TOKEN=(\S+)", ran.stdout):
            self.token = found[1]

    def _python(self, program: str, step: Python) -> None:
        self._write("program.py", program)
        for line in step.first:
            self._finish(line, 0, "")
        if not step.until:
            self._finish("python -W error program.py", 0, "")
            return
        with self._started(f"MUSTER_TOKEN={self.token} python -W error program.py"):
            self._finish(step.then, 0, "")
            self._until_logged(step.until, step.then)

    # ── processes ─────────────────────────────────────────────────────────────────────────────────

    def _environment(self, line: str) -> dict[str, str]:
        shown = {"MUSTER_TOKEN": self.token} if "$MUSTER_TOKEN" in line else {}
        return environment(self.variables | shown)

    def _run(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", line],
            cwd=self.base,
            env=self._environment(line),
            capture_output=True,
            text=True,
            timeout=LINE_SECONDS,
            check=False,
        )

    @contextmanager
    def _started(self, line: str) -> Generator[subprocess.Popen[str]]:
        """A program in the background; it is ended as by Ctrl-C, and within a bound."""
        words = re.sub(r"^((?:\w+=\S* )*)", r"\1exec ", line)
        with subprocess.Popen(
            ["sh", "-c", words],
            cwd=self.base,
            env=self._environment(line),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            bound = Timer(LINE_SECONDS, process.kill)
            bound.start()
            try:
                yield process
            finally:
                with suppress(ProcessLookupError):  # a script is ended with the programs it runs
                    os.killpg(process.pid, signal.SIGINT)
                process.communicate(timeout=LINE_SECONDS)
                bound.cancel()

    def _until_logged(self, text: str, line: str) -> None:
        """Wait until the log has a text: that of the home which a command line names."""
        home = re.search(r"--home (\S+)", line)
        where = home[1] if home else str(self.home)
        with self._started(f"muster log --home {where} --after 0 --follow --json") as process:
            _read_until(process, text)


def _read_until(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdout is not None
    read = ""
    for line in process.stdout:
        read += line
        if text in line:
            return
    raise AssertionError(f"{text!r} did not come, but this did:\n{read}")


def _about(line: str, table: Mapping[str, T]) -> T | None:
    """The entry of a table for a command line, by its prefix."""
    return next((value for begins, value in table.items() if line.startswith(begins)), None)
