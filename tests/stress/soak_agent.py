"""The clients of a soak, each a process of its own: agents, and a human who posts.

    python soak_agent.py '{"name": "agent-7", "channels": ["channel-3"], ...}'

A client uses the HTTP API and the standard library, and nothing of muster: any program could be
one. It may be killed at any moment, and so may muster. So it retries every request until it is
answered, and writes to a journal what it is about to post, what was acknowledged and what was
delivered, before it goes on. The journal survives a kill.
"""

import json
import os
import random
import sys
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any, Final
from urllib.parse import urlsplit

ANSWER_SECONDS: Final = 60.0
PAUSE_SECONDS: Final = 0.1
WAIT_SECONDS: Final = 5.0
AGAIN: Final = frozenset({401, 404, 429, 500, 503})
"""Statuses to retry: muster is not up yet, or another program has its port."""

Json = Any  # any JSON value


def pause(seconds: float) -> None:
    """Sleep."""
    Event().wait(seconds)


class Journal:
    """The journal of a client, one entry per line; later processes append to the same file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(self._file, b"\n")  # the last process may have been killed in the middle of a line

    def write(self, **entry: Json) -> None:
        """Write an entry; it survives a kill once this returns."""
        os.write(self._file, json.dumps(entry).encode() + b"\n")


def entries(path: Path) -> Iterator[dict[str, Json]]:
    """Read the entries of a journal."""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with suppress(ValueError):
            yield json.loads(line)


class Api:
    """A connection to the muster of a home, at its current address."""

    def __init__(self, home: Path, token: str, retired: Path | None = None) -> None:
        self._home = home
        self._token = token
        self._retired = retired
        """Where this file exists, the agent was retired, and a refusal ends its program."""

        self._connection: HTTPConnection | None = None
        self._parent = os.getppid()

    def ask(
        self, method: str, path: str, body: Json = None, *, key: str = "", after_loss: str = ""
    ) -> tuple[int, Json]:
        """Retry a request until it is answered: muster may be down. A lost answer may have had
        content, so the retry may need another request."""
        while True:
            try:
                status, answer = self._send(method, path, body, key)
                if status >= 400 and self._retired is not None and self._retired.exists():
                    sys.exit(0)
                if status not in AGAIN:
                    return status, answer
            except (OSError, HTTPException, ValueError):
                self.close()
                path = after_loss or path
            if os.getppid() != self._parent:
                sys.exit("the soak is gone")
            pause(PAUSE_SECONDS)

    def close(self) -> None:
        """Close the connection; the next request reconnects."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, method: str, path: str, body: Json, key: str) -> tuple[int, Json]:
        headers = {"authorization": f"Bearer {self._token}"}
        if key:
            headers["idempotency-key"] = key
        connection = self._connection = self._connection or self._connect()
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read() or b"null")

    def _connect(self) -> HTTPConnection:
        url: str = json.loads((self._home / "server.json").read_bytes())["url"]
        where = urlsplit(url)
        return HTTPConnection(str(where.hostname), where.port, timeout=ANSWER_SECONDS)


class Speaker:
    """The common part of agents and humans: idempotent posts with a recorded result.

    The text of a message is its idempotency key.
    """

    def __init__(self, part: Json) -> None:
        self.api = Api(Path(part["home"]), part["token"], Path(part["retired"]))
        self.journal = Journal(Path(part["journal"]))
        self.chance = random.Random(part["seed"])
        self.name = str(part["name"])
        self.channels: list[str] = part["channels"]
        self.quiet = Path(part["quiet"])
        """While this file exists, no client posts."""

        self._keys = (f"{self.name}/{part['life']}/{number}" for number in count(1))
        self.journal.write(life=part["life"])

    def say(self, path: str, **more: Json) -> None:
        """Post a message; now and then, repeat it although it was acknowledged."""
        key = next(self._keys)
        self.journal.write(trying=key)
        self._say(path, key, more)
        if self.chance.random() < 0.05:
            self._say(path, key, more)

    def _say(self, path: str, key: str, more: Json) -> None:
        status, answer = self.api.ask("POST", path, {"message": key, **more}, key=key)
        if status < 300:
            self.journal.write(said=key, seq=answer["seq"], repeated=answer["repeated"])
        elif status != HTTPStatus.UNAUTHORIZED:  # a retired agent is not told of earlier tries
            self.journal.write(refused=key, code=answer["code"])


class Agent(Speaker):
    """An agent: posts, passes, works for a while, and reads the messages of others."""

    def live(self) -> None:
        """Poll for tasks and do them, until killed."""
        self.api.ask("POST", f"/api/agents/{self.name}/connect", {})
        self.join()
        while True:
            told = self.next("", WAIT_SECONDS)
            if told["do"] == "turn":
                self.take_turn(told["channel"], told["epoch"])
            elif told["do"] == "nothing":
                self.join()  # after a heartbeat timeout the agent has lost its place

    def join(self) -> None:
        """Join every channel of ours in which we are no member."""
        for channel in self.channels:
            self.api.ask("POST", f"/api/channels/{channel}/members", {"agent": self.name})

    def next(self, known: str, wait_s: float) -> Json:
        """Poll for the next task; write its messages to the journal."""
        path = f"/api/agents/{self.name}/next?wait={wait_s}"
        status, told = self.api.ask("POST", f"{path}&known={known}", after_loss=path)
        if status != 200:
            return {"do": "nothing"}
        marked = [(each["seq"], each["again"]) for each in told["messages"]]
        if marked:
            new = [seq for seq, again in marked if not again]
            old = [seq for seq, again in marked if again]
            self.journal.write(channel=told["channel"], new=new, again=old)
        return told

    def take_turn(self, channel: str, epoch: int) -> None:
        """Take one turn, to its end or until it is revoked."""
        turn = f"/api/channels/{channel}/turn"
        self.journal.write(turn=epoch, channel=channel)
        while self.next(f"{channel}:{epoch}", 0)["do"] in ("message", "turn"):
            pass  # messages beyond one answer, human messages meanwhile, lost answers
        pause(self.chance.random() * 0.05)
        deed = 0.0 if self.quiet.exists() else self.chance.random()
        if deed < 0.1:
            self.api.ask("POST", f"{turn}/pass", {"epoch": epoch})
            return
        if deed < 0.2:
            self.api.ask("POST", f"/api/agents/{self.name}/heartbeat", {"working": True})
        if deed < 0.3:
            self.say(f"/api/channels/{channel}/messages", epoch=epoch)
        self.say(f"{turn}/complete", epoch=epoch)


class Human(Speaker):
    """A human: posts in any channel, at any time."""

    def live(self) -> None:
        """Post until the quiet file exists."""
        while not self.quiet.exists():
            self.say(f"/api/channels/{self.chance.choice(self.channels)}/messages")
            pause(self.chance.random() * 0.2)


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    (Human if told["human"] else Agent)(told).live()
