"""Who speaks next, with real agents: processes that end a turn and wait for the next at once."""

import json
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Timer

import pytest

from tests.homes import environment
from tests.live import Json, Scene, Server, a_scene, live
from tests.waits import LIFE_SECONDS

AGENT = """
import json, os, sys, urllib.request

name, channel, answers = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])

def ask(method, path, body=None):
    request = urllib.request.Request(
        os.environ["MUSTER_URL"] + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"authorization": "Bearer " + os.environ["MUSTER_TOKEN"]},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

work = None
while work is None or work["do"] != "stop":
    if work is None or work["do"] != "turn":
        work = ask("POST", f"/api/agents/{name}/next?wait=30")
        continue
    end = {"epoch": work["epoch"], **(answers.pop(0) if answers else {})}
    if work["choosing"]:
        assert end["message"] in ("nobody", *(each["name"] for each in work["candidates"]))
    elif not answers and "message" not in end:
        end["reason"] = "nothing to say"
    work = ask("POST", f"/api/channels/{channel}/turn/complete?wait=30", end)["next"]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with live(tmp_path_factory.mktemp("who") / "home") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    with a_scene(server) as playing:
        yield playing


@contextmanager
def agents(scene: Scene, folder: Path, **answers: Sequence[Json]) -> Generator[None]:
    """Processes that connect by themselves and give these answers, one a turn."""
    program = folder / "agent.py"
    program.write_text(AGENT)
    with ExitStack() as ends:
        for name, bodies in answers.items():
            command = [sys.executable, str(program), scene.named(name), scene.named("reviews")]
            variables = {"MUSTER_URL": scene.url, "MUSTER_TOKEN": scene.tokens[name]}
            process = ends.enter_context(
                subprocess.Popen(
                    [*command, json.dumps(bodies)], env=environment(variables), text=True
                )
            )
            bound = Timer(LIFE_SECONDS, process.kill)
            bound.start()
            ends.callback(bound.cancel)
            ends.callback(process.kill)
        yield


def created(scene: Scene, *names: str, **config: Json) -> None:
    """The scene's channel with these members, in this order."""
    scene.connected(*names)
    members = [scene.named(name) for name in names]
    body = {"channel": scene.named("reviews"), "members": members, "config": config}
    scene.post("/api/channels", body)


def rested(scene: Scene, limit: str) -> Json:
    """Wait until the scene's channel rests at a limit."""
    return scene.until(
        lambda event: (
            event["type"] == "channel_rested"
            and event["channel"] == scene.named("reviews")
            and event["limit"] == limit
        )
    )


def said(scene: Scene) -> list[str]:
    """The messages of agents in the scene's channel, in order."""
    facts = scene.facts("agent_message")
    return [
        f"{each['agentName'].rpartition('-')[0]}: {each['content'][0]['text']}" for each in facts
    ]


def grants(scene: Scene) -> list[str]:
    """The reasons of the grants in the scene's channel, in order, without the ring's."""
    moves = [each for each in scene.facts("state_transition") if each["to"] == "ACTIVE"]
    return [each["reason"] for each in moves if each.get("reason", "ring") != "ring"]


def test_a_selector_chooses_the_speakers_of_a_channel_of_three(
    scene: Scene, tmp_path: Path
) -> None:
    dev, qa = scene.named("dev"), scene.named("qa")
    created(scene, "dev", "qa", "chair", speakerOrder="selector", selector=scene.named("chair"))
    choices = [{"message": name} for name in (qa, dev, qa, "nobody")]
    scene.says("Is it ready?")
    with agents(
        scene,
        tmp_path,
        chair=choices,
        dev=[{"message": "fixed"}],
        qa=[{"message": "one test fails"}, {"message": "all pass"}],
    ):
        rest = rested(scene, "selector")
    assert rest["reason"] == f"{scene.named('chair')} chose nobody"
    assert said(scene) == ["qa: one test fails", "dev: fixed", "qa: all pass"]
    chosen = f"chosen by the selector {scene.named('chair')}"
    assert [each for each in grants(scene) if each == chosen] == [chosen] * 3


def test_a_mentioned_member_speaks_before_the_ring_goes_on(scene: Scene, tmp_path: Path) -> None:
    qa = scene.named("qa")
    created(scene, "pm", "dev", "qa", speakerOrder="mention", turnsPerMessage=3)
    with agents(
        scene,
        tmp_path,
        pm=[{"message": f"@{qa} tests it"}],
        dev=[{"message": "I build it"}],
        qa=[{"message": "tested"}],
    ):
        rest = rested(scene, "turnsPerMessage")
    assert rest["reason"] == "3 turns since the last message of a person"
    assert said(scene) == [f"pm: @{qa} tests it", "qa: tested", "dev: I build it"]
    assert grants(scene) == [f"mentioned by {scene.named('pm')}"]


def test_a_handoff_goes_to_the_member_that_the_speaker_names(scene: Scene, tmp_path: Path) -> None:
    created(scene, "pm", "dev", "qa", stopPhrase="that is all")
    with agents(
        scene,
        tmp_path,
        pm=[{"message": "qa first", "to": scene.named("qa")}],
        dev=[{"message": "that is all"}],
        qa=[{"message": "looks good", "to": scene.named("dev")}],
    ):
        rest = rested(scene, "stopPhrase")
    assert rest["reason"] == "'that is all' was said"
    assert said(scene) == ["pm: qa first", "qa: looks good", "dev: that is all"]
    handed = [f"handed over by {scene.named(name)}" for name in ("pm", "qa")]
    assert grants(scene) == handed
