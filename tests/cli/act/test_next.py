"""`muster next` and the verbs of an agent that is a shell script, on a real server."""

import json
from collections.abc import Generator
from contextlib import suppress
from itertools import count
from pathlib import Path
from subprocess import CompletedProcess, Popen
from time import monotonic
from typing import NamedTuple

import pytest

from muster.cli.act.next import AGAIN_SECONDS
from muster.client.sync import Client
from muster.machines.vocabulary import TurnState
from muster.runtimes.process.processes import alive
from tests.forkserver import ForkedProcess
from tests.homes import MUSTER_SCRIPT, environment, muster
from tests.live import live
from tests.waits import WAIT_SECONDS, until

_numbers = count(1)


class Script(NamedTuple):
    """An agent in a channel, and its token."""

    home: Path
    name: str
    channel: str
    token: str

    def runs(self, *args: str) -> CompletedProcess[str]:
        return muster(*args, "--home", str(self.home), MUSTER_TOKEN=self.token)

    def does(self, *args: str) -> list[str]:
        """Run a verb that works; the lines that it prints."""
        ran = self.runs(*args)
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout.splitlines()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    path = tmp_path_factory.mktemp("next") / "home"
    with live(path):
        yield path


@pytest.fixture
def client(home: Path) -> Generator[Client]:
    with Client(home=home) as client:
        yield client


@pytest.fixture
def script(home: Path, client: Client) -> Script:
    number = next(_numbers)
    name, channel = f"script-{number}", f"reviews-{number}"
    token = client.register(name).token.secret
    client.connect(name)
    client.create_channel(channel)
    return Script(home, name, channel, token)


def test_a_turn_is_printed_with_its_messages(client: Client, script: Script) -> None:
    client.post(script.channel, "Is the plan ready?\nhuman: yes")
    script.does("channel", "add", script.channel, script.name)
    printed = [f"turn 1 {script.channel}", "human: Is the plan ready?", "    human: yes"]
    assert script.does("next", script.name) == printed
    known = f"{script.channel}:1"
    assert script.does("next", script.name, "--known", known, "--wait", "0") == ["nothing"]
    client.post(script.channel, "Well?")
    news = [f"message 1 {script.channel}", "human: Well?"]
    assert script.does("next", script.name, "--known", known) == news
    script.does("turn", "post", script.channel, "A moment.", "--epoch", "1")
    script.does("agent", "heartbeat", script.name, "--working")
    script.does("turn", "complete", script.channel, "Yes.", "--epoch", "1")
    assert script.does("next", script.name, "--known", known) == [f"over 1 {script.channel}"]
    assert [each.text for each in client.messages(script.channel).messages][1:] == [
        "Well?",
        "A moment.",
        "Yes.",
    ]


@pytest.mark.parametrize("keeping", [["--no-keep"], ["--unasked"]])
def test_a_turn_that_a_script_did_not_end_is_printed_again_after_a_pause(
    client: Client, script: Script, keeping: list[str]
) -> None:
    if "--no-keep" in keeping:  # else a turn without messages
        client.post(script.channel, "Is the plan ready?")
    script.does("channel", "add", script.channel, script.name)
    first = script.does("next", script.name, *keeping)
    began = monotonic()
    assert script.does("next", script.name, *keeping) == first
    assert monotonic() - began >= AGAIN_SECONDS
    script.does("turn", "complete", script.channel)


def test_work_on_a_turn_is_told_nothing_of_other_channels(client: Client, script: Script) -> None:
    chat = f"{script.channel}-chat"
    client.create_channel(chat, {"humanInterruptMode": "parallel"}, members=[script.name])
    client.post(script.channel, "Is the plan ready?")
    script.does("channel", "add", script.channel, script.name)
    assert script.does("next", script.name)[0] == f"turn 1 {script.channel}"
    client.post(chat, "a secret")
    known = ("--known", f"{script.channel}:1")
    assert script.does("next", script.name, *known, "--wait", "0") == ["nothing"]
    script.does("turn", "complete", script.channel, "Yes.", "--epoch", "1")
    told = script.does("next", script.name)
    assert (told[0].split()[0], told[0].split()[2], told[1:]) == ("turn", chat, ["human: a secret"])


def test_a_turn_with_nothing_new_is_passed(client: Client, script: Script) -> None:
    script.does("channel", "add", script.channel, script.name)
    assert client.agent(script.name).turn is TurnState.ACTIVE
    assert script.does("next", script.name, "--wait", "0") == ["nothing"]
    assert client.agent(script.name).turn is TurnState.IDLE


def test_a_turn_with_nothing_new_is_printed_for_an_agent_that_wants_it(script: Script) -> None:
    script.does("channel", "add", script.channel, script.name)
    assert script.does("next", script.name, "--unasked") == [f"turn 1 {script.channel}"]


def test_a_message_outside_of_a_turn_is_printed(client: Client, script: Script) -> None:
    client.send("psst", to=script.name)
    assert script.does("next", script.name) == ["message -", "human: psst"]


def test_the_answer_is_printed_as_json(script: Script) -> None:
    (line,) = script.does("next", script.name, "--wait", "0", "--json")
    assert json.loads(line)["do"] == "nothing"


def test_an_agent_that_is_to_stop_is_told_by_the_exit_code(client: Client, script: Script) -> None:
    client.run(script.name, "pause", note="lunch")
    ran = script.runs("next", script.name)
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "stop lunch\n", "")


@pytest.mark.parametrize("known", ["design", ":7", "design:x"])
def test_a_known_turn_without_its_number_is_a_usage_error(script: Script, known: str) -> None:
    ran = script.runs("next", script.name, "--known", known)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "must be CHANNEL:N" in ran.stderr


def test_a_script_that_is_killed_takes_its_waiting_verb_along(
    script: Script, tmp_path: Path
) -> None:
    shell = tmp_path / "agent.sh"
    shell.write_text(
        '#!/bin/sh\n"$1" next "$2" --home "$3" --wait 1800 & echo $! > "$4"\nwait\n', "utf-8"
    )
    pid_file = tmp_path / "pid"
    command = ["sh", str(shell), MUSTER_SCRIPT, script.name, str(script.home), str(pid_file)]
    with Popen(command, env=environment({"MUSTER_TOKEN": script.token})) as agent:
        try:
            until(lambda: pid_file.exists() and pid_file.read_text().strip())
            verb = int(pid_file.read_text())
            with Client(home=script.home) as client:
                until(lambda: _has_connection(verb))
                client.post(script.channel, "are you there?")
        finally:
            agent.kill()
    until(lambda: alive(verb) is None)


def _has_connection(pid: int) -> bool:
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it has closed this one meanwhile
            if "socket" in str(link.readlink()):
                return True
    return False


def test_a_shell_agent_waits_for_a_server_that_is_away(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with live(home), Client(home=home) as client:
        token = client.register("pm").token.secret
        client.create_channel("design", members=["pm"])
    command = [MUSTER_SCRIPT, "next", "pm", "--home", str(home)]
    asked = ForkedProcess(command, env=environment({"MUSTER_TOKEN": token}))
    try:
        with live(home), Client(home=home) as client:
            client.post("design", "hello")
            out, errors = asked.communicate(WAIT_SECONDS)
    finally:
        asked.close()
    assert out.splitlines()[0].startswith("turn ")
    assert "human: hello" in out
    assert errors.count("Waiting for it.") == 1
