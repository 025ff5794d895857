"""A program that speaks as Claude Code does, and misbehaves as a test wants."""

import sys
from pathlib import Path

IMITATION = """\
import json, os, signal, sys

def say(**message):
    print(json.dumps({"session_id": "c-1", "uuid": "u", **message}), flush=True)

def state(number, state):
    say(type="command_lifecycle", command_uuid=number, state=state)

def text(text, **more):
    message = {"content": [{"type": "text", "text": text}], "model": "m"}
    say(type="assistant", message=message, parent_tool_use_id=None, **more)

def result(text, **more):
    say(**{"type": "result", "subtype": "success", "duration_ms": 1, "duration_api_ms": 1,
           "is_error": False, "num_turns": 1, "result": text, "total_cost_usd": 0.5, **more})

def on_interrupt():
    result("", subtype="error_during_execution", is_error=True, terminal_reason="aborted_tools")

def on_prompt(number, text):
    pass

def on_request(request):
    pass

def on_end():
    sys.exit(0)

{behaviour}

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "user":
        on_prompt(message["uuid"], message["message"]["content"])
    elif message["type"] == "control_request":
        answer = {"subtype": "success", "request_id": message["request_id"], "response": {}}
        say(type="control_response", response=answer)
        on_request(message["request"])
        if message["request"]["subtype"] == "interrupt":
            on_interrupt()
on_end()
"""


def imitation(folder: Path, behaviour: str) -> Path:
    """A program that behaves so."""
    path = folder / "imitation"
    body = IMITATION.replace("{behaviour}", behaviour)
    source = path.with_suffix(".py")
    source.write_text(body, encoding="utf-8")
    # not by a first line of its own: that cannot name a folder with a space in it
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{source}" "$@"\n', encoding="utf-8")
    path.chmod(0o700)
    return path
