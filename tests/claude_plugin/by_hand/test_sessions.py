"""A Claude Code that a person runs by hand, hook by hook: an agent of the team, left alone."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from muster.claude_plugin.by_hand.sessions import HandSessions
from muster.machines.commands import DisableAgent, EditSoul, SendMessage
from muster.machines.ids import SeatId
from muster.machines.state import Agent, Status
from muster.machines.vocabulary import HandState, Usage
from tests.builders import HUMAN, run
from tests.claude_plugin.hooks.test_desk_team import Team, a_team
from tests.claude_plugin.playing import Claude

SEAT = SeatId(9)


def at(team: Team, seat: SeatId = SEAT) -> Agent:
    return team.muster.team.agents[seat]


def state(team: Team) -> HandState:
    hand = at(team).hand
    assert hand is not None
    return hand.state


async def say(team: Team, text: str) -> None:
    message = SendMessage(text=text, speaker_name="Marcus", seat=SEAT)
    await team.muster.dispatcher.send(message, actor=HUMAN)


async def begin(team: Team) -> Claude:
    claude = team.person()
    assert await claude.told("SessionStart", source="startup", model="opus") == ""
    return claude


def test_it_comes_works_asks_stops_and_goes(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path) as team:
            claude = await begin(team)
            hand = at(team).hand
            assert hand is not None
            assert (at(team).name, at(team).status) == ("terminal-1", Status.ALIVE)
            assert (hand.folder, hand.model) == (str(team.project.folder), "opus")
            assert await claude.prompt("my secret plan") == ""
            assert state(team) is HandState.WORKING
            question = "Claude needs your permission to use Bash"
            await claude.hook(
                "Notification", message=question, notification_type="permission_prompt"
            )
            assert state(team) is HandState.ASKING
            assert await claude.tool("Bash", {"command": "ls"}) == ""
            assert state(team) is HandState.WORKING
            assert await claude.stop() == {}
            assert state(team) is HandState.IDLE
            await claude.hook("Notification", message="waits", notification_type="idle_prompt")
            assert state(team) is HandState.IDLE
            await claude.hook("SessionEnd", reason="other")
            assert at(team).status is Status.SLEEPING
            events = await team.muster.store.read(after=0, limit=1000)
            assert not [each for each in events if b"my secret plan" in each.data]

    run(play())


def test_a_message_is_handed_over_with_the_next_prompt_and_answered(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path) as team:
            claude = await begin(team)
            await say(team, "is it blue?")
            told = await claude.prompt("go on")
            assert "[Marcus]: is it blue?" in told
            assert "sent to Marcus as your answer" in told
            assert await claude.prompt("and on") == ""  # handed over once
            assert await claude.stop("It is blue.") == {}
            assert at(team).read >= at(team).last_message
            [word] = at(team).to_person
            assert word.text == "It is blue."
            await claude.stop("Something else.")
            assert len(at(team).to_person) == 1

    run(play())


def test_a_message_in_the_middle_of_work_lets_it_go_on_when_it_stops(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path) as team:
            claude = await begin(team)
            await claude.prompt("work")
            await say(team, "and the tests?")
            told = await claude.stop("Done.")
            assert told["decision"] == "block"
            assert "[Marcus]: and the tests?" in told["reason"]
            assert state(team) is HandState.WORKING
            assert await claude.stop("They pass.") == {}
            assert [each.text for each in at(team).to_person] == ["They pass."]

    run(play())


def test_a_process_that_is_gone_is_noticed_and_one_that_lives_stays(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path) as team:
            claude = await begin(team)
            other = await asyncio.create_subprocess_exec(
                sys.executable, "-c", "input()", stdin=subprocess.PIPE
            )
            gone = Claude(team.project, "another", pid=other.pid, desk=team.hooks)
            await gone.hook("SessionStart", source="startup")
            other.kill()
            await other.wait()
            hands = HandSessions(team.muster)
            await hands.check()
            assert at(team).status is Status.ALIVE
            assert at(team, SeatId(10)).status is Status.SLEEPING
            await claude.hook("SessionEnd", reason="other")

    run(play())


def test_its_usage_comes_from_its_transcripts_and_is_exact_at_the_end(tmp_path: Path) -> None:
    counts = {"input_tokens": 10, "output_tokens": 5}
    message = {"id": "m-1", "model": "claude-sonnet-5", "usage": counts}
    again = {**message, "id": "m-2"}

    def line(message: object) -> str:
        return json.dumps({"type": "assistant", "message": message}) + "\n"

    async def play() -> None:
        async with a_team(tmp_path) as team:
            claude = await begin(team)
            transcript = team.project.base / "transcript.jsonl"
            helpers = team.project.base / "transcript" / "subagents"
            helpers.mkdir(parents=True)
            transcript.write_text(line(message) + line(message) + "no json\n" + '{"half')
            (helpers / "agent-1.jsonl").write_text(line({**message, "id": "m-9"}))
            await claude.stop()
            assert at(team).used.tokens == 30
            transcript.write_text(line(message) + line(message) + "no json\n" + line(again))
            await claude.stop()
            assert at(team).used.tokens == 45
            hand = at(team).hand
            assert hand is not None
            assert hand.model == "claude-sonnet-5"
            exact = {"inputTokens": 30, "outputTokens": 15}
            done = {"type": "cost-state", "totalCostUSD": 0.000001, "modelUsage": {"m": exact}}
            with transcript.open("a") as file:
                file.write(json.dumps(done) + "\n")
            await claude.hook("SessionEnd", reason="other")
            used = Usage(cost_usd=0.000001, input_tokens=30, output_tokens=15)
            assert at(team).used == used

    run(play())


def test_a_session_with_a_soul_is_told_of_it_and_a_disabled_one_is_left_alone(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        async with a_team(tmp_path) as team:
            claude = await begin(team)
            await team.muster.dispatcher.send(EditSoul(seat=SEAT, soul="I am Vera."), actor=HUMAN)
            assert "I am Vera." in await claude.told("SessionStart", source="resume")
            await team.muster.dispatcher.send(DisableAgent(seat=SEAT), actor=HUMAN)
            assert await claude.prompt("work") == ""
            assert SeatId(10) not in team.muster.team.agents

    run(play())
