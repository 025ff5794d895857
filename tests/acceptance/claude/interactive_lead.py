"""A lead that drives an interactive Claude Code: it has a teammate started, and reports its birth.

Run by muster as the program of the lead (`test_teammates.py`).
"""

import os
import sys
from pathlib import Path

from muster.testing.claude_sandbox import Box
from tests.acceptance.claude.teams import born, present
from tests.acceptance.claude.test_interactive import in_a_terminal

SUMMON = "summon them"
SUMMONED = "They are here."


def main() -> None:
    """Start the program, let it start its teammate, and stay until muster ends this lead."""
    root = Path(os.environ["SANDBOX_ROOT"])
    Path(os.environ["CLAUDE_CONFIG_DIR"]).mkdir(parents=True, exist_ok=True)
    box = Box(root, dict(os.environ))
    with in_a_terminal(box) as terminal:
        terminal.until("accept edits on")
        terminal.type(SUMMON)
        terminal.until(SUMMONED)
        print(born(0, "Lyra", "I listen first."), present((0, "Lyra")), flush=True)
        for _ in sys.stdin:
            pass


if __name__ == "__main__":
    main()
