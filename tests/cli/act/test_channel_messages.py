"""Messages at the command line: sending, replying, attaching, reading, exporting, searching."""

import json
import stat
from collections.abc import Generator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from muster.client.sync import Client
from tests.homes import muster
from tests.live import live

_numbers = count(1)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    path = tmp_path_factory.mktemp("messages") / "home"
    with live(path, MUSTER_TEAM_HUMAN="Grace"):
        yield path


class Team(NamedTuple):
    """An agent that has the turn in a channel of its own."""

    home: Path
    pm: str
    channel: str

    def does(self, *args: str) -> str:
        ran = muster(*args, "--home", str(self.home))
        assert (ran.returncode, ran.stderr) == (0, ""), ran
        return ran.stdout


@pytest.fixture
def team(home: Path) -> Team:
    number = next(_numbers)
    team = Team(home, f"pm-{number}", f"reviews-{number}")
    with Client(home=home) as client:
        client.register(team.pm)
        client.connect(team.pm)
        client.create_channel(team.channel)
        client.add_member(team.channel, team.pm)
    return team


def test_send_says_what_happened_to_the_turn(team: Team) -> None:
    said = team.does("send", "--channel", team.channel, "hello")
    assert said.startswith(f"{team.pm} gets it now, in its turn. (message ")
    team.does("channel", "config", team.channel, "humanInterruptMode=interrupt")
    stopped = team.does("send", "--channel", team.channel, "stop")
    assert stopped.startswith(f"{team.pm} is interrupted for 30 s. (message ")


def test_messages_are_shown_with_replies_and_files_oldest_or_newest_first(
    team: Team, tmp_path: Path
) -> None:
    picture = tmp_path / "plan.png"
    picture.write_bytes(b"png")
    team.does("send", "--channel", team.channel, "first\x1b[2J")
    seq = json.loads(team.does("channel", "messages", team.channel, "--json"))["messages"][0]["seq"]
    team.does(
        *("send", "--channel", team.channel, "--reply-to", str(seq)),
        *("--file", str(picture), "second"),
    )
    shown = team.does("channel", "messages", team.channel)
    assert shown.index("first") < shown.index("second")
    assert "\x1b" not in shown
    assert f"in reply to Grace ({seq}): first" in shown
    assert "file: plan.png (3 bytes, " in shown
    newest = team.does("channel", "messages", team.channel, "--newest", "--limit", "1")
    assert "second" in newest
    assert "older ones: --newest --before " in newest


def test_a_file_that_cannot_be_attached_sends_nothing(team: Team, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for path in (tmp_path, tmp_path / "missing", tmp_path / "empty", Path("/dev/zero")):
        ran = muster(
            *("send", "--channel", team.channel, "--file", str(path), "hello"),
            *("--home", str(team.home)),
        )
        assert ran.returncode == 2, ran
    assert team.does("channel", "messages", team.channel) == ""


def test_a_channel_is_exported_to_a_file_or_printed(team: Team, tmp_path: Path) -> None:
    team.does("send", "--channel", team.channel, "hello")
    printed = team.does("channel", "export", team.channel)
    assert printed.startswith(f"# Messages of {team.channel.replace('-', chr(92) + '-')}\n")
    assert "```text\nhello\n```" in printed
    file = tmp_path / "out.json"
    file.write_text("old")
    team.does("channel", "export", team.channel, "--format", "json", "--output", str(file))
    assert [each["text"] for each in json.loads(file.read_text())["messages"]] == ["hello"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_search_finds_messages_whether_or_not_the_team_runs(team: Team) -> None:
    word = f"walrus{team.pm.removeprefix('pm-')}"
    team.does("send", "--channel", team.channel, f"The {word} plan\x1b[2J")
    team.does("send", "--to", team.pm, f"{word} alone")
    both = team.does("search", word)
    assert both.index("alone") < both.index("plan")
    assert "\x1b" not in both
    assert f"{team.channel}  Grace: The {word} plan" in both
    assert "alone" not in team.does("search", word, "--channel", team.channel)
    assert "plan" not in team.does("search", word, "--agent", team.pm)
    first = team.does("search", word, "--limit", "1")
    assert "older ones: --before " in first
    found = json.loads(team.does("search", "PLAN", word, "--json"))
    assert [each["channel"] for each in found["messages"]] == [team.channel]
    assert team.does("search", "none-of-this") == "No message has all of these words.\n"
    ran = muster("search", "?!", "--home", str(team.home))
    assert (ran.returncode, "no word" in ran.stderr) == (2, True)


def test_the_client_searches_uploads_and_replies(team: Team) -> None:
    with Client(home=team.home) as client:
        file = client.upload_file("a.txt", b"a")
        asked = client.post(team.channel, "the ostrich", files=[file.digest])
        assert asked.delivered_to == (team.pm,)
        client.post(team.channel, "indeed", reply_to=asked.seq)
        [found] = client.search("ostrich", channel=team.channel).messages
        assert (found.seq, found.files) == (asked.seq, (file,))
        newest = client.messages(team.channel, newest_first=True, limit=1).messages[0]
        assert newest.quoted is not None
        assert newest.quoted.text == "the ostrich"
