"""Places that agents get back, with real processes: muster is killed, a program crashes."""

import os
import signal
from pathlib import Path

from tests.acceptance.test_supervised import Place, prepared, python, table, up
from tests.waits import WAIT_SECONDS, until

ANSWERS = """
import json, sys

for line in sys.stdin:
    text = json.loads(line)["text"]
    if "It is your turn" in text:
        print("noted" if "QUESTION" in text else "nothing to say")
        print("TURN_COMPLETE", flush=True)
"""
"""Answers each turn, and says whether a person's question came with it."""

NAMES = ["pm", "dev"]


def ring(place: Place) -> list[str]:
    return [each["agent"] for each in place.operator.get("/api/channels/talk")["members"]]


def begin(place: Place) -> None:
    """Both programs are in a channel, in an order that is not that of the alphabet."""
    for name in NAMES:
        place.want(name, "continuous")
        until(lambda name=name: is_alive(place, name), lambda: "it does not run")
    config = {"turnsPerMessage": 4}
    place.operator.post("/api/channels", {"channel": "talk", "config": config}, 201)
    for name in NAMES:
        place.operator.post("/api/channels/talk/members", {"agent": name}, 201)


def is_alive(place: Place, name: str) -> bool:
    return place.operator.get(f"/api/agents/{name}")["status"] == "alive"


def answers_a_question(place: Place) -> None:
    place.operator.post("/api/channels/talk/messages", {"message": "a QUESTION"}, 201)
    until(lambda: place.said("talk").count("noted") >= 2, lambda: place.said("talk"))


def test_members_are_back_in_their_places_after_a_kill_of_muster(tmp_path: Path) -> None:
    prepared(tmp_path, *(table(name, *python(ANSWERS), long_lived=True) for name in NAMES))
    with up(tmp_path) as place:
        begin(place)
        assert ring(place) == NAMES
        place.server.process.kill()
        place.server.process.wait(WAIT_SECONDS)
    with up(tmp_path) as place:
        for name in NAMES:
            assert place.first(name, "session_end")["outcome"] == "lost"
        until(lambda: ring(place) == NAMES, lambda: ring(place))
        answers_a_question(place)
        place.ends()


def test_a_member_whose_program_crashes_is_back_in_its_place(tmp_path: Path) -> None:
    prepared(tmp_path, *(table(name, *python(ANSWERS), long_lived=True) for name in NAMES))
    with up(tmp_path) as place:
        begin(place)
        os.kill(place.run("pm")["session"]["pid"], signal.SIGKILL)
        assert place.first("pm", "member_left")["keepsPlace"] is True
        until(lambda: ring(place) == NAMES, lambda: ring(place))
        answers_a_question(place)
        place.ends()
