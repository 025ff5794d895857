"""The launchers: the kernel allows a confined command what its policy says, and nothing else."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from muster.confine import filter as seccomp
from muster.confine.policy import ConfinePolicy
from tests.confine.launchers import LAUNCHERS, launch, written
from tests.waits import WAIT_SECONDS

TRICKS = {
    "write": "echo x > evil.py",
    "append": "echo x >> old.txt",
    "create": "touch evil.py",
    "remove": "rm -f old.txt",
    "rename": "mv old.txt evil.py",
    "move in": "mv ../out/moved evil.py",
    "link": "ln old.txt evil.py",
    "symbolic link": "ln -s old.txt evil.py",
    "folder": "mkdir evil",
    "pipe": "mkfifo evil",
    "truncate": "truncate -s 0 old.txt",
    "mode": "chmod 777 old.txt",
    "owner": "chown 12345 old.txt",
    "times": "touch -d 2001-01-01 old.txt",
    "current time": "touch old.txt",
    "temporary file": "sed -i s/a/b/ old.txt",
    "by a python": 'python3 -c \'open("evil.py", "w")\'',
    "truncating read": "python3 -c 'import os; os.open(\"old.txt\", os.O_RDONLY | os.O_TRUNC)'",
    "attribute": 'python3 -c \'import os; os.setxattr("old.txt", "user.x", b"y")\'',
    "inode flags": (
        "python3 -c 'import fcntl, os, struct;"
        ' fcntl.ioctl(os.open("old.txt", 0), 0x40086602, struct.pack("l", 0x40))\''
    ),
    "through a link": "echo x > ../out/link",
    "through the descriptor": "exec 3< old.txt; echo x > /proc/self/fd/3",
    "through a mount": "mount -t tmpfs none .",
}


class Place:
    """A project with a file, and outputs that may be written."""

    def __init__(self, folder: Path) -> None:
        self.project, self.out = folder / "project", folder / "out"
        self.project.mkdir()
        self.out.mkdir()
        (self.project / "old.txt").write_text("alpha\n")
        (self.out / "moved").write_text("moved\n")
        (self.out / "link").symlink_to(self.project / "evil.py")
        os.utime(self.project / "old.txt", (1_000_000_000, 1_000_000_000))
        self.plan = written(folder, ConfinePolicy((str(self.out),)))

    def seen(self) -> list[tuple[str, int, int, int, bytes]]:
        """The project: every name, mode, owner, time and content."""
        found = [(path, path.lstat()) for path in sorted(self.project.rglob("*"))]
        return [
            (path.name, at.st_mode, at.st_uid, at.st_mtime_ns, path.read_bytes())
            for path, at in found
        ]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_a_confined_command_changes_nothing_elsewhere(
    trick: str, launcher: str, place: Place
) -> None:
    before = place.seen()
    ran = launch(launcher, place.plan, "--", "bash", "-c", trick, cwd=place.project)
    assert place.seen() == before
    assert ran.returncode not in (0, 126)
    assert "denied" in ran.stderr or "not permitted" in ran.stderr


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize(
    "line",
    [
        "cat old.txt",
        "ls > /dev/null",
        "diff <(ls) <(ls)",
        "cat <<E\nhi\nE",
        "echo x > ../out/new && rm ../out/new",
        "touch ../out/new && mkdir ../out/sub && mv ../out/new ../out/sub/",
        "sleep 60 & kill $!",
        "echo hi | tee /dev/null",
        "echo hi > /dev/stdout",
    ],
)
def test_a_confined_command_reads_and_writes_its_outputs(
    line: str, launcher: str, place: Place
) -> None:
    ran = launch(launcher, place.plan, "--", "bash", "-ec", line, cwd=place.project)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_connection_is_refused_unless_it_is_allowed(launcher: str, place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        line = f"exec 3<>/dev/tcp/127.0.0.1/{listener.getsockname()[1]}"
        refused = launch(launcher, place.plan, "--", "bash", "-c", line)
        assert "Permission denied" in refused.stderr
        assert launch(launcher, place.plan, "--network", "--", "bash", "-c", line).returncode == 0


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_signal_to_another_program_is_refused(launcher: str, place: Place) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        ran = launch(launcher, place.plan, "--", "bash", "-c", f"kill -9 {other.pid}")
        assert "not permitted" in ran.stderr
        other.communicate(b"\n", timeout=WAIT_SECONDS)
        assert other.returncode == 0


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_file_or_a_folder_can_be_added_for_one_command(launcher: str, place: Place) -> None:
    notes, plain = place.project / "notes.md", ("--", "bash", "-c")
    line = f"echo hi > {notes}; echo x > {place.project}/evil.py"
    ran = launch(launcher, place.plan, "--file", str(notes), *plain, line)
    assert (notes.read_text(), ran.returncode) == ("hi\n", 1)
    assert not (place.project / "evil.py").exists()
    line = f"mkdir {place.project}/docs && echo x > {place.project}/docs/evil.py"
    assert launch(launcher, place.plan, "--parent", str(place.project), *plain, line).returncode
    assert list((place.project / "docs").iterdir()) == []
    more = place.project / "docs"
    line = f"echo x > {more}/plan.md"
    assert launch(launcher, place.plan, "--folder", str(more), *plain, line).returncode == 0


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_command_that_cannot_be_confined_does_not_run(launcher: str, place: Place) -> None:
    mark = place.out / "ran"
    for arguments in (
        ("--file", "/nowhere/notes.md"),
        ("--folder", "/nowhere"),
        ("--what",),
    ):
        ran = launch(launcher, place.plan, *arguments, "--", "touch", str(mark))
        assert (ran.returncode, mark.exists()) == (126, False)
        assert ran.stderr.startswith("muster confine: ")
    broken = place.out / "broken.plan"
    for text in ("", "nonsense\n", place.plan.read_text().replace("handle ", "handle 9999999")):
        broken.write_text(text)
        ran = launch(launcher, broken, "--", "touch", str(mark))
        assert (ran.returncode, mark.exists()) == (126, False), ran.stderr
    assert launch(launcher, place.plan, "--", "no-such-program").returncode == 127
    assert launch(launcher, place.plan, "--").returncode == 126


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_command_keeps_its_exit_code_words_and_environment(
    launcher: str, place: Place, tmp_path: Path
) -> None:
    plan = written(tmp_path, ConfinePolicy((str(place.out),), environment={"TMPDIR": "/x y"}))
    ran = launch(launcher, plan, "--", "bash", "-c", 'echo "$TMPDIR|$1|"; exit 7', "x", "a  b\n")
    assert (ran.returncode, ran.stdout) == (7, "/x y|a  b\n|\n")


def test_a_policy_can_allow_modes_and_times(place: Place, tmp_path: Path) -> None:
    plan = written(tmp_path, ConfinePolicy((str(place.out),), metadata=True))
    line = f"chmod 700 {place.out}/moved && touch -d 2001-01-01 {place.out}/moved"
    assert launch("perl", plan, "--", "bash", "-c", line).returncode == 0


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_policy_can_ignore_changes_of_modes_owners_and_times(
    launcher: str, place: Place, tmp_path: Path
) -> None:
    policy = ConfinePolicy((str(place.out),), ignore_metadata=True)
    plan, before = written(tmp_path, policy), place.seen()
    line = "chmod 777 old.txt && chown 12345 old.txt && touch -d 2001-01-01 old.txt"
    ran = launch(launcher, plan, "--", "bash", "-c", line, cwd=place.project)
    assert (ran.returncode, ran.stderr) == (0, "")
    for trick in TRICKS.values():
        launch(launcher, plan, "--", "bash", "-c", trick, cwd=place.project)
    assert place.seen() == before


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_confined_command_does_not_set_the_clock_of_the_machine(
    launcher: str, place: Place
) -> None:
    # To the time that it has, so that a broken filter would do no harm.
    script = "import time; time.clock_settime(time.CLOCK_REALTIME, time.time())"
    ran = launch(launcher, place.plan, "--", sys.executable, "-c", script, cwd=place.project)
    assert "PermissionError" in ran.stderr


def test_the_filter_refuses_changes_of_the_machine_on_every_known_architecture() -> None:
    for machine, numbers in {"x86_64": (169, 227, 313), "aarch64": (142, 112, 273)}.items():
        code = seccomp.program(machine, metadata=True, truncate=True)
        for number in numbers:  # reboot, clock_settime, finit_module
            refusal = b"\x15\x00\x00\x01" + number.to_bytes(4, "little")
            assert refusal in code


def test_the_filter_decides_sockets_and_priorities_on_every_known_architecture() -> None:
    for machine, socket_call, others in (
        ("x86_64", 41, (302, 142, 144, 203, 314, 141, 251)),
        ("aarch64", 198, (261, 118, 119, 122, 274, 140, 30)),
    ):
        code = seccomp.program(machine, metadata=True, truncate=True)
        for number in others:
            tested = re.escape(number.to_bytes(4, "little"))
            assert re.search(rb"\x15\x00\x00." + tested, code, re.DOTALL), number
        assert seccomp.offline(machine)[12:16] == socket_call.to_bytes(4, "little")


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_command_ends_quietly_when_its_reader_has_gone(launcher: str, tmp_path: Path) -> None:
    """A muster that starts it ignores SIGPIPE, as every Python does: `ls | head` must not."""
    plan = written(tmp_path, ConfinePolicy())
    line = "seq 1 100000 | head -1; echo ${PIPESTATUS[0]}"
    ran = subprocess.run(
        [*LAUNCHERS[launcher], str(plan), "--", "bash", "-c", line],
        restore_signals=False,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("1\n141\n", "")
