"""Programs that end by themselves, with real processes: they run when there is work for them."""

from pathlib import Path

import pytest

from tests.acceptance.test_supervised import python, table, up
from tests.waits import until

ANSWERER = """
import os, sys
told = sys.stdin.read()
with open(sys.argv[1], "a") as book:
    book.write(os.environ["MUSTER_MODE"] + chr(10))
last = told.strip().splitlines()[-1]
print("I read: " + last[:60])
"""
"""Notes that it ran, and answers what it is told."""

BUSY = """
import sys
with open(sys.argv[1], "a") as book:
    book.write("ran" + chr(10))
"""


def test_a_program_runs_for_a_turn_and_a_message_and_never_without_work(tmp_path: Path) -> None:
    (tmp_path / ".muster").mkdir()
    tables = (
        table("Ada", *python(ANSWERER, tmp_path / "ada"), loop=False),
        table("Bo", *python(ANSWERER, tmp_path / "bo")),
        table("Loop", *python(BUSY, tmp_path / "loop"), loop=True),
    )
    (tmp_path / ".muster" / "muster.toml").write_text("\n".join(tables))
    with up(tmp_path) as place:
        for name in ("Ada", "Bo", "Loop"):
            place.want(name, "continuous")
        until(lambda: len(place.lines("loop")) >= 2)  # the pace of a loop: a second has passed
        until(lambda: place.run("Bo")["badge"]["line"] == "waiting for work")
        assert (place.lines("ada"), place.lines("bo")) == ([], ["continuous"])
        assert place.run("Ada")["badge"]["line"] == "waiting for work"
        assert [place.run(each)["runsFor"] for each in ("Ada", "Bo", "Loop")] == [
            "work",
            "start",
            "loop",
        ]

        message = {"message": "are you there?", "targetAgent": "Ada"}
        sent = place.operator.post("/api/send", message, 201)
        assert sent["effect"] == "Ada gets it now: it is started for it."
        until(lambda: place.lines("ada") == ["continuous"])
        place.opens("design", "Ada", "and now?")
        until(lambda: any("I read" in each for each in place.said("design")))
        place.until_states("Ada", "continuous", "pause")
        before = len(place.lines("loop"))
        until(lambda: len(place.lines("loop")) >= before + 2)
        assert len(place.lines("ada")) == 2
        place.want("Ada", "continuous", now=True)
        until(lambda: len(place.lines("ada")) == 3)
        place.ends()


BORN = """
import os, sys
sys.stdin.read()
with open(sys.argv[1], "a") as book:
    book.write("ran" + chr(10))
if os.environ["MUSTER_AGENT"].startswith("agent-identity:"):
    print('[AGENT_REGISTERED] {"name": "Kael", "gridPosition": 3}')
"""
"""Registers at its birth; later it only notes that it ran."""


@pytest.mark.parametrize(("loop", "runs_for"), [(None, "start"), (False, "work"), (True, "loop")])
def test_a_summoned_agent_runs_as_the_table_for_all_of_them_says(
    tmp_path: Path, loop: bool | None, runs_for: str
) -> None:
    """It ran once a second."""
    (tmp_path / ".muster").mkdir()
    other = table("Other", *python(BUSY, tmp_path / "other"), loop=True)
    born = table('"*"', *python(BORN, tmp_path / "ran"))
    born += "" if loop is None else f"loop = {str(loop).lower()}\n"
    (tmp_path / ".muster" / "muster.toml").write_text("\n".join((other, born)))
    with up(tmp_path) as place:
        place.operator.post("/api/agents/summon", {"seats": [3]}, 201)
        until(lambda: "Kael" in str(place.operator.get("/api/agents")))
        until(lambda: place.run("Kael")["runsFor"] == runs_for)
        until(lambda: place.run("Kael")["session"] is None)
        births = len(place.lines("ran"))
        place.want("Kael", "continuous")
        wanted = {"start": 1, "work": 0, "loop": 3}[runs_for]
        until(lambda: len(place.lines("ran")) - births >= wanted)
        place.want("Other", "continuous")
        until(lambda: len(place.lines("other")) >= 3)  # a loop has run again meanwhile
        assert (len(place.lines("ran")) - births > wanted) == (loop is True)
        place.ends()
