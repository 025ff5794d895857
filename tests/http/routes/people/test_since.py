"""What has happened since a person last looked, over HTTP and on the command line: the same."""

import json
from collections.abc import Generator

import pytest

from tests.asking import Asker, asker
from tests.homes import muster as shell
from tests.inside import Inside, inside


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    with inside(tmp_path_factory.mktemp("since"), "Ada", "Bo") as team:
        team.runs("Ada")
        team.opens("design", "Ada", "Bo")
        yield team


@pytest.fixture
def operator(muster: Inside) -> Generator[Asker]:
    with asker(muster.server, muster.server.token) as somebody:
        yield somebody


def test_the_digest_begins_where_the_person_last_looked(muster: Inside, operator: Asker) -> None:
    first = muster.asks("Ada", "Bash", "rm -r build")
    found = operator.get("/api/since")
    assert (found["since"], found["asked"]) == (None, 1)
    assert found["entries"][0]["what"] == "Bash: rm -r build"

    operator.post("/api/seen", {"upto": found["seq"]})
    found = operator.get("/api/since")
    assert found["since"] is not None
    assert (found["asked"], found["entries"]) == (0, [])

    operator.post(f"/api/approvals/{first}", {"allow": True})
    muster.asks("Ada", "Bash", "make deploy")
    found = operator.get("/api/since")
    assert [each["what"] for each in found["entries"]] == ["Bash: make deploy"]
    assert operator.get("/api/since?after=0")["asked"] == 2


def test_the_command_line_tells_the_same(muster: Inside, operator: Asker) -> None:
    told = shell("since", "--home", str(muster.home), "--json")
    mine, page = json.loads(told.stdout), operator.get("/api/since")
    for each in (mine, page):
        del each["until"]
    assert mine == page
    text = shell("since", "--home", str(muster.home))
    assert text.returncode == 0
    assert "1 asked" in text.stdout
    assert "Ada: Bash: make deploy" in text.stdout
    long_ago = shell("since", "--home", str(muster.home), "--hours", "1")
    assert long_ago.stdout.startswith("From the beginning: 2 asked")
