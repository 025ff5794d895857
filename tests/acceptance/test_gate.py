"""A paused or disabled agent never runs: every way there is to start it, with real programs."""

import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest

from muster.app import open_configured
from muster.claude_plugin.hooks.calls import HookCall
from muster.claude_plugin.hooks.desk import HookDesk
from muster.cli.run.serving import serving
from muster.errors import Disabled, Paused
from muster.http.server import listen, url_of
from muster.machines import commands as c
from muster.machines import events as e
from muster.machines.commands import Command
from muster.machines.ids import ChannelId, SeatId, person
from muster.machines.state import Team
from muster.machines.vocabulary import DelegationMode, RunMode, TurnConfig
from muster.settings.model import Settings, load_settings
from muster.team import Muster
from tests.builders import eventually, logged, run
from tests.delegation.stage import AGENTS, PYTHON, agent_file

TIDY = "tidy"
TASK = "Please tidy up these folders and files"
BOSS = person("Marcus")
DESIGN = ChannelId("design")


class Stage:
    """A team with an agent that must not run, which leaves a mark where it does."""

    def __init__(self, base: Path, *, handing: bool = False) -> None:
        self.base = base
        self.home = base / ".muster"
        self.home.mkdir()
        self.mark = base / "mark"
        agent_file(base / "agents", TIDY, "Use to tidy up folders and files.")
        agent_file(base / "agents", "python-engineer", AGENTS["python-engineer"])
        runs = [sys.executable, "-c", f"open({str(self.mark)!r}, 'w').close()"]
        hands = [sys.executable, "-c", f"print('[HANDOFF {TIDY}] it knows folders')"]
        self._written = (
            '[team]\nhuman = "Marcus"\n'
            f"[agents.{TIDY}]\ncommand = {json.dumps(runs)}\n"
            f"[delegation]\ncommand = {json.dumps(hands if handing else runs)}\n"
        )
        (self.home / "muster.toml").write_text(self._written)
        self.url = ""

    @property
    def settings(self) -> Settings:
        return load_settings(self.home, {})

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Muster]:
        """The whole of `muster up`, in this process."""
        with listen("127.0.0.1", 0) as listener:
            self.url = url_of(listener)
            async with (
                open_configured(self.home, self.settings, url=self.url) as muster,
                serving(self.home, muster, self.settings, listener),
            ):
                yield muster

    async def session(self, muster: Muster, mode: DelegationMode) -> None:
        await muster.requests.open_session(
            mode=mode, path=f"session-{mode}", agents=("agents",), actor=BOSS
        )

    def file(self, desired: str) -> None:
        """Write the agent's state file, as a person with an editor does."""
        path = self.home / "agents" / TIDY / "agent_state.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(".new")
        aside.write_text(json.dumps({"desired_state": desired, "current_state": "continuous"}))
        aside.replace(path)


def seat(team: Team) -> SeatId:
    return team.names[TIDY]


async def send(muster: Muster, *commands: Command) -> None:
    for command in commands:
        await muster.dispatcher.send(command, actor=BOSS)


async def forbid(muster: Muster, how: str) -> None:
    """An agent of the settings is paused when it is new; one that is disabled should else run."""
    if how == "disabled":
        tidy = seat(muster.team)
        await send(
            muster,
            c.DisableAgent(seat=tidy),
            c.SetDesired(seat=tidy, desired=RunMode.CONTINUOUS, set_by="Marcus"),
        )


# ── the ways ──────────────────────────────────────────────────────────────────────────────────────

Way = Callable[[Stage, Muster], Awaitable[None]]


async def by_turn(stage: Stage, muster: Muster) -> None:
    tidy = seat(muster.team)
    await send(muster, c.CreateChannel(channel=DESIGN, config=TurnConfig()))
    with suppress(Disabled):  # who is disabled cannot even join
        await send(muster, c.AddMember(channel=DESIGN, seat=tidy))
    message = c.PostMessage(channel=DESIGN, text="Your turn!", speaker_name="Marcus")
    await send(muster, message)


async def by_message(stage: Stage, muster: Muster) -> None:
    await send(muster, c.SendMessage(seat=seat(muster.team), text="Hello?", speaker_name="Marcus"))


async def by_retry(stage: Stage, muster: Muster) -> None:
    with pytest.raises((Paused, Disabled)):
        await send(muster, c.StartSession(seat=seat(muster.team), trigger="retry"))


async def by_restart(stage: Stage, muster: Muster) -> None:
    """Nothing to do: every way is followed by a restart."""


async def by_file(stage: Stage, muster: Muster) -> None:
    """The file says what is wanted already, and that the agent runs, which it does not."""
    paused = muster.team.agents[seat(muster.team)].run.desired is RunMode.PAUSE
    stage.file("pause" if paused else "continuous")


async def by_api(stage: Stage, muster: Muster) -> None:
    await stage.session(muster, DelegationMode.ORCHESTRATOR)
    token = (stage.home / "operator.token").read_text().strip()
    async with httpx.AsyncClient(base_url=stage.url, timeout=60) as http:
        answer = await http.post(
            "/api/conversations",
            json={"text": TASK, "to": TIDY},
            headers={"Authorization": f"Bearer {token}"},
        )
    said = answer.json()
    assert (said["outcome"], said["trace"]) == ("failed", [])
    assert "lets it run" in said["answer"]


async def by_ask(stage: Stage, muster: Muster) -> None:
    await stage.session(muster, DelegationMode.ORCHESTRATOR)
    view = await muster.requests.ask(TASK, speaker="Marcus")
    assert view.route is not None
    assert (view.route.agent, view.outcome) == (TIDY, "failed")
    assert "lets it run" in view.answer


async def by_handover(stage: Stage, muster: Muster) -> None:
    await stage.session(muster, DelegationMode.INTERACTIVE)
    view = await muster.requests.ask(PYTHON, speaker="Marcus")
    assert [step.target for step in view.trace] == ["python-engineer", "MAIN"]
    assert f"the hand-over to {TIDY} was refused" in view.answer
    assert "lets it run" in view.answer


async def by_queue(stage: Stage, muster: Muster) -> None:
    await stage.session(muster, DelegationMode.RESPONSE)
    view = await muster.requests.ask(TASK, speaker="Marcus")
    assert (view.state, view.outcome) == ("QUEUE", None)
    assert "lets it run" in view.waits_because
    assert await muster.requests.queue.carry_out((), until_empty=True) == 0


async def by_hook(stage: Stage, muster: Muster) -> None:
    """An input that waits in the queue, and a subagent of that name."""
    await stage.session(muster, DelegationMode.RESPONSE)
    desk = HookDesk.of_team(muster, stage.home, stage.settings)

    async def hook(event: str, **fields: object) -> str:
        data = {"session_id": "s", "cwd": str(stage.base), "hook_event_name": event, **fields}
        call = HookCall(
            event=event, project=stage.base, token="", pid=0, data=json.dumps(data).encode()
        )
        return (await desk.answer(call)).text

    assert TIDY in await hook("UserPromptSubmit", prompt=TASK)
    assert await muster.requests.queue.carry_out((), until_empty=True) == 0
    task = {"subagent_type": TIDY, "description": "tidy up", "prompt": TASK}
    denied = await hook("PreToolUse", tool_name="Task", tool_input=task)
    assert "lets it run" in denied


WAYS: dict[str, Way] = {
    "turn": by_turn,
    "message": by_message,
    "retry": by_retry,
    "restart": by_restart,
    "file": by_file,
    "api": by_api,
    "ask": by_ask,
    "handover": by_handover,
    "queue": by_queue,
    "hook": by_hook,
}


@pytest.mark.parametrize("how", ["paused", "disabled"])
@pytest.mark.parametrize("way", WAYS)
def test_a_paused_or_disabled_agent_never_runs_whatever_asks(
    tmp_path: Path, way: str, how: str
) -> None:
    async def play() -> None:
        stage = Stage(tmp_path, handing=way == "handover")
        async with stage.open() as muster:
            await forbid(muster, how)
            await WAYS[way](stage, muster)
        async with stage.open() as muster:  # what was asked for before counts no more after
            tidy = seat(muster.team)
            begun = [each.fact for each in await logged(muster.store, e.SessionRequested)]
            assert tidy not in {fact.seat for fact in begun if isinstance(fact, e.SessionRequested)}
            assert not stage.mark.exists()

    run(play())


def test_a_person_wakes_a_paused_agent_but_not_a_disabled_one(tmp_path: Path) -> None:
    """WAKE is a person's word that an agent may run; for a disabled one it is not enough."""

    async def play() -> None:
        stage = Stage(tmp_path)
        async with stage.open() as muster:
            tidy = seat(muster.team)
            await send(muster, c.DisableAgent(seat=tidy))
            with pytest.raises(Disabled):
                await send(muster, c.WakeAgents(seats=(tidy,)))
            assert not muster.team.sessions
            await send(muster, c.EnableAgent(seat=tidy), c.WakeAgents(seats=(tidy,)))
            await eventually(stage.mark.exists)

    run(play())
