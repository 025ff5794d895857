"""The desk of a running team: seats by their tokens, reminders, souls, and the team's session."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from muster.app import DelegationPlan, Muster, TeamOptions, open_team
from muster.claude_plugin.hooks.desk import HookDesk
from muster.delegation import session_folder
from muster.delegation.agent_folders import read_agents
from muster.delegation.following.owner import Keeper
from muster.delegation.visiting import is_keeper_alive, team_in
from muster.http.auth import new_token
from muster.machines import events as e
from muster.machines.commands import (
    CompleteTurn,
    EnrollAgent,
    ImportTeam,
    OpenConversation,
    PostMessage,
    ReportTaken,
    SendMessage,
)
from muster.machines.ids import LEAD_SEAT, MUSTER, SeatId, person
from muster.machines.turns.speech import framed_soul
from muster.machines.vocabulary import (
    Authority,
    DelegationMode,
    Role,
    RunMode,
    Taken,
    Urgency,
)
from muster.permissions.policy import DEFAULT
from muster.settings.model import Settings, TeamSettings
from muster.testing.runtime import ScriptedRuntime, Starts, Stops
from tests.builders import ADA, BEN, DESIGN, HUMAN, eventually, logged, run, want, with_channel
from tests.claude_plugin.playing import PYTHON, Claude, Project
from tests.machines.teams.papers import paper

SETTINGS = Settings(team=TeamSettings(human="Marcus"))
CODE = {"file_path": "foo.py", "content": "x"}

MESSAGE = "You have new messages:\n[Marcus]: "


class Team:
    """A team that is open, and its desks."""

    def __init__(self, muster: Muster, project: Project, runtime: ScriptedRuntime) -> None:
        self.runtime = runtime
        self.muster = muster
        self.project = project
        self.conversations = muster.requests.conversations
        self.hooks = HookDesk.of_team(muster, project.home, SETTINGS)
        self.root = project.folder / "session"

    async def open(self, mode: DelegationMode = DelegationMode.ORCHESTRATOR) -> None:
        """Open a session in the team's own log."""
        session_folder.prepare(self.root)
        folders = [self.project.folder / ".claude" / "agents"]
        await session_folder.start(
            self.conversations.log_provider,
            root=self.root,
            mode=mode,
            agents=read_agents(folders).agents,
            folders=folders,
            policy=DEFAULT,
            actor=HUMAN,
        )

    async def run(self, name: str, seat: SeatId, soul: str = "") -> Claude:
        """Enrol somebody whose program muster runs, and let it run."""
        enrol = EnrollAgent(name=name, seat=seat, authority=Authority.MUSTER, long_lived=True)
        await self.muster.dispatcher.send(enrol, actor=HUMAN)
        if soul:
            documents = (paper(seat, name, soul),)
            await self.muster.dispatcher.send(ImportTeam(documents=documents), actor=HUMAN)
        await want(self.muster.dispatcher, seat, RunMode.CONTINUOUS)
        await eventually(lambda: seat in self.runtime.sessions)
        token = self.muster.session_tokens.issue(self.runtime.sessions[seat].launch.session)
        return Claude(self.project, f"session-of-{name}", token=token, desk=self.hooks)

    async def says(self, text: str) -> str:
        """Say something to the lead; give the prompt with which muster tells it."""
        session = self.runtime.sessions[LEAD_SEAT]
        before = len(session.told)
        said = SendMessage(text=text, speaker_name="Marcus", seat=LEAD_SEAT)
        await self.muster.dispatcher.send(said, actor=HUMAN)
        await eventually(lambda: len(session.told) > before)
        return session.told[-1]

    def person(self, session: str = "a-person") -> Claude:
        return Claude(self.project, session, desk=self.hooks)


@asynccontextmanager
async def a_team(base: Path, *seats: SeatId) -> AsyncGenerator[Team]:
    """A team in which these seats will have programs."""
    project = Project(base)
    starts = [Starts(seat=seat) for seat in seats]
    stops = [Stops(seat=seat, urgency=Urgency.NOW) for seat in seats]
    with ScriptedRuntime(*starts, *stops) as runtime:
        plan = DelegationPlan(is_alive=is_keeper_alive, serves_queue=True)
        options = TeamOptions(human="Marcus", runtimes=runtime, delegation=plan)
        async with open_team(project.home, options) as muster:
            yield Team(muster, project, runtime)


def test_a_person_is_main_in_the_teams_own_session(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path) as team:
            await team.open()
            claude = team.person()
            assert str(team.root) in await claude.prompt(PYTHON)
            assert "Delegate it to builder" in await claude.tool("Write", CODE)
            await claude.task("builder", "Write it")
            await claude.start("builder", "a1")
            await claude.done("builder", "a1", "Written.")
            await claude.stop("There it is.")
            [view] = (await team.conversations.views()).values()
            assert [(step.source, step.target) for step in view.trace] == [
                ("MAIN", "builder"),
                ("builder", "MAIN"),
            ]
            assert (view.outcome, view.speaker) == ("answered", "Marcus")
            lines = (team.root / "conversations/messages.jsonl").read_text().splitlines()
            assert json.loads(lines[0])["agents_used"] == ["builder"]

    run(play())


def test_the_teams_session_goes_on_without_its_server_and_in_the_next_one(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path) as team:
            await team.open()
            await team.person().prompt(PYTHON)
        alone = Claude(team.project, "a-person")
        assert "Delegate it to builder" in await alone.tool("Write", CODE)
        await alone.task("builder", "Write it")
        await alone.start("builder", "a1")
        await alone.done("builder", "a1", "Written.")
        await alone.stop("There it is.")
        others = (Claude(team.project, f"other-{number}") for number in range(4))
        told = await asyncio.gather(*(each.prompt(PYTHON) for each in others))
        assert all(str(team.root) in each for each in told)
        assert not (team.root / ".muster" / "team.db").exists()
        async with a_team(tmp_path) as again:
            first, *more = (await again.conversations.views()).values()
            assert (first.outcome, len(first.trace), len(more)) == ("answered", 2, 4)
            await session_folder.end(again.conversations.log_provider, actor=HUMAN)
        assert await alone.tool("Write", CODE) == ""
        assert await alone.prompt(PYTHON) == ""

    run(play())


def test_without_a_session_of_its_own_the_projects_session_counts(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path) as team:
            claude = team.person()
            assert await claude.tool("Write", CODE) == ""
            assert await claude.prompt(PYTHON) == ""
            await team.project.start()
            await claude.prompt(PYTHON)
            assert "Delegate it to builder" in await claude.tool("Write", CODE)
            await claude.stop()
            [view] = await team.project.views()
            assert view.outcome == "answered"

    run(play())


def test_many_hooks_of_many_programs_are_answered_at_once(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path) as team:
            await team.open()

            async def one(number: int) -> None:
                claude = team.person(f"person-{number}")
                await claude.prompt(PYTHON)
                await claude.task("builder", "Write it")
                await asyncio.gather(*(claude.start("builder", f"{number}{i}") for i in "ab"))
                assert await claude.tool("Write", CODE, by=f"{number}a") == ""
                await asyncio.gather(
                    *(claude.done("builder", f"{number}{i}", "Written.") for i in "ab")
                )
                await claude.stop()

            await asyncio.gather(*(one(number) for number in range(5)))
            views = (await team.conversations.views()).values()
            assert len(views) == 5
            assert {view.outcome for view in views} == {"answered"}

    run(play())


def test_the_lead_is_main_and_its_conversation_is_its_seats(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path, LEAD_SEAT) as team:
            claude = await team.run("Lead", LEAD_SEAT)
            assert await claude.tool("Write", CODE) == ""
            await team.open()
            opening = team.runtime.sessions[LEAD_SEAT].launch.prompt
            for other in (opening, "It is your turn in the channel design.", f"{MESSAGE}{PYTHON}"):
                assert await claude.prompt(other) == ""  # no person has said that
            assert await claude.prompt(await team.says("[WAKE AGENTS]")) == ""  # muster obeys that
            prompt = await team.says(PYTHON)
            await claude.prompt(f"{opening}\n\n{prompt}")  # a program may join its inputs
            assert team.muster.team.agents[LEAD_SEAT].conversation == "conv_001"
            [view] = (await team.conversations.views()).values()
            assert view.text == PYTHON
            assert "MAIN may not" in await claude.tool("Write", CODE)
            assert await claude.tool("Write", CODE, by="a1") == ""
            assert await claude.tool("mcp__muster__turn_complete", {}) == ""
            assert await team.person().tool("mcp__muster__turn_complete", {}) != ""
            assert await claude.stop() == {}
            assert not team.muster.team.delegation.conversations

    run(play())


def test_any_other_seat_is_an_agent_and_so_are_its_subagents(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path, ADA) as team:
            claude = await team.run("Ada", ADA)
            await team.open()
            assert await claude.prompt(PYTHON) == ""
            assert await claude.start("builder", "a1") == ""
            assert await claude.tool("Write", CODE) == ""
            policy = {"AGENTS": {"Ada": {"cannot_write": ["*.py"]}}}
            (team.root / "permissions.json").write_text(json.dumps(policy))
            assert "Ada may not" in await claude.tool("Write", CODE)
            assert "Ada may not" in await claude.tool("Write", CODE, by="a1")
            await claude.done("builder", "a1", "Done.")
            await claude.wrote(tmp_path / "x.md", by="a1")
            await claude.hook("SessionEnd", reason="other")
            assert not await team.conversations.views()
            [first, _] = await logged(team.muster.store, e.WarningLogged)
            assert isinstance(first.fact, e.WarningLogged)
            assert first.fact.seat == ADA
            assert "agent.write.cannot-write" in first.fact.text

    run(play())


def test_an_agent_that_still_has_the_turn_is_reminded_once(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path, ADA, BEN) as team:
            ada, ben = await team.run("Ada", ADA), await team.run("Ben", BEN)
            await with_channel(team.muster.dispatcher, [ADA, BEN])
            say = PostMessage(channel=DESIGN, text="hello", speaker_name="Grace")
            await team.muster.dispatcher.send(say, actor=MUSTER)
            await eventually(lambda: team.muster.team.channels[DESIGN].turn)
            turn = team.muster.team.channels[DESIGN].turn
            assert turn is not None
            assert turn.holder == ADA
            assert await ada.stop() == {}  # it does not know of its turn yet
            session = team.muster.team.agents[ADA].session
            assert session is not None
            taken = ReportTaken(
                session=session, how=Taken.STARTED, text="It is your turn", channels=(DESIGN,)
            )
            await team.muster.dispatcher.send(taken, actor=MUSTER)
            said = await ada.stop()
            assert said["decision"] == "block"
            assert "turn_complete" in said["reason"]
            assert "design" in said["reason"]
            assert await ada.hook("Stop", stop_hook_active=True) == {}
            assert await ben.stop() == {}
            epoch = team.muster.team.channels[DESIGN].epoch
            done = CompleteTurn(channel=DESIGN, seat=ADA, epoch=epoch)
            await team.muster.dispatcher.send(done, actor=MUSTER)
            assert await ada.stop() == {}

    run(play())


def test_an_unknown_token_may_not_call_a_tool(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path, ADA) as team:
            claude = await team.run("Ada", ADA)
            token = claude.token
            for wrong in ("nobody", token[:-1], token + "\ud800"):
                claude.token = wrong
                assert "is over" in await claude.tool("Read", {"file_path": "x"})
                assert await claude.prompt(PYTHON) == ""
                assert await claude.stop() == {}
        alone = Claude(Project(tmp_path / "alone"), token=token)
        assert "is over" in await alone.tool("Read", {"file_path": "x"})

    run(play())


def test_a_person_who_has_a_token_of_the_team_is_a_person(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path) as team:
            await team.open()
            command, secret = new_token(team.muster.ids, Role.OPERATOR, note="mine")
            await team.muster.dispatcher.send(command, actor=HUMAN)
            claude = team.person()
            claude.token = secret
            assert "MAIN may not" in await claude.tool("Write", CODE)

    run(play())


def test_a_seat_is_told_its_soul_when_it_may_have_forgotten_it(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path, ADA, BEN) as team:
            ada, ben = await team.run("Ada", ADA, "I count."), await team.run("Ben", BEN)
            for source in ("resume", "compact"):
                told = await ada.told("SessionStart", source=source)
                assert told == framed_soul("Ada", "I count.")
                assert await ben.told("SessionStart", source=source) == ""
            assert await ada.told("SessionStart", source="startup") == ""

    run(play())


def test_a_person_who_sits_for_the_lead_is_told_its_soul(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path) as team:
            claude = team.person()
            assert await claude.told("SessionStart", source="startup") == ""
            enrol = EnrollAgent(name="Grace", seat=LEAD_SEAT, authority=Authority.MUSTER)
            await team.muster.dispatcher.send(enrol, actor=HUMAN)
            paper_of_lead = paper(LEAD_SEAT, "Grace", "I lead.")
            await team.muster.dispatcher.send(ImportTeam(documents=(paper_of_lead,)), actor=HUMAN)
            told = await claude.told("SessionStart", source="startup")
            assert told == framed_soul("Grace", "I lead.")
            await team.open()
            both = await claude.told("SessionStart", source="compact")
            assert both.startswith(told)
            assert "[State: MAIN] A muster session is open in" in both
            home, folder = team.project.home, team.project
        found = team_in(home)
        assert found is not None
        assert found.agents[LEAD_SEAT].soul == "I lead."
        assert await Claude(folder).told("SessionStart", source="startup") == both

    run(play())


def test_a_conversation_of_a_dead_program_in_the_teams_log_is_closed_by_the_next(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        async with a_team(tmp_path) as team:
            await team.open()
            dead = str(Keeper("dead", 2**22 - 1, "1@never"))
            opening = OpenConversation(text="x", speaker_name="Marcus", keeper=dead)
            await team.muster.dispatcher.send(opening, actor=person("Marcus"))
            await team.conversations.recover()
            assert not team.muster.team.delegation.conversations

    run(play())


def test_in_response_mode_the_server_itself_serves_the_queue(tmp_path: Path) -> None:
    async def play() -> None:
        async with a_team(tmp_path) as team:
            await team.open(DelegationMode.RESPONSE)
            told = await team.person().prompt(PYTHON)
            assert "waits in the queue for builder" in told
            assert "MAIN may not" in await team.person().tool("Write", CODE)

    run(play())
