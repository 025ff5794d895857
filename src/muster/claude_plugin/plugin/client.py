"""The client that every hook runs: `python3 -I -S hook.py EVENT`, with the hook's JSON on stdin.

The client sends the JSON over a socket to the server in the project's home, and prints the answer.
A new Python starts at every tool call, so with a running server it imports next to nothing, not
even `os`. Without a server it judges a tool call itself, by `muster.permissions`. A denial, and
every other event that must be recorded, takes the slow path: `python -m muster claude-hook EVENT`.
That process stays as the daemon of its session, which answers like a server from then on.

The policy hook (PreToolUse) and the hook of typed commands (UserPromptExpansion) fail closed: every
error is a denial with a reason, as JSON. Exit code 2 denies too, but Claude Code would show the
command line of the hook before the reason; so that is only for a denial that cannot be printed. The
other hooks observe, and never block: every error is exit code 0 without output.
"""

import posix
import sys

TYPE_CHECKING = False  # for type checkers; importing typing would double the start time

if TYPE_CHECKING:
    import _socket
    from typing import NoReturn

    from muster.permissions.grants import Grants

POLICY = "PreToolUse"
COMMAND = "UserPromptExpansion"
"""The hook of typed commands. The command line carries out the plugin's own; others are checked by
it where a session is open."""

OWN_COMMANDS = ("agent-state-machine", "muster:")
"""How the plugin's own commands begin."""

START = "SessionStart"
"""The only hook that a team without a session answers: a lead is told its soul."""

RECORDED_TOOLS = ("Agent", "Task")
"""Tools that start a subagent. Their calls are recorded, so they always take the slow path."""

ANSWER_SECONDS = 20
"""Timeout of the server. The `timeout` in hooks.json is longer, so that a reason is given."""

RECORD_SECONDS = 5
"""Timeout of the server for a hook that only observes: it records the call all the same."""

SESSIONS_FILE = b".claude/agent-state-machine/sessions"
SESSION_MARKS = (b"/.workspace.json", b"/state.jsonl")
"""A folder with one of these files and a log is the folder of a state machine session."""

TEAM_SESSION_FILE = b"/open-session"
"""Names the folder of the team's open session, in the team's home."""

CONFINED = "muster judged this command, and the kernel confines what it writes."

PASS = (0, b"")
DENY = 2

_CHUNK = 1 << 16
_LINE_BYTES_MAX = 256  # a nonce and a proof
_PATH_BYTES_MAX = 100  # the kernel's limit for the path of a socket
_NOBODY_THERE = (2, 20, 111)  # ENOENT, ENOTDIR, and ECONNREFUSED: a stale socket


class Trouble(Exception):
    """The hook got no answer; the message has the reason."""


class Vanished(Trouble):
    """The process that was asked ended before it answered."""


def main() -> "NoReturn":
    """Answer one hook, and exit at once: the interpreter's normal shutdown costs time too."""
    event = sys.argv[1] if len(sys.argv) > 1 else POLICY
    fails_with = DENY if event in (POLICY, COMMAND) else 0
    try:
        _write(1, told(event))
    except BaseException:  # fail closed: half an answer is none
        posix._exit(fails_with)  # pyright: ignore[reportPrivateUsage]
    posix._exit(0)  # pyright: ignore[reportPrivateUsage]


def told(event: str) -> bytes:
    """The text that the hook prints."""
    try:
        code, text = answer(event, _read(0))
        why = text.decode("utf-8", "replace") if code else ""
    except BaseException as failed:
        text, why = b"", denial(str(failed)) if event in (POLICY, COMMAND) else ""
    return _decision(event, why.rstrip("\n")) if why else text


def _decision(event: str, why: str) -> bytes:
    """A denial as Claude Code takes it."""
    if event == COMMAND:
        return b'{"decision":"block","reason":%s}' % _quoted(why)
    return (
        b'{"hookSpecificOutput":{"hookEventName":"%s","permissionDecision":"deny",'
        b'"permissionDecisionReason":%s}}' % (POLICY.encode(), _quoted(why))
    )


def denial(why: str) -> str:
    """The denial of a call that cannot be judged, in the words of `hooks/answers.py`."""
    return f"muster cannot tell whether this is allowed, so it is denied: {why.rstrip('.')}.\n"


def answer(event: str, data: bytes) -> "tuple[int, bytes]":
    """0 and the text to print, or 2 and the reason of a denial."""
    given = posix.environ.get
    project = given(b"CLAUDE_PROJECT_DIR") or posix.getcwdb()
    home = given(b"MUSTER_HOME") or project + b"/.muster"
    if event == COMMAND:
        if _needs_no_check(data, project, home):
            return PASS
        go_the_slow_way(event, data, home)
    try:
        answered = ask(event, data, project, home)
    except Vanished:  # a server or a daemon was killed: nothing says that the hook is on record
        if team_session(home) is None:
            raise
        answered = None
    if answered is not None:
        return answered
    if given(b"MUSTER_TOKEN"):
        raise Trouble("the muster that this session belongs to does not run any more.")
    return alone(event, data, project, home)


def _needs_no_check(data: bytes, project: bytes, home: bytes) -> bool:
    """Whether a typed command is none of the plugin's own, and no session is open.

    A program that muster runs may not see the file that tells this: its server is asked.
    """
    from json import loads

    if posix.environ.get(b"MUSTER_TOKEN") or loads(data)["command_name"].startswith(OWN_COMMANDS):
        return False
    return team_session(home) is None and open_session(project) is None


# ── with a muster ─────────────────────────────────────────────────────────────────────────────────


def ask(event: str, data: bytes, project: bytes, home: bytes) -> "tuple[int, bytes] | None":
    """The answer of the server in that home; None if none runs."""
    import _socket

    seconds = ANSWER_SECONDS if event in (POLICY, COMMAND) else RECORD_SECONDS
    try:
        connection, port_file, secret = _connected(home, seconds)
    except OSError as failed:
        if failed.errno in _NOBODY_THERE:
            return None
        raise
    if not secret:
        owner = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)[4:8]
        _need_own(int.from_bytes(owner, sys.byteorder))
    try:
        proof = _proof(connection, port_file, secret) if secret else b""
        if proof is None:
            return None
        connection.sendall(proof + _header(event, project, len(data)) + data)
        return _answered(b"".join(iter(lambda: connection.recv(_CHUNK), b"")))
    except BlockingIOError:
        raise Trouble(f"muster has not answered for {seconds} seconds.") from None
    except ConnectionError:
        raise Vanished("muster went away before it answered.") from None


def _connected(home: bytes, seconds: int) -> "tuple[_socket.socket, int, bytes]":
    """A connection to the server of a home; for a port also its open file, and its secret."""
    import _socket

    port_file, secret = -1, b""
    address: bytes | tuple[str, int]
    try:
        posix.lstat(home + b"/hooks.sock")  # an isolated program sees only the port
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        address = _short(home)
    except (PermissionError, FileNotFoundError):  # a confined program can make no such socket
        port_file = posix.open(home + b"/hooks.port", posix.O_RDONLY | posix.O_NONBLOCK)
        _need_own(posix.fstat(port_file).st_uid)
        connection = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        port, secret = _read(port_file).split()
        address = ("127.0.0.1", int(port))
    # The kernel's timeout: with Python's own, connecting would fail on a full backlog.
    patience = seconds.to_bytes(8, sys.byteorder) + bytes(8)
    connection.setsockopt(_socket.SOL_SOCKET, _socket.SO_RCVTIMEO, patience)
    connection.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDTIMEO, patience)
    connection.connect(address)
    return connection, port_file, secret


def _need_own(owner: int) -> None:
    if owner not in (posix.geteuid(), 0):
        raise Trouble("the muster in this project's home belongs to another user.")


def _proof(connection: "_socket.socket", port_file: int, secret: bytes) -> "bytes | None":
    """The line that proves this hook to the server of a port; None if another program listens.

    `hooks/port.py` is the other side. The lock is looked at after connecting: while it is held, the
    server that wrote the file runs and has the port, so the connection leads to it.
    """
    from _blake2 import blake2s  # hashlib would take longer than all the rest
    from fcntl import F_GETLK, F_WRLCK, fcntl

    held = fcntl(port_file, F_GETLK, bytes(32))  # would a read lock be possible?
    if int.from_bytes(held[:2], sys.byteorder) != F_WRLCK:
        return None
    mine = posix.urandom(16).hex().encode()
    connection.sendall(mine + b"\n")
    theirs, _, told = _line(connection).partition(b" ")
    if told != blake2s(b"muster %s %s" % (mine, theirs), key=secret).hexdigest().encode():
        return None
    return blake2s(b"hook %s %s" % (mine, theirs), key=secret).hexdigest().encode() + b"\n"


def _line(connection: "_socket.socket") -> bytes:
    """A short line, without its end; what came of it if the connection ends."""
    text = chunk = b""
    while b"\n" not in text and len(text) < _LINE_BYTES_MAX:
        chunk = connection.recv(_LINE_BYTES_MAX)
        if not chunk:
            break
        text += chunk
    return text.partition(b"\n")[0]


def _short(home: bytes) -> bytes:
    """The socket of a home, by a path that is short enough."""
    path = home + b"/hooks.sock"
    if len(path) <= _PATH_BYTES_MAX:
        return path
    folder = posix.open(home, posix.O_RDONLY | posix.O_DIRECTORY)
    return b"/proc/self/fd/%d/hooks.sock" % folder


def _header(event: str, project: bytes, length: int) -> bytes:
    given = posix.environ.get
    pid = given(b"CLAUDE_PID", b"")
    return b'{"event":%s,"project":%s,"token":%s,"pid":%d,"length":%d}\n' % (
        _quoted(event),
        _quoted(project.decode("utf-8", "surrogateescape")),
        _quoted(given(b"MUSTER_TOKEN", b"").decode("utf-8", "surrogateescape")),
        int(pid) if pid.isdigit() else 0,
        length,
    )


def _quoted(text: str) -> bytes:
    """A text as JSON."""
    if not text.isascii() or not text.isprintable() or '"' in text or "\\" in text:
        units = text.encode("utf-16-be", "surrogatepass").hex()
        text = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    return b'"%s"' % text.encode("ascii")


def _answered(text: bytes) -> "tuple[int, bytes]":
    if text[:1] not in (b"0", b"2"):
        raise Vanished("muster went away before it answered.")
    return int(text[:1]), text[1:]


# ── without one ───────────────────────────────────────────────────────────────────────────────────


def alone(event: str, data: bytes, project: bytes, home: bytes) -> "tuple[int, bytes]":
    """Judge by the policy of the open session, if there is one; else take the slow path."""
    root = team_session(home)
    if root is None:
        root = open_session(project)
        if root is None:
            if event != START or not _has_log(home):
                return PASS
            go_the_slow_way(event, data, home)
        answered = _from_daemon(event, data, project, root)
        if answered is not None:
            return answered
    if event == POLICY:
        told = _judged(root, data)
        if told is not None:
            return 0, told
    go_the_slow_way(event, data, home)


def _from_daemon(
    event: str, data: bytes, project: bytes, root: bytes
) -> "tuple[int, bytes] | None":
    """The answer of the process that serves the session; None if there is none."""
    try:
        return ask(event, data, project, root + b"/.muster")
    except Vanished:  # the daemon was killed: nothing says that the hook is on record
        return None


def team_session(home: bytes) -> "bytes | None":
    """The folder of the team's open session, which is in the team's log.

    Raises `Trouble` if the log or the folder is gone: the policy is in force, but unknown.
    """
    root = _regular(home + TEAM_SESSION_FILE)
    if root and not (_has_log(home) and _exists(root)):
        raise _gone(root)
    return root or None


def _has_log(home: bytes) -> bool:
    """Whether a team's home has a log: in a file, or in the database that another file names."""
    return _exists(home + b"/team.db") or _exists(home + b"/team.database")


def open_session(project: bytes) -> "bytes | None":
    """The folder of the newest session of the project that has not ended.

    Raises `Trouble` if its folder is gone: its policy is in force, but unknown.
    """
    known = [line for line in _regular(project + b"/" + SESSIONS_FILE).split(b"\n") if line]
    if not known:
        return None
    marked = any(_exists(known[-1] + mark) for mark in SESSION_MARKS)
    if not marked or not _exists(known[-1] + b"/.muster/team.db"):
        raise _gone(known[-1])
    return known[-1]


def _gone(root: bytes) -> Trouble:
    where = root.decode("utf-8", "backslashreplace")
    return Trouble(
        f"the session in {where} is open, but its folder is gone or damaged. If the project was "
        "moved, `muster agent-state-machine` goes on with it; `--session end` closes it."
    )


def _judged(root: bytes, data: bytes) -> "bytes | None":
    """The answer to a call that a session's policy allows and that needs no record; else None."""
    sys.path.append(_package().rpartition("/")[0])
    from json import loads

    from muster.permissions.judge import calling_states, judge_states
    from muster.permissions.policy import policy_of

    call = loads(data)
    tool, given = call.get("tool_name"), call.get("tool_input")
    if tool in RECORDED_TOOLS:
        return None
    subagents = [call.get("agent_type")] if call.get("agent_id") else []
    folder = root.decode("utf-8", "surrogateescape")
    verdict = judge_states(
        calling_states(None, subagents),
        tool,
        given,
        cwd=call.get("cwd"),
        policy=policy_of(folder),
    )
    if not verdict.allowed:
        return None
    grants = verdict.grants
    return b"" if grants is None or grants.moves_only else _confined(folder, given, grants)


def _confined(folder: str, given: "dict[str, object]", grants: "Grants") -> bytes:
    """Let a judged line run confined, where the machine can; as `hooks/answers.py` does."""
    from json import dumps

    from muster.confine.session import confinement

    confined = confinement(folder)
    if confined is None:
        return b""
    line = confined.wrapped(
        str(given["command"]),
        files=grants.files,
        folders=grants.folders,
        network=grants.network,
        sockets=grants.sockets,
    )
    said = {
        "hookEventName": POLICY,
        "permissionDecision": "allow",
        "permissionDecisionReason": CONFINED,
        "updatedInput": {**given, "command": line},
    }
    return dumps({"hookSpecificOutput": said}).encode()


def go_the_slow_way(event: str, data: bytes, home: bytes) -> "NoReturn":
    """Become the command line (`exec`), which judges by the same policy and records the call."""
    stdin = posix.memfd_create("hook", 0)
    _write(stdin, data)
    posix.lseek(stdin, 0, 0)
    posix.dup2(stdin, 0)
    python = _python()
    # No module of the project is imported as muster, whatever its name and the variables.
    environ = {name: each for name, each in posix.environ.items() if name[:6] != b"PYTHON"}
    verb = ("-P", "-m", "muster", "--home", home, "claude-hook", event)
    posix.execve(python, (python, *verb), environ)


def _python() -> str:
    """The Python that muster is installed for."""
    told = posix.environ.get(b"MUSTER_PYTHON", b"").decode("utf-8", "surrogateescape")
    prefix, library, _ = _package().rpartition("/lib/python")
    inside = f"{prefix}/bin/python" if library else ""
    return told or (inside if inside and _exists(inside.encode()) else sys.executable)


def _package() -> str:
    """The folder of muster: this file is `claude_plugin/plugin/client.py` in it."""
    return __file__.rsplit("/", 3)[0]


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def _regular(path: bytes) -> bytes:
    """The content of a regular file; empty if it does not exist, or is a FIFO or a device."""
    try:
        file = posix.open(path, posix.O_RDONLY | posix.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    return _read(file) if posix.fstat(file).st_mode & 0o170000 == 0o100000 else b""


def _read(file: int) -> bytes:
    return b"".join(iter(lambda: posix.read(file, _CHUNK), b""))


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[posix.write(file, data) :]


def _exists(path: bytes) -> bool:
    try:
        posix.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
