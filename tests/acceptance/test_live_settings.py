"""A changed muster.toml is taken up by a running muster, and an agent is edited without an editor:
real servers, real programs, real files."""

import os
import re
import resource
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from muster.runtimes.process import processes
from tests.asking import Asker, asker
from tests.homes import MUSTER_SCRIPT, environment, muster
from tests.live import Server, live
from tests.waits import WAIT_SECONDS, until

Json = Any  # any JSON value

STAYS = 'command = ["sleep", "600"]\n'


class Team:
    """A server, its home, and what a person sees of its settings."""

    def __init__(self, home: Path, server: Server, boss: Asker) -> None:
        self.home, self.server, self.boss = home, server, boss
        self.file = home / "muster.toml"

    def write(self, text: str) -> None:
        """Save the file as an editor does: aside, then renamed."""
        aside = self.file.with_suffix(".new")
        aside.write_text(text)
        aside.replace(self.file)

    def settings(self) -> Json:
        return self.boss.get("/api/settings")

    def names(self) -> list[str]:
        return [each["name"] for each in self.boss.get("/api/agents")["agents"]]

    def agent(self, name: str) -> Json:
        return self.boss.get(f"/api/agents/{name}")

    def run(self, name: str) -> Json:
        return self.boss.get(f"/api/agents/{name}/run")

    def facts(self, kind: str) -> list[Json]:
        return self.boss.get(f"/api/log?types={kind}&limit=1000")["events"]

    def started(self, name: str) -> int:
        """The pid of an agent that a person starts."""
        self.boss.asked("PUT", f"/api/agents/{name}/run", 200, json={"desired": "continuous"})
        return self.pid(name)

    def pid(self, name: str) -> int:
        """The pid of an agent that is being started."""
        until(lambda: self.run(name)["session"] and self.run(name)["session"]["pid"])
        return self.run(name)["session"]["pid"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "team" / ".muster"
    path.mkdir(mode=0o700, parents=True)
    return path


@pytest.fixture
def team(home: Path) -> Generator[Team]:
    with live(home) as server, asker(server, server.token) as boss:
        yield Team(home, server, boss)


def is_alive(pid: int) -> bool:
    return processes.start_time(pid) is not None


# ── the file ──────────────────────────────────────────────────────────────────────────────────────


def test_an_agent_that_is_added_to_the_file_is_there_without_a_restart(team: Team) -> None:
    assert team.file.read_text().startswith("# muster.toml")  # written by `muster up`
    team.write(f"[agents.fresh]\n{STAYS}")
    until(lambda: team.names() == ["fresh"])
    assert is_alive(team.started("fresh"))
    [applied] = team.facts("settings_applied")
    assert (applied["changes"], applied["actor"]) == (["agents.fresh added"], "muster")


def test_a_mistake_is_shown_with_its_line_and_the_old_settings_stay_until_it_is_corrected(
    team: Team,
) -> None:
    good = f"[agents.fresh]\n{STAYS}"
    team.write(good)
    until(lambda: team.names() == ["fresh"])
    team.write(good + "colour = 3\n")
    until(lambda: team.settings()["problem"] is not None)
    problem = team.settings()["problem"]
    assert (problem["line"], "Did you mean color?" in problem["remedy"]) == (3, True)
    assert team.boss.get("/api/state")["settingsProblem"].startswith("muster.toml line 3: ")
    shown = muster("status", "--home", str(team.home))
    assert "muster.toml line 3" in shown.stdout
    assert team.names() == ["fresh"]
    team.write(good + 'color = "teal"\n')
    until(lambda: team.settings()["problem"] is None)
    assert team.boss.get("/api/state")["settingsProblem"] == ""
    assert [each["line"] for each in team.facts("settings_rejected")] == [3]


def test_a_file_that_is_written_in_steps_causes_no_false_error_and_dismisses_nobody(
    team: Team,
) -> None:
    text = "".join(f"[agents.a{number}]\n{STAYS}\n" for number in range(20))
    team.write(text)
    until(lambda: len(team.names()) == 20)
    for _ in range(5):
        with team.file.open("w") as file:  # in place: it is empty, then half, then whole
            for start in range(0, len(text), 100):
                file.write(text[start : start + 100])
                file.flush()
    team.write(text + f"[agents.last]\n{STAYS}")
    until(lambda: "last" in team.names())
    assert team.facts("settings_rejected") == []
    assert team.facts("agent_dismissed") == []


def test_a_file_that_is_gone_dismisses_nobody(team: Team) -> None:
    team.write(f"[agents.fresh]\n{STAYS}")
    until(lambda: team.names() == ["fresh"])
    team.file.unlink()
    until(lambda: team.settings()["problem"] is not None)
    assert "is gone" in team.settings()["problem"]["what"]
    told = muster("status", "--home", str(team.home)).stdout
    assert "muster.toml is gone. Put it back. The earlier settings stay in force." in told
    assert team.names() == ["fresh"]


def test_a_changed_program_holds_from_the_next_session_on_and_says_so(team: Team) -> None:
    team.write(f"[agents.fresh]\n{STAYS}")
    until(lambda: team.names() == ["fresh"])
    team.started("fresh")
    team.write('[agents.fresh]\ncommand = ["sleep", "601"]\ndescription = "builds"\n')
    until(lambda: team.settings()["agents"][0]["nextSession"])
    team.boss.asked("PUT", "/api/agents/fresh/run", 200, json={"desired": "pause", "now": True})
    until(lambda: team.run("fresh")["session"] is None)
    pid = team.started("fresh")
    assert Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x00601\x00"
    assert not team.settings()["agents"][0]["nextSession"]


def test_settings_that_need_a_restart_are_named_until_they_are_as_before(team: Team) -> None:
    team.write("[server]\nopen_browser = false\n[store]\nsnapshot_every = 500\n")
    until(lambda: team.settings()["waiting"])
    assert team.settings()["waiting"] == ["server.open_browser", "store.snapshot_every"]
    team.write("")
    until(lambda: not team.settings()["waiting"])


def test_rules_of_new_channels_are_those_in_force(team: Team) -> None:
    team.write("[turns]\nmax_turns = 7\n")
    until(lambda: team.facts("settings_applied"))
    made = team.boss.post("/api/channels", {"channel": "design"}, 201)
    assert made["config"]["maxTurns"] == 7


# ── removal ───────────────────────────────────────────────────────────────────────────────────────


def test_a_file_that_cannot_be_read_is_a_mistake_beside_the_settings_in_force(team: Team) -> None:
    """Issue 15: `GET /api/settings` answered 409 then, and the page showed nothing."""
    team.write(f"[agents.fresh]\n{STAYS}")
    until(lambda: team.names() == ["fresh"])
    team.file.write_bytes(b"\xff\xfe\xff")
    until(lambda: team.settings()["problem"] is not None)
    assert [each["name"] for each in team.settings()["agents"]] == ["fresh"]


def test_a_table_for_an_agent_that_registered_itself_before_starts_it_if_it_says_so(
    team: Team,
) -> None:
    """Issue 15: autostart counted only for names that muster had never heard."""
    team.boss.asked("POST", "/api/agents", 201, json={"name": "known"})
    team.write(f"[agents.known]\nautostart = true\n{STAYS}")
    until(lambda: team.agent("known")["authority"] == "muster")
    assert is_alive(team.pid("known"))


def test_an_agent_that_starts_with_muster_is_not_added_paused(team: Team) -> None:
    at = ("--home", str(team.home))
    done = muster("agent", "add", "eager", "--set", "autostart=true", *at, "--", "sleep", "600")
    assert "eager is started" in done.stdout
    assert is_alive(team.pid("eager"))
    lazy = muster("agent", "add", "lazy", *at, "--", "sleep", "600")
    assert "lazy is added, paused" in lazy.stdout
    quoted = muster("agent", "edit", "lazy", "--set", 'description="hello', *at)
    assert (quoted.returncode, "that is not closed" in quoted.stderr) == (2, True)


def test_an_agent_that_is_removed_while_it_runs_is_ended_and_comes_back_to_its_seat(
    team: Team,
) -> None:
    script = 'command = ["sh", "-c", "trap exit INT TERM; while :; do sleep 0.05; done"]\n'
    team.write(f"[agents.fresh]\n{script}")
    until(lambda: team.names() == ["fresh"])
    pid, seat = team.started("fresh"), team.agent("fresh")["seat"]
    team.write("# nobody\n")
    until(lambda: team.facts("agent_dismissed"))
    team.boss.asked("PUT", "/api/agents/fresh/run", 200, json={"desired": "pause", "now": True})
    until(lambda: team.names() == [])
    assert not is_alive(pid)
    team.write(f"[agents.fresh]\n{script}")
    until(lambda: team.names() == ["fresh"])
    assert team.agent("fresh")["seat"] == seat
    assert team.run("fresh")["desired"] == "pause"


def test_a_program_whose_agent_was_removed_while_muster_was_down_is_ended(home: Path) -> None:
    (home / "muster.toml").write_text(f"[agents.gone]\n{STAYS}")
    with live(home) as server, asker(server, server.token) as boss:
        pid = Team(home, server, boss).started("gone")
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait(WAIT_SECONDS)
    assert is_alive(pid)
    (home / "muster.toml").write_text("")
    with live(home) as server, asker(server, server.token) as boss:
        team = Team(home, server, boss)
        until(lambda: not is_alive(pid))
        until(lambda: team.names() == [])
        assert len(team.facts("session_requested")) == 1  # it is not tried again


# ── rename ────────────────────────────────────────────────────────────────────────────────────────


def test_a_renamed_agent_keeps_its_seat_its_session_and_its_state_file(team: Team) -> None:
    team.write(f"[agents.old]\n{STAYS}")
    until(lambda: team.names() == ["old"])
    pid, seat = team.started("old"), team.agent("old")["seat"]
    state = team.home / "agents" / "old" / "agent_state.json"
    until(state.exists)
    done = muster("agent", "rename", "old", "new", "--home", str(team.home))
    assert done.returncode == 0, done.stderr
    assert team.names() == ["new"]
    assert (team.agent("new")["seat"], team.run("new")["session"]["pid"]) == (seat, pid)
    assert 'formerly = ["old"]' in team.file.read_text()
    state.write_text('{"desired_state": "pause", "current_state": "continuous"}')
    until(lambda: team.run("new")["desired"] == "pause")


def test_a_rename_without_a_server_is_applied_at_the_next_start(home: Path) -> None:
    (home / "muster.toml").write_text(f"[agents.old]\n{STAYS}")
    with live(home) as server, asker(server, server.token) as boss:
        seat = Team(home, server, boss).agent("old")["seat"]
    for name, new in (("old", "middle"), ("middle", "new")):
        assert muster("agent", "rename", name, new, "--home", str(home)).returncode == 0
    with live(home) as server, asker(server, server.token) as boss:
        team = Team(home, server, boss)
        assert (team.names(), team.agent("new")["seat"]) == (["new"], seat)


def test_a_table_cannot_take_the_name_of_another_agent(home: Path) -> None:
    """Its agent was retired, and its program became the other agent."""
    at = ("--home", str(home))
    file, text = home / "muster.toml", f"[agents.old]\n{STAYS}"
    file.write_text(text)
    with live(home) as server, asker(server, server.token) as boss:
        boss.post("/api/agents", {"name": "Lyra"}, 201)
    refused = muster("agent", "rename", "old", "Lyra", *at)
    assert (refused.returncode, "belongs to seat 10" in refused.stderr) == (3, True)
    assert file.read_text() == text
    file.write_text(f'[agents.Lyra]\nformerly = ["old"]\n{STAYS}')  # by hand
    for look in ("status", "doctor"):
        assert "agents.Lyra cannot be followed" in muster(look, *at).stdout
    with live(home) as server, asker(server, server.token) as boss:
        team = Team(home, server, boss)
        assert sorted(team.names()) == ["Lyra", "old"]
        assert (team.agent("old")["seat"], team.agent("Lyra")["authority"]) == (9, "self")
        assert is_alive(team.started("old"))
        assert "belongs to seat 10" in boss.get("/api/state")["settingsProblem"]
        done = muster("agent", "rename", "old", "Zoe", *at)
        assert done.returncode == 0, done.stderr
        assert (sorted(team.names()), team.agent("Zoe")["seat"]) == (["Lyra", "Zoe"], 9)
        assert boss.get("/api/state")["settingsProblem"] == ""


def test_an_agent_is_not_added_under_a_name_that_is_taken(team: Team) -> None:
    """The answer said that it was started, and it was nowhere."""
    joined = team.boss.post("/api/agents", {"name": "Rita"}, 201)
    with asker(team.server, joined["token"]["secret"]) as agent:
        agent.post("/api/agents/Rita/connect")
        team.boss.post("/api/settings/agents/Rita/rename", {"name": "Sofi"})
        new = {"name": "Rita", "settings": {"command": ["cat"]}, "start": True}
        team.boss.refused("POST", "/api/settings/agents", 409, "name_taken", json=new)
        other = {**new, "name": "Sofi", "settings": {"command": ["cat"], "seat": 3}}
        team.boss.refused("POST", "/api/settings/agents", 409, "name_of_two", json=other)
    assert team.settings()["agents"] == []


def test_a_program_that_runs_goes_on_under_its_former_name(team: Team) -> None:
    joined = team.boss.post("/api/agents", {"name": "self"}, 201)
    with asker(team.server, joined["token"]["secret"]) as agent:
        agent.post("/api/agents/self/connect")
        team.boss.post("/api/settings/agents/self/rename", {"name": "other"})
        assert agent.post("/api/agents/self/heartbeat", {})["agent"]["name"] == "other"
        agent.refused("GET", "/api/settings", 403, "forbidden")
        team.boss.refused("POST", "/api/agents", 409, "name_taken", json={"name": "self"})
        agent.post("/api/agents/self/disconnect", {})
    team.boss.asked("GET", "/api/agents/self", 404)


# ── the command line ──────────────────────────────────────────────────────────────────────────────


def test_agents_are_added_changed_and_removed_by_the_command_line(team: Team) -> None:
    at = ("--home", str(team.home))
    shown = muster("agent", "add", "builder", "--dry-run", *at, "--", "sleep", "600")
    assert '+command = ["sleep", "600"]' in shown.stdout
    assert team.names() == []
    options = ("--cwd", "..", "--budget-usd", "5", "--env", "A=b", "--set", "max_turns=2")
    done = muster("agent", "add", "builder", "--start", *options, *at, "--", "sleep", "600")
    assert done.returncode == 0, done.stderr
    assert is_alive(team.pid("builder"))
    [table] = team.settings()["agents"]
    assert table["settings"] == {
        "command": ["sleep", "600"],
        "cwd": "..",
        "env": {"A": "b"},
        "max_turns": 2,
        "budget.cost_usd": 5.0,
    }
    [by] = {each["actor"] for each in team.facts("settings_applied")}
    assert by.startswith("person:")
    again = muster("agent", "add", "BUILDER", *at, "--", "x")
    assert (again.returncode, "already" in again.stderr) == (3, True)
    limited = muster("agent", "edit", "builder", "--set", "budget.failures=3", *at)
    assert "takes effect now" in limited.stdout
    edited = muster("agent", "edit", "builder", "--set", "cwd=.", "--unset", "env", *at)
    assert "next session" in edited.stdout
    wrong = muster("agent", "edit", "builder", "--set", "seat=12", *at)
    assert (wrong.returncode, "from 0 to 8" in wrong.stderr) == (2, True)
    asked = muster("agent", "remove", "builder", *at)
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    assert muster("agent", "remove", "builder", "--yes", *at).returncode == 0
    until(lambda: team.facts("agent_dismissed"))


def test_an_edit_is_refused_while_the_file_is_gone_and_everybody_stays(team: Team) -> None:
    team.write(f"[agents.builder]\n{STAYS}")
    until(lambda: team.names() == ["builder"])
    pid = team.started("builder")
    team.file.rename(team.file.with_suffix(".kept"))
    at = ("--home", str(team.home))
    for verb in (("add", "new", "--", "true"), ("edit", "builder", "--set", "nice=1")):
        refused = muster("agent", *verb[:2], *at, *verb[2:])
        assert (refused.returncode, "muster.toml is gone" in refused.stderr) == (3, True)
        assert not team.file.exists()
    assert is_alive(pid)
    assert team.names() == ["builder"]


def test_an_edit_that_cannot_be_written_names_the_file_and_the_remedy(team: Team) -> None:
    team.write(f"[agents.builder]\n{STAYS}" + "# a long file\n" * 70_000)
    until(lambda: team.names() == ["builder"])
    # The limit holds for the log, too, which is much shorter.
    limit = (team.file.stat().st_size, resource.RLIM_INFINITY)
    resource.prlimit(team.server.process.pid, resource.RLIMIT_FSIZE, limit)
    try:
        done = muster("agent", "edit", "builder", "--set", "nice=1", "--home", str(team.home))
    finally:
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(team.server.process.pid, resource.RLIMIT_FSIZE, unlimited)
    assert done.returncode == 4, done.stderr
    assert "muster.toml" in done.stderr
    assert "nice" not in team.file.read_text()


def test_a_text_of_an_editor_is_refused_and_kept_if_the_file_changed_meanwhile(
    team: Team, tmp_path: Path
) -> None:
    team.write(f"[agents.builder]\n{STAYS}")
    until(lambda: team.names() == ["builder"])
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\necho nice = 7 >> {team.file}\necho nice = 4 >> $1\n")
    editor.chmod(0o700)
    edit = ("agent", "edit", "builder", "--home", str(team.home))
    refused = muster(*edit, EDITOR=str(editor))
    assert (refused.returncode, "nice = 7" in team.file.read_text()) == (3, True)
    [kept] = re.findall(r"Your text is kept in (\S+)\.\n", refused.stderr)
    assert "nice = 4" in Path(kept).read_text()
    Path(kept).unlink()
    for text in ("", "[agents.other]", "[agents.builder]\n[agents.other]"):
        editor.write_text(f"#!/bin/sh\nprintf '{text}' > $1\n")
        refused = muster(*edit, EDITOR=str(editor))
        assert (refused.returncode, "must be the table" in refused.stderr) == (2, True)
        Path(re.findall(r"Your text is kept in (\S+)\.\n", refused.stderr)[0]).unlink()


def test_the_command_line_edits_the_file_alone_where_no_server_runs(home: Path) -> None:
    at = ("--home", str(home))
    done = muster("agent", "add", "Ada", "--runtime", "claude", "--model", "sonnet", *at)
    assert "not running" in done.stdout
    text = (home / "muster.toml").read_text()
    assert text.startswith("# muster.toml")
    assert text.endswith('[agents.Ada]\nruntime = "claude"\nclaude = {model = "sonnet"}\n')
    editor = "sed -i s/sonnet/opus/"
    assert muster("agent", "edit", "Ada", *at, EDITOR=editor).returncode == 0
    assert 'model = "opus"' in (home / "muster.toml").read_text()
    assert "Nothing changed" in muster("agent", "edit", "Ada", *at, EDITOR="true").stdout
    only_words = muster("agent", "edit", "ada", *at, EDITOR="sed -i 1i#words")
    assert "comments are edited in muster.toml itself" in only_words.stdout
    failed = muster("agent", "edit", "Ada", *at, EDITOR="no-such-editor")
    assert (failed.returncode, "the editor could not be used" in failed.stderr) == (2, True)
    assert muster("agent", "add", "Bo", "--start", *at, "--", "x").returncode == 2
    (home / "muster.toml").write_text("[agents\n")
    broken = muster("agent", "add", "Eve", *at, "--", "x")
    assert (broken.returncode, "muster.toml:1" in broken.stderr) == (2, True)
    assert (home / "muster.toml").read_text() == "[agents\n"


def test_without_a_program_the_command_line_says_what_is_installed(home: Path) -> None:
    said = muster("agent", "add", "Ada", "--home", str(home))
    assert said.returncode == 2
    assert "Claude Code" in said.stderr
    assert "muster agent add Ada -- PROGRAM" in said.stderr
    assert not (home / "muster.toml").exists()


def test_the_terminal_of_muster_up_tells_of_settings(home: Path) -> None:
    with live(home) as server:
        printed = server.process.stdout
        assert printed is not None
        assert "/sign-in#" in printed.readline()  # the link to sign in
        (home / "muster.toml").write_text(f"[agents.fresh]\n{STAYS}")
        told = printed.readline()
    assert told == "muster.toml is in force: agents.fresh added\n"


def test_settings_are_taken_up_after_the_terminal_of_muster_up_is_gone(home: Path) -> None:
    command = [MUSTER_SCRIPT, "up", "--home", str(home), "--port", "0"]
    errors = home / "errors"
    with (
        errors.open("w") as said,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=said, env=environment({}), text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found
            assert "/sign-in#" in process.stdout.readline()
            process.stdout.close()
            token = (home / "operator.token").read_text().strip()
            server = Server(process, found[0], token)
            with asker(server, token) as boss:
                team = Team(home, server, boss)
                for names in (["a"], ["a", "b"]):
                    team.write("".join(f"[agents.{name}]\n{STAYS}" for name in names))
                    until(lambda names=names: team.names() == names)
        finally:
            process.terminate()
            process.wait(WAIT_SECONDS)
    assert "_tell_settings" not in errors.read_text()


# ── HTTP ──────────────────────────────────────────────────────────────────────────────────────────


def test_an_edit_for_another_version_of_the_file_is_refused(team: Team) -> None:
    body = {"name": "a", "settings": {"command": ["sleep", "600"]}}
    version = team.settings()["version"]
    shown = team.boss.post("/api/settings/agents", {**body, "preview": True}, 201)
    assert (shown["version"], "[agents.a]" in shown["difference"]) == (version, True)
    team.file.write_text("# changed by hand\n")
    stale = {**body, "version": version}
    problem = team.boss.asked("POST", "/api/settings/agents", 409, json=stale)
    assert problem["code"] == "settings_conflict"
    assert team.file.read_text() == "# changed by hand\n"


@pytest.mark.parametrize("name", ["../up", "a]\n[team", "MAIN", "", "a" * 65, "x\u202ey"])
def test_a_hostile_name_never_reaches_the_file(team: Team, name: str) -> None:
    before = team.file.read_bytes()
    body = {"name": name, "settings": {"command": ["true"]}}
    problem = team.boss.asked("POST", "/api/settings/agents", 409, json=body)
    assert problem["code"] == "bad_settings"
    assert problem["found"]["key"].startswith("agents.")
    assert team.file.read_bytes() == before


def test_text_in_a_setting_stays_text(team: Team) -> None:
    text = 'x"\n[agents.evil]\ncommand = ["touch", "/tmp/evil"]\n#'
    settings = {"command": ["sleep", text], "description": text, "env.A": text}
    team.boss.post("/api/settings/agents", {"name": "a", "settings": settings}, 201)
    [table] = team.settings()["agents"]
    assert table["settings"]["description"] == text


def test_only_operators_see_or_change_settings(team: Team) -> None:
    joined = team.boss.post("/api/agents", {"name": "self"}, 201)
    viewer = team.boss.post("/api/tokens", {"role": "viewer"}, 201)
    for secret in (joined["token"]["secret"], viewer["secret"]):
        with asker(team.server, secret) as other:
            body = {"name": "a", "settings": {"command": ["true"]}}
            other.refused("POST", "/api/settings/agents", 403, "forbidden", json=body)
            other.refused("DELETE", "/api/settings/agents/self", 403, "forbidden")
            other.refused("PATCH", "/api/settings/agents/self", 403, "forbidden", json={})
            other.refused("GET", "/api/runtimes", 403, "forbidden")


def test_installed_programs_are_found(team: Team, tmp_path: Path) -> None:
    found = {each["label"]: each for each in team.boss.get("/api/runtimes")["programs"]}
    assert set(found) == {"Claude Code", "Codex", "Gemini CLI", "opencode", "Qwen Code"}
    assert found["Codex"]["runtime"] == "codex"
    assert (found["Gemini CLI"]["runtime"], found["Gemini CLI"]["preset"]) == ("acp", "gemini")
    assert "Advice only" in found["opencode"]["enforcement"]
    assert found["Claude Code"]["isFound"]
    assert found["Claude Code"]["version"]
    assert "npm" in found["opencode"]["remedy"]


@pytest.mark.parametrize("when", ["at the start", "while it runs"])
def test_autostart_leaves_an_agent_to_a_state_file_that_was_there_before(
    home: Path, when: str
) -> None:
    text = f"[agents.a]\n{STAYS}autostart = true\nstate_file = 'a.json'\n"
    (home.parent / "a.json").write_text('{"desired_state": "pause", "current_state": "pause"}')
    if when == "at the start":
        (home / "muster.toml").write_text(text)
    with live(home) as server, asker(server, server.token) as boss:
        team = Team(home, server, boss)
        if when == "while it runs":
            team.write(text)
        until(lambda: team.names() == ["a"])
        team.write(text + "[agents.b]\n" + STAYS)  # taken up after the first one
        until(lambda: "b" in team.names())
        assert (team.run("a")["desired"], team.facts("session_requested")) == ("pause", [])
