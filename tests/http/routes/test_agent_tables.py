"""The tables of agents in the settings, over HTTP."""

from pathlib import Path
from tomllib import loads

from tests.asking import asker
from tests.live import live

ADA = "/api/settings/agents/agent-identity:9"


def test_settings_of_an_agent_are_edited_by_its_document_whatever_it_is_called(
    tmp_path: Path,
) -> None:
    home = tmp_path / ".muster"
    home.mkdir()
    tables = "[agents.Ada]\nruntime = 'claude'\n[agents.Bea]\nruntime = 'claude'\n"
    (home / "muster.toml").write_text(tables)
    with live(home) as server, asker(server, server.token) as boss:
        renamed = boss.post(f"{ADA}/rename", {"name": "Cleo"})
        assert renamed["effect"].startswith("Ada is called Cleo")
        boss.post("/api/settings/agents/Bea/rename", {"name": "Ada"})
        boss.asked("PATCH", ADA, 200, json={"settings": {"description": "the first"}})
        chosen = boss.asked("PATCH", f"{ADA}/program", 200, json={"model": "haiku"})
        assert (chosen["name"], chosen["model"]) == ("Cleo", "haiku")
        assert boss.get("/api/agents/agent-identity:9")["formerNames"] == ["Ada"]
        written = loads((home / "muster.toml").read_text())["agents"]
        assert written["Cleo"]["description"] == "the first"
        assert written["Cleo"]["claude"]["model"] == "haiku"
        assert set(written["Ada"]) == {"runtime", "formerly"}
        gone = boss.delete(ADA)
        assert gone["effect"].startswith("Cleo leaves the team")
        assert set(loads((home / "muster.toml").read_text())["agents"]) == {"Ada"}
        boss.asked("PATCH", "/api/settings/agents/agent-identity:77", 404, json={})
