"""`muster claude-plugin`: the plugin is found, installed beside other settings, and taken away."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from muster.claude_plugin.copying import SOURCE
from muster.testing.claude_sandbox import Box, boxed, claude_binary
from muster.testing.model import Rule, ScriptedModel, Tool
from muster.version import __version__
from tests.claude_plugin.clients import Desk, served
from tests.homes import muster
from tests.waits import SLOW_SECONDS

Json = Any  # any JSON value

SCOPES = ("--user", "--project")


class Place:
    """A user's configuration and a project, both still empty."""

    def __init__(self, folder: Path) -> None:
        self.config, self.project = folder / "con fig", folder / "a project"
        self.config.mkdir()
        self.project.mkdir()

    def plugin(self, *args: str) -> subprocess.CompletedProcess[str]:
        environ = {"CLAUDE_CONFIG_DIR": str(self.config)}
        return muster("claude-plugin", *args, cwd=self.project, **environ)

    def settings(self, scope: str) -> Path:
        if scope == "--user":
            return self.config / "settings.json"
        return self.project / ".claude" / "settings.local.json"

    def copy(self, scope: str) -> Path:
        return self.settings(scope).parent / "hooks" / "muster"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_shipped_plugin_is_found_and_is_of_this_version(place: Place) -> None:
    assert place.plugin("path").stdout == f"{SOURCE}\n"
    manifest = json.loads((SOURCE / ".claude-plugin" / "plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("muster", __version__)


@pytest.mark.parametrize("scope", SCOPES)
def test_installing_writes_a_copy_that_names_the_python_of_muster(scope: str, place: Place) -> None:
    done = place.plugin("install", scope)
    assert (done.returncode, done.stderr) == (0, "")
    hooks: dict[str, Json] = json.loads((place.copy(scope) / "hooks" / "hooks.json").read_text())
    ((policy,),) = (group["hooks"] for group in hooks["hooks"]["PreToolUse"])
    assert policy["command"] == "/bin/sh"
    assert policy["onFailure"] == "block"
    python, *args = policy["args"][3:]
    assert Path(python).parent == Path(sys.executable).parent
    assert args == ["-I", "-S", str(SOURCE / "hook.py"), "PreToolUse"]
    ((stop,),) = (group["hooks"] for group in hooks["hooks"]["Stop"])
    assert str(SOURCE / "hook.py") in stop["args"]
    assert sorted(each.name for each in (place.copy(scope) / "commands").iterdir()) == [
        *("agent-state-machine.md", "ask.md", "status.md")
    ]
    settings = json.loads(place.settings(scope).read_text())
    assert settings == {
        "extraKnownMarketplaces": {
            "muster": {"source": {"source": "directory", "path": str(place.copy(scope))}}
        },
        "enabledPlugins": {"muster@muster": True},
    }


def test_a_plugin_whose_muster_is_gone_says_how_to_remove_it(place: Place) -> None:
    place.plugin("install")
    hooks: dict[str, Json] = json.loads((place.copy("--user") / "hooks/hooks.json").read_text())

    def runs(event: str) -> subprocess.CompletedProcess[str]:
        hook = hooks["hooks"][event][0]["hooks"][0]
        script = hook["args"][2].replace("${CLAUDE_PLUGIN_ROOT}", str(place.copy("--user")))
        gone = [*hook["args"][:2], script, "/gone/bin/python", *hook["args"][4:]]
        told, env = [hook["command"], *gone], {"CLAUDE_PROJECT_DIR": str(place.project)}
        return subprocess.run(
            told, env=env, input="{}", capture_output=True, text=True, check=False
        )

    allowed = runs("PreToolUse")
    assert allowed.returncode == 0
    assert "delete muster@muster" in json.loads(allowed.stdout)["systemMessage"]
    assert [(runs(each).returncode, runs(each).stdout) for each in ("PostToolUse", "Stop")] == [
        (0, ""),
        (0, ""),
    ]
    session = place.project / ".claude" / "agent-state-machine" / "sessions"
    session.parent.mkdir(parents=True)
    session.write_text(f"{place.project}\n")
    denied = runs("PreToolUse")
    assert (denied.returncode, denied.stderr) == (0, "")
    decided = json.loads(denied.stdout)["hookSpecificOutput"]
    assert decided["permissionDecision"] == "deny"
    assert "delete muster@muster" in decided["permissionDecisionReason"]


def test_removing_leaves_nothing_behind(place: Place) -> None:
    place.plugin("install")
    known = place.config / "plugins" / "known_marketplaces.json"
    known.parent.mkdir()
    other = {"shop": {"source": {"source": "github", "repo": "x/y"}}}
    ours = {"source": {"source": "directory", "path": str(place.copy("--user"))}}
    known.write_text(json.dumps({"muster": ours, **other}))
    assert place.plugin("remove").stdout == "Removed.\n"
    assert json.loads(known.read_text()) == other
    assert not place.settings("--user").exists()


@pytest.mark.parametrize("scope", SCOPES)
def test_installing_and_removing_leave_everything_else_as_it_was(scope: str, place: Place) -> None:
    other = {
        "model": "opus",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true ü"}]}]},
        "enabledPlugins": {"theirs@shop": False},
        "env": {"A": "1"},
    }
    file = place.settings(scope)
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(other))
    file.chmod(0o640)
    for _ in range(2):  # twice is once
        assert place.plugin("install", scope).returncode == 0
    settings = json.loads(file.read_text())
    assert settings["enabledPlugins"] == {"theirs@shop": False, "muster@muster": True}
    assert {name: settings[name] for name in ("model", "hooks", "env")} == {
        name: other[name] for name in ("model", "hooks", "env")
    }
    assert list(settings)[:4] == list(other)
    assert place.plugin("remove", scope).stdout == "Removed.\n"
    assert json.loads(file.read_text()) == other
    assert file.stat().st_mode & 0o777 == 0o640
    assert not place.copy(scope).exists()
    assert place.plugin("remove", scope).stdout == "It was not installed.\n"


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"enabledPlugins": []}', '{"extraKnownMarketplaces": 1}', "\ufeff{}"]
)
def test_settings_that_cannot_be_read_are_refused_and_nothing_is_changed(
    text: str, place: Place
) -> None:
    file = place.settings("--user")
    file.write_text(text)
    for act in ("install", "remove"):
        refused = place.plugin(act)
        assert refused.returncode == 2, refused
        assert str(file) in refused.stderr
        assert "Nothing was changed" in refused.stderr
    assert file.read_text() == text
    assert [each.name for each in place.config.iterdir()] == ["settings.json"]


def test_a_foreign_plugin_of_the_same_name_is_left_alone(place: Place) -> None:
    market = {"extraKnownMarketplaces": {"muster": {"source": {"source": "github", "repo": "x/y"}}}}
    place.settings("--user").write_text(json.dumps(market))
    for act in ("install", "remove"):
        assert "another marketplace" in place.plugin(act).stderr
    place.settings("--user").unlink()
    (place.copy("--user")).mkdir(parents=True)
    (place.copy("--user") / "theirs").touch()
    for act in ("install", "remove"):
        assert "has other content" in place.plugin(act).stderr
    assert (place.copy("--user") / "theirs").exists()


def test_settings_that_are_a_link_stay_one(place: Place, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.json").write_text("{}")
    place.settings("--user").symlink_to(tmp_path / "dotfiles.json")
    assert place.plugin("install").returncode == 0
    assert place.settings("--user").is_symlink()
    assert "enabledPlugins" in json.loads((tmp_path / "dotfiles.json").read_text())


@pytest.mark.parametrize("scope", SCOPES)
def test_the_command_without_a_prefix_comes_and_goes_and_another_one_stays(
    scope: str, place: Place
) -> None:
    file = place.settings(scope).parent / "commands" / "agent-state-machine.md"
    for _ in range(2):
        assert place.plugin("install", scope).stderr == ""
    assert file.read_text() == (SOURCE / "commands" / "agent-state-machine.md").read_text()
    assert place.plugin("remove", scope).returncode == 0
    assert not file.exists()
    file.write_text("Mine.")
    assert "is yours and stays" in place.plugin("install", scope).stderr
    assert place.plugin("remove", scope).returncode == 0
    assert file.read_text() == "Mine."


# ── in the real program ───────────────────────────────────────────────────────────────────────────


def claude(box: Box, prompt: str) -> list[Json]:
    ran = subprocess.run(
        [claude_binary(), "-p", prompt, "--output-format", "stream-json", "--verbose"],
        env=box.environ(),
        cwd=box.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SLOW_SECONDS,
        check=False,
    )
    return [json.loads(line) for line in ran.stdout.splitlines()]


def in_box(box: Box, *args: str) -> subprocess.CompletedProcess[str]:
    return muster("claude-plugin", *args, cwd=box.work, **box.env)


def commands(lines: list[Json]) -> list[str]:
    init = next(line for line in lines if line.get("subtype") == "init")
    assert not init.get("plugin_errors")
    return [name for name in init["slash_commands"] if name.startswith("muster:")]


def trust(box: Box) -> None:
    """Trust the folder, as a person does in Claude Code."""
    file = Path(box.env["CLAUDE_CONFIG_DIR"]) / ".claude.json"
    known: Json = json.loads(file.read_text()) if file.exists() else {}
    known["projects"] = {str(box.work): {"hasTrustDialogAccepted": True}}
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(known))


@pytest.mark.parametrize("scope", SCOPES)
def test_an_ordinary_claude_has_the_commands_and_the_hooks_until_they_are_removed(
    scope: str,
) -> None:
    rule = Rule(match="begin", times=1, reply=[Tool("Read", {"file_path": os.devnull})])
    with ScriptedModel([rule, Rule(reply="Done.")]) as model, boxed(model.url) as box:
        trust(box)
        assert in_box(box, "install", scope).returncode == 0
        with served(box.work / ".muster", Desk()) as desk:
            lines = claude(box, "begin")
        assert set(desk.events()) >= {"SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"}
        assert len(commands(lines)) == 3
        assert in_box(box, "remove", scope).returncode == 0
        with served(box.work / ".muster", Desk()) as desk:
            assert not commands(claude(box, "begin"))
        assert not desk.calls


def test_a_plugin_whose_muster_is_gone_denies_tools_only_where_a_session_is_open() -> None:
    rule = Rule(match="begin", reply=[Tool("Read", {"file_path": "page.txt"})])
    denied = Rule(match="nothing can enforce it", reply="Denied.")
    with (
        ScriptedModel([rule, denied, Rule(match="PAGE-ONE", reply="Read.")]) as model,
        boxed(model.url) as box,
    ):
        (box.work / "page.txt").write_text("PAGE-ONE")
        assert in_box(box, "install").returncode == 0
        file = Path(box.env["CLAUDE_CONFIG_DIR"]) / "hooks" / "muster" / "hooks" / "hooks.json"
        file.write_text(file.read_text().replace(str(SOURCE), str(box.work / "gone")))
        session = box.work / ".claude" / "agent-state-machine" / "sessions"
        session.parent.mkdir(parents=True)
        session.write_text(f"{box.work}\n")
        assert claude(box, "begin")[-1]["result"] == "Denied."
        session.unlink()
        assert claude(box, "begin")[-1]["result"] == "Read."
