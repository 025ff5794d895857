"""The examples of docs/guides/frameworks.md, with the real packages and a scripted model."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guides.plain_model import PlainModel
from tests.tidy.source import ROOT
from tests.waits import SLOW_SECONDS

GUIDE = ROOT / "docs" / "guides" / "frameworks.md"
EXAMPLES = dict(re.findall(r'```python\n("""(\w+)\.py, .*?)```', GUIDE.read_text(), re.DOTALL))
NAMES = sorted(EXAMPLES.values())

RUN = """
import asyncio, json, sys

from muster.engine.ports import Launch, Result
from muster.machines.vocabulary import RunMode, Urgency
from muster.runtimes.catalog import runtime_of
from muster.settings.agents import AgentSettings
from pathlib import Path
from tests.runtimes.programs import ADA, Listener, new_session

async def main(name, folder):
    listener = Listener()
    settings = AgentSettings(runtime="python", target=f"{name}:answer")
    launch = Launch(session=new_session(), agent=ADA, mode=RunMode.CONTINUOUS, prompt="say hello")
    session = await runtime_of(settings, Path(folder) / ".muster").start(launch, listener)
    await listener.until(lambda: any(isinstance(each, Result) for each in listener.said))
    [result] = [each for each in listener.said if isinstance(each, Result)]
    await session.stop(Urgency.NOW)
    print(json.dumps([result.ok, result.text, result.usage.input_tokens]))

asyncio.run(main(*sys.argv[1:]))
"""


def packages() -> Path:
    """The folder of the frameworks; fails where `make` has not installed them."""
    found = [
        each
        for prefix in (ROOT / ".venv", Path(sys.prefix))  # another Python has compiled its own
        for each in sorted(prefix.glob("frameworks-*/.installed"), key=os.path.getmtime)
    ]
    assert found, "the frameworks are not installed: run `make frameworks`"
    return found[-1].parent


def test_the_guide_has_an_example_for_each_framework() -> None:
    assert NAMES == ["autogen_agent", "graph_agent", "sdk_agent", "typed_agent"]


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_of_a_framework_answers(name: str, tmp_path: Path) -> None:
    code = next(text for text, each in EXAMPLES.items() if each == name)
    (tmp_path / f"{name}.py").write_text(code)
    with PlainModel() as model:
        ran = subprocess.run(
            [sys.executable, "-c", RUN, name, str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=SLOW_SECONDS,
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": f"{ROOT}:{packages()}",
                "OPENAI_API_KEY": "dummy",
                "OPENAI_BASE_URL": f"{model.url}/v1",
                "OPENAI_AGENTS_DISABLE_TRACING": "1",
                "NO_PROXY": "127.0.0.1",
            },
            check=False,
        )
    assert ran.stdout, ran.stderr
    ok, text, tokens = json.loads(ran.stdout.splitlines()[-1])
    assert (ok, text) == (True, "scripted: say hello")
    assert tokens == (0 if name == "graph_agent" else 100)
