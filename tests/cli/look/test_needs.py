"""`muster needs`: the list with the commands that answer it, with and without a server."""

import json
from collections.abc import Generator

import pytest

from tests.homes import muster
from tests.inside import Inside, inside


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inside]:
    with inside(tmp_path_factory.mktemp("needs"), "Ada", "Bo") as running:
        running.runs("Ada")
        running.opens("design", "Ada", "Bo")
        yield running


def does(team: Inside, *args: str) -> str:
    ran = muster("needs", *args, "--home", str(team.home))
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_each_need_comes_with_the_command_that_answers_it(team: Inside) -> None:
    assert does(team) == "Nothing needs you.\n"
    asked = team.asks("Ada", "Bash", "rm -r build")
    first, why, remedy = does(team).splitlines()
    assert first.startswith("Ada is waiting for your approval, ")
    assert first.endswith(f"[approval:{asked}]")
    assert why.strip() == "Bash: rm -r build"
    assert remedy.strip() == f"muster approve {asked}, or muster deny {asked}"
    [need] = json.loads(does(team, "--json"))["needs"]
    assert need["approval"] == asked

    assert does(team, "later", f"approval:{asked}", "--minutes", "5") == (
        "Nothing needs you.\n1 more put off for later\n"
    )
    assert f"[approval:{asked}]" in does(team, "again", f"approval:{asked}")
    refused = muster("needs", "done", f"approval:{asked}", "--home", str(team.home))
    assert refused.returncode == 2
    assert "waits for an answer" in refused.stderr
    muster("deny", asked, "--home", str(team.home))
    assert does(team) == "Nothing needs you.\n"
