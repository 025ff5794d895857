"""The prompts and the reports of sessions: turns, messages to the human, markers."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from muster.app import TeamOptions, run_team
from muster.engine import ports
from muster.errors import StoreFailed
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.backoff import pause_s
from muster.machines.ids import LEAD_SEAT, SeatId
from muster.machines.state import Status, TurnState
from muster.machines.turns.speech import ROUTE
from muster.machines.vocabulary import (
    Authority,
    InterruptMode,
    Outcome,
    Placeholder,
    RunMode,
    TurnConfig,
    Usage,
)
from muster.sessions.session_tokens import SessionTokens
from muster.store.batching import Batch
from muster.store.memory import MemoryStore
from muster.team import Muster
from muster.testing.clock import ManualClock
from muster.testing.ids import CountingIds
from muster.testing.runtime import ScriptedRuntime, ScriptedSession, Starts, Stops
from tests.builders import (
    ADA,
    BEN,
    DESIGN,
    HUMAN,
    logged,
    run,
    seat_of,
    settled,
    want,
    with_agents,
    with_channel,
)


class Stage:
    """An open team whose programs are scripted."""

    def __init__(self, muster: Muster, runtime: ScriptedRuntime, clock: ManualClock) -> None:
        self.muster = muster
        self.runtime = runtime
        self.clock = clock

    async def send(self, command: c.Command) -> None:
        await self.muster.dispatcher.send(command, actor=HUMAN)
        await settled()

    async def enrol(
        self, name: str = "Ada", *, long_lived: bool, seat: SeatId | None = None
    ) -> None:
        authority = Authority.MUSTER
        enrol = c.EnrollAgent(
            name=name, authority=authority, long_lived=long_lived, seat=seat, unasked=True
        )
        await self.send(enrol)

    async def start(
        self, seat: SeatId = ADA, mode: RunMode = RunMode.CONTINUOUS
    ) -> ScriptedSession:
        self.runtime.expect(Starts(seat=seat))
        await want(self.muster.dispatcher, seat, mode)
        await settled()
        return self.runtime.sessions[seat]

    async def say(self, session: ScriptedSession, *said: ports.SessionReport) -> None:
        for each in said:
            await session.say(each)
        await settled()

    async def facts(self, kind: type[e.Fact]) -> list[e.Fact]:
        return [event.fact for event in await logged(self.muster.store, kind)]

    async def said(self) -> list[tuple[str, str | None, str]]:
        """The posts and messages of agents, as (speaker, channel, text)."""
        found = await self.facts(e.AgentMessage)
        return [
            (fact.agent_name, fact.channel, fact.content[0].text)
            for fact in found
            if isinstance(fact, e.AgentMessage)
        ]

    async def rejected(self) -> list[tuple[str, str]]:
        found = await self.facts(e.MarkerRejected)
        return [(f.marker, f.reason) for f in found if isinstance(f, e.MarkerRejected)]

    def state(self, seat: SeatId) -> TurnState:
        return self.muster.team.channels[DESIGN].state_of(seat)


class RecordsNoDelivery(MemoryStore):
    """A store that fails whenever a delivery is written."""

    def _write(self, batch: Batch) -> None:
        if any(event.type == "messages_delivered" for event in batch.events):
            self.fail_next_commit(StoreFailed(detail="disk full"))
        super()._write(batch)


@asynccontextmanager
async def staged(*, speaks: bool = True, store: MemoryStore | None = None) -> AsyncGenerator[Stage]:
    runtime = ScriptedRuntime()
    runtime.is_output_speech = speaks
    store, clock = store or MemoryStore(), ManualClock()
    with runtime:
        options = TeamOptions(human="Marcus", runtimes=runtime)
        async with run_team(store, options, clock=clock, ids=CountingIds()) as muster:
            await settled()
            stage = Stage(muster, runtime, clock)
            yield stage
            for session in muster.team.sessions.values():
                runtime.expect(Stops(seat=session.seats[0], urgency=e.Urgency.NOW))


class TakesNoStatus(MemoryStore):
    """A store that cannot hold the reports of a lead, and everything else."""

    def _write(self, batch: Batch) -> None:
        if any(event.type == "agent_status" for event in batch.events):
            self.fail_next_commit(StoreFailed(detail="integer out of range"))
        super()._write(batch)


class FullStore(MemoryStore):
    """A store that takes nothing while its disk is full."""

    is_full = False

    def _write(self, batch: Batch) -> None:
        if self.is_full:
            self.fail_next_commit(StoreFailed(detail="disk full"))
        super()._write(batch)


# ── what a session is told ────────────────────────────────────────────────────────────────────────


def test_a_session_is_told_who_it_is_and_what_waits_for_it() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=False)
            await stage.send(c.SendMessage(text="look at <this>", speaker_name="Marcus", seat=ADA))
            session = await stage.start()
            prompt = session.launch.prompt
            assert prompt.startswith("You are Ada, in seat 9")
            assert "[Marcus]: look at <this>" in prompt
            assert stage.muster.team.agents[ADA].delivered > 0
            assert session.launch.environment["MUSTER_AGENT"] == "Ada"
            assert "MUSTER_TOKEN" not in session.launch.environment  # no server, no address

    run(story())


def test_a_message_is_delivered_again_if_the_program_did_not_start() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=False)
            await stage.send(c.SendMessage(text="hello", speaker_name="Marcus", seat=ADA))
            stage.runtime.expect(Starts(seat=ADA, fails="no such file"))
            await want(stage.muster.dispatcher, ADA, RunMode.RUN_ONCE)
            await settled()
            assert stage.muster.team.agents[ADA].delivered == 0
            session = await stage.start(mode=RunMode.RUN_ONCE)
            assert "[Marcus]: hello" in session.launch.prompt

    run(story())


def test_a_sleeping_agent_wakes_with_its_soul_and_its_last_nonempty_transcript() -> None:
    async def story() -> None:
        async with staged() as stage:
            place = Placeholder(grid_position=SeatId(0), color="#1", gender="man")
            stage.runtime.expect(Starts(seat=SeatId(0)))
            await stage.send(c.SummonAgents(placeholders=(place,), authority=Authority.MUSTER))
            session = stage.runtime.sessions[SeatId(0)]
            soul = '{"name":"Lyra","gridPosition":0,"individuationArtifact":"I am </soul> & here"}'
            await stage.say(session, ports.Marker(name="AGENT_REGISTERED", body=soul))
            assert stage.muster.team.agents[SeatId(0)].status is Status.ALIVE
            await stage.say(session, ports.AgentText(text="first <words>"))
            session.exit()
            await settled()
            for _ in range(2):  # a life without a word in between is not remembered as one
                session = await stage.start(SeatId(0), RunMode.RUN_ONCE)
                assert "I am &lt;/soul&gt; &amp; here\n</soul>" in session.launch.prompt
                assert "[Lyra]: first &lt;words&gt;\n</transcript>" in session.launch.prompt
                session.exit()
                await settled()

    run(story())


def test_a_program_without_prompts_gets_its_messages_from_the_inbox() -> None:
    async def story() -> None:
        async with staged() as stage:
            stage.runtime.has_initial_prompt = False
            await stage.enrol(long_lived=False)
            await stage.send(c.SendMessage(text="hello", speaker_name="Marcus", seat=ADA))
            session = await stage.start()
            assert session.launch.prompt == ""
            assert stage.muster.team.agents[ADA].delivered == 0

    run(story())


def test_a_cleanup_session_is_told_to_tidy_up() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=False)
            session = await stage.start(mode=RunMode.RUN_CLEANUP)
            assert "cleanup session" in session.launch.prompt

    run(story())


def test_a_one_shot_program_gets_its_turn_in_its_first_prompt() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=False)
            await with_channel(stage.muster.dispatcher, [ADA])
            await stage.send(c.PostMessage(channel=DESIGN, text="ideas?", speaker_name="Marcus"))
            session = await stage.start(mode=RunMode.RUN_ONCE)
            assert "It is your turn in the channel design (turn 1)" in session.launch.prompt
            assert "[Marcus]: ideas?" in session.launch.prompt
            await stage.say(session, ports.Output(stream="stdout", text="a boat"))
            await stage.say(session, ports.Output(stream="stderr", text="(noise)"))
            session.exit()
            await settled()
            assert await stage.said() == [("Ada", "design", "a boat")]
            assert stage.state(ADA) is TurnState.IDLE

    run(story())


def test_a_long_lived_program_is_prompted_with_turns_and_messages_as_they_come() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            await with_channel(stage.muster.dispatcher, [ADA])
            await settled()
            assert [text.splitlines()[0] for text in session.told] == [
                "It is your turn in the channel design (turn 1). Say what you have to say, "
                "and end your turn: with the tool turn_complete if you have it, or else with a "
                "line TURN_COMPLETE."
            ]
            await stage.send(c.SendMessage(text="psst", speaker_name="Marcus", seat=ADA))
            assert session.told[1:] == ["You have new messages:\n[Marcus]: psst"]
            await stage.say(session, ports.Output(stream="stdout", text="done"), ports.TurnDone())
            assert await stage.said() == [("Ada", "design", "done")]
            await stage.send(c.PostMessage(channel=DESIGN, text="again", speaker_name="Marcus"))
            assert session.told[2].startswith("It is your turn in the channel design (turn 2)")

    run(story())


def test_a_prompt_that_a_program_does_not_accept_is_not_recorded_as_delivered() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            session.takes_more = False
            await stage.send(c.SendMessage(text="psst", speaker_name="Marcus", seat=ADA))
            assert stage.muster.team.agents[ADA].delivered == 0

    run(story())


def test_a_message_whose_delivery_could_not_be_recorded_is_sent_again_after_a_backoff() -> None:
    async def story() -> None:
        async with staged(store=RecordsNoDelivery()) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            await stage.send(c.SendMessage(text="psst", speaker_name="Marcus", seat=ADA))
            assert session.told == ["You have new messages:\n[Marcus]: psst"]
            assert stage.muster.team.agents[ADA].delivered == 0

    run(story())


# ── what a session says ───────────────────────────────────────────────────────────────────────────


def test_output_without_a_turn_is_recorded_and_not_posted() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            await stage.say(session, ports.Output(stream="stdout", text="hm", omitted=7))
            (output,) = await stage.facts(e.AgentOutput)
            assert isinstance(output, e.AgentOutput)
            assert (output.text, output.omitted, output.session) == (
                "hm",
                7,
                session.launch.session,
            )
            session.exit()
            await settled()
            assert await stage.said() == []

    run(story())


def test_output_after_a_direct_message_is_the_answer_to_it() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=False)
            await stage.send(c.SendMessage(text="well?", speaker_name="Marcus", seat=ADA))
            session = await stage.start(mode=RunMode.RUN_ONCE)
            await stage.say(session, ports.Output(stream="stdout", text="fine"))
            session.exit()
            await settled()
            assert await stage.said() == [("Ada", None, "fine")]

    run(story())


@pytest.mark.parametrize(
    ("outcome", "code", "returned"),
    [(Outcome.COMPLETED, 0, False), (Outcome.FAILED, 3, True), (Outcome.CRASHED, None, True)],
)
def test_a_banner_of_a_program_that_fails_answers_no_message(
    outcome: Outcome, code: int | None, returned: bool
) -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=False)
            await stage.send(c.SendMessage(text="well?", speaker_name="Marcus", seat=ADA))
            session = await stage.start(mode=RunMode.RUN_ONCE)
            await stage.say(session, ports.Output(stream="stdout", text="Welcome to program 2.0"))
            session.exit(ports.Exit(outcome=outcome, code=code))
            await settled()
            assert await stage.said() == [("Ada", None, "Welcome to program 2.0")]
            agent = stage.muster.team.agents[ADA]
            assert (agent.returned > 0, agent.delivered == 0) == (returned, returned)

    run(story())


def test_plain_output_of_a_program_with_the_line_protocol_is_not_posted() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            await with_channel(stage.muster.dispatcher, [ADA])
            await stage.say(
                session,
                ports.Output(stream="stdout", text="thinking"),
                ports.AgentText(text="a word"),
                ports.Working(),
                ports.TurnDone(text="and the last"),
            )
            said = [("Ada", "design", "a word"), ("Ada", "design", "and the last")]
            assert await stage.said() == said

    run(story())


def test_a_message_that_was_cut_is_posted_with_a_warning_in_its_channel() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            await with_channel(stage.muster.dispatcher, [ADA])
            await settled()
            cut = ports.AgentText(text="elsewhere", channel="chat", cut=True)
            await stage.say(session, cut, ports.TurnDone(text="b" * 1000, cut=True))
            assert await stage.said() == [("Ada", "design", "b" * 1000)]
            (warning,) = await stage.facts(e.WarningLogged)
            assert isinstance(warning, e.WarningLogged)
            assert warning.channel == DESIGN
            beginning = "b" * 200
            assert warning.text == f"a message of Ada was cut to 1,048,576 bytes: {beginning}..."

    run(story())


def test_a_turn_can_wait_and_resume_by_lines() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            await stage.say(session, ports.TurnWaits(reason="nothing"))
            await with_channel(stage.muster.dispatcher, [ADA])
            await stage.say(session, ports.TurnWaits(reason="tests", seconds=10))
            assert stage.state(ADA) is TurnState.WAITING
            await stage.say(session, ports.TurnResumes())
            assert stage.state(ADA) is TurnState.ACTIVE
            assert await stage.rejected() == [("TurnWaits", "it has no turn that could wait")]

    run(story())


def test_a_printed_line_does_not_lift_the_hold_of_a_human() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            interrupt = TurnConfig(human_interrupt_mode=InterruptMode.INTERRUPT)
            await with_channel(stage.muster.dispatcher, [ADA], config=interrupt)
            post = c.PostMessage(channel=DESIGN, text="stop a moment", speaker_name="Marcus")
            await stage.send(post)
            assert stage.state(ADA) is TurnState.WAITING
            await stage.say(session, ports.TurnResumes())
            assert stage.state(ADA) is TurnState.WAITING
            assert await stage.rejected() == [
                (
                    "ResumeTurn",
                    "'Ada' may not resume what a human interrupted. "
                    "It goes on when the human has finished.",
                )
            ]

    run(story())


def test_a_result_ends_the_turn_and_a_one_shot() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start(mode=RunMode.RUN_ONCE)
            stage.runtime.expect(Stops(seat=ADA, urgency=e.Urgency.GRACEFUL))
            await stage.say(session, ports.Result(text="all done"))
            assert await stage.said() == [("Ada", None, "all done")]
            assert stage.muster.team.agents[ADA].run.desired is RunMode.PAUSE

    run(story())


def test_a_result_with_an_implausible_usage_counts_without_it_and_is_recorded() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            for usage in (Usage(input_tokens=10**23), Usage(cost_usd=-5.0), Usage(cost_usd=2.0)):
                await stage.say(session, ports.Result(text="done", usage=usage))
            assert len(await stage.facts(e.SessionResult)) == 3
            assert stage.muster.team.agents[ADA].used == Usage(cost_usd=2.0)
            assert await stage.rejected() == [
                ("result", "its usage is ignored: inputTokens must be 0 to 1000000000000"),
                ("result", "its usage is ignored: costUsd -5 must be 0 to 1000000"),
            ]

    run(story())


def test_late_output_of_an_ended_turn_does_not_affect_the_next() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            await with_channel(stage.muster.dispatcher, [ADA], config=TurnConfig())
            await stage.send(c.CompleteTurn(channel=DESIGN, seat=ADA))
            await stage.say(session, ports.AgentText(text="late", channel="design"))
            assert await stage.said() == []
            (refused,) = await stage.facts(e.CommandRefused)
            assert isinstance(refused, e.CommandRefused)

    run(story())


def test_a_session_acts_for_its_own_seat_whatever_it_claims() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            await with_agents(stage.muster.dispatcher, "Ben")
            await with_channel(stage.muster.dispatcher, [BEN])
            await stage.say(session, ports.AgentText(text="I am Ben", channel="design"))
            assert await stage.said() == []
            assert (await stage.rejected())[0][0] == "Speak"

    run(story())


# ── markers ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("marker", "reason"),
    [
        (ports.Marker(name="AGENT_STATUS", body='{"agents": 3}'), "is malformed"),
        (ports.Marker(name="AGENT_REGISTERED", body="not json"), "is malformed"),
        (ports.Marker(name="AGENT_REGISTERED", body='{"a":' * 100_000), "is malformed"),
        (ports.Marker(name="AGENT_STATUS", body='{"agents": []}'), "the lead"),
        (ports.BadLine(line='{"type":"say"}', reason="no text"), "no text"),
        (
            ports.Marker(name="AGENT_REGISTERED", body='{"name":"Eve","gridPosition":3}'),
            "cannot speak for",
        ),
    ],
)
def test_a_rejected_marker_is_recorded_with_the_reason(
    marker: ports.SessionReport, reason: str
) -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            before = stage.muster.team.agents
            await stage.say(session, marker)
            ((_, why),) = await stage.rejected()
            assert reason in why
            assert stage.muster.team.agents.keys() == before.keys()

    run(story())


def test_the_lead_reports_who_is_in_its_team() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol("Julian", long_lived=True, seat=LEAD_SEAT)
            lead = await stage.start(LEAD_SEAT)
            born = '{"name":"Lyra","gridPosition":0,"individuationArtifact":"I"}'
            await stage.say(lead, ports.Marker(name="AGENT_REGISTERED", body=born))
            lyra = seat_of(stage.muster.team, "Lyra")
            assert stage.muster.team.agents[lyra].status is Status.ALIVE
            await stage.say(lead, ports.Marker(name="AGENT_STATUS", body='{"agents":[]}'))
            assert stage.muster.team.agents[lyra].status is Status.SLEEPING

    run(story())


def test_the_lead_passes_on_what_an_agent_inside_it_says() -> None:
    """Requirement 72: the answer of a relayed message stood in the lead's own thread."""

    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol("Julian", long_lived=True, seat=LEAD_SEAT)
            lead = await stage.start(LEAD_SEAT)
            born = '{"name":"Lyra","gridPosition":0}'
            await stage.say(lead, ports.Marker(name="AGENT_REGISTERED", body=born))
            said = '{"name":"lyra","text":"good day"}'
            await stage.say(lead, ports.Marker(name="AGENT_SAYS", body=said))
            await stage.send(c.RenameAgent(seat=SeatId(0), name="Uma"))
            lead.exit()
            await settled()
            lead = await stage.start(LEAD_SEAT)  # Lyra sleeps, and its new name holds
            await stage.say(lead, ports.Marker(name="AGENT_SAYS", body=said))
            stranger = '{"name":"Nobody","text":"x"}'
            await stage.say(lead, ports.Marker(name="AGENT_SAYS", body=stranger))
            assert await stage.said() == [("Lyra", None, "good day"), ("Uma", None, "good day")]
            [(marker, reason)] = await stage.rejected()
            assert (marker, "Nobody" in reason) == ("[AGENT_SAYS]", True)

    run(story())


def test_a_status_report_answers_orders_and_not_a_message_that_is_to_be_passed_on() -> None:
    """The lead was killed after its report, and the message was never handed over again."""

    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol("Julian", long_lived=True, seat=LEAD_SEAT)
            lead = await stage.start(LEAD_SEAT)
            for name, seat in (("Quill", 0), ("Nova", 1)):
                born = f'{{"name":"{name}","gridPosition":{seat}}}'
                await stage.say(lead, ports.Marker(name="AGENT_REGISTERED", body=born))
            status = ports.Marker(name="AGENT_STATUS", body='{"agents":[]}')
            seqs: list[int] = []
            for text in ("[AGENT_STATUS?]", "Quill", "Nova", "Quill"):
                routed = text if text[0] == "[" else ROUTE.format(name=text, text="come")
                speaker = "muster" if text[0] == "[" else "Marcus"
                await stage.send(c.SendMessage(text=routed, speaker_name=speaker))
                seqs.append(stage.muster.team.agents[LEAD_SEAT].last_message)
            order, first, second, third = seqs

            async def after(marker: ports.Marker) -> int:
                await stage.say(lead, marker)
                return stage.muster.team.agents[LEAD_SEAT].read

            def says(name: str) -> ports.Marker:
                return ports.Marker(name="AGENT_SAYS", body=f'{{"name":"{name}","text":"yes"}}')

            assert order <= await after(status) < first
            assert order <= await after(says("Julian")) < first  # not one of its agents
            assert first <= await after(says("quill")) < second
            assert await after(says("Nova")) == third
            await stage.send(c.SendMessage(text="[AGENT_STATUS?]", speaker_name="muster"))
            assert await after(status) == stage.muster.team.agents[LEAD_SEAT].last_message

    run(story())


@pytest.mark.parametrize("seat", [-1, 100_000, 2**63, 10**23])
def test_a_registration_for_an_impossible_seat_is_rejected_and_later_reports_are_handled(
    seat: int,
) -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol("Julian", long_lived=True, seat=LEAD_SEAT)
            lead = await stage.start(LEAD_SEAT)
            absurd = f'{{"name":"Inf","gridPosition":{seat}}}'
            await stage.say(lead, ports.Marker(name="AGENT_REGISTERED", body=absurd))
            born = '{"name":"Lyra","gridPosition":0}'
            await stage.say(lead, ports.Marker(name="AGENT_REGISTERED", body=born))
            assert stage.muster.team.agents.keys() == {LEAD_SEAT, 0}
            why = f"gridPosition {seat} must be 0 to 99999."
            assert await stage.rejected() == [("[AGENT_REGISTERED]", why)]

    run(story())


def test_a_report_that_fails_is_recorded_and_later_reports_are_handled() -> None:
    async def story() -> None:
        async with staged(speaks=False) as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            await stage.say(session, ports.AgentText(text=cast("str", 7)))
            await stage.say(session, ports.AgentText(text="hello"))
            assert await stage.said() == [("Ada", None, "hello")]
            ((what, why),) = await stage.rejected()
            assert (what, "could not be handled" in why) == ("AgentText", True)

    run(story())


# ── passes ────────────────────────────────────────────────────────────────────────────────────────


def test_a_session_token_is_valid_until_its_session_ends() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.enrol(long_lived=True)
            session = await stage.start()
            passes, name = SessionTokens("secret"), session.launch.session
            secret = passes.issue(name)
            token = passes.token_of(stage.muster.team, secret)
            assert token is not None
            assert token.seat == ADA
            assert SessionTokens("other").token_of(stage.muster.team, secret) is None
            assert passes.token_of(stage.muster.team, secret[:-1]) is None
            assert passes.token_of(stage.muster.team, "something else") is None
            stage.runtime.expect(Stops(seat=ADA, urgency=e.Urgency.NOW))
            await want(stage.muster.dispatcher, ADA, RunMode.PAUSE, now=True)
            await settled()
            assert passes.token_of(stage.muster.team, secret) is None

    run(story())


def test_what_the_store_refuses_twice_is_set_aside_on_record_and_the_next_line_is_heard() -> None:
    """A marker that the log cannot hold made muster deaf to the lead for ever."""

    async def story() -> None:
        async with staged(store=TakesNoStatus()) as stage:
            await stage.enrol("Julian", long_lived=True, seat=LEAD_SEAT)
            lead = await stage.start(LEAD_SEAT)
            saying = asyncio.ensure_future(
                stage.say(lead, ports.Marker(name="AGENT_STATUS", body='{"agents":[]}'))
            )
            await settled()
            stage.clock.advance(pause_s(1))
            await saying
            ((marker, reason),) = await stage.rejected()
            assert marker == "[AGENT_STATUS]"
            assert "set aside" in reason
            assert "integer out of range" in reason
            born = '{"name":"Lyra","gridPosition":0}'
            await stage.say(lead, ports.Marker(name="AGENT_REGISTERED", body=born))
            assert stage.muster.team.agents[SeatId(0)].status is Status.ALIVE

    run(story())


def test_a_store_that_takes_nothing_at_all_is_tried_until_it_does() -> None:
    async def story() -> None:
        store = FullStore()
        async with staged(store=store) as stage:
            await stage.enrol("Julian", long_lived=True, seat=LEAD_SEAT)
            lead = await stage.start(LEAD_SEAT)
            store.is_full = True
            born = ports.Marker(name="AGENT_REGISTERED", body='{"name":"Lyra","gridPosition":0}')
            saying = asyncio.ensure_future(stage.say(lead, born))
            for failures in range(1, 4):
                await settled()
                stage.clock.advance(pause_s(failures))
            store.is_full = False
            await settled()
            stage.clock.advance(pause_s(4))
            await saying
            assert stage.muster.team.agents[SeatId(0)].status is Status.ALIVE

    run(story())
