"""Tables of muster.toml that are removed, come back, exchange names or come from elsewhere: each is
run as the agent that it was about, with its soul, notes and words. Real servers and files."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.test_live_settings import STAYS, Team
from tests.acceptance.test_two_machines import exported, taken_in
from tests.asking import asker
from tests.homes import muster
from tests.live import live
from tests.waits import until
from tests.web.teams import command

OLD = f"[agents.old]\nsoul = 'I am the first.'\n{STAYS}"
NEW = f"[agents.new]\nformerly = ['old']\n{STAYS}"
OTHER = f"[agents.other]\n{STAYS}"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "team" / ".muster"
    path.mkdir(mode=0o700, parents=True)
    return path


@contextmanager
def up(home: Path) -> Generator[Team]:
    with live(home) as server, asker(server, server.token) as boss:
        yield Team(home, server, boss)


def lived(team: Team) -> None:
    """The agent `old` has a note and words."""
    team.boss.post("/api/agents/old/notes", {"text": "the plan"}, 201)
    team.boss.post("/api/agents/old/messages", {"message": "I was here"}, 201)


def retired(team: Team) -> list[int]:
    agents = team.boss.get("/api/agents?retired=true")["agents"]
    return [each["seat"] for each in agents if each["retired"]]


def is_itself(team: Team, name: str = "new") -> None:
    """The agent has seat, soul, notes and words of `old`, and is the only one of them."""
    agent = team.agent(name)
    assert (agent["seat"], agent["formerNames"]) == (9, ["old"])
    payload = team.boss.get(f"/api/agents/{name}/wake-payload")["payload"]
    assert (payload["soul"], payload["notes"]) == ("I am the first.", ["the plan"])
    thread = team.boss.get(f"/api/agents/{name}/messages")["messages"]
    assert [each["text"] for each in thread] == ["I was here"]
    assert sorted(team.names()) == sorted([name, "other"])
    assert team.boss.get("/api/state")["settingsProblem"] == ""


# ── coming back ───────────────────────────────────────────────────────────────────────────────────


def test_a_table_that_comes_back_under_a_new_name_while_muster_runs(home: Path) -> None:
    """It was a new agent: soul, notes and words stayed with the retired one."""
    (home / "muster.toml").write_text(OLD + OTHER)
    with up(home) as team:
        lived(team)
        team.write(OTHER)
        until(lambda: retired(team) == [9])
        team.write(NEW + OTHER)
        until(lambda: "new" in team.names())
        is_itself(team)
        assert team.run("new")["desired"] == "pause"
        assert retired(team) == []
        assert team.started("new")


def test_a_table_that_comes_back_under_a_new_name_while_muster_is_down(home: Path) -> None:
    (home / "muster.toml").write_text(OLD + OTHER)
    with up(home) as team:
        lived(team)
    (home / "muster.toml").write_text(OTHER)
    with up(home) as team:
        assert retired(team) == [9]
    (home / "muster.toml").write_text(NEW + OTHER)
    for _ in range(2):
        with up(home) as team:
            is_itself(team)


def test_an_import_meanwhile_brings_no_second_one(home: Path, tmp_path: Path) -> None:
    """The export is of the time before; another machine may have renamed the agent in it."""
    file = home / "muster.toml"
    file.write_text(OLD + OTHER)
    with up(home) as team:
        lived(team)
        before = tmp_path / "before.json"
        exported(home, before)
        file.write_text(OTHER)
        until(lambda: retired(team) == [9])
        taken_in(home, before)
        assert (team.names(), retired(team)) == (["other"], [9])
        team.write(NEW + OTHER)
        until(lambda: "new" in team.names())
        is_itself(team)
        taken_in(home, before)
        is_itself(team)


def test_an_agent_that_another_machine_renamed_comes_back_by_its_table(
    home: Path, tmp_path: Path
) -> None:
    """The document has the new name already when the table comes back."""
    (home / "muster.toml").write_text(OLD + OTHER)
    there = tmp_path / "there" / ".muster"
    there.mkdir(mode=0o700, parents=True)
    (there / "muster.toml").write_text(NEW.replace("formerly = ['old']\n", "") + OTHER)
    after = tmp_path / "after.json"
    with up(there):
        exported(there, after)
    with up(home) as team:
        lived(team)
        team.write(OTHER)
        until(lambda: retired(team) == [9])
        taken_in(home, after)
        team.write(NEW + OTHER)
        until(lambda: "new" in team.names())
        is_itself(team)


def test_by_the_command_line_an_agent_is_removed_added_and_renamed(home: Path) -> None:
    at = ("--home", str(home))
    (home / "muster.toml").write_text(OLD + OTHER)
    with up(home) as team:
        lived(team)
        assert muster("agent", "remove", "old", "--yes", *at).returncode == 0
        until(lambda: retired(team) == [9])
        done = muster("agent", "add", "old", *at, "--", "sleep", "600")
        assert done.returncode == 0, done.stderr
        done = muster("agent", "rename", "old", "new", *at)
        assert done.returncode == 0, done.stderr
        is_itself(team)


# ── exchanging names ──────────────────────────────────────────────────────────────────────────────


def test_two_tables_that_exchange_their_names_while_muster_is_down_keep_their_agents(
    home: Path,
) -> None:
    """Each agent was run by the program of the other, with the other's settings."""
    file = home / "muster.toml"
    file.write_text("".join(f"[agents.{name}]\nsoul = 'I am {name}.'\n{STAYS}" for name in "ab"))
    with up(home) as team:
        assert [team.agent(name)["seat"] for name in "ab"] == [9, 10]
    file.write_text(f"[agents.b]\nformerly = ['a']\n{STAYS}[agents.a]\nformerly = ['b']\n{STAYS}")
    assert "cannot be followed" not in muster("status", "--home", str(home)).stdout
    for _ in range(2):
        with up(home) as team:
            assert [team.agent(name)["seat"] for name in "ab"] == [10, 9]
            assert muster("soul", "a", "--home", str(home)).stdout.strip() == "I am b."
            assert team.boss.get("/api/state")["settingsProblem"] == ""
            assert retired(team) == []


def test_names_are_not_exchanged_while_the_agents_run_and_nothing_is_mixed_up(home: Path) -> None:
    file = home / "muster.toml"
    file.write_text("".join(f"[agents.{name}]\ncolor = '{name}'\n{STAYS}" for name in "ab"))
    with up(home) as team:
        pids = [team.started(name) for name in "ab"]
        swapped = f"[agents.b]\nformerly = ['a']\n{STAYS}[agents.a]\nformerly = ['b']\n{STAYS}"
        team.write(swapped)
        until(lambda: "exchange its name" in team.boss.get("/api/state")["settingsProblem"])
        assert [team.run(name)["session"]["pid"] for name in "ab"] == pids
        assert [team.agent(name)["seat"] for name in "ab"] == [9, 10]
    with up(home) as team:
        assert [team.agent(name)["seat"] for name in "ab"] == [10, 9]
        assert team.boss.get("/api/state")["settingsProblem"] == ""


def test_a_change_of_former_names_alone_is_followed_while_muster_runs(home: Path) -> None:
    """It was followed at the next start only."""
    a, b, stays = (f"[agents.{name}]\n{{}}{STAYS}" for name in ("a", "b", "c"))
    file = (a + b + stays).format
    (home / "muster.toml").write_text(file("", "", ""))
    with up(home) as team:
        team.write(file("formerly = ['b']\n", "formerly = ['a']\n", ""))
        until(lambda: team.agent("a")["seat"] == 10)
        assert [team.agent(name)["seat"] for name in "bc"] == [9, 11]
        applied = team.facts("settings_applied")
        assert applied[-1]["changes"] == ["agents.a.formerly", "agents.b.formerly"]
        assert (retired(team), team.boss.get("/api/state")["settingsProblem"]) == ([], "")


def test_a_copied_table_has_an_agent_when_its_note_is_removed(home: Path) -> None:
    """`muster status` says to do so; its complaint was gone, and there was no agent."""
    (home / "muster.toml").write_text(OLD)
    with up(home) as team:
        assert muster("agent", "rename", "old", "new", "--home", str(home)).returncode == 0
        rest = (home / "muster.toml").read_text() + f"[agents.old]\n{STAYS}"
        team.write(rest)
        until(lambda: "old" in team.names())
        team.write(rest + NEW.replace("new", "copy"))
        until(lambda: "'copy'" in team.boss.get("/api/state")["settingsProblem"])
        team.write(rest + f"[agents.copy]\n{STAYS}")
        until(lambda: "copy" in team.names())
        assert sorted(team.names()) == ["copy", "new", "old"]
        assert team.boss.get("/api/state")["settingsProblem"] == ""


# ── tables from elsewhere ─────────────────────────────────────────────────────────────────────────

LEAD = """
import sys
print('[AGENT_REGISTERED] {"name": "Lyra", "gridPosition": 0, "individuationArtifact": "I"}')
print('[AGENT_STATUS] {"agents": [{"name": "Lyra", "gridPosition": 0}]}', flush=True)
for line in sys.stdin:
    pass
"""


def test_a_copied_table_with_a_former_name_leaves_the_agent_of_a_lead_alone(home: Path) -> None:
    julian = "[agents.Julian]\nseat = 4\nlong_lived = true\n" + command(home, "lead", LEAD)
    copied = f"[agents.Zoe]\nformerly = ['Lyra']\n{STAYS}"
    (home / "muster.toml").write_text(julian)
    with up(home) as team:
        team.started("Julian")
        until(lambda: "Lyra" in team.names())
        team.boss.post("/api/agents", {"name": "Otto"}, 201)
        team.write(julian + copied + copied.replace("Zoe", "Ann").replace("Lyra", "Otto"))
        until(lambda: {"Zoe", "Ann"} <= set(team.names()))
        assert (team.agent("Otto")["seat"], team.agent("Otto")["authority"]) == (9, "self")
        assert (team.agent("Lyra")["seat"], team.agent("Lyra")["authority"]) == (0, "lead")
        assert team.agent("Zoe")["seat"] == 10
    with up(home) as team:  # and while it sleeps
        assert (team.agent("Lyra")["seat"], team.agent("Zoe")["seat"]) == (0, 10)


def test_a_copied_table_does_not_take_the_agent_that_has_a_table_of_its_own(home: Path) -> None:
    """The agent became the copy, with its notes and words, and its own table a newcomer."""
    at = ("--home", str(home))
    (home / "muster.toml").write_text(OLD + OTHER)
    with up(home) as team:
        done = muster("agent", "rename", "old", "new", *at)
        assert done.returncode == 0, done.stderr
        team.write((home / "muster.toml").read_text() + f"[agents.old]\n{STAYS}")
        until(lambda: "old" in team.names())
        lived(team)
        team.write((home / "muster.toml").read_text() + NEW.replace("new", "copy"))
        until(lambda: "'copy'" in team.boss.get("/api/state")["settingsProblem"])
        assert "'old'" in team.boss.get("/api/state")["settingsProblem"]
    for _ in range(2):
        with up(home) as team:
            assert sorted(team.names()) == ["new", "old", "other"]
            assert [team.agent(name)["seat"] for name in ("new", "old")] == [9, 11]
            assert team.boss.get("/api/agents/old/wake-payload")["payload"]["notes"] == ["the plan"]
            assert "'copy'" in muster("status", *at).stdout
            assert "'copy'" in muster("doctor", *at).stdout
