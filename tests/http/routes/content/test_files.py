"""Files of messages over HTTP: uploaded once, named by messages, served so that none runs."""

import os
import stat
from collections.abc import Generator
from hashlib import sha256
from itertools import count
from pathlib import Path

import httpx
import pytest

from muster.limits import FILE_BYTES_MAX
from tests.live import Json, Scene, Server, a_scene, live
from tests.test_images import png

_contents = count(1)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files") / "home"


@pytest.fixture(scope="module")
def server(home: Path) -> Generator[Server]:
    with live(home, MUSTER_TEAM_HUMAN="Grace") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    """pm and dev in one channel; pm holds the turn."""
    with a_scene(server) as playing:
        playing.connected("pm", "dev")
        playing.opened("pm", "dev")
        yield playing


def upload(
    scene: Scene, server: Server, content: bytes, name: str, by: str | None = None
) -> httpx.Response:
    token = server.token if by is None else scene.tokens[by]
    return httpx.post(
        f"{server.url}/api/files",
        params={"name": name},
        content=content,
        headers={"authorization": f"Bearer {token}"},
        timeout=60,
    )


def new_content() -> bytes:
    return f"content {next(_contents)}".encode()


def attached(scene: Scene, server: Server, name: str, content: bytes | None = None) -> Json:
    """Upload a file and send it in a message; the file."""
    file = upload(scene, server, content or new_content(), name).json()
    scene.says("see the file", files=[file["digest"]])
    return file


def test_a_message_names_an_uploaded_file_and_its_readers_get_the_content(
    scene: Scene, server: Server, home: Path
) -> None:
    content = new_content()
    answer = upload(scene, server, content, "Résumé 1.txt")
    digest = sha256(content).hexdigest()
    expected = {"name": "Résumé 1.txt", "digest": digest, "size": len(content)}
    assert answer.status_code == 201
    assert answer.json() == {**expected, "mediaType": "text/plain"}
    scene.says("see the file", files=[digest])
    [message] = scene.get(f"{scene.channel}/messages")["messages"]
    assert message["files"] == [{**expected, "mediaType": "text/plain"}]
    assert scene.next("pm")["messages"][0]["files"] == message["files"]
    assert scene.call("GET", f"/api/files/{digest}", by="dev").content == content
    path = home / "files" / digest[:2] / digest[2:]
    assert path.read_bytes() == content
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not list((home / "files" / "uploads").glob(f"*{digest}*"))


def test_an_agent_attaches_a_file_to_what_it_says(scene: Scene, server: Server) -> None:
    file = upload(scene, server, new_content(), "a.bin", by="pm").json()
    scene.says("here", by="pm", files=[file["digest"]])
    again = scene.says("and again", by="pm", files=[file["digest"]])  # from the message before
    assert again["seq"]
    assert scene.call("GET", f"/api/files/{file['digest']}").status_code == 200


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("page.html", "application/octet-stream"),
        ("image.svg", "application/octet-stream"),
        ("script.js", "application/octet-stream"),
        ("paper.pdf", "application/octet-stream"),
        ("nothing", "application/octet-stream"),
        ("shot.PNG", "application/octet-stream"),  # its content is no image
        ("notes.md", "text/plain; charset=utf-8"),
    ],
)
def test_a_file_is_served_so_that_no_browser_runs_it(
    scene: Scene, server: Server, name: str, media_type: str
) -> None:
    file = attached(scene, server, name)
    headers = scene.call("GET", f"/api/files/{file['digest']}").headers
    assert headers["content-type"] == media_type
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert headers["content-disposition"].startswith("attachment; ")


def test_a_broken_image_is_sent_as_a_file_and_the_sender_is_told(
    scene: Scene, server: Server
) -> None:
    broken = upload(scene, server, png()[:8] + new_content(), "shot.png").json()
    assert broken["mediaType"] == "application/octet-stream"
    to = {"message": "look", "targetAgent": scene.named("dev")}
    said = scene.post("/api/send", {**to, "files": [broken["digest"]]})
    assert "shot.png: no image that can be shown; it is sent as a file." in said["effect"]


def test_a_hostile_name_is_a_name_in_the_header(scene: Scene, server: Server) -> None:
    file = attached(scene, server, 'a"; x=.exe\u2764.txt')
    disposition = scene.call("GET", f"/api/files/{file['digest']}").headers["content-disposition"]
    assert disposition == (
        "attachment; filename=\"a___x__exe__txt\"; filename*=UTF-8''a%22%3B%20x%3D.exe%E2%9D%A4.txt"
    )


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "a\\b", "a\x00b", "a\nb", "\u202etxt.exe", " a", "x" * 201],
)
def test_a_name_that_could_mislead_is_refused(scene: Scene, server: Server, name: str) -> None:
    answer = upload(scene, server, b"x", name)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")


def test_a_file_that_no_message_names_is_not_served(scene: Scene, server: Server) -> None:
    digest = upload(scene, server, new_content(), "a.txt").json()["digest"]
    scene.refused("GET", f"/api/files/{digest}", status=404)
    scene.refused("GET", f"/api/files/{'0' * 64}", status=404)
    for wrong in ("..%2F..%2Fteam.db", "x" * 64, "0" * 63):
        scene.refused("GET", f"/api/files/{wrong}", status=422)


def test_nobody_attaches_the_upload_of_another(scene: Scene, server: Server) -> None:
    digest = upload(scene, server, new_content(), "a.txt").json()["digest"]
    path = f"{scene.channel}/messages"
    scene.refused("POST", path, {"message": "mine", "files": [digest]}, by="pm", status=404)
    scene.refused("POST", path, {"message": "x", "files": ["0" * 64]}, status=404)
    scene.refused("POST", path, {"message": "x", "files": ["../x"]}, status=422)
    scene.refused("POST", path, {"message": "x", "files": [digest, digest]}, status=422)
    scene.refused("POST", path, {"message": "x", "files": [digest] * 17}, status=422)


def test_a_file_has_a_limit_and_is_not_empty(scene: Scene, server: Server) -> None:
    assert upload(scene, server, bytes(FILE_BYTES_MAX + 1), "a.bin").status_code == 413
    assert upload(scene, server, b"", "a.bin").status_code == 422
    most = upload(scene, server, os.urandom(FILE_BYTES_MAX), "a.bin")
    assert (most.status_code, most.json()["size"]) == (201, FILE_BYTES_MAX)


def test_a_direct_message_has_files_too(scene: Scene, server: Server) -> None:
    digest = upload(scene, server, new_content(), "a.txt").json()["digest"]
    body = {"message": "for you", "targetAgent": scene.named("dev"), "files": [digest]}
    scene.post("/api/send", body)
    assert scene.next("dev")["messages"][0]["files"][0]["digest"] == digest
