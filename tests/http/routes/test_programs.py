"""The model and the mode of a running program: what is in force, and how a choice reaches it."""

import json
from pathlib import Path

from tests.asking import Asker, asker
from tests.live import live
from tests.runtimes.claude.imitation import imitation
from tests.waits import until

PROGRAM = "/api/settings/agents/Ada/program"

KEEPS_REQUESTS = """
def on_request(request):
    with open({place!r}, "a") as kept:
        print(json.dumps(request), file=kept)
    if request.get("mode") == "plan":  # the real one names each mode; this one leaves it, too
        say(type="system", subtype="status", status=None, permissionMode="dontAsk")
"""


def requests(file: Path) -> list[tuple[str, str | None]]:
    """The settings that a program was asked to change, with their values."""
    found = [json.loads(line) for line in file.read_text().splitlines()]
    settings = [each for each in found if each["subtype"].startswith("set_")]
    return [(each["subtype"], each.get("mode") or each.get("model")) for each in settings]


def running(boss: Asker, key: str, value: str | None) -> None:
    """Wait until a value is shown as the one in force, where it differs from muster.toml."""
    until(lambda: boss.get(PROGRAM)[key] == value, lambda: boss.get(PROGRAM))


def test_a_choice_that_muster_toml_has_already_reaches_the_running_session(tmp_path: Path) -> None:
    home, asked = tmp_path / ".muster", tmp_path / "requests"
    home.mkdir()
    program = imitation(tmp_path, KEEPS_REQUESTS.format(place=str(asked)))
    table = f'[agents.Ada]\nruntime = "claude"\nclaude.program = {json.dumps(str(program))}\n'
    (home / "muster.toml").write_text(table + 'claude.model = "haiku"\n')
    with live(home) as server, asker(server, server.token) as boss:
        boss.asked("PUT", "/api/agents/Ada/run", 200, json={"desired": "continuous"})
        until(lambda: boss.get("/api/agents/Ada")["status"] == "alive")
        for command in ("/mode acceptEdits", "/model opus"):
            boss.post("/api/send", {"message": command, "targetAgent": "Ada"}, 201)
        running(boss, "runningMode", "acceptEdits")
        running(boss, "runningModel", "opus")
        assert (boss.get(PROGRAM)["mode"], boss.get(PROGRAM)["model"]) == ("default", "haiku")
        chosen = boss.asked("PATCH", PROGRAM, 200, json={"mode": "default"})
        assert (chosen["effect"], chosen["runningMode"]) == ("it takes effect now", None)
        assert chosen["runningModel"] == "opus"  # nobody has chosen another
        chosen = boss.asked("PATCH", PROGRAM, 200, json={"model": "haiku"})
        assert (chosen["effect"], chosen["runningModel"]) == ("it takes effect now", None)
        assert sorted(requests(asked)[:2]) == [
            ("set_model", "opus"),
            ("set_permission_mode", "acceptEdits"),
        ]
        assert requests(asked)[2:] == [("set_permission_mode", "default"), ("set_model", "haiku")]
        boss.post("/api/send", {"message": "/mode plan", "targetAgent": "Ada"}, 201)
        running(boss, "runningMode", "dontAsk")  # what the program says counts
        boss.post("/api/send", {"message": "/mode bypassPermissions", "targetAgent": "Ada"}, 201)
        refused = "Claude Code does not accept 'bypassPermissions' as its permission mode."
        until(lambda: refused in said_by(boss), lambda: said_by(boss))
        assert ("set_permission_mode", "bypassPermissions") not in requests(asked)
        assert boss.get("/api/agents/Ada")["unanswered"] is None  # nothing has failed
        for wrong in ("two words", "a\nb", "--verbose", "x" * 5000):
            answer = boss.asked("PATCH", PROGRAM, 409, json={"model": wrong})
            assert "Give a name of up to 200 characters without spaces." in answer["detail"]
        assert boss.get(PROGRAM)["model"] == "haiku"


def said_by(boss: Asker) -> list[str]:
    """The texts that Ada has answered."""
    messages = boss.get("/api/agents/Ada/messages")["messages"]
    return [each["text"] for each in messages if each["speakerName"] == "Ada"]
