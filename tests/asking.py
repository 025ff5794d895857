"""Requests to a live server, as the operator, an agent, a viewer or a stranger."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from typing import Any

import httpx

from tests.live import NO_TLS, Server
from tests.waits import WAIT_SECONDS

Json = Any  # any JSON value

_numbers = count(1)


class Asker:
    """A caller with a token, or without one."""

    def __init__(self, server: Server, token: str | None) -> None:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self.http = httpx.Client(
            base_url=server.url, timeout=WAIT_SECONDS, headers=headers, verify=NO_TLS
        )
        self._server = server

    def get(self, path: str, status: int = 200) -> Json:
        return self.asked("GET", path, status)

    def post(self, path: str, body: Json = None, status: int = 200) -> Json:
        return self.asked("POST", path, status, json=body)

    def delete(self, path: str, status: int = 200) -> Json:
        return self.asked("DELETE", path, status)

    def asked(self, method: str, path: str, status: int, **how: Json) -> Json:
        """The answer, or the problem document, when it has the status that it should have."""
        answer = self.http.request(method, path, **how)
        assert answer.status_code == status, answer.text
        kind = "application/json" if answer.is_success else "application/problem+json"
        assert answer.headers["content-type"] == kind
        return answer.json()

    def refused(self, method: str, path: str, status: int, code: str, **how: Json) -> Json:
        """The problem document of a request that changed nothing."""
        before = self.http.get("/api/health").json()["seq"]
        problem = self.asked(method, path, status, **how)
        assert (problem["status"], problem["code"]) == (status, code)
        assert self.http.get("/api/health").json()["seq"] == before
        return problem


@contextmanager
def asker(server: Server, token: str | None) -> Generator[Asker]:
    """A caller, open until the end of the body."""
    somebody = Asker(server, token)
    with somebody.http:
        yield somebody


def a_name(name: str) -> str:
    """A name that is unique on a shared server."""
    return f"{name}-{os.getpid()}-{next(_numbers)}"
