"""A scripted `codex app-server`; it imports nothing of muster.

What it does is in the last line of each prompt. It keeps its threads in `CONVERSATIONS`.
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


def send(**message: object) -> None:
    print(json.dumps(message), flush=True)


class Codex:
    def __init__(self) -> None:
        self.thread = ""
        self.turn = ""
        self.turns = 0
        self.total = 0
        self.rest = b""

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
        method, number = str(message.get("method")), message.get("id")
        params: Message = message.get("params") or {}
        if method == "initialize":
            send(id=number, result={"userAgent": "scripted"})
        elif method == "thread/start":
            self.thread = f"t-{os.getpid()}"
            self.write([json.dumps([params, sys.argv[1:]])])
            send(id=number, result={"thread": {"id": self.thread}})
        elif method == "thread/resume":
            self.resume(number, str(params["threadId"]))
        elif method == "turn/start":
            self.start(number, str(params["input"][0]["text"]))
        elif method == "turn/steer":
            self.write([*self.lines(), f"steered {params['input'][0]['text']}"])
            send(id=number, result={"turnId": self.turn})
        elif method == "turn/interrupt" and "deaf" not in HOW:
            send(id=number, result={})
            self.end("interrupted")
        elif message.get("id") == "ask":
            self.item("completed", "fileChange", "i-3", status="completed")
            self.do_say(str(message["result"]["decision"]))

    def resume(self, number: object, thread: str) -> None:
        if (FOLDER / thread).exists():
            self.thread = thread
            send(id=number, result={"thread": {"id": thread}})
        else:
            send(id=number, error={"code": -32600, "message": "no rollout found"})

    def lines(self) -> list[str]:
        return (FOLDER / self.thread).read_text().splitlines()

    def write(self, lines: list[str]) -> None:
        (FOLDER / self.thread).write_text("".join(f"{line}\n" for line in lines))

    # ── working ───────────────────────────────────────────────────────────────────────────────────

    def start(self, number: object, prompt: str) -> None:
        self.turns += 1
        self.turn = f"turn-{self.turns}"
        send(id=number, result={"turn": {"id": self.turn, "status": "inProgress"}})
        self.write([*self.lines(), *prompt.splitlines()])
        verb, _, rest = prompt.splitlines()[-1].strip().partition(" ")
        getattr(self, f"do_{verb}", self.do_say)(rest)

    def tell(self, method: str, **params: object) -> None:
        send(method=method, params={"threadId": self.thread, "turnId": self.turn, **params})

    def item(self, state: str, kind: str, ref: str, **more: object) -> None:
        self.tell(f"item/{state}", item={"type": kind, "id": ref, **more})

    def say(self, what: str) -> None:
        self.item("started", "agentMessage", "m", text="")
        for piece in (what[:3], what[3:]):
            self.tell("item/agentMessage/delta", itemId="m", delta=piece)
        self.item("completed", "agentMessage", "m", text=what)

    def end(self, status: str = "completed", **more: object) -> None:
        self.tell("turn/completed", turn={"id": self.turn, "status": status, **more})

    def do_say(self, rest: str) -> None:
        self.say(rest)
        self.end()

    def do_hang(self, rest: str) -> None:
        self.say("ready")
        if "deaf" in HOW:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if rest == "child":
            child = str(subprocess.Popen(["sleep", "1800"]).pid)
            self.item("started", "mcpToolCall", "i-2", server="a", tool="child", arguments=child)

    def do_tool(self, rest: str) -> None:
        self.say("I look.")
        self.item("started", "commandExecution", "i-1", command="cat notes.txt")
        self.item("completed", "commandExecution", "i-1", aggregatedOutput="the notes")
        self.do_say(rest)

    def do_ask(self, rest: str) -> None:
        self.item("started", "fileChange", "i-3", changes=[{"path": rest, "diff": "+x"}])
        params = {"threadId": self.thread, "turnId": self.turn, "itemId": "i-3"}
        send(id="ask", method="item/fileChange/requestApproval", params=params)

    def do_run(self, rest: str) -> None:
        params = {"threadId": self.thread, "turnId": self.turn, "itemId": "i-4", "command": rest}
        send(id="ask", method="item/commandExecution/requestApproval", params=params)

    def do_other(self, rest: str) -> None:
        send(id=7, method="item/tool/requestUserInput", params={})
        answer = self.read()
        self.do_say(str(answer["error"]["message"]))

    def do_where(self, rest: str) -> None:
        self.do_say(str(Path.cwd()))

    def do_spend(self, rest: str) -> None:
        self.total += 1
        total = {"inputTokens": 14, "cachedInputTokens": 4, "outputTokens": 5}
        counts = {key: value * self.total for key, value in total.items()}
        self.tell("thread/tokenUsage/updated", tokenUsage={"total": counts})
        self.do_say(rest)

    def do_recall(self, rest: str) -> None:
        self.do_say("; ".join(self.lines()[1:-1]))

    def do_fail(self, rest: str) -> None:
        self.tell("error", error={"message": rest}, willRetry=True)
        self.end("failed", error={"message": rest})

    def do_stop(self, rest: str) -> None:
        self.end("interrupted")

    def do_crash(self, rest: str) -> None:
        sys.stderr.write("it broke\n")
        sys.stderr.flush()
        os._exit(3)


if "absent" in HOW:
    sys.exit("no key: sign in first")
codex = Codex()
while True:
    codex.handle(codex.read())
