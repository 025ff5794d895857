"""Hostile markers and documents: none hangs muster, none is lost silently, none wedges the intake.

The markers go through the intake of a lead's session into a real log, the documents through the
import. Everything random comes from one number, which a failure prints.
"""

import json
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from muster.app import TeamOptions, run_team
from muster.engine import ports
from muster.engine.dispatcher import Receipt
from muster.errors import MusterError
from muster.identity.importing import import_team
from muster.machines.commands import EnrollAgent, ImportTeam
from muster.machines.events import Event
from muster.machines.ids import LEAD_SEAT, SeatId
from muster.machines.kernel.invariants import violations
from muster.machines.teams.importing import message_copy
from muster.machines.teams.papers import document_of
from muster.machines.vocabulary import Authority, RunMode, Status, Urgency
from muster.store.codec import decode
from muster.store.sqlite import SqliteStore
from muster.testing.clock import ManualClock
from muster.testing.ids import CountingIds
from muster.testing.runtime import ScriptedRuntime, Starts, Stops
from muster.views.paper import documents_in, messages_in, read_paper, write_paper
from tests.builders import HUMAN, run, settled, want
from tests.sessions.test_intake import Stage

Json = Any  # any JSON value

MARKERS = 600
DOCUMENTS = 400

NUMBERS = (
    0,
    1,
    3,
    4,
    8,
    9,
    -1,
    99_999,
    100_000,
    2**31,
    2**53,
    2**63 - 1,
    2**63,
    2**64,
    10**30,
    1.5,
)
WORDS = (
    *(
        "",
        "Lyra",
        "LYRA",
        "Kael",
        "Lyra-3",
        ".",
        "..",
        "../x",
        "MAIN",
        "Marcus",
        "Marcus in x",
        "a/b",
        "x" * 64,
    ),
    *("x" * 65, "\x00", "\x1b[31m", "\u202e", "\u2028", "\ud800", "\uffff", "</soul>", "]]>"),
    *("&" * 300, "x" * 501, "x" * 300_000, "[AGENT_STATUS] {}", "\U0001f600" * 64, "null", "alive"),
)
TIMES = (
    *("2025-12-16T00:00:00.000Z", "2025-12-16T00:00:00", "0001-01-01T00:00:00Z", "yesterday"),
    *("9999-12-31T23:59:59+14:00", "1969-12-31T23:59:59Z", "2026-02-16", "2026-02-30T00:00:00Z"),
)
OTHERS: tuple[Json, ...] = (
    None,
    True,
    [],
    {},
    [[[]]],
    {"eyes": 7},
    {"eyes": "x" * 1000, "mouth": "m"},
)


def anything(chance: random.Random) -> Json:
    kinds: tuple[tuple[Json, ...], ...] = (NUMBERS, WORDS, TIMES, OTHERS)
    return chance.choice(chance.choice(kinds))


def profile(chance: random.Random, hostile: int) -> Json:
    """A registration with so many hostile fields."""
    good = {
        "name": chance.choice(("Lyra", "Kael", "Zora", "Vega", "Orion")),
        "gridPosition": chance.choice((0, 1, 2, 3, 5)),
        "color": "#c9b1e8",
        "colorName": "Violet",
        "gender": "woman",
        "individuationArtifact": "a soul",
        "faceVariant": {"eyes": "standard", "mouth": "gentle"},
        "createdAt": "2025-12-16T00:00:00.000Z",
    }
    for field in chance.sample(sorted(good), hostile):
        good[field] = anything(chance)
    return good


def status(chance: random.Random) -> Json:
    entries = [
        {"name": anything(chance), "gridPosition": anything(chance), "status": anything(chance)}
        if chance.random() < 0.5
        else {"gridPosition": chance.choice((0, 1, 2)), "status": "alive"}
        for _ in range(chance.randint(0, 4))
    ]
    return {"agents": anything(chance) if chance.random() < 0.2 else entries}


def mangled(text: str, chance: random.Random) -> str:
    """JSON, or JSON with something broken in it."""
    if chance.random() < 0.8:
        return text
    at = chance.randrange(len(text) + 1)
    return chance.choice((text[:at], text[:at] + "\x00" + text[at:], text * 2, "[" * 5000, "NaN"))


def a_marker(chance: random.Random) -> ports.Marker:
    if chance.random() < 0.6:
        body = json.dumps(profile(chance, chance.randint(0, 3)))
        return ports.Marker(name="AGENT_REGISTERED", body=mangled(body, chance))
    if chance.random() < 0.3:
        said = {"name": anything(chance), "text": anything(chance)}
        name = chance.choice(("AGENT_SAYS", "AGENT_REMEMBERS", "AGENT_AWAKE"))
        return ports.Marker(name=name, body=mangled(json.dumps(said), chance))
    return ports.Marker(name="AGENT_STATUS", body=mangled(json.dumps(status(chance)), chance))


def a_paper(chance: random.Random) -> bytes:
    """The file of another machine, hostile in places."""
    document = {
        **profile(chance, chance.choice((0, 0, 1))),
        "type": "agent-identity",
        "status": chance.choice(("alive", "sleeping", "hatching", "expired", "unknown")),
        "lastAliveAt": chance.choice(TIMES[:2]),
        "lastSessionId": "elsewhere",
    }
    message = {
        "type": "message",
        "speakerName": "Lyra",
        "speakerType": "agent",
        "targetAgent": None,
        "text": "hello",
        "serverSessionId": "elsewhere",
        "createdAt": chance.choice(TIMES[:2]),
    }
    if chance.random() < 0.3:  # the successor of a retired agent, or one that claims to be
        document["place"] = chance.choice((0, 3, 4, -1, anything(chance)))
        document["gridPosition"] = chance.choice((0, 1000, 1003, 2000))
    if chance.random() < 0.3:  # acts of a person on the other machine, or what claims to be some
        for field in ("renamedAt", "soulEditedAt"):
            document[field] = chance.choice((*TIMES, "8999-12-31T23:59:59Z", None))
        document["bornAs"] = chance.choice(WORDS)
    for each in (document, message):
        for field in chance.sample(sorted(each), chance.choice((0, 0, 0, 1))):
            each[field] = anything(chance)
    if chance.random() < 0.3:
        message["id"] = chance.choice(("elsewhere:1", "elsewhere:0", "x", "", f"e:{'9' * 200}"))
    text = json.dumps({"documents": [document], "messages": [message]})
    return mangled(text, chance).encode("utf-8", "surrogatepass")


@asynccontextmanager
async def a_team(home: Path) -> AsyncGenerator[Stage]:
    """A team with a real log, whose lead is scripted and up."""
    runtime, clock = ScriptedRuntime(), ManualClock()
    store = await SqliteStore.open(home)
    try:
        with runtime:
            options = TeamOptions(human="Marcus", runtimes=runtime)
            async with run_team(store, options, clock=clock, ids=CountingIds()) as muster:
                await settled()
                stage = Stage(muster, runtime, clock)
                enrol = EnrollAgent(
                    name="Julian", authority=Authority.MUSTER, seat=LEAD_SEAT, long_lived=True
                )
                await muster.dispatcher.send(enrol, actor=HUMAN)
                runtime.expect(Starts(seat=LEAD_SEAT))
                await want(muster.dispatcher, LEAD_SEAT, RunMode.CONTINUOUS)
                await until(lambda: LEAD_SEAT in runtime.sessions)
                yield stage
                runtime.expect(Stops(seat=LEAD_SEAT, urgency=Urgency.NOW))
    finally:
        await store.close()


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await settled()


async def events(stage: Stage, after: int) -> list[Event]:
    found = await stage.muster.store.read(after=after, limit=10_000)
    return [decode(each.data) for each in found]


HEARD = {
    *("agent_registered", "agent_status", "agent_message", "note_remembered"),
    *("marker_rejected", "command_refused"),
}


@pytest.mark.parametrize("number", range(2))
def test_no_marker_hangs_muster_or_is_lost_without_a_word(number: int, tmp_path: Path) -> None:
    async def story() -> None:
        chance = random.Random(number)
        async with a_team(tmp_path) as stage:
            lead, team = stage.runtime.sessions[LEAD_SEAT], stage.muster.team
            for index in range(MARKERS // 2):
                before, marker = stage.muster.team.seq, a_marker(chance)
                await lead.say(marker)  # returns when it is handled
                heard = {event.type for event in await events(stage, before)}
                assert heard & HEARD, (number, index, marker)
                team = stage.muster.team
                assert not list(violations(team)), (number, index, marker)
            free = next(seat for seat in range(10, 99) if seat not in team.agents)
            good = {"name": "The last", "gridPosition": free, "individuationArtifact": "here"}
            await lead.say(ports.Marker(name="AGENT_REGISTERED", body=json.dumps(good)))
            assert stage.muster.team.agents[SeatId(free)].status is Status.ALIVE
            await imports_its_own_export(stage)

    run(story())


@pytest.mark.parametrize("number", range(2))
def test_no_document_hangs_muster_or_breaks_the_team(number: int, tmp_path: Path) -> None:
    async def story() -> None:
        chance = random.Random(number)
        async with a_team(tmp_path) as stage:
            refusals: list[int] = []
            for index in range(DOCUMENTS // 2):
                paper = a_paper(chance)
                try:
                    await imported(stage, paper)
                except MusterError as refused:
                    refusals.append(refused.status)
                assert not list(violations(stage.muster.team)), (number, index, paper)
            assert set(refusals) <= {400, 409, 422}  # of these files, not of muster
            assert 20 < len(refusals) < DOCUMENTS // 2 - 20  # the files are of both kinds
            await imports_its_own_export(stage)

    run(story())


async def imported(stage: Stage, content: bytes) -> bool:
    paper = read_paper(content, "the file")
    documents, messages = documents_in(paper), messages_in(paper)

    async def send(command: ImportTeam) -> Receipt:
        return await stage.muster.dispatcher.send(command, actor=HUMAN)

    return bool((await import_team(stage.muster, send, documents, messages)).events)


async def imports_its_own_export(stage: Stage) -> None:
    """What a team exports, it takes in again: nothing was stored that a document cannot hold."""
    team = stage.muster.team
    documents = [document_of(agent) for agent in team.agents.values()]
    copies = filter(None, (message_copy(event, team) for event in await events(stage, 0)))
    content = write_paper(team.human, documents, copies)
    assert msgspec.json.decode(content)
    assert not await imported(stage, content)
