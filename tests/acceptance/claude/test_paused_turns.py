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
    settings = table("Ada", box.env, claude='allowed_tools = ["Bash"]')
    with claude_team(box, settings) as (team, server):
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


def test_a_person_interrupts_the_holder_which_goes_on_with_the_message_at_the_release(
    model: ScriptedModel, ada: tuple[Team, Server]
) -> None:
    team, server = ada
    hold = Hold()
    pid = team.pid("Ada")
    model.add(Rule(match="It is your turn", times=1, reply=["Half of it.", hold, "Never said."]))
    model.add(Rule(match="one moment", times=1, reply="I hear you.\nTURN_COMPLETE"))
    partial = PartialTexts(server)
    post(team, "the plan?")
    assert hold.reached.wait(SLOW_SECONDS)
    until(lambda: partial.texts[-1:] == ["Half of it."], lambda: partial.texts)
    post(team, "one moment")
    assert state(team) == "WAITING"
    until_results(team, 1)
    until(lambda: bool(team.log("work_stopped")))
    hold.release()
    assert said(team) == []
    assert not any("one moment" in each.text for each in model.calls())
    release(team)
    until(lambda: said(team)[-1:] == ["I hear you."], lambda: said(team))
    assert said(team) == ["Half of it.", "I hear you."]
    until(lambda: state(team) == "IDLE", lambda: state(team))
    partial.end()
    used = team.get("/api/channels/design")["used"]
    assert used["outputTokens"] > 0
    assert team.pid("Ada") == pid
    [interrupted] = team.log("work_interrupted")
    assert interrupted["channel"] == "design"
    [told] = [each.text for each in model.calls() if "one moment" in each.text]
    assert "A person has interrupted your work in the channel design" in told


def test_a_tool_call_is_interrupted_and_a_release_at_once_does_not_lose_the_message(
    model: ScriptedModel, ada: tuple[Team, Server]
) -> None:
    team, _ = ada
    waits = Tool("Bash", {"command": "python3 -c 'import time; time.sleep(600)'"})
    complete = Tool("mcp__muster__turn_complete", {"message": "it is blue"})
    model.add(Rule(match="It is your turn", times=1, reply=["Let me see.", waits]))
    model.add(Rule(match="one moment", times=1, reply=[complete]))
    model.add(Rule(match="you are told", times=1, reply="Done."))
    post(team, "the colour?")
    until(lambda: bool(team.log("agent_activity")))
    post(team, "one moment")
    release(team)
    until(lambda: state(team) == "IDLE", lambda: state(team))
    assert said(team) == ["Let me see.", "it is blue"]
    assert team.log("command_refused") == []
    assert not team.log("session_end")
