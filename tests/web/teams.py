"""Teams for the tests: a lead that creates eight agents on request, and programs that run."""

import json
import sys
from pathlib import Path

from tests.web.pages import home_with

LEAD = r"""
import json, re, sys

NAMES = ["Lyra", "Kael", "Nova", "Orin", None, "Sable", "Wren", "Juno", "Pax"]
EYES = ["standard", "wide", "narrow", "closed", None, "bright", "square", "unheard-of", "standard"]
MOUTHS = ["gentle", "wide", "straight", "open", None, "wry", "small", "odd", "gentle"]
SEATS = [0, 1, 2, 3, 5, 6, 7, 8]


def say(line):
    print(line, flush=True)


def status(seats):
    alive = [{"name": NAMES[seat], "status": "alive", "gridPosition": seat} for seat in seats]
    say("[AGENT_STATUS] " + json.dumps({"agents": alive}))


def born(seat):
    say("[AGENT_REGISTERED] " + json.dumps({
        "name": NAMES[seat], "gridPosition": seat, "colorName": "Colour " + str(seat),
        "faceVariant": {"eyes": EYES[seat], "mouth": MOUTHS[seat]},
        "individuationArtifact": "# I am " + NAMES[seat] + "\n\nI **chose** this name.",
    }))


for line in sys.stdin:
    words = json.loads(line)["text"].partition("You have new messages:")[2]
    if "hatch" in words:
        for seat in SEATS:
            born(seat)
        status(SEATS)
    elif "[WAKE AGENTS]" in words:
        status(int(seat) for seat in re.findall(r'position="(\d+)"', words))
    elif "[AGENT_STATUS?]" in words:
        status([])
    elif "forget" in words:
        status([])
"""


def command(folder: Path, name: str, program: str) -> str:
    """A Python program as a `command` of the settings."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(program, encoding="utf-8")
    return f"command = {json.dumps([sys.executable, str(path)])}\n"


def led(folder: Path) -> Path:
    """A home with a long-lived lead that creates the other agents."""
    julian = "[agents.Julian]\nseat = 4\nlong_lived = true\n" + command(folder, "lead", LEAD)
    return home_with(folder, julian)


ANSWERER = r"""
import json, sys
print("awake", flush=True)
for line in sys.stdin:
    text = json.loads(line)["text"]
    if "You have new messages" in text:
        heard = text.rsplit("]: ", 1)[1].strip()
        print(json.dumps({"type": "say", "text": "I heard **" + heard + "**"}), flush=True)
"""
"""A long-lived program that answers every message."""

ONCE = "print('one session')\n"
FAILING = "import sys\nprint('oh no', file=sys.stderr)\nsys.exit(3)\n"


def programs(folder: Path, more: str = "") -> Path:
    """A home with three programs: a long-lived one, one that succeeds, one that fails."""
    return home_with(
        folder,
        '[agents.Echo]\nlong_lived = true\nspeaks = "lines"\n'
        + command(folder, "echo", ANSWERER)
        + "[agents.Once]\n"
        + command(folder, "once", ONCE)
        + "[agents.Faily]\n"
        + command(folder, "failing", FAILING)
        + more,
    )
