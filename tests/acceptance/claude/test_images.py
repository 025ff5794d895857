"""Images in messages: the model of Claude Code sees them, and other programs take none."""

import struct
import zlib
from collections.abc import Generator
from pathlib import Path

import pytest

from muster.testing.claude_sandbox import Box
from muster.testing.model import Rule, ScriptedModel
from tests.acceptance.claude.teams import Json, claude_team, start, table
from tests.acceptance.test_whole_life import Team
from tests.homes import muster
from tests.waits import until


@pytest.fixture
def ada(model: ScriptedModel, box: Box) -> Generator[Team]:
    settings = table("Ada", box.env, cwd=str(box.work))
    with claude_team(box, settings, '[agents.sh]\ncommand = ["sleep", "1"]\n') as (team, _):
        yield team


def png(red: int) -> bytes:
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(bytes([0, red, 0, 0]))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


def picture(box: Box, name: str, content: bytes) -> Path:
    path = box.work / name
    path.write_bytes(content)
    return path


def seen(model: ScriptedModel) -> list[Json]:
    """The images of the last request to the model."""
    messages = model.calls()[-1].body["messages"]
    blocks = (
        each for said in messages if isinstance(said["content"], list) for each in said["content"]
    )
    return [each["source"] for each in blocks if each["type"] == "image"]


def test_an_image_of_a_person_is_an_image_for_the_model(
    model: ScriptedModel, ada: Team, box: Box
) -> None:
    home = str(box.work / ".muster")
    model.add(Rule(match="and this", reply="A darker red."))
    model.add(Rule(match="what is this", reply="A red pixel."))
    first = picture(box, "first.png", png(255))
    sent = muster("send", "--to", "Ada", "--image", str(first), "what is this", "--home", home)
    assert sent.returncode == 0, sent.stderr  # it waits for a session, whose first prompt has it
    start(ada, "Ada")
    until(lambda: ("Ada", "A red pixel.") in ada.thread("Ada"), lambda: ada.thread("Ada"))
    [image] = seen(model)
    assert image["media_type"] == "image/png"
    second = picture(box, "second.png", png(100))
    muster("send", "--to", "Ada", "--image", str(second), "and this", "--home", home)
    until(lambda: ("Ada", "A darker red.") in ada.thread("Ada"), lambda: ada.thread("Ada"))
    assert len(seen(model)) == 2
    asked = ada.get("/api/agents/Ada/messages")["messages"]
    assert [each["files"][0]["name"] for each in asked if "files" in each] == [
        "first.png",
        "second.png",
    ]


def test_what_is_no_image_is_refused_and_other_programs_say_that_they_take_none(
    ada: Team, box: Box
) -> None:
    home = str(box.work / ".muster")
    fake = picture(box, "fake.png", b"<script>alert(1)</script>")
    refused = muster("send", "--to", "Ada", "--image", str(fake), "look", "--home", home)
    assert refused.returncode == 2
    assert "must be a whole PNG, JPEG, GIF or WebP image" in refused.stderr
    real = picture(box, "real.png", png(1))
    told = muster("send", "--to", "sh", "--image", str(real), "look", "--home", home)
    assert "Its program takes no images; it is told where the file lies." in told.stdout
