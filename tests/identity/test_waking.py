"""SUMMON, WAKE and sleep as commands of people, and the prompt templates."""

import asyncio
from pathlib import Path

import pytest

from muster.engine import ports
from muster.errors import NobodyToSummon
from muster.identity import waking
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.ids import GRID_SEATS, LEAD_SEAT, SeatId, SessionId
from muster.machines.state import Status
from muster.machines.vocabulary import Authority, RunMode
from muster.sessions.prompt_templates import BIRTH, LEAD, WAKE, PromptTemplates
from muster.testing.runtime import Starts
from tests.builders import HUMAN, run, settled
from tests.sessions.test_intake import Stage, staged

BORN = '{"name":"Lyra","gridPosition":0,"individuationArtifact":"I <am> Lyra"}'
HERE = '{"agents":[{"name":"Lyra","status":"alive","gridPosition":0}]}'


def lyra(stage: Stage) -> Status:
    team = stage.muster.team
    return team.shown_status(team.agents[SeatId(0)])


def test_a_lead_gets_a_summon_with_appearances_and_without_names() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol("Julian", long_lived=True, seat=LEAD_SEAT)
            lead = await stage.start(LEAD_SEAT)
            assert "[AGENT_REGISTERED]" in lead.launch.prompt  # how to report a birth
            await waking.summon(stage.muster, HUMAN)
            await settled()
            (told,) = lead.told
            assert "[SUMMON AGENTS]" in told
            assert told.count("<seat position=") == len(GRID_SEATS)
            assert "colorName" not in told
            statuses = {stage.muster.team.agents[seat].status for seat in GRID_SEATS}
            assert statuses == {Status.HATCHING}

    run(story())


def test_a_summon_without_a_lead_and_without_a_program_is_refused() -> None:
    async def story() -> None:
        async with staged() as stage:
            with pytest.raises(NobodyToSummon):
                await waking.summon(stage.muster, HUMAN)
            assert stage.muster.team.agents == {}

    run(story())


def test_a_lead_gets_soul_and_transcript_to_wake_a_sleeping_agent() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol("Julian", long_lived=True, seat=LEAD_SEAT)
            lead = await stage.start(LEAD_SEAT)
            await stage.say(lead, ports.Marker(name="AGENT_REGISTERED", body=BORN))
            await stage.send(c.TellHuman(seat=SeatId(0), text="first words"))
            await stage.muster.dispatcher.send(c.SleepAgents(seats=(SeatId(0),)), actor=HUMAN)
            await settled()
            assert lead.told[-1].endswith("[STOP AGENT: Lyra] put to sleep")
            await stage.say(lead, ports.Marker(name="AGENT_STATUS", body='{"agents":[]}'))
            assert lyra(stage) is Status.SLEEPING
            await waking.wake(stage.muster, HUMAN)
            await settled()
            assert "[WAKE AGENTS]\n<agent name=" in lead.told[-1]
            assert "<soul>\nI &lt;am&gt; Lyra\n</soul>" in lead.told[-1]
            assert "<transcript>\n[Lyra]: first words\n</transcript>" in lead.told[-1]
            assert stage.muster.team.agents[SeatId(0)].run.desired is RunMode.CONTINUOUS
            assert len(lead.told) == 2  # one message for all agents
            await stage.say(lead, ports.Marker(name="AGENT_STATUS", body=HERE))
            assert lyra(stage) is Status.ALIVE

    run(story())


@pytest.mark.parametrize("confirmed", [True, False])
def test_a_lead_is_asked_first_about_unconfirmed_agents(confirmed: bool) -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol("Julian", long_lived=True, seat=LEAD_SEAT)
            await stage.send(
                c.RegisterAgent(
                    profile=e.Profile(name="Lyra", grid_position=SeatId(0)), session=None
                )
            )
            started = c.StartMuster(server_session=SessionId("later"), muster_version="0")
            await stage.send(started)
            lead = await stage.start(LEAD_SEAT)
            assert lyra(stage) is Status.UNKNOWN
            woken = asyncio.ensure_future(waking.wake(stage.muster, HUMAN, seats=(SeatId(0),)))
            await settled()
            assert lead.told[-1].endswith(waking.WHO_IS_THERE)
            body = HERE if confirmed else '{"agents":[]}'
            await stage.say(lead, ports.Marker(name="AGENT_STATUS", body=body))
            await woken
            await settled()
            assert ("[WAKE AGENTS]" in lead.told[-1]) is not confirmed

    run(story())


def test_a_lead_that_does_not_answer_delays_a_wake_only_by_the_timeout() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol("Julian", long_lived=True, seat=LEAD_SEAT)
            profile = e.Profile(name="Lyra", grid_position=SeatId(0))
            await stage.send(c.RegisterAgent(profile=profile, session=None))
            started = c.StartMuster(server_session=SessionId("later"), muster_version="0")
            await stage.send(started)
            lead = await stage.start(LEAD_SEAT)
            woken = asyncio.ensure_future(waking.wake(stage.muster, HUMAN))
            await settled()
            stage.clock.advance(waking.ANSWER_SECONDS)
            await woken
            await settled()
            assert "[WAKE AGENTS]" in lead.told[-1]

    run(story())


# ── prompt templates ──────────────────────────────────────────────────────────────────────────────

WORDS = {
    "name": "Lyra",
    "human": "Marcus",
    "seat": 3,
    "color": "#c9b1e8",
    "payload": "<agent/>",
    "wishes": "",
    "origin": "",
}


@pytest.mark.parametrize("letter", [BIRTH, WAKE, LEAD])
def test_a_user_s_prompt_template_replaces_the_built_in_one(letter: str, tmp_path: Path) -> None:
    assert "Marcus" in PromptTemplates().write(letter, **WORDS)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / f"{letter}.md").write_text("Good morning, {human}.\n")
    assert PromptTemplates(tmp_path).write(letter, **WORDS) == "Good morning, Marcus."


@pytest.mark.parametrize("content", [b"{nobody} {", b"{unheard_of}", b"\xff\xfe\xff"])
def test_an_unusable_prompt_template_is_reported_and_the_built_in_one_is_used(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "birth.md").write_bytes(content)
    assert PromptTemplates(tmp_path).write(BIRTH, **WORDS) == PromptTemplates().write(
        BIRTH, **WORDS
    )
    assert "birth" in caplog.text


def test_an_agent_is_asked_for_name_and_soul_at_birth_and_not_when_it_wakes() -> None:
    async def story() -> None:
        async with staged() as stage:
            place = e.Placeholder(grid_position=SeatId(0), color="#1", gender="man")
            stage.runtime.expect(Starts(seat=SeatId(0)))
            summon = c.SummonAgents(placeholders=(place,), authority=Authority.MUSTER)
            await stage.send(summon)
            born = stage.runtime.sessions[SeatId(0)]
            assert '[AGENT_REGISTERED] {"name": "...", "gridPosition": 0' in born.launch.prompt
            await stage.say(born, ports.Marker(name="AGENT_REGISTERED", body=BORN))
            born.exit()
            await settled()
            woken = await stage.start(SeatId(0), RunMode.RUN_ONCE)
            assert "[AGENT_REGISTERED]" not in woken.launch.prompt
            assert "You are Lyra, and you are waking up." in woken.launch.prompt

    run(story())
