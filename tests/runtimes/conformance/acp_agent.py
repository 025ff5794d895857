"""A scripted agent that speaks the Agent Client Protocol; it imports nothing of muster.

`python -S acp_agent.py [deaf] [absent]`: what it does is in the last line of each prompt. It keeps
its conversations in the folder `CONVERSATIONS`.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

HOW = sys.argv[1:]
FOLDER = Path(os.environ.get("CONVERSATIONS", "."))

Message = dict[str, Any]  # as JSON has it


def send(**message: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


class Agent:
    def __init__(self) -> None:
        self.session = ""
        self.prompt: object = None
        self.asked: object = None
        self.rest = b""
        self.number = 100
        self.gives_up = False

    # ── reading ───────────────────────────────────────────────────────────────────────────────────

    def read(self) -> Message:
        while b"\n" not in self.rest:
            data = os.read(0, 65536)
            if not data:
                if "deaf" not in HOW:
                    sys.exit(0)
                signal.pause()
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        message: Message = json.loads(line)
        return message

    def handle(self, message: Message) -> None:
        method, number = message.get("method"), message.get("id")
        params: Message = message.get("params") or {}
        if method == "initialize":
            can = {"loadSession": True, "mcpCapabilities": {"http": True}}
            info = {"name": "scripted", "version": "1"}
            send(
                id=number,
                result={
                    "protocolVersion": 1,
                    "agentCapabilities": can,
                    "agentInfo": info,
                    "authMethods": [],
                },
            )
        elif method == "session/new":
            self.session = f"c-{os.getpid()}"
            self.write([json.dumps(params.get("mcpServers"))])
            send(id=number, result={"sessionId": self.session, "modes": self.modes()})
        elif method == "session/load":
            self.load(number, params["sessionId"])
        elif method == "session/set_mode":
            self.write([*self.lines(), f"mode {params['modeId']}"])
            send(id=number, result={})
        elif method == "session/prompt":
            self.prompt = number
            self.work(params["prompt"][0]["text"])
        elif method == "session/cancel":
            self.cancelled()
        elif method is None and number == self.asked:
            self.answered(message)

    def modes(self) -> Message:
        return {
            "currentModeId": "loose",
            "availableModes": [
                {"id": "loose", "name": "Loose"},
                {"id": "default", "name": "Default"},
            ],
        }

    def load(self, number: object, session: str) -> None:
        if not (FOLDER / session).exists():
            send(id=number, error={"code": -32000, "message": "Invalid session identifier"})
            return
        self.session = session
        for line in self.lines():
            self.update(sessionUpdate="agent_message_chunk", content=text(f"old: {line}"))
        send(id=number, result={"modes": self.modes()})

    def lines(self) -> list[str]:
        return (FOLDER / self.session).read_text().splitlines()

    def write(self, lines: list[str]) -> None:
        (FOLDER / self.session).write_text("".join(f"{line}\n" for line in lines))

    # ── working ───────────────────────────────────────────────────────────────────────────────────

    def update(self, **update: object) -> None:
        send(method="session/update", params={"sessionId": self.session, "update": update})

    def say(self, what: str) -> None:
        for piece in (what[:3], what[3:]):
            self.update(sessionUpdate="agent_message_chunk", content=text(piece))

    def end(self, why: str = "end_turn", **more: object) -> None:
        send(id=self.prompt, result={"stopReason": why, **more})
        self.prompt = None

    def work(self, prompt: str) -> None:
        self.write([*self.lines(), *prompt.splitlines()])
        verb, _, rest = prompt.splitlines()[-1].strip().partition(" ")
        getattr(self, f"do_{verb}", self.do_say)(rest)

    def do_say(self, rest: str) -> None:
        self.say(rest)
        self.end()

    def do_hang(self, rest: str) -> None:
        self.say("ready")
        if "deaf" in HOW:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if rest == "child":
            child = subprocess.Popen(["sleep", "1800"])
            self.call("child", str(child.pid))

    def do_tool(self, rest: str) -> None:
        self.say("I look.")
        self.update(
            sessionUpdate="tool_call",
            toolCallId="t-1",
            title="Read notes",
            kind="read",
            status="pending",
            rawInput={"path": "notes.txt"},
        )
        self.update(
            sessionUpdate="tool_call_update",
            toolCallId="t-1",
            status="completed",
            content=[{"type": "content", "content": text("the notes")}],
        )
        self.do_say(rest)

    def call(self, name: str, given: str) -> None:
        self.update(
            sessionUpdate="tool_call",
            toolCallId="t-2",
            title=name,
            kind="other",
            status="in_progress",
            rawInput={"given": given},
        )

    def do_ask(self, rest: str) -> None:
        self.number += 1
        self.asked = self.number
        path, _, text = rest.partition(" ")
        change = {"type": "diff", "path": path, "oldText": None, "newText": text or "written"}
        call: Message = {"toolCallId": "t-3", "kind": "edit", "title": "Write", "status": "pending"}
        call["content"] = [change]
        self.update(sessionUpdate="tool_call", **call, rawInput={"file_path": path})
        options = [
            {"optionId": kind, "name": kind, "kind": kind}
            for kind in ("allow_always", "allow_once", "reject_once")
        ]
        send(
            id=self.asked,
            method="session/request_permission",
            params={"sessionId": self.session, "toolCall": call, "options": options},
        )

    def do_attempt(self, rest: str) -> None:
        """Ask, and end the work without a word if it is not allowed."""
        self.gives_up = True
        self.do_ask(rest)

    def answered(self, message: Message) -> None:
        outcome = message["result"]["outcome"] if "result" in message else message["error"]
        self.update(sessionUpdate="tool_call_update", toolCallId="t-3", status="completed")
        if self.gives_up:
            self.end("cancelled")
            return
        self.do_say(outcome.get("optionId") or outcome.get("outcome") or outcome["message"])

    def do_write(self, rest: str) -> None:
        path, _, spoof = rest.partition(" ")
        self.number += 1
        self.asked = self.number
        params: Message = {"sessionId": self.session, "path": path, "content": "written"}
        if spoof:
            params["_meta"] = {"path": spoof, "session_id": "other"}
        send(id=self.asked, method="fs/write_text_file", params=params)
        message = self.read()
        self.asked = None
        self.do_say("written" if "result" in message else message["error"]["message"])

    def do_where(self, rest: str) -> None:
        self.do_say(str(Path.cwd()))

    def do_spend(self, rest: str) -> None:
        self.update(
            sessionUpdate="usage_update",
            used=15,
            size=1000,
            cost={"amount": 0.25 * self.turns(), "currency": "USD"},
        )
        self.say(rest)
        self.end(usage={"inputTokens": 10, "outputTokens": 5, "totalTokens": 15})

    def turns(self) -> int:
        return sum(line.startswith("spend") for line in self.lines())

    def do_recall(self, rest: str) -> None:
        self.do_say("; ".join(self.lines()[1:-1]))

    def do_stop(self, rest: str) -> None:
        self.end("cancelled")

    def do_invent(self, rest: str) -> None:
        self.end("a_reason_of_its_own")

    def do_leave(self, rest: str) -> None:
        self.update(sessionUpdate="current_mode_update", currentModeId="loose")

    def do_flood(self, rest: str) -> None:
        sys.stderr.write("x" * 400_000 + "\n")
        self.do_say(rest)

    def do_fail(self, rest: str) -> None:
        send(
            id=self.prompt, error={"code": -32603, "message": "no model", "data": {"details": rest}}
        )

    def do_crash(self, rest: str) -> None:
        sys.stderr.write("it broke\n")
        sys.stderr.flush()
        os._exit(3)

    def cancelled(self) -> None:
        if "deaf" not in HOW and self.prompt is not None:
            self.end("cancelled")


def text(words: str) -> Message:
    return {"type": "text", "text": words}


if "absent" in HOW:
    sys.exit("no key: sign in first")
agent = Agent()
while True:
    agent.handle(agent.read())
