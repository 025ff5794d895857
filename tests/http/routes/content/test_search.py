"""Search over HTTP: all words, newest first, whatever is typed."""

from collections.abc import Generator
from urllib.parse import quote

import pytest

from muster.http.routes.content import search as routes
from tests.live import Json, Scene, Server, a_scene, live
from tests.postgres import STORES, new_home


@pytest.fixture(scope="module", params=STORES)
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Generator[Server]:
    home = new_home(tmp_path_factory.mktemp("search") / "home", request.param)
    with live(home, MUSTER_TEAM_HUMAN="Grace") as running:
        yield running


@pytest.fixture
def scene(server: Server) -> Generator[Scene]:
    """pm and dev in one channel; pm holds the turn."""
    with a_scene(server) as playing:
        playing.connected("pm", "dev")
        playing.opened("pm", "dev")
        yield playing


def search(scene: Scene, words: str, **more: object) -> Json:
    given = "".join(f"&{name}={quote(str(value))}" for name, value in more.items())
    return scene.get(f"/api/search?q={quote(words)}{given}")


def texts(found: Json) -> list[str]:
    return [each["text"] for each in found["messages"]]


def test_messages_with_all_words_are_found_newest_first(scene: Scene) -> None:
    word = f"zebra{scene.number}"
    scene.says(f"The {word} plan")
    scene.says(f"Another {word.upper()}: the Plán", by="pm")
    scene.post("/api/send", {"message": f"secret {word} plan", "targetAgent": scene.named("dev")})
    scene.says(word)
    found = search(scene, f"plan {word}!")
    assert texts(found) == [
        f"secret {word} plan",
        f"Another {word.upper()}: the Plán",
        f"The {word} plan",
    ]
    marked = [part["text"] for part in found["messages"][1]["snippet"] if part["isMatch"]]
    assert marked == [word.upper(), "Plán"]
    assert (found["words"], found["nextBefore"], found["note"]) == (["plan", word], None, "")


def test_a_search_is_limited_to_a_channel_an_agent_and_a_page(scene: Scene) -> None:
    word = f"yak{scene.number}"
    for text in ("one", "two", "three"):
        scene.says(f"{word} {text}")
    scene.says(f"{word} four", by="pm")
    scene.post("/api/send", {"message": f"{word} five", "targetAgent": scene.named("pm")})
    assert len(texts(search(scene, word))) == 5
    assert len(texts(search(scene, word, channel=scene.named("reviews")))) == 4
    assert texts(search(scene, word, agent=scene.named("pm"))) == [f"{word} five", f"{word} four"]
    first = search(scene, word, limit=2)
    assert texts(search(scene, word, limit=9, before=first["nextBefore"])) == [
        f"{word} {text}" for text in ("three", "two", "one")
    ]
    for query in ("channel=nowhere", "agent=nobody"):
        scene.refused("GET", f"/api/search?q={word}&{query}", status=404)


@pytest.mark.parametrize(
    "typed",
    [
        '"unbalanced',
        "plan OR (",
        "NEAR(plan, 2)",
        "plan* ^plan -plan",
        "terms:plan",
        "words MATCH 'x'; DROP TABLE words",
        "plan\x00plan",
        "a AND NOT b",
        "{}[]:plan",
        "ｐｌａｎ ½ ﷺ 会議",
        "_c _s9 _f00",
        "%00",
    ],
)
def test_whatever_is_typed_is_words(scene: Scene, typed: str) -> None:
    scene.says(typed)
    assert typed in texts(search(scene, typed))


@pytest.mark.parametrize("typed", ["", "?!", "\x00", "plan " * 400, "w " + "x" * 60_000])
def test_a_search_without_words_or_with_too_many_is_refused(scene: Scene, typed: str) -> None:
    answer = scene.call("GET", f"/api/search?q={quote(typed)}")
    assert answer.status_code in (400, 414, 422), answer.text
    many = " ".join(f"w{number}" for number in range(33))
    assert scene.call("GET", f"/api/search?q={quote(many)}").status_code == 422


def test_every_token_searches_and_no_stranger_does(scene: Scene) -> None:
    scene.says(f"quokka{scene.number}")
    found = scene.get(f"/api/search?q=quokka{scene.number}", by="dev")
    assert len(found["messages"]) == 1
    limit = routes.SEARCH_MESSAGES_MAX + 1
    scene.refused("GET", f"/api/search?q=x&limit={limit}", status=422)
