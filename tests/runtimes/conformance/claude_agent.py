"""A scripted Claude Code, as its SDK runs it; it imports nothing of muster.

What it does is in the last line of each prompt. It keeps its conversations in `CONVERSATIONS`.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

HOW = os.environ.get("HOW", "").split()
FOLDER = Path(os.environ.get("CONVERSATIONS", "."))

Message = dict[str, Any]  # as JSON has it


class Claude:
    def __init__(self) -> None:
        resumed = [each for each in sys.argv if each.startswith("--resume=")]
        self.session = resumed[0].partition("=")[2] if resumed else f"c-{os.getpid()}"
        self.waiting: list[tuple[str, str]] = []
        self.working = ""
        self.spent = 0

    def send(self, **message: object) -> None:
        print(json.dumps({"session_id": self.session, "uuid": "u", **message}), flush=True)

    def handle(self, message: Message) -> None:
        if message["type"] == "user":
            self.state(message["uuid"], "queued")
            self.waiting.append((message["uuid"], message["message"]["content"]))
        elif message["type"] == "control_request":
            self.reply(message["request_id"])
            if message["request"]["subtype"] == "interrupt" and "deaf" not in HOW:
                self.interrupted()
        elif message["type"] == "control_response" and message["response"]["request_id"] == "ask":
            allowed = message["response"]["response"]["behavior"] == "allow"
            self.do_say("allow_once" if allowed else "deny")
        while self.waiting and not self.working:
            self.work(*self.waiting.pop(0))

    def reply(self, number: str) -> None:
        answer: Message = {"subtype": "success", "request_id": number, "response": {}}
        self.send(type="control_response", response=answer)

    def state(self, number: str, state: str) -> None:
        self.send(type="command_lifecycle", command_uuid=number, state=state)

    def lines(self) -> list[str]:
        path = FOLDER / self.session
        return path.read_text().splitlines() if path.exists() else []

    # ── working ───────────────────────────────────────────────────────────────────────────────────

    def work(self, number: str, prompt: str) -> None:
        self.working = number
        self.state(number, "started")
        lines = [*self.lines(), *prompt.splitlines()]
        (FOLDER / self.session).write_text("".join(f"{line}\n" for line in lines))
        verb, _, rest = prompt.splitlines()[-1].strip().partition(" ")
        getattr(self, f"do_{verb}", self.do_say)(rest)

    def says(self, *blocks: Message) -> None:
        message = {"content": blocks, "model": "m"}
        self.send(type="assistant", message=message, parent_tool_use_id=None)

    def end(self, text: str, **more: object) -> None:
        number, self.working = self.working, ""
        counts = {"inputTokens": 10 * self.spent, "outputTokens": 5 * self.spent}
        result: Message = {
            "type": "result",
            "subtype": "success",
            "duration_ms": 1,
            "duration_api_ms": 1,
            "is_error": False,
            "num_turns": 1,
            "result": text,
            "total_cost_usd": 0.25 * self.spent,
            "modelUsage": {"m": counts},
        }
        self.send(**{**result, **more})
        self.state(number, "completed")

    def interrupted(self) -> None:
        if self.working:
            failed: Message = {"subtype": "error_during_execution", "is_error": True}
            self.end("", **failed, terminal_reason="aborted_streaming")

    def do_say(self, rest: str) -> None:
        self.says({"type": "text", "text": rest})
        self.end(rest)

    def do_hang(self, rest: str) -> None:
        if "deaf" in HOW:
            for each in (signal.SIGINT, signal.SIGTERM):
                signal.signal(each, signal.SIG_IGN)
        for event in (
            {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "ready"}},
        ):
            self.send(type="stream_event", event={"index": 0, **event}, parent_tool_use_id=None)
        if rest == "child":
            child = str(subprocess.Popen(["sleep", "1800"]).pid)
            self.says({"type": "tool_use", "id": "t-2", "name": "child", "input": {"pid": child}})

    def do_tool(self, rest: str) -> None:
        given = {"file_path": "notes.txt"}
        self.says({"type": "tool_use", "id": "t-1", "name": "Read notes", "input": given})
        done = {"type": "tool_result", "tool_use_id": "t-1", "content": "the notes"}
        self.send(type="user", message={"role": "user", "content": [done]}, parent_tool_use_id=None)
        self.do_say(rest)

    def do_ask(self, rest: str) -> None:
        given = {"file_path": rest, "content": "x"}
        asked = {"subtype": "can_use_tool", "tool_name": "Write", "input": given}
        request: Message = {**asked, "tool_use_id": "t-3", "permission_suggestions": []}
        self.send(type="control_request", request_id="ask", request=request)

    def do_where(self, rest: str) -> None:
        self.do_say(str(Path.cwd()))

    def do_spend(self, rest: str) -> None:
        self.spent += 1
        self.do_say(rest)

    def do_recall(self, rest: str) -> None:
        self.do_say("; ".join(self.lines()))

    def do_crash(self, rest: str) -> None:
        sys.stderr.write("it broke\n")
        sys.stderr.flush()
        os._exit(3)


if "absent" in HOW:
    sys.exit("no key: sign in first")
claude = Claude()
for line in sys.stdin:
    claude.handle(json.loads(line))
while "deaf" in HOW:
    signal.pause()
