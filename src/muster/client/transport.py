"""Connections of programs that wait: `http.client`, with connections kept open between requests."""

import http.client
import ssl
from collections.abc import Iterator
from typing import Final

from muster.client.request import Answer, Ask, Server, T, error_of
from muster.client.retry import ANSWER_SECONDS
from muster.errors import NotRunning

READ_BYTES: Final = 64 * 1024

_BROKEN: Final = (http.client.HTTPException, OSError)
"""What a connection that ends, or does not speak HTTP, looks like."""


class Connections:
    """As many connections to a server as are in use at once; any thread may ask."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._idle: list[http.client.HTTPConnection] = []

    def ask(self, ask: Ask[T]) -> T:
        """Send a request and return its answer, or raise what the server refused it with."""
        try:
            answer = self._answer(ask)
        except _BROKEN as failed:
            raise NotRunning(home=self.server.url) from failed
        return ask.understand(answer)

    def stream(self, ask: Ask[None], silent_s: float) -> Iterator[bytes]:
        """The bytes of an answer as they come; a server that is silent for too long is gone."""
        connection = self._connect()
        try:
            response = self._begin(connection, ask, silent_s)
            if response.status != 200:
                raise error_of(Answer(response.status, response.read()))
            while data := response.read1(READ_BYTES):
                yield data
        except _BROKEN as failed:
            raise NotRunning(home=self.server.url) from failed
        finally:
            connection.close()

    def close(self) -> None:
        """Let go of every connection that is not in use."""
        while (connection := self._kept()) is not None:
            connection.close()

    def _kept(self) -> http.client.HTTPConnection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _answer(self, ask: Ask[T]) -> Answer:
        while (connection := self._kept()) is not None:
            try:
                return self._exchange(connection, ask)
            except TimeoutError:
                raise  # it is there, and does not answer
            except _BROKEN:
                pass  # the server has closed it meanwhile; what it saw of a post has its key
        return self._exchange(self._connect(), ask)

    def _connect(self) -> http.client.HTTPConnection:
        server = self.server
        if not server.secure:
            return http.client.HTTPConnection(server.host, server.port)
        trust = ssl.create_default_context()
        return http.client.HTTPSConnection(server.host, server.port, context=trust)

    def _exchange(self, connection: http.client.HTTPConnection, ask: Ask[T]) -> Answer:
        try:
            response = self._begin(connection, ask, ANSWER_SECONDS + ask.waits_s)
            answer = Answer(response.status, response.read())
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return answer

    def _begin(
        self, connection: http.client.HTTPConnection, ask: Ask[T], silent_s: float
    ) -> http.client.HTTPResponse:
        connection.timeout = silent_s
        if connection.sock is not None:
            connection.sock.settimeout(silent_s)
        connection.request(ask.method, ask.target, ask.content, ask.headers(self.server))
        return connection.getresponse()
