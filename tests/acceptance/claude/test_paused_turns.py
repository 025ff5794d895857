"""The real Claude Code while a person holds its turn, and what it writes on a stream."""

import json
from collections.abc import Generator
from threading import Event, Thread

import httpx
import pytest

from muster.testing.claude_sandbox import Box
from muster.testing.model import Hold, Rule, ScriptedModel, Tool
from tests.acceptance.claude.teams import Json, claude_team, start, table
from tests.acceptance.test_whole_life import Team
from tests.live import Server
from tests.waits import SLOW_SECONDS, until

RULES = {"humanInterruptMode": "interrupt", "interruptHoldSeconds": 600}


@pytest.fixture
def ada(box: Box) -> Generator[tuple[Team, Server]]:
    """Ada is alone in a channel, where a person's message interrupts her."""
    with claude_team(box, table("Ada", box.env)) as (team, server):
        start(team, "Ada")
        team.post("/api/channels", {"channel": "design", "config": RULES})
        team.post("/api/channels/design/members", {"agent": "Ada"})
        yield team, server


def post(team: Team, text: str) -> None:
    team.post("/api/channels/design/messages", {"message": text})


def state(team: Team) -> str:
    [member] = team.get("/api/channels/design")["members"]
    return member["state"]


def said(team: Team) -> list[str]:
    messages = team.get("/api/channels/design/messages")["messages"]
    return [each["text"] for each in messages if not each["byHuman"]]


def results(team: Team) -> list[Json]:
    return team.log("session_result")


def until_results(team: Team, number: int) -> None:
    until(lambda: len(results(team)) >= number, lambda: results(team))


def release(team: Team) -> None:
    team.post("/api/channels/design/turn/resume", {})


class PartialTexts:
    """The partial texts that the server streams, read in a thread."""

    def __init__(self, server: Server) -> None:
        self.texts: list[str] = []
        self.open = Event()
        self._http = httpx.Client(
            base_url=server.url,
            headers={"authorization": f"Bearer {server.token}"},
            timeout=SLOW_SECONDS,
        )
        self._thread = Thread(target=self._read)
        self._thread.start()
        assert self.open.wait(SLOW_SECONDS)

    def _read(self) -> None:
        with self._http, self._http.stream("GET", "/api/events?types=partial") as stream:
            for line in stream.iter_lines():
                self.open.set()
                if line.startswith("data: "):
                    self.texts.append(json.loads(line.removeprefix("data: "))["text"])
                    if self.texts[-1] == "":
                        return

    def end(self) -> None:
        self._thread.join(SLOW_SECONDS)
        assert not self._thread.is_alive()


def test_an_answer_that_comes_while_a_person_holds_the_turn_is_posted_at_the_release(
    model: ScriptedModel, ada: tuple[Team, Server]
) -> None:
    team, server = ada
    hold = Hold()
    model.add(Rule(match="It is your turn", times=1, reply=["Half of it.", hold, "and the rest."]))
    model.add(Rule(match="one moment", times=1, reply="I hear you."))
    partial = PartialTexts(server)
    post(team, "the plan?")
    assert hold.reached.wait(SLOW_SECONDS)
    until(lambda: partial.texts[-1:] == ["Half of it."], lambda: partial.texts)
    post(team, "one moment")
    assert state(team) == "WAITING"
    hold.release()
    until_results(team, 1)
    until(lambda: any("one moment" in each.text for each in model.calls()))
    until_results(team, len(model.calls()))
    assert said(team) == []
    release(team)
    until(lambda: said(team) == ["and the rest.", "I hear you."], lambda: said(team))
    until(lambda: state(team) == "IDLE", lambda: state(team))
    partial.end()
    used = team.get("/api/channels/design")["used"]
    assert used["outputTokens"] > 0


def test_a_turn_that_is_completed_while_a_person_holds_it_ends_at_the_release(
    model: ScriptedModel, ada: tuple[Team, Server]
) -> None:
    team, _ = ada
    hold = Hold()
    complete = Tool("mcp__muster__turn_complete", {"message": "it is blue"})
    model.add(Rule(match="It is your turn", times=1, reply=[hold, complete]))
    model.add(Rule(match="is paused, by a person", times=1, reply="Done."))
    model.add(Rule(match="one moment", times=1, reply="I hear you."))
    post(team, "the colour?")
    assert hold.reached.wait(SLOW_SECONDS)
    post(team, "one moment")
    hold.release()
    until_results(team, 1)
    assert (said(team), state(team)) == ([], "WAITING")
    release(team)
    until(lambda: state(team) == "IDLE", lambda: state(team))
    assert said(team) == ["it is blue"]
    assert team.log("command_refused") == []
