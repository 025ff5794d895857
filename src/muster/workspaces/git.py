"""Runs git: bounded in time and output, never interactive, and with no program of a repository.

A repository can name programs in its configuration: hooks, a file system monitor, diff and merge
drivers, filters, signing. muster looks at repositories that agents write in, so it runs none of
them. Filters of the user's own configuration (Git LFS) are run: without them every file under such
a filter would count as changed.
"""

import fcntl
import os
import signal
import subprocess
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import IO, Final, NamedTuple

from muster.errors import GitFailed
from muster.limits import GIT_BYTES_MAX, GIT_SECONDS, GIT_WRITE_SECONDS
from muster.settings.programs import OUR_VARIABLES

_SAFE: Final = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.pager": "cat",
    "core.quotePath": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "diff.ignoreSubmodules": "dirty",
    "diff.renames": "true",
    "rebase.autoStash": "false",
    "rebase.updateRefs": "false",
    "merge.autoStash": "false",
    "merge.verifySignatures": "false",
    "protocol.allow": "never",
    "advice.detachedHead": "false",
}
"""Configuration that goes before the repository's."""

_DRIVERS: Final = (
    r"^(filter|merge|diff)\..+\.(clean|smudge|process|required|driver|command|textconv)$"
)
_INSTEAD: Final = {"driver": "false", "required": "false"}
"""A merge driver that is not run is a conflict; any other driver is left out."""

_NOT_CONFIGURED: Final = 1
_STDERR_BYTES: Final = 8 * 1024
_REASON_CHARS: Final = 400


class GitResult(NamedTuple):
    """How git ended, and its output."""

    code: int
    out: bytes
    err: str
    cut: bool = False
    """Whether there was more output than may be."""

    @property
    def text(self) -> str:
        """The output without the line end, as text."""
        return os.fsdecode(self.out).rstrip("\n")


class Git:
    """Runs git in one repository."""

    def __init__(
        self,
        folder: Path,
        *,
        git_dir: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Work in `folder`. With `git_dir`, git does not look for its own folder: a file `.git` in
        a worktree is the agent's to write.
        """
        self.folder = folder
        self._git_dir = git_dir
        self._variables = variables or {}
        self._drivers: tuple[str, ...] | None = None

    def with_environment(self, variables: Mapping[str, str]) -> "Git":
        """The same repository with further variables."""
        return Git(self.folder, git_dir=self._git_dir, variables=variables)

    def ok(self, *arguments: str, given: bytes = b"", writes: bool = False) -> GitResult:
        """Run git; raises `GitFailed` if it does not succeed."""
        result = self.run(*arguments, given=given, writes=writes)
        if result.code:
            raise GitFailed(folder=self.folder, why=reason(result))
        return result

    def run(
        self,
        *arguments: str,
        given: bytes = b"",
        writes: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> GitResult:
        """Run git, without a driver of the repository."""
        if self._drivers is None:
            self._drivers = tuple(self._driver_options())
        return self._run(arguments, self._drivers, given=given, writes=writes, env=env)

    def _driver_options(self) -> Iterator[str]:
        """Options against every driver that only the repository names."""
        listing = ("config", "--show-scope", "--null", "--get-regexp", _DRIVERS)
        found = self._run(listing, ())
        if found.code not in (0, _NOT_CONFIGURED):
            return  # it is no repository; the command itself will say so
        words = os.fsdecode(found.out).split("\0")
        entries = list(zip(words[::2], words[1::2], strict=False))
        theirs = {key(entry): entry for scope, entry in entries if scope in ("system", "global")}
        for scope, entry in entries:
            if scope not in ("local", "worktree"):
                continue
            name = key(entry)
            _, _, value = theirs.get(name, "").partition("\n")
            yield "-c"
            yield f"{name}={value or _INSTEAD.get(name.rpartition('.')[2], '')}"

    def _run(
        self,
        arguments: Sequence[str],
        options: Sequence[str],
        *,
        given: bytes = b"",
        writes: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> GitResult:
        line = ["git", "--no-pager", *self._place(), *_safe_options(), *options, *arguments]
        seconds = GIT_WRITE_SECONDS if writes else GIT_SECONDS
        environment = {**_environment(), **self._variables, **(env or {})}
        with (
            TemporaryFile() as stdin,
            TemporaryFile() as stderr,
            _marked(self.folder, writes) as mark,
        ):
            stdin.write(given)
            stdin.seek(0)
            process = self._started(line, environment, stdin, stderr, mark)
            out, cut, expired = _output(process, seconds)
            stderr.seek(0)
            err = stderr.read(_STDERR_BYTES).decode("utf-8", "replace").strip()
        if expired:
            raise GitFailed(folder=self.folder, why=f"it took longer than {seconds:g} s")
        return GitResult(0 if cut else process.returncode, out, err, cut)

    def _started(
        self,
        line: Sequence[str],
        env: Mapping[str, str],
        stdin: IO[bytes],
        stderr: IO[bytes],
        passed: tuple[int, ...],
    ) -> "subprocess.Popen[bytes]":
        try:
            # A session of its own: Ctrl-C at muster's terminal must not end a merge half-way.
            return subprocess.Popen(
                line,
                cwd=self.folder,
                env=env,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
                pass_fds=passed,
            )
        except FileNotFoundError as missing:
            is_git = missing.filename == "git"
            why = "git is not installed" if is_git else "there is no such folder"
            raise GitFailed(folder=self.folder, why=why) from missing
        except (OSError, ValueError) as failed:
            raise GitFailed(folder=self.folder, why=str(failed)) from failed

    def _place(self) -> Sequence[str]:
        if self._git_dir is None:
            return ()
        return (f"--git-dir={self._git_dir}", f"--work-tree={self.folder}")


@contextmanager
def _marked(folder: Path, writes: bool) -> Generator[tuple[int, ...]]:
    """Descriptors for git by which its folder counts as being written, until git has ended.

    git outlives a muster that is killed. It keeps the lock that it inherits, so that the next
    muster sees it (`is_being_written`).
    """
    marks = tuple(_locked(folder, fcntl.LOCK_SH)) if writes else ()
    try:
        yield marks
    finally:
        for each in marks:
            os.close(each)


def is_being_written(folder: Path) -> bool:
    """Whether a git command that muster started still writes in a folder."""
    try:
        marks = list(_locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB))
    except BlockingIOError:
        return True
    for each in marks:
        os.close(each)
    return False


def _locked(folder: Path, kind: int) -> Iterator[int]:
    """A locked descriptor of a folder; none if there is no such folder, or no locks."""
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, kind)
        except OSError as failed:
            os.close(descriptor)
            if isinstance(failed, BlockingIOError):
                raise
        else:
            yield descriptor


def key(entry: str) -> str:
    """The name of a configuration entry, which its value follows on the next line."""
    return entry.partition("\n")[0]


def _output(process: "subprocess.Popen[bytes]", seconds: float) -> tuple[bytes, bool, bool]:
    """The output of git, whether it was cut, and whether it took too long.

    git is killed with its children at either limit.
    """
    expired: list[bool] = []

    def end() -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def expire() -> None:
        expired.append(True)
        end()

    timer = Timer(seconds, expire)
    timer.start()
    assert process.stdout is not None
    try:
        with process.stdout as stdout:
            out = stdout.read(GIT_BYTES_MAX)
            cut = len(out) == GIT_BYTES_MAX and bool(stdout.read(1))
        if cut:
            end()
        process.wait()
    finally:
        timer.cancel()
    return out, cut, bool(expired)


@cache
def _safe_options() -> tuple[str, ...]:
    return tuple(word for name, value in _SAFE.items() for word in ("-c", f"{name}={value}"))


def _environment() -> dict[str, str]:
    """The environment without what would lead git elsewhere, make it ask, or run a program."""
    dropped = ("GIT_", OUR_VARIABLES)  # ours may have the password of a database
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return kept | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_EDITOR": ":",
        "GIT_SEQUENCE_EDITOR": ":",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_MERGE_AUTOEDIT": "no",
        "LC_ALL": "C",
    }


def reason(result: GitResult) -> str:
    """The last words of git, on one line."""
    lines = [line.strip() for line in result.err.splitlines() if line.strip()]
    told = next((line for line in lines if line.startswith(("fatal:", "error:"))), "")
    last = told or (lines[-1] if lines else f"exit code {result.code}")
    for start in ("fatal: ", "error: "):
        last = last.removeprefix(start)
    return last[:_REASON_CHARS].rstrip(".")
