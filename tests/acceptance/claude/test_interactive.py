"""An ordinary Claude Code in a terminal, with the plugin installed: typed at, and interrupted."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pyte

from muster.testing.claude_sandbox import Box, claude_binary
from muster.testing.model import Hold, Rule, ScriptedModel, Tool
from tests.delegation.stage import agent_file
from tests.homes import MUSTER_SCRIPT
from tests.waits import SLOW_SECONDS, until

COLUMNS, LINES = 120, 40
INPUT_LINE = -3
"""Where one types: above the last rule, and the line below that."""


class Terminal:
    """A terminal: its screen and its keyboard."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self._screen)
        self._more = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._terminal, 65536)
            except OSError:
                return
            with self._more:
                self._stream.feed(chunk)
                self._more.notify_all()

    def until(self, text: str, line: int | None = None) -> None:
        """Return when something is on the screen, or on a line of it."""

        def there() -> bool:
            shown = self._screen.display
            return any(text in each for each in (shown if line is None else [shown[line]]))

        with self._more:
            assert self._more.wait_for(there, SLOW_SECONDS), "\n".join(self._screen.display)

    def type(self, text: str) -> None:
        """Type a line, and press Enter when it is there."""
        os.write(self._terminal, text.encode())
        self.until(text)
        os.write(self._terminal, b"\r")

    def press_escape(self) -> None:
        os.write(self._terminal, b"\x1b")

    def clear(self) -> None:
        """Clear the input line."""
        os.write(self._terminal, b"\x15")


@contextmanager
def in_a_terminal(box: Box) -> Generator[Terminal]:
    """Claude Code in a terminal, past its first questions."""
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [box.env["ANTHROPIC_API_KEY"][-20:]]},
        "projects": {str(box.work): {"hasTrustDialogAccepted": True}},
    }
    (Path(box.env["CLAUDE_CONFIG_DIR"]) / ".claude.json").write_text(json.dumps(known))
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    with subprocess.Popen(
        [claude_binary(), "--permission-mode", "acceptEdits"],
        cwd=box.work,
        env={**box.environ(), "TERM": "xterm-256color"},
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
    ) as program:
        os.close(inside)
        try:
            yield Terminal(terminal)
        finally:
            program.send_signal(signal.SIGTERM)
            program.wait(SLOW_SECONDS)
            os.close(terminal)


def history(project: Path) -> list[tuple[str, str]]:
    [file] = project.glob(".claude/agent-state-machine/*/state.jsonl")
    return [
        (line["type"], line.get("conversation_id") or "")
        for line in map(json.loads, file.read_text().splitlines())
    ]


def test_what_a_person_types_is_followed_and_an_escape_is_no_riddle(
    model: ScriptedModel, box: Box
) -> None:
    foo, hold = box.work / "foo.py", Hold()
    for rule in (
        Rule(match="muster:agent-state-machine", reply="It is open."),
        Rule(match="write me foo", agent="main", times=1, reply=[write(foo, "main")]),
        Rule(match="MAIN may not", times=1, reply=[TASK]),
        Rule(match="Async agent launched", reply="It is at it."),
        Rule(match="SUBTASK", agent="sub", times=1, reply=[write(foo, "sub")]),
        Rule(match="foo.py", agent="sub", times=1, reply="Sub is done."),
        Rule(match="think long", times=1, reply=[hold, "never shown"]),
        Rule(match="still there", reply="Yes, I am."),
        Rule(agent="main", reply="There it is."),
    ):
        model.add(rule)
    agent_file(box.work / ".claude" / "agents", "builder", "Use to write Python scripts.")
    install = [MUSTER_SCRIPT, "claude-plugin", "install"]
    subprocess.run(install, cwd=box.work, env=box.environ(), check=True, timeout=SLOW_SECONDS)
    with in_a_terminal(box) as terminal:
        terminal.until("accept edits on")
        terminal.type("/muster:agent-state-machine")
        terminal.until("It is open.")
        terminal.type("write me foo")
        terminal.until("There it is.")
        assert foo.read_text() == "sub"
        terminal.type("think long please")
        assert hold.reached.wait(SLOW_SECONDS)
        terminal.press_escape()
        terminal.until("think long please", line=INPUT_LINE)  # back where it was typed
        hold.release()
        terminal.clear()
        terminal.type("are you still there")
        terminal.until("Yes, I am.")
        last = ("conversation_end", "conv_003")
        until(lambda: history(box.work)[-1] == last, lambda: history(box.work))
    assert history(box.work) == [
        ("session_init", ""),
        ("conversation_start", "conv_001"),
        ("transition", "conv_001"),
        ("transition", "conv_001"),
        ("conversation_end", "conv_001"),
        ("conversation_start", "conv_002"),
        ("conversation_end", "conv_002"),  # nobody answered it: the next input came
        ("conversation_start", "conv_003"),
        ("conversation_end", "conv_003"),
    ]


def write(path: Path, text: str) -> Tool:
    return Tool("Write", {"file_path": str(path), "content": text})


TASK = Tool("Agent", {"description": "foo", "prompt": "SUBTASK", "subagent_type": "builder"})
