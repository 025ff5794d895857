"""A team with an agent of each maker: real programs with scripted models, in one running muster."""

import json
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from muster.settings.agents import AgentSettings
from muster.testing.claude_sandbox import boxed
from tests.acceptance.makers.model import MakersModel
from tests.acceptance.makers.programs import settings_of
from tests.asking import Asker, asker
from tests.forkserver import ForkedProcess
from tests.guides.test_frameworks import GUIDE, packages
from tests.live import Json, Server, live
from tests.waits import SLOW_SECONDS, until

REAL = ("Claude", "Codex", "Gemini", "Opencode", "Qwen")
"""The agents whose programs come from a maker; each is called as its maker is."""

ADAPTED = {"CodexAcp": "codex-acp", "ClaudeAcp": "claude-acp"}
"""The agents of adapters, and what each is an adapter of."""

FRAMEWORK = """import sys
sys.path.append({folder!r})
"""
SHELL = r"""#!/bin/bash
# Each prompt is a line of JSON. It hangs once for a word, as the scripted models do.
while read -r line; do
  [[ $line == *"It is your turn"* ]] || continue
  said="shell speaks"
  if [[ $line =~ do:\ hang\ ([a-z]+) ]]; then
    said="shell is back from ${BASH_REMATCH[1]}"
    mkdir "$FLAGS/${BASH_REMATCH[1]}" 2>/dev/null && sleep 1800
  fi
  printf '{"type":"turn_complete","text":"%s"}\n' "$said"
done
"""
TURNS_PER_MESSAGE = 24
CONFIG = {
    "turnsPerMessage": TURNS_PER_MESSAGE,
    "alikeInARow": 0,
    "defaultTimeoutSeconds": SLOW_SECONDS,
}
"""The rules of a channel: it rests while a program that was killed comes up, and costs nothing."""


class MakersTeam(NamedTuple):
    """The team, its home and folders. A restarted muster is another one, with the same model."""

    home: Path
    work: Path
    model: MakersModel
    server: Server
    operator: Asker

    def start(self, names: Sequence[str]) -> None:
        """Start agents, and return when each can take a turn."""
        for name in names:
            self.operator.asked(
                "PUT", f"/api/agents/{name}/run", 200, json={"desired": "continuous"}
            )
        until(lambda: not [name for name in names if not self.session(name)], self.story)

    def open(self, channel: str, *members: str) -> None:
        body = {"channel": channel, "members": members, "config": CONFIG}
        self.operator.post("/api/channels", body, status=201)

    def post(self, channel: str, text: str) -> None:
        self.operator.post(f"/api/channels/{channel}/messages", {"message": text}, status=201)

    def said(self, channel: str) -> list[Json]:
        found: list[Json] = self.operator.get(f"/api/channels/{channel}/messages?limit=500")[
            "messages"
        ]
        return found

    def events(self, *kinds: str) -> list[Json]:
        path = f"/api/log?types={','.join(kinds)}&limit=1000"
        found: list[Json] = self.operator.get(path)["events"]
        return found

    def session(self, name: str) -> Json:
        """The start of the running session of an agent, if there is one."""
        seat = self.operator.get(f"/api/agents/{name}")["seat"]
        ours = [e for e in self.events("session_start", "session_end") if seat in e["seats"]]
        return ours[-1] if ours and ours[-1]["type"] == "session_start" else None

    def until(self, condition: Callable[[], object]) -> None:
        """Wait until it is so."""
        until(condition, self.story)

    def logged(self) -> str:
        """The log of muster so far."""
        assert isinstance(self.server.process, ForkedProcess)
        return self.server.process.errors()

    def story(self) -> object:
        """The newest facts, for a test that fails."""
        return self.operator.get("/api/log/told?limit=60")


@contextmanager
def makers_team(
    folder: Path, *, adapters: Sequence[str] = (), script: str = SHELL
) -> Generator[Callable[[], MakersTeam]]:
    """Make the home; each call starts muster in it, once the last one is gone.

    `adapters` are more agents, called as those of `ADAPTED`; `script` is the program of Shell.
    """
    work, flags = folder / "work", folder / "flags"
    for each in (work, flags):
        each.mkdir()
    with ExitStack() as ends:
        model = ends.enter_context(MakersModel())
        box = ends.enter_context(boxed(model.url))  # which has a short path, as Claude Code needs
        real = {name: settings_of(name.lower(), model.url, box.root / name) for name in REAL[1:]}
        real["Claude"] = settings_of("claude", model.url, box.root / "home")
        for name in adapters:
            own = ends.enter_context(boxed(model.url)).root / "home"
            real[name] = settings_of(ADAPTED[name], model.url, own)
        tables = [table(name, replace(each, cwd=str(work))) for name, each in real.items()]
        shell = folder / "shell.sh"
        shell.write_text(script)
        shell.chmod(0o700)
        line = AgentSettings(command=(str(shell),), long_lived=True, speaks="lines")
        tables.append(table("Shell", replace(line, env={"FLAGS": str(flags)})))
        tables.append(table("Graph", AgentSettings(runtime="python", target="graph_agent:answer")))
        home = folder / "team" / ".muster"
        home.mkdir(parents=True)
        (home / "muster.toml").write_text("\n".join(tables), encoding="utf-8")
        (home.parent / "graph_agent.py").write_text(
            FRAMEWORK.format(folder=str(packages())) + _example("graph_agent")
        )
        environ = {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{model.url}/graph/v1"}

        def up() -> MakersTeam:
            server = ends.enter_context(live(home, **environ))
            operator = ends.enter_context(asker(server, server.token))
            return MakersTeam(home, work, model, server, operator)

        yield up


def _example(name: str) -> str:
    """The code of an example of the guide."""
    found = re.search(rf'```python\n("""{name}\.py, .*?)```', GUIDE.read_text(), re.DOTALL)
    assert found
    return found[1]


def table(name: str, agent: AgentSettings) -> str:
    """The table of an agent in the settings."""
    env = ", ".join(f"{key} = {json.dumps(value)}" for key, value in agent.env.items())
    lines = [f"[agents.{name}]", f'runtime = "{agent.runtime}"']
    lines += [f"env = {{ {env} }}"] if env else []
    lines += [f"cwd = {json.dumps(agent.cwd)}"] if agent.cwd else []
    lines += [f"command = {json.dumps(agent.command)}"] if agent.command else []
    lines += [f'target = "{agent.target}"'] if agent.target else []
    lines += [f'speaks = "{agent.speaks}"', "long_lived = true"] if agent.long_lived else []
    if agent.runtime == "codex":
        lines.append(f"codex.program = {json.dumps(agent.codex.program)}")
    if agent.runtime == "acp":
        lines.append(f'acp.preset = "{agent.acp.preset}"')
        lines += [f'acp.model = "{agent.acp.model}"'] if agent.acp.model else []
    lines += ["restart = 'always'", "restart_seconds = 0.1", "restart_seconds_max = 1.0"]
    return "\n".join(lines) + "\n"
