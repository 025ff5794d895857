"""An agent that is a shell script is kept while it works, and comes back after a silence."""

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from subprocess import Popen
from typing import NamedTuple

import pytest

from muster.client.sync import Client
from muster.machines.vocabulary import TurnState
from muster.views.answers.messages import MessageKind
from tests.homes import MUSTER_SCRIPT, environment
from tests.live import live
from tests.waits import until

SILENCE_SECONDS = 4.0
"""The heartbeat timeout: a script that works for longer is gone without heartbeats."""

LONG_WORK = timedelta(seconds=1.5 * SILENCE_SECONDS)

WRAPPERS = {
    "timeout": 'timeout 600 "$MUSTER" next "$1"',
    "another shell": """bash -c '"$MUSTER" next "$0"; true' "$1" """,
    "a script": '"$2.sh" "$1"',
    "a subshell": ' ("$MUSTER" next "$1"; true)',
    "a pipe": '"$MUSTER" next "$1" | tee "$2.log"',
}
"""Ways to call `muster next` from the script `$0` with the agent `$1`, in the folder of `$2`."""

OUTLIVING = ("sh", "-c", '"$0" "$@"; exec sleep 600')
"""A caller of the script, in its session, that outlives it."""

PLAIN = '"$MUSTER" next "$1" $3'

AGENT = """#!/bin/sh
while work=$(CALL); do
    printf '%s\\n' "$work" | {
        read -r do epoch channel
        [ "$do" = turn ] || exit 0
        case "$work" in *slow*) read -r go < "$2";; esac
        { printf 'I have read: '; cat; } | "$MUSTER" turn complete "$channel" - --epoch "$epoch"
    }
done
"""

_numbers = count(1)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    path = tmp_path_factory.mktemp("keeping") / "home"
    with live(path, SILENCE_SECONDS):
        yield path


@pytest.fixture
def client(home: Path) -> Iterator[Client]:
    with Client(home=home) as client:
        yield client


class Shell(NamedTuple):
    """A running script, its channel, and the pipe by which slow work goes on."""

    name: str
    channel: str
    go: Path
    process: Popen[bytes]


@contextmanager
def an_agent(
    home: Path,
    client: Client,
    folder: Path,
    *options: str,
    call: str = PLAIN,
    caller: Sequence[str] = (),
) -> Generator[Shell]:
    """A shell agent that has answered once."""
    number = next(_numbers)
    name, channel, go = f"shell-{number}", f"checks-{number}", folder / "go"
    token = client.register(name).token.secret
    client.create_channel(channel, {"defaultTimeoutSeconds": SILENCE_SECONDS}, members=[name])
    client.post(channel, "hello")
    os.mkfifo(go)
    script = folder / "agent.sh"
    script.write_text(AGENT.replace("CALL", call), "utf-8")
    wrapper = folder / "go.sh"
    wrapper.write_text('#!/bin/sh\n"$MUSTER" next "$1"\ntrue\n', "utf-8")
    wrapper.chmod(0o755)
    changes = {"MUSTER_TOKEN": token, "MUSTER_HOME": str(home), "MUSTER": MUSTER_SCRIPT}
    command = [*caller, "sh", str(script), name, str(go), *options]
    with Popen(command, env=environment(changes), start_new_session=True) as process:
        try:
            until(lambda: answers(client, channel) == 1)
            yield Shell(name, channel, go, process)
        finally:
            os.killpg(process.pid, 9)


def answers(client: Client, channel: str) -> int:
    said = client.messages(channel).messages
    return sum(each.kind is MessageKind.AGENT for each in said)


def ends_at(client: Client, channel: str) -> datetime:
    """When the turn in the channel times out."""
    until(lambda: client.channel(channel).timeout_at)
    found = client.channel(channel).timeout_at
    assert found is not None
    return found


def test_slow_work_keeps_its_turn_and_its_place(home: Path, client: Client, tmp_path: Path) -> None:
    with an_agent(home, client, tmp_path) as shell:
        client.post(shell.channel, "slow work")
        first = ends_at(client, shell.channel)
        until(lambda: ends_at(client, shell.channel) >= first + LONG_WORK)
        shell.go.write_text("go\n")
        until(lambda: answers(client, shell.channel) == 2)
        client.post(shell.channel, "and one more")
        until(lambda: answers(client, shell.channel) == 3)


def test_slow_work_keeps_its_turn_behind_a_wrapper(
    home: Path, client: Client, tmp_path: Path
) -> None:
    with ExitStack() as agents:
        shells: list[Shell] = []
        for number, call in enumerate(WRAPPERS.values()):
            folder = tmp_path / str(number)
            folder.mkdir()
            shells.append(agents.enter_context(an_agent(home, client, folder, call=call)))
        for shell in shells:
            client.post(shell.channel, "slow work")
        first = [ends_at(client, shell.channel) for shell in shells]
        for shell, end in zip(shells, first, strict=True):
            until(partial(_is_kept_until, client, shell, end + LONG_WORK))
        for shell in shells:
            shell.go.write_text("go\n")
            until(partial(_has_answered_twice, client, shell))


def _is_kept_until(client: Client, shell: Shell, end: datetime) -> bool:
    return ends_at(client, shell.channel) >= end


def _has_answered_twice(client: Client, shell: Shell) -> bool:
    return answers(client, shell.channel) == 2


def test_a_turn_of_a_script_that_was_killed_behind_a_wrapper_is_not_kept(
    home: Path, client: Client, tmp_path: Path
) -> None:
    with an_agent(home, client, tmp_path, call=WRAPPERS["timeout"]) as shell:
        client.post(shell.channel, "slow work")
        until(lambda: client.agent(shell.name).turn is TurnState.ACTIVE)
        shell.process.kill()
        until(lambda: client.agent(shell.name).turn is TurnState.OFFLINE)


def test_a_script_behind_a_pipe_that_is_killed_at_once_is_not_taken_for_a_wrapper(
    home: Path, client: Client, tmp_path: Path
) -> None:
    """Its caller lives on, and must not be taken for the script."""
    pipe = WRAPPERS["a pipe"]
    with an_agent(home, client, tmp_path, call=pipe, caller=OUTLIVING) as shell:
        [script] = _children(shell.process.pid)
        client.post(shell.channel, "slow work")
        with ExitStack() as opened:
            until(partial(_is_read, shell.go, opened))  # `muster next` has ended
            os.kill(script, 9)
            until(lambda: client.agent(shell.name).turn is TurnState.OFFLINE)


def _is_read(pipe: Path, opened: ExitStack) -> bool:
    """Whether a process has opened a named pipe to read it; then it waits while `opened` lasts."""
    try:
        writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    opened.callback(os.close, writer)
    return True


def _children(pid: int) -> Sequence[int]:
    return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split())]


def test_a_script_that_was_killed_while_it_waited_behind_a_wrapper_is_no_longer_present(
    home: Path, client: Client, tmp_path: Path
) -> None:
    with ExitStack() as agents:
        shells: list[Shell] = []
        for number, call in enumerate(WRAPPERS.values()):
            folder = tmp_path / str(number)
            folder.mkdir()
            shells.append(agents.enter_context(an_agent(home, client, folder, call=call)))
        for shell in shells:
            until(partial(_is, client, shell, TurnState.IDLE))
            until(partial(_watches_its_script, shell))
            shell.process.kill()
        for shell in shells:
            until(partial(_is, client, shell, TurnState.OFFLINE))


def _watches_its_script(shell: Shell) -> bool:
    """Whether `muster next` has come so far as to wait: it is the only process with two threads."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            is_its = os.getsid(int(path.name)) == shell.process.pid
            if is_its and "Threads:\t2\n" in (path / "status").read_text("utf-8"):
                return True
    return False


def _is(client: Client, shell: Shell, state: TurnState) -> bool:
    return client.agent(shell.name).turn is state


def test_a_message_that_is_longer_than_an_argument_is_answered(
    home: Path, client: Client, tmp_path: Path
) -> None:
    with an_agent(home, client, tmp_path) as shell:
        client.post(shell.channel, "word " * 60_000)
        until(lambda: answers(client, shell.channel) == 2)
        (said,) = client.messages(shell.channel, newest_first=True, limit=1).messages
        assert said.text.startswith("I have read: human: word word ")
        assert len(said.text) > 300_000


def test_a_turn_of_a_script_that_was_killed_is_not_kept(
    home: Path, client: Client, tmp_path: Path
) -> None:
    with an_agent(home, client, tmp_path) as shell:
        client.post(shell.channel, "slow work")
        until(lambda: client.agent(shell.name).turn is TurnState.ACTIVE)
        shell.process.kill()
        until(lambda: client.agent(shell.name).turn is TurnState.OFFLINE)


def test_a_script_that_was_gone_has_its_place_again(
    home: Path, client: Client, tmp_path: Path
) -> None:
    with an_agent(home, client, tmp_path, "--no-keep") as shell:
        client.post(shell.channel, "slow work")
        until(lambda: client.agent(shell.name).turn is TurnState.OFFLINE)
        shell.go.write_text("go\n")  # refused: the turn is lost; it comes again
        until(lambda: client.agent(shell.name).turn is TurnState.ACTIVE)
        shell.go.write_text("go\n")
        until(lambda: answers(client, shell.channel) == 2)


def test_a_waiting_script_that_is_disconnected_connects_again_with_its_place(
    home: Path, client: Client, tmp_path: Path
) -> None:
    with an_agent(home, client, tmp_path) as shell:
        until(lambda: client.agent(shell.name).turn is TurnState.IDLE)
        client.disconnect(shell.name)
        client.post(shell.channel, "are you there?")
        until(lambda: answers(client, shell.channel) == 2)


def test_a_script_that_a_person_removed_stays_out(
    home: Path, client: Client, tmp_path: Path
) -> None:
    with an_agent(home, client, tmp_path) as shell:
        client.remove_member(shell.channel, shell.name)
        client.disconnect(shell.name)
        until(lambda: client.agent(shell.name).turn is TurnState.IDLE)
        assert client.channel(shell.channel).ring == ()
