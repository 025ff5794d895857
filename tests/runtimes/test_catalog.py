"""The catalog: an agent is run as its settings say, and not at all where there are none."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from muster.engine.ports import Launch
from muster.machines.identity.palette import PALETTE
from muster.machines.ids import SeatId
from muster.machines.state import Agent
from muster.machines.vocabulary import Placeholder, RunMode
from muster.runtimes.catalog import RuntimeCatalog, TaskRuntimeCatalog
from muster.runtimes.claude.runtime import ClaudeRuntime
from muster.runtimes.command import CommandRuntime
from muster.settings.agents import AgentSettings
from muster.settings.in_force import SettingsInForce
from muster.settings.model import DelegationSettings, Settings, SummonSettings
from muster.team import births_of
from tests.builders import run
from tests.runtimes.programs import Listener, new_session

SETTINGS = Settings(
    agents={
        "Ada": AgentSettings(command=("pwd",), cwd="work"),
        "Bo": AgentSettings(command=("pwd",), speaks="lines"),
        "Cy": AgentSettings(runtime="file"),
    }
)


def an_agent(name: str | None) -> Agent:
    return Agent(seat=SeatId(9), name=name)


def test_an_agent_has_one_runtime_whatever_the_case_of_its_name(tmp_path: Path) -> None:
    find = RuntimeCatalog(SettingsInForce(SETTINGS), tmp_path)
    assert find(an_agent("Ada")) is not None
    assert find(an_agent("ada")) is find(an_agent("Ada"))
    assert find(an_agent("Bo")) is not find(an_agent("Ada"))


def test_an_agent_that_muster_does_not_run_has_none(tmp_path: Path) -> None:
    find = RuntimeCatalog(SettingsInForce(SETTINGS), tmp_path)
    assert [find(an_agent(name)) for name in ("Cy", "Dee", None)] == [None, None, None]


def test_what_a_program_prints_is_what_it_says_unless_its_settings_say_otherwise(
    tmp_path: Path,
) -> None:
    find = RuntimeCatalog(SettingsInForce(SETTINGS), tmp_path)
    ada, bo = find(an_agent("Ada")), find(an_agent("Bo"))
    assert ada is not None
    assert bo is not None
    assert (ada.is_output_speech, bo.is_output_speech) == (True, False)


def test_a_program_works_in_the_folder_that_holds_the_home_or_as_seen_from_there(
    tmp_path: Path,
) -> None:
    (tmp_path / "work").mkdir()

    async def scene() -> None:
        listener = Listener()
        for name in ("Ada", "Bo"):
            runtime = RuntimeCatalog(SettingsInForce(SETTINGS), tmp_path / ".muster")(
                an_agent(name)
            )
            assert runtime is not None
            launch = Launch(session=new_session(), agent=an_agent(name), mode=RunMode.RUN_ONCE)
            await (await runtime.start(launch, listener)).wait()
        assert listener.lines() == [str(tmp_path / "work"), str(tmp_path)]

    run(scene())


def found(settings: Settings, home: Path) -> RuntimeCatalog:
    return RuntimeCatalog(SettingsInForce(settings), home)


def test_an_agent_of_a_claude_code_lead_is_run_as_its_lead_is(tmp_path: Path) -> None:
    lead = AgentSettings(runtime="claude", seat=4, cwd="work")
    settings = Settings(agents={"Julian": lead, "Ada": AgentSettings(command=("pwd",))})
    lyra = Agent(seat=SeatId(0), name="Lyra", hosted=True)
    assert isinstance(found(settings, tmp_path)(lyra), ClaudeRuntime)
    assert found(settings, tmp_path)(replace(lyra, hosted=False)) is None
    inside = replace(settings, summon=SummonSettings(sessions="lead"))
    assert found(inside, tmp_path)(lyra) is None
    command = AgentSettings(command=("x",), seat=4)
    assert found(replace(settings, agents={"Julian": command}), tmp_path)(lyra) is None


def test_a_summon_prepares_the_seats_that_the_settings_ask_for() -> None:
    summon = SummonSettings(
        seats=2, names=("Ada",), roles=("codes", "tests"), colors=("", "#fff"), genders=("man",)
    )
    assert births_of(Settings(summon=summon)).places == (
        Placeholder(
            grid_position=SeatId(0), color="#c9b1e8", gender="man", name="Ada", role="codes"
        ),
        Placeholder(grid_position=SeatId(1), color="#fff", gender="man", role="tests"),
    )
    assert births_of(Settings()).places == PALETTE


def test_a_task_is_run_by_the_command_or_else_by_claude_code_if_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kind(**rules: object) -> type[object] | None:
        settings = Settings(delegation=replace(DelegationSettings(), **rules))
        found = TaskRuntimeCatalog(SettingsInForce(settings), tmp_path)(an_agent("builder"))
        return None if found is None else type(found)

    assert kind(command=("true",)) is CommandRuntime
    assert kind() is ClaudeRuntime, "it comes with the extra that tests are run with"
    assert kind(runtime="claude", command=("true",)) is ClaudeRuntime
    assert kind(runtime="command") is None

    def missing(name: str) -> None:
        """No package is installed."""

    monkeypatch.setattr("muster.runtimes.claude.program.find_spec", missing)
    assert kind() is None
    assert kind(runtime="claude") is ClaudeRuntime, "its start says what to install"
