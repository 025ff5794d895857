"""A scripted program of the runtime `command`; it imports nothing of muster.

What it does is in the last line of each prompt.
"""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

HOW = sys.argv[1:]


HANGS: list[bool] = []


class Stopped(Exception):
    pass


def send(**line: object) -> None:
    os.write(1, (json.dumps(line) + "\n").encode())


def stop(*_: object) -> None:
    """Stop work that hangs; with nothing to stop, end."""
    if not HANGS:
        os._exit(0)
    HANGS.clear()
    raise Stopped


def work(prompt: str) -> None:
    verb, _, rest = prompt.splitlines()[-1].partition(" ")
    if verb == "hang":
        if "deaf" in HOW:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if rest == "child":
            print("child", subprocess.Popen(["sleep", "1800"]).pid, flush=True)
        HANGS.append(True)
        send(type="partial", text="ready")
        while True:  # a signal just before `pause` would be missed
            select.select([], [], [], 0.02)
    if verb == "crash":
        sys.stderr.write("it broke\n")
        sys.exit(3)
    if verb == "tool":
        send(type="tool_call", id="c1", name="shell", input={"command": "cat notes"})
        send(type="tool_result", id="c1", text="the notes")
    if verb == "ask":
        send(type="approval_request", id="a1", tool="Edit", detail=f"file: {rest}")
        answer = json.loads(sys.stdin.readline())
        rest = "accept" if answer["allowed"] else answer["reason"]
    rest = str(Path.cwd()) if verb == "where" else rest
    usage: dict[str, float] = {}
    if verb == "spend":
        usage = {"costUsd": 0.25, "inputTokens": 10, "outputTokens": 5}
    send(type="result", text=rest, usage=usage)


if "absent" in HOW:
    sys.exit("no key: sign in first")
signal.signal(signal.SIGINT, stop)
for line in iter(sys.stdin.readline, ""):
    try:
        work(json.loads(line)["text"])
    except Stopped:
        send(type="interrupted")
