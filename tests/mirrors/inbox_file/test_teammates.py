"""Agents inside an interactive lead: their own inboxes, and the lead where nobody reads."""

import json
import os
import subprocess
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from muster.machines.commands import (
    EnrollAgent,
    RegisterAgent,
    ReportSessionStarted,
    ReportStatus,
    RestoreAgent,
    RetireAgent,
)
from muster.machines.events import MessageRouted
from muster.machines.ids import LEAD_SEAT, SeatId, SessionId
from muster.machines.vocabulary import Authority, DeliveryWay, Profile, RunMode, StatusEntry
from muster.mirrors.inbox_file import agent, files
from muster.mirrors.inbox_file.teammates import teammate_inboxes
from tests.builders import HUMAN, logged, run, want
from tests.mirrors.inbox_file.test_files import Desk

Json = Any  # any JSON value


class Lead:
    """A lead in a process of its own, with the folders of an interactive Claude Code."""

    def __init__(self, desk: Desk, configuration: Path) -> None:
        self.desk = desk
        self.configuration = configuration
        self.process: subprocess.Popen[bytes]

    @property
    def session(self) -> SessionId:
        found = self.desk.dispatcher.team.agents[LEAD_SEAT].session
        assert found is not None
        return found

    @property
    def inboxes(self) -> Path:
        return self.configuration / "teams" / "session-1" / "inboxes"

    async def start(self) -> None:
        send = self.desk.dispatcher.send
        enrol = EnrollAgent(
            name="Julian", authority=Authority.MUSTER, seat=LEAD_SEAT, long_lived=True
        )
        await send(enrol, actor=HUMAN)
        await want(self.desk.dispatcher, LEAD_SEAT, RunMode.CONTINUOUS)
        variables = {"MUSTER_SESSION": self.session, "CLAUDE_CONFIG_DIR": str(self.configuration)}
        self.process = a_process(variables)
        up = ReportSessionStarted(session=self.session, pid=self.process.pid, started="1")
        await send(up, actor="muster")
        profile = Profile(name="Lyra", grid_position=SeatId(0), individuation_artifact="I")
        await send(RegisterAgent(profile=profile, session=self.session), actor="agent:Julian")

    async def reports(self, *seats: SeatId) -> None:
        entries = tuple(StatusEntry(grid_position=seat) for seat in seats)
        report = ReportStatus(agents=entries, session=self.session)
        await self.desk.dispatcher.send(report, actor="agent:Julian")

    def names_team(self, *members: str, pid: int | None = None) -> None:
        self.inboxes.mkdir(parents=True, exist_ok=True)
        config: Json = {
            "leadAgentId": "team-lead@session-1",
            "leadProcess": {"pid": pid or self.process.pid},
            "members": [
                {"name": name, "agentId": f"{name}@session-1"} for name in ("team-lead", *members)
            ],
        }
        (self.inboxes.parent / "config.json").write_text(json.dumps(config))

    def inbox(self) -> list[Json]:
        path = self.inboxes / "lyra.json"
        return json.loads(path.read_bytes()) if path.exists() else []


def a_process(variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"], env={**os.environ, **variables})


@asynccontextmanager
async def led(desk: Desk, tmp_path: Path) -> AsyncGenerator[Lead]:
    await desk.prepare()
    lead = Lead(desk, tmp_path / "claude")
    await lead.start()
    try:
        async with desk.followed():
            yield lead
    finally:
        lead.process.kill()
        lead.process.wait()


async def ways(desk: Desk) -> list[tuple[int, DeliveryWay]]:
    facts = [event.fact for event in await logged(desk.store, MessageRouted)]
    return [(fact.message, fact.way) for fact in facts if isinstance(fact, MessageRouted)]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "inboxes")


def test_a_teammate_is_written_to_in_its_own_inbox_and_has_read_what_is_gone(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FILE_POLL_SECONDS", 0.02)

    async def story() -> None:
        async with led(desk, tmp_path) as lead:
            first = await desk.say("Lyra", "before the team was known")
            await desk.until(lambda: desk.agent("Lyra").delivered == first)
            assert desk.texts("Lyra") == ["before the team was known"]
            lead.names_team("lyra")
            await desk.until(lambda: len(lead.inbox()) == 1)  # it moves along
            second = await desk.say("Lyra", "hello")
            await desk.until(lambda: [each["text"] for each in lead.inbox()][1:] == ["hello"])
            await desk.until(lambda: desk.agent("Lyra").delivered == second)
            assert (desk.texts("Lyra"), desk.agent("Lyra").read) == ([], 0)
            (lead.inboxes / "lyra.json").write_text("[]")
            await desk.until(lambda: desk.agent("Lyra").read == second)
        both = DeliveryWay.TEAMMATE_INBOX
        assert await ways(desk) == [(first, both), (second, both)]
        assert await desk.to_lead() == []

    run(story())


def test_what_nobody_reads_in_time_goes_through_the_lead_once(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "INBOX_READ_SECONDS", 0.3)

    async def story() -> None:
        async with led(desk, tmp_path):
            read = await desk.say("Lyra", "read in time")
            await desk.until(lambda: desk.agent("Lyra").delivered == read)
            desk.write("lyra", [{**each, "read": True} for each in desk.items("Lyra")])
            await desk.until(lambda: desk.agent("Lyra").read == read)
            late = await desk.say("Lyra", "nobody reads this")
            await desk.until(lambda: desk.agent("Lyra").routed)
            await desk.until(lambda: desk.texts("Lyra") == ["read in time"])
        assert await desk.to_lead() == ["[ROUTE TO AGENT: Lyra]\nnobody reads this"]
        assert await ways(desk) == [(late, DeliveryWay.LEAD)]
        (warning,) = await desk.warnings()
        assert f"nobody has read message {late}" in warning

    run(story())


def test_what_was_said_to_a_sleeping_agent_goes_through_the_lead_when_it_is_awake_and_does_not_read(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the same time to read as for a message that comes while it is awake."""
    monkeypatch.setattr(agent, "INBOX_READ_SECONDS", 0.3)
    monkeypatch.setattr(files, "FILE_POLL_SECONDS", 0.02)

    async def story() -> None:
        async with led(desk, tmp_path) as lead:
            await lead.reports()
            asleep = await desk.say("Lyra", "said in the night")
            await desk.until(lambda: desk.agent("Lyra").delivered == asleep)
            await lead.reports(SeatId(0))
            woken = desk.clock.monotonic()
            await desk.until(lambda: desk.agent("Lyra").routed)
            assert desk.clock.monotonic() - woken >= 0.3
        assert await desk.to_lead() == ["[ROUTE TO AGENT: Lyra]\nsaid in the night"]

    run(story())


def test_the_namesake_of_a_retired_agent_does_not_find_its_messages(
    desk: Desk, tmp_path: Path
) -> None:
    """They move to a file of their own, also after a crash, and back when the agent is back."""

    async def story() -> None:
        aside = desk.folder / "lyra~0.json"
        async with led(desk, tmp_path) as lead:
            await lead.reports()
            private = await desk.say("Lyra", "for your eyes")
            await desk.until(lambda: desk.agent("Lyra").delivered == private)
            kept = desk.path("Lyra").read_bytes()
            await desk.dispatcher.send(RetireAgent(seat=SeatId(0)), actor=HUMAN)
            await desk.until(lambda: not desk.items("Lyra"))
            await desk.until(lambda: "for your eyes" in texts(aside))
        desk.path("Lyra").write_bytes(kept)  # as if muster had been killed before it moved them
        async with desk.followed():
            await desk.until(lambda: not desk.items("Lyra"))
            await desk.dispatcher.send(RestoreAgent(seat=SeatId(0)), actor=HUMAN)
            await desk.until(lambda: desk.texts("Lyra") == ["for your eyes"])
            await desk.until(lambda: texts(aside) == [])

    run(story())


def texts(path: Path) -> list[str]:
    try:
        return [each["text"] for each in json.loads(path.read_bytes())]
    except (OSError, ValueError):
        return []


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"members": 3}', b"\xff", b'{"leadProcess": {}}']
)
def test_what_is_not_the_file_of_a_team_is_no_team(content: bytes, tmp_path: Path) -> None:
    variables = {"MUSTER_SESSION": "s-1", "CLAUDE_CONFIG_DIR": str(tmp_path)}
    folder = tmp_path / "teams" / "x"
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(content)
    with a_process(variables) as process:
        assert teammate_inboxes(process.pid, SessionId("s-1")) == {}
        process.kill()
    assert teammate_inboxes(process.pid, SessionId("s-1")) == {}  # it is gone


def test_the_team_of_another_session_and_hostile_names_are_left_alone(tmp_path: Path) -> None:
    variables = {"MUSTER_SESSION": "s-1", "CLAUDE_CONFIG_DIR": str(tmp_path)}
    with a_process(variables) as process, a_process({"MUSTER_SESSION": "s-2"}) as other:
        lead = Lead(Desk(tmp_path), tmp_path)
        lead.process = process
        lead.names_team("lyra", pid=other.pid)
        assert teammate_inboxes(process.pid, SessionId("s-1")) == {}
        assert teammate_inboxes(process.pid, SessionId("s-2")) == {}
        lead.names_team("lyra", "../escape", "..")
        found = teammate_inboxes(process.pid, SessionId("s-1"))
        assert found == {"lyra": lead.inboxes / "lyra.json"}
        process.kill()
        other.kill()
