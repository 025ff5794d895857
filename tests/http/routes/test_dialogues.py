"""Dialogues over HTTP: the events of a conversation, and previews of its files."""

import json
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.asking import Asker, asker
from tests.delegation.stage import AGENTS, PYTHON, agent_file
from tests.live import Server, live
from tests.test_images import png

PNG = png()

MAKER = f"""
import os
open("hello.py", "w").write("print('hé')")
open("dot.png", "wb").write(bytes.fromhex("{PNG.hex()}"))
open("noise.bin", "wb").write(bytes(range(256)))
open("long.txt", "w").write("é" * 100_000)
open("latin.txt", "wb").write(b"caf\\xe9 and more text")
open("turned\\u202etxt.exe", "w").write("<script>window.hurt=1</script>")
os.symlink("/etc/passwd", "link")
os.symlink("..", "up")
os.mkfifo("pipe")
open(".env", "w").write("SECRET=1")
print("done")
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dialogues")


@pytest.fixture(scope="module")
def server(base: Path) -> Generator[Server]:
    for name, description in AGENTS.items():
        agent_file(base / "agents", name, description)
    home = base / "home"
    home.mkdir()
    command = json.dumps([sys.executable, "-c", MAKER])
    (home / "muster.toml").write_text(f"[delegation]\ncommand = {command}\n")
    with live(home, HOME=str(base / "nobody")) as running:
        yield running


@pytest.fixture(scope="module")
def operator(server: Server) -> Generator[Asker]:
    with asker(server, server.token) as somebody:
        somebody.post("/api/delegation", {"path": "session", "agents": ["agents"]})
        somebody.post("/api/conversations", {"text": PYTHON})
        yield somebody


FILE = "/api/conversations/conv_001/file"


def look(operator: Asker, path: str) -> dict[str, object]:
    return operator.asked("GET", FILE, 200, params={"path": path})


def test_a_dialogue_is_everything_that_happened_in_a_conversation(operator: Asker) -> None:
    told = operator.get("/api/conversations/conv_001/dialogue")
    kinds = [event["type"] for event in told["events"]]
    assert (kinds[0], kinds[-1], told["omitted"]) == ("conversation_start", "conversation_end", 0)
    assert {"routed", "state_transition", "dialogue_recorded", "file_recorded"} <= set(kinds)
    assert {event["conversation"] for event in told["events"]} == {"conv_001"}
    assert [e["seq"] for e in told["events"]] == sorted({e["seq"] for e in told["events"]})
    operator.refused("GET", "/api/conversations/conv_999/dialogue", 404, "not_found")


def test_text_is_shown_as_text(operator: Asker) -> None:
    seen = look(operator, "hello.py")
    assert (seen["kind"], seen["text"], seen["size"]) == ("text", "print('hé')", 12)
    assert (seen["cut"], seen["changed"]) == (False, False)
    hostile = look(operator, "turned\u202etxt.exe")
    assert (hostile["kind"], hostile["text"]) == ("text", "<script>window.hurt=1</script>")


def test_a_long_text_is_cut_between_characters(operator: Asker) -> None:
    seen = look(operator, "long.txt")
    assert (seen["cut"], seen["size"]) == (True, 200_000)
    assert seen["text"] == "é" * 32_768


def test_a_picture_is_shown_and_what_is_neither_is_not(operator: Asker) -> None:
    seen = look(operator, "dot.png")
    assert seen["kind"] == "picture"
    assert str(seen["picture"]).startswith("data:image/png;base64,iVBOR")
    assert look(operator, "noise.bin")["kind"] == "other"
    assert look(operator, "latin.txt")["kind"] == "other"


@pytest.mark.parametrize(
    "path", ["link", "up/dialogue.md", "pipe", "../dialogue.md", "/etc/passwd"]
)
def test_a_file_outside_of_the_conversation_is_not_shown(operator: Asker, path: str) -> None:
    answer = operator.http.get(FILE, params={"path": path})
    assert answer.status_code in (403, 404), answer.text
    assert "root:" not in answer.text


def test_a_folder_that_became_a_link_leads_nowhere(operator: Asker, base: Path) -> None:
    outputs = base / "session/conversations/conv_001/outputs"
    kept = outputs / "hello.py"
    kept.rename(outputs / "aside")
    try:
        kept.symlink_to("/etc/passwd")
        problem = operator.asked("GET", FILE, 403, params={"path": "hello.py"})
        assert "outside of the project" in problem["detail"]
        kept.unlink()
        os.mkfifo(kept)
        operator.asked("GET", FILE, 404, params={"path": "hello.py"})
        kept.unlink()
        operator.asked("GET", FILE, 404, params={"path": "hello.py"})
        kept.write_text("print('Hi')..")
        assert look(operator, "hello.py")["changed"]
    finally:
        (outputs / "aside").replace(kept)


def test_private_files_are_shown_to_nobody_or_to_operators_alone(
    server: Server, operator: Asker, base: Path
) -> None:
    outputs = base / "session/conversations/conv_001/outputs"
    token = operator.post("/api/tokens", {"role": "viewer"}, 201)["secret"]
    with asker(server, token) as viewer:
        assert look(operator, ".env")["text"] == "SECRET=1"
        problem = viewer.asked("GET", FILE, 403, params={"path": ".env"})
        assert "Only operators" in problem["detail"]
    (outputs / "second-name").hardlink_to(outputs / "latin.txt")
    try:
        problem = operator.asked("GET", FILE, 403, params={"path": "latin.txt"})
        assert "hard link" in problem["detail"]
    finally:
        (outputs / "second-name").unlink()


def test_bad_questions_are_refused(operator: Asker) -> None:
    operator.refused("GET", FILE, 422, "invalid")
    operator.refused("GET", f"{FILE}?path=", 422, "invalid")
    operator.refused("GET", f"{FILE}?path=%00", 404, "not_found")
    operator.refused("GET", "/api/conversations/conv_999/file?path=x", 404, "not_found")
    operator.refused("GET", "/api/conversations/..%2f..%2fetc/file?path=passwd", 404, "not_found")
