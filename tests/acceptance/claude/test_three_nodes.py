"""Real Claude Codes on three machines, in one channel: one machine dies, and its agent goes on."""

import re
from collections.abc import Generator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from muster.home.database import TeamDatabase
from muster.testing.claude_sandbox import Box
from muster.testing.model import ScriptedModel
from tests.acceptance.claude.teams import requests, speaks_in_turn, table, variables
from tests.acceptance.claude.test_round import SOUL, opened, said, soul_of_bea
from tests.acceptance.test_whole_life import Team
from tests.live import Server, live
from tests.several_nodes import new_team_in_database, node_home
from tests.waits import until
from tests.web.pages import chromium, watched

AGENTS = {"desk": "Ada", "box": "Bea", "rack": "Cal"}
"""Where each agent begins."""


@pytest.fixture
def models() -> Generator[dict[str, ScriptedModel]]:
    with ExitStack() as stack:
        found = {name: stack.enter_context(ScriptedModel()) for name in AGENTS.values()}
        for name, model in found.items():
            for rule in speaks_in_turn(name, 2):
                model.add(rule)
        yield found


class ThreeNodes:
    """A team on three machines, of which each has the table of its agent, and all that of Bea."""

    def __init__(self, stack: ExitStack, box: Box, models: dict[str, ScriptedModel]) -> None:
        self._kept = new_team_in_database()
        self.servers: dict[str, Server] = {}
        tables = {
            name: table(
                name,
                variables(box, models[name], name.lower()),
                seat=seat,
                cwd=str(box.work),
                unasked=True,
                moves=name == "Bea",
            )
            for seat, name in enumerate(AGENTS.values())
        }
        for node, agent in AGENTS.items():
            own = "".join(tables[name] for name in dict.fromkeys((agent, "Bea")))
            home = node_home(box.work, node, self._kept, own)
            self.servers[node] = stack.enter_context(live(home))
        self.desk = stack.enter_context(closing(Team(self.servers["desk"])))
        self.rack = stack.enter_context(closing(Team(self.servers["rack"])))

    @property
    def database(self) -> TeamDatabase:
        return self._kept

    def node_of(self, agent: str) -> str:
        return str(self.rack.get(f"/api/agents/{agent}")["node"])


def test_agents_on_three_machines_speak_in_turn_and_one_outlives_its_machine_with_its_soul(
    models: dict[str, ScriptedModel], box: Box, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        nodes = ThreeNodes(stack, box, models)
        desk, rack = nodes.desk, nodes.rack
        desk.post("/api/import", soul_of_bea())
        desk.put("/api/agents/Bea/node", {"node": "box"})
        for agent in AGENTS.values():
            desk.put(f"/api/agents/{agent}/run", {"desired": "continuous"})
        until(
            lambda: (
                {agent: nodes.node_of(agent) for agent in AGENTS.values()}
                == {agent: node for node, agent in AGENTS.items()}
            )
        )
        opened(desk)
        desk.post("/api/channels/design/messages", {"message": "Please begin."})
        until(lambda: len(said(rack)) >= 6)
        assert said(rack) == said(desk)
        assert said(rack)[:6] == [(name, f"{name} was here") for name in ("Ada", "Bea", "Cal")] * 2

        before = len(models["Bea"].calls())
        nodes.servers["box"].process.kill()
        browser = stack.enter_context(chromium())
        person = stack.enter_context(watched(browser))
        page = person.signed_in(nodes.servers["rack"])
        line = page.locator("node-line li", has_text="box")
        expect(line).to_contain_text("away since")
        card = page.locator("agent-card", has=page.get_by_role("link", name="Bea"))
        expect(card).to_contain_text(re.compile("on (desk|rack)"))
        expect(card).to_have_attribute("data-status", "alive")
        page.screenshot(path=tmp_path / "three-nodes.png")
        rack.post("/api/channels/design/messages", {"message": "Go on."})
        models["Bea"].wait_for(before + 1)
        assert any(SOUL in each for each in requests(models["Bea"])[before:])
        assert nodes.node_of("Bea") in ("desk", "rack")
